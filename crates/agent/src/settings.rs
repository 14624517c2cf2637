//! What a turn is run with.

use holon_core::Profile;
use holon_core::policy::{CallSurface, ToolCallGate};
use holon_model::{Effort, Prices, SharedBudget};

use crate::edit::EditFormat;

/// Everything that is fixed for a turn; the next one may have others, as when a chat changes its mode.
#[derive(Debug, Clone)]
pub struct TurnSettings {
    /// What the mode binds.
    pub profile: Profile,
    /// Whether this is a run, which hands over artifacts, or a chat, which does not.
    pub surface: CallSurface,
    /// The system prompt, compiled.
    pub system: String,
    /// The model's id, as its provider spells it.
    pub model: String,
    /// How files are changed.
    pub edit_format: EditFormat,
    /// What the turn may use.
    pub limits: TurnLimits,
    /// Where artifacts go, as the hands know it.
    pub output: String,
    /// Artifacts that must be there in the end; those the host makes (`diff.patch`) may be among them.
    pub required: Vec<String>,
    /// Artifacts that may be there.
    pub optional: Vec<String>,
    /// Tokens the model can take in and give out at once.
    pub window: u64,
    /// Most tokens of one reply.
    pub max_output: Option<u32>,
    /// How hard the model thinks.
    pub effort: Option<Effort>,
    /// What tokens cost, where the provider does not tell.
    pub prices: Option<Prices>,
    /// Money that is shared with other work.
    pub shared: Option<SharedBudget>,
    /// Checks whose output is told after every reply that changed files, because they are quick.
    pub quick_checks: Vec<String>,
    /// Whether a denied call ends the turn, after the other calls of its reply were answered.
    pub stop_on_denial: bool,
}

/// Budgets of one turn; the host gives what is left of a run's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TurnLimits {
    /// Requests to the model.
    pub rounds: u64,
    /// Tokens, in and out.
    pub tokens: u64,
    /// Money, in US dollars.
    pub cost_usd: f64,
}

impl TurnSettings {
    /// For a run in this profile: its limits and artifacts, output in `/holon/output`, a window of 128,000 tokens.
    pub fn for_run(profile: Profile, system: impl Into<String>, model: impl Into<String>) -> Self {
        let model = model.into();
        let limits =
            TurnLimits { rounds: profile.limits.rounds, tokens: u64::MAX, cost_usd: profile.limits.cost_usd };
        Self {
            surface: CallSurface::Run,
            system: system.into(),
            edit_format: crate::edit::format_for(&model),
            model,
            limits,
            output: "/holon/output".to_owned(),
            required: profile.artifacts.required.clone(),
            optional: profile.artifacts.optional.clone(),
            window: 128_000,
            max_output: None,
            effort: None,
            prices: None,
            shared: None,
            quick_checks: Vec::new(),
            stop_on_denial: false,
            profile,
        }
    }

    /// For a chat turn in this profile: 50 rounds, no artifacts, and a denial ends turns of modes that only read.
    pub fn for_chat(profile: Profile, system: impl Into<String>, model: impl Into<String>) -> Self {
        let stop_on_denial = profile.promises_no_change();
        let mut settings = Self::for_run(profile, system, model);
        settings.surface = CallSurface::Chat;
        settings.limits.rounds = 50;
        settings.required = Vec::new();
        settings.optional = Vec::new();
        settings.stop_on_denial = stop_on_denial;
        settings
    }

    /// The gate for calls of this turn.
    pub(crate) fn gate(&self, person: bool) -> ToolCallGate<'_> {
        ToolCallGate::new(&self.profile, self.surface, person)
    }

    /// Whether artifacts are handed over.
    pub(crate) fn is_run(&self) -> bool {
        self.surface == CallSurface::Run
    }
}
