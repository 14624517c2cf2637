//! What a person sees of a turn's events, without a terminal.

use std::collections::HashMap;

use serde_json::Value;

use super::markdown::MarkdownRenderer;
use crate::show::{amount, supervisor};
use crate::terminal::{TerminalStream, TextStyle, one_line, visible};
use crate::threads::{StreamEvent, own_words};

/// Something to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ViewPiece {
    /// Words of the answer, as they come.
    Answer(String),
    /// A line beside the answer.
    Aside(String),
    /// What goes on at the moment; it goes away with the next piece.
    Status(String),
}

/// Turns events into pieces; keeps what the end of a turn has to know.
pub(super) struct TurnView {
    stream: TerminalStream,
    width: usize,
    markdown: MarkdownRenderer,
    /// Whether a person sits there; scripts are told errors as by every other command.
    person: bool,
    /// What calls are about, until they end.
    calls: HashMap<String, String>,
    todos: Value,
    /// Whether events of former turns are shown.
    pub(super) past: bool,
    /// The number of the last event.
    pub(super) seq: u64,
    /// What waits for a person.
    pub(super) interrupt: Option<Value>,
    /// The code of the error that ended the turn.
    pub(super) error: Option<String>,
}

impl TurnView {
    /// For a stream of this width; a person's terminal is told its lines where they shall break.
    pub(super) fn new(stream: TerminalStream, width: usize, person: bool) -> Self {
        Self {
            stream,
            width,
            markdown: MarkdownRenderer::new(stream, person.then_some(width)),
            person,
            calls: HashMap::new(),
            todos: Value::Null,
            past: false,
            seq: 0,
            interrupt: None,
            error: None,
        }
    }

    /// The terminal is so wide now.
    pub(super) fn set_width(&mut self, width: usize) {
        self.width = width;
        self.markdown.set_columns(width);
    }

    /// What is to be shown of an event.
    pub(super) fn pieces(&mut self, event: &StreamEvent) -> Vec<ViewPiece> {
        self.seq = event.id.unwrap_or(self.seq);
        let data = &event.data;
        if event.name == "message" {
            return self.words(data);
        }
        let mut pieces = Vec::new();
        match event.name.as_str() {
            "turn" => pieces.extend(self.turn(data)),
            "round" => pieces.push(ViewPiece::Status("…".to_owned())),
            "reasoning" => pieces.push(ViewPiece::Status("thinking…".to_owned())),
            "tool_start" => pieces.extend(self.started(data)),
            // Told as refused already, with the reason.
            "tool_end" if data["denied"] == true => {}
            "tool_end" => pieces.push(self.ended(data)),
            "interrupt" => self.interrupt = Some(data.clone()),
            "graph" => pieces.extend(self.plan(data)),
            "supervisor" => {
                let line = supervisor::line(&data["record"]);
                pieces.extend(line.map(|line| self.dim(&visible(&line))));
            }
            "note" => pieces.extend(self.note(data)),
            "error" => {
                self.error = Some(text(&data["code"]).to_owned());
                let words = own_words(text(&data["code"]), text(&data["message"]));
                let words = visible(words);
                pieces.push(ViewPiece::Aside(if self.person || text(&data["code"]) == "cancelled" {
                    self.stream.paint(TextStyle::Red, &words)
                } else {
                    format!("{} {words}", self.stream.paint(TextStyle::Red, "error:"))
                }));
            }
            _ => {}
        }
        // What is not shown does not break into the answer.
        let parts = ["turn", "round", "tool_start", "tool_end", "interrupt", "done"];
        if !pieces.is_empty() || parts.contains(&event.name.as_str()) {
            let rest = self.markdown.finish();
            if !rest.is_empty() {
                pieces.insert(0, ViewPiece::Answer(rest));
            }
        }
        pieces
    }

    fn words(&mut self, data: &Value) -> Vec<ViewPiece> {
        if data["restart"] == true {
            let rest = self.markdown.finish();
            let again = self.dim("the connection broke; the answer starts again");
            return vec![ViewPiece::Answer(rest), again];
        }
        vec![ViewPiece::Answer(self.markdown.push(text(&data["text"])))]
    }

    fn turn(&mut self, data: &Value) -> Vec<ViewPiece> {
        (self.interrupt, self.error) = (None, None);
        if !self.past {
            return Vec::new();
        }
        let mode = visible(text(&data["mode"]));
        if data["resumed"] == true {
            let answers = data["answers"].as_array().into_iter().flatten();
            return answers
                .map(|answer| self.dim(&format!("answered: {}", self.line(text(answer), 10))))
                .collect();
        }
        let said = visible(text(&data["message"]));
        vec![ViewPiece::Aside(self.stream.paint(TextStyle::Bold, &format!("{mode}> {said}")))]
    }

