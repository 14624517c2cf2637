//! What a scripted agent says to a request.

use std::borrow::Cow;

use holon_model::TokenUsage;
use holon_model::cassette::{CassetteStep, CassetteTurn};
use serde_json::Value;

use super::cast::Cast;
use super::script::{AgentScript, turns};
use crate::model::{ReceivedRequest, ScriptedResponse, StreamSplit};

/// What it listens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HearingMode {
    /// To a text that says what fails and what to do next.
    Reacts,
    /// To nothing.
    Deaf,
    /// As the first, and everything a supervisor says is blanked before it reads it.
    Blanked,
}

/// Where texts of the supervisor begin.
const TAGS: [&str; 2] = ["[System Recovery]", "[TaskGraph]"];
/// How results begin that are not those of a tool.
const GATES: [&str; 2] = ["Not executed:", "Not verified:"];
/// What a text says that tells what to do.
const NEXT_STEP: &str = "next step";
/// Bytes of a token, near enough for a comparison.
const BYTES: u64 = 4;

/// A part of a script; read once where it says the same in every round.
struct ScriptPart {
    text: String,
    same: Option<Vec<CassetteTurn>>,
}

impl ScriptPart {
    fn new(text: &str) -> Self {
        let same = (!text.contains("{n}")).then(|| turns(text, 0).unwrap_or_default());
        Self { text: text.to_owned(), same }
    }

    fn turns(&self, number: usize) -> Cow<'_, [CassetteTurn]> {
        match &self.same {
            Some(turns) => Cow::Borrowed(turns),
            None => Cow::Owned(turns(&self.text, number).unwrap_or_default()),
        }
    }
}

/// One agent in one run.
pub(super) struct ScriptedAgent {
    script: AgentScript,
    opening: ScriptPart,
    circle: ScriptPart,
    repair: ScriptPart,
    hearing: HearingMode,
    cast: Cast,
    /// Requests of the conversation, as they came.
    pub(super) seen: Vec<Value>,
    pub(super) tally: AgentTally,
}

/// What it counted.
#[derive(Debug, Clone, Default)]
pub(super) struct AgentTally {
    /// Requests so far.
    pub(super) rounds: u32,
    /// The request that put it right.
    pub(super) heeded: Option<u32>,
    /// Calls in all, and those of the circle.
    pub(super) calls: u32,
    pub(super) wasted: u32,
    pub(super) tokens: u64,
    /// Texts of the supervisor in each request.
    pub(super) stood: Vec<Vec<String>>,
    /// Turns of the repair that were said.
    mended: usize,
}

impl ScriptedAgent {
    pub(super) fn new(script: &AgentScript, hearing: HearingMode, cast: &Cast) -> Self {
        let [opening, circle, repair] =
            [&script.opening, &script.circle, &script.repair].map(|p| ScriptPart::new(p));
        let (script, cast) = (script.clone(), cast.clone());
        Self {
            script,
            opening,
            circle,
            repair,
            hearing,
            cast,
            seen: Vec::new(),
            tally: AgentTally::default(),
        }
    }

    pub(super) fn answer(&mut self, seen: &ReceivedRequest) -> ScriptedResponse {
        if !self.cast.is_conversation(seen) {
            return CassetteTurn::text("A title").into();
        }
        if matches!(self.cast, Cast::Client { .. }) {
            self.seen.push(seen.body.clone());
        }
        let heard = heard(&seen.body, self.hearing == HearingMode::Blanked);
        self.tally.rounds += 1;
        self.tally.stood.push(standing(&seen.body));
        let round = self.tally.rounds;
        if self.tally.heeded.is_none() && self.hearing != HearingMode::Deaf && self.is_put_right(&heard) {
            self.tally.heeded = Some(round);
        }
        let turn = self.next();
        let mut turn = self.cast.turn(turn, seen);
        let said: usize = turn.steps.iter().map(weight).sum();
        let usage = TokenUsage {
            input: seen.bytes as u64 / BYTES,
            output: said as u64 / BYTES,
            ..TokenUsage::default()
        };
        self.tally.tokens += usage.input + usage.output;
        turn.usage = Some(usage);
        ScriptedResponse::from(turn).named(format!("msg_{round}")).split(StreamSplit::Whole)
    }

