//! Changes that a reply shows instead of calling for them: whole files, patches, passages with their replacement.

use holon_model::ToolSpec;
use serde_json::{Value, json};

use super::UnfittedCall;
use super::block::{FencedBlock, ReplySection};
use super::block_path;
use crate::edit::patch;

/// The languages in which blocks are patches.
const PATCHES: [&str; 3] = ["diff", "patch", "udiff"];
/// The languages in which blocks are commands or what they printed.
pub(super) const SHELLS: [&str; 9] =
    ["bash", "sh", "shell", "zsh", "fish", "console", "terminal", "powershell", "cmd"];

/// The changes in a reply and its words without them; nothing when there is none, or one cannot be told.
pub(super) fn shown(
    pieces: &[ReplySection<'_>],
    offered: &[ToolSpec],
) -> Option<(Vec<UnfittedCall>, String)> {
    let has = |name: &str| offered.iter().any(|tool| tool.name == name);
    let mut calls = Vec::new();
    let mut words = String::new();
    let mut last_path: Option<String> = None;
    for piece in pieces {
        match piece {
            ReplySection::Text(text) => {
                let found = if has("apply_patch") { passages(text, "", &mut last_path) } else { None };
                let found = found.or_else(|| tagged(text).filter(|_| has("write_file")));
                let found = found.or_else(|| unfenced(text).filter(|_| has("apply_patch")));
                match found {
                    Some((more, rest)) => {
                        calls.extend(more);
                        words.push_str(&rest);
                    }
                    None => words.push_str(text),
                }
            }
            ReplySection::Block(block) => match in_block(block, &words, offered, &mut last_path) {
                Some(more) => calls.extend(more),
                None => {
                    words.push_str(&format!("```{}\n{}", block.info, block.body));
                    words.push_str(if block.closed { "```\n" } else { "" });
                }
            },
        }
    }
    (!calls.is_empty()).then(|| (calls, words.trim().to_owned()))
}

fn in_block(
    block: &FencedBlock<'_>,
    before: &str,
    offered: &[ToolSpec],
    last_path: &mut Option<String>,
) -> Option<Vec<UnfittedCall>> {
    let has = |name: &str| offered.iter().any(|tool| tool.name == name);
    if !block.closed {
        return None;
    }
    if has("apply_patch")
        && let Some((calls, _)) = passages(block.body, &format!("{before}\n{}", block.info), last_path)
    {
        return Some(calls);
    }
    let label = block.label();
    let body = block.body;
    let is_patch = PATCHES.contains(&label.as_str())
        || body.contains("*** Begin Patch\n")
        || (body.contains("\n+++ ") && body.contains("\n@@") && starts_diff(body));
    if is_patch {
        return has("apply_patch").then(|| patched(body, block, before)).flatten();
    }
    let is_command = SHELLS.contains(&label.as_str());
    let named = block_path::of(block, before)?;
    let script = named.path.ends_with(".sh") || named.path.ends_with(".bash");
    if !has("write_file") || (is_command && !script) {
        return None;
    }
    let content = &body[named.skip..];
    let half = body.lines().any(opens);
    if block_path::leaves_out(content) || content.trim().is_empty() || is_call(content) || half {
        return None;
    }
    *last_path = Some(named.path.clone());
    Some(vec![written(&named.path, content)])
}

/// Whether a body is nothing but JSON that calls something.
fn is_call(body: &str) -> bool {
    let value = serde_json::from_str::<Value>(body.trim()).ok();
    let object = value.as_ref().and_then(Value::as_object);
    object.is_some_and(|object| {
        ["arguments", "parameters"].iter().any(|key| object.contains_key(*key))
            && ["tool", "name"].iter().any(|key| object.contains_key(*key))
    })
}

fn written(path: &str, content: &str) -> UnfittedCall {
    UnfittedCall { name: "write_file".to_owned(), arguments: json!({ "path": path, "content": content }) }
}

fn starts_diff(body: &str) -> bool {
    let first = body.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    ["--- ", "diff --git ", "Index: ", "index "].iter().any(|start| first.starts_with(start))
}

/// A patch in a block; one that names no file belongs to the file that the words before it name.
fn patched(body: &str, block: &FencedBlock<'_>, before: &str) -> Option<Vec<UnfittedCall>> {
    let call = |text: String| {
        let parsed = patch::parse(&text).ok().filter(|patch| !patch.files.is_empty());
        parsed.map(|_| {
            vec![UnfittedCall { name: "apply_patch".to_owned(), arguments: json!({ "patch": text }) }]
        })
    };
    if let Some(calls) = call(body.to_owned()) {
        return Some(calls);
    }
    let named = block_path::of(block, before)?;
    let lines = &body[named.skip..];
    let signed = lines.lines().any(|line| line.starts_with(['+', '-']));
    signed.then(|| {
        call(format!("*** Begin Patch\n*** Update File: {}\n{lines}\n*** End Patch\n", named.path))
    })?
}

/// A patch that stands among the words.
fn unfenced(text: &str) -> Option<(Vec<UnfittedCall>, String)> {
    let begin = text.find("*** Begin Patch");
    let diff = || {
        let at = |mark: &str| text.find(&format!("\n{mark}")).map(|at| at + 1);
        let starts = if starts_diff(text) { Some(0) } else { None };
        let found = starts.or_else(|| at("diff --git ")).or_else(|| at("--- a/")).or_else(|| at("--- "));
        found.filter(|found| text[*found..].contains("\n+++ ") && text[*found..].contains("\n@@"))
    };
    let from = begin.or_else(diff)?;
    let end = "*** End Patch";
    let to = text[from..].find(end).map_or(text.len(), |at| from + at + end.len());
    // One that was begun like this and is not ended may be half of one.
    if begin.is_some() && to == text.len() && !text.trim_end().ends_with(end) {
        return None;
    }
    let body = &text[from..to];
    patch::parse(body).ok().filter(|patch| !patch.files.is_empty())?;
    let call = UnfittedCall { name: "apply_patch".to_owned(), arguments: json!({ "patch": body }) };
    Some((vec![call], format!("{}{}", &text[..from], &text[to..])))
}

/// Whole lines for others, wherever they are.
fn replaced(path: &str, old: &str, new: &str) -> UnfittedCall {
    let signed =
        |sign: char, text: &str| text.lines().map(|line| format!("{sign}{line}\n")).collect::<String>();
    let patch = format!(
        "*** Begin Patch\n*** Update File: {path}\n@@\n{}{}*** End Patch\n",
        signed('-', old),
        signed('+', new)
    );
    UnfittedCall { name: "apply_patch".to_owned(), arguments: json!({ "patch": patch }) }
}

/// Files between tags with their path.
fn tagged(text: &str) -> Option<(Vec<UnfittedCall>, String)> {
    let mut calls = Vec::new();
    let mut words = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("<file path=") {
        words.push_str(&rest[..at]);
        let (path, body) = rest[at + "<file path=".len()..].split_once('>')?;
        let (content, after) = body.split_once("</file>")?;
        let path = path.trim().trim_matches(['"', '\'']);
        if !block_path::is_path(path) || block_path::leaves_out(content) {
            return None;
        }
        calls.push(written(path, content.strip_prefix('\n').unwrap_or(content)));
        rest = after;
    }
    words.push_str(rest);
    (!calls.is_empty()).then_some((calls, words))
}

/// A patch or passages that are the argument of a call.
pub(super) fn in_argument(text: &str, path: Option<&str>, offered: &[ToolSpec]) -> Option<Vec<UnfittedCall>> {
    if !offered.iter().any(|tool| tool.name == "apply_patch") {
        return None;
    }
    let mut path = path.map(str::to_owned);
    if let Some((calls, _)) = passages(text, "", &mut path) {
        return Some(calls);
    }
    patch::parse(text).ok().filter(|patch| !patch.files.is_empty())?;
    Some(vec![UnfittedCall { name: "apply_patch".to_owned(), arguments: json!({ "patch": text }) }])
}

/// Passages and what replaces them, between lines of `<<<<<<<`, `=======` and `>>>>>>>`.
fn passages(text: &str, before: &str, last_path: &mut Option<String>) -> Option<(Vec<UnfittedCall>, String)> {
    if !text.lines().any(opens) {
        return None;
    }
    let mut calls = Vec::new();
    let mut words = String::new();
    let (mut old, mut new): (Option<String>, Option<String>) = (None, None);
    let mut above = before.trim_end().rsplit('\n').next().unwrap_or_default().to_owned();
    let from_info = before.rsplit('\n').next().unwrap_or_default();
    if let Some(path) = above_path(&above)
        .or_else(|| above_path(from_info))
        .or_else(|| before.trim_end().rsplit('\n').find(|line| !line.trim().is_empty()).and_then(above_path))
    {
        *last_path = Some(path);
    } else if let Some(path) =
        before.trim_end().rsplit('\n').filter(|line| !line.trim().is_empty()).take(2).find_map(above_path)
    {
        *last_path = Some(path);
    }
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end();
        match (&mut old, &mut new) {
            (None, _) if opens(bare) => {
                if let Some(path) = above_path(&above) {
                    *last_path = Some(path);
                }
                old = Some(String::new());
            }
            (None, _) => {
                if !bare.trim().is_empty() && !bare.trim_start().starts_with("```") {
                    above = bare.to_owned();
                }
                words.push_str(line);
            }
            (Some(_), None) if is_row(bare, '=') => new = Some(String::new()),
            (Some(old), None) => old.push_str(line),
            (Some(_), Some(_)) if closes(bare) => {
                let (old, new) = (old.take()?, new.take()?);
                let path = last_path.clone()?;
                calls.push(match old.trim().is_empty() {
                    true => written(&path, &new),
                    false => replaced(&path, &old, &new),
                });
                above.clear();
            }
            (Some(_), Some(new)) => new.push_str(line),
        }
    }
    // What was begun and not ended is half of something.
    (old.is_none() && !calls.is_empty()).then_some((calls, words))
}

