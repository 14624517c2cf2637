//! What a thread changed so far, and bringing it into the workspace: only on request, all of it or nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use holon_core::redact::Redactor;
use holon_core::{Access, secrets};
use holon_git::apply::{self, Delivery};
use holon_git::{Digest, Git, Repository, Touched};
use holon_sandbox::diff::{Changes, Limits, Options, Patch};
use holon_sandbox::snapshot::{Alike, Snapshot, Stamp, Why, of_layer};

use super::folder::ThreadFolder;
use super::ledger::Ledger;
use crate::error::HostError;
use crate::steering::sensitive_paths;

/// Everything a thread changed and did not deliver yet.
#[derive(Debug, Clone, Default)]
pub struct Delta {
    /// What `git apply` takes.
    pub patch: Vec<u8>,
    /// The paths in it.
    pub files: Vec<FileChange>,
    /// Lines added.
    pub insertions: u64,
    /// Lines removed.
    pub deletions: u64,
    /// Ignored paths with changes, which are left out.
    pub ignored: u64,
    /// Paths whose original somebody else changed since the thread touched them, or made unreadable.
    pub moved: Vec<PathBuf>,
    /// Paths that steer tools or people's machines, and so need a second word.
    pub sensitive: Vec<PathBuf>,
    touched: Vec<Touched>,
}

/// One path of a [`Delta`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// Whether it was there before.
    pub was: bool,
    /// Whether it is there now.
    pub is: bool,
}

/// What became of an apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivered {
    /// There was nothing to do.
    Nothing,
    /// The workspace has it now.
    Applied(Vec<PathBuf>),
    /// Nothing was changed: somebody else changed these originals.
    Moved(Vec<PathBuf>),
    /// Nothing was changed: these paths need a second word.
    Sensitive(Vec<PathBuf>),
    /// Nothing was changed: these places would put a credential into the workspace.
    Secrets(Vec<String>),
}

impl ThreadFolder {
    /// What the thread changed so far.
    pub fn delta(&self, hide: &[PathBuf]) -> Result<Delta, HostError> {
        let ledger = self.ledger()?;
        let Some(layer) = ledger.current.map(|number| self.layer(number)) else {
            return Ok(Delta::default());
        };
        let git = Git::find()?;
        let options = Options { git: &git, limits: Limits::default() };
        self.with_changes(&layer, hide, Self::never(), &options, |changes, snapshot| {
            let patch = changes.patch(&git, snapshot.dir())?;
            Ok(delta(&ledger, &changes, patch, self.workspace()))
        })
    }

    /// Brings everything so far into the workspace.
    pub fn apply(
        &self,
        hide: &[PathBuf],
        redactor: &Redactor,
        allow_sensitive: bool,
    ) -> Result<Delivered, HostError> {
        let delta = self.delta(hide)?;
        if !delta.moved.is_empty() {
            return Ok(Delivered::Moved(delta.moved));
        }
        if delta.patch.is_empty() {
            return Ok(Delivered::Nothing);
        }
        let hits = secrets::scan_added_lines_with(redactor, &delta.patch);
        if !hits.is_empty() {
            let told = hits.iter().map(|hit| format!("{}:{} ({})", hit.path, hit.line, hit.rule));
            return Ok(Delivered::Secrets(told.collect()));
        }
        if !delta.sensitive.is_empty() && !allow_sensitive {
            return Ok(Delivered::Sensitive(delta.sensitive));
        }
        self.deliver(&delta)
    }

    fn deliver(&self, delta: &Delta) -> Result<Delivered, HostError> {
        let git = Git::find()?;
        let found = Repository::look(self.workspace())?;
        let temp = tempfile::tempdir().map_err(HostError::io("create", &std::env::temp_dir()))?;
        let outcome = apply::deliver(
            &git,
            Delivery {
                patch: &delta.patch,
                touched: &delta.touched,
                dir: self.workspace(),
                repository: found.repository.as_ref(),
                temp: temp.path(),
            },
        )?;
        let paths = match outcome {
            apply::Outcome::NothingToDo => return Ok(Delivered::Nothing),
            apply::Outcome::Refused { conflicts } => return refused(conflicts),
            apply::Outcome::Applied { paths } | apply::Outcome::Merged { paths, .. } => paths,
            apply::Outcome::AlreadyThere => delta.touched.iter().map(|t| t.path.clone()).collect(),
        };
        let mut ledger = self.ledger()?;
        if let Some(layer) = ledger.current {
            self.prune(&self.layer(layer), Alike::ForPatches);
        }
        ledger.applied();
        self.save(&ledger)?;
        Ok(Delivered::Applied(paths))
    }

