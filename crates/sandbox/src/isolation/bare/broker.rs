//! Changes of modes and times, made for a payload that has the user's own identity.
//!
//! Landlock decides what is opened, read and written, but not whose mode or time is changed; a payload that is the user could
//! change those of all the user's files. So its calls wait (a filter with a listener), and the launcher makes them: it opens the
//! file itself, without reading it, and changes it through that descriptor if it lies below a folder the payload may write to.
//! Nothing is taken from the payload but a name and numbers, and what was looked at is what is changed.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Timespec, Timestamps};

use super::super::{sys, wire};
use super::{BareCommand, MetadataPolicy};

/// The same number everywhere, but not yet in the C library's list for every architecture.
pub(super) const FCHMODAT2: libc::c_long = 452;
/// The longest name the kernel takes.
const LONGEST_NAME: u64 = 4096;
/// An identity that stays as it is.
const UNCHANGED: u32 = u32::MAX;

/// Whoever answers the waiting calls of one payload.
#[derive(Debug)]
pub(super) struct MetadataBroker {
    listener: OwnedFd,
    /// What the payload may write to, by the names the kernel gives.
    writable: Vec<PathBuf>,
}

impl AsFd for MetadataBroker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

/// What is to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MetadataChange {
    Mode(u32),
    Owner {
        uid: u32,
        gid: u32,
    },
    /// At this place in the payload's memory, or now.
    Times(u64),
}

/// One call, as far as numbers go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MetadataCall {
    /// A descriptor, or the working directory.
    at: i32,
    /// Where the name is; 0 for the descriptor itself.
    name: u64,
    change: MetadataChange,
    /// Change a link rather than what it leads to.
    link: bool,
    /// An empty name stands for the descriptor.
    empty: bool,
}

impl MetadataBroker {
    /// Waits until the payload has its filter. `None` where it has none, or ended before.
    pub(super) fn of(bare: &BareCommand, from_payload: &UnixStream) -> Option<Self> {
        let confined = bare.confined.as_ref().filter(|c| c.metadata == MetadataPolicy::Brokered)?;
        let listener = wire::take_fds(from_payload, 1).ok()?.pop()?;
        let writable = confined.reach.write.iter().filter_map(|path| path.canonicalize().ok());
        // Devices and the like are not the payload's to change.
        Some(Self { listener, writable: writable.filter(|path| path.is_dir()).collect() })
    }

    /// Takes one waiting call and answers it.
    pub(super) fn answer_one(&self) {
        let Ok(asked) = sys::next_call(self.listener.as_fd()) else { return };
        let errno = match self.carry_out(&asked) {
            Ok(()) => 0,
            Err(e) => e.raw_os_error().unwrap_or(libc::EPERM),
        };
        sys::answer_call(self.listener.as_fd(), asked.id, errno);
    }

