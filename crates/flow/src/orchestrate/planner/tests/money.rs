//! Money: what is shared out, what is kept, and that no orchestration overspends by more than one request.

use std::cell::Cell;
use std::rc::Rc;

use holon_host::{BudgetIsSpent, MostCost, SharedBudget};

use super::*;
use crate::orchestrate::reserve;

/// Numbers that are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    /// Between nothing and one dollar.
    fn cents(&mut self) -> f64 {
        (1 + self.roll(100)) as f64 / 100.0
    }
}

/// What all requests came to.
#[derive(Default)]
struct Till {
    charged: Cell<f64>,
    dearest: Cell<f64>,
}

/// One child: so many requests, each with the most it can cost and what it costs.
async fn child(budget: SharedBudget, requests: Vec<(MostCost, f64)>, own: f64, till: Rc<Till>) -> AttemptEnd {
    let mut spent = 0.0;
    let mut reason = None;
    for (most, cost) in requests {
        if spent >= own {
            reason = Some("its part is spent");
            break;
        }
        let share = match budget.admit(most).await {
            Ok(share) => share,
            Err(BudgetIsSpent) => {
                reason = Some("all is spent");
                break;
            }
        };
        // Under way: others come in between.
        tokio::task::yield_now().await;
        till.charged.set(till.charged.get() + cost);
        till.dearest.set(till.dearest.get().max(cost));
        tokio::task::yield_now().await;
        share.settle(Some(cost));
        spent += cost;
    }
    let outcome = if reason.is_some() { RunOutcome::Failure } else { RunOutcome::Success };
    let status = if reason.is_some() { RunStatus::Timeout } else { RunStatus::Completed };
    AttemptEnd {
        status,
        error: reason.map(|reason| ("cost_usd".to_owned(), reason.to_owned())),
        cost_usd: spent,
        ..end(outcome, ModeDecision::Approve, true)
    }
}

fn random_plan(dice: &mut Dice) -> OrchestrationGraph {
    let count = 2 + dice.roll(7);
    let tasks = (0..count).map(|number| {
        let mode = ["execute", "execute", "architect", "review", "debug"][dice.roll(5) as usize];
        let before: Vec<String> =
            (0..number).filter(|_| dice.roll(3) == 0).map(|n| format!("t{n}")).collect();
        let before: Vec<&str> = before.iter().map(String::as_str).collect();
        task(&format!("t{number}"), mode, &before)
    });
    OrchestrationGraph { tasks: tasks.collect(), ..OrchestrationGraph::default() }
}

/// Plays one orchestration with the planner, the shares and the budget that runs go by.
async fn play_with_money(seed: u64) -> (f64, OrchestrationState, Rc<Till>, OrchestrationEnd) {
    let mut dice = Dice(seed);
    let mut state = state(random_plan(&mut dice));
    let limit = dice.cents() * (1 + dice.roll(8)) as f64;
    state.max_cost_usd = Some(limit);
    let (budget, till) = (SharedBudget::new(limit, 0.0), Rc::new(Till::default()));
    for _ in 0..200 {
        match next(&state, 0) {
            OrchestrationAction::End(ended) => return (limit, state, till, ended),
            OrchestrationAction::Plan => panic!("planned twice"),
            OrchestrationAction::Leave { node } => apply(&mut state, OrchestrationEvent::Left { node }),
            OrchestrationAction::Replan { node } => {
                apply(&mut state, OrchestrationEvent::Replanning { node });
                let answer = Err("no answer".into());
                apply(&mut state, OrchestrationEvent::Replanned { run: None, answer });
            }
            OrchestrationAction::Check { node } => panic!("nothing was to be checked: {node}"),
            OrchestrationAction::Merge { node } => {
                let task = state.nodes[node].task.id.clone();
                let (file, sha256) = (String::new(), String::new());
                let merge = MergedChange { task, how: MergeMethod::Clean, file, sha256, paths: vec![] };
                apply(&mut state, OrchestrationEvent::Merged { node, merge: Some(merge) });
            }
            OrchestrationAction::Begin(starts) => {
                let shares = reserve::shares(&state, &starts);
                let local = tokio::task::LocalSet::new();
                let mut under_way = Vec::new();
                for (start, own) in starts.iter().zip(shares) {
                    begin(&mut state, *start);
                    let requests = (0..1 + dice.roll(6)).map(|_| {
                        let cost = dice.cents() / 2.0;
                        let most = match dice.roll(3) {
                            0 => MostCost::Unknown,
                            _ => MostCost::AtMost(cost * (1.0 + dice.cents())),
                        };
                        (most, cost)
                    });
                    let requests: Vec<_> = requests.collect();
                    let (budget, till) = (budget.clone(), Rc::clone(&till));
                    under_way.push(local.spawn_local(child(budget, requests, own.unwrap(), till)));
                }
                let ends = local.run_until(async {
                    let mut ends = Vec::new();
                    for child in under_way {
                        ends.push(child.await.unwrap());
                    }
                    ends
                });
                for (start, end) in starts.iter().zip(ends.await) {
                    let end = Box::new(end);
                    apply(&mut state, OrchestrationEvent::Ended { node: start.node, end });
                }
            }
        }
    }
    panic!("it never ends: {state:?}")
}

