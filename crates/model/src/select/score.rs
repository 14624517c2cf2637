//! How well a model fits.

use super::ModelConstraints;
use super::filter::{Preference, thousands};
use super::intent::{ModelIntent, STICKINESS};
use crate::catalogue::{DataPolicy, Latency, ModelRow, Tier};

/// Points of 1000 (more when the task already uses it), and the reasons in words; `newest` is when the newest model of
/// the list came out.
pub(super) fn score(
    intent: ModelIntent,
    constraints: &ModelConstraints,
    row: &ModelRow,
    newest: Option<i64>,
) -> (u32, String) {
    let needs = intent.needs();
    let weights = needs.weights;
    let wants_reasoning = match constraints.reasoning {
        Some(wanted) => wanted != Preference::Indifferent,
        None => needs.reasoning,
    };
    let stays = constraints.current.as_ref() == Some(&row.id);
    let total = weights.quality * (quality(row.tier) - staleness(row.created, newest))
        + weights.price * cheapness(row)
        + weights.context * context(row.context)
        + weights.latency * quickness(row.latency)
        + weights.abilities * abilities(row, wants_reasoning)
        + if stays { STICKINESS } else { 0.0 };
    let mut why = vec![row.tier.to_string(), price_words(row)];
    why.extend(row.context.map(|tokens| format!("{} context", thousands(tokens))));
    why.extend(row.latency.map(|latency| latency.to_string()));
    if wants_reasoning {
        why.push(if row.reasoning == Some(true) { "reasons" } else { "does not reason" }.to_owned());
    }
    if row.tools == Some(false) {
        why.push("tools in words only".to_owned());
    }
    if stays {
        why.push("the task uses it already".to_owned());
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 1.1")]
    let points = (total * 1000.0).round() as u32;
    (points, why.join(", "))
}

/// `$4.00/M`, `free`.
pub(super) fn price_words(row: &ModelRow) -> String {
    match row.blended_price() {
        None if row.data == DataPolicy::Local => "on this machine".to_owned(),
        None => "price unknown".to_owned(),
        Some(0.0) => "free".to_owned(),
        Some(price) => format!("${price:.2}/M{}", if row.approximate { " or so" } else { "" }),
    }
}

fn quality(tier: Tier) -> f64 {
    match tier {
        Tier::Frontier => 1.0,
        Tier::Strong => 0.9,
        Tier::Capable => 0.6,
        Tier::Unknown => 0.4,
        Tier::Small => 0.25,
    }
}

/// A tier is a judgement of its day: a tenth is lost with each year behind the newest model, and no more than two.
fn staleness(created: Option<i64>, newest: Option<i64>) -> f64 {
    const YEAR: f64 = 365.25 * 24.0 * 3600.0;
    let (Some(created), Some(newest)) = (created, newest) else { return 0.0 };
    #[expect(clippy::cast_precision_loss, reason = "months are wanted")]
    let years = newest.saturating_sub(created) as f64 / YEAR;
    (0.1 * years).clamp(0.0, 0.2)
}

/// By orders of magnitude: 1 at ten cents per million tokens, 0 at fifty dollars.
fn cheapness(row: &ModelRow) -> f64 {
    match row.blended_price() {
        Some(price) => (1.0 - (price.max(0.1) / 0.1).log10() / 500_f64.log10()).clamp(0.0, 1.0),
        None if row.data == DataPolicy::Local => 1.0,
        None => 0.2,
    }
}

/// By doublings: 0 at 32 thousand tokens, 1 at a million.
fn context(tokens: Option<u64>) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "an order of magnitude is wanted")]
    tokens.map_or(0.0, |tokens| ((tokens as f64 / 32e3).log2() / (1e6 / 32e3_f64).log2()).clamp(0.0, 1.0))
}

fn quickness(latency: Option<Latency>) -> f64 {
    match latency {
        Some(Latency::Fast) => 1.0,
        Some(Latency::Medium) | None => 0.5,
        Some(Latency::Slow) => 0.1,
    }
}

/// The share of what would be nice that it can do; what is unknown counts half.
fn abilities(row: &ModelRow, wants_reasoning: bool) -> f64 {
    let has = |known: Option<bool>| match known {
        Some(true) => 1.0,
        Some(false) => 0.0,
        None => 0.5,
    };
    if wants_reasoning {
        0.5 * has(row.reasoning) + 0.3 * has(row.tools) + 0.2 * has(row.structured)
    } else {
        0.6 * has(row.tools) + 0.4 * has(row.structured)
    }
}
