//! What the kernel notes in extended attributes of an overlay's upper layer.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::fs::fgetxattr;
use rustix::io::Errno;

/// Which attributes an overlay wrote. Only these count: the others are in the payload's own hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OverlayXattrPrefix {
    /// Mounted by root.
    Trusted,
    /// Mounted inside a user namespace.
    User,
}

/// How an upper directory relates to what is below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UpperDirOrigin {
    /// It covers the directory of the same name.
    Merged,
    /// It covers nothing.
    Opaque,
    /// It covers another directory: by path from the root, or by name in the same directory.
    Redirect(Vec<u8>),
}

/// What an upper file was copied from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UpperFileOrigin {
    /// This one.
    File(OriginHandle),
    /// Some file of the original: in a user namespace the kernel does not say which.
    Unknown,
}

/// Identifies a file of the original across renames; as the kernel encodes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct OriginHandle {
    kind: u8,
    bytes: Vec<u8>,
}

impl OverlayXattrPrefix {
    fn names(self) -> [&'static CStr; 3] {
        match self {
            Self::Trusted => {
                [c"trusted.overlay.opaque", c"trusted.overlay.redirect", c"trusted.overlay.origin"]
            }
            Self::User => [c"user.overlay.opaque", c"user.overlay.redirect", c"user.overlay.origin"],
        }
    }

    /// Reads the marks of an open upper directory.
    pub(crate) fn below(self, dir: BorrowedFd<'_>) -> io::Result<UpperDirOrigin> {
        let [opaque, redirect, _] = self.names();
        if attribute(dir, opaque)?.as_deref() == Some(b"y") {
            return Ok(UpperDirOrigin::Opaque);
        }
        // In a user namespace the kernel neither writes nor follows redirects.
        match (self, attribute(dir, redirect)?) {
            (Self::Trusted, Some(target)) => Ok(UpperDirOrigin::Redirect(target)),
            _ => Ok(UpperDirOrigin::Merged),
        }
    }

    /// Which original an upper file was copied from; `None` when it is new.
    pub(crate) fn origin(self, file: BorrowedFd<'_>) -> io::Result<Option<UpperFileOrigin>> {
        let value = attribute(file, self.names()[2])?;
        Ok(value.map(|value| parse_origin(&value).map_or(UpperFileOrigin::Unknown, UpperFileOrigin::File)))
    }
}

/// version, magic, length, flags, kind of handle, 16 bytes naming the file system, the handle.
fn parse_origin(value: &[u8]) -> Option<OriginHandle> {
    match value {
        [0, 0xfb, len, _flags, kind, rest @ ..] if usize::from(*len) == value.len() && rest.len() > 16 => {
            Some(OriginHandle { kind: *kind, bytes: rest[16..].to_vec() })
        }
        _ => None,
    }
}

fn attribute(fd: BorrowedFd<'_>, name: &CStr) -> io::Result<Option<Vec<u8>>> {
    let mut value = vec![0; 4096];
    match fgetxattr(fd, name, &mut value[..]) {
        Ok(len) => {
            value.truncate(len);
            Ok(Some(value))
        }
        Err(Errno::NODATA | Errno::NOTSUP | Errno::PERM | Errno::RANGE) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

impl OriginHandle {
    /// The handle of a name in an open directory; `None` where the file system has none.
    pub(crate) fn of(dir: impl AsFd, name: &[u8]) -> Option<Self> {
        #[repr(C)]
        struct RawFileHandle {
            len: libc::c_uint,
            kind: libc::c_int,
            bytes: [u8; 128],
        }
        let name = CString::new(name).ok()?;
        let mut raw = RawFileHandle { len: 128, kind: 0, bytes: [0; 128] };
        let mut mount_id: libc::c_int = 0;
        // SAFETY: `name` is a C string; `raw` has the layout of `struct file_handle` with room for `len`
        // bytes after its two fields; the kernel writes no more than that, and one integer to `mount_id`.
        let done = unsafe {
            libc::syscall(
                libc::SYS_name_to_handle_at,
                dir.as_fd().as_raw_fd(),
                name.as_ptr(),
                &raw mut raw,
                &raw mut mount_id,
                0,
            )
        };
        let len = usize::try_from(raw.len).ok().filter(|len| done == 0 && *len <= 128)?;
        Some(Self { kind: u8::try_from(raw.kind).ok()?, bytes: raw.bytes[..len].to_vec() })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn only_whole_notes_are_read() {
        let mut value = vec![0, 0xfb, 0, 0, 1];
        value.extend([7; 16]);
        value.extend([1, 2, 3, 4]);
        value[2] = value.len() as u8;
        assert_eq!(parse_origin(&value), Some(OriginHandle { kind: 1, bytes: vec![1, 2, 3, 4] }));
        assert_eq!(parse_origin(&value[..20]), None);
        assert_eq!(parse_origin(&[]), None);
    }

    #[test]
    fn a_handle_follows_the_file_not_the_name() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), "a").unwrap();
        fs::write(dir.path().join("b"), "b").unwrap();
        let fd = File::open(dir.path()).unwrap();
        let Some(a) = OriginHandle::of(&fd, b"a") else { return };
        assert_ne!(OriginHandle::of(&fd, b"b").unwrap(), a);
        fs::rename(dir.path().join("a"), dir.path().join("c")).unwrap();
        assert_eq!(OriginHandle::of(&fd, b"c").unwrap(), a);
        assert_eq!(OriginHandle::of(&fd, b"a"), None);
    }
}