#[test]
fn no_orchestration_overspends_by_more_than_one_request() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (mut over, mut whole, mut side_by_side) = (0, 0, 0);
    for seed in 0..200 {
        let (limit, state, till, ended) = runtime.block_on(play_with_money(seed));
        let (charged, dearest) = (till.charged.get(), till.dearest.get());
        assert!(charged <= limit + dearest + 1e-9, "{seed}: {charged} of {limit}, {dearest} at most");
        assert!(
            (state.spent_usd - charged).abs() < 1e-9,
            "{seed}: {} counted, {charged} paid",
            state.spent_usd
        );
        let told: f64 = state.every_attempt().map(TaskAttempt::cost_usd).sum();
        assert!((told - charged).abs() < 1e-9, "{seed}: {told} told, {charged} paid");
        over += u32::from(charged > limit);
        whole += u32::from(ended == OrchestrationEnd::Complete);
        side_by_side +=
            u32::from(state.nodes.iter().filter(|node| node.task.depends_on.is_empty()).count() > 1);
    }
    // Otherwise this says nothing.
    assert!(
        over > 5 && whole > 20 && side_by_side > 100,
        "{over} over, {whole} whole, {side_by_side} side by side"
    );
}

fn spent(spent: f64, modes: &[&str], merged: bool) -> OrchestrationState {
    let tasks = modes.iter().enumerate().map(|(nth, mode)| task(&format!("t{nth}"), mode, &[])).collect();
    let mut state = state(OrchestrationGraph { tasks, ..OrchestrationGraph::default() });
    (state.max_cost_usd, state.spent_usd) = (Some(10.0), spent);
    if merged {
        let (file, sha256) = (String::new(), String::new());
        let merge = MergedChange { task: "t0".into(), how: MergeMethod::Clean, file, sha256, paths: vec![] };
        state.merges.push(merge);
    }
    state
}

#[test]
fn a_tenth_is_kept_for_whoever_looks_at_what_is_done() {
    let start = |node| ChildStart { node, purpose: AttemptPurpose::Task };
    let starts = [start(0), start(1)];
    let first = spent(4.0, &["execute", "execute"], false);
    assert_eq!(reserve::shares(&first, &starts), [Some(3.0), Some(3.0)], "nothing is done yet");
    let later = spent(4.0, &["execute", "review"], true);
    assert_eq!(reserve::shares(&later, &starts), [Some(2.5), Some(3.0)]);
    assert!(!reserve::is_short(&later));
    let short = spent(9.0, &["execute", "review"], true);
    assert!(reserve::is_short(&short));
    assert_eq!(next(&short, 0), OrchestrationAction::Leave { node: None });
    assert!(!reserve::is_short(&spent(9.0, &["review", "ethical"], true)), "only those are to come");
    assert!(!reserve::is_short(&spent(9.0, &["execute"], false)), "there is nothing to bring home");
}

#[test]
fn a_task_without_money_ends_the_whole_and_goes_on_with_more() {
    let mut state = spent(9.0, &["execute"], false);
    begin(&mut state, ChildStart { node: 0, purpose: AttemptPurpose::Task });
    let error = Some(("cost_usd".to_owned(), "spent".to_owned()));
    let cut = AttemptEnd {
        status: RunStatus::Timeout,
        error,
        cost_usd: 1.2,
        ..end(RunOutcome::Failure, ModeDecision::Approve, false)
    };
    apply(&mut state, OrchestrationEvent::Ended { node: 0, end: Box::new(cut) });
    assert_eq!(next(&state, 0), OrchestrationAction::End(OrchestrationEnd::OutOfMoney));
    state.ended = Some(OrchestrationEnd::OutOfMoney);
    state.sealed = true;
    let mut again = crate::orchestrate::resumed::resumed(state, None, false).unwrap();
    assert_eq!(next(&again, 0), OrchestrationAction::End(OrchestrationEnd::OutOfMoney), "nothing was given");
    again.max_cost_usd = Some(20.0);
    let start = ChildStart { node: 0, purpose: AttemptPurpose::Task };
    assert_eq!(next(&again, 0), OrchestrationAction::Begin(vec![start]));
}
