//! `holon models select`: which model would be chosen, and why.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use holon_host::{HostError, ModelPreferences, ModelRules, config, credentials_here, decide_model, modes};
use holon_model::ChosenEndpoint;
use holon_model::catalogue::{Catalogue, CatalogueOrigin, DataPolicy, Freshness};
use holon_model::choose::EndpointUndecided;
use holon_model::select::{
    ModelConstraints, ModelIntent, ModelPolicy, NoModel, Preference, RejectedCandidate, ScoredCandidate,
    SelectedModel,
};
use serde_json::{Value, json};

use super::figures::{ModelFigures, ModelSourceArgs};
use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::{Session, variable};
use crate::show::credential;
use crate::show::table::TextTable;
use crate::terminal::{TerminalStream, TextStyle};

const EXAMPLES: &str = "\
Examples:
  holon models select                                 what `holon run` would ask here
  holon models select --mode review                   the same for another mode
  holon models select --intent review --explain       all candidates with their scores
  holon models select --intent code --max-price 2     not above $2 per million tokens
  holon models select --intent debug --policy best    whatever it costs
  holon run --model \"$(holon models select --intent code --policy cheapest)\" …

A run without --model chooses the same way, by the same settings: models.max_price, models.min_context, models.data and
models.free in the configuration, and what it says about the mode (`holon config show`). The manifest of a run keeps the
candidates.";

