//! A second, small system call filter for payloads without namespaces: it closes what a namespace would have closed.
//!
//! - Unix sockets: the session bus, container engines and agents listen on them, and Landlock does not hold them back
//!   before version 9. Pairs (`socketpair`) stay allowed.
//! - Internet sockets, unless the job may use the host's network.
//! - Limits, priorities and processors of other processes, and queues, semaphores and shared memory that they may have.
//! - Changes of modes, owners, times and attributes, by [`MetadataPolicy`]: Landlock does not know these calls.
//!
//! The main filter is loaded on top and has already narrowed the architecture, so numbers are enough here.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use serde::{Deserialize, Serialize};

use super::super::step::{LaunchRefusal, LaunchStep};
use super::super::{sys, wire};

const LOAD: u16 = 0x20;
const IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;
const ALLOW: u32 = 0x7fff_0000;
const ERRNO: u32 = 0x0005_0000;
/// The call waits for an answer from outside.
const ASK: u32 = libc::SECCOMP_RET_USER_NOTIF;
/// Offsets in `struct seccomp_data`; of an argument, the half that the kernel looks at in a number of 32 bits.
const NUMBER: u32 = 0;
const ARGUMENTS: u32 = 16;

/// What becomes of changes to what is known about a file, as opposed to its content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum MetadataPolicy {
    /// The payload's user owns nothing but what is the payload's: the kernel's own answer is right.
    #[default]
    Own,
    /// All refused: nothing of the user's may change.
    Frozen,
    /// The launcher is asked; see `broker`.
    Brokered,
}

/// Calls that change modes, owners and times, and that the launcher can make instead.
const BROKERED: &[libc::c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    super::broker::FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
];
#[cfg(target_arch = "x86_64")]
const OLDER_BROKERED: &[libc::c_long] = &[libc::SYS_chmod, libc::SYS_chown, libc::SYS_lchown];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_BROKERED: &[libc::c_long] = &[];

/// Attributes, and the older calls for times: refused wherever not all is the payload's own.
const ATTRIBUTES: &[libc::c_long] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];
#[cfg(target_arch = "x86_64")]
const OLDER_TIMES: &[libc::c_long] = &[libc::SYS_utime, libc::SYS_utimes, libc::SYS_futimesat];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_TIMES: &[libc::c_long] = &[];

/// Calls about a process, with the arguments that mean the caller itself.
const ONLY_ITSELF: &[(libc::c_long, &[(u32, u32)])] = &[
    (libc::SYS_prlimit64, &[(0, 0)]),
    (libc::SYS_setpriority, &[(0, libc::PRIO_PROCESS), (1, 0)]),
    (libc::SYS_ioprio_set, &[(0, IOPRIO_WHO_PROCESS), (1, 0)]),
    (libc::SYS_sched_setaffinity, &[(0, 0)]),
    (libc::SYS_sched_setscheduler, &[(0, 0)]),
    (libc::SYS_sched_setparam, &[(0, 0)]),
    (libc::SYS_sched_setattr, &[(0, 0)]),
];
const IOPRIO_WHO_PROCESS: u32 = 1;

