//! What checks say of the untouched tree, kept by tree, command and environment.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use holon_checks::CheckExecution;
use holon_core::digest::sha256;
use holon_git::tracked::{self, StampedEntry};
use holon_git::{Git, PathDigest, Repository};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use super::snapshot::RunStage;
use super::{ActiveRun, Host};
use crate::store::write_atomic;

/// The form of what is kept; another one is another key.
const VERSION: &str = "holon baseline 6";
/// Most files whose content is looked at because they differ from what is committed.
const DIRTY: usize = 2_000;
/// Installed dependencies, which git does not know: when these were last changed says which they are.
const INSTALLED: [&str; 6] =
    ["node_modules", "node_modules/.package-lock.json", ".venv", "venv", "vendor", ".bundle"];

/// A baseline as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredBaseline {
    /// How the check ended and what it said.
    pub(super) ran: CheckExecution,
    /// How long it took.
    pub(super) duration_ms: u64,
    /// The part of what it printed that says what failed.
    pub(super) said: String,
}

/// The state of a tree as far as git can tell it without walking: what the index says, what differs from it, and what it
/// does not know. `None` where there is no repository or too much differs.
fn tree_state(git: &Git, workspace: &Path) -> Option<String> {
    let repository = Repository::look(workspace).ok()?.repository?;
    // What changed in the moment the index was written may have changed once more since.
    let written = fs::metadata(repository.git_dir.join("index")).map_or(0, |meta| meta.mtime());
    let mut state = Vec::new();
    let mut dirty = 0;
    let mut differs = |state: &mut Vec<u8>, path: &Path| -> Option<()> {
        dirty += 1;
        let digest = PathDigest::of_path(&workspace.join(path)).ok()?;
        let digest =
            digest.map_or("gone".to_owned(), |digest| format!("{} {}", digest.mode.octal(), digest.sha256));
        writeln!(state, "{} {digest}", path.display()).ok()?;
        (dirty <= DIRTY).then_some(())
    };
    for StampedEntry { path, mode, id, mtime, size } in tracked::stamped(git, &repository).ok()? {
        let now = fs::symlink_metadata(workspace.join(&path)).ok();
        let nsec = |meta: &fs::Metadata| u32::try_from(meta.mtime_nsec()).unwrap_or(0);
        let as_seen =
            |meta: fs::Metadata| meta.len() & 0xffff_ffff == size && (meta.mtime(), nsec(&meta)) == mtime;
        let same = mtime.0 < written && now.is_some_and(as_seen);
        if same {
            state.extend_from_slice(path.as_os_str().as_bytes());
            writeln!(state, " {mode:o} {id}").ok()?;
        } else {
            differs(&mut state, &path)?;
        }
    }
    for path in tracked::others(git, &repository).ok()? {
        differs(&mut state, &path)?;
    }
    Some(sha256(&state))
}

/// Baselines on the disk.
#[derive(Debug, Clone)]
pub(super) struct BaselineStore {
    folder: PathBuf,
}

impl BaselineStore {
    pub(super) fn of(host: &Host) -> Self {
        Self { folder: host.places.cache.join("baselines") }
    }

    /// What is kept under a key.
    pub(super) fn get(&self, key: &str) -> Option<StoredBaseline> {
        let text = fs::read(self.folder.join(format!("{key}.json"))).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Keeps a baseline; one that cannot be kept is made again. One that was ended says nothing about the tree.
    pub(super) fn put(&self, key: &str, kept: &StoredBaseline) {
        if kept.ran.exit.is_none() || fs::create_dir_all(&self.folder).is_err() {
            return;
        }
        if let Ok(text) = serde_json::to_vec(kept) {
            let _ = write_atomic(&self.folder.join(format!("{key}.json")), &text);
        }
    }

    /// Tries to be the only one who holds a name. Of many runs that begin on the same tree one makes the baselines.
    pub(super) fn try_alone(&self, name: &str) -> Option<BaselineLock> {
        let file = fs::create_dir_all(&self.folder).and_then(|()| {
            File::options().create(true).append(true).open(self.folder.join(format!("lock-{name}")))
        });
        let Ok(file) = file else { return Some(BaselineLock { _lock: None }) };
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => None,
            _ => Some(BaselineLock { _lock: Some(file) }),
        }
    }
}

/// As long as it is there, nobody else holds the name.
pub(super) struct BaselineLock {
    _lock: Option<File>,
}

/// What baselines are known by, besides the commands.
#[derive(Debug, Clone)]
pub(super) struct BaselineKey {
    git: Git,
    workspace: PathBuf,
    around: String,
}

impl BaselineKey {
    /// The names of commands on this tree and in this environment, as they follow each other: what one leaves, the next
    /// one finds. `None` where the tree cannot be told.
    pub(super) fn keys(&self, commands: &[String]) -> Option<Vec<String>> {
        let tree = tree_state(&self.git, &self.workspace)?;
        let installed: Vec<String> = INSTALLED
            .iter()
            .filter_map(|name| fs::symlink_metadata(self.workspace.join(name)).ok().map(|meta| (name, meta)))
            .map(|(name, meta)| format!("{name} {}.{}", meta.mtime(), meta.mtime_nsec()))
            .collect();
        let mut all =
            [VERSION, &self.workspace.to_string_lossy(), &tree, &installed.join("\n"), &self.around]
                .join("\0");
        let key = |command: &String| {
            all.push('\0');
            all.push_str(command);
            sha256(all.as_bytes())
        };
        Some(commands.iter().map(key).collect())
    }
}

impl ActiveRun<'_> {
    /// What the baselines of this run are known by.
    pub(super) fn baseline_ground(&self, stage: &RunStage) -> Option<BaselineKey> {
        let git = stage.git.clone().or_else(|| Git::find().ok())?;
        let exposed = &stage.exposed;
        let around = format!(
            "{:?} {:?} {:?} {:?} {:?} {} {:?}",
            exposed.path,
            exposed.env,
            self.plan.spec.context.env,
            self.plan.profile.network,
            self.plan.check_reports,
            stage.backend.name(),
            self.environment.as_ref().map(|environment| &environment.record.digest)
        );
        Some(BaselineKey { git, workspace: self.plan.workspace.clone(), around })
    }
}