    fn is_put_right(&self, heard: &str) -> bool {
        self.script.is_lost()
            && heard.to_lowercase().contains(NEXT_STEP)
            && self.script.names.iter().all(|name| heard.contains(name))
    }

    fn next(&mut self) -> CassetteTurn {
        let number = self.tally.rounds as usize;
        let (opening, circle) = (self.opening.turns(number), self.circle.turns(number));
        let calls = |turn: &CassetteTurn| {
            turn.steps.iter().filter(|step| matches!(step, CassetteStep::Call(_))).count() as u32
        };
        if self.tally.heeded.is_some() {
            let repair = self.repair.turns(number);
            // Whoever is asked once more says the last again.
            let turn = repair.get(self.tally.mended).or(repair.last()).cloned().unwrap_or_default();
            self.tally.mended += 1;
            self.tally.calls += calls(&turn);
            return turn;
        }
        let at = number - 1;
        let lost = at.checked_sub(opening.len()).filter(|_| !circle.is_empty());
        let turn = match lost {
            Some(past) => circle[past % circle.len()].clone(),
            None => opening.get(at).or(opening.last()).cloned().unwrap_or_default(),
        };
        let made = calls(&turn);
        self.tally.calls += made;
        self.tally.wasted += if lost.is_some() { made } else { 0 };
        turn
    }
}

fn weight(step: &CassetteStep) -> usize {
    match step {
        CassetteStep::Text(text) => text.len(),
        CassetteStep::Call(call) => call.name.len() + call.arguments.len(),
        _ => 0,
    }
}

/// What the supervisor says in a request, wherever it stands.
fn standing(body: &Value) -> Vec<String> {
    let mut texts = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        if message["role"] != "assistant" && message["role"] != "system" {
            collect(&message["content"], &mut texts);
        }
    }
    let from = |text: &String| TAGS.iter().filter_map(|tag| text.find(tag)).min();
    texts.iter().filter_map(|text| from(text).map(|at| text[at..].to_owned())).collect()
}

/// Everything that was said since the agent last spoke.
fn heard(body: &Value, blanked: bool) -> String {
    let empty = Vec::new();
    let messages = body.get("messages").and_then(Value::as_array).unwrap_or(&empty);
    let last = messages.iter().rposition(|message| message["role"] == "assistant").map_or(0, |at| at + 1);
    let mut texts = Vec::new();
    for message in messages[last..].iter().filter(|message| message["role"] != "system") {
        collect(&message["content"], &mut texts);
    }
    let clean = |text: &str| -> String {
        if !blanked {
            return text.to_owned();
        }
        // A gate speaks at the beginning of a line: of a result, or after what else a person's message says.
        let begins = |at: &usize| {
            let before = text[..*at].trim_end_matches(' ');
            before.is_empty() || before.ends_with('\n')
        };
        let gate = |gate: &&str| text.match_indices(*gate).map(|(at, _)| at).find(begins);
        let tags = TAGS.iter().filter_map(|tag| text.find(tag));
        let end = tags.chain(GATES.iter().filter_map(gate)).min().unwrap_or(text.len());
        text[..end].to_owned()
    };
    texts.iter().map(|text| clean(text)).collect::<Vec<_>>().join("\n")
}

fn collect(content: &Value, texts: &mut Vec<String>) {
    match content {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(parts) => parts.iter().for_each(|part| collect(part, texts)),
        Value::Object(part) => {
            for name in ["text", "content"] {
                collect(part.get(name).unwrap_or(&Value::Null), texts);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_is_new_is_heard_and_blanking_leaves_nothing_of_the_supervisor() {
        let body = json!({"messages": [
            {"role": "system", "content": "Next step"},
            {"role": "user", "content": "old"},
            {"role": "assistant", "content": "hm"},
            {"role": "tool", "content": "exit code 1"},
            {"role": "tool", "content": "Not verified: x. Next step: y"},
            {"role": "user", "content": [{"type": "text", "text": "[System Recovery] Next step: z"}]},
            {"role": "user", "content": "the goal\nNot verified: x. Next step: y"},
        ]});
        assert_eq!(
            heard(&body, false),
            "exit code 1\nNot verified: x. Next step: y\n[System Recovery] Next step: z\nthe goal\nNot verified: x. Next step: y"
        );
        assert_eq!(heard(&body, true), "exit code 1\n\n\nthe goal\n");
    }
}
