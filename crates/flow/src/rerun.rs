//! Checks once more, from the base and the patch alone: both trees are made anew from the repository, so that nothing
//! else a run or a person left can decide.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use holon_core::event::EventSink;
use holon_core::manifest::{CheckRecord, Manifest};
use holon_core::outcome::RunStatus;
use holon_git::{Git, ObjectFormat, PathDigest, Repository, apply, export};
use holon_host::{Executor, HolonFolders, HostError, ModelCancel, RunContext, RunRequest, TreeBefore};

use crate::conductor::MakeHost;
use crate::dispatch::private_folder;
use crate::error::FlowError;
use crate::orchestrate::{copy_tree, make_removable};

/// Installed dependencies, which no commit holds: taken along from the workspace, where it has them.
const INSTALLED: [&str; 5] = ["node_modules", ".venv", "venv", "vendor", ".bundle"];

/// What is run once more.
#[derive(Debug, Clone)]
pub struct RerunRequest {
    /// A folder of the repository that has the base; what was the workspace of the run.
    pub workspace: PathBuf,
    /// The commit the change was made on.
    pub base_commit: Option<String>,
    /// Digest of each touched file as it was before; nothing where there was none.
    pub touched: BTreeMap<String, Option<String>>,
    /// The change.
    pub patch: Vec<u8>,
    /// The checks, in order.
    pub commands: Vec<String>,
    /// Whether all of them run on the base, too, as they did then.
    pub baselines: bool,
}

/// How it went.
#[derive(Debug, Clone)]
pub struct RerunResult {
    /// The checks, in order.
    pub checks: Vec<CheckRecord>,
    /// What was taken along from the workspace besides base and patch.
    pub taken_along: Vec<String>,
    /// The manifest of the run that ran them; its folder is gone.
    pub manifest: Manifest,
}

/// A private folder with both trees; removed when dropped.
struct RerunTrees {
    dir: tempfile::TempDir,
}

impl Drop for RerunTrees {
    fn drop(&mut self) {
        // Dependencies may come with folders nobody may write to.
        let _ = make_removable(self.dir.path());
    }
}

impl RerunTrees {
    fn new(places: &HolonFolders) -> Result<Self, FlowError> {
        let parent = places.cache.join("reruns");
        private_folder(&parent)?;
        let dir = tempfile::Builder::new().prefix("rerun-").tempdir_in(&parent);
        let house = Self { dir: dir.map_err(HostError::io("create", &parent))? };
        // An empty one is no repository, and ends the search for one.
        for folder in [".git", "base", "result"] {
            private_folder(&house.dir.path().join(folder))?;
        }
        Ok(house)
    }

    fn base(&self) -> PathBuf {
        self.dir.path().join("base")
    }

    fn result(&self) -> PathBuf {
        self.dir.path().join("result")
    }
}

impl RerunRequest {
    /// Makes base and result anew, and runs the checks on them behind walls.
    pub fn run(
        &self,
        places: &HolonFolders,
        host: &MakeHost<'_>,
        sink: &mut dyn EventSink,
        cancel: &ModelCancel,
    ) -> Result<RerunResult, FlowError> {
        let house = RerunTrees::new(places)?;
        let taken_along = self.trees(&house)?;
        let request = RunRequest {
            mode: Some("execute".into()),
            goal: Some("Run the checks once more".into()),
            workspace: Some(house.result()),
            checks: self.commands.clone(),
            auto_checks: false,
            ..RunRequest::default()
        };
        let before = TreeBefore {
            workspace: house.base(),
            touched: self.touched.keys().map(PathBuf::from).collect(),
            always: self.baselines,
        };
        let inside = HolonFolders { state: house.dir.path().join("state"), ..places.clone() };
        let host = host(inside);
        let plan = host.plan(&request)?.only_checks(Some(before));
        let finished = host.execute(plan, RunContext::new(sink, cancel))?;
        let manifest = finished.manifest;
        if manifest.status == RunStatus::Cancelled {
            return Err(FlowError::refused("cancelled by request", "run it again to the end"));
        }
        let Some(known) = &manifest.metadata.verification else {
            let why = manifest.error.as_ref().map_or("no check ran", |error| error.message.as_str());
            let hint = manifest.error.as_ref().and_then(|error| error.hint.clone());
            return Err(FlowError::refused(why, hint.unwrap_or_else(|| "see `holon doctor`".into())));
        };
        Ok(RerunResult { checks: known.checks.clone(), taken_along, manifest })
    }

    /// Makes both trees; the names of what was taken along.
    fn trees(&self, house: &RerunTrees) -> Result<Vec<String>, FlowError> {
        let git = Git::find().map_err(HostError::from)?;
        let repository = Repository::look(&self.workspace).map_err(HostError::from)?.repository;
        let format = self.export(&git, repository.as_ref(), house)?;
        let lost = self.lost(house)?;
        if !lost.is_empty() {
            let names = lost.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
            return Err(FlowError::refused(
                format!("{} files are not to be had as they were before the change: {names}", lost.len()),
                "they held work that was not committed; put it back, or name the folder that has it with --workspace",
            ));
        }
        let taken_along = self.take_along(house)?;
        match apply::plain(&git, &self.patch, &house.result(), format) {
            Ok(()) => Ok(taken_along),
            Err(holon_git::GitError::Failed { stderr, .. }) => Err(FlowError::refused(
                format!("the patch does not apply to the base: {}", stderr.trim()),
                "give the patch and the workspace that the statement is about",
            )),
            Err(other) => Err(HostError::from(other).into()),
        }
    }