fn above_path(line: &str) -> Option<String> {
    block_path::alone(line).or_else(|| {
        let ticked: Vec<&str> =
            line.split('`').skip(1).step_by(2).filter(|word| block_path::is_path(word)).collect();
        match ticked.as_slice() {
            [only] => Some((*only).to_owned()),
            _ => {
                let words: Vec<&str> =
                    line.split([' ', ':', '=', '"']).filter(|word| block_path::is_path(word)).collect();
                match words.as_slice() {
                    [only] => Some((*only).to_owned()),
                    _ => None,
                }
            }
        }
    })
}

fn is_row(line: &str, sign: char) -> bool {
    let line = line.trim();
    line.len() >= 5 && line.chars().all(|c| c == sign)
}

fn opens(line: &str) -> bool {
    let line = line.trim();
    let rest = line.trim_start_matches('<');
    let word = rest.trim().trim_end_matches('>').to_ascii_uppercase();
    line.len() - rest.len() >= 5
        && ["SEARCH", "ORIGINAL", "HEAD", "OLD", "BEFORE", ""].contains(&word.as_str())
}

fn closes(line: &str) -> bool {
    let line = line.trim();
    let rest = line.trim_start_matches('>');
    let word = rest.trim().to_ascii_uppercase();
    let angles = line.len() - rest.len() >= 5 && word.chars().all(|c| c.is_ascii_alphabetic());
    angles || line.strip_prefix("+++++++").is_some_and(|rest| rest.trim_matches('+').trim() == "REPLACE")
}
