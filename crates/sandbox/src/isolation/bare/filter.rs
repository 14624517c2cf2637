//! A second, tiny system call filter for payloads without namespaces: it closes what a namespace would have closed.
//!
//! - Unix sockets: the session bus, container engines and agents listen on them, and Landlock does not hold them back
//!   before version 9. Pairs (`socketpair`) stay allowed.
//! - Internet sockets, unless the job may use the host's network.
//! - Changes of modes, owners, times and attributes, where nothing of the user's own may change: Landlock does not know
//!   these calls.
//!
//! The main filter is loaded on top and has already narrowed the architecture, so numbers are enough here.

use super::super::step::{LaunchRefusal, LaunchStep};
use super::super::sys;

const LOAD: u16 = 0x20;
const IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;
const ALLOW: u32 = 0x7fff_0000;
const ERRNO: u32 = 0x0005_0000;
/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const FIRST_ARGUMENT: u32 = 16;

/// Calls that change what is known about a file, not its content.
const METADATA: &[libc::c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];
/// The same number everywhere, but not yet in the C library's list for every architecture.
const FCHMODAT2: libc::c_long = 452;

#[cfg(target_arch = "x86_64")]
const OLDER_METADATA: &[libc::c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_METADATA: &[libc::c_long] = &[];

/// Loads it for this process and everything it starts.
pub(super) fn load(internet: bool, freeze_metadata: bool) -> Result<(), LaunchRefusal> {
    sys::load_seccomp(&program(internet, freeze_metadata))
        .map_err(|e| LaunchRefusal::new(LaunchStep::Seccomp, e, "second filter"))
}

fn program(internet: bool, freeze_metadata: bool) -> Vec<libc::sock_filter> {
    let mut families = vec![(libc::AF_UNIX, libc::EACCES)];
    if !internet {
        families.extend([(libc::AF_INET, libc::EACCES), (libc::AF_INET6, libc::EACCES)]);
    }
    let mut on_socket = vec![op(LOAD, 0, 0, FIRST_ARGUMENT)];
    for (family, errno) in families {
        on_socket.extend([op(IF_EQUAL, 0, 1, family as u32), op(RETURN, 0, 0, ERRNO | errno as u32)]);
    }
    on_socket.push(op(RETURN, 0, 0, ALLOW));

    let mut code = vec![op(LOAD, 0, 0, NUMBER)];
    code.push(op(IF_EQUAL, 0, on_socket.len() as u8, libc::SYS_socket as u32));
    code.extend(on_socket);
    if freeze_metadata {
        for number in METADATA.iter().chain(OLDER_METADATA) {
            code.extend([op(IF_EQUAL, 0, 1, *number as u32), op(RETURN, 0, 0, ERRNO | libc::EPERM as u32)]);
        }
    }
    code.push(op(RETURN, 0, 0, ALLOW));
    code
}

fn op(code: u16, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt, jf, k }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;

    /// Runs the program as the kernel would.
    fn answer(program: &[libc::sock_filter], number: libc::c_long, first: u32) -> u32 {
        let (mut at, mut loaded) = (0, 0);
        loop {
            let step = program[at];
            at += 1;
            match step.code {
                LOAD => loaded = if step.k == NUMBER { number as u32 } else { first },
                IF_EQUAL => at += usize::from(if loaded == step.k { step.jt } else { step.jf }),
                RETURN => return step.k,
                other => panic!("unknown instruction {other:#x}"),
            }
        }
    }

    #[test]
    fn sockets_and_metadata_are_refused_as_asked() {
        let refused = |errno: i32| ERRNO | errno as u32;
        let (unix, inet, netlink) = (libc::AF_UNIX as u32, libc::AF_INET6 as u32, libc::AF_NETLINK as u32);
        for (internet, freeze, number, first, expect) in [
            (false, false, libc::SYS_socket, inet, refused(libc::EACCES)),
            (true, false, libc::SYS_socket, inet, ALLOW),
            (true, false, libc::SYS_socket, unix, refused(libc::EACCES)),
            (false, true, libc::SYS_socket, netlink, ALLOW),
            (false, false, libc::SYS_socketpair, unix, ALLOW),
            (false, true, libc::SYS_fchmodat, 0, refused(libc::EPERM)),
            (false, true, libc::SYS_utimensat, 0, refused(libc::EPERM)),
            (false, false, libc::SYS_fchmodat, 0, ALLOW),
            (false, true, libc::SYS_read, 0, ALLOW),
        ] {
            let found = answer(&program(internet, freeze), number, first);
            assert_eq!(
                found, expect,
                "internet {internet}, freeze {freeze}, call {number}, argument {first}"
            );
        }
    }
}
