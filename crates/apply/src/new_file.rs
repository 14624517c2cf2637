//! New files: made near those they replace, with the owner, the permissions and the attributes of these.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;

use holon_git::FileMode;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, linkat, openat};

use crate::tree::{AnchoredPath, WorkspaceTree};

/// An empty file where nothing is.
pub(crate) fn create(spot: &AnchoredPath, mode: u32) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(openat(&spot.dir, &spot.name, flags, Mode::from_raw_mode(mode))?))
}

/// A file without a name in the folder of a spot; `None` where there is no such thing.
fn unnamed(spot: &AnchoredPath, mode: u32) -> Option<File> {
    let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    openat(&spot.dir, ".", flags, Mode::from_raw_mode(mode)).ok().map(File::from)
}

/// Gives a file without a name one.
fn name(file: &File, spot: &AnchoredPath) -> io::Result<()> {
    // By its descriptor where the kernel lets everybody do that, which is quicker.
    if linkat(file, "", &spot.dir, &spot.name, AtFlags::EMPTY_PATH).is_ok() {
        return Ok(());
    }
    let here = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(rustix::fs::CWD, here, &spot.dir, &spot.name, AtFlags::SYMLINK_FOLLOW)?)
}

/// A new file with its content, made near the one it replaces.
pub(crate) fn new_file(
    slot: &AnchoredPath,
    old: Option<&AnchoredPath>,
    mode: FileMode,
    content: &[u8],
) -> io::Result<File> {
    let exec = mode == FileMode::Executable;
    let mode = if exec { 0o777 } else { 0o666 };
    // Near the one it replaces, with what its folder passes on; and under its name when it is whole.
    let near = old.and_then(|old| unnamed(old, mode));
    let is_near = near.is_some();
    let mut file = near.map_or_else(|| create(slot, mode), Ok)?;
    file.write_all(content)?;
    if is_near && name(&file, slot).is_err() {
        file = create(slot, mode)?;
        file.write_all(content)?;
    }
    Ok(file)
}

/// The permissions of a new file, from those of the one it replaces: whoever may read it may run it, if anybody may.
pub(crate) fn permissions(old: u32, exec: bool) -> u32 {
    let plain = old & 0o777;
    match exec {
        _ if exec == (plain & 0o100 != 0) => plain,
        true => plain | ((plain & 0o444) >> 2),
        false => plain & !0o111,
    }
}

/// A new file belongs to whom the old one, or the folder, belongs: root gives it to them, others may give it to a group
/// they are in.
pub(crate) fn own_like(
    slot: &AnchoredPath,
    new: &Stat,
    spot: Option<&AnchoredPath>,
    old: Option<&Stat>,
    tree: &WorkspaceTree,
) -> io::Result<()> {
    let is_root = rustix::process::geteuid().is_root();
    let of_old = old.filter(|stat| !FileType::from_raw_mode(stat.st_mode).is_dir());
    let like = match (of_old, spot) {
        (Some(stat), _) => *stat,
        (None, _) if !is_root => return Ok(()),
        (None, Some(spot)) => rustix::fs::fstat(&spot.dir)?,
        (None, None) => rustix::fs::stat(tree.path())?,
    };
    if (like.st_uid, like.st_gid) == (new.st_uid, new.st_gid) {
        return Ok(());
    }
    let (user, group) = (rustix::fs::Uid::from_raw(like.st_uid), rustix::fs::Gid::from_raw(like.st_gid));
    let owner = is_root.then_some(user);
    match rustix::fs::chownat(&slot.dir, &slot.name, owner, Some(group), AtFlags::SYMLINK_NOFOLLOW) {
        Err(_) if !is_root => Ok(()),
        done => Ok(done?),
    }
}

/// Labels and access lists of the old file, as far as the file system lets them be set.
pub(crate) fn copy_attributes(from: &File, to: &File) {
    let mut names = vec![0; 4096];
    let Ok(len) = rustix::fs::flistxattr(from, &mut names[..]) else { return };
    for name in names[..len].split(|&b| b == 0).filter(|name| !name.is_empty()) {
        let mut value = vec![0; 4096];
        if let Ok(len) = rustix::fs::fgetxattr(from, name, &mut value[..]) {
            let _ = rustix::fs::fsetxattr(to, name, &value[..len], rustix::fs::XattrFlags::empty());
        }
    }
}
