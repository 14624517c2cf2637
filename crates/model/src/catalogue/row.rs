//! What is known about one model.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::usage::Prices;

/// One model at one provider; what is not known is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelRow {
    /// Its id, as this provider spells it.
    pub id: String,
    /// Who offers it: `openrouter`, `anthropic`, `openai` or the name of a server.
    pub provider: String,
    /// Tokens of prompt and answer together, the smallest of all that is said about it.
    pub context: Option<u64>,
    /// The most tokens of an answer.
    pub max_output: Option<u64>,
    /// What its tokens cost; absent when that is unknown or changes with each request.
    pub prices: Option<Prices>,
    /// What each request costs besides its tokens, in US dollars.
    pub request_price: f64,
    /// Whether it calls tools natively.
    pub tools: Option<bool>,
    /// Whether it can think before it answers.
    pub reasoning: Option<bool>,
    /// Whether an answer can be held to a schema.
    pub structured: Option<bool>,
    /// Whether it answers in text.
    pub text_output: bool,
    /// Whether the provider filters what is said to it.
    pub moderated: bool,
    /// Whether it stands for other models, of which one is picked for each request.
    pub router: bool,
    /// Whether it is a free variant, which has tight limits and may be paid for with data.
    pub free: bool,
    /// What becomes of what is said to it.
    pub data: DataPolicy,
    /// When it came out, in seconds since 1970.
    pub created: Option<i64>,
    /// What it can be trusted with.
    pub tier: Tier,
    /// How quick it is.
    pub latency: Option<Latency>,
    /// Whether a figure of it is a guess.
    pub approximate: bool,
}

/// What a model can be trusted with; in order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Short, clear tasks.
    Small,
    /// Nobody said.
    #[default]
    Unknown,
    /// Everyday work.
    Capable,
    /// Most programming.
    Strong,
    /// The hardest there is.
    Frontier,
}

/// How quick a model is, roughly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Latency {
    /// Seconds.
    Fast,
    /// In between.
    Medium,
    /// Minutes, thoughts included.
    Slow,
}

/// What becomes of what is said to a model; in order of strictness.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DataPolicy {
    /// Nobody said, or nobody minds.
    #[default]
    Any,
    /// It is not used for training.
    NoTraining,
    /// It does not leave this machine.
    Local,
}

impl ModelRow {
    /// A model nothing is known about but where it is; it is taken to answer in text.
    pub fn new(provider: impl Into<String>, id: impl Into<String>) -> Self {
        Self { id: id.into(), provider: provider.into(), text_output: true, ..Self::default() }
    }

    /// US dollars per million tokens at three of input to one of output, none of them cached.
    pub fn blended_price(&self) -> Option<f64> {
        self.prices.map(|prices| (3.0 * prices.input + prices.output) / 4.0 * 1e6)
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Small => "small",
            Self::Unknown => "unknown",
            Self::Capable => "capable",
            Self::Strong => "strong",
            Self::Frontier => "frontier",
        })
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fast => "fast",
            Self::Medium => "medium",
            Self::Slow => "slow",
        })
    }
}