/// Show which model would be chosen for a purpose, and why
///
/// First come hard rules (tools for code and debug, structured output for review and ethical, enough context, your
/// limits), then a score of quality, price, context, speed and abilities, weighted by the purpose. Standard output has
/// the model alone; the reason goes to standard error.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ModelsSelectArgs {
    /// The mode it is for [default: execute]
    #[arg(long, value_name = "MODE", conflicts_with = "intent")]
    mode: Option<String>,
    /// What the model is for, instead of a mode
    #[arg(long, value_name = "PURPOSE")]
    intent: Option<IntentName>,
    /// How it is chosen [default: as the configuration says, else auto]
    #[arg(long, value_name = "POLICY")]
    policy: Option<SelectionPolicyName>,
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
    whose: ModelSourceArgs,
    /// The folder whose configuration counts [default: the current one]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Show every candidate with its score, every other model with its reason, and which credential is used and why
    #[arg(long)]
    explain: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What a model is for.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum IntentName {
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
enum SelectionPolicyName {
    Auto,
    Pinned,
    Cheapest,
    Best,
    LegacyDefault,
}

/// Chooses as a run in this folder would, and tells.
pub(crate) fn run(args: &ModelsSelectArgs, session: &Session) -> CommandExit {
    args.whose.check()?;
    let places = session.places()?;
    let workspace = session.workspace(args.workspace.as_deref())?;
    let config = config::read(&places, &workspace, &variable)?;
    let (mut rules, mut wish) = match &args.intent {
        Some(purpose) => {
            let intent = ModelIntent::from(*purpose);
            let rules = ModelRules::of(&config, intent.name());
            let (model, provider, constraints) = (None, None, rules.constraints());
            (rules, ModelPreferences { model, provider, intent, constraints, only_told: true })
        }
        None => {
            let catalog = modes::catalog(&places, Some(&workspace))?;
            let mode = args.mode.as_deref().unwrap_or("execute");
            let profile = catalog.resolve(mode).map_err(HostError::from)?;
            let rules = ModelRules::of(&config, config::name_of_mode(&profile.name));
            let wish = ModelPreferences { only_told: true, ..ModelPreferences::of(&profile, &rules) };
            (rules, wish)
        }
    };
    if args.whose.refresh {
        rules.freshness = Freshness::Now;
    }
    wish.provider = args.whose.provider.as_deref();
    wish.model = args.model.as_deref();
    args.narrow(&mut wish.constraints);
    // What is said here about the choice beats a name that is said elsewhere.
    let policy = args.policy.filter(|_| args.model.is_none()).map(ModelPolicy::from);
    if let Some(policy) = policy {
        if policy == ModelPolicy::Pinned {
            return Err(no_model(&NoModel::Unnamed));
        }
        (rules.mode.model, rules.mode.policy) = (None, policy);
        wish.constraints.policy = policy;
        wish.constraints.legacy = config.text("llm.default.model");
    }
    let env = move |name: &str| variable(name).filter(|_| policy.is_none() || name != "HOLON_MODEL");
    match decide_model(&wish, &rules, &places, &env) {
        Ok(chosen) => tell(args, &SelectionReport::of(chosen, &wish), session),
        Err(EndpointUndecided::NoModel(no)) => {
            if let (NoModel::Rejected { rejected, .. }, true, false) = (&no, args.explain, args.json) {
                session.terminal.print(refused(rejected, session.terminal.stdout))?;
            }
            Err(no_model(&no))
        }
        Err(EndpointUndecided::Setup(error)) => Err(HostError::from(error).into()),
    }
}

impl ModelsSelectArgs {
    /// Lays the flags over what the configuration says.
    fn narrow(&self, constraints: &mut ModelConstraints) {
        constraints.min_context = self.min_context.or(constraints.min_context);
        constraints.max_price = self.max_price.or(constraints.max_price);
        if self.reasoning {
            constraints.reasoning = Some(Preference::Required);
        }
        if self.no_training {
            constraints.data = constraints.data.max(DataPolicy::NoTraining);
        }
        constraints.allow_free |= self.free;
        constraints.current.clone_from(&self.current);
    }
}

/// A choice, and what its figures are from.
struct SelectionReport {
    selection: SelectedModel,
    figures: ModelFigures,
}

impl SelectionReport {
    fn of(chosen: ChosenEndpoint, wish: &ModelPreferences<'_>) -> Self {
        let provider = chosen.endpoint.name.clone();
        match chosen.choice {
            Some(choice) => {
                let catalogue =
                    Catalogue { rows: Vec::new(), origin: choice.origin, warning: choice.warning };
                Self { selection: choice.selection, figures: ModelFigures::new(provider, catalogue) }
            }
            None => {
                let told = chosen.row.as_ref().and_then(|row| row.context);
                let why = match told {
                    Some(window) => format!("a window of {window} tokens"),
                    None => format!("a window that nobody tells, {} tokens are assumed", chosen.window()),
                };
                let candidates = vec![ScoredCandidate { id: chosen.model.clone(), score: 0, why }];
                let (intent, rejected) = (wish.intent, Vec::new());
                let (model, policy, reason) = (chosen.model, ModelPolicy::Pinned, chosen.why);
                let selection = SelectedModel { model, intent, policy, reason, candidates, rejected };
                let local = chosen.endpoint.is_loopback();
                let catalogue = match local {
                    true => Catalogue { rows: Vec::new(), origin: CatalogueOrigin::Local, warning: None },
                    false => Catalogue::of_table(&provider),
                };
                Self { selection, figures: ModelFigures::new(provider, catalogue) }
            }
        }
    }
}

fn tell(
    args: &ModelsSelectArgs,
    SelectionReport { selection, figures }: &SelectionReport,
    session: &Session,
) -> CommandExit {
    let terminal = &session.terminal;
    if let Some(warning) = figures.unfetched(args.whose.refresh)? {
        terminal.say(&format!("warning: {warning}"));
    }
    if args.json {
        terminal.print(as_json(selection, figures, args.explain))?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.explain {
        let credentials = credential::section(&credentials_here(&variable), terminal.stdout);
        terminal.print(format!("{}\n{credentials}", explained(selection, terminal.stdout)))?;
    } else {
        terminal.print(format!("{}\n", crate::terminal::one_line(&selection.model, 500)))?;
    }
    terminal.say(&crate::terminal::visible(&format!("{}: {}", selection.model, selection.reason)));
    terminal.say(&figures.story());
    Ok(ExitCode::SUCCESS)
}

fn no_model(no: &NoModel) -> CliFailure {
    let hint = match no {
        NoModel::Nothing => {
            "`holon models list` shows what there is; a server on this machine must be running to be listed"
        }
        NoModel::Unnamed => "add --model, or choose another --policy",
        NoModel::Rejected { .. } => {
            "loosen --max-price, --min-context, --provider or models.* in the configuration; --explain shows each model's reason"
        }
    };
    CliFailure::config(no.to_string()).hint(hint)
}

fn explained(selection: &SelectedModel, stream: TerminalStream) -> String {
    let mut text = stream.paint(TextStyle::Bold, "Candidates, best first");
    text.push('\n');
    let mut table = TextTable::indented(2);
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

fn refused(rejected: &[RejectedCandidate], stream: TerminalStream) -> String {
    let mut table = TextTable::indented(2);
    for one in rejected {
        table.row([&one.id, &one.why]);
    }
    format!("{}\n{}", stream.paint(TextStyle::Bold, "Not possible"), table.render(stream))
}

fn as_json(selection: &SelectedModel, figures: &ModelFigures, explain: bool) -> String {
    let mut whole = json!(selection);
    if let Value::Object(map) = &mut whole {
        map.extend(figures.as_json());
        if explain {
            map.insert("credentials".into(), json!(credentials_here(&variable)));
        }
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

impl From<IntentName> for ModelIntent {
    fn from(purpose: IntentName) -> Self {
        match purpose {
            IntentName::Code => Self::Code,
            IntentName::Architect => Self::Architect,
            IntentName::Review => Self::Review,
            IntentName::Debug => Self::Debug,
            IntentName::Ethical => Self::Ethical,
            IntentName::Orchestrate => Self::Orchestrate,
        }
    }
}

impl From<SelectionPolicyName> for ModelPolicy {
    fn from(policy: SelectionPolicyName) -> Self {
        match policy {
            SelectionPolicyName::Auto => Self::Auto,
            SelectionPolicyName::Pinned => Self::Pinned,
            SelectionPolicyName::Cheapest => Self::Cheapest,
            SelectionPolicyName::Best => Self::Best,
            SelectionPolicyName::LegacyDefault => Self::LegacyDefault,
        }
    }
}
