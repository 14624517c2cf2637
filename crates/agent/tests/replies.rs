//! What models really say, and what they mean by it.
//!
//! Each line of `replies/*.jsonl` is one reply: its text and calls as the server gave them, the files it is about, and
//! what a careful reader says is meant. `HOLON_REPLIES` prints every case that is read otherwise.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use holon_agent::edit::{self, patch};
use holon_agent::reply::{ReplyReading, line_left_out, understand};
use holon_model::provider::PendingReply;
use holon_model::{
    DeltaSink, MessagePart, ModelCancel, ModelError, ModelMessage, ModelReply, ModelRequest, Provider,
    ReplyDelta, ReplyStop, TextTools, ToolCall, ToolSpec,
};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Debug, Deserialize)]
struct ReplyCase {
    id: String,
    mode: String,
    text: String,
    native_calls: Vec<NativeCallCase>,
    stop: String,
    files: BTreeMap<String, String>,
    meant: Vec<MeantAction>,
    or: Option<Vec<MeantAction>>,
}

#[derive(Debug, Deserialize)]
struct NativeCallCase {
    name: String,
    arguments: String,
}

/// What a reply shall do, or did.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
enum MeantAction {
    Call { call: String, arguments: Map<String, Value> },
    File { file: String, after: String },
    Deleted { deleted: String },
}

fn tools() -> Vec<ToolSpec> {
    let tool = |name: &str, properties: Value, required: &[&str]| {
        ToolSpec::new(name, "", json!({"type": "object", "properties": properties, "required": required}))
    };
    let (text, number, flag, list) = (
        json!({"type": "string"}),
        json!({"type": "integer"}),
        json!({"type": "boolean"}),
        json!({"type": "array"}),
    );
    vec![
        tool("ls", json!({"path": text, "depth": number, "all": flag}), &[]),
        tool("read_file", json!({"path": text, "offset": number, "limit": number}), &["path"]),
        tool("glob", json!({"pattern": text, "path": text, "all": flag}), &["pattern"]),
        tool(
            "grep",
            json!({"pattern": text, "path": text, "glob": text, "literal": flag, "ignore_case": flag, "context": number,
                "names_only": flag}),
            &["pattern"],
        ),
        tool(
            "edit_file",
            json!({"path": text, "old": text, "new": text, "all": flag}),
            &["path", "old", "new"],
        ),
        tool("write_file", json!({"path": text, "content": text}), &["path", "content"]),
        tool("delete_file", json!({"path": text}), &["path"]),
        tool("apply_patch", json!({"patch": text}), &["patch"]),
        tool("execute", json!({"command": text, "timeout": number, "background": flag}), &["command"]),
        tool("job", json!({"job": number, "wait": number, "input": text, "end": flag}), &["job"]),
        tool("ask_user", json!({"questions": list}), &["questions"]),
        tool("delegate", json!({"task": text}), &["task"]),
        tool("write_todos", json!({"todos": list}), &["todos"]),
        tool("finish", json!({"summary": text, "status": text}), &["summary"]),
    ]
}

/// A model that says one thing.
#[derive(Debug)]
struct ScriptedReply(ModelReply);

impl Provider for ScriptedReply {
    fn name(&self) -> &str {
        "says"
    }

    fn stream<'a>(
        &'a self,
        _: &'a ModelRequest,
        _: &'a mut dyn DeltaSink,
        _: &'a ModelCancel,
    ) -> PendingReply<'a> {
        Box::pin(async { Ok(self.0.clone()) })
    }
}

struct NoFilesExecutor;

impl DeltaSink for NoFilesExecutor {
    fn delta(&mut self, _: ReplyDelta) {}
    fn waiting(&mut self, _: std::time::Duration, _: &ModelError) {}
}

