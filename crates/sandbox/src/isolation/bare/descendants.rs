//! Ending everything below this process when no pid namespace does it.
//!
//! The caller is a subreaper, so whatever the payload does (sessions, double forks), each of its processes stays below
//! us. First all of them are stopped, again and again until no new one appears (a stopped process cannot fork), then all
//! are killed.

use std::collections::BTreeSet;
use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};

/// Passes over the process list before giving up on something that cannot be killed.
const PASSES: u32 = 2000;

/// Sends `signal` once to everything below this process.
pub(super) fn signal_all(signal: Signal) {
    for pid in below(std::process::id()) {
        send(pid, signal);
    }
}

/// Stops, kills and reaps everything below this process.
pub(super) fn end_all() {
    for _ in 0..PASSES {
        let mut stopped = BTreeSet::new();
        loop {
            let fresh: Vec<u32> =
                below(std::process::id()).into_iter().filter(|pid| stopped.insert(*pid)).collect();
            if fresh.is_empty() {
                break;
            }
            fresh.iter().for_each(|pid| send(*pid, Signal::STOP));
        }
        stopped.iter().for_each(|pid| send(*pid, Signal::KILL));
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                // Nothing is below us any more.
                Err(rustix::io::Errno::CHILD) => return,
                Ok(None) | Err(_) => break,
            }
        }
        // Killed processes take a moment to become reapable; their orphans come to us then, from anywhere below: there is
        // no single process to wait for.
        let pause = rustix::thread::Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
        let _ = rustix::thread::nanosleep(&pause);
    }
}

/// Through a pidfd, and only if it is still below us: the number may have been given to somebody else meanwhile.
fn send(pid: u32, signal: Signal) {
    let Some(raw) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return };
    let Ok(pidfd) = rustix::process::pidfd_open(raw, PidfdFlags::empty()) else { return };
    let own = std::process::id();
    let mut above = parent_of(pid);
    while let Some(parent) = above {
        if parent == own {
            let _ = rustix::process::pidfd_send_signal(&pidfd, signal);
            return;
        }
        above = parent_of(parent);
    }
}

/// Every process whose line of parents leads to `root`.
fn below(root: u32) -> BTreeSet<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeSet::new() };
    let pairs: Vec<(u32, u32)> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, parent_of(pid)?)))
        .collect();
    let mut found = BTreeSet::from([root]);
    loop {
        let before = found.len();
        found.extend(
            pairs
                .iter()
                .filter(|(_, parent)| found.contains(parent))
                .map(|(pid, _)| *pid)
                .collect::<Vec<_>>(),
        );
        if found.len() == before {
            found.remove(&root);
            return found;
        }
    }
}

/// The parent of a living process; none for one that only waits to be reaped.
fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    parse_parent(&stat)
}

/// The name in parentheses may hold anything, also parentheses and spaces.
fn parse_parent(stat: &str) -> Option<u32> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (!matches!(state, "Z" | "X") && parent != 0).then_some(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_are_read_whatever_the_name() {
        for (stat, expect) in [
            ("12 (sh) S 7 12 12 0", Some(7)),
            ("12 (a) R 9 (b) S 7 12", Some(7)),
            ("12 (gone) Z 7 12", None),
            ("1 (init) S 0 1", None),
            ("nonsense", None),
            ("", None),
        ] {
            assert_eq!(parse_parent(stat), expect, "{stat}");
        }
    }

    #[test]
    fn this_process_is_below_its_parent() {
        let parent = parent_of(std::process::id());
        assert!(parent.is_some_and(|parent| below(parent).contains(&std::process::id())));
    }
}
