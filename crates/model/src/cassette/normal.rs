//! A request as text that two equal runs share: ids, times and paths folded, secrets removed.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use holon_core::redact::Redactor;
use regex::Regex;

use crate::message::{MessagePart, ModelMessage, Role};
use crate::request::ModelRequest;

/// Things that differ from run to run, and what stands for them; earlier ones win.
static FOLDS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let folds = [
        (r"(?-u:\b)[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?-u:\b)", "<uuid>"),
        (r"(?-u:\b)[0-9]{8}-[0-9]{6}-[a-z0-9]{6}(?-u:\b)", "<run>"),
        (
            r"(?-u:\b)[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?( ?(Z|[+-][0-9]{2}:?[0-9]{2}))?",
            "<time>",
        ),
        (r"(?-u:\b)[0-9]{4}-[0-9]{2}-[0-9]{2}(?-u:\b)", "<date>"),
        // Sun Nov 15 08:41:04 UTC 2026 · Sun Nov 15 08:41:04 2026 +0000 · Sun, 15 Nov 2026 08:41:04 +0000
        (
            r"(?-u:\b)(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? +([0-9]{1,2} +)?(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* +([0-9]{1,2} +|[0-9]{4} +)[0-9]{2}:[0-9]{2}(:[0-9]{2})?( [AP]M)?( [A-Z]{3,5})?( [0-9]{4})?( (UTC|GMT|[+-][0-9]{4}))?",
            "<time>",
        ),
        // As `ls -l` says it: Nov 15 08:41 · Nov 15  2025
        (
            r"(?-u:\b)(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +[0-9]{1,2} +([0-9]{2}:[0-9]{2}(:[0-9]{2})?|[0-9]{4})(?-u:\b)",
            "<time>",
        ),
        (r"(?-u:\b)[0-9]{2}:[0-9]{2}:[0-9]{2}([.,][0-9]+)?(?-u:\b)", "<time>"),
        (r"(?i-u:\bp?pid)([ :=]+)[0-9]+(?-u:\b)", "<pid>"),
        (r"(?-u:\b)[0-9]+(\.[0-9]+)? ?(ns|us|µs|ms|s)(?-u:\b)", "<duration>"),
        (r"/tmp/[A-Za-z0-9._-]+", "<tmp>"),
    ];
    // All of them are valid; a test says so.
    folds.into_iter().filter_map(|(pattern, name)| Some((Regex::new(pattern).ok()?, name))).collect()
});

/// Turns requests into the text that a cassette keeps and compares.
#[derive(Debug, Clone, Default)]
pub struct Normaliser {
    redactor: Redactor,
    paths: Vec<(String, String)>,
}

impl Normaliser {
    /// One that removes what this redactor knows.
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor, paths: Vec::new() }
    }

    /// Writes `label` for a path that differs from run to run, such as the workspace.
    #[must_use]
    pub fn fold_path(mut self, path: impl Into<String>, label: impl Into<String>) -> Self {
        let path = path.into();
        if path.len() > 1 {
            self.paths.push((path, label.into()));
            // A folder before those that contain it.
            self.paths.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        }
        self
    }

    /// What removes secrets.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// The request as text, one fact per line, every line ended.
    pub fn text(&self, request: &ModelRequest) -> String {
        let mut text = self.redactor.redact_str(&plain(request));
        for (path, label) in &self.paths {
            text = replace_path(&text, path, label);
        }
        folded(text)
    }
}

/// A text with everything folded that differs from run to run, so that two equal runs share it.
pub fn folded(mut text: String) -> String {
    for (pattern, name) in FOLDS.iter() {
        if let std::borrow::Cow::Owned(folded) = pattern.replace_all(&text, *name) {
            text = folded;
        }
    }
    text
}

/// Replaces a path, but not where it only begins a longer name.
fn replace_path(text: &str, path: &str, label: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(path) {
        let after = &rest[at + path.len()..];
        let goes_on = after.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-');
        out.push_str(&rest[..at]);
        out.push_str(if goes_on { path } else { label });
        rest = after;
    }
    out + rest
}

/// The digest of a normalised request.
pub(crate) fn digest(text: &str) -> String {
    holon_core::digest::sha256(text.as_bytes())
}

fn plain(request: &ModelRequest) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "model {}", request.model);
    // How long an answer may be hangs on what is known of the window, and asks for nothing else.
    if let Some(temperature) = request.temperature {
        let _ = writeln!(out, "temperature {temperature}");
    }
    if let Some(effort) = request.effort {
        let _ = writeln!(out, "effort {}", effort.word());
    }
    if let Some(format) = &request.format {
        let _ = writeln!(out, "format {} {}", format.name, format.schema);
    }
    if request.choice != crate::request::ToolChoice::Auto {
        let _ = writeln!(out, "choice {:?}", request.choice);
    }
    for tool in &request.tools {
        let _ = writeln!(out, "tool {} {}", tool.name, tool.schema);
        indent(&tool.description, "  ", &mut out);
    }
    if !request.system.is_empty() {
        out.push_str("system\n");
        indent(&request.system, "  ", &mut out);
    }
    let mut ids = CallIdNumbers::default();
    for message in &request.messages {
        one_message(message, &mut ids, &mut out);
    }
    out
}

