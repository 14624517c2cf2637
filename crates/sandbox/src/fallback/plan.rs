//! A job's mounts as a backend without overlays sees them.

use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

use crate::isolation::{LaunchRefusal, LaunchStep, SandboxJob};
use crate::mount::{Mount, MountSource};

/// Where the contract's folders are; what lies elsewhere belongs to the system.
pub(super) const HOLON: &str = "/holon";
/// Where the workspace is inside.
pub(super) const WORKSPACE: &str = "/holon/workspace";

/// The mounts, parents first, with the open folders of a scoped workspace as mounts of their own. A merged view is
/// refused, since the host copies for these backends; one over a single folder that is no part of the contract (a package
/// cache) becomes a read-only view of that folder.
pub(super) fn mounts(job: &SandboxJob) -> Result<Vec<Mount>, LaunchRefusal> {
    let mut mounts = job.mounts.clone();
    for mount in &mut mounts {
        if let MountSource::Overlay(layers) = &mount.source {
            match layers.lowers.as_slice() {
                [only] if !mount.at.starts_with(HOLON) => *mount = Mount::read_only(only, &mount.at),
                _ => {
                    return Err(refusal(
                        LaunchStep::Overlay,
                        "this backend has no merged views; copy the folder",
                        &mount.at,
                    ));
                }
            }
        }
        if mount.at == Path::new(WORKSPACE) && !job.writable_below.is_empty() {
            mount.writable = false;
        }
    }
    let workspace = mounts.iter().find_map(|mount| match &mount.source {
        MountSource::Bind(path) if mount.at == Path::new(WORKSPACE) => Some(path.clone()),
        _ => None,
    });
    if let Some(source) = workspace {
        mounts.extend(job.writable_below.iter().filter_map(|below| {
            let place = real_folder(&source, below)?;
            Some(Mount::writable(place, Path::new(WORKSPACE).join(below)))
        }));
    }
    mounts.sort_by_key(|mount| mount.at.components().count());
    Ok(mounts)
}

/// A folder below `root` that is reached without any link; what the workspace holds may be hostile. A link or a missing
/// folder stays closed.
fn real_folder(root: &Path, below: &Path) -> Option<PathBuf> {
    let root_fd = rustix::fs::openat(CWD, root, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    rustix::fs::openat2(&root_fd, below, flags, Mode::empty(), resolve).ok()?;
    Some(root.join(below))
}

/// A refusal that is not the kernel's.
pub(super) fn refusal(step: LaunchStep, message: impl Into<String>, about: &Path) -> LaunchRefusal {
    LaunchRefusal { step, errno: 0, message: message.into(), detail: about.display().to_string() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::testing::job;
    use super::*;
    use crate::mount::Overlay;

    #[test]
    fn a_scoped_workspace_opens_real_folders_only() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("docs/guide")).unwrap();
        std::os::unix::fs::symlink("/etc", dir.path().join("link")).unwrap();
        let mut job = job(&[]);
        job.mounts = vec![Mount::writable(dir.path(), WORKSPACE)];
        job.writable_below = vec!["docs/guide".into(), "link".into(), "absent".into(), "../etc".into()];
        let found = mounts(&job).unwrap();
        assert_eq!(
            found,
            [
                Mount::read_only(dir.path(), WORKSPACE),
                Mount::writable(dir.path().join("docs/guide"), "/holon/workspace/docs/guide"),
            ]
        );
    }

    #[test]
    fn a_merged_view_is_refused() {
        let mut job = job(&[]);
        let layers = Overlay {
            lowers: vec!["/a".into()],
            upper: None,
            work: None,
            lasting: false,
            moved_whole: false,
        };
        let merged = |at: &str, layers: &Overlay| Mount {
            at: at.into(),
            source: MountSource::Overlay(layers.clone()),
            writable: true,
        };
        job.mounts = vec![merged(WORKSPACE, &layers)];
        assert_eq!(mounts(&job).unwrap_err().step, LaunchStep::Overlay);
        job.mounts = vec![merged("/cache", &layers)];
        assert_eq!(mounts(&job).unwrap(), [Mount::read_only("/a", "/cache")]);
        let veiled = Overlay { lowers: vec!["/veil".into(), "/a".into()], ..layers };
        job.mounts = vec![merged("/cache", &veiled)];
        assert_eq!(mounts(&job).unwrap_err().step, LaunchStep::Overlay, "the veil hides something");
    }
}
