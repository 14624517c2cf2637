//! Whether what the supervisor said to a model was true: every sentence held against the facts that were told until then.
//!
//! The facts are counted here once more and in another way; nothing is taken from the supervisor's own state. A sentence
//! that is not understood counts as untrue, so that no new one goes unread.

mod ledger;
mod sentence;

use serde_json::Value;

use ledger::TruthLedger;

/// What was said in one run.
#[derive(Debug, Clone, Default)]
pub struct TruthReport {
    /// How many sentences were held against the facts.
    pub sentences: u64,
    /// Those that are not true, contradict another of the same text, or are of another goal.
    pub untrue: Vec<String>,
    /// Everything that may stand in a request, in the order it was decided.
    texts: Vec<String>,
}

impl TruthReport {
    /// What the events of a run tell about it.
    pub fn of_events(goal: &str, events: &str) -> Self {
        let mut told = Self::default();
        let mut ledger = TruthLedger::new(goal);
        for event in events.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            let Some(fact) = find(&event, "fact").filter(|fact| fact.is_object()) else { continue };
            ledger.take(fact);
            let empty = Vec::new();
            let decisions = find(&event, "decisions").and_then(Value::as_array).unwrap_or(&empty);
            for text in decisions.iter().filter_map(said) {
                told.hear(&ledger, text);
            }
        }
        told
    }

    fn hear(&mut self, ledger: &TruthLedger, text: &str) {
        let (count, untrue) = sentence::examine(ledger, text);
        self.sentences += count;
        self.untrue.extend(untrue.into_iter().map(|why| format!("{why}\n{text}")));
        self.texts.push(text.to_owned());
    }

    /// What stood in a request: one text at most, and one that was decided.
    pub fn compare(&mut self, round: u32, stood: &[String]) {
        if stood.len() > 1 {
            self.untrue.push(format!("request {round} holds {} texts at once: {stood:#?}", stood.len()));
        }
        for text in stood.iter().filter(|text| !self.texts.iter().any(|own| own.trim() == text.trim())) {
            self.untrue.push(format!("request {round} holds a text that nobody decided: {text}"));
        }
    }
}

