//! Commands that a reply shows instead of calling for them.

use serde_json::json;

use super::Call;
use super::block::{Block, Piece};
use super::edits::SHELLS;

/// Words with which somebody is told what they may do themselves.
const ADVICE: [&str; 37] = [
    "you can",
    "you could",
    "you should",
    "you may",
    "you might",
    "you'll",
    "you will",
    "your machine",
    "your terminal",
    "yourself",
    "if you",
    "to run",
    "to use",
    "to start",
    "to install",
    "to try",
    "usage",
    "for example",
    "e.g.",
    "they can",
    "users can",
    "please run",
    "sie können",
    "du kannst",
    "puedes",
    "vous pouvez",
    "вы можете",
    "можете",
    "你可以",
    "您可以",
    "请运行",
    "できます",
    "보세요",
    "하세요",
    "십시오",
    "してください",
    "يمكنك",
];

/// The commands, in order; nothing when there is none, or when they are advice or an account of what was done.
pub(super) fn shown(pieces: &[Piece<'_>]) -> Option<(Vec<Call>, String)> {
    let blocks: Vec<&Block<'_>> = pieces
        .iter()
        .filter_map(|piece| if let Piece::Block(block) = piece { Some(block) } else { None })
        .collect();
    let texts =
        || pieces.iter().filter_map(|piece| if let Piece::Text(text) = piece { Some(*text) } else { None });
    if blocks.is_empty()
        || !blocks.iter().all(|block| block.closed && SHELLS.contains(&block.label().as_str()))
    {
        return None;
    }
    let words: String = texts().collect::<Vec<_>>().join("\n");
    let lower = words.to_lowercase();
    if ADVICE.iter().any(|advice| lower.contains(advice)) || tells_of_the_past(&lower) || !acts(&lower) {
        return None;
    }
    let last = match pieces.last() {
        Some(Piece::Text(text)) => text.trim(),
        _ => "",
    };
    // Who goes on at length after a command does not wait for it.
    if last.chars().count() > 240 {
        return None;
    }
    let commands: Option<Vec<String>> = blocks.iter().map(|block| command(block.body)).collect();
    let calls = commands?.into_iter();
    let calls =
        calls.map(|command| Call { name: "execute".to_owned(), arguments: json!({ "command": command }) });
    Some((calls.collect(), words.trim().to_owned()))
}

/// Whether whoever says this means to do it now. Words of other languages than English are believed to.
fn acts(words: &str) -> bool {
    const NOW: [&str; 19] = [
        "let me",
        "creating",
        "i'll",
        "i will",
        "i'm going",
        "i am going",
        "let's",
        "running",
        "run the",
        "run ",
        "first",
        "now",
        "next",
        "start by",
        "check",
        "i need",
        "i want",
        "look",
        "verify",
    ];
    const STOP: [&str; 8] = ["?", "？", "never", "confirm", "careful", "next steps", "for you", "it with"];
    if STOP.iter().any(|stop| words.contains(stop)) {
        return false;
    }
    words.trim().is_empty() || !words.is_ascii() || NOW.iter().any(|now| words.contains(now))
}

/// Whether the words say that all of it is over.
fn tells_of_the_past(words: &str) -> bool {
    const PAST: [&str; 17] = [
        "i ran",
        "i have run",
        "i've run",
        "output was",
        "printed",
        "the result is",
        "here is the output",
        "all done",
        "the work is done",
        "is complete",
        "has been",
        "result of the call",
        "is ready",
        "i have ",
        "is set up",
        "已经完成",
        "fertig",
    ];
    PAST.iter().any(|past| words.contains(past))
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
