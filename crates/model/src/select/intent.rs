//! What a model is for, and what counts for that.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What a model is for; every mode names one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelIntent {
    /// Changes programs.
    #[default]
    Code,
    /// Thinks a change through.
    Architect,
    /// Judges a change.
    Review,
    /// Finds a cause.
    Debug,
    /// Judges whether a change should be made.
    Ethical,
    /// Splits work up and puts it together.
    Orchestrate,
}

/// What a model must be able to do, and what else counts how much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntentNeeds {
    /// Must call tools natively.
    pub tools: bool,
    /// Must follow a schema.
    pub structured: bool,
    /// Should think before it answers.
    pub reasoning: bool,
    /// The least context, where it is known.
    pub context: u64,
    /// What counts how much.
    pub weights: ScoreWeights,
}

/// Parts of a score; together they are 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoreWeights {
    /// What the model can be trusted with.
    pub quality: f64,
    /// What it costs.
    pub price: f64,
    /// How much it can look at.
    pub context: f64,
    /// How quick it is.
    pub latency: f64,
    /// Whether it can do what would be nice besides what it must.
    pub abilities: f64,
}

/// What staying with the model of the task is worth: its cache is warm, and it knows its own words. Less than a step of
/// quality, more than the small differences between neighbours.
pub const STICKINESS: f64 = 0.08;

impl ModelIntent {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Code, Self::Architect, Self::Review, Self::Debug, Self::Ethical, Self::Orchestrate];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Architect => "architect",
            Self::Review => "review",
            Self::Debug => "debug",
            Self::Ethical => "ethical",
            Self::Orchestrate => "orchestrate",
        }
    }

    /// What counts for it.
    pub fn needs(self) -> IntentNeeds {
        let weigh = |quality, price, context, latency, abilities| ScoreWeights {
            quality,
            price,
            context,
            latency,
            abilities,
        };
        let needs = |weights| IntentNeeds {
            tools: false,
            structured: false,
            reasoning: false,
            context: 32_000,
            weights,
        };
        match self {
            // Most of all calls and tokens: what it costs and how long it takes is felt.
            Self::Code => {
                IntentNeeds { tools: true, context: 64_000, ..needs(weigh(0.55, 0.20, 0.05, 0.10, 0.10)) }
            }
            // Few tokens, and everything after depends on them.
            Self::Architect => IntentNeeds { reasoning: true, ..needs(weigh(0.65, 0.10, 0.10, 0.05, 0.10)) },
            // One reading of much text; findings must fit their schema.
            Self::Review => IntentNeeds { structured: true, ..needs(weigh(0.60, 0.15, 0.10, 0.05, 0.10)) },
            // Thinking is what finds causes.
            Self::Debug => IntentNeeds {
                tools: true,
                reasoning: true,
                context: 64_000,
                ..needs(weigh(0.50, 0.15, 0.05, 0.05, 0.25))
            },
            // A report without its schema blocks everything.
            Self::Ethical => IntentNeeds { structured: true, ..needs(weigh(0.55, 0.20, 0.05, 0.10, 0.10)) },
            // Sees everybody's results, and everybody waits for it.
            Self::Orchestrate => {
                IntentNeeds { context: 64_000, ..needs(weigh(0.55, 0.15, 0.10, 0.10, 0.10)) }
            }
        }
    }
}

impl fmt::Display for ModelIntent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no intent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown intent `{0}`: use code, architect, review, debug, ethical or orchestrate")]
pub struct UnknownIntent(pub String);

impl FromStr for ModelIntent {
    type Err = UnknownIntent;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|intent| intent.name() == text);
        found.ok_or_else(|| UnknownIntent(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_shares_of_one() {
        for intent in ModelIntent::ALL {
            let w = intent.needs().weights;
            let sum = w.quality + w.price + w.context + w.latency + w.abilities;
            assert!((sum - 1.0).abs() < 1e-9, "{intent}: {sum}");
            assert_eq!(intent.name().parse(), Ok(intent));
        }
        assert!("codex".parse::<ModelIntent>().is_err());
    }
}
