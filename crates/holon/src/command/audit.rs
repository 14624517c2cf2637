//! `holon audit`: the log of everything that was started, and of who overruled what.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holon_core::manifest::{AuditHead, Manifest};
use holon_flow::audit::{self, AuditTrail, AuditVerdict};
use serde_json::Value;

use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::show::table::TextTable;
use crate::terminal::{TextStyle, one_line};

/// The most characters of an entry's details in the list.
const WIDEST: usize = 100;
/// What needs no name to be understood.
const FIRST: [&str; 6] = ["mode", "decision", "outcome", "run_id", "because", "reason"];
/// What only programs follow.
const IDS: [&str; 3] = ["task_id", "request_id", "sealed_sha256"];

/// Look at the audit log and check that it is whole
#[derive(Debug, clap::Subcommand)]
#[command(
    after_help = "Examples:\n  holon audit list --last 10\n  holon audit verify\n  holon audit export audit.jsonl"
)]
pub(crate) enum AuditCommand {
    /// Show the entries, the newest last
    List {
        /// How many at most, counted from the newest
        #[arg(long, value_name = "COUNT", default_value_t = 50)]
        last: usize,
        /// As JSON lines
        #[arg(long)]
        json: bool,
    },
    /// Check every byte of it, against its own chain and against the heads in all manifests
    Verify {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Write the log, as it is, to a file or to standard output
    Export {
        /// The file; it must not exist
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

/// Carries the command out.
pub(crate) fn dispatch(command: AuditCommand, session: &Session) -> CommandExit {
    let places = session.places()?;
    let log = AuditTrail::of(&places.state);
    match command {
        AuditCommand::List { last, json } => list(&log, last, json, session),
        AuditCommand::Verify { json } => verify(&log, &places.state, json, session),
        AuditCommand::Export { file } => export(&log, file.as_deref(), session),
    }
}

fn list(log: &AuditTrail, last: usize, json: bool, session: &Session) -> CommandExit {
    let entries = audit::entries(log)?;
    let shown = &entries[entries.len().saturating_sub(last)..];
    let mut text = String::new();
    if json {
        for entry in shown {
            text.push_str(&serde_json::to_string(entry).unwrap_or_default());
            text.push('\n');
        }
    } else if entries.is_empty() {
        session.terminal.say("nothing is in the audit log yet; every run is written into it");
    } else {
        let mut table = TextTable::new(["#", "AT", "WHO", "WHAT", "ABOUT"]);
        for entry in shown {
            let note = &entry.note;
            let (at, what) = (moment(&note.at), &note.action);
            table.row([&entry.seq.to_string(), &at, &note.actor, what, &about(&note.detail)]);
        }
        text = table.render(session.terminal.stdout);
    }
    session.terminal.print(text)?;
    Ok(ExitCode::SUCCESS)
}

/// The details in words: what a person looks for first, then the rest with its names; ids and digests are for programs.
fn about(detail: &Value) -> String {
    let Some(fields) = detail.as_object() else { return one_line(&detail.to_string(), WIDEST) };
    let told = |name: &str| fields.get(name).map(word).filter(|text| !text.is_empty());
    let first = FIRST.iter().filter_map(|name| told(name));
    let named = fields.keys().filter(|name| !FIRST.contains(&name.as_str()) && !IDS.contains(&name.as_str()));
    let named = named.filter_map(|name| Some(format!("{} {}", name.replace('_', " "), told(name)?)));
    one_line(&first.chain(named).collect::<Vec<_>>().join(" · "), WIDEST)
}

/// A value as a person would say it; nothing says nothing.
fn word(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(word).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// A time as a person reads it; parts of a second matter to programs, which take --json.
fn moment(at: &str) -> String {
    let whole = at.split_once('.').map_or_else(|| at.trim_end_matches('Z'), |(whole, _)| whole);
    format!("{}Z", whole.replace('T', " "))
}

fn verify(log: &AuditTrail, state: &Path, json: bool, session: &Session) -> CommandExit {
    let heads = heads_below(state);
    let verdict = audit::verify(log, heads)?;
    let whole = matches!(verdict, AuditVerdict::Whole { .. });
    let text = if json {
        format!("{}\n", serde_json::to_string(&verdict).unwrap_or_default())
    } else {
        let out = session.terminal.stdout;
        match &verdict {
            AuditVerdict::Whole { length, heads, .. } => {
                let good = out.paint(TextStyle::Green, "whole");
                format!("{good}: {length} entries, {heads} heads written down elsewhere fit\n")
            }
            AuditVerdict::Broken { at, problem } => {
                format!("{}: entry {at}: {problem}\n", out.paint(TextStyle::Red, "broken"))
            }
        }
    };
    session.terminal.print(text)?;
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn export(log: &AuditTrail, file: Option<&Path>, session: &Session) -> CommandExit {
    let bytes = match fs::read(log.path()) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(CliFailure::io("read", log.path())(e)),
    };
    let Some(path) = file else {
        session.terminal.deliver(bytes)?;
        return Ok(ExitCode::SUCCESS);
    };
    if path.exists() {
        return Err(CliFailure::user(format!("{} exists", path.display()), "name a file that does not"));
    }
    fs::write(path, bytes).map_err(CliFailure::io("write", path))?;
    Ok(ExitCode::SUCCESS)
}

/// The heads in the manifests of all runs, those of children included.
fn heads_below(state: &Path) -> Vec<AuditHead> {
    let mut heads = Vec::new();
    let mut workspaces = vec![state.to_owned()];
    let list = |folder: &Path| -> Vec<PathBuf> {
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    while let Some(folder) = workspaces.pop() {
        for run in list(&folder).iter().flat_map(|workspace| list(&workspace.join("runs"))) {
            let read = fs::read(run.join("output/manifest.json")).ok();
            let manifest = read.and_then(|bytes| serde_json::from_slice::<Manifest>(&bytes).ok());
            heads.extend(manifest.and_then(|manifest| manifest.metadata.audit));
            workspaces.push(run.join("steps"));
        }
    }
    heads
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn times_look_alike_with_and_without_parts_of_a_second() {
        assert_eq!(moment("2026-11-16T08:16:53.123456Z"), "2026-11-16 08:16:53Z");
        assert_eq!(moment("2026-11-16T08:16:53Z"), "2026-11-16 08:16:53Z");
    }

    #[test]
    fn details_are_words() {
        let check = |detail: Value, expect: &str| assert_eq!(about(&detail), expect, "{detail}");
        check(
            json!({"mode": "code", "task_id": "t-1", "request_id": "r", "attempt": 2, "asked_by": null}),
            "code · attempt 2",
        );
        check(
            json!({"run_id": "2026-x", "reason": "a \"b\"\nc", "uid": 0, "terminal": null}),
            "2026-x · a \"b\" c · uid 0",
        );
        check(
            json!({"mode": "review", "outcome": "success", "asked_by": "orchestrate", "sealed_sha256": "ab"}),
            "review · success · asked by orchestrate",
        );
        check(
            json!({"run_id": "2026-x", "decision": "block", "because": ["sensitive", "whole_failed"], "of": []}),
            "block · 2026-x · sensitive, whole_failed",
        );
        check(json!("plain"), "\"plain\"");
        check(json!({}), "");
    }
}
