//! Memory that nobody uses any more goes back to the system, a moment after the work that needed it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;

/// How long after a piece of work: others that end meanwhile are done with it, too.
const AFTER: Duration = Duration::from_secs(2);

/// What hands memory back, and when.
pub(crate) struct MemoryTrim {
    give_back: fn(),
    after: Duration,
    due: AtomicBool,
}

impl MemoryTrim {
    pub(crate) fn new(give_back: fn()) -> Arc<Self> {
        Arc::new(Self { give_back, after: AFTER, due: AtomicBool::new(false) })
    }

    /// Something has ended: its memory is given back soon, once for everything that ends until then.
    pub(crate) fn soon(self: &Arc<Self>) {
        let Ok(runtime) = Handle::try_current() else { return };
        if self.due.swap(true, Ordering::SeqCst) {
            return;
        }
        let spare = Arc::clone(self);
        runtime.spawn(async move {
            // The delay is the point: other work that ends meanwhile is given back with it.
            tokio::time::sleep(spare.after).await;
            spare.due.store(false, Ordering::SeqCst);
            // It takes some milliseconds.
            let _ = tokio::task::spawn_blocking(spare.give_back).await;
        });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::atomic::AtomicUsize;

    use tokio::sync::Notify;

    use super::*;

    static TIMES: AtomicUsize = AtomicUsize::new(0);
    static GIVEN: Notify = Notify::const_new();

    fn counted() {
        TIMES.fetch_add(1, Ordering::SeqCst);
        GIVEN.notify_one();
    }

    #[test]
    fn memory_is_given_back_once_for_all_that_ended_and_again_for_what_ends_later() {
        let spare =
            Arc::new(MemoryTrim { give_back: counted, after: Duration::ZERO, due: AtomicBool::new(false) });
        spare.soon();
        assert!(!spare.due.load(Ordering::SeqCst), "outside of the server nothing is begun");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            for times in 1..=3 {
                (0..100).for_each(|_| spare.soon());
                GIVEN.notified().await;
                assert_eq!(TIMES.load(Ordering::SeqCst), times);
            }
        });
    }
}
