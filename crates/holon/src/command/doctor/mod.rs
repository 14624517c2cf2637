//! `holon doctor`: what this machine can enforce, why not more, and how to get it.

mod findings;
mod pause;

use std::process::ExitCode;

use findings::{DoctorFindings, IsolationLevelRow};
use serde_json::json;

use crate::CommandExit;
use crate::session::Session;
use crate::show::amount;
use crate::show::credential;
use crate::show::table::TextTable;
use crate::terminal::{TerminalStream, TextStyle, visible};

/// Say what this machine can enforce, and how to get more
///
/// Every kind of wall is built once around a short run that tries to get out, so the answers are what would really happen.
/// Containers are only tried with --probe. Exit code 1 means that no run could start here.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Also start a container, and list every attempt to get out
    #[arg(long)]
    probe: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Looks and tells.
pub(crate) fn run(args: &DoctorArgs, session: &Session) -> CommandExit {
    let found = DoctorFindings::look(session, args.probe)?;
    let terminal = &session.terminal;
    terminal.print(if args.json { as_json(&found) } else { page(&found, args.probe, terminal.stdout) })?;
    let walls = found.rungs.iter().any(|rung| rung.level.is_some() || rung.untried);
    let usable = walls && found.git.is_ok() && found.state.is_ok();
    Ok(if usable { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn page(found: &DoctorFindings, probe: bool, stream: TerminalStream) -> String {
    let head = |name: &str| format!("\n{}\n", stream.paint(TextStyle::Bold, name));
    let mut text = format!("{}\n", stream.paint(TextStyle::Bold, "Walls, strongest first"));
    text.push_str(&isolation_levels(&found.rungs, stream));
    if probe {
        text.push_str(&head("Attempts to get out"));
        text.push_str(&attempts(&found.rungs, stream));
    }

    text.push_str(&head("Layers of the native walls"));
    let mut layers = TextTable::indented(2);
    match &found.held {
        Some(held) => {
            layers.row(["hold", &held.there.join(", ")]);
            if !held.missing.is_empty() {
                layers.row(["missing", &held.missing.join(", ")]);
            }
            layers.row(["processes", held.processes.as_deref().unwrap_or("not limited")]);
            layers.row(["memory", held.memory.as_deref().unwrap_or("not limited")]);
        }
        None => layers.row(["hold", "nothing: native walls are refused here, see above"]),
    }
    text.push_str(&layers.render(stream));

    text.push_str(&head("Copies of the workspace"));
    let mut copies = TextTable::indented(2);
    let overlay = match &found.overlay {
        Ok(()) => {
            "works in the state folder's filesystem: starting a run costs the same for any size".to_owned()
        }
        Err(why) => format!("refused ({why}); workspaces are copied instead"),
    };
    copies.row(["overlay", &overlay]);
    copies.row(["copy", "always works; shares blocks where the filesystem can (reflink)"]);
    text.push_str(&copies.render(stream));

    text.push_str(&head("Surroundings"));
    let mut rest = TextTable::indented(2);
    let git = match &found.git {
        Ok(git) => format!("{} ({})", git.version, git.path),
        Err(why) => why.clone(),
    };
    rest.row(["git", &git]);
    rest.row([
        "disk",
        &found.free.map_or("unknown".into(), |free| format!("{} free for runs", amount::bytes(free))),
    ]);
    for (name, folder) in &found.folders {
        rest.row([name, folder]);
    }
    rest.row(["model", &found.model]);
    if let Err(why) = &found.state {
        rest.row(["runs", &format!("cannot be kept ({why}); set XDG_STATE_HOME to a folder you can write")]);
    }
    text.push_str(&rest.render(stream));

    text.push('\n');
    text.push_str(&credential::section(&found.credentials, stream));

    if !found.advice.is_empty() {
        text.push_str(&head("Good to know"));
        let mut list = TextTable::indented(2);
        for advice in &found.advice {
            list.row(["-", advice]);
        }
        text.push_str(&list.render(stream));
    }
    text
}

fn isolation_levels(rungs: &[IsolationLevelRow], stream: TerminalStream) -> String {
    let mut table = TextTable::indented(2);
    for rung in rungs {
        let without = if rung.untried { "perhaps" } else { "no" };
        let answer = rung.level.map_or(without.to_owned(), |level| format!("yes, level {level}"));
        table.row([rung.name, &answer, &rung.note]);
    }
    let mut text = table.render(stream);
    for rung in rungs {
        if let Some(remedy) = &rung.remedy {
            text.push_str(&format!("  to get {}: {}\n", rung.name, visible(remedy)));
        }
        if !rung.open.is_empty() {
            text.push_str(&format!("  {} leaves open: {}\n", rung.name, rung.open.join("; ")));
        }
    }
    text
}

/// What got through is named one by one; what did not is counted.
fn attempts(rungs: &[IsolationLevelRow], stream: TerminalStream) -> String {
    let mut table = TextTable::indented(2);
    for rung in rungs.iter().filter(|rung| !rung.attempts.is_empty()) {
        let through: Vec<_> = rung.attempts.iter().filter(|attempt| !attempt.held).collect();
        let held = rung.attempts.len() - through.len();
        let named: Vec<_> = through.iter().map(|attempt| attempt.means).collect();
        let open = if named.is_empty() { "nothing got through".to_owned() } else { named.join("; ") };
        table.row([rung.name, &format!("{held} of {} held", rung.attempts.len()), &open]);
    }
    table.render(stream)
}

fn as_json(found: &DoctorFindings) -> String {
    let rungs: Vec<_> = found
        .rungs
        .iter()
        .map(|r| {
            let attempts: Vec<_> =
                r.attempts.iter().map(|a| json!({ "id": a.id, "held": a.held, "means": a.means })).collect();
            json!({
                "name": r.name,
                "level": r.level,
                "tried": !r.untried,
                "note": r.note,
                "remedy": r.remedy,
                "open": r.open,
                "attempts": attempts,
            })
        })
        .collect();
    let held = found.held.as_ref().map(|held| {
        json!({
            "held": held.there,
            "missing": held.missing,
            "processes": held.processes,
            "memory": held.memory,
        })
    });
    let git = match &found.git {
        Ok(git) => json!({ "version": git.version, "path": git.path }),
        Err(why) => json!({ "error": why }),
    };
    let folders: serde_json::Map<_, _> =
        found.folders.iter().map(|(name, folder)| ((*name).to_owned(), json!(folder))).collect();
    let whole = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "walls": rungs,
        "native": held,
        "overlay": { "works": found.overlay.is_ok(), "why": found.overlay.as_ref().err() },
        "git": git,
        "free_bytes": found.free,
        "folders": folders,
        "state": { "works": found.state.is_ok(), "why": found.state.as_ref().err() },
        "model": found.model,
        "credentials": found.credentials,
        "advice": found.advice,
    });
    format!("{whole:#}\n")
}
