//! What a model must be able to do.

use super::ModelConstraints;
use super::intent::ModelIntent;
use crate::catalogue::{DataPolicy, ModelRow, OPENROUTER};

/// Why a model cannot be taken, or nothing when it can. What is unknown is no reason, unless somebody set a limit.
pub(super) fn refuse(intent: ModelIntent, constraints: &ModelConstraints, row: &ModelRow) -> Option<String> {
    let needs = intent.needs();
    if let Some(provider) = constraints.provider.as_ref().filter(|provider| **provider != row.provider) {
        return Some(format!("not offered by {provider}"));
    }
    if !row.text_output {
        return Some("does not answer in text".to_owned());
    }
    if row.router && !constraints.allow_routers {
        return Some("stands for other models, at prices not known beforehand".to_owned());
    }
    if row.free && !constraints.allow_free && row.data != DataPolicy::Local {
        return Some("free variant with tight limits".to_owned());
    }
    if constraints.tools_required.unwrap_or(needs.tools) && row.tools == Some(false) {
        return Some("no native tool calls".to_owned());
    }
    if needs.structured && row.structured == Some(false) {
        return Some("no structured output".to_owned());
    }
    if constraints.reasoning == Some(Preference::Required) && row.reasoning != Some(true) {
        return Some("no reasoning".to_owned());
    }
    context(constraints.min_context, needs.context, row)
        .or_else(|| price(constraints.max_price, row))
        .or_else(|| data(constraints.data, row))
}

/// Why a model of a server that somebody runs cannot be taken: only what somebody set counts there.
pub(crate) fn refuse_here(constraints: &ModelConstraints, row: &ModelRow) -> Option<String> {
    if constraints.tools_required == Some(true) && row.tools == Some(false) {
        return Some("no native tool calls".to_owned());
    }
    if constraints.reasoning == Some(Preference::Required) && row.reasoning != Some(true) {
        return Some("no reasoning".to_owned());
    }
    let asked = constraints.min_context?;
    context(Some(asked), asked, row)
}

/// How much something is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preference {
    /// It makes no difference.
    Indifferent,
    /// It counts.
    Preferred,
    /// Nothing else will do.
    Required,
}

fn context(asked: Option<u64>, usual: u64, row: &ModelRow) -> Option<String> {
    match (row.context, asked) {
        (Some(has), _) if has < asked.unwrap_or(usual) => {
            Some(format!("context {} is below {}", thousands(has), thousands(asked.unwrap_or(usual))))
        }
        (None, Some(_)) => Some("context unknown".to_owned()),
        _ => None,
    }
}

fn price(ceiling: Option<f64>, row: &ModelRow) -> Option<String> {
    let ceiling = ceiling?;
    match row.blended_price() {
        Some(price) if price > ceiling => {
            Some(format!("${price:.2} per million tokens is above ${ceiling:.2}"))
        }
        Some(_) if row.request_price > 0.0 => Some("costs per request, too".to_owned()),
        Some(_) => None,
        None if row.data == DataPolicy::Local => None,
        None => Some("price unknown".to_owned()),
    }
}

fn data(policy: DataPolicy, row: &ModelRow) -> Option<String> {
    // OpenRouter keeps to hosts that do not train when it is asked to; free variants are what it then has none for.
    let routed = policy == DataPolicy::NoTraining && row.provider == OPENROUTER && !row.free;
    if row.data >= policy || routed {
        return None;
    }
    Some(match policy {
        DataPolicy::Local => "not on this machine".to_owned(),
        _ => "may be trained on what it is told".to_owned(),
    })
}

/// `128k`, `1.0M`.
pub(super) fn thousands(tokens: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let millions = tokens as f64 / 1e6;
    if tokens >= 999_500 { format!("{millions:.1}M") } else { format!("{}k", (tokens + 500) / 1000) }
}
