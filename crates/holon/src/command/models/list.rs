//! `holon models list`: models in one line each.

use std::process::ExitCode;

use holon_model::catalogue::{DataPolicy, ModelRow};
use serde_json::{Value, json};

use super::figures::ModelSourceArgs;
use crate::CommandExit;
use crate::session::Session;
use crate::show::amount;
use crate::show::table::TextTable;

const EXAMPLES: &str = "\
Examples:
  holon models list                     the models of the provider you have a key for
  holon models list claude              those with `claude` in their name
  holon models list --provider local    the models of servers on this machine (Ollama, LM Studio, vLLM, llama.cpp)
  holon models list --refresh --json    OpenRouter's list as it is now, for a program

Prices are US dollars per million tokens of input and output; `~` marks figures that are approximate.";

/// List models, what they can do and what they cost
///
/// Works offline: without a network the last fetched list is shown, or a small table that comes with Holon. A line
/// on standard error says which, and how old its figures are.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ModelsListArgs {
    /// Only models with this in their name
    filter: Option<String>,
    #[command(flatten)]
    whose: ModelSourceArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the list.
pub(crate) fn run(args: &ModelsListArgs, session: &Session) -> CommandExit {
    let figures = args.whose.figures(session)?;
    let terminal = &session.terminal;
    let filter = args.filter.as_deref().unwrap_or_default().to_lowercase();
    let rows: Vec<&ModelRow> =
        figures.catalogue.rows.iter().filter(|row| row.id.to_lowercase().contains(&filter)).collect();
    if args.json {
        let mut whole = figures.as_json();
        whole.insert("models".to_owned(), json!(rows));
        terminal.print(format!("{:#}\n", Value::Object(whole)))?;
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() && figures.catalogue.rows.is_empty() {
        terminal.say(&format!("no models: nothing named {} answers on this machine", figures.provider));
    } else if rows.is_empty() {
        terminal.say(&format!(
            "none of {} has `{filter}` in its name",
            amount::count(figures.catalogue.rows.len() as u64, "model")
        ));
    } else {
        let mut table = TextTable::new(["MODEL", "TIER", "CONTEXT", "IN $/M", "OUT $/M", "CAN", "NOTE"]);
        for row in rows {
            let (input, output) = prices(row);
            let context = row.context.map_or("?".to_owned(), amount::tokens);
            table.row([
                &row.id,
                &row.tier.to_string(),
                &context,
                &input,
                &output,
                &abilities(row),
                &notes(row),
            ]);
        }
        terminal.print(table.render(terminal.stdout))?;
    }
    terminal.say(&figures.story());
    Ok(ExitCode::SUCCESS)
}

fn prices(row: &ModelRow) -> (String, String) {
    let mark = if row.approximate { "~" } else { "" };
    match row.prices {
        Some(prices) => {
            let show = |per_token: f64| format!("{mark}{:.2}", per_token * 1e6);
            (show(prices.input), show(prices.output))
        }
        None if row.data == DataPolicy::Local => ("-".to_owned(), "-".to_owned()),
        None => ("?".to_owned(), "?".to_owned()),
    }
}

fn abilities(row: &ModelRow) -> String {
    let known = [("tools", row.tools), ("reasoning", row.reasoning), ("schema", row.structured)];
    let can: Vec<&str> = known.iter().filter(|(_, can)| *can == Some(true)).map(|(name, _)| *name).collect();
    can.join(" ")
}

fn notes(row: &ModelRow) -> String {
    let mut notes = Vec::new();
    notes.extend((row.data == DataPolicy::Local).then(|| row.provider.clone()));
    let flags = [
        (row.router, "router"),
        (row.free, "free"),
        (row.moderated, "moderated"),
        (!row.text_output, "no text"),
        (row.data == DataPolicy::Local && row.tools == Some(false), "tools in words"),
    ];
    notes.extend(flags.iter().filter(|(set, _)| *set).map(|(_, name)| (*name).to_owned()));
    notes.join(", ")
}
