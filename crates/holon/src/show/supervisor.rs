//! The supervisor, for people: the plan as a drawing, where it stands, and every decision with its reason.

use std::fmt::Write as _;

use holon_host::insertions::Insertions;
use holon_host::recording::{
    GraphNode, NodeStatus, SupervisorRecording, TaskGraph, TimelineKind, TimelineRecord, WhatIf,
};
use serde_json::{Value, json};

use super::table::TextTable;
use crate::failure::CliFailure;
use crate::terminal::{Terminal, TerminalStream, TextStyle, one_line, visible};

/// Most lines of a timeline; the events have all of them.
const MOST: usize = 400;

/// Everything on one page.
pub(crate) fn page(recording: &SupervisorRecording, terminal: &Terminal) -> Result<String, CliFailure> {
    let stream = terminal.stdout;
    let state = recording.state()?;
    let (level, shadow) = recording.level();
    let mut text = stream.paint(TextStyle::Bold, &format!("supervisor {level}"));
    text.push_str(if shadow { ", as a shadow: nothing below was done\n" } else { "\n" });
    let mut table = TextTable::indented(2);
    table.row(["steps", &word(json!(state.mode()))]);
    table.row(["phase", &word(json!(state.phase()))]);
    table.row(["said", &word(json!(state.phase_state().stage()))]);
    for noticed in state.noticed() {
        table.row(["noticed", &noticed]);
    }
    table.row(["rounds", &state.round().to_string()]);
    table.row(["takeovers", &state.phase_state().takeovers().to_string()]);
    if let Some(stop) = state.stopped() {
        table.row(["stopped", &format!("{}: {}", word(json!(stop.kind)), one_line(&stop.reason, 160))]);
    }
    text.push_str(&table.render(stream));
    if let Some(graph) = state.graph() {
        text.push_str(&drawing(graph, stream));
    }
    if let Some(insertions) = recording.insertions() {
        text.push_str(&inserted(insertions, stream));
    }
    text.push_str(&format!("\n{}\n", stream.paint(TextStyle::Bold, "timeline")));
    text.push_str(&timeline(&recording.records(), stream));
    Ok(text)
}

/// The same for programs.
pub(crate) fn json(recording: &SupervisorRecording) -> String {
    let (level, shadow) = recording.level();
    let mut value = json!({"level": level, "shadow": shadow, "graph": recording.graph(), "timeline": recording.records()});
    if let Some(insertions) = recording.insertions() {
        value["foreign"] = json!(insertions);
    }
    format!("{value:#}\n")
}

/// What another level would have done.
pub(crate) fn what_if(
    recording: &SupervisorRecording,
    level: &str,
    checked: usize,
    found: &WhatIf,
    terminal: &Terminal,
) -> String {
    let stream = terminal.stdout;
    let (was, shadow) = recording.level();
    let beside = if shadow { " (as a shadow)" } else { "" };
    let mut text = format!("{checked} decisions of level {was}{beside} replay byte for byte\n");
    let head = format!("with level {level} and the same facts");
    let _ = writeln!(
        text,
        "{}: {} calls blocked, {} with a note, {} texts for the model",
        stream.paint(TextStyle::Bold, &head),
        found.blocked,
        found.warned,
        found.corrections
    );
    match &found.stop {
        Some((round, why)) => {
            let _ =
                writeln!(text, "it would have stopped in round {round}: {}", visible(&one_line(why, 200)));
        }
        None => text.push_str("it would not have stopped\n"),
    }
    text.push_str(&timeline(&found.records, stream));
    text
}

/// The plan: its main branch from top to bottom, the other ways beside it.
fn drawing(graph: &TaskGraph, stream: TerminalStream) -> String {
    let head = format!(
        "plan {} · {} · {}% · {}",
        graph.graph_id,
        graph.template,
        graph.progress(),
        word(json!(graph.status))
    );
    let mut text = format!("\n{}\n", stream.paint(TextStyle::Bold, &head));
    let branches = [&graph.main_branch].into_iter().chain(&graph.fallback_branches);
    for branch in branches {
        let here = branch.id == graph.cursor.branch_id;
        let name = if here { format!("{} (here)", branch.id) } else { branch.id.clone() };
        let _ =
            writeln!(text, "  {}", stream.paint(if here { TextStyle::Cyan } else { TextStyle::Dim }, &name));
        let last = branch.node_ids.len().saturating_sub(1);
        for (at, node) in branch.node_ids.iter().filter_map(|id| graph.nodes.get(id)).enumerate() {
            let line = if at == last { "└─" } else { "├─" };
            let _ =
                writeln!(text, "  {line} {}", step(node, here && node.id == graph.cursor.node_id, stream));
            for case in node.cases.iter().take(5) {
                let _ = writeln!(
                    text,
                    "  {}     {}",
                    if at == last { " " } else { "│" },
                    visible(&one_line(case, 100))
                );
            }
        }
    }
    text
}

