//! What a run changed so far, put aside so that another run can go on with it: files, not layers.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use holon_core::digest::sha256;
use holon_git::Git;
use holon_hands::{CommandRequest, FileExpectation, ToolExecutor, ToolRequest};
use holon_sandbox::diff::{CollectOptions, CollectedChanges, PathVersion};
use holon_sandbox::mount;
use holon_sandbox::snapshot::{WorkspaceSnapshot, remove_tree};
use serde::{Deserialize, Serialize};

use crate::error::HostError;

const FOLDER: &str = "carry";
const LIST: &str = "list.json";
/// The largest file that is carried over.
const LARGEST: u64 = 256 << 20;

/// One path that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CarriedPath {
    /// Relative to the workspace.
    #[serde(with = "mount::path")]
    pub path: PathBuf,
    /// Digest of the original it was made from; nothing when there was none.
    base: Option<String>,
    is: CarriedContent,
}

/// What is there now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CarriedContent {
    /// A file, whose bytes have this name in the folder.
    File { exec: bool, bytes: String },
    /// A link.
    Link {
        #[serde(with = "mount::path")]
        to: PathBuf,
    },
    /// Nothing.
    Gone,
}

/// Everything that was put aside.
#[derive(Debug)]
pub(crate) struct CarriedChanges {
    folder: PathBuf,
    list: Vec<CarriedPath>,
}

/// Puts the changes of a run aside, in its folder.
pub(super) fn save(run: &Path, changes: Option<&CollectedChanges>) -> Result<(), HostError> {
    let folder = run.join(FOLDER);
    let fresh = run.join(format!("{FOLDER}.new"));
    let failed = |doing: &'static str| move |e| HostError::io(doing, &run.join(FOLDER))(e);
    remove_tree(&fresh).map_err(failed("remove"))?;
    fs::create_dir(&fresh).map_err(failed("create"))?;
    let mut list = Vec::new();
    for change in changes.map(|changes| changes.entries.as_slice()).unwrap_or_default() {
        let Some(changes) = changes else { break };
        let base = match &change.base {
            Some(side) => Some(digest(changes, side).map_err(failed("read"))?),
            None => None,
        };
        let is = match &change.result {
            None => CarriedContent::Gone,
            Some(PathVersion::Symlink { target }) => {
                use std::os::unix::ffi::OsStrExt;
                CarriedContent::Link { to: std::ffi::OsStr::from_bytes(target).into() }
            }
            // A submodule's files are its own repository's: they are not carried.
            Some(PathVersion::Gitlink { .. }) => continue,
            Some(PathVersion::File { exec, place, .. }) => {
                let bytes = list.len().to_string();
                let mut to = File::create(fresh.join(&bytes)).map_err(failed("create"))?;
                let mut from = changes.open(place).map_err(failed("read"))?.take(LARGEST);
                io::copy(&mut from, &mut to).map_err(failed("write"))?;
                CarriedContent::File { exec: *exec, bytes }
            }
        };
        list.push(CarriedPath { path: change.path.clone(), base, is });
    }
    fs::write(fresh.join(LIST), serde_json::to_vec(&list).unwrap_or_default()).map_err(failed("write"))?;
    remove_tree(&folder).map_err(failed("remove"))?;
    fs::rename(&fresh, &folder).map_err(failed("write"))
}

/// The same for a run whose process was killed, from the layers it left.
pub(crate) fn rescue(run: &Path, layers: &Path) -> Result<(), HostError> {
    let snapshot = WorkspaceSnapshot::load(layers)?;
    let git = Git::find()?;
    let changes = snapshot.changes(&CollectOptions { git: &git, limits: Default::default() })?;
    save(run, Some(&changes))
}

fn digest(changes: &CollectedChanges, side: &PathVersion) -> io::Result<String> {
    Ok(match side {
        PathVersion::File { place, .. } => of_reader(changes.open(place)?)?,
        PathVersion::Symlink { target } => sha256(target),
        PathVersion::Gitlink { id } => id.clone(),
    })
}

fn of_reader(from: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    from.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(sha256(&bytes))
}

impl CarriedChanges {
    /// What a run put aside; nothing when it did not get that far.
    pub(crate) fn of(run: &Path) -> Option<Self> {
        let folder = run.join(FOLDER);
        let list = serde_json::from_slice(&fs::read(folder.join(LIST)).ok()?).ok()?;
        Some(Self { folder, list })
    }

    /// Paths whose original is no longer the one they were made from.
    pub(super) fn outdated(&self, workspace: &Path) -> Vec<String> {
        let differs = |carried: &&CarriedPath| now(&workspace.join(&carried.path)) != carried.base;
        let outdated = self.list.iter().filter(differs);
        outdated.map(|carried| carried.path.to_string_lossy().into_owned()).collect()
    }

    /// Makes a fresh snapshot what the old one was, through the hands.
    pub(super) async fn restore(&self, hands: &dyn ToolExecutor) -> Result<(), String> {
        for carried in &self.list {
            let Some(path) = carried.path.to_str() else {
                return Err(format!("{} is no name for the hands", carried.path.display()));
            };
            let deed = self.deed(carried, path).map_err(|e| format!("{path}: {e}"))?;
            if let Err(error) = hands.carry_out(deed, None).await {
                return Err(format!("{path}: {error}"));
            }
        }
        Ok(())
    }

    fn deed(&self, carried: &CarriedPath, path: &str) -> io::Result<ToolRequest> {
        let path = path.to_owned();
        Ok(match &carried.is {
            CarriedContent::Gone => ToolRequest::Remove { path, recursive: false },
            CarriedContent::File { exec, bytes } => {
                let bytes = fs::read(self.folder.join(bytes))?;
                ToolRequest::Store { path, bytes, expect: FileExpectation::Any, executable: Some(*exec) }
            }
            CarriedContent::Link { to } => {
                let env = [("TO", to.to_string_lossy().into_owned()), ("AT", path)];
                let line = "mkdir -p -- \"$(dirname -- \"$AT\")\" && ln -sfn -- \"$TO\" \"$AT\"".to_owned();
                let env = env.map(|(name, value)| (name.to_owned(), value)).into();
                ToolRequest::Run(CommandRequest {
                    line,
                    env,
                    timeout_ms: 10_000,
                    max_bytes: 1_000,
                    ..CommandRequest::default()
                })
            }
        })
    }
}

/// Digest of what is at a path now; links are looked at, not followed.
fn now(path: &Path) -> Option<String> {
    use std::os::unix::ffi::OsStrExt;
    let meta = fs::symlink_metadata(path).ok()?;
    if meta.is_symlink() {
        return fs::read_link(path).ok().map(|to| sha256(to.as_os_str().as_bytes()));
    }
    meta.is_file().then(|| File::open(path).ok().and_then(|file| of_reader(file).ok())).flatten()
}
