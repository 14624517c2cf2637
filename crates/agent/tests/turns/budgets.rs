//! Rounds, tokens and money end a turn cleanly.

use holon_agent::{TurnEndReason, TurnLimit, TurnLimits};
use holon_core::event::EventBody;
use holon_model::Prices;

use crate::memory::InMemoryExecutor;
use crate::stage::{TurnStage, settings};

const ROUND: &str = "- { tool: ls, usage: { input: 900, cache_read: 50, output: 40, reasoning: 10 } }\n";

fn check(limits: TurnLimits, prices: Option<Prices>, rounds: usize, expect: TurnLimit) {
    let hands = InMemoryExecutor::default();
    let mut settings = settings("execute");
    (settings.limits, settings.prices) = (limits, prices);
    let played = TurnStage::new(settings, &hands).play(&ROUND.repeat(rounds));
    assert_eq!(played.ended.reason, TurnEndReason::Limit(expect));
    assert_eq!(played.ended.rounds, rounds as u64);
    let used = played.ended.usage;
    let count = rounds as u64;
    assert_eq!(
        (used.input, used.cache_read, used.output, used.reasoning),
        (900 * count, 50 * count, 40 * count, 10 * count)
    );
    assert_eq!(played.conversation.usage, used);
    assert!(
        played
            .events
            .iter()
            .any(|body| matches!(body, EventBody::LimitHit { limit, .. } if limit == expect.name()))
    );
    let totals = played.events.iter().filter(|body| matches!(body, EventBody::Usage { .. })).count();
    assert_eq!(totals, rounds);
}

#[test]
fn each_budget_ends_the_turn() {
    let limits = TurnLimits { rounds: 100, tokens: u64::MAX, cost_usd: 100.0 };
    check(TurnLimits { rounds: 3, ..limits }, None, 3, TurnLimit::Rounds);
    check(TurnLimits { tokens: 1_500, ..limits }, None, 2, TurnLimit::Tokens);
    let prices = Prices { input: 1e-3, output: 0.0, ..Prices::default() };
    check(TurnLimits { cost_usd: 1.8, ..limits }, Some(prices), 2, TurnLimit::Cost);
}

#[test]
fn three_malformed_calls_go_on_until_the_rounds_are_used_up() {
    let hands = InMemoryExecutor::default();
    let mut settings = settings("execute");
    settings.limits.rounds = 5;
    let bad = "- reply: [{ tool: read_file, raw: '[1]' }]\n";
    let played = TurnStage::new(settings, &hands).play(&bad.repeat(5));
    assert_eq!(played.ended.reason, TurnEndReason::Limit(TurnLimit::Rounds));
    assert!(hands.deeds().is_empty());
}
