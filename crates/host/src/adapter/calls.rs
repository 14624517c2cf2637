//! What the calls of an agent's tools are about, and what their results tell, by its description.

use std::collections::BTreeMap;

use holon_model::{ToolCall, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Most files of one patch.
const FILES: usize = 64;
/// Lines at the beginning of a result in which it may tell its exit code.
const HEAD: usize = 8;

/// `[calls]` of a description: with it an agent can be supervised, without it only watched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "AdapterCalls")]
pub struct AdapterCalls {
    /// The argument of a tool that names a file.
    pub path: BTreeMap<String, String>,
    /// The argument of a tool that is a command line.
    pub command: BTreeMap<String, String>,
    /// The argument of a tool that is a patch, whose lines name files.
    pub patch: BTreeMap<String, String>,
    /// Lines at the beginning of a command's result that tell its exit code, with `{code}` in its place.
    pub exit: Vec<String>,
    /// Whether only its events tell how a call ended.
    pub ends_in_events: bool,
    /// What stands before what a command printed.
    pub output: Option<String>,
    /// What a result says when the command goes on running.
    pub running: Vec<String>,
    /// What a search says that found nothing.
    pub nothing: Vec<String>,
    /// What the last message of a request says that is about the conversation and no part of it.
    pub about: Vec<String>,
}

/// What a call is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallSubject {
    /// Files it names.
    pub paths: Vec<String>,
    /// The command line.
    pub command: Option<String>,
}

/// How a call ended, as an event tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolCallEnding {
    /// Whether it did what was asked.
    pub ok: bool,
    /// Exit code of a command.
    pub exit: Option<i32>,
}

/// What a result tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCallReading<'a> {
    /// Whether it did what was asked.
    pub ok: bool,
    /// Exit code of a command that is over.
    pub exit: Option<i32>,
    /// What it printed.
    pub output: &'a str,
}

impl AdapterCalls {
    /// What a call is about.
    pub fn about(&self, call: &ToolCall) -> CallSubject {
        let arguments = call.object().unwrap_or_default();
        let named =
            |map: &BTreeMap<String, String>| map.get(&call.name).and_then(|key| arguments.get(key)).cloned();
        let mut paths: Vec<String> = match named(&self.path) {
            Some(Value::String(path)) => vec![path],
            Some(Value::Array(all)) => {
                all.iter().filter_map(|path| path.as_str().map(str::to_owned)).collect()
            }
            _ => Vec::new(),
        };
        if let Some(Value::String(patch)) = named(&self.patch) {
            paths.extend(patch.lines().filter_map(patched).map(str::to_owned));
        }
        paths.truncate(FILES);
        CallSubject { paths, command: named(&self.command).as_ref().and_then(line) }
    }

    /// Whether a tool runs commands.
    pub fn is_command(&self, tool: &str) -> bool {
        self.command.contains_key(tool)
    }

    /// What the result of a call tells; `told` is what was heard elsewhere of its end.
    pub fn read<'a>(
        &self,
        tool: &str,
        result: &'a ToolResult,
        told: Option<ToolCallEnding>,
    ) -> ToolCallReading<'a> {
        let text = result.text.as_str();
        let failed = result.is_error || told.is_some_and(|told| !told.ok);
        if !self.is_command(tool) {
            return ToolCallReading { ok: !failed, exit: None, output: text };
        }
        let told = told.and_then(|told| told.exit);
        let head = text.lines().take(HEAD).find_map(|line| Some((self.code(line)?, line)));
        let output = match (&self.output, head) {
            (Some(mark), _) => text.split_once(mark.as_str()).map_or(text, |(_, output)| output),
            (None, Some((_, line))) => {
                text.split_once(line).map_or(text, |(_, rest)| rest.trim_start_matches('\n'))
            }
            (None, None) => text,
        };
        let exit = match head.map(|(code, _)| code).or(told) {
            Some(code) => Some(code),
            None if self.running.iter().any(|words| text.contains(words.as_str())) => None,
            None => Some(i32::from(failed)),
        };
        ToolCallReading { ok: !failed && exit.is_none_or(|code| code == 0), exit, output }
    }

    /// How many things a search found, by the lines it gave.
    pub fn found(&self, text: &str) -> usize {
        if self.nothing.iter().any(|words| text.trim_start().starts_with(words.as_str())) {
            return 0;
        }
        text.lines().filter(|line| !line.trim().is_empty()).count()
    }

    fn code(&self, line: &str) -> Option<i32> {
        self.exit.iter().find_map(|form| {
            let (before, after) = form.split_once("{code}")?;
            line.trim().strip_prefix(before)?.strip_suffix(after)?.trim().parse().ok()
        })
    }
}

/// A command line, which some tools take word by word.
fn line(value: &Value) -> Option<String> {
    match value {
        Value::String(line) => Some(line.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                [] => None,
                [_, "-c" | "-lc", line] => Some((*line).to_owned()),
                words => Some(words.join(" ")),
            }
        }
        _ => None,
    }
}

