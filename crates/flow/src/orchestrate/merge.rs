//! Joining a change with those before it: as it is where it fits, merged by git where others changed the same files.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use holon_apply::ContentFile;
use holon_git::merge::{MergeClash, add_present, into_current};
use holon_git::objects::TreeDiff;
use holon_git::{FileMode, Git, GitError, ObjectFormat, PathDigest, ScratchRepository, TouchedPath, apply};
use holon_host::store::RunFolder;

/// A change, with everything needed to join it.
pub(super) struct MergeInput<'a> {
    /// The patch.
    pub(super) patch: &'a [u8],
    /// What it touches.
    pub(super) touched: &'a [TouchedPath],
    /// Copies of the touched files as they were when it was made.
    pub(super) base: &'a Path,
}

/// What became of joining a change.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MergeOutcome {
    /// Nothing had to be done.
    Nothing,
    /// It is in, as this patch.
    In {
        /// The patch that was applied.
        patch: Vec<u8>,
        /// Whether others had changed the same files.
        merged: bool,
    },
    /// Both sides changed the same places.
    Conflict(Vec<String>),
}

/// Writes the touched files as they were when a run began, for a merge that may come later; for a run that did not keep
/// them, as they are.
pub(super) fn keep_base_of(
    run: &RunFolder,
    touched: &[TouchedPath],
    from: &Path,
    to: &Path,
) -> std::io::Result<()> {
    let Ok(contents) = ContentFile::open(&run.contents()) else { return keep_base(from, touched, to) };
    for entry in touched {
        let Some(base) = &entry.base else { continue };
        let Some(bytes) = contents.read(&base.sha256)? else {
            keep_base(from, std::slice::from_ref(entry), to)?;
            continue;
        };
        let target = to.join(&entry.path);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        let _ = fs::remove_file(&target);
        match base.mode {
            FileMode::Symlink => std::os::unix::fs::symlink(OsStr::from_bytes(&bytes), &target)?,
            FileMode::Gitlink => {}
            FileMode::Regular | FileMode::Executable => {
                fs::write(&target, &bytes)?;
                let mode = if base.mode == FileMode::Executable { 0o755 } else { 0o644 };
                fs::set_permissions(&target, fs::Permissions::from_mode(mode))?;
            }
        }
    }
    Ok(())
}

