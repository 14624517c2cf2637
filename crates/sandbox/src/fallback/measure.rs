//! What really stands around a process, read from outside: helper programs are not taken at their word.

use std::fs;
use std::path::{Path, PathBuf};

use crate::isolation::{SandboxEnforcement, is_kernel_root};

/// A limit this high is none (control groups of version 1 have no word for "unlimited").
const UNLIMITED: u64 = 1 << 60;

/// The walls around `pid`; `None` when it is gone. What cannot be seen is not claimed.
pub(super) fn around(pid: u32) -> Option<SandboxEnforcement> {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let status = fs::read_to_string(folder.join("status")).ok()?;
    let own = Path::new("/proc/self");
    let apart = |kind: &str| {
        let link = |base: &Path| fs::read_link(base.join("ns").join(kind)).ok();
        matches!((link(own), link(&folder)), (Some(ours), Some(theirs)) if ours != theirs)
    };
    let mounts = fs::read_to_string(folder.join("mountinfo")).unwrap_or_default();
    let groups = fs::read_to_string(folder.join("cgroup")).unwrap_or_default();
    let limits = fs::read_to_string(folder.join("limits")).unwrap_or_default();
    let mut held = SandboxEnforcement {
        user_ns: apart("user"),
        mount_ns: apart("mnt"),
        pid_ns: apart("pid"),
        net_ns: apart("net"),
        ipc_ns: apart("ipc"),
        uts_ns: apart("uts"),
        cgroup_ns: apart("cgroup"),
        memory: group_limit(&groups, "memory", &["memory.limit_in_bytes", "memory.max"]),
        processes: group_limit(&groups, "pids", &["pids.max"]),
        files: file_limits(&limits).then(|| "rlimit".into()),
        ..SandboxEnforcement::default()
    };
    held.private_root = held.mount_ns && read_only(&mounts, "/");
    held.masked_proc = held.pid_ns && proc_is_masked(&mounts);
    from_status(&status, &mut held);
    // Whoever ends lets go of one after the other: what was seen of it then is not what stood around it.
    let gone = fs::read_link(folder.join("ns/mnt")).is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound);
    (!gone).then_some(held)
}

fn from_status(status: &str, held: &mut SandboxEnforcement) {
    let field = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    };
    held.seccomp = field("Seccomp") == Some("2");
    held.no_new_privs = field("NoNewPrivs") == Some("1");
    let empty = |name: &str| field(name).is_some_and(|set| set.bytes().all(|b| b == b'0'));
    held.capabilities_dropped = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"].into_iter().all(empty);
    held.unprivileged_payload = field("Uid")
        .is_some_and(|ids| ids.split_whitespace().all(|id| id.parse().is_ok_and(|id| !is_kernel_root(id))));
}

/// Whether the topmost mount at `at` is read-only.
fn read_only(mountinfo: &str, at: &str) -> bool {
    mountinfo
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ').skip(4);
            Some((fields.next()?, fields.next()?))
        })
        .rfind(|(place, _)| *place == at)
        .is_some_and(|(_, options)| options.split(',').any(|option| option == "ro"))
}

/// The switches are read-only, and at least the list of keys or the timers are covered.
fn proc_is_masked(mountinfo: &str) -> bool {
    let covered = |at: &str| mountinfo.lines().any(|line| line.split(' ').nth(4) == Some(at));
    read_only(mountinfo, "/proc/sys")
        && ["/proc/keys", "/proc/timer_list", "/proc/kcore"].into_iter().any(covered)
}

/// How a control group bounds the process, if one does.
fn group_limit(membership: &str, controller: &str, files: &[&str]) -> Option<String> {
    let root = Path::new("/sys/fs/cgroup");
    membership.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?.trim_start_matches('/'));
        let (base, version) = match controllers {
            "" => (root.join(path), "cgroup v2"),
            found if found.split(',').any(|c| c == controller) => {
                (root.join(controller).join(path), "cgroup v1")
            }
            _ => return None,
        };
        let bounded = files.iter().any(|file| {
            let text = fs::read_to_string(base.join(file)).unwrap_or_default();
            text.trim().parse::<u64>().is_ok_and(|limit| limit < UNLIMITED)
        });
        bounded.then(|| version.to_owned())
    })
}

fn file_limits(limits: &str) -> bool {
    let bounded = |name: &str| {
        let hard = limits.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().nth(1));
        hard.is_some_and(|hard| hard != "unlimited")
    };
    bounded("Max open files") && bounded("Max file size")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_status_is_read_field_by_field() {
        let full = "Name:\tx\nUid:\t7\t7\t7\t7\nCapInh:\t0000\nCapPrm:\t0000\nCapEff:\t0000\nCapBnd:\t0000\nCapAmb:\t0000\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n";
        let check = |status: &str, expect: [bool; 4]| {
            let mut held = SandboxEnforcement::default();
            from_status(status, &mut held);
            let found =
                [held.seccomp, held.no_new_privs, held.capabilities_dropped, held.unprivileged_payload];
            assert_eq!(found, expect, "{status}");
        };
        check(full, [true, true, true, true]);
        check(&full.replace("Seccomp:\t2", "Seccomp:\t0"), [false, true, true, true]);
        check(&full.replace("CapBnd:\t0000", "CapBnd:\t0400"), [true, true, false, true]);
        check(&full.replace("Uid:\t7\t7", "Uid:\t7\t0"), [true, true, true, false]);
        check("", [false; 4]);
    }

    #[test]
    fn the_topmost_mount_decides() {
        let table = "1 0 8:1 / / ro,relatime - ext4 /dev/x rw\n2 1 0:5 / /proc rw - proc proc rw\n\
                     3 2 0:5 /sys /proc/sys ro - proc proc rw\n4 2 0:6 / /proc/keys rw - tmpfs tmpfs rw\n";
        assert!(read_only(table, "/"));
        assert!(!read_only(table, "/proc"));
        assert!(proc_is_masked(table));
        assert!(!read_only(&format!("{table}5 0 8:2 / / rw - ext4 /dev/y rw\n"), "/"));
        assert!(!proc_is_masked(&table.replace("/proc/keys", "/proc/other")));
    }

    #[test]
    fn limits_count_only_when_both_are_bounded() {
        let text = "Limit                     Soft Limit           Hard Limit           Units\n\
                    Max file size             1048576              1048576              bytes\n\
                    Max open files            64                   64                   files\n";
        assert!(file_limits(text));
        assert!(!file_limits(&text.replace("1048576              bytes", "unlimited            bytes")));
    }

    #[test]
    fn this_process_has_no_walls_of_its_own_making() {
        let held = around(std::process::id());
        assert!(held.is_some_and(|held| !held.mount_ns && !held.private_root && !held.masked_proc));
        assert_eq!(around(u32::MAX), None);
    }

    #[test]
    fn a_process_that_ended_has_no_walls_to_tell_of() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let status = format!("/proc/{}/status", child.id());
        let ended = || fs::read_to_string(&status).unwrap().contains("State:\tZ");
        while !ended() {
            std::thread::yield_now();
        }
        assert_eq!(around(child.id()), None);
        child.wait().unwrap();
    }
}
