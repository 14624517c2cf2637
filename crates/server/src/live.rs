//! Threads in which something happens, or which somebody follows; all others cost nothing.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use holon_agent::supervise::Takeovers;
use holon_core::ids::ThreadId;
use holon_model::Cancel;
use holon_store::{Store, StoreError};
use tokio::sync::OnceCell;

use crate::feed::Feed;

/// A thread in memory.
#[derive(Default)]
pub(crate) struct Live {
    feed: OnceCell<Arc<Feed>>,
    busy: AtomicBool,
    cancel: Mutex<Option<Cancel>>,
    takeovers: Mutex<Option<Takeovers>>,
}

/// A live thread and its feed; as long as somebody holds one, everybody gets the same.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) live: Arc<Live>,
    pub(crate) feed: Arc<Feed>,
}

/// The one thing that is being done with a thread; another one has to wait for its end.
pub(crate) struct Busy(Arc<Live>);

impl Live {
    /// Begins something that nothing else may happen beside.
    pub(crate) fn begin(self: &Arc<Self>) -> Option<Busy> {
        let free = self.busy.compare_exchange(false, true, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        free.then(|| Busy(Arc::clone(self)))
    }

    /// Says how the turn under way can be stopped.
    pub(crate) fn set_cancel(&self, cancel: Option<Cancel>) {
        *self.cancel.lock().unwrap_or_else(PoisonError::into_inner) = cancel;
    }

    /// Stops the turn under way, if there is one.
    pub(crate) fn cancel(&self) -> bool {
        let cancel = self.cancel.lock().unwrap_or_else(PoisonError::into_inner);
        cancel.as_ref().inspect(|cancel| cancel.cancel()).is_some()
    }
}

impl Live {
    /// Says who hears that the supervisor shall take over; turns of a chat are not supervised yet.
    #[allow(dead_code)]
    pub(crate) fn set_takeovers(&self, takeovers: Option<Takeovers>) {
        *self.takeovers.lock().unwrap_or_else(PoisonError::into_inner) = takeovers;
    }

    /// Asks the supervisor of the turn under way to take over; `false` when there is none.
    pub(crate) fn take_over(&self, by: &str) -> bool {
        let takeovers = self.takeovers.lock().unwrap_or_else(PoisonError::into_inner);
        takeovers.as_ref().inspect(|takeovers| takeovers.ask(by)).is_some()
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.store(false, Ordering::SeqCst);
    }
}

/// All live threads.
#[derive(Default)]
pub(crate) struct Lives(Mutex<HashMap<ThreadId, Arc<Live>>>);

impl Lives {
    /// The live form of a thread; none when there is no such thread.
    pub(crate) async fn get(&self, id: &ThreadId, store: &Arc<Store>) -> Result<Option<Held>, StoreError> {
        let live = Arc::clone(self.lock().entry(id.clone()).or_default());
        // Asked only now: everybody who comes from here on finds this one, so no event can be added beside it.
        let name = id.clone();
        let feed = live
            .feed
            .get_or_try_init(async || {
                let thread =
                    store.read(move |backend| backend.thread(&name)).await.map_err(Some)?.ok_or(None)?;
                Ok::<_, Option<StoreError>>(Arc::new(Feed::new(
                    id.clone(),
                    Arc::clone(store),
                    thread.last_seq,
                )))
            })
            .await
            .cloned();
        match feed {
            Ok(feed) => Ok(Some(Held { live, feed })),
            Err(missing) => {
                drop(live);
                self.release(id);
                missing.map_or(Ok(None), Err)
            }
        }
    }

    /// The live form, if there is one.
    pub(crate) fn find(&self, id: &ThreadId) -> Option<Arc<Live>> {
        self.lock().get(id).cloned()
    }

    /// Forgets a thread that nobody holds any more.
    pub(crate) fn release(&self, id: &ThreadId) {
        let mut all = self.lock();
        if all.get(id).is_some_and(|live| Arc::strong_count(live) == 1) {
            all.remove(id);
        }
    }

    /// Stops every turn.
    pub(crate) fn cancel_all(&self) {
        for live in self.lock().values() {
            live.cancel();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ThreadId, Arc<Live>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