    /// The base, twice: one stays as it is.
    fn export(
        &self,
        git: &Git,
        repository: Option<&Repository>,
        house: &RerunTrees,
    ) -> Result<ObjectFormat, FlowError> {
        let (Some(commit), Some(repository)) = (&self.base_commit, repository) else {
            return Err(FlowError::refused(
                "the base is no commit of a repository, so it cannot be made again",
                "commit the work before the run, and name the repository with --workspace",
            ));
        };
        if !repository.format.is_id(commit) {
            return Err(FlowError::refused(
                format!("`{commit}` is no commit's id"),
                "give a sound statement",
            ));
        }
        for tree in [house.base(), house.result()] {
            let scratch = house.dir.path();
            match export::files_of_commit(git, repository, commit, scratch, &tree) {
                Ok(()) => {}
                Err(holon_git::GitError::Failed { stderr, .. }) => {
                    return Err(FlowError::refused(
                        format!("the files of commit {commit} cannot be had: {}", stderr.trim()),
                        "fetch it (`git fetch origin COMMIT`), or name the repository that has it with --workspace",
                    ));
                }
                Err(other) => return Err(HostError::from(other).into()),
            }
        }
        Ok(repository.format)
    }

    /// Puts uncommitted originals that the workspace still has into both trees; the names of those nobody has.
    fn lost(&self, house: &RerunTrees) -> Result<Vec<String>, FlowError> {
        let mut lost = Vec::new();
        for (path, wanted) in &self.touched {
            if !is_inside(path) {
                return Err(FlowError::refused(
                    format!("`{path}` is no path of a workspace"),
                    "give a sound statement",
                ));
            }
            let digest = |root: &Path| {
                let at = root.join(path);
                let digest = PathDigest::of_path(&at).map_err(HostError::io("read", &at))?;
                Ok::<_, HostError>(digest.map(|digest| digest.sha256))
            };
            if digest(&house.base())? == *wanted {
                continue;
            }
            let beyond = leads_through_link(&house.base(), path) || leads_through_link(&self.workspace, path);
            if beyond || wanted.is_none() || digest(&self.workspace)? != *wanted {
                lost.push(path.clone());
                continue;
            }
            for tree in [house.base(), house.result()] {
                put(&self.workspace.join(path), &tree.join(path))?;
            }
        }
        Ok(lost)
    }

    fn take_along(&self, house: &RerunTrees) -> Result<Vec<String>, FlowError> {
        let mut taken = Vec::new();
        for name in INSTALLED {
            let (from, to) = (self.workspace.join(name), house.result().join(name));
            // A link would bring along what is not the workspace's.
            let own = fs::symlink_metadata(&from).is_ok_and(|meta| meta.is_dir());
            if own && fs::symlink_metadata(&to).is_err() {
                copy_tree(&from, &to)?;
                taken.push(name.to_owned());
            }
        }
        Ok(taken)
    }
}

/// Whether a path leads nowhere but below the folder it is put behind.
fn is_inside(path: &str) -> bool {
    use std::path::Component::Normal;
    !path.is_empty()
        && Path::new(path).components().all(|part| matches!(part, Normal(name) if name != ".git"))
}

/// Whether a folder on the way to a path is a link, so that the path lies elsewhere.
fn leads_through_link(root: &Path, path: &str) -> bool {
    let above = Path::new(path).ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
    above.into_iter().any(|above| root.join(above).is_symlink())
}

/// Copies a file or a link over whatever file is there.
fn put(from: &Path, to: &Path) -> Result<(), HostError> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(HostError::io("create", parent))?;
    }
    if fs::symlink_metadata(to).is_ok() {
        fs::remove_file(to).map_err(HostError::io("replace", to))?;
    }
    if from.is_symlink() {
        let target = fs::read_link(from).map_err(HostError::io("read", from))?;
        return symlink(target, to).map_err(HostError::io("create", to));
    }
    fs::copy(from, to).map(drop).map_err(HostError::io("copy", from))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn paths_of_a_statement_lead_nowhere_else() {
        for path in ["a", "a/b.txt", "a b"] {
            assert!(is_inside(path), "{path}");
        }
        for path in ["", "/etc/passwd", "../x", "a/../../x", ".git/hooks/x", "a/.git/config"] {
            assert!(!is_inside(path), "{path}");
        }
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("real")).unwrap();
        symlink("/etc", folder.path().join("link")).unwrap();
        assert!(leads_through_link(folder.path(), "link/x") && leads_through_link(folder.path(), "link/y/x"));
        // A link itself is what a change may touch.
        assert!(!leads_through_link(folder.path(), "link") && !leads_through_link(folder.path(), "real/x"));
    }
}
