//! Chooses a model for a purpose, by rules that can be read and told.

mod filter;
mod intent;
mod score;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;

pub use filter::Preference;
pub(crate) use filter::refuse_here;
pub use holon_core::mode::ModelPolicy;
pub use intent::{IntentNeeds, ModelIntent, STICKINESS, ScoreWeights, UnknownIntent};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::catalogue::{DataPolicy, ModelRow, ModelRowTable};

/// What a choice must keep to.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelConstraints {
    /// How one is chosen.
    pub policy: ModelPolicy,
    /// The one that is named, for the policy `pinned`.
    pub pinned: Option<String>,
    /// The one of older configurations, for the policy `legacy_default`.
    pub legacy: Option<String>,
    /// Only models of this provider.
    pub provider: Option<String>,
    /// The least context.
    pub min_context: Option<u64>,
    /// The most US dollars per million tokens, at three of input to one of output.
    pub max_price: Option<f64>,
    /// Whether native tool calls are a must, when that is not for the intent to say.
    pub tools_required: Option<bool>,
    /// How much reasoning is wanted, when that is not for the intent to say.
    pub reasoning: Option<Preference>,
    /// What may become of what is said.
    pub data: DataPolicy,
    /// Whether free variants count.
    pub allow_free: bool,
    /// Whether ids count that stand for other models.
    pub allow_routers: bool,
    /// The model the task uses already.
    pub current: Option<String>,
}

impl Default for ModelConstraints {
    fn default() -> Self {
        Self {
            policy: ModelPolicy::Auto,
            pinned: None,
            legacy: None,
            provider: None,
            min_context: None,
            max_price: None,
            tools_required: None,
            reasoning: None,
            data: DataPolicy::Any,
            allow_free: false,
            allow_routers: false,
            current: None,
        }
    }
}

impl ModelConstraints {
    /// What a request to OpenRouter must say so that its routing keeps to this; goes into an endpoint's `extra`.
    pub fn routing(&self) -> Map<String, Value> {
        match self.data {
            DataPolicy::Any => Map::new(),
            _ => Map::from_iter([("provider".to_owned(), json!({"data_collection": "deny"}))]),
        }
    }
}

/// A model that was chosen, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SelectedModel {
    /// Its id, as the provider spells it.
    pub model: String,
    /// What it is for.
    pub intent: ModelIntent,
    /// How it was chosen.
    pub policy: ModelPolicy,
    /// Why it is this one, in one sentence.
    pub reason: String,
    /// Everything that could have been taken, best first.
    pub candidates: Vec<ScoredCandidate>,
    /// Everything that could not.
    pub rejected: Vec<RejectedCandidate>,
}

/// A model that could be taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScoredCandidate {
    /// Its id.
    pub id: String,
    /// Points of 1000, a few more for the model of the task.
    pub score: u32,
    /// What the points are for.
    pub why: String,
}

/// A model that could not be taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RejectedCandidate {
    /// Its id.
    pub id: String,
    /// Why not.
    pub why: String,
}

/// Why no model was chosen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoModel {
    /// There was nothing to choose from.
    #[error("there is no model to choose from")]
    Nothing,
    /// The policy needs a name.
    #[error("the policy pinned needs a model: name one")]
    Unnamed,
    /// Nothing is left after the filters.
    #[error("none of {} models fits {intent}: {}", rejected.len(), most_common(rejected))]
    Rejected {
        /// What it was for.
        intent: ModelIntent,
        /// Each with its reason.
        rejected: Vec<RejectedCandidate>,
    },
}

