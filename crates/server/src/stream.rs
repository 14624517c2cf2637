//! A thread's events as an answer that goes on: what is stored, what comes, and one `done` at the end.
//!
//! Whoever reads pulls: nothing is queued for a slow reader, who finds in the store what memory no longer has.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use holon_store::{ChatStore, EventRow, StoreBackend};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::event_log::{EventLogStatus, RunningOutput};
use crate::guard::ConcurrencyPermit;
use crate::live_threads::LiveThreadHandle;

/// Silence after which a comment shows that the connection lives.
const PING: Duration = Duration::from_secs(15);
/// Events read at once.
const PAGE: usize = 200;
/// Bytes of events that are held for one reader.
const MOST_HELD: usize = 64 << 10;
/// Bytes that are handed on at once. Sixteen of these wait for a reader who does not read, whatever their size, before
/// nothing more is asked for.
const MOUTHFUL: usize = 8 << 10;

/// One reader of a thread.
pub(crate) struct ThreadReader {
    pub(crate) store: Arc<ChatStore>,
    /// Keeps the thread live.
    pub(crate) held: LiveThreadHandle,
    pub(crate) thread: holon_core::ids::ThreadId,
    /// The last event the reader has.
    pub(crate) after: u64,
    /// Whether it also wants to see what calls print while they run.
    pub(crate) live: bool,
    /// A place among those who may read at once.
    #[expect(dead_code, reason = "held, not looked at")]
    pub(crate) seat: ConcurrencyPermit,
}

enum ThreadStreamState {
    Going(Box<OpenThreadStream>),
    Over,
}

struct OpenThreadStream {
    reader: ThreadReader,
    standing: watch::Receiver<EventLogStatus>,
    ready: VecDeque<Arc<EventRow>>,
    /// Of the event that was taken last, what has not been handed on.
    rest: Bytes,
    /// How often running calls had shown something when it was handed on last.
    shown: u64,
    /// What was handed on of them.
    running: Vec<RunningOutput>,
}

impl ThreadReader {
    /// The answer; it ends when the thread has nothing more to say for now.
    pub(crate) fn answer(self) -> Response {
        let standing = self.held.feed.watch();
        let (ready, rest, running) = Default::default();
        let going = OpenThreadStream { reader: self, standing, ready, rest, shown: 0, running };
        let chunks = stream::unfold(ThreadStreamState::Going(Box::new(going)), |state| async move {
            match state {
                ThreadStreamState::Over => None,
                ThreadStreamState::Going(mut going) => {
                    let (bytes, ended) = going.next().await;
                    let next = if ended { ThreadStreamState::Over } else { ThreadStreamState::Going(going) };
                    Some((Ok::<_, std::convert::Infallible>(bytes), next))
                }
            }
        });
        event_stream(Body::from_stream(chunks))
    }
}

