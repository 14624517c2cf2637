//! The threads there are.

use std::process::ExitCode;

use serde_json::Value;

use super::view::text;
use crate::CommandExit;
use crate::failure::CliFailure;
use crate::show::amount;
use crate::terminal::{Terminal, TextStyle, one_line};
use crate::threads::{ApiTrouble, ThreadsApi};

/// Threads that a list shows at most, and that are asked for at once.
const MOST: usize = 200;

/// Prints the threads, those about one folder only if it is named.
pub(super) fn run(api: &ThreadsApi, workspace: Option<&str>, json: bool, terminal: &Terminal) -> CommandExit {
    let mut out = String::new();
    for thread in of(api, workspace)? {
        if json {
            out.push_str(&format!("{thread}\n"));
        } else {
            out.push_str(&row(&thread, terminal));
        }
    }
    if out.is_empty() && !json {
        terminal.say("there are no threads yet: `holon chat` begins one");
    }
    terminal.print(out)?;
    Ok(ExitCode::SUCCESS)
}

/// The threads about a folder, the latest first.
pub(super) fn of(api: &ThreadsApi, workspace: Option<&str>) -> Result<Vec<Value>, ApiTrouble> {
    some(api, workspace, MOST)
}

/// So many of them, however many about other folders lie between.
fn some(api: &ThreadsApi, workspace: Option<&str>, most: usize) -> Result<Vec<Value>, ApiTrouble> {
    let about = |thread: &Value| workspace.is_none_or(|workspace| text(&thread["workspace"]) == workspace);
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let (threads, next) = api.threads(MOST, before.as_deref())?;
        found.extend(threads.into_iter().filter(about));
        found.truncate(most);
        if found.len() == most || next.is_none() {
            return Ok(found);
        }
        before = next;
    }
}

/// The latest thread about a folder.
pub(super) fn last(api: &ThreadsApi, workspace: &str) -> Result<String, CliFailure> {
    let threads = some(api, Some(workspace), 1)?;
    let last = threads.first().map(|thread| text(&thread["id"]).to_owned());
    last.ok_or_else(|| {
        CliFailure::user(format!("there is no thread about {workspace}"), "leave --thread out to begin one")
    })
}

/// A line for a person: name, state, what it is about, how long it is, where.
pub(super) fn row(thread: &Value, terminal: &Terminal) -> String {
    let title = thread["title"].as_str().unwrap_or("(no title)");
    let turns = amount::count(thread["turns_count"].as_u64().unwrap_or(0), "turn");
    let day = text(&thread["updated_at"]).get(..10).unwrap_or_default();
    let state = match text(&thread["state"]) {
        "idle" => String::new(),
        state => format!(" {}", terminal.stdout.paint(TextStyle::Yellow, state)),
    };
    let more = format!("{day}, {turns}, {}", one_line(text(&thread["workspace"]), 60));
    format!(
        "{}  {}{state}  {}\n",
        terminal.stdout.paint(TextStyle::Cyan, text(&thread["id"])),
        one_line(title, 60),
        terminal.stdout.paint(TextStyle::Dim, &more)
    )
}
