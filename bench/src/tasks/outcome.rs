//! What became of the runs, in tables and as JSON.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::interval::wilson;
use super::proxy::ProxyTally;
use super::task::TaskKind;

/// One agent in one task.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TaskResult {
    pub(crate) task: String,
    pub(crate) kind: TaskKind,
    pub(crate) language: String,
    pub(crate) about: String,
    pub(crate) agent: String,
    pub(crate) solved: bool,
    /// The check the agent could see, with the tests as they were; only of changes.
    pub(crate) visible: Option<bool>,
    /// The exit code, or how else it ended.
    pub(crate) exit: String,
    pub(crate) seconds: f64,
    pub(crate) tally: ProxyTally,
    /// Why it is not solved.
    pub(crate) why: String,
}

/// What one agent did in all tasks of some kinds.
#[derive(Debug, Default)]
struct ResultSum {
    solved: usize,
    runs: usize,
    /// Ended with 0 although nothing was solved.
    hollow: usize,
    seconds: f64,
    tally: ProxyTally,
    exits: BTreeMap<String, usize>,
}

impl ResultSum {
    fn of<'a>(outcomes: impl Iterator<Item = &'a TaskResult>) -> Self {
        let mut sum = Self::default();
        for outcome in outcomes {
            sum.runs += 1;
            sum.solved += usize::from(outcome.solved);
            sum.hollow += usize::from(!outcome.solved && outcome.exit == "0");
            sum.seconds += outcome.seconds;
            sum.tally.add(&outcome.tally);
            *sum.exits.entry(outcome.exit.clone()).or_default() += 1;
        }
        sum
    }

    fn exits(&self) -> String {
        let all: Vec<String> = self.exits.iter().map(|(exit, count)| format!("{exit}×{count}")).collect();
        all.join(" ")
    }
}

/// In the order in which they first took part.
fn agents(outcomes: &[TaskResult]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for outcome in outcomes {
        if !names.contains(&outcome.agent.as_str()) {
            names.push(&outcome.agent);
        }
    }
    names.sort_by_key(|name| (!name.starts_with("holon"), *name));
    names
}

const KINDS: [TaskKind; 4] = [TaskKind::Change, TaskKind::Plan, TaskKind::Review, TaskKind::Ask];

