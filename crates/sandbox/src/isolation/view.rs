//! Turns a planned mount into a detached one: everything that needs the host's file system is done here, before the
//! private root covers it.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, OpenTreeFlags};
use rustix::mount::{fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, open_tree};

use super::identity::PayloadIdentity;
use super::idmap::Idmaps;
use super::step::{LaunchRefusal, LaunchStep};
use super::sys;
use crate::mount::{Mount, MountSource, Overlay};

/// A mount that hangs nowhere yet.
pub(super) struct DetachedMount {
    /// What was asked for.
    pub mount: Mount,
    /// The detached mount; `None` for what is made inside the private root itself.
    pub fd: Option<OwnedFd>,
}

impl DetachedMount {
    /// Whether a source is mounted from outside, as opposed to made inside the root.
    pub(super) fn needs_fd(source: &MountSource) -> bool {
        matches!(source, MountSource::Bind(_) | MountSource::Overlay(_) | MountSource::Tmpfs { .. })
    }
}

/// Makes views; as root it also maps the owners of what the payload may call its own.
pub(super) struct DetachedMounts {
    identity: PayloadIdentity,
    idmaps: Idmaps,
}

impl DetachedMounts {
    pub(super) fn new(identity: PayloadIdentity) -> Self {
        Self { identity, idmaps: Idmaps::default() }
    }

    /// Gets ready for files of this owner, before there is anything to mount.
    pub(super) fn expect_owner(&mut self, uid: u32, gid: u32) -> Result<(), LaunchRefusal> {
        self.idmaps.for_owner(uid, gid, &self.identity).map(drop)
    }

    /// Detached mounts for a whole plan.
    pub(super) fn make(&mut self, mounts: Vec<Mount>) -> Result<Vec<DetachedMount>, LaunchRefusal> {
        mounts.into_iter().map(|mount| self.one(mount)).collect()
    }

    fn one(&mut self, mount: Mount) -> Result<DetachedMount, LaunchRefusal> {
        let fd = match &mount.source {
            MountSource::Bind(path) => Some(self.bind(path, &mount)?),
            MountSource::Overlay(layers) => Some(self.overlay(layers, mount.writable)?),
            MountSource::Tmpfs { mb, inodes } => Some(tmpfs(*mb, *inodes, 0o1777)?),
            MountSource::File(_) | MountSource::Symlink(_) | MountSource::EmptyDir => None,
        };
        Ok(DetachedMount { mount, fd })
    }

    /// A view of a host path. What lies under /holon is the payload's own: its owner is mapped to the payload.
    fn bind(&mut self, path: &Path, mount: &Mount) -> Result<OwnedFd, LaunchRefusal> {
        let refuse = |e: std::io::Error| LaunchRefusal::new(LaunchStep::Bind, e, path.display().to_string());
        let own = self.identity.by_root && mount.at.starts_with("/holon") && !self.identity.owns(path);
        let mut flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        if !own {
            flags |= OpenTreeFlags::AT_RECURSIVE;
        }
        let tree = open_tree(rustix::fs::CWD, path, flags).map_err(|e| refuse(e.into()))?;
        let device = mount.at.starts_with("/dev");
        let mut set =
            libc::MOUNT_ATTR_NOSUID | if device { libc::MOUNT_ATTR_NOEXEC } else { libc::MOUNT_ATTR_NODEV };
        if !mount.writable && !device {
            set |= libc::MOUNT_ATTR_RDONLY;
        }
        sys::mount_setattr(tree.as_fd(), !own, set, 0, None).map_err(refuse)?;
        if own {
            self.map_owner(&tree, path)?;
        }
        Ok(tree)
    }

    fn map_owner(&mut self, tree: &OwnedFd, path: &Path) -> Result<(), LaunchRefusal> {
        let refuse =
            |e: std::io::Error| LaunchRefusal::new(LaunchStep::IdmappedMount, e, path.display().to_string());
        let owner = path.metadata().map_err(refuse)?;
        let userns = self.idmaps.for_owner(owner.uid(), owner.gid(), &self.identity)?;
        sys::mount_setattr(tree.as_fd(), false, 0, 0, Some(userns.as_fd())).map_err(refuse)
    }

