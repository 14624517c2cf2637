//! The raw kernel calls the safe crates do not offer. What has a condition is an `unsafe` function here, and says it where
//! it is called.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Which side of a fork the caller is on.
pub(super) enum ForkSide {
    /// In the new process.
    Child,
    /// In the old one, with the new one's pid.
    Parent(i32),
}

/// `clone3` without a stack, i.e. a fork that may also enter new namespaces.
///
/// # Safety
/// The process must be single-threaded: the child continues with a copy of the allocator's state.
pub(super) unsafe fn fork_into(flags: u64) -> io::Result<ForkSide> {
    // SAFETY: clone_args is plain data for which all zeroes is valid.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.flags = flags;
    args.exit_signal = libc::SIGCHLD as u64;
    // SAFETY: the pointer and size describe `args`; no stack is given, so the child returns here on a
    // copy of this stack, which the caller promised is sound (single thread).
    let result = unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of::<libc::clone_args>()) };
    match result {
        0 => Ok(ForkSide::Child),
        pid if pid > 0 => Ok(ForkSide::Parent(pid as i32)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A plain fork through the C library, for use after the system call filter is in place (which knows no clone3).
///
/// # Safety
/// The process must be single-threaded: the child continues with a copy of the allocator's state.
pub(super) unsafe fn fork() -> io::Result<ForkSide> {
    // SAFETY: the caller promised a single thread.
    match unsafe { libc::fork() } {
        0 => Ok(ForkSide::Child),
        pid if pid > 0 => Ok(ForkSide::Parent(pid)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets and clears attributes of a mount (and, if `recursive`, of all below it).
pub(super) fn mount_setattr(
    mount: BorrowedFd<'_>,
    recursive: bool,
    set: u64,
    clear: u64,
    idmap: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let attr = libc::mount_attr {
        attr_set: set | idmap.map_or(0, |_| libc::MOUNT_ATTR_IDMAP),
        attr_clr: clear,
        propagation: 0,
        userns_fd: idmap.map_or(0, |fd| fd.as_raw_fd() as u64),
    };
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a NUL-terminated literal, `attr` outlives the call and its size is given.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attr,
            size_of::<libc::mount_attr>(),
        )
    };
    check(result)
}

/// Leaves the current namespaces for new ones.
///
/// # Safety
/// `flags` must not hold `CLONE_FILES` (descriptors that others own would go on living elsewhere), and the process must be
/// single-threaded, because its threads would otherwise live in different namespaces without knowing.
pub(super) unsafe fn unshare(flags: c_int) -> io::Result<()> {
    // SAFETY: as the caller promised.
    check(unsafe { libc::unshare(flags) }.into())
}

/// Moves the calling thread into a new network namespace; the rest of the process stays where it is.
pub(super) fn leave_network() -> io::Result<()> {
    // SAFETY: a network namespace belongs to a thread, and nothing of the process's memory or files is unshared.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) }.into())
}

/// Brings the loopback interface of the current network namespace up.
pub(super) fn loopback_up() -> io::Result<()> {
    // SAFETY: plain socket creation; the result is checked before it is owned.
    let raw = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    check(raw.into())?;
    // SAFETY: `raw` was just returned by the kernel and nobody else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(raw) };
    // SAFETY: ifreq is plain data for which all zeroes is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo\0") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: SIOCSIFFLAGS reads an ifreq, which `request` is.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) }.into())
}

/// Blocks SIGCHLD, so that it can be read from a descriptor.
pub(super) fn block_child_signal() -> io::Result<libc::sigset_t> {
    // SAFETY: sigset_t is plain data, initialised by sigemptyset before use.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is valid for writing; SIGCHLD is a valid signal.
    unsafe {
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
    }
    // SAFETY: `set` is initialised; the old mask is not wanted.
    check(unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) }.into())?;
    Ok(set)
}

/// Blocks SIGCHLD and returns a descriptor that becomes readable when a child changes state.
pub(super) fn child_events() -> io::Result<OwnedFd> {
    let set = block_child_signal()?;
    // SAFETY: -1 asks for a new descriptor for the initialised `set`.
    let raw = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    check(raw.into())?;
    // SAFETY: `raw` was just returned by the kernel and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Gives every signal its default action, as a program expects to find them: what an ancestor ignored (nohup, a C
/// library's own signals) would otherwise be inherited.
pub(super) fn default_signals() {
    // The kernel's own form of the structure, all zeroes: default action, no flags, empty mask.
    let default = [0_u64; 4];
    for signal in 1..=64 {
        // SAFETY: `default` is as large as the kernel's structure for an 8-byte mask; no old action is asked for. The
        // call is refused for SIGKILL and SIGSTOP, which changes nothing.
        unsafe {
            libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), std::ptr::null_mut::<u64>(), 8);
        }
    }
}

/// Blocks no signal any more: a command inherits what its starter blocks, and shells wait for SIGCHLD.
pub(super) fn unblock_signals() -> io::Result<()> {
    // SAFETY: sigset_t is plain data, initialised by sigemptyset before use.
    let mut none: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `none` is valid for writing.
    unsafe { libc::sigemptyset(&raw mut none) };
    // SAFETY: `none` is initialised; the old mask is not wanted.
    check(unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()) }.into())
}