/// What a decision says to the model.
fn said(decision: &Value) -> Option<&str> {
    let text = match decision["effect"].as_str()? {
        "correct" => decision["text"].as_str()?,
        "gate" => decision["why"].as_str()?,
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// A member of an event, or of its body.
fn find<'a>(event: &'a Value, name: &str) -> Option<&'a Value> {
    event.get(name).or_else(|| event.get("body").and_then(|body| body.get(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn events(text: &str) -> String {
        let facts = [
            json!({"fact": {"fact": "run_started", "goal": "Fix it", "checks": [{"command": "make test"}], "round_limit": 60}}),
            json!({"fact": {"fact": "round_started", "round": 1}}),
            json!({"fact": {"fact": "tool_proposed", "call": "c1", "tool": "execute", "class": "exec", "command": "sh look"}}),
            json!({"fact": {"fact": "tool_finished", "call": "c1", "ok": false, "exit": 3, "error": "no such thing", "result": "r"}}),
            json!({"fact": {"fact": "tool_proposed", "call": "c2", "tool": "execute", "class": "exec", "command": "sh look"}}),
            json!({"fact": {"fact": "tool_finished", "call": "c2", "ok": false, "exit": 3, "error": "no such thing", "result": "r"}}),
            json!({"fact": {"fact": "tool_proposed", "call": "c3", "tool": "write_file", "class": "write"}}),
            json!({"fact": {"fact": "tool_finished", "call": "c3", "ok": true, "evidence": {"changed": [{"path": "a.rs", "before": "1", "after": "2"}]}}}),
            json!({"fact": {"fact": "tool_proposed", "call": "c4", "tool": "execute", "class": "exec", "command": "make test"}}),
            json!({"fact": {"fact": "tool_finished", "call": "c4", "ok": false, "exit": 2, "check": true}}),
            json!({"fact": {"fact": "check_ran", "call": "c4", "command": "make test", "exit": 2, "failed": 1, "failing": ["adds"]}}),
            json!({"fact": {"fact": "round_ended", "text": true}, "decisions": [{"effect": "correct", "kind": "advice", "text": text}]}),
        ];
        facts.iter().map(|fact| format!("{fact}\n")).collect()
    }

    #[test]
    fn true_sentences_are_believed() {
        let text = "[System Recovery] Advice from what is known.\nGoal: Fix it\nFacts:\n- `make test`: 1 failing: adds\n- changed files (1): a.rs\nNext step: repair what makes `make test` fail: adds; then run `make test`.";
        let told = TruthReport::of_events("Fix it", &events(text));
        assert!(told.untrue.is_empty(), "{:#?}", told.untrue);
        assert_eq!(told.sentences, 5);
    }

    #[test]
    fn a_lie_of_any_kind_is_found() {
        let lies = [
            "Goal: Fix the other thing",
            "- `make test` passes",
            "- `make test`: 1 failing: divides",
            "- `make test`: 2 failing: adds",
            "- `make test` (before the last change): 1 failing: adds",
            "- `make lint`: fails",
            "- changed files (2): a.rs, b.rs",
            "- changed files (1): b.rs",
            "- no file was changed",
            "- no check that is known has run",
            "- `sh look` failed when it last ran: another thing",
            "- `sh other` failed when it last ran",
            "- 5 times: no such thing",
            "Next step: run `make everything` on what you changed.",
            "Next step: `make test` passes on the current state: finish with a summary if the goal is met, else do what is missing of it.",
            "Next step: repair what makes `sh fine` fail, and run `sh fine` again.",
            "In vain so far: `sh look` (2 times on this state).",
            "[System Recovery] Noticed: the same failure 9 times, with no file changed in between.",
            "[System Recovery] Noticed: 7 rounds in a row brought nothing that was not known.",
            "[System Recovery] Noticed: 3 calls could not be read.",
            "[System Recovery] Noticed: 3 replies in a row were empty.",
            "[System Recovery] Noticed: a check failed as before 4 times, although files were changed in between.",
            "[System Recovery] Noticed: 4 rounds changed files and no check turned greener.",
            "[System Recovery] Noticed: 4 rounds rewrote what a passing check had accepted.",
            "[System Recovery] Noticed: 90 % of what this run may use is used.",
            "[System Recovery] Noticed: the moon is full.",
            "[System Recovery] The work is not done.",
            "Not executed: `sh look` failed 2 times with exit code 3: no such thing. No file changed and nothing else ran in between, so it will fail again. Change something or look elsewhere first. Asked once more it is executed.",
            "Not verified: 1 changed file, and `make test` has not run on the current state. Next step: run `make test`.",
            "Not verified: 3 changed files, and `make test` fails on the current state: adds. Next step: repair what makes `make test` fail, and run it again before you finish.",
            "only tests were changed to make the check pass: tests/b.sh",
            "[System Recovery] Called again: `sh look` failed 2 times with exit code 3: no such thing. No file changed and nothing else ran in between. Next step: change something or look elsewhere before it is called once more.",
            "You are doing fine.",
        ];
        for lie in lies {
            let told = TruthReport::of_events("Fix it", &events(lie));
            assert!(!told.untrue.is_empty(), "believed: {lie}");
        }
    }

    #[test]
    fn a_request_holds_one_text_that_was_decided() {
        let text = "[System Recovery] Noticed: the same failure 2 times, with no file changed in between.";
        let mut told = TruthReport::of_events("Fix it", &events(text));
        told.compare(1, &[text.to_owned()]);
        assert!(told.untrue.is_empty(), "{:#?}", told.untrue);
        told.compare(2, &["[System Recovery] Noticed: something else.".to_owned()]);
        told.compare(3, &[text.to_owned(), text.to_owned()]);
        assert_eq!(told.untrue.len(), 2);
    }
}