/// What a namespace would have made the payload's own.
const SHARED_WITH_OTHERS: &[libc::c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Loads it for this process and everything it starts. `broker` is told of the calls that wait for an answer.
pub(super) fn load(
    internet: bool,
    metadata: MetadataPolicy,
    broker: &UnixStream,
) -> Result<(), LaunchRefusal> {
    let refuse =
        |what: &'static str| move |e: std::io::Error| LaunchRefusal::new(LaunchStep::Seccomp, e, what);
    if metadata == MetadataPolicy::Brokered {
        let listener = sys::load_seccomp_with_listener(&asking()).map_err(refuse("filter that asks"))?;
        wire::give_fds(broker, &[listener.as_fd()]).map_err(refuse("filter that asks"))?;
    }
    sys::load_seccomp(&program(internet, metadata)).map_err(refuse("second filter"))
}

/// Only what has to be asked.
fn asking() -> Vec<libc::sock_filter> {
    let mut code = vec![op(LOAD, 0, 0, NUMBER)];
    for number in BROKERED.iter().chain(OLDER_BROKERED) {
        code.extend(answered(*number, ASK));
    }
    code.push(op(RETURN, 0, 0, ALLOW));
    code
}

fn program(internet: bool, metadata: MetadataPolicy) -> Vec<libc::sock_filter> {
    let mut families = vec![(libc::AF_UNIX, libc::EACCES)];
    if !internet {
        families.extend([(libc::AF_INET, libc::EACCES), (libc::AF_INET6, libc::EACCES)]);
    }
    let mut on_socket = vec![op(LOAD, 0, 0, ARGUMENTS)];
    for (family, errno) in families {
        on_socket.extend([op(IF_EQUAL, 0, 1, family as u32), op(RETURN, 0, 0, refusal(errno))]);
    }
    on_socket.push(op(RETURN, 0, 0, ALLOW));

    let mut code = vec![op(LOAD, 0, 0, NUMBER)];
    code.push(op(IF_EQUAL, 0, on_socket.len() as u8, libc::SYS_socket as u32));
    code.extend(on_socket);
    for (number, arguments) in ONLY_ITSELF {
        let mut tests = Vec::new();
        for (argument, value) in *arguments {
            tests.push(op(LOAD, 0, 0, ARGUMENTS + 8 * argument));
            tests.extend([op(IF_EQUAL, 1, 0, *value), op(RETURN, 0, 0, refusal(libc::EPERM))]);
        }
        tests.push(op(RETURN, 0, 0, ALLOW));
        code.push(op(IF_EQUAL, 0, tests.len() as u8, *number as u32));
        code.extend(tests);
    }
    for number in SHARED_WITH_OTHERS {
        code.extend(answered(*number, refusal(libc::EACCES)));
    }
    if metadata != MetadataPolicy::Own {
        for number in ATTRIBUTES {
            code.extend(answered(*number, refusal(libc::EOPNOTSUPP)));
        }
        for number in OLDER_TIMES {
            code.extend(answered(*number, refusal(libc::EPERM)));
        }
    }
    if metadata == MetadataPolicy::Frozen {
        for number in BROKERED.iter().chain(OLDER_BROKERED) {
            code.extend(answered(*number, refusal(libc::EPERM)));
        }
    }
    code.push(op(RETURN, 0, 0, ALLOW));
    code
}

fn refusal(errno: libc::c_int) -> u32 {
    ERRNO | errno as u32
}

fn answered(number: libc::c_long, answer: u32) -> [libc::sock_filter; 2] {
    [op(IF_EQUAL, 0, 1, number as u32), op(RETURN, 0, 0, answer)]
}

fn op(code: u16, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt, jf, k }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;

    /// Runs the program as the kernel would.
    fn answer(program: &[libc::sock_filter], number: libc::c_long, arguments: [u32; 2]) -> u32 {
        let (mut at, mut loaded) = (0, 0);
        loop {
            let step = program[at];
            at += 1;
            match step.code {
                LOAD if step.k == NUMBER => loaded = number as u32,
                LOAD => loaded = arguments[((step.k - ARGUMENTS) / 8) as usize],
                IF_EQUAL => at += usize::from(if loaded == step.k { step.jt } else { step.jf }),
                RETURN => return step.k,
                other => panic!("unknown instruction {other:#x}"),
            }
        }
    }

    #[test]
    fn sockets_processes_and_metadata_are_refused_as_asked() {
        use MetadataPolicy::{Brokered, Frozen, Own};
        let (unix, inet, netlink) = (libc::AF_UNIX as u32, libc::AF_INET6 as u32, libc::AF_NETLINK as u32);
        let (access, perm) = (refusal(libc::EACCES), refusal(libc::EPERM));
        for (internet, metadata, number, arguments, expect) in [
            (false, Own, libc::SYS_socket, [inet, 0], access),
            (true, Own, libc::SYS_socket, [inet, 0], ALLOW),
            (true, Own, libc::SYS_socket, [unix, 0], access),
            (false, Frozen, libc::SYS_socket, [netlink, 0], ALLOW),
            (false, Own, libc::SYS_socketpair, [unix, 0], ALLOW),
            (false, Frozen, libc::SYS_fchmodat, [0, 0], perm),
            (false, Frozen, libc::SYS_utimensat, [0, 0], perm),
            (false, Own, libc::SYS_fchmodat, [0, 0], ALLOW),
            (false, Brokered, libc::SYS_fchmodat, [0, 0], ALLOW),
            (false, Brokered, libc::SYS_setxattr, [0, 0], refusal(libc::EOPNOTSUPP)),
            (false, Own, libc::SYS_setxattr, [0, 0], ALLOW),
            (false, Frozen, libc::SYS_read, [0, 0], ALLOW),
            (true, Own, libc::SYS_prlimit64, [0, 7], ALLOW),
            (true, Own, libc::SYS_prlimit64, [1234, 7], perm),
            (true, Own, libc::SYS_setpriority, [libc::PRIO_PROCESS, 0], ALLOW),
            (true, Own, libc::SYS_setpriority, [libc::PRIO_PROCESS, 1234], perm),
            (true, Own, libc::SYS_setpriority, [libc::PRIO_USER, 0], perm),
            (true, Own, libc::SYS_ioprio_set, [3, 0], perm),
            (true, Own, libc::SYS_sched_setaffinity, [1, 8], perm),
            (true, Own, libc::SYS_sched_setaffinity, [0, 8], ALLOW),
            (true, Own, libc::SYS_shmget, [0, 0], access),
            (true, Own, libc::SYS_mq_open, [0, 0], access),
        ] {
            let found = answer(&program(internet, metadata), number, arguments);
            assert_eq!(found, expect, "internet {internet}, {metadata:?}, call {number}, {arguments:?}");
        }
    }

    #[test]
    fn only_changes_of_metadata_are_asked() {
        for number in BROKERED.iter().chain(OLDER_BROKERED) {
            assert_eq!(answer(&asking(), *number, [0, 0]), ASK, "{number}");
        }
        for number in [libc::SYS_read, libc::SYS_sendmsg, libc::SYS_execve, libc::SYS_setxattr] {
            assert_eq!(answer(&asking(), number, [0, 0]), ALLOW, "{number}");
        }
    }
}
