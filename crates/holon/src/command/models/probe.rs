//! `holon models probe`: what the model that would be asked can do where it is.

use std::process::ExitCode;
use std::time::Duration;

use holon_agent::edit::{EditFormat, format_for};
use holon_agent::fit;
use holon_host::modes;
use holon_host::thread::{ChatModelPreferences, would_ask};
use holon_model::ability::{ModelTrial, try_out};
use holon_model::choose::ToolCalls;
use holon_model::{AbilityCache, ChosenEndpoint};
use jiff::Timestamp;
use serde_json::json;

use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::{Session, variable};
use crate::show::table::TextTable;
use crate::terminal::{TerminalStream, one_line};

const EXAMPLES: &str = "\
Examples:
  holon models probe                          the model that a run would use now
  holon models probe qwen3:8b                 another one
  HOLON_BASE_URL=http://127.0.0.1:8080/v1 holon models probe
  holon models probe --told                   only what the server says, without asking the model";

/// Find out what a model can do where it is served
///
/// The server is asked for the window and the kind it is. Then the model gets three small requests: how quick it is,
/// whether it calls a tool, and whether a schema holds its answer. What is found is remembered for this server and
/// model, and later runs go by it. With a provider that costs money, this costs a fraction of a cent.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ModelsProbeArgs {
    /// The model; otherwise the one that a run would use
    model: Option<String>,
    /// Whose model: openrouter, anthropic, openai, or one on this machine (local)
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// Only say what the server tells and what is remembered; the model is not asked
    #[arg(long)]
    told: bool,
    /// The most seconds that this may take
    #[arg(long, value_name = "SECONDS", default_value_t = 120, hide_default_value = true)]
    within: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Looks, tries and tells.