/// Marks every descriptor from `first` on as closed at exec.
pub(super) fn close_on_exec_from(first: RawFd) -> io::Result<()> {
    // SAFETY: the call only changes descriptor flags.
    check(unsafe { libc::syscall(libc::SYS_close_range, first as u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) })
}

/// Loads one seccomp program for this process and everything it starts.
pub(super) fn load_seccomp(program: &[libc::sock_filter]) -> io::Result<()> {
    let header = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // SAFETY: `header` points at `program`, which outlives the call; the kernel only reads it.
    check(unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const header) })
}

/// Gives the calling process up, without running destructors or flushing anything.
pub(super) fn exit_now(code: i32) -> ! {
    // SAFETY: _exit never returns and touches nothing of ours.
    unsafe { libc::_exit(code) }
}

/// Sends `signal` to every process this one may signal; inside a pid namespace, all but init.
///
/// # Safety
/// Only for init of a pid namespace: anywhere else it ends whatever the user has.
pub(super) unsafe fn signal_all(signal: c_int) {
    // SAFETY: kill has no memory effects, and the caller is init.
    unsafe { libc::kill(-1, signal) };
}

/// Opens a pair of terminal ends: the outer one, and the inner one that belongs to it, by descriptor and not by name.
pub(super) fn open_terminal() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: the path is a NUL-terminated literal; the result is checked before it is owned.
    let outer = unsafe { libc::open(c"/dev/ptmx".as_ptr(), flags) };
    check(outer.into())?;
    // SAFETY: `outer` was just returned by the kernel and nobody else owns it.
    let outer = unsafe { OwnedFd::from_raw_fd(outer) };
    let unlocked: c_int = 0;
    // SAFETY: TIOCSPTLCK reads an int, which `unlocked` is.
    check(unsafe { libc::ioctl(outer.as_raw_fd(), libc::TIOCSPTLCK, &raw const unlocked) }.into())?;
    // SAFETY: TIOCGPTPEER takes flags by value and returns a new descriptor, checked before it is owned.
    let inner = unsafe { libc::ioctl(outer.as_raw_fd(), libc::TIOCGPTPEER, flags) };
    check(inner.into())?;
    // SAFETY: `inner` was just returned by the kernel and nobody else owns it.
    Ok((outer, unsafe { OwnedFd::from_raw_fd(inner) }))
}

/// Makes a process group the one that reads from a terminal and gets its signals. Whoever is not in front is stopped for
/// asking, unless it blocks that signal for the moment.
pub(super) fn bring_to_front(terminal: BorrowedFd<'_>, group: i32) -> io::Result<()> {
    // SAFETY: sigset_t is plain data, initialised by sigemptyset before use.
    let (mut blocked, mut before): (libc::sigset_t, libc::sigset_t) = unsafe { std::mem::zeroed() };
    // SAFETY: both sets are valid for writing; SIGTTOU is a valid signal.
    unsafe {
        libc::sigemptyset(&raw mut blocked);
        libc::sigaddset(&raw mut blocked, libc::SIGTTOU);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const blocked, &raw mut before);
    }
    // SAFETY: the call has no memory effects.
    let done = check(unsafe { libc::tcsetpgrp(terminal.as_raw_fd(), group) }.into());
    // SAFETY: `before` is what the kernel gave above.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
    done
}

/// Lets a command begin in a process group of its own, in front of its terminal, which is its standard input by then.
pub(super) fn begin_in_front(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    let begin = || {
        // SAFETY: both calls are allowed between fork and exec and have no memory effects.
        let own = unsafe {
            check(libc::setpgid(0, 0).into())?;
            libc::getpid()
        };
        // SAFETY: descriptor 0 is open: the command was given the terminal as standard input.
        bring_to_front(unsafe { BorrowedFd::borrow_raw(0) }, own)
    };
    // SAFETY: `begin` only makes system calls: it allocates nothing and takes no lock.
    unsafe { command.pre_exec(begin) };
}

/// Lets a whole process group go on.
pub(super) fn continue_group(group: i32) {
    // SAFETY: kill has no memory effects.
    unsafe { libc::kill(-group, libc::SIGCONT) };
}

/// Loads one seccomp program whose unanswered calls can be answered by whoever holds the returned descriptor.
pub(super) fn load_seccomp_with_listener(program: &[libc::sock_filter]) -> io::Result<OwnedFd> {
    let header = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // SAFETY: `header` points at `program`, which outlives the call; the kernel only reads it.
    let raw = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const header,
        )
    };
    check(raw)?;
    // SAFETY: the kernel just returned this descriptor and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(raw as RawFd) })
}

/// Takes the next call that waits for an answer.
pub(super) fn next_call(listener: BorrowedFd<'_>) -> io::Result<libc::seccomp_notif> {
    // SAFETY: plain data for which all zeroes is valid, as the kernel demands.
    let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one structure of this type.
    let done = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut call) };
    check(done.into()).map(|()| call)
}

/// Whether the caller still waits: if so, what was read of it before was its own.
pub(super) fn still_waits(listener: BorrowedFd<'_>, id: u64) -> bool {
    // SAFETY: the kernel reads one number.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id) == 0 }
}

/// Answers a call: 0, or an error number.
pub(super) fn answer_call(listener: BorrowedFd<'_>, id: u64, errno: c_int) {
    let answer = libc::seccomp_notif_resp { id, val: 0, error: -errno, flags: 0 };
    // SAFETY: the kernel reads one structure of this type. A caller that is gone needs no answer.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const answer) };
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
