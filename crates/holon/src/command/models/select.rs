//! `holon models select`: which model would be chosen, and why.

use std::process::ExitCode;

use clap::ValueEnum;
use holon_model::catalogue::DataPolicy;
use holon_model::select::{
    Candidate, Constraints, Intent, ModelPolicy, NoModel, Preference, Rejected, Selection, select,
};
use serde_json::{Value, json};

use super::figures::{Figures, Whose};
use crate::Done;
use crate::failure::Failure;
use crate::session::{Session, variable};
use crate::show::table::Table;
use crate::terminal::{Stream, Style};

const EXAMPLES: &str = "\
Examples:
  holon models select --intent review --explain       all candidates with their scores
  holon models select --intent code --max-price 2     not above $2 per million tokens
  holon models select --intent debug --policy best    whatever it costs
  holon run --model \"$(holon models select --intent code --policy cheapest)\" …

Every mode names its intent (`holon modes show NAME`), and a run without --model chooses the same way.";

/// Show which model would be chosen for a purpose, and why
///
/// First come hard rules (tools for code and debug, structured output for review and ethical, enough context, your
/// limits), then a score of quality, price, context, speed and abilities, weighted by the purpose. Standard output has
/// the model alone; the reason goes to standard error.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What the model is for
    #[arg(long, value_name = "PURPOSE", default_value = "code", hide_default_value = true)]
    intent: Purpose,
    /// How it is chosen
    #[arg(long, value_name = "POLICY", default_value = "auto", hide_default_value = true)]
    policy: Policy,
    /// The model that is pinned
    #[arg(long, value_name = "ID")]
    model: Option<String>,
    /// Not above this many US dollars per million tokens, at three of input to one of output
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_price: Option<f64>,
    /// At least this much context, such as 200k or 1M
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    min_context: Option<u64>,
    /// Only models that think before they answer
    #[arg(long)]
    reasoning: bool,
    /// Only where nothing is trained on what is said
    #[arg(long)]
    no_training: bool,
    /// Free variants count, too
    #[arg(long)]
    free: bool,
    /// The model a task uses already; it is kept unless another is clearly better
    #[arg(long, value_name = "ID")]
    current: Option<String>,
    #[command(flatten)]
    whose: Whose,
    /// Show every candidate with its score, and every other model with its reason
    #[arg(long)]
    explain: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What a model is for.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Purpose {
    Code,
    Architect,
    Review,
    Debug,
    Ethical,
    Orchestrate,
}

/// How a model is chosen.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Policy {
    Auto,
    Pinned,
    Cheapest,
    Best,
    LegacyDefault,
}

/// Chooses and tells.
pub(crate) fn run(args: &Args, session: &Session) -> Done {
    let intent = args.intent.into();
    let policy = match args.policy {
        // Naming one settles it.
        Policy::Auto if args.model.is_some() => ModelPolicy::Pinned,
        policy => policy.into(),
    };
    if args.whose.at_base() {
        let (selection, figures) = at_base(args, intent, policy, session)?;
        return tell(args, &selection, &figures, session);
    }
    let figures = args.whose.figures(policy, policy == ModelPolicy::Pinned, session)?;
    // Models on this machine carry the names of their servers.
    let local = figures.catalogue.rows.iter().any(|row| row.data == DataPolicy::Local);
    let constraints = Constraints {
        policy,
        pinned: args.model.clone(),
        provider: (!local).then(|| figures.provider.clone()),
        min_context: args.min_context,
        max_price: args.max_price,
        reasoning: args.reasoning.then_some(Preference::Required),
        data: if args.no_training { DataPolicy::NoTraining } else { DataPolicy::Any },
        allow_free: args.free,
        current: args.current.clone(),
        ..Constraints::default()
    };
    let terminal = &session.terminal;
    let selection = match select(intent, &constraints, &figures.catalogue.rows) {
        Ok(selection) => selection,
        Err(NoModel::Rejected { intent, rejected }) if args.explain && !args.json => {
            terminal.print(refused(&rejected, terminal.stdout))?;
            terminal.say(&figures.story());
            return Err(no_model(&NoModel::Rejected { intent, rejected }));
        }
        Err(no) => return Err(no_model(&no)),
    };
    tell(args, &selection, &figures, session)
}