fn read(case: &ReplyCase, tools: &[ToolSpec]) -> ModelReply {
    let mut parts = Vec::new();
    if !case.text.is_empty() {
        parts.push(MessagePart::Text(case.text.clone()));
    }
    let calls = case.native_calls.iter().enumerate();
    parts.extend(
        calls.map(|(at, call)| {
            MessagePart::Call(ToolCall::new(format!("c{at}"), &call.name, &call.arguments))
        }),
    );
    let stop = match case.stop.as_str() {
        "length" => ReplyStop::MaxTokens,
        "tool" => ReplyStop::ToolUse,
        _ => ReplyStop::EndTurn,
    };
    let mut reply = ModelReply { id: None, model: None, parts, stop, usage: None };
    if case.mode == "words" {
        let told: Vec<ToolSpec> = tools.iter().filter(|tool| tool.name != "apply_patch").cloned().collect();
        let request =
            ModelRequest { messages: vec![ModelMessage::user("x")], tools: told, ..ModelRequest::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let provider = TextTools::new(ScriptedReply(reply), false);
        reply = runtime
            .block_on(provider.stream(&request, &mut NoFilesExecutor, &ModelCancel::default()))
            .unwrap();
    }
    understand(reply, tools, ReplyReading::Everything, 1)
}

/// What the calls of a reply do to the files, and what else they are.
fn effects(case: &ReplyCase, reply: &ModelReply, tools: &[ToolSpec]) -> Vec<MeantAction> {
    let mut files = case.files.clone();
    let mut all = Vec::new();
    for call in reply.calls() {
        let Some(tool) = tools.iter().find(|tool| tool.name == call.name) else { continue };
        let Ok(arguments) = call.object() else { continue };
        let required = tool.schema["required"].as_array().unwrap();
        if !required.iter().all(|name| arguments.contains_key(name.as_str().unwrap())) {
            continue;
        }
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let path = text("path").trim_start_matches("./").to_owned();
        // The tools refuse a path that names nothing.
        if required.contains(&json!("path")) && path.is_empty() {
            continue;
        }
        // What a tool does not know is nothing to it.
        let mut arguments = arguments.clone();
        arguments.retain(|name, _| tool.schema["properties"].get(name).is_some());
        match call.name.as_str() {
            "write_file" => {
                let before = files.get(&path).map_or("", String::as_str);
                if line_left_out(&text("content"), before).is_none() {
                    files.insert(path, text("content"));
                }
            }
            "delete_file" => drop(files.remove(&path)),
            "edit_file" => {
                let every = arguments.get("all").is_some_and(|all| all == &Value::Bool(true));
                let old = files.get(&path).cloned().unwrap_or_default();
                if let Ok(new) = edit::replace(&old, &text("old"), &text("new"), every) {
                    files.insert(path, new.text);
                }
            }
            "apply_patch" => {
                let Ok(patch) = patch::parse(&text("patch")) else { continue };
                let Ok(changes) = patch::plan(&patch, |path| files.get(path).cloned()) else { continue };
                for change in changes {
                    apply(change, &mut files);
                }
            }
            _ => all.push(MeantAction::Call { call: call.name.clone(), arguments }),
        }
    }
    for (path, text) in &files {
        if case.files.get(path) != Some(text) {
            all.push(MeantAction::File { file: path.clone(), after: text.clone() });
        }
    }
    let gone = case.files.keys().filter(|path| !files.contains_key(*path));
    all.extend(gone.map(|path| MeantAction::Deleted { deleted: path.clone() }));
    all
}

fn apply(change: patch::PatchedFileChange, files: &mut BTreeMap<String, String>) {
    match change {
        patch::PatchedFileChange::Create { path, text }
        | patch::PatchedFileChange::Update { path, text, .. } => {
            files.insert(path, text);
        }
        patch::PatchedFileChange::Move { from, to, text, .. } => {
            files.remove(&from);
            files.insert(to, text);
        }
        patch::PatchedFileChange::Delete { path } => drop(files.remove(&path)),
    }
}

/// Files first by name, then calls in their order; without what is a matter of taste.
fn plain(all: &[MeantAction]) -> Vec<MeantAction> {
    let mut calls = Vec::new();
    let mut files = Vec::new();
    for one in all {
        match one {
            MeantAction::Call { call, arguments } => {
                let mut arguments = arguments.clone();
                arguments.retain(|_, value| !matches!(value, Value::Null | Value::Bool(false)));
                if arguments.get("status") == Some(&json!("done")) && call == "finish" {
                    arguments.remove("status");
                }
                for value in arguments.values_mut() {
                    match value {
                        Value::String(text) if text.parse::<u64>().is_ok() => {
                            *value = json!(text.parse::<u64>().unwrap())
                        }
                        Value::String(text) => *text = text.trim().to_owned(),
                        _ => {}
                    }
                }
                calls.push(MeantAction::Call { call: call.clone(), arguments });
            }
            MeantAction::File { file, after } => {
                let after = after.replace("\r\n", "\n").trim_end_matches('\n').to_owned();
                files.push(MeantAction::File { file: file.clone(), after });
            }
            other => files.push(other.clone()),
        }
    }
    files.sort_by_key(|one| format!("{one:?}"));
    files.into_iter().chain(calls).collect()
}

/// How a corpus is read: of how many, which were missed, and which were taken for something else.
fn judged(corpus: &str) -> (usize, Vec<String>, Vec<String>) {
    let tools = tools();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/replies").join(corpus);
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let (mut total, mut missed, mut misread) = (0, Vec::new(), Vec::new());
    for path in names {
        for line in fs::read_to_string(&path).unwrap().lines().filter(|line| !line.trim().is_empty()) {
            let case: ReplyCase = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
            let done = plain(&effects(&case, &read(&case, &tools), &tools));
            let meant = plain(&case.meant);
            total += 1;
            if done == meant || case.or.as_deref().is_some_and(|or| done == plain(or)) {
                continue;
            }
            if std::env::var_os("HOLON_REPLIES").is_some() {
                eprintln!("{}:\n  meant {meant:?}\n  read  {done:?}\n", case.id);
            }
            if done.is_empty() { &mut missed } else { &mut misread }.push(case.id);
        }
    }
    let right = total - missed.len() - misread.len();
    eprintln!("{corpus}: {right} of {total} as meant; missed {missed:?}; misread {misread:?}");
    (total, missed, misread)
}

#[test]
fn replies_are_read_as_they_are_meant() {
    let (total, missed, misread) = judged("first");
    assert!(total >= 150);
    assert!(misread.is_empty(), "misread: {misread:?}");
    assert!(missed.len() * 100 <= total * 5, "{total}; missed: {missed:?}");
}

#[test]
fn replies_that_tempt_are_read_as_they_are_meant() {
    let (total, missed, misread) = judged("second");
    assert!(total >= 150);
    assert!(missed.len() * 100 <= total * 8, "{total}; missed: {missed:?}");
    assert!(misread.is_empty(), "misread: {misread:?}");
}

/// A file written in each of the forms a reply may have for it.
fn shown(form: usize, content: &str) -> String {
    let json = json!({"tool": "write_file", "arguments": {"path": "src/a.py", "content": content}});
    match form {
        0 => format!("```json\n{json}\n```"),
        1 => format!("{json}"),
        2 => format!("<tool_call>\n{json}\n</tool_call>"),
        3 => format!("`src/a.py`\n```python\n{content}\n```\n"),
        4 => format!("<write_file>\n<path>src/a.py</path>\n<content>\n{content}\n</content>\n</write_file>"),
        5 => format!(
            "<function=write_file>\n<parameter=path>\nsrc/a.py\n</parameter>\n<parameter=content>\n{content}\n</parameter>\n</function>"
        ),
        6 => format!("src/a.py\n<<<<<<< SEARCH\n=======\n{content}\n>>>>>>> REPLACE\n"),
        _ => format!("*** Begin Patch\n*** Add File: src/a.py\n{}*** End Patch\n", signed(content)),
    }
}

fn signed(content: &str) -> String {
    content.split('\n').map(|line| format!("+{line}\n")).collect()
}

fn reply(text: &str, stop: ReplyStop) -> ModelReply {
    ModelReply { id: None, model: None, parts: vec![MessagePart::Text(text.to_owned())], stop, usage: None }
}

proptest! {
    /// Whatever a reply holds, reading it ends, and what is read has the name of a tool and an object of arguments.
    #[test]
    fn any_reply_is_survived(
        pieces in prop::collection::vec(
            prop_oneof![
                Just("```json\n".to_owned()), Just("```python\n".to_owned()), Just("```bash\n".to_owned()),
                Just("```diff\n".to_owned()), Just("\n```\n".to_owned()), Just("<tool_call>".to_owned()),
                Just("</tool_call>".to_owned()), Just("<function=read_file>".to_owned()), Just("<parameter=".to_owned()),
                Just("<read_file>".to_owned()), Just("</read_file>".to_owned()), Just("<path>".to_owned()),
                Just("</path>".to_owned()), Just("<ls path=\"".to_owned()), Just("/>".to_owned()),
                Just("[TOOL_CALLS]".to_owned()), Just("<｜tool▁sep｜>".to_owned()), Just("<|python_tag|>".to_owned()),
                Just("to=functions.ls".to_owned()), Just("{\"tool\": \"ls\"".to_owned()), Just("\"arguments\": {".to_owned()),
                Just("read_file(".to_owned()), Just("Action: ls\nAction Input: ".to_owned()), Just("Tool: ls\n".to_owned()),
                Just("<<<<<<< SEARCH\n".to_owned()), Just("=======\n".to_owned()), Just(">>>>>>> REPLACE\n".to_owned()),
                Just("--- a/x\n+++ b/x\n@@ -1 +1 @@\n".to_owned()), Just("*** Begin Patch\n".to_owned()),
                Just("src/ä.py\n".to_owned()), Just("<think>".to_owned()), Just("</think>".to_owned()),
                Just("<file path=".to_owned()), Just("</file>".to_owned()), Just("<arg_key>".to_owned()),
                "[a-zé{}\\[\\]()'\"`:,=<>|+*#$%&;.？：「 \n\\\\-]{0,12}",
            ],
            0..16,
        ),
        cut in any::<bool>(),
    ) {
        let tools = tools();
        let text = pieces.concat();
        let stop = if cut { ReplyStop::MaxTokens } else { ReplyStop::EndTurn };
        let read = understand(reply(&text, stop), &tools, ReplyReading::Everything, 1);
        for call in read.calls() {
            prop_assert!(tools.iter().any(|tool| tool.name == call.name), "{} in {text:?}", call.name);
            prop_assert!(call.object().is_ok(), "{text:?}");
        }
    }

    /// A reply that ends anywhere writes the whole file or none: never half of one.
    #[test]
    fn half_a_file_is_never_written(
        content in "[a-z(){}\\[\\]\"':,=#<> \n\\\\]{1,60}",
        form in 0usize..8,
        at in any::<prop::sample::Index>(),
        said in any::<bool>(),
    ) {
        let whole = shown(form, &content);
        let ends: Vec<usize> = whole.char_indices().map(|(at, _)| at).chain([whole.len()]).collect();
        let text = &whole[..ends[at.index(ends.len())]];
        // Some servers do not say that they cut it off.
        let stop = if said { ReplyStop::MaxTokens } else { ReplyStop::EndTurn };
        let tools = tools();
        let read = understand(reply(text, stop), &tools, ReplyReading::Everything, 1);
        let case = ReplyCase {
            id: String::new(),
            mode: "native".to_owned(),
            text: String::new(),
            native_calls: Vec::new(),
            stop: String::new(),
            files: BTreeMap::new(),
            meant: Vec::new(),
            or: None,
        };
        for done in effects(&case, &read, &tools) {
            let MeantAction::File { file, after } = done else { panic!("{done:?} of {text:?}") };
            prop_assert_eq!(file, "src/a.py");
            prop_assert_eq!(after.trim(), content.trim(), "{:?}", text);
        }
    }
}
