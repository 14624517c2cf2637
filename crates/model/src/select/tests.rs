//! Choices, as a table of wishes and answers.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::catalogue::{Latency, Tier};
use crate::usage::Prices;

/// A model with everything, at dollars per million tokens of input (output costs five times as much).
fn row(id: &str, tier: Tier, dollars: f64) -> ModelRow {
    let prices = Prices { input: dollars / 1e6, output: dollars * 5e-6, cache_read: None, cache_write: None };
    ModelRow {
        context: Some(200_000),
        prices: Some(prices),
        tools: Some(true),
        reasoning: Some(true),
        structured: Some(true),
        latency: Some(Latency::Medium),
        tier,
        ..ModelRow::new("openrouter", id)
    }
}

fn rows() -> Vec<ModelRow> {
    vec![
        row("a/frontier", Tier::Frontier, 15.0),
        row("b/strong", Tier::Strong, 2.0),
        row("c/capable", Tier::Capable, 0.3),
        row("d/small", Tier::Small, 0.02),
    ]
}

fn chosen(intent: ModelIntent, constraints: &ModelConstraints, rows: &[ModelRow]) -> String {
    select(intent, constraints, rows).unwrap().model
}

#[test]
fn each_policy_takes_its_own() {
    let with = |policy| ModelConstraints { policy, ..ModelConstraints::default() };
    for (policy, expect) in [
        (ModelPolicy::Auto, "b/strong"),
        (ModelPolicy::Best, "a/frontier"),
        (ModelPolicy::Cheapest, "d/small"),
        (ModelPolicy::LegacyDefault, ModelRowTable::builtin().default_of("openrouter").unwrap()),
    ] {
        assert_eq!(chosen(ModelIntent::Code, &with(policy), &rows()), expect, "{policy}");
    }
    let pinned = ModelConstraints { pinned: Some("x/own".into()), ..with(ModelPolicy::Pinned) };
    assert_eq!(chosen(ModelIntent::Code, &pinned, &[]), "x/own");
    assert_eq!(select(ModelIntent::Code, &with(ModelPolicy::Pinned), &rows()), Err(NoModel::Unnamed));
    let legacy = ModelConstraints { legacy: Some("y/old".into()), ..with(ModelPolicy::LegacyDefault) };
    assert_eq!(chosen(ModelIntent::Code, &legacy, &rows()), "y/old");
}

#[test]
fn every_filter_says_why() {
    let none = ModelConstraints::default();
    let good = || row("m/m", Tier::Strong, 1.0);
    let check = |intent, constraints: &ModelConstraints, row: ModelRow, expect: &str| {
        let NoModel::Rejected { rejected, .. } = select(intent, constraints, &[row]).unwrap_err() else {
            unreachable!("{expect}")
        };
        assert_eq!(rejected[0].why, expect);
    };
    check(ModelIntent::Code, &none, ModelRow { text_output: false, ..good() }, "does not answer in text");
    check(
        ModelIntent::Code,
        &none,
        ModelRow { router: true, ..good() },
        "stands for other models, at prices not known beforehand",
    );
    check(ModelIntent::Code, &none, ModelRow { free: true, ..good() }, "free variant with tight limits");
    for intent in [ModelIntent::Code, ModelIntent::Debug] {
        check(intent, &none, ModelRow { tools: Some(false), ..good() }, "no native tool calls");
    }
    for intent in [ModelIntent::Review, ModelIntent::Ethical] {
        check(intent, &none, ModelRow { structured: Some(false), ..good() }, "no structured output");
    }
    check(ModelIntent::Code, &none, ModelRow { context: Some(16_384), ..good() }, "context 16k is below 64k");
    let long = ModelConstraints { min_context: Some(1_000_000), ..none.clone() };
    check(ModelIntent::Code, &long, good(), "context 200k is below 1.0M");
    check(ModelIntent::Code, &long, ModelRow { context: None, ..good() }, "context unknown");
    let cheap = ModelConstraints { max_price: Some(1.5), ..none.clone() };
    check(ModelIntent::Code, &cheap, good(), "$2.00 per million tokens is above $1.50");
    check(ModelIntent::Code, &cheap, ModelRow { prices: None, ..good() }, "price unknown");
    let thinking = ModelConstraints { reasoning: Some(Preference::Required), ..none.clone() };
    check(ModelIntent::Code, &thinking, ModelRow { reasoning: Some(false), ..good() }, "no reasoning");
    let local = ModelConstraints { data: DataPolicy::Local, ..none.clone() };
    check(ModelIntent::Code, &local, good(), "not on this machine");
    let private = ModelConstraints { data: DataPolicy::NoTraining, allow_free: true, ..none.clone() };
    check(
        ModelIntent::Code,
        &private,
        ModelRow { free: true, ..good() },
        "may be trained on what it is told",
    );
    let elsewhere = ModelConstraints { provider: Some("anthropic".into()), ..none };
    check(ModelIntent::Code, &elsewhere, good(), "not offered by anthropic");
}

