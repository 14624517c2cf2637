//! What is verified: a statement in a file, a folder, a run or a text, and what lies beside it.

use std::fs;
use std::path::{Path, PathBuf};

use holon_attest::{Envelope, Statement};
use holon_host::store::RunFolder;

use crate::command::attest::FILE;
use crate::command::runs::{Whose, place_of};
use crate::failure::Failure;
use crate::session::Session;

/// A statement and what lies beside it.
pub(super) struct Stated {
    said: Said,
    /// The patch beside it.
    pub(super) patch: Option<PathBuf>,
    /// The workspace of the run, where that is known.
    pub(super) workspace: Option<PathBuf>,
}

enum Said {
    Signed(Envelope),
    /// The manifest of a run, which nobody signed.
    Unsigned {
        manifest: Vec<u8>,
        folder: PathBuf,
    },
}

impl Stated {
    /// The signed statement.
    pub(super) fn envelope(&self) -> Result<&Envelope, Failure> {
        match &self.said {
            Said::Signed(envelope) => Ok(envelope),
            Said::Unsigned { folder, .. } => {
                Err(Failure::config(format!("there is no {FILE} in {}", folder.display()))
                    .hint("sign it with `holon attest`, or leave --policy out"))
            }
        }
    }

    /// What is stated, signed or not.
    pub(super) fn statement(&self) -> Result<Statement, Failure> {
        match &self.said {
            Said::Unsigned { manifest, .. } => Ok(Statement::about(manifest)?),
            Said::Signed(envelope) => {
                let read = envelope.payload().and_then(|payload| serde_json::from_slice(&payload).ok());
                read.ok_or_else(|| {
                    Failure::config("the payload is no statement of ours")
                        .hint("give what `holon attest` wrote")
                })
            }
        }
    }
}

/// Finds what is meant. Runs and folders without a statement are taken only where `unsigned` ones do.
pub(super) fn find(
    given: &Path,
    unsigned: bool,
    workspace: Option<&Path>,
    session: &Session,
) -> Result<Stated, Failure> {
    if given == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut bytes)
            .map_err(Failure::io("read", given))?;
        return Ok(Stated { said: Said::Signed(Envelope::find_in(&bytes)?), patch: None, workspace: None });
    }
    if given.is_file() || !unsigned {
        let folder = given.is_dir();
        let path = if folder { given.join(FILE) } else { given.to_owned() };
        let bytes = fs::read(&path).map_err(Failure::io("read", &path))?;
        let patch = folder.then(|| given.join("diff.patch")).filter(|patch| patch.is_file());
        return Ok(Stated { said: Said::Signed(Envelope::find_in(&bytes)?), patch, workspace: None });
    }
    let whose = Whose::of(workspace);
    let folder = place_of(&given.to_string_lossy(), &whose, session, &session.places()?)?;
    let stored = folder.join("run.json").is_file();
    let output = if stored { folder.join("output") } else { folder.clone() };
    let said = match fs::read(folder.join(FILE)) {
        Ok(bytes) => Said::Signed(Envelope::find_in(&bytes)?),
        Err(_) => {
            let path = output.join("manifest.json");
            let manifest = fs::read(&path).map_err(Failure::io("read", &path))?;
            Said::Unsigned { manifest, folder: folder.clone() }
        }
    };
    let workspace = if stored { Some(RunFolder::open(folder).record()?.workspace) } else { None };
    Ok(Stated { said, patch: Some(output.join("diff.patch")).filter(|patch| patch.is_file()), workspace })
}