/// A line for each agent and kind, and one for each agent in all.
pub(crate) fn by_agent(outcomes: &[TaskResult]) -> Vec<String> {
    let head = [
        "agent",
        "kind",
        "solved",
        "95 %",
        "calls",
        "prompt tok",
        "reply tok",
        "KB sent",
        "seconds",
        "exit 0 unsolved",
        "exits",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for agent in agents(outcomes) {
        let own = || outcomes.iter().filter(move |outcome| outcome.agent == agent);
        let sums =
            KINDS.map(|kind| (kind.name(), ResultSum::of(own().filter(|outcome| outcome.kind == kind))));
        let several = sums.iter().filter(|(_, sum)| sum.runs > 0).count() > 1;
        let all = several.then(|| ("all", ResultSum::of(own())));
        for (kind, sum) in sums.iter().chain(all.iter()).filter(|(_, sum)| sum.runs > 0) {
            let (low, high) = wilson(sum.solved, sum.runs);
            let tally = &sum.tally;
            // Tokens that were made from bytes are marked.
            let mark = if tally.estimated_calls > 0 { "~" } else { "" };
            rows.push(vec![
                agent.to_owned(),
                (*kind).to_owned(),
                format!("{} of {}", sum.solved, sum.runs),
                format!("{:.0}–{:.0} %", low * 100.0, high * 100.0),
                tally.calls.to_string(),
                format!("{mark}{}", tally.prompt_tokens),
                format!("{mark}{}", tally.completion_tokens),
                (tally.bytes_sent / 1024).to_string(),
                format!("{:.0}", sum.seconds),
                sum.hollow.to_string(),
                sum.exits(),
            ]);
        }
    }
    columns(&rows)
}

/// A line for each task, a column for each agent.
pub(crate) fn by_task(outcomes: &[TaskResult]) -> Vec<String> {
    let agents = agents(outcomes);
    let mut rows = vec![std::iter::once("task").chain(agents.iter().copied()).map(str::to_owned).collect()];
    let mut tasks: Vec<&str> = outcomes.iter().map(|outcome| outcome.task.as_str()).collect();
    tasks.sort_unstable();
    tasks.dedup();
    for task in tasks {
        let mut row = vec![task.to_owned()];
        for agent in &agents {
            let found = outcomes.iter().find(|outcome| outcome.task == task && outcome.agent == *agent);
            row.push(found.map_or_else(|| "-".to_owned(), cell));
        }
        rows.push(row);
    }
    columns(&rows)
}

fn cell(outcome: &TaskResult) -> String {
    let word = if outcome.solved { "solved" } else { "no" };
    format!("{word}, {} calls, {:.0} s, exit {}", outcome.tally.calls, outcome.seconds, outcome.exit)
}

fn columns(rows: &[Vec<String>]) -> Vec<String> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..count).map(|at| width(at).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Sums and runs for a file.
pub(crate) fn to_json(outcomes: &[TaskResult]) -> Value {
    let sums: Vec<Value> = agents(outcomes)
        .into_iter()
        .flat_map(|agent| KINDS.map(|kind| (agent, kind)))
        .filter_map(|(agent, kind)| {
            let own = outcomes.iter().filter(|outcome| outcome.agent == agent && outcome.kind == kind);
            let sum = ResultSum::of(own);
            let (low, high) = wilson(sum.solved, sum.runs);
            (sum.runs > 0).then(|| {
                json!({
                    "agent": agent, "kind": kind, "solved": sum.solved, "runs": sum.runs, "low": low, "high": high,
                    "seconds": sum.seconds, "exit_0_unsolved": sum.hollow, "exits": sum.exits, "used": sum.tally,
                })
            })
        })
        .collect();
    json!({ "agents": sums, "runs": outcomes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(agent: &str, task: &str, kind: TaskKind, solved: bool, exit: &str) -> TaskResult {
        let tally =
            ProxyTally { calls: 2, prompt_tokens: 100, completion_tokens: 10, ..ProxyTally::default() };
        TaskResult {
            task: task.to_owned(),
            kind,
            language: "c".to_owned(),
            about: "state".to_owned(),
            agent: agent.to_owned(),
            solved,
            visible: None,
            exit: exit.to_owned(),
            seconds: 1.5,
            tally,
            why: String::new(),
        }
    }

    #[test]
    fn sums_are_made_by_agent_and_kind() {
        let outcomes = [
            outcome("other", "a", TaskKind::Change, false, "0"),
            outcome("holon-off", "a", TaskKind::Change, true, "0"),
            outcome("holon-off", "b", TaskKind::Change, false, "2"),
            outcome("holon-off", "c", TaskKind::Ask, true, "0"),
        ];
        let lines = by_agent(&outcomes);
        assert_eq!(lines.len(), 1 + 3 + 1);
        assert!(
            lines[1].starts_with("holon-off  change  1 of 2") && lines[1].contains("0×1 2×1"),
            "{lines:#?}"
        );
        assert!(
            lines[3].contains("all") && lines[3].contains("2 of 3") && lines[3].contains("300"),
            "{lines:#?}"
        );
        assert!(lines[4].contains("0 of 1") && lines[4].contains("0–79 %"), "{lines:#?}");
        let tasks = by_task(&outcomes);
        assert!(
            tasks[2].starts_with("b") && tasks[2].ends_with('-') && tasks[2].contains("exit 2"),
            "{tasks:#?}"
        );
        let json = to_json(&outcomes);
        assert_eq!(json["agents"][0]["solved"], 1);
        assert_eq!(json["agents"][2]["exit_0_unsolved"], 1);
        assert_eq!(json["runs"].as_array().map(Vec::len), Some(4));
    }
}