/// The file that a line of a patch names.
fn patched(line: &str) -> Option<&str> {
    let marks = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    marks.iter().find_map(|mark| line.strip_prefix(mark)).map(str::trim)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::adapter::find::builtin;
    use serde_json::json;

    fn calls(agent: &str) -> AdapterCalls {
        builtin(agent).unwrap().calls.unwrap()
    }

    fn about(agent: &str, tool: &str, arguments: Value, paths: &[&str], command: Option<&str>) {
        let found = calls(agent).about(&ToolCall::new("1", tool, arguments.to_string()));
        assert_eq!(
            (found.paths.as_slice(), found.command.as_deref()),
            (paths.map_owned().as_slice(), command),
            "{agent} {tool}"
        );
    }

    trait OwnedStrings {
        fn map_owned(&self) -> Vec<String>;
    }

    impl OwnedStrings for [&str] {
        fn map_owned(&self) -> Vec<String> {
            self.iter().map(|text| (*text).to_owned()).collect()
        }
    }

    #[test]
    fn calls_name_what_they_are_about() {
        about("claude-code", "Read", json!({"file_path": "/a"}), &["/a"], None);
        about("claude-code", "Bash", json!({"command": "ls", "description": "x"}), &[], Some("ls"));
        about("claude-code", "TodoWrite", json!({"todos": []}), &[], None);
        about("codex", "exec_command", json!({"cmd": "ls"}), &[], Some("ls"));
        about("codex", "shell", json!({"command": ["bash", "-lc", "ls -l"]}), &[], Some("ls -l"));
        about("codex", "shell", json!({"command": ["ls", "-l"]}), &[], Some("ls -l"));
        let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-x\n+*** y\n*** Add File: b/c.txt\n+z\n*** End Patch";
        about("codex", "apply_patch", json!({"input": patch}), &["a.txt", "b/c.txt"], None);
        about("opencode", "apply_patch", json!({"patchText": patch}), &["a.txt", "b/c.txt"], None);
        about("opencode", "edit", json!({"filePath": "/a", "oldString": "x"}), &["/a"], None);
        about("opencode", "bash", json!({"command": "ls"}), &[], Some("ls"));
        about("gemini", "run_shell_command", json!({"command": "ls"}), &[], Some("ls"));
        about("qwen", "write_file", json!({"file_path": "a", "content": ""}), &["a"], None);
        about("goose", "shell", json!({"command": "ls"}), &[], Some("ls"));
        about("goose", "unknown", json!({"command": "ls"}), &[], None);
        let broken = calls("codex").about(&ToolCall::new("1", "exec_command", "{oops"));
        assert_eq!(broken, CallSubject::default());
    }

    fn read(
        agent: &str,
        tool: &str,
        result: &ToolResult,
        told: Option<ToolCallEnding>,
        expect: (bool, Option<i32>, &str),
    ) {
        let calls = calls(agent);
        let found = calls.read(tool, result, told);
        assert_eq!((found.ok, found.exit, found.output), expect, "{agent} {tool}: {}", result.text);
    }

    #[test]
    fn results_tell_how_a_command_ended() {
        read(
            "claude-code",
            "Bash",
            &ToolResult::error("1", "Exit code 2\nno\nway"),
            None,
            (false, Some(2), "no\nway"),
        );
        read("claude-code", "Bash", &ToolResult::ok("1", "fine"), None, (true, Some(0), "fine"));
        let later = ToolResult::ok("1", "Command running in background with ID: x");
        read("claude-code", "Bash", &later, None, (true, None, &later.text));
        read(
            "claude-code",
            "Read",
            &ToolResult::error("1", "no such file"),
            None,
            (false, None, "no such file"),
        );
        let text = "Chunk ID: 1\nWall time: 0.05 seconds\nProcess exited with code 101\nOriginal token count: 3\nOutput:\nno\n";
        read("codex", "exec_command", &ToolResult::ok("1", text), None, (false, Some(101), "no\n"));
        let text = "Chunk ID: 1\nProcess running with session ID 7\nOutput:\n";
        read("codex", "exec_command", &ToolResult::ok("1", text), None, (true, None, ""));
        read(
            "opencode",
            "bash",
            &ToolResult::ok("1", "not ok"),
            Some(ToolCallEnding { ok: false, exit: Some(1) }),
            (false, Some(1), "not ok"),
        );
        read(
            "opencode",
            "bash",
            &ToolResult::ok("1", "ok"),
            Some(ToolCallEnding { ok: true, exit: Some(0) }),
            (true, Some(0), "ok"),
        );
        // What a file says about exit codes is none of the command's, further down.
        let text = "a\n".repeat(20) + "Exit code 3";
        read("claude-code", "Bash", &ToolResult::ok("1", &text), None, (true, Some(0), &text));
    }

    #[test]
    fn a_search_that_found_nothing_is_told() {
        assert_eq!(calls("claude-code").found("No files found"), 0);
        assert_eq!(calls("claude-code").found("a.rs\nb.rs\n"), 2);
        assert_eq!(calls("opencode").found("No files found"), 0);
    }

    #[test]
    fn every_tool_that_is_named_has_a_class() {
        for agent in ["claude-code", "codex", "opencode", "gemini", "qwen", "goose"] {
            let adapter = builtin(agent).unwrap();
            let calls = adapter.calls.clone().unwrap();
            for tool in calls.path.keys().chain(calls.command.keys()).chain(calls.patch.keys()) {
                assert_ne!(adapter.class_of(tool), holon_core::policy::ToolClass::Unknown, "{agent} {tool}");
            }
        }
    }
}
