//! The events of a run as a stream: what is stored, then what comes, until the run is over.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use holon_host::store::RunFolder;
use serde::Deserialize;
use serde_json::Value;
use utoipa::IntoParams;

use super::extract::QueryPart;
use super::runs::folder;
use crate::app::AppState;
use crate::guard::{ConcurrencyPermit, RequestUser};
use crate::problem::{ApiProblem, ApiResult};
use crate::stream::event_stream;

/// How often the file of a run is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// Looks without news after which a comment shows that the connection lives.
const QUIET: u32 = 60;
/// Most that is read at once.
const MOST: u64 = 1 << 20;

/// Where to begin.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RunEventsQuery {
    /// The last event the reader has; 0 for everything.
    after: Option<u64>,
}

/// Follows a run: its stored events, then what comes, until it is over; then `done`.
#[utoipa::path(get, path = "/api/runs/{id}/events", tag = "runs", params(("id" = String, Path), RunEventsQuery),
    responses((status = 200, content_type = "text/event-stream", body = String), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn events(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    Path(id): Path<String>,
    QueryPart(asked): QueryPart<RunEventsQuery>,
) -> ApiResult<Response> {
    let (folder, _) = folder(&app, &id).await?;
    let seat =
        app.streams.take(&user.0).ok_or_else(|| ApiProblem::too_many("too many streams are open", 2))?;
    let tail = EventFileTail {
        events: folder.evidence().join("events.jsonl"),
        run: folder.path().to_owned(),
        read: 0,
        rest: Vec::new(),
        after: asked.after.unwrap_or(0),
    };
    let following = RunFollower { app, tail: Some(tail), seat };
    let chunks = stream::unfold(Some(following), |following| async move {
        let mut following = following?;
        let (bytes, more) = following.next().await;
        Some((Ok::<_, std::convert::Infallible>(bytes), more.then_some(following)))
    });
    Ok(event_stream(Body::from_stream(chunks)))
}

struct RunFollower {
    app: Arc<AppState>,
    tail: Option<EventFileTail>,
    #[expect(dead_code, reason = "held, not looked at")]
    seat: ConcurrencyPermit,
}

impl RunFollower {
    /// The next bytes, and whether more will come.
    async fn next(&mut self) -> (Bytes, bool) {
        for _ in 0..QUIET {
            let Some(tail) = self.tail.take() else { break };
            let looked = tokio::task::spawn_blocking(move || {
                let mut tail = tail;
                // Asked first: what is written before the end is found after it.
                let over = tail.is_over();
                let (text, all) = tail.news();
                (tail, text, over && all)
            });
            let Ok((tail, mut text, over)) = looked.await else { break };
            self.tail = Some(tail);
            if over || self.app.is_ending() {
                text.push_str("event: done\ndata: {}\n\n");
                return (Bytes::from(text), false);
            }
            if !text.is_empty() {
                return (Bytes::from(text), true);
            }
            // The file may be written by another process, and its end of life is a lock that goes: neither tells.
            tokio::time::sleep(LOOK).await;
        }
        if self.tail.is_none() {
            return (Bytes::from_static(b"event: done\ndata: {}\n\n"), false);
        }
        (Bytes::from_static(b": ping\n\n"), true)
    }
}

/// The file of events, as far as it was read.
struct EventFileTail {
    events: PathBuf,
    run: PathBuf,
    read: u64,
    /// The beginning of a line whose end is not written yet.
    rest: Vec<u8>,
    after: u64,
}

impl EventFileTail {
    fn is_over(&self) -> bool {
        let folder = RunFolder::open(self.run.clone());
        folder.record().map_or(true, |record| record.finished) || !folder.is_alive()
    }

    /// Whole lines that were written since, as events, and whether those are all.
    fn news(&mut self) -> (String, bool) {
        let mut bytes = Vec::new();
        // A run that has said nothing yet has no file.
        if let Ok(mut file) = File::open(&self.events)
            && file.seek(SeekFrom::Start(self.read)).is_ok()
        {
            let _ = file.take(MOST).read_to_end(&mut bytes);
        }
        let read = bytes.len() as u64;
        self.read += read;
        self.rest.extend(bytes);
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let mut text = String::new();
        for line in String::from_utf8_lossy(&self.rest[..whole]).lines() {
            let seq = serde_json::from_str::<Value>(line).ok().and_then(|event| event["seq"].as_u64());
            if let Some(seq) = seq.filter(|seq| *seq > self.after) {
                self.after = seq;
                text.push_str(&format!("id: {seq}\nevent: run\ndata: {line}\n\n"));
            }
        }
        self.rest.drain(..whole);
        (text, read < MOST)
    }
}
