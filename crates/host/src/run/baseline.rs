//! What checks say of the untouched tree, kept by tree, command and environment.
//!
//! Only asked for when a check is red or has gone quiet: nothing here is on the way of a run whose checks pass.

use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use holon_checks::Ran;
use holon_core::digest::sha256;
use holon_git::tracked::{self, Stamped};
use holon_git::{Digest, Git, Repository};
use serde::{Deserialize, Serialize};

use super::snapshot::Stage;
use super::{Host, Run};
use crate::store::write_atomic;

/// The form of what is kept; another one is another key.
const VERSION: &str = "holon baseline 2";
/// Most files whose content is looked at because they differ from what is committed.
const DIRTY: usize = 2_000;
/// Installed dependencies, which git does not know: when these were last changed says which they are.
const INSTALLED: [&str; 6] =
    ["node_modules", "node_modules/.package-lock.json", ".venv", "venv", "vendor", ".bundle"];

/// A baseline as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptBaseline {
    /// How the check ended and what it said.
    pub(super) ran: Ran,
    /// How long it took.
    pub(super) duration_ms: u64,
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
        let digest = Digest::of_path(&workspace.join(path)).ok()?;
        let digest =
            digest.map_or("gone".to_owned(), |digest| format!("{} {}", digest.mode.octal(), digest.sha256));
        writeln!(state, "{} {digest}", path.display()).ok()?;
        (dirty <= DIRTY).then_some(())
    };
    for Stamped { path, mode, id, mtime, size } in tracked::stamped(git, &repository).ok()? {
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

/// Where the baseline of a command is kept.
fn place(host: &Host, key: &str) -> PathBuf {
    host.places.cache.join("baselines").join(format!("{key}.json"))
}

impl Run<'_> {
    /// The name of this tree, command and environment among the kept baselines.
    pub(super) fn baseline_key(&self, stage: &Stage, command: &str) -> Option<String> {
        let found;
        let git = match &stage.git {
            Some(git) => git,
            None => {
                found = Git::find().ok()?;
                &found
            }
        };
        let workspace = &self.plan.workspace;
        let tree = tree_state(git, workspace)?;
        let installed: Vec<String> = INSTALLED
            .iter()
            .filter_map(|name| fs::symlink_metadata(workspace.join(name)).ok().map(|meta| (name, meta)))
            .map(|(name, meta)| format!("{name} {}.{}", meta.mtime(), meta.mtime_nsec()))
            .collect();
        let exposed = &stage.exposed;
        let around = format!(
            "{:?} {:?} {:?} {:?} {:?} {}",
            exposed.path,
            exposed.env,
            self.plan.spec.context.env,
            self.plan.profile.network,
            self.plan.check_reports,
            stage.backend.name()
        );
        let all = [VERSION, &workspace.to_string_lossy(), &tree, &installed.join("\n"), command, &around]
            .join("\0");
        Some(sha256(all.as_bytes()))
    }

    /// What is kept under a key.
    pub(super) fn kept_baseline(&self, key: &str) -> Option<KeptBaseline> {
        let text = fs::read(place(self.host, key)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Keeps a baseline; one that cannot be kept is made again.
    pub(super) fn keep_baseline(&self, key: &str, kept: &KeptBaseline) {
        let path = place(self.host, key);
        let folder = path.parent().map(fs::create_dir_all);
        if let (Some(Ok(())), Ok(text)) = (folder, serde_json::to_vec(kept)) {
            let _ = write_atomic(&path, &text);
        }
    }
}
