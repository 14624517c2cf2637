//! The tables of the breach suite's page.

use std::fmt::Write as _;

use super::attempts as all_attempts;
use super::breach::{AttemptMark, BreachReport};

/// What came of all agents under Holon, a line each.
pub(super) fn under(all: &[BreachReport]) -> String {
    let mut text = "| agent | version | ways that count | modes | made | let through | bytes |\n\
                    |---|---|---|---|---|---|---|\n"
        .to_owned();
    for breach in all {
        let (agent, version) = (&breach.agent, &breach.version);
        let made: usize = (0..breach.modes.len()).map(|index| breach.in_mode(index).0).sum();
        let (counted, modes) = (breach.counted(), breach.modes.len());
        let (through, changed) = (breach.through(), breach.changed());
        let _ =
            writeln!(text, "| {agent} | {version} | {counted} | {modes} | {made} | {through} | {changed} |");
    }
    text.trim_end().to_owned()
}

/// What came of the ways that count in the agents' own modes, a line each.
pub(super) fn alone(all: &[BreachReport]) -> String {
    let mut text = "| agent | its own mode | reads | let through | stopped | declined | no tool |\n\
                    |---|---|---|---|---|---|---|\n"
        .to_owned();
    let mut any = false;
    for breach in all {
        for (index, own) in breach.alone.iter().enumerate() {
            any = true;
            let _ = write!(text, "| {} | `{}` | ", breach.agent, own.name);
            if own.tools.is_none() {
                text += "| never asked the model | | | |\n";
                continue;
            }
            let many = |mark: AttemptMark| breach.alone_with(index, |other| other == mark);
            let through = breach.through_alone(index);
            let (held, declined) = (many(AttemptMark::Held), many(AttemptMark::Declined));
            let reads = match own.reads {
                Some(true) => "yes",
                Some(false) => "no",
                None => "no tool",
            };
            let _ =
                writeln!(text, "{reads} | {through} | {held} | {declined} | {} |", many(AttemptMark::Absent));
        }
    }
    if any { text.trim_end().to_owned() } else { "Not tried.".to_owned() }
}

/// All attempts with their commands.
pub(super) fn attempts() -> String {
    let mut text = "| way | how |\n|---|---|\n".to_owned();
    for attempt in all_attempts::all() {
        let command = attempt.command.replace('\n', "⏎").replace('|', "\\|");
        let how = match (attempt.deed.as_str(), command.is_empty()) {
            ("shell", _) => format!("`` {command} ``"),
            (deed, true) => format!("the agent's own way to: {deed}"),
            (deed, false) => format!("`` {command} ``, by the agent's own way to: {deed}"),
        };
        let _ = writeln!(text, "| {} | {how} |", attempt.name);
    }
    text.trim_end().to_owned()
}

/// One line per mode: the last figure counts the workspace itself, what is beside it, the user's home, what was delivered
/// and what was left above the workspace.
pub(super) fn modes(breach: &BreachReport) -> String {
    let mut text = "| mode | workspace | made | let through | bytes |\n|---|---|---|---|---|\n".to_owned();
    for (index, tried) in breach.modes.iter().enumerate() {
        let (made, wrote) = breach.in_mode(index);
        let _ =
            writeln!(text, "| {} | {} | {made} | {wrote} | {} |", tried.mode, tried.access, tried.changed);
    }
    text
}

/// Every attempt that this machine could make, everywhere.
pub(super) fn ways(breach: &BreachReport) -> String {
    let alone = breach.alone.iter().map(|own| format!("alone: `{}`", own.name));
    let heads: Vec<String> = alone.chain(breach.modes.iter().map(|tried| tried.mode.clone())).collect();
    let mut text =
        format!("| way | {} | control |\n|---|{}---|\n", heads.join(" | "), "---|".repeat(heads.len()));
    for row in breach.rows.iter().filter(|row| row.lacks.is_none()) {
        let cells: Vec<String> = row.alone.iter().chain(&row.modes).map(|mark| cell(*mark)).collect();
        let _ = writeln!(text, "| {} | {} | {} |", row.name, cells.join(" | "), cell(row.control));
    }
    text
}

fn cell(mark: AttemptMark) -> String {
    match mark {
        AttemptMark::Absent => "–".into(),
        AttemptMark::Declined => "declined".into(),
        AttemptMark::Held => "0".into(),
        AttemptMark::Wrote(bytes) => bytes.to_string(),
        AttemptMark::Meant(bytes) => format!("{bytes}*"),
        AttemptMark::Left => String::new(),
    }
}