/// The model of a server that is named by its URL, as a run takes it.
fn at_base(
    args: &Args,
    intent: Intent,
    policy: ModelPolicy,
    session: &Session,
) -> Result<(Selection, Figures), Failure> {
    let chosen =
        holon_host::thread::chosen(&variable, &session.places()?, None, args.model.as_deref(), intent)?;
    let window = match chosen.row.as_ref().and_then(|row| row.context) {
        Some(window) => format!("a window of {window} tokens"),
        None => format!("a window that nobody tells, {} tokens are assumed", chosen.window()),
    };
    let candidate = Candidate { id: chosen.model.clone(), score: 0, why: window };
    let selection = Selection {
        model: chosen.model,
        intent,
        policy,
        reason: chosen.why,
        candidates: vec![candidate],
        rejected: Vec::new(),
    };
    Ok((selection, Figures::of_server(&chosen.endpoint.name, chosen.row)))
}

fn tell(args: &Args, selection: &Selection, figures: &Figures, session: &Session) -> Done {
    let terminal = &session.terminal;
    if args.json {
        terminal.print(as_json(selection, figures))?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.explain {
        terminal.print(explained(selection, terminal.stdout))?;
    } else {
        terminal.print(format!("{}\n", crate::terminal::one_line(&selection.model, 500)))?;
    }
    terminal.say(&crate::terminal::visible(&format!("{}: {}", selection.model, selection.reason)));
    terminal.say(&figures.story());
    Ok(ExitCode::SUCCESS)
}

fn no_model(no: &NoModel) -> Failure {
    let hint = match no {
        NoModel::Nothing => {
            "`holon models list` shows what there is; a server on this machine must be running to be listed"
        }
        NoModel::Unnamed => "add --model, or choose another --policy",
        NoModel::Rejected { .. } => {
            "loosen --max-price, --min-context or --provider; --explain shows each model's reason"
        }
    };
    Failure::config(no.to_string()).hint(hint)
}

fn explained(selection: &Selection, stream: Stream) -> String {
    let mut text = stream.paint(Style::Bold, "Candidates, best first");
    text.push('\n');
    let mut table = Table::indented(2);
    for candidate in &selection.candidates {
        table.row([&candidate.id, &candidate.score.to_string(), &candidate.why]);
    }
    text.push_str(&table.render(stream));
    if !selection.rejected.is_empty() {
        text.push('\n');
        text.push_str(&refused(&selection.rejected, stream));
    }
    text
}

fn refused(rejected: &[Rejected], stream: Stream) -> String {
    let mut table = Table::indented(2);
    for one in rejected {
        table.row([&one.id, &one.why]);
    }
    format!("{}\n{}", stream.paint(Style::Bold, "Not possible"), table.render(stream))
}

fn as_json(selection: &Selection, figures: &Figures) -> String {
    let mut whole = json!(selection);
    if let Value::Object(map) = &mut whole {
        map.extend(figures.as_json());
    }
    format!("{whole:#}\n")
}

fn dollars(text: &str) -> Result<f64, String> {
    let number: f64 =
        text.trim_start_matches('$').parse().map_err(|_| format!("`{text}` is no amount, such as 2.50"))?;
    if number.is_finite() && number >= 0.0 { Ok(number) } else { Err(format!("`{text}` is no price")) }
}

fn tokens(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no number of tokens, such as 200000, 200k or 1M");
    let (digits, unit) = match text.to_ascii_lowercase() {
        lower if lower.ends_with('k') => (text.len() - 1, 1_000),
        lower if lower.ends_with('m') => (text.len() - 1, 1_000_000),
        _ => (text.len(), 1),
    };
    let count: u64 =
        text.get(..digits).and_then(|text| text.replace('_', "").parse().ok()).ok_or_else(wrong)?;
    count.checked_mul(unit).ok_or_else(wrong)
}

impl From<Purpose> for Intent {
    fn from(purpose: Purpose) -> Self {
        match purpose {
            Purpose::Code => Self::Code,
            Purpose::Architect => Self::Architect,
            Purpose::Review => Self::Review,
            Purpose::Debug => Self::Debug,
            Purpose::Ethical => Self::Ethical,
            Purpose::Orchestrate => Self::Orchestrate,
        }
    }
}

impl From<Policy> for ModelPolicy {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Auto => Self::Auto,
            Policy::Pinned => Self::Pinned,
            Policy::Cheapest => Self::Cheapest,
            Policy::Best => Self::Best,
            Policy::LegacyDefault => Self::LegacyDefault,
        }
    }
}
