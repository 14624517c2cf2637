//! The agreements of a user, in the state folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use holon_environment::{EnvironmentSetup, SetupTrust};

use crate::error::HostError;
use crate::holon_folders::HolonFolders;
use crate::record::now;
use crate::store::write_durable;

/// The file they are in.
#[derive(Debug, Clone)]
pub struct TrustFile {
    path: PathBuf,
}

impl TrustFile {
    /// Where it is.
    pub fn of(places: &HolonFolders) -> Self {
        Self { path: places.state.join("environments").join("trust.json") }
    }

    /// What was agreed to; a file that cannot be read is no agreement, but an error.
    pub fn read(&self) -> Result<SetupTrust, HostError> {
        let text = match fs::read(&self.path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(SetupTrust::default()),
            Err(e) => return Err(HostError::io("read", &self.path)(e)),
        };
        serde_json::from_slice(&text).map_err(|e| {
            HostError::usage(
                format!("{}: {e}", self.path.display()),
                "remove the file, and agree again with `holon environment trust`",
            )
        })
    }

    /// Notes that the user agrees to a setup of a workspace.
    pub fn agree(&self, workspace: &Path, setup: &EnvironmentSetup) -> Result<(), HostError> {
        self.change(|trust| trust.agree(&workspace.to_string_lossy(), setup, &now()))
    }

    /// Takes the agreement about a workspace back; says whether there was one.
    pub fn withdraw(&self, workspace: &Path) -> Result<bool, HostError> {
        let mut was = false;
        self.change(|trust| was = trust.withdraw(&workspace.to_string_lossy()))?;
        Ok(was)
    }

    fn change(&self, change: impl FnOnce(&mut SetupTrust)) -> Result<(), HostError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(HostError::io("create", folder))?;
        let lock = fs::File::options().create(true).append(true).open(folder.join("trust.lock"));
        let lock = lock.map_err(HostError::io("open", folder))?;
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive)
            .map_err(|e| HostError::io("lock", folder)(e.into()))?;
        let mut trust = self.read()?;
        change(&mut trust);
        let text = serde_json::to_vec_pretty(&trust).unwrap_or_default();
        write_durable(&self.path, &text)
    }
}