/// Call ids by the order in which they turn up.
#[derive(Default)]
struct CallIdNumbers<'a>(HashMap<&'a str, usize>);

impl<'a> CallIdNumbers<'a> {
    fn number(&mut self, id: &'a str) -> usize {
        let next = self.0.len() + 1;
        *self.0.entry(id).or_insert(next)
    }
}

fn one_message<'a>(message: &'a ModelMessage, ids: &mut CallIdNumbers<'a>, out: &mut String) {
    out.push_str(if message.role == Role::User { "user\n" } else { "assistant\n" });
    for part in &message.parts {
        match part {
            MessagePart::Text(text) => indent(text, "  ", out),
            MessagePart::Reasoning(reasoning) => {
                out.push_str("  (thought)\n");
                indent(&reasoning.text, "    ", out);
            }
            MessagePart::Call(call) => {
                let _ = writeln!(out, "  call#{} {}", ids.number(&call.id), call.name);
                indent(&call.arguments, "    ", out);
            }
            MessagePart::Result(result) => {
                let how = if result.is_error { "error" } else { "ok" };
                let _ = writeln!(out, "  result#{} {how}", ids.number(&result.call_id));
                indent(&result.text, "    ", out);
            }
        }
    }
}

/// Indented lines cannot be mistaken for the structure around them.
fn indent(text: &str, by: &str, out: &mut String) {
    for line in text.lines() {
        out.push_str(by);
        out.push_str(line);
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{ToolCall, ToolResult};
    use crate::request::ToolSpec;

    #[test]
    fn all_folds_are_valid() {
        assert_eq!(FOLDS.len(), 10);
    }

    #[test]
    fn times_are_folded_in_every_dress() {
        for (text, expect) in [
            ("Sun Nov 15 08:41:04 UTC 2026.", "<time>."),
            ("Sun 15 Nov 2026 08:41:04 AM UTC", "<time>"),
            ("Date:   Tue Jan 2 03:04:05 2024 +0000", "Date:   <time>"),
            ("Thu, 01 Jan 1970 00:00:09 +0000\n", "<time>\n"),
            ("-rw-r--r-- 1 holon holon 4 Nov 15 08:41 new", "-rw-r--r-- 1 holon holon 4 <time> new"),
            ("-rw-r--r-- 1 holon holon 4 Jan  2  2024 a.txt", "-rw-r--r-- 1 holon holon 4 <time> a.txt"),
            ("at 08:41:04.123 and 10:20", "at <time> and 10:20"),
            ("pid 71, PID: 4, ppid=33", "<pid>, <pid>, <pid>"),
            ("Sun is out, May 10 people", "Sun is out, May 10 people"),
            ("rapid 7", "rapid 7"),
        ] {
            assert_eq!(folded(text.to_owned()), expect);
        }
    }

    #[test]
    fn a_path_is_not_folded_inside_a_longer_name() {
        let normaliser = Normaliser::default().fold_path("/w/app", "<workspace>").fold_path("/w", "<home>");
        let folded = normaliser.text(&ModelRequest::new("m", "/w/app /w/app/x /w/apple /w/app-2 /w. /web"));
        assert_eq!(
            folded,
            "model m\nuser\n  <workspace> <workspace>/x <home>/apple <home>/app-2 <home>. /web\n"
        );
    }

    #[test]
    fn ids_times_paths_and_secrets_are_folded() {
        let request = |id: &str, path: &str, time: &str| ModelRequest {
            system: format!("Work in {path}. Today is 2026-0{time}-01."),
            messages: vec![
                ModelMessage::user("Fix it"),
                ModelMessage {
                    role: Role::Assistant,
                    parts: vec![MessagePart::Call(ToolCall::new(id, "ls", "{}"))],
                },
                ModelMessage::results([ToolResult::ok(
                    id,
                    format!(
                        "{path}/a.rs\nat 2026-01-0{time}T10:00:00Z in 0.0{time}s\n/tmp/x{time}/y key s3cret-{path}"
                    ),
                )]),
            ],
            tools: vec![ToolSpec::new("ls", "Lists.", serde_json::json!({}))],
            ..ModelRequest::new("m", "")
        };
        let one = Normaliser::new(Redactor::new([("k", "s3cret-/w/one")])).fold_path("/w/one", "<workspace>");
        let two = Normaliser::new(Redactor::new([("k", "s3cret-/w/two")])).fold_path("/w/two", "<workspace>");
        let text = one.text(&request("call_a", "/w/one", "1"));
        assert_eq!(
            text,
            "model m\ntool ls {}\n  Lists.\nsystem\n  Work in <workspace>. Today is <date>.\nuser\n  Fix it\nassistant\n  call#1 ls\n    {}\nuser\n  result#1 ok\n    <workspace>/a.rs\n    at <time> in <duration>\n    <tmp>/y key [redacted:k]\n"
        );
        assert_eq!(two.text(&request("call_b", "/w/two", "2")), text);
        assert_ne!(two.text(&request("call_b", "/w/other", "2")), text);
    }
}
