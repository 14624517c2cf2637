//! A thread as a file to keep: Markdown to read, JSON with everything that is known.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use holon_store::{EventRow, StoreBackend, StoreError};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;

use super::extract::QueryPart;
use super::shapes::ChatThread;
use crate::app::AppState;
use crate::guard::RequestUser;
use crate::problem::{ApiProblem, ApiResult};

/// Events read at once.
const PAGE: usize = 500;
/// Bytes of events in one file.
const MOST: usize = 128 << 20;

/// Which form.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportQuery {
    /// `markdown`, which is usual, or `json`.
    format: Option<String>,
}

/// Gives a thread as a file.
#[utoipa::path(get, path = "/api/threads/{id}/export", tag = "threads",
    params(("id" = String, Path), ExportQuery),
    responses((status = 200, content_type = "text/markdown", body = String), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn export(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    Path(id): Path<String>,
    QueryPart(ExportQuery { format }): QueryPart<ExportQuery>,
) -> ApiResult<Response> {
    let json = match format.as_deref() {
        None | Some("markdown") => false,
        Some("json") => true,
        Some(_) => return Err(ApiProblem::invalid("`format` must be `markdown` or `json`")),
    };
    let thread = app.thread(&user, &id).await?;
    let name = thread.id.clone();
    let (turns, events) =
        app.store.read(move |backend| Ok((backend.turns(&name, 1)?, all(backend, &name)?))).await?;
    let Some(events) = events else {
        return Err(ApiProblem::new(
            axum::http::StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            "this thread is too long for one file",
        )
        .with_hint("read it in parts at /api/chat/{id}/events"));
    };
    let (kind, ending, text) = match json {
        true => {
            let told = events.iter().map(|event| {
                let data: Value = serde_json::from_str(&event.data).unwrap_or_default();
                json!({"seq": event.seq, "turn": event.turn, "at": event.at, "event": event.kind, "data": data})
            });
            let told: Vec<Value> = told.collect();
            let whole = json!({"thread": ChatThread::new(thread, None, Some(turns)), "events": told});
            ("application/json", "json", format!("{whole:#}\n"))
        }
        false => {
            let title = thread.title.as_deref().unwrap_or("Thread");
            ("text/markdown; charset=utf-8", "md", markdown(title, &thread.workspace, &events))
        }
    };
    let mut response = text.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    let disposition = format!("attachment; filename=\"{id}.{ending}\"");
    if let Ok(value) = HeaderValue::from_str(&disposition) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

/// All events of a thread; none where they are more than one file holds.
fn all(
    backend: &dyn StoreBackend,
    thread: &holon_core::ids::ThreadId,
) -> Result<Option<Vec<EventRow>>, StoreError> {
    let (mut events, mut bytes) = (Vec::new(), 0);
    loop {
        let after = events.last().map_or(0, |event: &EventRow| event.seq);
        let page = backend.events(thread, after, PAGE, MOST)?;
        bytes += page.iter().map(|event| event.data.len()).sum::<usize>();
        if bytes > MOST {
            return Ok(None);
        }
        if page.is_empty() {
            return Ok(Some(events));
        }
        events.extend(page);
    }
}

/// What was said, what was done and what came of it, in the order in which it happened.
fn markdown(title: &str, workspace: &str, events: &[EventRow]) -> String {
    let mut text = format!("# {title}\n\nWorkspace: `{workspace}`\n");
    let mut answering = false;
    for event in events {
        let data: Value = serde_json::from_str(&event.data).unwrap_or_default();
        let word = |name: &str| data[name].as_str().unwrap_or_default();
        // These come between two pieces of one answer.
        if matches!(event.kind.as_str(), "title" | "usage" | "supervisor" | "graph" | "reasoning") {
            continue;
        }
        let was = std::mem::replace(&mut answering, event.kind == "message");
        if was && !answering && !text.ends_with('\n') {
            text.push('\n');
        }
        match event.kind.as_str() {
            "turn" if data["resumed"] == true => {
                for answer in data["answers"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                    let _ = write!(text, "\n## You answered\n\n{answer}\n");
                }
            }
            "turn" => {
                let _ = write!(text, "\n## You ({})\n\n{}\n", word("mode"), word("message"));
            }
            "message" => {
                if !was {
                    text.push_str("\n## Holon\n\n");
                }
                text.push_str(word("text"));
            }
            "tool_end" => ended(&mut text, &data),
            "interrupt" => {
                for question in data["questions"].as_array().into_iter().flatten() {
                    let _ = write!(
                        text,
                        "\n**Question:** {}\n",
                        question["question"].as_str().unwrap_or_default()
                    );
                }
            }
            "error" => {
                let _ = write!(text, "\n> **{}**: {}\n", word("code"), word("message").replace('\n', "\n> "));
            }
            _ => {}
        }
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn ended(text: &mut String, data: &Value) {
    let word = |name: &str| data[name].as_str().unwrap_or_default();
    let how = match (data["denied"] == true, data["ok"] == true) {
        (true, _) => "refused",
        (_, true) => "ok",
        _ => "failed",
    };
    let exit = data["exit_code"].as_i64().map(|code| format!(", exit code {code}")).unwrap_or_default();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let _ = write!(text, "\n**{}** ({how}{exit}) {}\n", word("tool"), word("summary"));
    let mut output = word("output").to_owned();
    if let Some(end) = data["output_end"].as_str() {
        let _ = write!(output, "\n[… {} bytes left out …]\n{end}", data["output_left_out"]);
    }
    for (language, body) in [("text", output.as_str()), ("diff", word("diff"))] {
        if !body.is_empty() {
            let fence = fence(body);
            let _ = write!(text, "\n{fence}{language}\n{}\n{fence}\n", body.trim_end_matches('\n'));
        }
    }
}

/// A fence that nothing in the text closes.
fn fence(body: &str) -> String {
    let longest = body.lines().map(|line| line.trim_start().chars().take_while(|c| *c == '`').count()).max();
    "`".repeat(longest.unwrap_or(0).max(2) + 1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn event(kind: &str, data: Value) -> EventRow {
        EventRow {
            thread: "t-1".parse().unwrap(),
            seq: 1,
            turn: 1,
            kind: kind.into(),
            data: data.to_string(),
            at: String::new(),
        }
    }

    #[test]
    fn a_conversation_is_read_as_it_was() {
        let events = [
            event("turn", json!({"turn": 1, "mode": "build", "message": "Fix it"})),
            event("message", json!({"text": "Let me "})),
            event("title", json!({"title": "T"})),
            event("message", json!({"text": "look."})),
            event(
                "tool_end",
                json!({"tool": "execute", "ok": false, "exit_code": 1, "summary": "s", "output": "```\nx\n",
                "output_end": "end\n", "output_left_out": 7}),
            ),
            event("message", json!({"text": "Done."})),
            event("error", json!({"code": "cancelled", "message": "stopped"})),
        ];
        let expect = "# T\n\nWorkspace: `/w`\n\n## You (build)\n\nFix it\n\n## Holon\n\nLet me look.\n\n**execute** (failed, exit \
                      code 1) s\n\n````text\n```\nx\n\n[… 7 bytes left out …]\nend\n````\n\n## Holon\n\nDone.\n\n> **cancelled**: \
                      stopped\n";
        assert_eq!(markdown("T", "/w", &events), expect);
    }
}