/// Chooses. The same rows in any order give the same answer.
pub fn select(
    intent: ModelIntent,
    constraints: &ModelConstraints,
    rows: &[ModelRow],
) -> Result<SelectedModel, NoModel> {
    let named = match constraints.policy {
        ModelPolicy::Pinned => Some(constraints.pinned.as_deref().ok_or(NoModel::Unnamed)?),
        ModelPolicy::LegacyDefault => {
            let provider = constraints.provider.as_deref().unwrap_or(crate::catalogue::OPENROUTER);
            let fallback = || ModelRowTable::builtin().default_of(provider);
            Some(constraints.legacy.as_deref().or_else(fallback).ok_or(NoModel::Nothing)?)
        }
        ModelPolicy::Auto | ModelPolicy::Cheapest | ModelPolicy::Best => None,
    };
    if let Some(model) = named {
        return Ok(as_named(intent, constraints, model, rows));
    }
    if rows.is_empty() {
        return Err(NoModel::Nothing);
    }
    let newest = rows.iter().filter_map(|row| row.created).max();
    let mut fitting = Vec::new();
    let mut rejected = Vec::new();
    for row in rows {
        match filter::refuse(intent, constraints, row) {
            Some(why) => rejected.push(RejectedCandidate { id: row.id.clone(), why }),
            None => fitting.push((row, score::score(intent, constraints, row, newest))),
        }
    }
    rejected.sort_by(|a, b| a.id.cmp(&b.id));
    // Prices are compared in millionths of a dollar per million tokens, so that order does not hang on rounding.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "prices are small and positive"
    )]
    let price = |row: &ModelRow| match row.blended_price() {
        None if row.data == DataPolicy::Local => 0,
        price => price.map_or(u64::MAX, |price| (price * 1e6).round() as u64),
    };
    fitting.sort_by_key(|(row, (points, _))| {
        let first = match constraints.policy {
            ModelPolicy::Cheapest => price(row),
            ModelPolicy::Best => u64::MAX - row.tier as u64,
            _ => 0,
        };
        (first, Reverse(*points), Reverse(row.created), row.id.clone())
    });
    let candidates: Vec<ScoredCandidate> = fitting
        .into_iter()
        .map(|(row, (score, why))| ScoredCandidate { id: row.id.clone(), score, why })
        .collect();
    let Some(first) = candidates.first() else { return Err(NoModel::Rejected { intent, rejected }) };
    let how = match constraints.policy {
        ModelPolicy::Cheapest => "the cheapest",
        ModelPolicy::Best => "the best",
        _ => "the highest score",
    };
    let reason =
        format!("{how} of {} that fit {intent}, of {} known: {}", candidates.len(), rows.len(), first.why);
    let model = first.id.clone();
    Ok(SelectedModel { model, intent, policy: constraints.policy, reason, candidates, rejected })
}

/// The model somebody settled on; what speaks against it is said, and does not change it.
fn as_named(
    intent: ModelIntent,
    constraints: &ModelConstraints,
    model: &str,
    rows: &[ModelRow],
) -> SelectedModel {
    let row = rows.iter().find(|row| row.id == model);
    let mut reason = match constraints.policy {
        ModelPolicy::Pinned => "pinned".to_owned(),
        _ if constraints.legacy.is_some() => "named by llm.default".to_owned(),
        _ => "the fixed default of this release".to_owned(),
    };
    if let Some(but) = row.and_then(|row| filter::refuse(intent, constraints, row)) {
        reason = format!("{reason}, although: {but}");
    }
    let (score, why) = row.map_or((0, "not in the catalogue".to_owned()), |row| {
        score::score(intent, constraints, row, row.created)
    });
    let model = model.to_owned();
    let candidates = vec![ScoredCandidate { id: model.clone(), score, why }];
    SelectedModel { model, intent, policy: constraints.policy, reason, candidates, rejected: Vec::new() }
}

/// The reasons that come up most, for an error of one line.
fn most_common(rejected: &[RejectedCandidate]) -> String {
    let mut counts: Vec<(usize, &str)> = Vec::new();
    for one in rejected {
        match counts.iter_mut().find(|(_, why)| *why == one.why) {
            Some((count, _)) => *count += 1,
            None => counts.push((1, &one.why)),
        }
    }
    counts.sort_by_key(|(count, why)| (Reverse(*count), *why));
    let words: Vec<String> = counts.iter().take(3).map(|(count, why)| format!("{count}× {why}")).collect();
    words.join("; ")
}
