//! Commands that a reply shows instead of calling for them.

use holon_model::ToolSpec;
use serde_json::json;

use super::UnfittedCall;
use super::block::{FencedBlock, ReplySection};
use super::edits::SHELLS;
use super::words::{WORDS, says};

/// The commands, in order; nothing when there is none, or when they are advice or an account of what was done.
pub(super) fn shown(
    pieces: &[ReplySection<'_>],
    offered: &[ToolSpec],
) -> Option<(Vec<UnfittedCall>, String)> {
    let blocks: Vec<&FencedBlock<'_>> = pieces
        .iter()
        .filter_map(|piece| if let ReplySection::Block(block) = piece { Some(block) } else { None })
        .collect();
    let texts = || {
        pieces
            .iter()
            .filter_map(|piece| if let ReplySection::Text(text) = piece { Some(*text) } else { None })
    };
    if blocks.is_empty()
        || !blocks.iter().all(|block| block.closed && SHELLS.contains(&block.label().as_str()))
    {
        return None;
    }
    let words: String = texts().collect::<Vec<_>>().join("\n");
    let lower = words.to_lowercase();
    let known = &WORDS.commands;
    if says(&lower, &known.advice) || says(&lower, &known.past) || !acts(&lower) {
        return None;
    }
    let last = match pieces.last() {
        Some(ReplySection::Text(text)) => text.trim(),
        _ => "",
    };
    // Who goes on at length after a command does not wait for it.
    if last.chars().count() > 240 {
        return None;
    }
    let commands: Option<Vec<String>> = blocks.iter().map(|block| command(block.body)).collect();
    let calls = commands?.into_iter().map(|command| {
        named(&command, offered).unwrap_or_else(|| UnfittedCall {
            name: "execute".to_owned(),
            arguments: json!({ "command": command }),
        })
    });
    Some((calls.collect(), words.trim().to_owned()))
}

/// The call of a tool that is written like a command: its name, and the one thing it needs.
fn named(command: &str, offered: &[ToolSpec]) -> Option<UnfittedCall> {
    let (name, rest) = command.split_once(' ')?;
    let tool = offered.iter().find(|tool| tool.name == name)?;
    let [needed] = tool.schema["required"].as_array()?.as_slice() else { return None };
    let needed = needed.as_str()?;
    let plain = !rest.contains(['\n', '|', '&', ';', '<', '>', '$', '`', ' ']);
    let text = tool.schema["properties"][needed]["type"] == "string";
    (plain && text).then(|| UnfittedCall {
        name: name.to_owned(),
        arguments: json!({ needed: rest.trim_matches(['"', '\'']) }),
    })
}

/// Whether whoever says this means to do it now. Words of other languages than English are believed to.
fn acts(words: &str) -> bool {
    if says(words, &WORDS.commands.not_now) {
        return false;
    }
    words.trim().is_empty() || !words.is_ascii() || says(words, &WORDS.commands.now)
}

/// The command of a block; nothing when what it printed is there, too.
fn command(body: &str) -> Option<String> {
    let lines: Vec<&str> = body.lines().filter(|line| !line.trim().is_empty()).collect();
    let prompts = lines.iter().filter(|line| line.starts_with("$ ") || line.starts_with("% ")).count();
    if prompts == 0 {
        let text = body.trim();
        return (!text.is_empty() && !text.contains("<your") && !text.contains("path/to/"))
            .then(|| text.to_owned());
    }
    if prompts < lines.len() {
        return None;
    }
    Some(lines.iter().map(|line| line[2..].trim()).collect::<Vec<_>>().join("\n"))
}
