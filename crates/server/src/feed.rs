//! The live end of a thread: events are numbered and stored here, and only then seen by anyone.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use holon_core::ids::ThreadId;
use holon_host::record::now;
use holon_store::{EventRow, Store, StoreError, Write};
use serde_json::Value;
use tokio::sync::watch;

/// Events kept in memory for those who follow; whoever is further behind reads the store.
const TAIL: usize = 256;

/// The live end of one thread, there as long as anything happens in it or anyone follows it.
pub(crate) struct Feed {
    thread: ThreadId,
    store: Arc<Store>,
    /// Held while events are numbered and handed to the store, so that both have the same order.
    numbered: Mutex<u64>,
    tail: Mutex<VecDeque<Arc<EventRow>>>,
    /// What has been stored, and whether more is to come.
    standing: watch::Sender<Standing>,
}

/// How far a thread is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Number of the last stored event.
    pub(crate) seq: u64,
    /// Whether a turn is under way.
    pub(crate) running: bool,
}

/// An event before it has a number.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) turn: u64,
    pub(crate) kind: &'static str,
    pub(crate) data: Value,
}

impl Feed {
    pub(crate) fn new(thread: ThreadId, store: Arc<Store>, last_seq: u64) -> Self {
        let (standing, _) = watch::channel(Standing { seq: last_seq, running: false });
        Self { thread, store, numbered: Mutex::new(last_seq), tail: Mutex::default(), standing }
    }

    /// The number the next event will have.
    pub(crate) fn next_seq(&self) -> u64 {
        *lock(&self.numbered) + 1
    }

    /// Follows the thread.
    pub(crate) fn watch(&self) -> watch::Receiver<Standing> {
        self.standing.subscribe()
    }

    /// Whether anyone follows it.
    pub(crate) fn is_followed(&self) -> bool {
        self.standing.receiver_count() > 0
    }

    pub(crate) fn set_running(&self, running: bool) {
        self.standing.send_modify(|standing| standing.running = running);
    }

    /// Stores events together with other writes, in one step, and then shows them.
    pub(crate) async fn tell(&self, drafts: Vec<Draft>, mut writes: Vec<Write>) -> Result<(), StoreError> {
        if drafts.is_empty() && writes.is_empty() {
            return Ok(());
        }
        let at = now();
        let (rows, stored) = {
            let mut seq = lock(&self.numbered);
            let mut rows = Vec::with_capacity(drafts.len());
            for Draft { turn, kind, data } in drafts {
                *seq += 1;
                let data = data.to_string();
                let row =
                    EventRow { thread: self.thread.clone(), seq: *seq, turn, kind: kind.into(), data, at: at.clone() };
                rows.push(Arc::new(row));
            }
            let events = rows.iter().map(|row| Write::Event(EventRow::clone(row)));
            // First the rest: a turn must be there before its events are.
            writes.extend(events);
            (rows, self.store.write(writes))
        };
        stored.await?;
        let Some(last) = rows.last().map(|row| row.seq) else { return Ok(()) };
        {
            let mut tail = lock(&self.tail);
            tail.extend(rows);
            let surplus = tail.len().saturating_sub(TAIL);
            tail.drain(..surplus);
        }
        self.standing.send_modify(|standing| standing.seq = standing.seq.max(last));
        Ok(())
    }

    /// Stored events after a number, if they are still in memory.
    pub(crate) fn recent(&self, after: u64) -> Option<Vec<Arc<EventRow>>> {
        let tail = lock(&self.tail);
        let first = tail.front()?.seq;
        if after + 1 < first {
            return None;
        }
        let skip = usize::try_from(after + 1 - first).unwrap_or(usize::MAX);
        Some(tail.iter().skip(skip).cloned().collect())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