    fn carry_out(&self, asked: &libc::seccomp_notif) -> io::Result<()> {
        let call = understood(asked.data.nr.into(), &asked.data.args).ok_or_else(refused)?;
        let caller = Path::new("/proc").join(asked.pid.to_string());
        let mut memory = File::open(caller.join("mem"))?;
        let name = if call.name == 0 { Vec::new() } else { name_at(&mut memory, call.name)? };
        if name.is_empty() && call.name != 0 && !call.empty {
            return Err(io::Error::from_raw_os_error(libc::ENOENT));
        }
        let times = match call.change {
            MetadataChange::Times(0) => Some(now()),
            MetadataChange::Times(place) => Some(times_at(&mut memory, place)?),
            _ => None,
        };
        let from = if call.at == libc::AT_FDCWD {
            caller.join("cwd")
        } else {
            caller.join("fd").join(call.at.to_string())
        };
        let start = rustix::fs::open(&from, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        // The number of a process that is gone may be another's by now: then nothing that was read means anything.
        if !sys::still_waits(self.listener.as_fd(), asked.id) {
            return Err(refused());
        }
        let start = start.map_err(|_| io::Error::from_raw_os_error(libc::EBADF))?;
        let file = if name.is_empty() {
            start
        } else {
            let mut flags = OFlags::PATH | OFlags::CLOEXEC;
            flags.set(OFlags::NOFOLLOW, call.link);
            rustix::fs::openat(&start, OsString::from_vec(name), flags, Mode::empty())?
        };
        self.change(&file, call.change, times)
    }

    fn change(&self, file: &OwnedFd, change: MetadataChange, times: Option<Timestamps>) -> io::Result<()> {
        let through = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        let place = std::fs::read_link(&through)?;
        if !self.writable.iter().any(|folder| place.starts_with(folder)) {
            return Err(refused());
        }
        let meta = std::fs::metadata(&through)?;
        match change {
            MetadataChange::Owner { uid, gid } => {
                let same = |wanted: u32, is: u32| wanted == UNCHANGED || wanted == is;
                if same(uid, meta.uid()) && same(gid, meta.gid()) { Ok(()) } else { Err(refused()) }
            }
            // A link has no mode, and nobody needs a program that becomes its owner.
            MetadataChange::Mode(mode) if mode & 0o6000 != 0 || is_link(file)? => Err(refused()),
            MetadataChange::Mode(mode) => {
                std::fs::set_permissions(&through, std::fs::Permissions::from_mode(mode & 0o1777))
            }
            MetadataChange::Times(_) => {
                let times = times.unwrap_or_else(now);
                let done = rustix::fs::utimensat(file, "", &times, AtFlags::EMPTY_PATH);
                // Older kernels change nothing through such a descriptor; its name in /proc leads to the file, but not to a link.
                done.or_else(|e| {
                    if is_link(file).unwrap_or(true) {
                        return Err(e);
                    }
                    rustix::fs::utimensat(CWD, &through, &times, AtFlags::empty())
                })?;
                Ok(())
            }
        }
    }
}

fn is_link(file: &OwnedFd) -> io::Result<bool> {
    let mode = rustix::fs::fstat(file)?.st_mode;
    Ok(rustix::fs::FileType::from_raw_mode(mode).is_symlink())
}

fn refused() -> io::Error {
    io::Error::from_raw_os_error(libc::EPERM)
}

fn now() -> Timestamps {
    let now = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
    Timestamps { last_access: now, last_modification: now }
}

/// What a call asks for; `None` for a call that is not among those that wait.
fn understood(number: libc::c_long, args: &[u64; 6]) -> Option<MetadataCall> {
    let (first, flags3, flags4) = (args[0] as i32, args[3] as i32, args[4] as i32);
    let call = |at, name, change, flags: i32| MetadataCall {
        at,
        name,
        change,
        link: flags & libc::AT_SYMLINK_NOFOLLOW != 0,
        empty: flags & libc::AT_EMPTY_PATH != 0,
    };
    let owner = |at: usize| MetadataChange::Owner { uid: args[at] as u32, gid: args[at + 1] as u32 };
    let mode = |at: usize| MetadataChange::Mode(args[at] as u32);
    #[cfg(target_arch = "x86_64")]
    match number {
        libc::SYS_chmod => return Some(call(libc::AT_FDCWD, args[0], mode(1), 0)),
        libc::SYS_chown => return Some(call(libc::AT_FDCWD, args[0], owner(1), 0)),
        libc::SYS_lchown => {
            return Some(call(libc::AT_FDCWD, args[0], owner(1), libc::AT_SYMLINK_NOFOLLOW));
        }
        _ => {}
    }
    Some(match number {
        libc::SYS_fchmod => call(first, 0, mode(1), 0),
        libc::SYS_fchmodat => call(first, args[1], mode(2), 0),
        FCHMODAT2 => call(first, args[1], mode(2), flags3),
        libc::SYS_fchown => call(first, 0, owner(1), 0),
        libc::SYS_fchownat => call(first, args[1], owner(2), flags4),
        libc::SYS_utimensat => call(first, args[1], MetadataChange::Times(args[2]), flags3),
        _ => return None,
    })
}

/// The name at this place of the caller's memory, without its final zero.
fn name_at(memory: &mut File, place: u64) -> io::Result<Vec<u8>> {
    let fault = || io::Error::from_raw_os_error(libc::EFAULT);
    memory.seek(SeekFrom::Start(place)).map_err(|_| fault())?;
    let mut name = Vec::new();
    let mut piece = [0; 256];
    while (name.len() as u64) < LONGEST_NAME {
        // A name may end right before memory that is not there; the kernel then gives what there is.
        let got = memory.read(&mut piece).map_err(|_| fault())?;
        if got == 0 {
            return Err(fault());
        }
        if let Some(end) = piece[..got].iter().position(|byte| *byte == 0) {
            name.extend_from_slice(&piece[..end]);
            return Ok(name);
        }
        name.extend_from_slice(&piece[..got]);
    }
    Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG))
}

