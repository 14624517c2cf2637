//! The live end of a thread: events are numbered and stored here, and only then seen by anyone.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use holon_core::ids::ThreadId;
use holon_host::record::now;
use holon_store::{ChatStore, EventRow, StoreError, StoreWrite};
use serde_json::Value;
use tokio::sync::watch;

/// Events kept in memory for those who follow; whoever is further behind reads the store.
const TAIL: usize = 256;
/// Bytes of events kept so: readers who do not read must not hold a long answer in memory.
const TAIL_BYTES: usize = 64 << 10;

/// The live end of one thread, there as long as anything happens in it or anyone follows it.
pub(crate) struct ThreadEventLog {
    thread: ThreadId,
    store: Arc<ChatStore>,
    /// Held while events are numbered and handed to the store, so that both have the same order.
    numbered: Mutex<NumberedEvents>,
    /// What has been stored, and whether more is to come.
    standing: watch::Sender<EventLogStatus>,
    /// What running calls print, which is no part of the story until they end.
    running: Mutex<Vec<RunningOutput>>,
}

/// What is shown of a call that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunningOutput {
    pub(crate) call: String,
    /// Bytes so far.
    pub(crate) bytes: u64,
    /// The last lines.
    pub(crate) end: String,
}

/// Events in the order of their numbers; the last ones may not be stored yet.
struct NumberedEvents {
    seq: u64,
    tail: VecDeque<Arc<EventRow>>,
}

/// How far a thread is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventLogStatus {
    /// Number of the last stored event.
    pub(crate) seq: u64,
    /// Whether a turn is under way.
    pub(crate) running: bool,
    /// Whether the end of the last turn could not be stored.
    pub(crate) lost: bool,
    /// Counts what running calls have shown.
    pub(crate) shown: u64,
}

/// An event before it has a number.
#[derive(Debug, Clone)]
pub(crate) struct EventDraft {
    pub(crate) turn: u64,
    pub(crate) kind: &'static str,
    pub(crate) data: Value,
}

impl ThreadEventLog {
    pub(crate) fn new(thread: ThreadId, store: Arc<ChatStore>, last_seq: u64) -> Self {
        let (standing, _) =
            watch::channel(EventLogStatus { seq: last_seq, running: false, lost: false, shown: 0 });
        let numbered = Mutex::new(NumberedEvents { seq: last_seq, tail: VecDeque::new() });
        Self { thread, store, numbered, standing, running: Mutex::default() }
    }

    /// Shows what running calls print; what is not named any more has ended.
    pub(crate) fn show_running(&self, outputs: Vec<RunningOutput>) {
        let quiet = outputs.is_empty();
        *lock(&self.running) = outputs;
        if !quiet {
            self.standing.send_modify(|standing| standing.shown += 1);
        }
    }

    /// What running calls have printed last.
    pub(crate) fn running_outputs(&self) -> Vec<RunningOutput> {
        lock(&self.running).clone()
    }

    /// The number the next event will have.
    pub(crate) fn next_seq(&self) -> u64 {
        lock(&self.numbered).seq + 1
    }

    /// Follows the thread.
    pub(crate) fn watch(&self) -> watch::Receiver<EventLogStatus> {
        self.standing.subscribe()
    }

    pub(crate) fn set_running(&self, running: bool) {
        self.standing.send_modify(|standing| {
            standing.lost &= !running;
            standing.running = running;
        });
    }

    /// The end of the turn under way could not be stored: whoever follows hears at least that.
    pub(crate) fn lose_the_end(&self) {
        self.standing.send_modify(|standing| standing.lost = true);
    }

    /// Stores events together with other writes, in one step, and then shows them.
    pub(crate) async fn tell(
        &self,
        drafts: Vec<EventDraft>,
        mut writes: Vec<StoreWrite>,
    ) -> Result<(), StoreError> {
        if drafts.is_empty() && writes.is_empty() {
            return Ok(());
        }
        let at = now();
        let (last, stored) = {
            let mut numbered = lock(&self.numbered);
            for EventDraft { turn, kind, data } in drafts {
                numbered.seq += 1;
                let (thread, seq, data) = (self.thread.clone(), numbered.seq, data.to_string());
                let row = EventRow { thread, seq, turn, kind: kind.into(), data, at: at.clone() };
                // After the rest: a turn must be there before its events are.
                // A copy is as small as can be; what was just written may have twice the room it needs.
                numbered.tail.push_back(Arc::new(row.clone()));
                writes.push(StoreWrite::Event(row));
            }
            (numbered.seq, self.store.write(writes))
        };
        if let Err(e) = stored.await {
            self.renumber().await;
            return Err(e);
        }
        // Groups are stored in the order in which they were handed over, so everything up to here is.
        self.standing.send_modify(|standing| standing.seq = standing.seq.max(last));
        let mut numbered = lock(&self.numbered);
        let surplus = surplus(&numbered.tail);
        numbered.tail.drain(..surplus);
        Ok(())
    }

    /// After a group that was not stored: its numbers are free again.
    async fn renumber(&self) {
        let thread = self.thread.clone();
        let Ok(Some(found)) = self.store.read(move |backend| backend.thread(&thread)).await else { return };
        let mut numbered = lock(&self.numbered);
        numbered.seq = found.last_seq;
        numbered.tail.retain(|row| row.seq <= found.last_seq);
    }

    /// Stored events after a number, if they are still in memory.
    pub(crate) fn recent(&self, after: u64) -> Option<Vec<Arc<EventRow>>> {
        let stored = self.standing.borrow().seq;
        let tail = &lock(&self.numbered).tail;
        if after.saturating_add(1) < tail.front()?.seq {
            return None;
        }
        Some(tail.iter().filter(|row| row.seq > after && row.seq <= stored).cloned().collect())
    }
}

/// How many of these, from the front, are more than is kept; never the last one.
fn surplus(tail: &VecDeque<Arc<EventRow>>) -> usize {
    let mut bytes = 0;
    let kept = tail.iter().rev().take(TAIL).take_while(|row| {
        let first = bytes == 0;
        bytes += row.data.len() + 1;
        first || bytes <= TAIL_BYTES
    });
    tail.len() - kept.count()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn little_is_kept_in_memory() {
        let check = |sizes: &[usize], expect: usize| {
            let row = |(bytes, seq): (&usize, u64)| {
                let (thread, data) = ("t-1".parse().unwrap(), "x".repeat(*bytes));
                Arc::new(EventRow { thread, seq, turn: 1, kind: "message".into(), data, at: String::new() })
            };
            assert_eq!(surplus(&sizes.iter().zip(1..).map(row).collect()), expect, "{sizes:?}");
        };
        check(&[], 0);
        check(&[10; 256], 0);
        check(&[10; 300], 44);
        check(&[20 << 10; 10], 7);
        check(&[10, 1 << 20], 1);
        check(&[1 << 20, 10], 1);
    }
}