#[test]
fn what_is_asked_for_counts() {
    let free = ModelRow { free: true, ..row("a/free:free", Tier::Frontier, 0.0) };
    let router = ModelRow { router: true, prices: None, ..row("openrouter/auto", Tier::Frontier, 0.0) };
    let rows = [free, router, row("b/paid", Tier::Small, 1.0)];
    let none = ModelConstraints::default();
    assert_eq!(chosen(ModelIntent::Code, &none, &rows), "b/paid");
    assert_eq!(
        chosen(ModelIntent::Code, &ModelConstraints { allow_free: true, ..none.clone() }, &rows),
        "a/free:free"
    );
    assert_eq!(
        chosen(ModelIntent::Code, &ModelConstraints { allow_routers: true, ..none }, &rows),
        "openrouter/auto"
    );
}

#[test]
fn reasoning_decides_between_equals_when_debugging() {
    let silent = ModelRow { reasoning: Some(false), ..row("a/silent", Tier::Strong, 1.0) };
    let rows = [silent, row("b/thinking", Tier::Strong, 1.0)];
    assert_eq!(chosen(ModelIntent::Debug, &ModelConstraints::default(), &rows), "b/thinking");
    let indifferent =
        ModelConstraints { reasoning: Some(Preference::Indifferent), ..ModelConstraints::default() };
    assert_eq!(chosen(ModelIntent::Debug, &indifferent, &rows), "a/silent");
}

#[test]
fn a_task_stays_with_its_model_unless_another_is_much_better() {
    let close = [row("a/first", Tier::Strong, 1.0), row("b/second", Tier::Strong, 1.4)];
    let far = [row("a/first", Tier::Frontier, 1.0), row("b/second", Tier::Small, 1.4)];
    let staying = ModelConstraints { current: Some("b/second".into()), ..ModelConstraints::default() };
    assert_eq!(chosen(ModelIntent::Code, &ModelConstraints::default(), &close), "a/first");
    assert_eq!(chosen(ModelIntent::Code, &staying, &close), "b/second");
    assert_eq!(chosen(ModelIntent::Code, &staying, &far), "a/first");
}

#[test]
fn the_newer_of_two_generations_is_taken() {
    let of = |id: &str, created| ModelRow { created: Some(created), ..row(id, Tier::Strong, 1.0) };
    let month = 30 * 24 * 3600;
    let close = [of("a/five", 1_790_000_000), of("a/five.5", 1_790_000_000 + month / 30)];
    assert_eq!(chosen(ModelIntent::Code, &ModelConstraints::default(), &close), "a/five.5");
    // Half a price does not make up for years.
    let cheap = ModelRow { created: Some(1_790_000_000 - 30 * month), ..row("a/old", Tier::Strong, 0.7) };
    assert_eq!(
        chosen(ModelIntent::Code, &ModelConstraints::default(), &[cheap, of("b/new", 1_790_000_000)]),
        "b/new"
    );
}