    /// Notes what the originals of newly changed paths were, as far as nobody changed them meanwhile.
    pub(super) fn note_originals(
        &self,
        ledger: &mut Ledger,
        turn: u64,
        since: Stamp,
    ) -> Result<(), HostError> {
        let Some(layer) = ledger.current.map(|number| self.layer(number)) else { return Ok(()) };
        let git = Git::find()?;
        // Also what fits no patch is kept, and can be taken back or made less.
        let options = Options { git: &git, limits: Limits { entries: u64::MAX, bytes: u64::MAX } };
        self.with_changes(&layer, &[], since, &options, |changes, _| {
            let moved: BTreeSet<&PathBuf> = changes.moved.iter().collect();
            let now = changes.entries.iter().map(|change| {
                let base = original(self.workspace(), &change.path);
                (change.path.as_path(), base, moved.contains(&change.path))
            });
            ledger.note(turn, now);
            Ok(())
        })
    }

    fn with_changes<T>(
        &self,
        layer: &Path,
        hide: &[PathBuf],
        since: Stamp,
        options: &Options<'_>,
        work: impl FnOnce(Changes, &Snapshot) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        let dir = tempfile::Builder::new()
            .prefix("look-")
            .tempdir_in(self.path())
            .map_err(HostError::io("create", self.path()))?;
        let snapshot = of_layer(&self.request(dir.path(), &Access::ReadWrite, hide), layer, since)?;
        let changes = snapshot.changes(options)?;
        let result = work(changes, &snapshot);
        let _ = snapshot.discard();
        result
    }
}

/// Files in the way are for the person to look at; a folder that cannot be written is an error.
fn refused(conflicts: Vec<apply::Conflict>) -> Result<Delivered, HostError> {
    let Some(unwritten) = conflicts.iter().find(|conflict| conflict.why == apply::Why::Unwritten) else {
        return Ok(Delivered::Moved(conflicts.into_iter().map(|conflict| conflict.path).collect()));
    };
    let what = match unwritten.path.display().to_string() {
        path if path.is_empty() => "the changes".to_owned(),
        path => path,
    };
    Err(HostError::run(
        format!("{what} could not be written ({}); the folder is as it was", unwritten.detail),
        "check the permissions and the space left, then apply again",
    ))
}

fn original(workspace: &Path, path: &Path) -> Option<Digest> {
    // What cannot be read now cannot be compared either, and differs from whatever is there later.
    Digest::of_path(&workspace.join(path)).ok().flatten()
}

fn delta(ledger: &Ledger, changes: &Changes, patch: Patch, workspace: &Path) -> Delta {
    let now = patch.touched.iter().map(|t| (t.path.as_path(), t.base.as_ref()));
    let mut moved = ledger.moved(now);
    // The rest without these would not be all of it.
    let unreadable = changes.skipped.iter().filter(|skipped| skipped.why == Why::Unreadable);
    moved.extend(unreadable.map(|skipped| skipped.path.clone()));
    let touched = patch.touched.iter();
    let paths: Vec<&Path> = touched.clone().map(|t| t.path.as_path()).collect();
    let sensitive = sensitive_paths(workspace, &paths).into_iter().map(Path::to_owned).collect();
    Delta {
        files: touched
            .clone()
            .map(|t| FileChange { path: t.path.clone(), was: t.base.is_some(), is: t.result.is_some() })
            .collect(),
        insertions: patch.insertions,
        deletions: patch.deletions,
        ignored: changes.ignored,
        moved: moved.into_iter().collect(),
        sensitive,
        patch: patch.bytes,
        touched: patch.touched,
    }
}