/// Copies the touched files as they are in `from`.
fn keep_base(from: &Path, touched: &[TouchedPath], to: &Path) -> std::io::Result<()> {
    for entry in touched {
        let (source, target) = (from.join(&entry.path), to.join(&entry.path));
        let Ok(meta) = fs::symlink_metadata(&source) else { continue };
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        let _ = fs::remove_file(&target);
        if meta.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source)?, &target)?;
        } else if meta.is_file() {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

/// Brings a change into the files below `trunk`, or leaves them as they are and says where the sides meet.
pub(super) fn join(
    git: &Git,
    trunk: &Path,
    change: &MergeInput<'_>,
    format: ObjectFormat,
    temp: &Path,
) -> Result<MergeOutcome, GitError> {
    if change.patch.is_empty() {
        return Ok(MergeOutcome::Nothing);
    }
    let mut moved = false;
    for entry in change.touched {
        let path = trunk.join(&entry.path);
        moved |= PathDigest::of_path(&path).map_err(failed("read", path))? != entry.base;
    }
    if !moved {
        apply::plain(git, change.patch, trunk, format)?;
        return Ok(MergeOutcome::In { patch: change.patch.to_vec(), merged: false });
    }
    let paths: Vec<PathBuf> = change.touched.iter().map(|entry| entry.path.clone()).collect();
    let scratch = ScratchRepository::new(temp, format)?;
    scratch.import(git, |to| {
        // The base gives git the content that the patch names by its ids.
        to.tree("base")?;
        add_present(to, change.base, paths.iter().map(PathBuf::as_path))?;
        to.tree("current")?;
        add_present(to, trunk, paths.iter().map(PathBuf::as_path))
    })?;
    let patch = match into_current(git, &scratch, change.patch)? {
        Ok(patch) => patch,
        Err(clash) => return Ok(MergeOutcome::Conflict(where_they_meet(clash, paths))),
    };
    if patch.is_empty() {
        return Ok(MergeOutcome::Nothing);
    }
    apply::plain(git, &patch, trunk, format)?;
    Ok(MergeOutcome::In { patch, merged: true })
}

/// The patch that leads from the files of one folder to those of another, over some paths, and what it touches. It is
/// applied to copies of the first before it is believed.
pub(super) fn between(
    git: &Git,
    from: &Path,
    to: &Path,
    paths: &BTreeSet<PathBuf>,
    format: ObjectFormat,
    temp: &Path,
) -> Result<(TreeDiff, Vec<TouchedPath>), GitError> {
    let mut touched = Vec::new();
    for path in paths {
        let digest = |folder: &Path| {
            let at = folder.join(path);
            PathDigest::of_path(&at).map_err(failed("read", at))
        };
        let (base, result) = (digest(from)?, digest(to)?);
        if base != result {
            touched.push(TouchedPath { path: path.clone(), base, result });
        }
    }
    if touched.is_empty() {
        return Ok((TreeDiff::default(), touched));
    }
    let names: Vec<PathBuf> = touched.iter().map(|entry| entry.path.clone()).collect();
    let scratch = ScratchRepository::new(temp, format)?;
    scratch.import(git, |tree| {
        tree.tree("base")?;
        add_present(tree, from, names.iter().map(PathBuf::as_path))?;
        tree.tree("result")?;
        add_present(tree, to, names.iter().map(PathBuf::as_path))
    })?;
    let diff = scratch.diff(git, "base", "result", true)?;
    prove(git, from, &diff.patch, &touched, format, temp)?;
    Ok((diff, touched))
}

/// A patch that does not lead to the result must not go out.
fn prove(
    git: &Git,
    from: &Path,
    patch: &[u8],
    touched: &[TouchedPath],
    format: ObjectFormat,
    temp: &Path,
) -> Result<(), GitError> {
    let stage = tempfile::tempdir_in(temp).map_err(failed("create", temp))?;
    keep_base(from, touched, stage.path()).map_err(failed("copy", from))?;
    apply::plain(git, patch, stage.path(), format)?;
    for entry in touched {
        let at = stage.path().join(&entry.path);
        if PathDigest::of_path(&at).map_err(failed("read", &at))? != entry.result {
            let source = std::io::Error::other("the joined patch does not lead to the result");
            return Err(failed("apply", &entry.path)(source));
        }
    }
    Ok(())
}

fn failed(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> GitError {
    let path = path.into();
    move |source| GitError::Io { action, path, source }
}

fn where_they_meet(clash: MergeClash, all: Vec<PathBuf>) -> Vec<String> {
    let paths = if clash.paths.is_empty() { all } else { clash.paths };
    let named: BTreeSet<String> = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    named.into_iter().collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    struct MergeScene {
        temp: tempfile::TempDir,
        git: Git,
    }

    impl MergeScene {
        fn new(base: &str) -> Self {
            let scene = Self { temp: tempfile::tempdir().unwrap(), git: Git::find().unwrap() };
            for folder in ["base", "trunk"] {
                fs::create_dir(scene.at(folder)).unwrap();
                fs::write(scene.at(folder).join("a.txt"), base).unwrap();
            }
            scene
        }

        fn at(&self, name: &str) -> PathBuf {
            self.temp.path().join(name)
        }

        /// A change that turns the base's `a.txt` into this.
        fn change(&self, name: &str, text: &str) -> (Vec<u8>, Vec<TouchedPath>) {
            let result = self.at(name);
            fs::create_dir(&result).unwrap();
            fs::write(result.join("a.txt"), text).unwrap();
            let paths = BTreeSet::from([PathBuf::from("a.txt")]);
            let (diff, touched) =
                between(&self.git, &self.at("base"), &result, &paths, ObjectFormat::Sha1, self.temp.path())
                    .unwrap();
            (diff.patch, touched)
        }

        fn join(&self, change: &(Vec<u8>, Vec<TouchedPath>)) -> MergeOutcome {
            let change = MergeInput { patch: &change.0, touched: &change.1, base: &self.at("base") };
            join(&self.git, &self.at("trunk"), &change, ObjectFormat::Sha1, self.temp.path()).unwrap()
        }

        fn merge_tree(&self) -> String {
            fs::read_to_string(self.at("trunk/a.txt")).unwrap()
        }
    }

    #[test]
    fn changes_to_different_places_are_merged_and_to_the_same_are_not() {
        let base: String = (1..=9).map(|n| format!("{n}\n")).collect();
        let scene = MergeScene::new(&base);
        let first = scene.change("x", &base.replace("1\n", "one\n"));
        let last = scene.change("y", &base.replace("9\n", "nine\n"));
        let other = scene.change("z", &base.replace("1\n", "uno\n"));
        assert_eq!(scene.join(&first), MergeOutcome::In { patch: first.0.clone(), merged: false });
        assert!(matches!(scene.join(&last), MergeOutcome::In { merged: true, .. }));
        let both = base.replace("1\n", "one\n").replace("9\n", "nine\n");
        assert_eq!(scene.merge_tree(), both);
        assert_eq!(scene.join(&other), MergeOutcome::Conflict(vec!["a.txt".into()]));
        assert_eq!(scene.merge_tree(), both, "a conflict changes nothing");
        assert_eq!(scene.join(&first), MergeOutcome::Nothing, "what is there already is no conflict");
    }
}