#[test]
fn a_pinned_model_is_taken_and_what_speaks_against_it_is_said() {
    let pinned = ModelConstraints {
        policy: ModelPolicy::Pinned,
        pinned: Some("m/m".into()),
        ..ModelConstraints::default()
    };
    let mute = ModelRow { tools: Some(false), ..row("m/m", Tier::Strong, 1.0) };
    let selection = select(ModelIntent::Code, &pinned, &[mute]).unwrap();
    assert_eq!(selection.reason, "pinned, although: no native tool calls");
}

#[test]
fn the_table_gives_sensible_choices() {
    for provider in ["openrouter", "anthropic", "openai"] {
        let rows = ModelRowTable::builtin().rows(provider);
        for intent in ModelIntent::ALL {
            let selection = select(intent, &ModelConstraints::default(), &rows).unwrap();
            let chosen = rows.iter().find(|row| row.id == selection.model).unwrap();
            assert!(chosen.tier >= Tier::Strong, "{provider} {intent}: {}", selection.model);
            assert!(selection.reason.contains(intent.name()), "{}", selection.reason);
        }
    }
}

#[test]
fn an_empty_choice_names_the_commonest_reasons() {
    let strict = ModelConstraints { max_price: Some(0.0001), ..ModelConstraints::default() };
    let error = select(ModelIntent::Review, &strict, &rows()).unwrap_err().to_string();
    assert!(error.starts_with("none of 4 models fits review: 1× $"), "{error}");
    assert_eq!(select(ModelIntent::Code, &strict, &[]), Err(NoModel::Nothing));
}

#[test]
fn hosts_that_train_are_ruled_out_in_the_request_too() {
    assert!(ModelConstraints::default().routing().is_empty());
    let private = ModelConstraints { data: DataPolicy::NoTraining, ..ModelConstraints::default() };
    assert_eq!(Value::Object(private.routing()), json!({"provider": {"data_collection": "deny"}}));
}

fn any_row() -> impl Strategy<Value = ModelRow> {
    let flags = (any::<[bool; 4]>(), any::<[Option<bool>; 3]>());
    let tier = prop_oneof![Just(Tier::Small), Just(Tier::Unknown), Just(Tier::Strong), Just(Tier::Frontier)];
    ("[a-c]/[a-z]{1,3}", tier, prop::option::of(0.0..1e-4), prop::option::of(0u64..2_000_000), flags)
        .prop_map(
            |(
                id,
                tier,
                price,
                context,
                ([text_output, router, free, approximate], [tools, reasoning, structured]),
            )| {
                let prices =
                    price.map(|input| Prices { input, output: input, cache_read: None, cache_write: None });
                let base = ModelRow::new("openrouter", id);
                ModelRow {
                    tier,
                    prices,
                    context,
                    text_output,
                    router,
                    free,
                    approximate,
                    tools,
                    reasoning,
                    structured,
                    ..base
                }
            },
        )
}

proptest! {
    #[test]
    fn the_order_of_rows_makes_no_difference(
        rows in prop::collection::vec(any_row(), 1..12),
        policy in prop_oneof![Just(ModelPolicy::Auto), Just(ModelPolicy::Best), Just(ModelPolicy::Cheapest)],
        intent in prop::sample::select(ModelIntent::ALL.to_vec()),
    ) {
        let mut rows = rows;
        rows.sort_by(|a, b| a.id.cmp(&b.id));
        rows.dedup_by(|a, b| a.id == b.id);
        let constraints = ModelConstraints { policy, ..ModelConstraints::default() };
        let forwards = select(intent, &constraints, &rows);
        rows.reverse();
        prop_assert_eq!(&forwards, &select(intent, &constraints, &rows));
        if let Ok(selection) = forwards {
            prop_assert_eq!(selection.candidates.len() + selection.rejected.len(), rows.len());
            prop_assert!(selection.candidates.iter().all(|candidate| candidate.score <= 1080));
            if policy == ModelPolicy::Auto {
                prop_assert!(selection.candidates.windows(2).all(|pair| pair[0].score >= pair[1].score));
            }
        }
    }
}
