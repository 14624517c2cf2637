//! Threads in which something happens, or which somebody follows; all others cost nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holon_agent::supervise::TakeoverRequests;
use holon_core::ids::ThreadId;
use holon_model::ModelCancel;
use holon_store::{ChatStore, StoreError};
use tokio::sync::{Notify, OnceCell};

use crate::event_log::ThreadEventLog;

/// How long somebody waits for a look that somebody else takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is done with a thread, one thing at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThreadActivity {
    /// A turn, which takes its time: nobody waits for its end.
    Turn,
    /// Something short with its files or rows: others wait until it is over.
    Look,
}

/// A thread in memory.
#[derive(Default)]
pub(crate) struct LiveThread {
    feed: OnceCell<Arc<ThreadEventLog>>,
    busy: Mutex<Option<ThreadActivity>>,
    freed: Notify,
    cancel: Mutex<Option<ModelCancel>>,
    takeovers: Mutex<Option<TakeoverRequests>>,
}

/// A live thread and its feed; as long as somebody holds one, everybody gets the same. The last one who lets go forgets it.
#[derive(Clone)]
pub(crate) struct LiveThreadHandle {
    pub(crate) live: Arc<LiveThread>,
    pub(crate) feed: Arc<ThreadEventLog>,
    // After the others: they are dropped in this order.
    _hold: Arc<LiveThreadRelease>,
}

/// Forgets a thread when dropped, unless somebody else holds it.
struct LiveThreadRelease {
    lives: Arc<LiveThreads>,
    id: ThreadId,
}

impl Drop for LiveThreadRelease {
    fn drop(&mut self) {
        self.lives.release(&self.id);
    }
}

/// The one thing that is being done with a thread; another one has to wait for its end.
pub(crate) struct ThreadBusyGuard(Arc<LiveThread>);

impl LiveThread {
    /// Begins something that nothing else may happen beside; none while a turn is under way.
    pub(crate) async fn begin(self: &Arc<Self>, what: ThreadActivity) -> Option<ThreadBusyGuard> {
        let begun = async {
            loop {
                // Before the look at what is going on: its end must not be missed.
                let freed = self.freed.notified();
                match self.try_begin(what) {
                    Ok(busy) => return Some(busy),
                    Err(ThreadActivity::Turn) => return None,
                    Err(ThreadActivity::Look) => freed.await,
                }
            }
        };
        tokio::time::timeout(PATIENCE, begun).await.ok().flatten()
    }

    fn try_begin(self: &Arc<Self>, what: ThreadActivity) -> Result<ThreadBusyGuard, ThreadActivity> {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        match *busy {
            Some(doing) => Err(doing),
            None => {
                *busy = Some(what);
                Ok(ThreadBusyGuard(Arc::clone(self)))
            }
        }
    }

    /// Says how the turn under way can be stopped.
    pub(crate) fn set_cancel(&self, cancel: Option<ModelCancel>) {
        *self.cancel.lock().unwrap_or_else(PoisonError::into_inner) = cancel;
    }

    /// Stops the turn under way, if there is one.
    pub(crate) fn cancel(&self) -> bool {
        let cancel = self.cancel.lock().unwrap_or_else(PoisonError::into_inner);
        cancel.as_ref().inspect(|cancel| cancel.cancel()).is_some()
    }

    /// Says who hears that the supervisor shall take over.
    pub(crate) fn set_takeovers(&self, takeovers: Option<TakeoverRequests>) {
        *self.takeovers.lock().unwrap_or_else(PoisonError::into_inner) = takeovers;
    }

    /// Asks the supervisor of the turn under way to take over; `false` when there is none.
    pub(crate) fn take_over(&self, by: &str) -> bool {
        let takeovers = self.takeovers.lock().unwrap_or_else(PoisonError::into_inner);
        takeovers.as_ref().inspect(|takeovers| takeovers.ask(by)).is_some()
    }
}

impl Drop for ThreadBusyGuard {
    fn drop(&mut self) {
        // Before anything else can begin: what was set for this is not for that.
        self.0.set_cancel(None);
        self.0.set_takeovers(None);
        *self.0.busy.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.0.freed.notify_waiters();
    }
}

/// All live threads.
#[derive(Default)]
pub(crate) struct LiveThreads(Mutex<HashMap<ThreadId, Arc<LiveThread>>>);

impl LiveThreads {
    /// The live form of a thread; none when there is no such thread.
    pub(crate) async fn get(
        self: &Arc<Self>,
        id: &ThreadId,
        store: &Arc<ChatStore>,
    ) -> Result<Option<LiveThreadHandle>, StoreError> {
        let hold = Arc::new(LiveThreadRelease { lives: Arc::clone(self), id: id.clone() });
        let live = Arc::clone(self.lock().entry(id.clone()).or_default());
        // Asked only now: everybody who comes from here on finds this one, so no event can be added beside it.
        let name = id.clone();
        let feed = live
            .feed
            .get_or_try_init(async || {
                let thread =
                    store.read(move |backend| backend.thread(&name)).await.map_err(Some)?.ok_or(None)?;
                Ok::<_, Option<StoreError>>(Arc::new(ThreadEventLog::new(
                    id.clone(),
                    Arc::clone(store),
                    thread.last_seq,
                )))
            })
            .await
            .cloned();
        match feed {
            Ok(feed) => Ok(Some(LiveThreadHandle { live, feed, _hold: hold })),
            Err(missing) => {
                drop((live, hold));
                missing.map_or(Ok(None), Err)
            }
        }
    }

    /// The live form, if there is one.
    pub(crate) fn find(&self, id: &ThreadId) -> Option<Arc<LiveThread>> {
        self.lock().get(id).cloned()
    }

    /// Forgets a thread that nobody holds any more.
    fn release(&self, id: &ThreadId) {
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

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ThreadId, Arc<LiveThread>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn looks_wait_for_each_other_and_nobody_for_a_turn() {
        let live = Arc::new(LiveThread::default());
        let look = live.begin(ThreadActivity::Look).await.unwrap();
        let (second, _) = tokio::join!(live.begin(ThreadActivity::Turn), async {
            tokio::task::yield_now().await;
            drop(look);
        });
        let turn = second.unwrap();
        assert!(live.begin(ThreadActivity::Look).await.is_none());
        assert!(live.begin(ThreadActivity::Turn).await.is_none());
        drop(turn);
        assert!(live.begin(ThreadActivity::Look).await.is_some());
    }
}
