//! Reads lines of a file.

use std::fmt::Write as _;

use holon_hands::{FileText, ToolRequest, ToolResponse};
use serde::Deserialize;
use serde_json::json;

use super::arguments::{number, read};
use super::{
    AgentTool, CallContext, RunningToolCall, ToolArguments, ToolOutcome, ToolSpec, TurnSettings, odd,
};
use crate::supervisor_hook::ToolCallEvidence;

/// Lines given when no number is asked for.
const LINES: u64 = 1_000;
/// Most bytes given at once.
const BYTES: u64 = 40_000;

pub(super) struct ReadFileTool;

#[derive(Deserialize)]
struct ReadFileArguments {
    #[serde(alias = "file_path", alias = "file")]
    path: String,
    #[serde(default, deserialize_with = "number")]
    offset: Option<u64>,
    #[serde(default, deserialize_with = "number")]
    limit: Option<u64>,
}

impl AgentTool for ReadFileTool {
    fn name(&self) -> &str {
        "read_file"
    }

    fn describe(&self, _settings: &TurnSettings) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {
            "path": {"type": "string"},
            "offset": {"type": "integer", "description": "first line, from 1"},
            "limit": {"type": "integer", "description": "lines"}}, "required": ["path"]});
        ToolSpec::new("read_file", "Read a text file.", schema)
    }

    fn side_by_side(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, arguments: ToolArguments, scene: &'a CallContext<'a>) -> RunningToolCall<'a> {
        Box::pin(async move {
            let wanted: ReadFileArguments = read(arguments)?;
            let deed = ToolRequest::Read {
                path: wanted.path.clone(),
                from_line: wanted.offset.unwrap_or(1).max(1),
                lines: wanted.limit.unwrap_or(LINES).clamp(1, 10_000),
                max_bytes: BYTES,
            };
            let ToolResponse::Text(file) = scene.carry_out(deed).await? else { return Err(odd()) };
            let read = ToolCallEvidence::Read { path: wanted.path, sha256: file.sha256.clone() };
            Ok(ToolOutcome::said(told(&file, scene.numbered)).proving(read))
        })
    }
}

/// The lines, after a note of where they are in the file.
fn told(file: &FileText, numbered: bool) -> String {
    if file.binary {
        return format!("[no text file, {} bytes]", file.bytes);
    }
    if file.bytes == 0 {
        return "[empty file]".to_owned();
    }
    let shown = file.text.lines().count();
    let last = file.from_line + u64::try_from(shown).unwrap_or(0).saturating_sub(1);
    let total = file.total_lines.map_or_else(|| format!("{} bytes", file.bytes), |lines| lines.to_string());
    if shown == 0 {
        return format!("[no line {}: the file has {total}]", file.from_line);
    }
    let more = file.cut || file.total_lines.is_some_and(|lines| last < lines);
    let mut text = if more {
        format!("[lines {}-{last} of {total}; go on with offset {}]\n", file.from_line, last + 1)
    } else {
        format!("[lines {}-{last} of {total}]\n", file.from_line)
    };
    if numbered {
        for (number, line) in (file.from_line..).zip(file.text.lines()) {
            let _ = writeln!(text, "{number}\t{line}");
        }
    } else {
        text.push_str(&file.text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_always_knows_where_they_are() {
        let file = FileText {
            text: "b\nc\n".into(),
            from_line: 2,
            total_lines: Some(9),
            bytes: 18,
            ..FileText::default()
        };
        assert_eq!(told(&file, false), "[lines 2-3 of 9; go on with offset 4]\nb\nc\n");
        assert_eq!(told(&file, true), "[lines 2-3 of 9; go on with offset 4]\n2\tb\n3\tc\n");
        let whole = FileText { from_line: 8, ..file.clone() };
        assert_eq!(told(&whole, false), "[lines 8-9 of 9]\nb\nc\n");
        let beyond = FileText { text: String::new(), from_line: 50, ..file.clone() };
        assert_eq!(told(&beyond, false), "[no line 50: the file has 9]");
        assert_eq!(told(&FileText { binary: true, ..file.clone() }, false), "[no text file, 18 bytes]");
        assert_eq!(told(&FileText { bytes: 0, ..file }, false), "[empty file]");
    }
}
