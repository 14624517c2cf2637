//! The private root: a small tmpfs, the planned mounts on it, a covered /proc, and nothing of the host.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags};

use super::step::{LaunchRefusal, LaunchStep};
use super::sys;
use super::view::{self, DetachedMount};
use crate::mount::{Mount, MountSource};

/// Where host files that must be covered by a file are staged inside the root.
const COVERS: &str = "/.covers";
/// What covers a file or a folder that must not be seen.
const EMPTY_FILE: &str = "/.covers/file";
const EMPTY_FOLDER: &str = "/.covers/folder";
/// /proc entries nobody inside may read; covered by an empty file or directory.
pub(crate) const PROC_HIDDEN: &[&str] = &[
    "acpi",
    "asound",
    "kallsyms",
    "kcore",
    "key-users",
    "keys",
    "kmsg",
    "latency_stats",
    "sched_debug",
    "scsi",
    "sysrq-trigger",
    "timer_list",
];
/// /proc entries that may be read but never written.
pub(crate) const PROC_READ_ONLY: &[&str] = &["sys", "bus", "fs", "irq"];

/// Most terminals a payload can have at the same time.
const TERMINALS: &str = "64";

/// The root while it is being built, attached somewhere harmless in the new mount namespace.
pub(super) struct PrivateRoot {
    fd: OwnedFd,
    attached: Vec<PathBuf>,
    covers: u32,
}

fn refuse(path: &Path) -> impl Fn(rustix::io::Errno) -> LaunchRefusal + '_ {
    move |e| LaunchRefusal::new(LaunchStep::Root, e, path.display().to_string())
}

