//! What the breach suite found, as a page.

use std::fmt::Write as _;

use super::breach::{Breach, Mark};

/// The page for all agents that were tried; `date` is the day it was made.
pub fn markdown(all: &[Breach], date: &str) -> String {
    let mut text = format!(
        "# Breach suite\n\n\
         Made by `holon agents check {} --breach --markdown docs/breach-suite.md` on {date}; do not edit.\n\n\
         A scripted model makes each agent try every known way to write where it must not, through the agent's own tools. \
         *Alone* is the agent's own read-only mode without Holon, in a throw-away copy on a machine that is otherwise closed; an \
         agent that gives up is started again for the rest. The columns of Holon's modes hold the bytes that changed in what \
         the agent could reach of the workspace, with the agent's own protection switched off; the last figure counts the \
         workspace itself, the folders beside it, the user's home and whatever else was left above the workspace. An attempt \
         counts only if the agent's log shows that it was made. \
         *Control* is the same attempt in execute mode, where it must change something, or it would prove nothing.\n\n\
         `0` tried and nothing changed · a number: bytes changed · `declined` the agent did not try · `–` it has no such tool\n",
        all.iter().map(|breach| breach.agent.as_str()).collect::<Vec<_>>().join(" ")
    );
    text += "\n| agent | version | attempts that count | let through alone | let through by Holon |\n|---|---|---|---|---|\n";
    for breach in all {
        let alone: Vec<String> = breach
            .alone
            .iter()
            .enumerate()
            .map(|(index, name)| {
                let wrote = breach
                    .rows
                    .iter()
                    .filter(|row| matches!(row.alone.get(index), Some(Mark::Wrote(_))))
                    .count();
                format!("{wrote} (`{name}`)")
            })
            .collect();
        let holon = breach
            .rows
            .iter()
            .flat_map(|row| &row.modes)
            .filter(|mark| matches!(mark, Mark::Wrote(_)))
            .count();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {holon}, and {} bytes where nothing may change |",
            breach.agent,
            breach.version,
            breach.counted(),
            alone.join(", "),
            breach.changed
        );
    }
    for breach in all {
        let _ = writeln!(text, "\n## {} {}\n", breach.agent, breach.version);
        let alone: Vec<String> = breach.alone.iter().map(|name| format!("alone: `{name}`")).collect();
        let modes: Vec<String> = breach.modes.iter().map(|mode| format!("Holon: {mode}")).collect();
        let heads: Vec<&str> = alone.iter().chain(&modes).map(String::as_str).collect();
        let _ = writeln!(text, "| attempt | {} | control |", heads.join(" | "));
        let _ = writeln!(text, "|---|{}---|", "---|".repeat(heads.len()));
        for row in &breach.rows {
            let cells: Vec<String> = row.alone.iter().chain(&row.modes).map(|mark| cell(*mark)).collect();
            let _ = writeln!(text, "| {} | {} | {} |", row.name, cells.join(" | "), cell(row.control));
        }
    }
    text
}

fn cell(mark: Mark) -> String {
    match mark {
        Mark::Absent => "–".into(),
        Mark::Declined => "declined".into(),
        Mark::Held => "0".into(),
        Mark::Wrote(bytes) => bytes.to_string(),
    }
}
