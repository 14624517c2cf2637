//! Asking whatever is under way to stop: requests, runs, servers, and everything that waits for them.
//!
//! Nobody has to look again and again whether it was asked for: futures race with it, threads wait for it, and whoever waits
//! for something else (a channel, a descriptor) leaves word what to do about that.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use tokio::sync::Notify;

use crate::error::ModelError;

/// Stops everything it was given to, at once and for good; clones share the flag.
#[derive(Debug, Clone, Default)]
pub struct ModelCancel(Arc<CancelFlag>);

#[derive(Default)]
struct CancelFlag {
    set: AtomicBool,
    told: Notify,
    hooks: Mutex<CancelHooks>,
}

type CancelHook = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct CancelHooks {
    next: u64,
    waiting: Vec<(u64, CancelHook)>,
}

/// What shall be done when somebody asks for the end, until this is dropped.
#[must_use = "the word is taken back when this is dropped"]
#[derive(Debug)]
pub struct OnCancel {
    cancel: ModelCancel,
    number: u64,
}

impl ModelCancel {
    /// Stops what runs and what would start.
    pub fn cancel(&self) {
        self.0.set.store(true, Ordering::SeqCst);
        self.0.told.notify_waiters();
        let hooks = std::mem::take(&mut self.0.hooks().waiting);
        hooks.into_iter().for_each(|(_, hook)| hook());
    }

    /// Whether it was stopped.
    pub fn is_cancelled(&self) -> bool {
        self.0.set.load(Ordering::SeqCst)
    }

    /// Does something as soon as it is stopped, on the thread that stops it, or at once when it already was.
    pub fn on_cancel(&self, hook: impl FnOnce() + Send + 'static) -> OnCancel {
        let mut hooks = self.0.hooks();
        let number = hooks.next;
        hooks.next += 1;
        if self.is_cancelled() {
            drop(hooks);
            hook();
        } else {
            hooks.waiting.push((number, Box::new(hook)));
        }
        OnCancel { cancel: self.clone(), number }
    }

    /// Waits until it is stopped.
    pub async fn cancelled(&self) {
        let _ = self.race(std::future::pending::<()>()).await;
    }

    /// Runs a future unless stopped before it is done.
    pub async fn race<T>(&self, future: impl Future<Output = T>) -> Result<T, ModelError> {
        let mut told = pin!(self.0.told.notified());
        // From here on no notification is missed.
        told.as_mut().enable();
        let mut future = pin!(future);
        std::future::poll_fn(|context| {
            if self.is_cancelled() || told.as_mut().poll(context).is_ready() {
                return Poll::Ready(Err(ModelError::cancelled()));
            }
            future.as_mut().poll(context).map(Ok)
        })
        .await
    }
}

impl CancelFlag {
    fn hooks(&self) -> MutexGuard<'_, CancelHooks> {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for CancelFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CancelFlag").field(&self.set).finish()
    }
}

impl Drop for OnCancel {
    fn drop(&mut self) {
        let mut hooks = self.cancel.0.hooks();
        let at = hooks.waiting.iter().position(|(number, _)| *number == self.number);
        // A hook may own what asks for a stop itself when it goes: not under the lock.
        let hook = at.map(|at| hooks.waiting.swap_remove(at));
        drop(hooks);
        drop(hook);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::error::ModelErrorKind;

    #[tokio::test]
    async fn a_waiting_future_is_stopped_and_a_done_one_is_not() {
        let cancel = ModelCancel::default();
        assert_eq!(cancel.race(async { 7 }).await.ok(), Some(7));
        let other = cancel.clone();
        let stopped = cancel.race(async move {
            other.cancel();
            std::future::pending::<()>().await;
        });
        assert_eq!(stopped.await.map_err(|e| e.kind), Err(ModelErrorKind::Cancelled));
        assert_eq!(cancel.race(async { 7 }).await.map_err(|e| e.kind), Err(ModelErrorKind::Cancelled));
        cancel.cancelled().await;
    }

    #[test]
    fn whoever_left_word_is_told_once_and_whoever_took_it_back_is_not() {
        let (tell, told) = channel();
        let cancel = ModelCancel::default();
        let leave = |name: &'static str| {
            let tell = tell.clone();
            cancel.on_cancel(move || tell.send(name).unwrap_or_default())
        };
        let _kept = leave("kept");
        drop(leave("taken back"));
        let waiter = std::thread::spawn(move || told.recv().map(|first| (first, told)));
        cancel.cancel();
        cancel.cancel();
        let late = leave("late");
        drop((late, tell));
        let (first, told) =
            waiter.join().ok().and_then(Result::ok).unwrap_or_else(|| ("nothing", channel().1));
        drop(_kept);
        assert_eq!((first, told.try_iter().collect::<Vec<_>>()), ("kept", vec!["late"]));
    }
}
