//! What other programs and the terminal say to a chat: stop, end, go on, and that the window changed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
use signal_hook::flag;

use crate::failure::CliFailure;

/// Set by signals, looked at by whoever waits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Signals {
    interrupt: Arc<AtomicBool>,
    end: Arc<AtomicBool>,
    resize: Arc<AtomicBool>,
    resume: Arc<AtomicBool>,
}

impl Signals {
    /// Listens from now on.
    pub(super) fn listen() -> Result<Self, CliFailure> {
        let signals = Self::default();
        let pairs = [
            (SIGINT, &signals.interrupt),
            (SIGTERM, &signals.end),
            (SIGHUP, &signals.end),
            // Without this it would be the end at once, with the terminal as it is then.
            (SIGQUIT, &signals.end),
            (SIGCONT, &signals.resume),
            (SIGWINCH, &signals.resize),
        ];
        for (signal, flag) in pairs {
            flag::register(signal, Arc::clone(flag))
                .map_err(|e| CliFailure::internal(format!("cannot listen to signals: {e}")))?;
        }
        Ok(signals)
    }

    /// Whether Ctrl-C was pressed since this was asked last.
    pub(super) fn interrupted(&self) -> bool {
        self.interrupt.swap(false, Ordering::SeqCst)
    }

    /// An interrupt that came before does not count.
    pub(super) fn forget_interrupt(&self) {
        self.interrupt.store(false, Ordering::SeqCst);
    }

    /// Whether the window changed since this was asked last.
    pub(super) fn resized(&self) -> bool {
        self.resize.swap(false, Ordering::SeqCst)
    }

    /// Whether this process went on after it had been stopped, since this was asked last.
    pub(super) fn resumed(&self) -> bool {
        self.resume.swap(false, Ordering::SeqCst)
    }

    /// Whether somebody wants the end.
    pub(super) fn must_end(&self) -> bool {
        self.end.load(Ordering::SeqCst)
    }
}