    fn overlay(&mut self, layers: &Overlay, writable: bool) -> Result<OwnedFd, LaunchRefusal> {
        if self.identity.by_root {
            self.show_lowers_as_own(layers)?;
        }
        let open = |path: &Path| {
            File::open(path)
                .map_err(|e| LaunchRefusal::new(LaunchStep::Overlay, e, path.display().to_string()))
        };
        let lowers = layers.lowers.iter().map(|p| open(p)).collect::<Result<Vec<_>, _>>()?;
        let upper = layers.upper.as_deref().map(open).transpose()?;
        let work = layers.work.as_deref().map(open).transpose()?;
        let bottom = layers.lowers.last().map(|p| p.display().to_string()).unwrap_or_default();
        mount_overlay(&lowers, upper.as_ref(), work.as_ref(), self.identity.by_root, writable, layers)
            .map_err(|e| LaunchRefusal::new(LaunchStep::Overlay, e, bottom))
    }

    /// Root only: covers each lower directory, in this private mount namespace, with a view of itself whose owner is
    /// the payload. The overlay then allows the payload to copy those files up.
    fn show_lowers_as_own(&mut self, layers: &Overlay) -> Result<(), LaunchRefusal> {
        for path in &layers.lowers {
            if self.identity.owns(path) {
                continue;
            }
            let refuse = |e: rustix::io::Errno| {
                LaunchRefusal::new(LaunchStep::IdmappedMount, e, path.display().to_string())
            };
            let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
            let tree = open_tree(rustix::fs::CWD, path, flags).map_err(refuse)?;
            self.map_owner(&tree, path)?;
            let empty = rustix::mount::MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
            rustix::mount::move_mount(&tree, "", rustix::fs::CWD, path, empty).map_err(refuse)?;
        }
        Ok(())
    }
}

/// Layers are named through /proc/self/fd, so that no character of a path can be an option separator and no host path
/// shows up inside.
fn mount_overlay(
    lowers: &[File],
    upper: Option<&File>,
    work: Option<&File>,
    by_root: bool,
    writable: bool,
    layers: &Overlay,
) -> std::io::Result<OwnedFd> {
    let name = |file: &File| format!("/proc/self/fd/{}", file.as_raw_fd());
    let context = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let set = |key: &str, value: &str| fsconfig_set_string(context.as_fd(), key, value);
    set("source", "holon")?;
    set("lowerdir", &lowers.iter().map(name).collect::<Vec<_>>().join(":"))?;
    if let (Some(upper), Some(work)) = (upper, work) {
        set("upperdir", &name(upper))?;
        set("workdir", &name(work))?;
        // A run's files are worthless after a crash of the machine: no sync when it is unmounted.
        if !layers.lasting {
            fsconfig_set_flag(context.as_fd(), "volatile")?;
        }
    }
    if by_root {
        let redirect = if layers.lasting || layers.moved_whole { "off" } else { "on" };
        for (key, value) in [("redirect_dir", redirect), ("metacopy", "off"), ("index", "off")] {
            set(key, value)?;
        }
    } else {
        fsconfig_set_flag(context.as_fd(), "userxattr")?;
    }
    fsconfig_create(context.as_fd())?;
    let mut attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    if !writable {
        attributes |= MountAttrFlags::MOUNT_ATTR_RDONLY;
    }
    Ok(fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

/// A bounded in-memory file system.
pub(super) fn tmpfs(mb: u64, inodes: u64, mode: u32) -> Result<OwnedFd, LaunchRefusal> {
    let make = || -> std::io::Result<OwnedFd> {
        let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        let set = |key: &str, value: &str| fsconfig_set_string(context.as_fd(), key, value);
        set("source", "holon")?;
        set("size", &format!("{mb}m"))?;
        set("nr_inodes", &inodes.to_string())?;
        set("mode", &format!("{mode:o}"))?;
        fsconfig_create(context.as_fd())?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        Ok(fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
    };
    make().map_err(|e| LaunchRefusal::new(LaunchStep::Root, e, "tmpfs"))
}