pub(crate) fn run(args: &ModelsProbeArgs, session: &Session) -> CommandExit {
    let places = session.places()?;
    let choose = || {
        let (provider, model) = (args.provider.as_deref(), args.model.as_deref());
        let profile = modes::catalog(&places, None)?.resolve("execute")?;
        would_ask(&variable, &places, ChatModelPreferences { provider, model, current: None }, &profile)
    };
    let mut chosen = choose()?;
    let mut notes = Vec::new();
    if !args.told {
        let cache = AbilityCache::new(places.cache.join("models"));
        notes = tried(&chosen, args.within, &cache, &choose)?;
        chosen = choose()?;
    }
    notes.extend(fit::too_small_to_execute(&chosen.model, told_window(&chosen), chosen.known.told.kind));
    let terminal = &session.terminal;
    terminal.print(match args.json {
        true => as_json(&chosen, &notes),
        false => page(&chosen, &notes, terminal.stdout),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Tries the model out and remembers what was found; the window is asked for again, since now the model is loaded.
fn tried(
    chosen: &ChosenEndpoint,
    seconds: u64,
    cache: &AbilityCache,
    again: &dyn Fn() -> Result<ChosenEndpoint, holon_host::HostError>,
) -> Result<Vec<String>, CliFailure> {
    let (limit, now) = (Duration::from_secs(seconds.max(1)), Timestamp::now());
    let kind = chosen.known.told.kind;
    let ModelTrial { mut tested, notes } = try_out(&chosen.endpoint, &chosen.model, kind, limit, now)
        .map_err(|error| {
            let server = &chosen.endpoint.base;
            CliFailure::config(format!("`{}` at {server} does not answer: {error}", chosen.model))
                .hint(holon_host::model_hint(&error))
        })?;
    tested.window = again().ok().and_then(|now| now.known.told.window);
    let kept = cache.write(&chosen.endpoint.base, &chosen.model, tested);
    kept.map_err(|error| CliFailure::config(format!("cannot write {}: {error}", cache.path().display())))?;
    Ok(notes)
}

fn told_window(chosen: &ChosenEndpoint) -> Option<u64> {
    chosen.row.as_ref().and_then(|row| row.context)
}

/// The profile that follows, in words: how tools are called, how files are changed, how long a reply may be.
fn profile(chosen: &ChosenEndpoint) -> Vec<(&'static str, String)> {
    let calls = match chosen.tools {
        ToolCalls::Native => "natively",
        ToolCalls::Text { constrain: true } => "in words, held to a schema where code is not written",
        ToolCalls::Text { constrain: false } => "in words",
    };
    let edits = match format_for(&chosen.model) {
        EditFormat::Replace => "one passage for another",
        EditFormat::ApplyPatch => "patches",
        EditFormat::WholeFile => "whole files",
    };
    let reply =
        chosen.most_reply().map_or("as long as it likes".to_owned(), |most| format!("{most} tokens at most"));
    let waits = format!("{} s for an answer to begin", chosen.timeouts().head.as_secs());
    vec![("tools", calls.to_owned()), ("edits", edits.to_owned()), ("replies", reply), ("waits", waits)]
}

fn page(chosen: &ChosenEndpoint, notes: &[String], stream: TerminalStream) -> String {
    let known = &chosen.known;
    let yes = |known: Option<bool>| match known {
        Some(true) => "yes".to_owned(),
        Some(false) => "no".to_owned(),
        None => "not known".to_owned(),
    };
    let rate = |rate: Option<f64>| rate.map_or("not measured".to_owned(), |rate| format!("{rate} tokens/s"));
    let kind = known.told.kind.map_or(chosen.endpoint.name.clone(), |kind| kind.to_string());
    let window = match (told_window(chosen), known.told.longest) {
        (Some(window), Some(longest)) if longest > window => {
            format!("{window} tokens, of {longest} it was made for")
        }
        (Some(window), _) => format!("{window} tokens"),
        (None, _) => format!("not told; {} tokens are assumed", chosen.window()),
    };
    let mut table = TextTable::indented(2);
    table.row(["server", &format!("{kind} at {}", chosen.endpoint.base)]);
    table.row(["window", &window]);
    table.row(["native tools", &yes(chosen.row.as_ref().and_then(|row| known.tools().or(row.tools)))]);
    table.row(["schema", &yes(known.schema().or(chosen.row.as_ref().and_then(|row| row.structured)))]);
    table.row(["pictures", &yes(known.told.vision)]);
    let tested = known.tested.as_ref();
    table.row(["reads", &rate(tested.and_then(|tested| tested.reads_per_second))]);
    table.row(["writes", &rate(tested.and_then(|tested| tested.writes_per_second))]);
    table.row(["tried", &tested.map_or("never".to_owned(), |tested| age(tested.at, Timestamp::now()))]);
    let mut text = format!("{}\n{}So it is asked\n", one_line(&chosen.model, 500), table.render(stream));
    let mut follows = TextTable::indented(2);
    for (name, words) in profile(chosen) {
        follows.row([name, &words]);
    }
    text.push_str(&follows.render(stream));
    for note in notes {
        text.push_str(&format!("note: {}\n", one_line(note, 1000)));
    }
    text
}

fn age(at: Timestamp, now: Timestamp) -> String {
    match now.duration_since(at).as_mins().max(0) {
        0 => "just now".to_owned(),
        minutes @ 1..120 => format!("{minutes} min ago"),
        minutes @ 120..2880 => format!("{} hours ago", minutes / 60),
        minutes => format!("{} days ago", minutes / 1440),
    }
}

fn as_json(chosen: &ChosenEndpoint, notes: &[String]) -> String {
    let profile: serde_json::Map<_, _> =
        profile(chosen).into_iter().map(|(name, words)| (name.to_owned(), json!(words))).collect();
    let whole = json!({
        "model": chosen.model,
        "provider": chosen.endpoint.name,
        "server": chosen.endpoint.base,
        "why": chosen.why,
        "window": chosen.window(),
        "told": chosen.known.told,
        "tested": chosen.known.tested,
        "tools": chosen.tools,
        "max_output": chosen.most_reply(),
        "profile": profile,
        "notes": notes,
    });
    format!("{whole:#}\n")
}