    fn started(&mut self, data: &Value) -> Option<ViewPiece> {
        let about = format!("{} {}", text(&data["tool"]), text(&data["summary"]));
        let about = self.line(about.trim(), 30);
        let call = text(&data["call"]).to_owned();
        match text(&data["decision"]) {
            "deny" => {
                let mark = self.stream.paint(TextStyle::Red, "⊘");
                let reason = self.line(text(&data["reason"]), 40);
                Some(ViewPiece::Aside(format!(
                    "{mark} {about}  {}",
                    self.stream.paint(TextStyle::Dim, &format!("denied: {reason}"))
                )))
            }
            "ask" => {
                self.calls.insert(call, about);
                None
            }
            _ => {
                let status = format!("▸ {about}");
                let asked = text(&data["rule"]) == "person";
                self.calls.insert(call, if asked { format!("{about}  (you allowed it)") } else { about });
                Some(ViewPiece::Status(status))
            }
        }
    }

    fn ended(&mut self, data: &Value) -> ViewPiece {
        let known = self.calls.remove(text(&data["call"]));
        let about = known.unwrap_or_else(|| self.line(text(&data["tool"]), 30));
        let ok = data["ok"] == true && data["exit_code"].as_i64().unwrap_or(0) == 0;
        let mark = if ok {
            self.stream.paint(TextStyle::Green, "✓")
        } else {
            self.stream.paint(TextStyle::Red, "✗")
        };
        let mut facts = Vec::new();
        if let Some(code) = data["exit_code"].as_i64() {
            facts.push(format!("exit {code}"));
        } else if data["ok"] != true {
            facts.push(self.line(text(&data["summary"]), 40));
        }
        facts.push(amount::millis(data["duration_ms"].as_u64().unwrap_or(0)));
        facts.retain(|fact| !fact.is_empty());
        ViewPiece::Aside(format!("{mark} {about}  {}", self.stream.paint(TextStyle::Dim, &facts.join(", "))))
    }

    fn plan(&mut self, data: &Value) -> Vec<ViewPiece> {
        let todos = &data["todos"];
        if !todos.is_array() || *todos == self.todos {
            return Vec::new();
        }
        self.todos = todos.clone();
        let entries = todos.as_array().into_iter().flatten();
        entries
            .map(|todo| {
                let mark = match text(&todo["status"]) {
                    "done" => "[x]",
                    "doing" => "[>]",
                    _ => "[ ]",
                };
                self.dim(&format!("  {mark} {}", self.line(text(&todo["text"]), 8)))
            })
            .collect()
    }

    fn note(&self, data: &Value) -> Option<ViewPiece> {
        let words = visible(text(&data["text"]));
        Some(match text(&data["kind"]) {
            "waiting" => ViewPiece::Status(one_line(&words, self.width)),
            "warning" => ViewPiece::Aside(self.stream.paint(TextStyle::Yellow, &words)),
            "compacted" => self.dim(&format!("the conversation was shortened ({words} tokens)")),
            "applied" if self.past => self.dim(&format!("applied: {}", words.replace('\n', ", "))),
            "undone" if self.past => self.dim(&format!("taken back: {words}")),
            _ => return None,
        })
    }

    fn dim(&self, words: &str) -> ViewPiece {
        ViewPiece::Aside(self.stream.paint(TextStyle::Dim, words))
    }

    /// On one line, with so many columns left for other things.
    fn line(&self, words: &str, other: usize) -> String {
        one_line(words, self.width.saturating_sub(other).max(20))
    }
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(events: &[(&str, Value)]) -> Vec<ViewPiece> {
        let mut view = TurnView::new(TerminalStream { tty: true, colour: false }, 60, false);
        let event =
            |(name, data): &(&str, Value)| StreamEvent { id: None, name: (*name).into(), data: data.clone() };
        events.iter().flat_map(|told| view.pieces(&event(told))).collect()
    }

    #[test]
    fn a_call_is_one_line() {
        let start =
            json!({"call": "1-1", "tool": "execute", "summary": "ls \u{1b}[2J\nx", "decision": "allow"});
        let end = json!({"call": "1-1", "tool": "execute", "ok": true, "exit_code": 0, "duration_ms": 1234});
        assert_eq!(
            shown(&[("tool_start", start), ("tool_end", end)]),
            [
                ViewPiece::Status("▸ execute ls \u{fffd}[2J x".into()),
                ViewPiece::Aside("✓ execute ls \u{fffd}[2J x  exit 0, 1.2 s".into())
            ]
        );
        let denied = json!({"call": "1-1", "tool": "write_file", "summary": "x", "decision": "deny", "reason": "plan"});
        assert_eq!(
            shown(&[("tool_start", denied)]),
            [ViewPiece::Aside("⊘ write_file x  denied: plan".into())]
        );
    }

    #[test]
    fn words_end_before_anything_else_is_said() {
        let pieces = shown(&[
            ("message", json!({"text": "half"})),
            ("title", json!({"title": "t"})),
            ("message", json!({"text": " a line"})),
            ("error", json!({"message": "no\u{7}", "code": "model"})),
        ]);
        let expect = [
            ViewPiece::Answer("half".into()),
            ViewPiece::Answer(" a line".into()),
            ViewPiece::Answer("\n".into()),
            // As every other command tells errors: nobody sits there.
            ViewPiece::Aside("error: no\u{fffd}".into()),
        ];
        assert_eq!(pieces, expect);
    }
}