/// What was put into the conversation of an agent that thinks inside, where, and what came after it.
fn inserted(insertions: &Insertions, stream: TerminalStream) -> String {
    let mut text = format!("\n{}\n", stream.paint(TextStyle::Bold, "put into the agent's conversation"));
    if insertions.inserted.is_empty() {
        text.push_str("  nothing\n");
        return text;
    }
    let mut table = TextTable::new(["NO", "ROUND", "WHERE", "AFTER", "TEXT"]);
    for one in &insertions.inserted {
        let after = one.after.map(|after| word(json!(after)).replace('_', " ")).unwrap_or_default();
        table.row([
            &one.number.to_string(),
            &one.round.to_string(),
            &one.place,
            &after,
            &one_line(&visible(&one.says), 100),
        ]);
    }
    text.push_str(&table.render(stream));
    if let Some(why) = &insertions.left_in_shadow {
        let _ = writeln!(text, "left in shadow from there on: {}", visible(&one_line(why, 160)));
    }
    text
}

/// A name as it is stored.
fn word(value: Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn step(node: &GraphNode, current: bool, stream: TerminalStream) -> String {
    let (mark, style) = match node.status {
        NodeStatus::Done => ("✓", TextStyle::Green),
        NodeStatus::Skipped => ("-", TextStyle::Dim),
        NodeStatus::Failed => ("✗", TextStyle::Red),
        NodeStatus::Running => ("▶", TextStyle::Yellow),
        NodeStatus::Pending => ("·", TextStyle::Dim),
    };
    let mut text = format!(
        "{} {} {}  {}",
        stream.paint(style, mark),
        node.id,
        node.kind.name(),
        visible(&one_line(&node.title, 90))
    );
    if !node.evidence.is_empty() {
        let ids: Vec<String> = node.evidence.iter().map(|entry| entry.0.to_string()).collect();
        text.push_str(&stream.paint(TextStyle::Dim, &format!("  [evidence {}]", ids.join(", "))));
    }
    if node.retries > 0 {
        text.push_str(&format!("  failed {} times", node.retries));
    }
    if current {
        text.push_str(&stream.paint(TextStyle::Cyan, "  ← here"));
    }
    text
}

/// One line per decision.
fn timeline(records: &[TimelineRecord], stream: TerminalStream) -> String {
    if records.is_empty() {
        return "  nothing had to be decided\n".to_owned();
    }
    let mut table = TextTable::new(["ROUND", "WHAT", "MODE", "PHASE", "WHY"]);
    for record in records.iter().take(MOST) {
        let round = record.round.to_string();
        let why = format!("{}{}", record.reason, detail(record));
        table.row([
            &round,
            &word(json!(record.event)),
            &word(json!(record.mode)),
            &word(json!(record.phase)),
            &one_line(&why, 140),
        ]);
    }
    let mut text = table.render(stream);
    if records.len() > MOST {
        let _ = writeln!(text, "… and {} more in events.jsonl", records.len() - MOST);
    }
    text
}

/// The one fact behind a decision that says most.
fn detail(record: &TimelineRecord) -> String {
    let text = |key: &str| record.payload.get(key).and_then(|value| value.as_str()).unwrap_or_default();
    match record.event {
        TimelineKind::Failure => format!(" {}", text("why")),
        TimelineKind::Drift => match (record.payload.get("value"), record.payload.get("threshold")) {
            (Some(value), Some(threshold)) => format!(" ({value} of {threshold})"),
            _ => String::new(),
        },
        TimelineKind::Switch => {
            let noticed = record.payload.get("noticed").and_then(|value| value.as_array());
            let words: Vec<&str> = noticed.into_iter().flatten().filter_map(|word| word.as_str()).collect();
            if words.is_empty() { String::new() } else { format!(" {}", words.join("; ")) }
        }
        TimelineKind::TaskGraphNode | TimelineKind::Rollback => {
            format!(" {} {}", text("node"), text("status"))
        }
        TimelineKind::Timeout => format!(" {}", text("reason")),
        TimelineKind::ShadowDiagnostic => format!(" {}", text("why")),
        _ => String::new(),
    }
}

/// What is worth a line while a run goes on: who leads, and that it ends.
pub(crate) fn line(record: &Value) -> Option<String> {
    let reason = record["reason"].as_str()?;
    match record["event"].as_str()? {
        "recover" if reason.starts_with("takeover:") => {
            Some(format!("the supervisor takes over ({})", &reason[9..]))
        }
        "handoff" if reason == "handoff:confirmed" => Some("the supervisor hands back".to_owned()),
        "timeout" => Some(format!("the supervisor stops the run ({reason})")),
        "switch" if reason.starts_with("notice:") || reason.starts_with("advice:") => {
            let noticed = record["payload"]["noticed"].as_array()?;
            let words: Vec<&str> = noticed.iter().filter_map(Value::as_str).collect();
            let does = if reason.starts_with("notice:") { "notices" } else { "advises" };
            Some(format!("the supervisor {does}: {}", words.join("; ")))
        }
        _ => None,
    }
}
