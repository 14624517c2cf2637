//! Asking a run to stop, from a signal handler or another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared between whoever may cancel and the run that looks at it.
#[derive(Debug, Clone, Default)]
pub struct RunCancel(Arc<AtomicBool>);

impl RunCancel {
    /// Asks the run to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether somebody asked.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// The flag itself, for signal handlers that set it.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}
