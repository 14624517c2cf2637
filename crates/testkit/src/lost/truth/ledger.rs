//! The facts of a run, counted.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// A call that came back.
#[derive(Debug, Clone)]
pub(super) struct CountedCall {
    /// The command line, or the tool.
    pub(super) label: String,
    pub(super) ok: bool,
    pub(super) exit: Option<i64>,
    /// What it printed where it failed.
    pub(super) error: String,
    /// How many changes there had been when it came back.
    pub(super) version: u64,
    pub(super) check: bool,
}

/// A check that came back.
#[derive(Debug, Clone)]
pub(super) struct CountedCheck {
    pub(super) command: String,
    pub(super) ok: bool,
    pub(super) failed: u64,
    pub(super) failing: BTreeSet<String>,
    pub(super) version: u64,
}

/// What one round brought.
#[derive(Debug, Clone, Default)]
pub(super) struct CountedRound {
    /// Contents and outputs that were not known before.
    pub(super) news: u64,
    pub(super) changed: bool,
    /// Whether a check had passed before it, and none has failed since.
    pub(super) after_green: bool,
    pub(super) empty: bool,
}

/// Everything that was told until now.
#[derive(Debug, Default)]
pub(super) struct TruthLedger {
    pub(super) goal: String,
    pub(super) checks: Vec<String>,
    pub(super) round_limit: u64,
    pub(super) token_limit: u64,
    pub(super) tokens: u64,
    pub(super) rounds: Vec<CountedRound>,
    pub(super) ran: Vec<CountedCall>,
    pub(super) checked: Vec<CountedCheck>,
    /// Paths with what was there first and what is there now.
    files: BTreeMap<String, (String, String)>,
    pub(super) version: u64,
    pub(super) malformed: u64,
    pub(super) said_done: u64,
    pub(super) asked: u64,
    /// Labels of calls, and whether they only steer the run.
    proposed: BTreeMap<String, (String, bool)>,
    known: BTreeSet<String>,
    calls: u64,
    now: CountedRound,
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or(0)
}

fn list<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value[name].as_array().into_iter().flatten()
}

impl TruthLedger {
    pub(super) fn new(goal: &str) -> Self {
        Self { goal: goal.to_owned(), ..Self::default() }
    }

    pub(super) fn take(&mut self, fact: &Value) {
        match fact["fact"].as_str().unwrap_or_default() {
            "run_started" => {
                self.checks = list(fact, "checks").map(|check| text(check, "command")).collect();
                self.round_limit = number(fact, "round_limit");
                self.token_limit = number(fact, "token_limit");
            }
            "round_started" => {
                let green = self.checked.last().is_some_and(|last| last.ok);
                (self.now, self.calls) = (CountedRound { after_green: green, ..CountedRound::default() }, 0);
            }
            "tool_proposed" => {
                let label = fact["command"].as_str().map_or_else(|| text(fact, "tool"), str::to_owned);
                self.proposed.insert(text(fact, "call"), (label, fact["class"] == "control"));
                self.calls += 1;
            }
            "tool_finished" => self.finished(fact),
            "check_ran" => self.check_ran(fact),
            "call_malformed" => {
                self.malformed += 1;
                self.calls += 1;
            }
            "round_ended" => {
                self.changes(fact);
                self.tokens += number(fact, "tokens");
                self.now.empty = self.calls == 0 && fact["text"] != true;
                self.rounds.push(self.now.clone());
            }
            "model_done" | "model_gave_up" => self.said_done += 1,
            "user_force_takeover" => self.asked += 1,
            _ => {}
        }
    }

    fn finished(&mut self, fact: &Value) {
        let evidence = &fact["evidence"];
        self.changes(evidence);
        for read in list(evidence, "read") {
            self.learn(&format!("{} {}", text(read, "path"), text(read, "hash")));
        }
        let ok = fact["ok"] == true;
        let result = text(fact, "result");
        let (label, steers) = self.proposed.get(&text(fact, "call")).cloned().unwrap_or_default();
        // What a list of one's own steps says is nothing about the work.
        let check = fact["check"] == true;
        if !result.is_empty() && !steers && !check {
            self.learn(&format!("result {result}"));
        }
        let (exit, error) = (fact["exit"].as_i64(), text(fact, "error"));
        self.ran.push(CountedCall { label, ok, exit, error, version: self.version, check });
    }

    fn check_ran(&mut self, fact: &Value) {
        self.changes(fact);
        let failing: BTreeSet<String> =
            list(fact, "failing").filter_map(Value::as_str).map(str::to_owned).collect();
        let ok = fact["exit"] == 0;
        // Whatever has no program to run says nothing.
        if matches!(fact["exit"].as_i64(), Some(126 | 127)) {
            return;
        }
        let command = text(fact, "command");
        let result = text(fact, "result");
        // The same words are the same answer, however the check was asked.
        let asked = if result.is_empty() { command.as_str() } else { "" };
        self.learn(&format!("check {asked} {ok} {failing:?} {result}"));
        self.checked.push(CountedCheck {
            command,
            ok,
            failed: number(fact, "failed"),
            failing,
            version: self.version,
        });
    }

    fn changes(&mut self, value: &Value) {
        for change in list(value, "changed") {
            let (path, before, after) = (text(change, "path"), text(change, "before"), text(change, "after"));
            if before == after {
                continue;
            }
            self.version += 1;
            self.now.changed = true;
            self.learn(&format!("{path} {after}"));
            self.files.entry(path).or_insert_with(|| (before, String::new())).1 = after;
        }
    }

    fn learn(&mut self, what: &str) {
        if self.known.insert(what.to_owned()) {
            self.now.news += 1;
        }
    }

    /// Files that are not what they were.
    pub(super) fn differing(&self) -> BTreeSet<&str> {
        self.files.iter().filter(|(_, (first, now))| first != now).map(|(path, _)| path.as_str()).collect()
    }

    /// Files that were changed at any time.
    pub(super) fn touched(&self) -> usize {
        self.files.len()
    }

    pub(super) fn last_check(&self, command: &str) -> Option<&CountedCheck> {
        self.checked.iter().rev().find(|check| check.command == command)
    }

    pub(super) fn last_run(&self, label: &str) -> Option<&CountedCall> {
        self.ran.iter().rev().find(|ran| begins(&ran.label, label))
    }

    /// Failures of one call in a row, on the state as it is.
    pub(super) fn vain(&self, label: &str) -> u64 {
        let own = self.ran.iter().rev().filter(|ran| begins(&ran.label, label));
        own.take_while(|ran| !ran.ok && ran.version == self.version).count() as u64
    }

    /// Whether this command has been run, or is one that is known.
    pub(super) fn knows(&self, command: &str) -> bool {
        self.checks.iter().any(|check| check == command)
            || self.checked.iter().any(|check| check.command == command)
            || self.ran.iter().any(|ran| begins(&ran.label, command))
    }
}

/// Labels are cut when they are long.
pub(super) fn begins(whole: &str, label: &str) -> bool {
    whole == label || label.strip_suffix('…').is_some_and(|head| whole.starts_with(head))
}
