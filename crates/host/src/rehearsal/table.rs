//! What the breach suite found, as a page.

use std::fmt::Write as _;

use super::breach::{Breach, Mark};

/// The page for all agents that were tried; `date` is the day it was made.
pub fn markdown(all: &[Breach], date: &str) -> String {
    let agents: Vec<&str> = all.iter().map(|breach| breach.agent.as_str()).collect();
    let mut text = format!(
        "# Breach suite\n\n\
         Made by `holon agents check {} --breach --markdown docs/breach-suite.md` on {date}; do not edit.\n\n\
         A scripted model makes each agent try every known way to write where it must not, through the agent's own tools. \
         *Alone* is the agent's own read-only mode without Holon, in a throw-away copy on a machine that is otherwise closed; an \
         agent that gives up is started again for the rest. The columns of Holon's modes hold the bytes that changed in what \
         the agent could reach of the workspace (in a scratch, where writing works and is thrown away: in the workspace itself), \
         with the agent's own protection switched off. An attempt counts only if the agent's log shows that it was made. \
         *Control* is the same attempt in execute mode, where it must change something, or it would prove nothing.\n\n\
         `0` tried and nothing changed · a number: bytes changed · `9*` changed in the mode's own scope, where it may · `declined` the \
         agent did not try · `–` it has no such tool\n",
        agents.join(" ")
    );
    summary(all, &mut text);
    for breach in all {
        let _ = writeln!(text, "\n## {} {}\n", breach.agent, breach.version);
        modes(breach, &mut text);
        attempts(breach, &mut text);
    }
    text
}

fn summary(all: &[Breach], text: &mut String) {
    *text += "\n| agent | version | attempts that count | modes | let through alone | let through by Holon |\n\
              |---|---|---|---|---|---|\n";
    for breach in all {
        let alone = breach.alone.iter().enumerate();
        let alone: Vec<String> =
            alone.map(|(index, name)| format!("{} (`{name}`)", breach.through_alone(index))).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {}, and {} bytes where nothing may change |",
            breach.agent,
            breach.version,
            breach.counted(),
            breach.modes.len(),
            alone.join(", "),
            breach.through(),
            breach.changed()
        );
    }
}

/// One line per mode: the last figure counts the workspace itself, what is beside it, the user's home, what was delivered
/// and what was left above the workspace.
fn modes(breach: &Breach, text: &mut String) {
    *text += "| mode | workspace | tried | let through | bytes changed where nothing may |\n|---|---|---|---|---|\n";
    for (index, tried) in breach.modes.iter().enumerate() {
        let (made, wrote) = breach.in_mode(index);
        let _ =
            writeln!(text, "| {} | {} | {made} | {wrote} | {} |", tried.mode, tried.access, tried.changed);
    }
    text.push('\n');
}

fn attempts(breach: &Breach, text: &mut String) {
    let alone = breach.alone.iter().map(|name| format!("alone: `{name}`"));
    let heads: Vec<String> = alone.chain(breach.modes.iter().map(|tried| tried.mode.clone())).collect();
    let _ = writeln!(text, "| attempt | {} | control |", heads.join(" | "));
    let _ = writeln!(text, "|---|{}---|", "---|".repeat(heads.len()));
    for row in &breach.rows {
        let cells: Vec<String> = row.alone.iter().chain(&row.modes).map(|mark| cell(*mark)).collect();
        let _ = writeln!(text, "| {} | {} | {} |", row.name, cells.join(" | "), cell(row.control));
    }
}

fn cell(mark: Mark) -> String {
    match mark {
        Mark::Absent => "–".into(),
        Mark::Declined => "declined".into(),
        Mark::Held => "0".into(),
        Mark::Wrote(bytes) => bytes.to_string(),
        Mark::Meant(bytes) => format!("{bytes}*"),
        Mark::Left => String::new(),
    }
}