/// An answer that is an event stream; nothing on the way may hold it back.
pub(crate) fn event_stream(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

impl OpenThreadStream {
    /// The next bytes, and whether they are the last.
    async fn next(&mut self) -> (Bytes, bool) {
        if !self.rest.is_empty() {
            return (self.mouthful(), false);
        }
        loop {
            let standing = *self.standing.borrow_and_update();
            if self.ready.is_empty()
                && self.reader.after < standing.seq
                && let Err(e) = self.fetch().await
            {
                return (last_words("internal", &e.to_string()), true);
            }
            if !self.ready.is_empty() {
                return (self.take(), false);
            }
            if self.reader.live && standing.running && standing.shown != self.shown {
                self.shown = standing.shown;
                if let Some(text) = self.running_outputs() {
                    return (Bytes::from(text), false);
                }
            }
            if standing.lost && !standing.running {
                return (last_words("not_stored", NOT_STORED), true);
            }
            if !standing.running && self.reader.after >= standing.seq {
                return (Bytes::from_static(DONE.as_bytes()), true);
            }
            match timeout(PING, self.standing.changed()).await {
                Ok(Ok(())) => {}
                // Nobody will tell anything more.
                Ok(Err(_)) => return (Bytes::from_static(DONE.as_bytes()), true),
                Err(_) => return (Bytes::from_static(b": ping\n\n"), false),
            }
        }
    }

    /// What running calls have printed since the last look, as events without a number: they are not stored, and whoever
    /// comes later finds the output with the call's end.
    fn running_outputs(&mut self) -> Option<String> {
        use std::fmt::Write as _;
        let running = self.reader.held.feed.running_outputs();
        let mut text = String::new();
        for output in running.iter().filter(|output| !self.running.contains(output)) {
            let data = serde_json::json!({"call": output.call, "bytes": output.bytes, "end": output.end});
            let _ = write!(text, "event: tool_output\ndata: {data}\n\n");
        }
        self.running = running;
        (!text.is_empty()).then_some(text)
    }

    async fn fetch(&mut self) -> Result<(), holon_store::StoreError> {
        let after = self.reader.after;
        if let Some(rows) = self.reader.held.feed.recent(after).filter(|rows| !rows.is_empty()) {
            self.ready = at_hand(rows);
            return Ok(());
        }
        let thread = self.reader.thread.clone();
        let read = move |backend: &dyn StoreBackend| backend.events(&thread, after, PAGE, MOST_HELD);
        let rows = self.reader.store.read(read).await?;
        self.ready = at_hand(rows.into_iter().map(Arc::new));
        if self.ready.is_empty() {
            // Gone meanwhile, with the whole thread.
            self.reader.after = u64::MAX;
        }
        Ok(())
    }

    /// What is ready, as bytes; not more than a reader takes at once.
    fn take(&mut self) -> Bytes {
        let fits = fitting(&self.ready);
        // Exactly what it needs: it may be held for long.
        let mut text = String::with_capacity(self.ready.range(..fits).map(|row| written(row)).sum());
        for row in self.ready.drain(..fits) {
            write_event(&mut text, &row);
            self.reader.after = row.seq;
        }
        self.rest = Bytes::from(text);
        self.mouthful()
    }

    fn mouthful(&mut self) -> Bytes {
        let size = self.rest.len().min(MOUTHFUL);
        self.rest.split_to(size)
    }
}

/// How many events are handed on together: those that fit, and at least one.
fn fitting(ready: &VecDeque<Arc<EventRow>>) -> usize {
    let mut bytes = 0;
    let fits = |row: &&Arc<EventRow>| {
        let first = bytes == 0;
        bytes += written(row);
        first || bytes <= MOUTHFUL
    };
    ready.iter().take_while(fits).count()
}

/// The first of these events, as many as are held for a reader who may not take them for long.
fn at_hand(rows: impl IntoIterator<Item = Arc<EventRow>>) -> VecDeque<Arc<EventRow>> {
    let mut bytes = 0;
    let fits = |row: &Arc<EventRow>| {
        let first = bytes == 0;
        bytes += row.data.len() + 1;
        first || bytes <= MOST_HELD
    };
    rows.into_iter().take_while(fits).collect()
}

const DONE: &str = "event: done\ndata: {}\n\n";
const NOT_STORED: &str = "the end of the turn could not be stored; free some space where Holon keeps its state, then say \
                          something: the thread goes on from what was stored";

/// An error that is no part of the story, and the end.
fn last_words(code: &str, message: &str) -> Bytes {
    let data = serde_json::json!({"message": message, "code": code});
    Bytes::from(format!("event: error\ndata: {data}\n\n{DONE}"))
}

/// JSON has no raw line breaks, so one data line always does.
fn write_event(text: &mut String, row: &EventRow) {
    use std::fmt::Write as _;
    let _ = write!(text, "id: {}\nevent: {}\ndata: {}\n\n", row.seq, row.kind, row.data);
}

/// Bytes an event is written in.
fn written(row: &EventRow) -> usize {
    const AROUND: usize = "id: \nevent: \ndata: \n\n".len();
    let digits = row.seq.checked_ilog10().unwrap_or(0) as usize + 1;
    AROUND + digits + row.kind.len() + row.data.len()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn row(seq: u64, bytes: usize) -> Arc<EventRow> {
        let (thread, data) = ("t-1".parse().unwrap(), "x".repeat(bytes));
        Arc::new(EventRow { thread, seq, turn: 1, kind: "message".into(), data, at: String::new() })
    }

    #[test]
    fn little_is_held_for_a_slow_reader() {
        let check = |sizes: &[usize], expect: usize| {
            let rows = sizes.iter().zip(1..).map(|(bytes, seq)| row(seq, *bytes));
            let held: Vec<u64> = at_hand(rows).iter().map(|row| row.seq).collect();
            assert_eq!(held, (1..=expect as u64).collect::<Vec<_>>(), "{sizes:?}");
        };
        check(&[], 0);
        check(&[10; 200], 200);
        check(&[20 << 10; 200], 3);
        // One that is larger than that by itself is told all the same.
        check(&[1 << 20, 10], 1);
    }

    #[test]
    fn nothing_has_more_room_than_it_needs() {
        for (seq, bytes) in [(0, 0), (1, 1), (9, 10), (10, 300), (u64::MAX, 70_000)] {
            let mut text = String::new();
            write_event(&mut text, &row(seq, bytes));
            assert_eq!(written(&row(seq, bytes)), text.len(), "{seq}, {bytes}");
        }
    }

    #[test]
    fn a_reader_is_given_a_mouthful_at_a_time() {
        let check = |sizes: &[usize], expect: usize| {
            let ready = sizes.iter().zip(1..).map(|(bytes, seq)| row(seq, *bytes)).collect();
            assert_eq!(fitting(&ready), expect, "{sizes:?}");
        };
        check(&[], 0);
        check(&[10; 20], 20);
        check(&[3 << 10; 20], 2);
        check(&[1 << 20, 10], 1);
        check(&[10, 1 << 20], 1);
    }
}
