//! Process groups the hands started and that may still have members.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// The groups of everything that was started here.
#[derive(Default)]
pub(crate) struct ProcessGroups(Mutex<GroupRegistry>);

#[derive(Default)]
struct GroupRegistry {
    known: HashSet<Pid>,
    closed: bool,
}

impl ProcessGroups {
    /// A group that was just started. Others that ended by themselves in the meantime are forgotten.
    pub(crate) fn add(&self, group: Pid) {
        let mut state = self.lock();
        state.known.retain(|group| test_kill_process_group(*group).is_ok());
        state.known.insert(group);
        if state.closed {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    /// To be called when the group's leader has ended. Tells whether it left others behind: they stay known; without
    /// them the number may soon be another's.
    pub(crate) fn leader_ended(&self, group: Pid) -> bool {
        let mut state = self.lock();
        let left = test_kill_process_group(group).is_ok();
        if !left {
            state.known.remove(&group);
        }
        left
    }

    /// Signals all members of a group, if it is still one of ours.
    pub(crate) fn signal(&self, group: Pid, signal: Signal) {
        if self.lock().known.contains(&group) {
            let _ = kill_process_group(group, signal);
        }
    }

    /// Ends everything, also what is started from now on.
    pub(crate) fn end_all(&self) {
        let mut state = self.lock();
        state.closed = true;
        for group in &state.known {
            let _ = kill_process_group(*group, Signal::KILL);
        }
    }

    fn lock(&self) -> MutexGuard<'_, GroupRegistry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