impl PrivateRoot {
    /// An empty root over some directory of the (already private) host tree.
    pub(super) fn new() -> Result<Self, LaunchRefusal> {
        let tmpfs = view::tmpfs(16, 4096, 0o755)?;
        // Whatever is covered here must not be needed for making views later.
        let place = ["/sys", "/mnt", "/media", "/srv", "/boot"].iter().map(Path::new).find(|p| p.is_dir());
        let place =
            place.ok_or_else(|| LaunchRefusal::new(LaunchStep::Root, rustix::io::Errno::NOENT, "/sys"))?;
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        rustix::mount::move_mount(&tmpfs, "", rustix::fs::CWD, place, flags).map_err(refuse(place))?;
        let fd = rustix::fs::open(place, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(refuse(place))?;
        let root = Self { fd, attached: Vec::new(), covers: 0 };
        let (covers, _) = root.parent(Path::new(EMPTY_FILE))?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        rustix::fs::openat(&covers, "file", flags, Mode::from_raw_mode(0o444)).map_err(refuse(place))?;
        rustix::fs::mkdirat(&covers, "folder", Mode::from_raw_mode(0o555)).map_err(refuse(place))?;
        Ok(root)
    }

    /// Puts every view in its place, parents first.
    pub(super) fn attach_all(&mut self, mut views: Vec<DetachedMount>) -> Result<(), LaunchRefusal> {
        views.sort_by_key(|v| v.mount.at.components().count());
        for view in views {
            self.attach(view)?;
        }
        Ok(())
    }

    fn attach(&mut self, view: DetachedMount) -> Result<(), LaunchRefusal> {
        let Mount { at, source, .. } = &view.mount;
        match (source, view.fd) {
            (MountSource::File(bytes), _) => self.file(at, bytes),
            (MountSource::Symlink(target), _) => {
                let (parent, name) = self.parent(at)?;
                match rustix::fs::symlinkat(target, &parent, name) {
                    // A second start in the same sandbox finds what the first one made.
                    Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
                    Err(e) => Err(refuse(at)(e)),
                }
            }
            (MountSource::EmptyDir, _) if !self.attached.iter().any(|m| at.starts_with(m)) => {
                // In the root itself, which becomes read-only, a folder is enough.
                let (parent, name) = self.parent(at)?;
                rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o555)).map_err(refuse(at))
            }
            (MountSource::EmptyDir, _) => {
                let cover = self.clone_of(EMPTY_FOLDER.as_ref())?;
                let target = self.mount_point(at, &cover)?;
                self.move_to(&cover, &target, at)
            }
            (_, Some(fd)) => {
                let target = self.mount_point(at, &fd)?;
                self.move_to(&fd, &target, at)?;
                self.attached.push(at.clone());
                Ok(())
            }
            (_, None) => Ok(()),
        }
    }

    fn move_to(&self, fd: &OwnedFd, target: &OwnedFd, at: &Path) -> Result<(), LaunchRefusal> {
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        rustix::mount::move_mount(fd, "", target, "", flags).map_err(refuse(at))
    }

    /// A small file: written into the root itself, or, where something else is mounted already, laid over what is there.
    fn file(&mut self, at: &Path, bytes: &[u8]) -> Result<(), LaunchRefusal> {
        let covered = self.attached.iter().any(|m| at.starts_with(m));
        let path = if covered {
            self.covers += 1;
            Path::new(COVERS).join(self.covers.to_string())
        } else {
            at.to_owned()
        };
        let (parent, name) = self.parent(&path)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file =
            rustix::fs::openat(&parent, name, flags, Mode::from_raw_mode(0o444)).map_err(refuse(at))?;
        File::from(file)
            .write_all(bytes)
            .map_err(|e| LaunchRefusal::new(LaunchStep::Root, e, at.display().to_string()))?;
        if covered {
            let cover = self.clone_of(&path)?;
            let target = self.resolve(at).map_err(refuse(at))?;
            self.move_to(&cover, &target, at)?;
        }
        Ok(())
    }

    /// A read-only mount of something in the root, to be laid over something else.
    fn clone_of(&self, path: &Path) -> Result<OwnedFd, LaunchRefusal> {
        let place = self.resolve(path).map_err(refuse(path))?;
        let flags =
            OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
        let tree = rustix::mount::open_tree(&place, "", flags).map_err(refuse(path))?;
        sys::mount_setattr(tree.as_fd(), false, libc::MOUNT_ATTR_RDONLY, 0, None)
            .map_err(|e| LaunchRefusal::new(LaunchStep::Root, e, path.display().to_string()))?;
        Ok(tree)
    }

    /// Opens `at` below the root without following any link: what is mounted may be hostile.
    fn resolve(&self, at: &Path) -> Result<OwnedFd, rustix::io::Errno> {
        let relative = at.strip_prefix("/").unwrap_or(at);
        let relative = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
        rustix::fs::openat2(
            &self.fd,
            relative,
            OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS,
        )
    }

    /// The directory that will hold `at`, made if it is missing.
    fn parent<'a>(&self, at: &'a Path) -> Result<(OwnedFd, &'a OsStr), LaunchRefusal> {
        let missing =
            || LaunchRefusal::new(LaunchStep::Root, rustix::io::Errno::INVAL, at.display().to_string());
        let name = at.file_name().ok_or_else(missing)?;
        let parent = at.parent().ok_or_else(missing)?;
        if let Ok(found) = self.resolve(parent) {
            return Ok((found, name));
        }
        let mut here = PathBuf::from("/");
        for part in parent.components() {
            let Component::Normal(part) = part else { continue };
            let above = self.resolve(&here).map_err(refuse(at))?;
            match rustix::fs::mkdirat(&above, part, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(e) => return Err(refuse(at)(e)),
            }
            here.push(part);
        }
        Ok((self.resolve(parent).map_err(refuse(at))?, name))
    }

    /// A directory or file at `at` to mount on, of the same kind as what will be mounted.
    fn mount_point(&self, at: &Path, source: &OwnedFd) -> Result<OwnedFd, LaunchRefusal> {
        let is_dir = rustix::fs::fstat(source)
            .map(|s| rustix::fs::FileType::from_raw_mode(s.st_mode).is_dir())
            .map_err(refuse(at))?;
        // In the root itself there are no links but our own, so the short way is safe.
        let ours = !self.attached.iter().any(|m| at.starts_with(m));
        let relative = at.strip_prefix("/").unwrap_or(at);
        if ours && is_dir && rustix::fs::mkdirat(&self.fd, relative, Mode::from_raw_mode(0o755)).is_ok() {
            return self.resolve(at).map_err(refuse(at));
        }
        if let Ok(found) = self.resolve(at) {
            return Ok(found);
        }
        let (parent, name) = self.parent(at)?;
        if is_dir {
            rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o755)).map_err(refuse(at))?;
            return self.resolve(at).map_err(refuse(at));
        }
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        rustix::fs::openat(&parent, name, flags, Mode::from_raw_mode(0o444)).map_err(refuse(at))
    }

    /// Opens directories below a read-only mount for writing again; a link or a missing one stays closed.
    pub(super) fn reopen(&mut self, mount: &Path, directories: &[PathBuf]) -> Result<(), LaunchRefusal> {
        let mut open = Vec::new();
        for directory in directories {
            let at = mount.join(directory);
            let Ok(place) = self.resolve(&at) else { continue };
            let flags = OpenTreeFlags::OPEN_TREE_CLONE
                | OpenTreeFlags::OPEN_TREE_CLOEXEC
                | OpenTreeFlags::AT_EMPTY_PATH;
            let tree = rustix::mount::open_tree(&place, "", flags).map_err(refuse(&at))?;
            open.push((at, tree));
        }
        let whole = self.resolve(mount).map_err(refuse(mount))?;
        sys::mount_setattr(whole.as_fd(), false, libc::MOUNT_ATTR_RDONLY, 0, None)
            .map_err(|e| LaunchRefusal::new(LaunchStep::Root, e, mount.display().to_string()))?;
        for (at, tree) in open {
            let target = self.resolve(&at).map_err(refuse(&at))?;
            self.move_to(&tree, &target, &at)?;
        }
        Ok(())
    }

    /// A fresh /proc for the current pid namespace.
    pub(super) fn mount_proc(&mut self) -> Result<(), LaunchRefusal> {
        let at = Path::new("/proc");
        let make = || -> Result<OwnedFd, rustix::io::Errno> {
            let context = rustix::mount::fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
            rustix::mount::fsconfig_set_string(context.as_fd(), "source", "proc")?;
            rustix::mount::fsconfig_create(context.as_fd())?;
            let flags = MountAttrFlags::MOUNT_ATTR_NOSUID
                | MountAttrFlags::MOUNT_ATTR_NODEV
                | MountAttrFlags::MOUNT_ATTR_NOEXEC;
            rustix::mount::fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, flags)
        };
        let proc = make().map_err(|e| LaunchRefusal::new(LaunchStep::Proc, e, ""))?;
        let target = self.mount_point(at, &proc)?;
        self.move_to(&proc, &target, at)?;
        self.attached.push(at.to_owned());
        Ok(())
    }

    /// Terminals that only this payload sees, and a bounded number of them. A kernel that refuses costs no more than them.
    pub(super) fn mount_terminals(&mut self) {
        let at = Path::new("/dev/pts");
        let make = || -> Result<OwnedFd, rustix::io::Errno> {
            let context = rustix::mount::fsopen("devpts", FsOpenFlags::FSOPEN_CLOEXEC)?;
            for (key, value) in
                [("source", "devpts"), ("ptmxmode", "0666"), ("mode", "0600"), ("max", TERMINALS)]
            {
                rustix::mount::fsconfig_set_string(context.as_fd(), key, value)?;
            }
            rustix::mount::fsconfig_create(context.as_fd())?;
            let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
            rustix::mount::fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, flags)
        };
        let Ok(terminals) = make() else { return };
        let placed =
            self.mount_point(at, &terminals).and_then(|target| self.move_to(&terminals, &target, at));
        if placed.is_ok() {
            self.attached.push(at.to_owned());
        }
    }

    /// Writes a switch of the new namespaces; `false` where this kernel does not let us.
    pub(super) fn write_sysctl(&self, name: &str, value: u64) -> bool {
        let path = Path::new("proc/sys").join(name);
        rustix::fs::openat(&self.fd, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
            .is_ok_and(|fd| File::from(fd).write_all(value.to_string().as_bytes()).is_ok())
    }

    /// Covers what /proc tells about the machine, and makes its switches read-only. After the last sysctl write.
    pub(super) fn cover_proc(&mut self) -> Result<(), LaunchRefusal> {
        for name in PROC_HIDDEN {
            let at = Path::new("/proc").join(name);
            let Ok(found) = self.resolve(&at) else { continue };
            let stat = rustix::fs::fstat(&found).map_err(refuse(&at))?;
            if stat.st_mode & 0o007 == 0 {
                // Only the kernel's uid 0 could use it, which no payload is.
                continue;
            }
            let is_dir = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir();
            let cover = self.clone_of((if is_dir { EMPTY_FOLDER } else { EMPTY_FILE }).as_ref())?;
            self.move_to(&cover, &found, &at)?;
        }
        for name in PROC_READ_ONLY {
            let at = Path::new("/proc").join(name);
            let Ok(found) = self.resolve(&at) else { continue };
            let tree = self.clone_of(&at)?;
            self.move_to(&tree, &found, &at)?;
        }
        Ok(())
    }

    /// Makes this the root of the process and lets go of the host's tree.
    pub(super) fn enter(self) -> Result<(), LaunchRefusal> {
        let at = Path::new("/");
        rustix::process::fchdir(&self.fd).map_err(refuse(at))?;
        // With both names the same, the old root ends up stacked on the new one and can be unmounted right away.
        rustix::process::pivot_root(".", ".").map_err(refuse(at))?;
        rustix::mount::unmount(".", UnmountFlags::DETACH).map_err(refuse(at))?;
        rustix::process::chdir("/").map_err(refuse(at))?;
        let root =
            rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(refuse(at))?;
        sys::mount_setattr(root.as_fd(), false, libc::MOUNT_ATTR_RDONLY, 0, None)
            .map_err(|e| LaunchRefusal::new(LaunchStep::Root, e, "/"))
    }
}
