//! Podman without root leaves a process behind that holds its namespaces for next time. Asking is no use of podman, so
//! what was not there before goes away again.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use rustix::process::{Pid, Signal, kill_process};

use crate::session::variable;

/// How such a process calls itself: podman's own, or the one it leaves that to where it is installed.
const NAMES: [&str; 2] = ["podman pause\n", "catatonit\n"];
/// What the latter is started with for this; with anything else it is the first process of somebody's container.
const PAUSE: &[u8] = b"-P";

/// The ones that were there before.
pub(super) struct PodmanPauses(BTreeSet<i32>);

impl PodmanPauses {
    /// Remembers those of this user.
    pub(super) fn note() -> Self {
        Self(of_this_user())
    }

    /// Ends those that have appeared since.
    pub(super) fn end_new_ones(&self) {
        for pid in of_this_user().difference(&self.0).filter_map(|pid| Pid::from_raw(*pid)) {
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

fn of_this_user() -> BTreeSet<i32> {
    let me = rustix::process::geteuid().as_raw();
    let home = [b"HOME=", variable("HOME").unwrap_or_default().as_bytes()].concat();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter(|entry| {
            let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            let asked = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            name == NAMES[0] || (name == NAMES[1] && asked.split(|b| *b == 0).any(|word| word == PAUSE))
        })
        .filter(|entry| entry.metadata().is_ok_and(|meta| meta.uid() == me))
        // Podman keeps one per home: those of another home are not our doing.
        .filter(|entry| {
            fs::read(entry.path().join("environ")).is_ok_and(|env| env.split(|b| *b == 0).any(|v| v == home))
        })
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}