/// Two times, as the kernel's structure has them.
fn times_at(memory: &mut File, place: u64) -> io::Result<Timestamps> {
    let fault = |_| io::Error::from_raw_os_error(libc::EFAULT);
    let mut bytes = [0; 32];
    memory.seek(SeekFrom::Start(place)).and_then(|_| memory.read_exact(&mut bytes)).map_err(fault)?;
    let word = |at: usize| {
        let mut eight = [0; 8];
        eight.copy_from_slice(&bytes[at..at + 8]);
        i64::from_ne_bytes(eight)
    };
    let time = |at: usize| Timespec { tv_sec: word(at), tv_nsec: word(at + 8) };
    Ok(Timestamps { last_access: time(0), last_modification: time(16) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn calls_are_understood_by_their_numbers() {
        let args = [7, 0x1000, 0o644, 0x100, 0x1000, 0];
        let mode = MetadataChange::Mode;
        let call = |at, name, change, link, empty| MetadataCall { at, name, change, link, empty };
        for (number, expect) in [
            (libc::SYS_fchmod, Some(call(7, 0, mode(0x1000), false, false))),
            (libc::SYS_fchmodat, Some(call(7, 0x1000, mode(0o644), false, false))),
            (FCHMODAT2, Some(call(7, 0x1000, mode(0o644), true, false))),
            (libc::SYS_utimensat, Some(call(7, 0x1000, MetadataChange::Times(0o644), true, false))),
            (
                libc::SYS_fchownat,
                Some(call(7, 0x1000, MetadataChange::Owner { uid: 0o644, gid: 0x100 }, false, true)),
            ),
            (libc::SYS_read, None),
        ] {
            assert_eq!(understood(number, &args), expect, "{number}");
        }
    }

    #[test]
    fn names_are_read_to_their_end() {
        let mut file = tempfile::tempfile().unwrap();
        let long = [b"x".repeat(300), vec![0], b"rest".to_vec()].concat();
        io::Write::write_all(&mut file, &long).unwrap();
        assert_eq!(name_at(&mut file, 0).unwrap(), b"x".repeat(300));
        assert_eq!(name_at(&mut file, 300).unwrap(), b"");
        let cut = name_at(&mut file, 301).unwrap_err();
        assert_eq!(cut.raw_os_error(), Some(libc::EFAULT), "no zero before the end");
        let mut endless = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut endless, &b"y".repeat(9000)).unwrap();
        assert_eq!(name_at(&mut endless, 0).unwrap_err().raw_os_error(), Some(libc::ENAMETOOLONG));
    }

    /// A broker for one folder, which is asked without a payload.
    fn broker(folder: &Path) -> MetadataBroker {
        let listener = tempfile::tempfile().unwrap().into();
        MetadataBroker { listener, writable: vec![folder.canonicalize().unwrap()] }
    }

    #[test]
    fn changes_end_at_the_border_of_what_may_be_written() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("in"), dir.path().join("in-but-not"));
        for folder in [&inside, &outside] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("f"), "x").unwrap();
        }
        std::os::unix::fs::symlink(outside.join("f"), inside.join("link")).unwrap();
        let broker = broker(&inside);
        let open = |path: &Path, more: OFlags| {
            rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC | more, Mode::empty()).unwrap()
        };
        let mode = |path: &Path| std::fs::symlink_metadata(path).unwrap().mode() & 0o7777;
        let own = open(&inside.join("f"), OFlags::empty());
        broker.change(&own, MetadataChange::Mode(0o751), None).unwrap();
        assert_eq!(mode(&inside.join("f")), 0o751);
        broker.change(&own, MetadataChange::Times(1), Some(past())).unwrap();
        assert_eq!(std::fs::metadata(inside.join("f")).unwrap().mtime(), 1_000_000);
        let before = (mode(&outside.join("f")), std::fs::metadata(outside.join("f")).unwrap().mtime());
        for (file, change) in [
            (open(&outside.join("f"), OFlags::empty()), MetadataChange::Mode(0o777)),
            (open(&inside.join("link"), OFlags::empty()), MetadataChange::Mode(0o777)),
            (open(&inside.join("link"), OFlags::empty()), MetadataChange::Times(0)),
            (open(&inside.join("link"), OFlags::NOFOLLOW), MetadataChange::Mode(0o777)),
            (open(&inside.join("f"), OFlags::empty()), MetadataChange::Mode(0o4755)),
            (open(&inside.join("f"), OFlags::empty()), MetadataChange::Mode(0o2755)),
            (open(&inside.join("f"), OFlags::empty()), MetadataChange::Owner { uid: 1, gid: UNCHANGED }),
            (open(&outside, OFlags::empty()), MetadataChange::Mode(0o777)),
            (open(dir.path(), OFlags::empty()), MetadataChange::Mode(0o777)),
        ] {
            let refused = broker.change(&file, change, None).unwrap_err();
            assert_eq!(refused.raw_os_error(), Some(libc::EPERM), "{change:?}");
        }
        assert_eq!((mode(&outside.join("f")), std::fs::metadata(outside.join("f")).unwrap().mtime()), before);
        let meta = std::fs::metadata(inside.join("f")).unwrap();
        let same = MetadataChange::Owner { uid: meta.uid(), gid: UNCHANGED };
        broker.change(&own, same, None).unwrap();
    }

    fn past() -> Timestamps {
        let time = Timespec { tv_sec: 1_000_000, tv_nsec: 0 };
        Timestamps { last_access: time, last_modification: time }
    }
}
