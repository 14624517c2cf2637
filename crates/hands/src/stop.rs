//! Asking something that is under way to stop, also while it waits for descriptors.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, PollFlags};

/// Set once, by whoever no longer wants the result.
#[derive(Default)]
pub(crate) struct StopSignal {
    asked: AtomicBool,
    /// Readable as soon as the stop is asked for. Made when somebody first waits for it.
    bell: OnceLock<Option<OwnedFd>>,
}

impl StopSignal {
    /// Asks for the stop.
    pub(crate) fn ask(&self) {
        self.asked.store(true, Ordering::SeqCst);
        if let Some(Some(bell)) = self.bell.get() {
            ring(bell);
        }
    }

    /// Whether the stop was asked for.
    pub(crate) fn asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    /// A descriptor that is readable once the stop was asked for; none when the system has none left.
    pub(crate) fn bell(&self) -> Option<BorrowedFd<'_>> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let bell = self.bell.get_or_init(|| rustix::event::eventfd(0, flags).ok()).as_ref()?;
        // Asked for between the first look and the making of the bell.
        if self.asked() {
            ring(bell);
        }
        Some(bell.as_fd())
    }
}

fn ring(bell: &OwnedFd) {
    let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
}

/// What there is to hear from a descriptor: anything at all means that reading it will not wait.
pub(crate) const READABLE: PollFlags = PollFlags::IN.union(PollFlags::HUP).union(PollFlags::ERR);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::StopSignal;

    fn rings(stop: &StopSignal) -> bool {
        let bell = stop.bell().unwrap();
        let mut fds = [PollFd::from_borrowed_fd(bell, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap() == 1
    }

    #[test]
    fn the_bell_rings_whenever_it_was_made() {
        let before = StopSignal::default();
        assert!(!rings(&before) && !before.asked());
        before.ask();
        assert!(rings(&before) && before.asked());
        let after = StopSignal::default();
        after.ask();
        assert!(rings(&after));
    }
}
