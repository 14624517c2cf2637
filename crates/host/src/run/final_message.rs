//! What an agent said at its end, and what that is worth.

use std::fs::File;
use std::io::Write;

use holon_core::artifact::ArtifactKind;
use holon_core::manifest::{AdapterClaim, ErrorInfo};
use holon_core::outcome::{RunOutcome, RunStatus};
use holon_sandbox::isolation::PayloadEnding;
use rustix::fs::{Mode, OFlags};

use super::ActiveRun;
use super::output::AttendedOutput;
use super::printed_words;
use super::snapshot::{RunStage, give};
use super::start_trouble::StartTrouble;
use super::verdict::RunVerdict;
use crate::adapter::events::{AgentEnd, AgentEventSummary};
use crate::error::HostError;

impl ActiveRun<'_> {
    /// From how it ended and what it said to status and outcome; `true` when what it left is worth judging.
    pub(super) fn judge_heard(
        &self,
        heard: &AgentEventSummary,
        ending: PayloadEnding,
        stage: &RunStage,
        claim: Option<&AdapterClaim>,
        verdict: &mut RunVerdict,
    ) -> bool {
        let troubled = |trouble: StartTrouble, verdict: &mut RunVerdict| {
            let error = ErrorInfo::new("not_started", trouble.message).with_hint(trouble.hint);
            verdict.ended(RunStatus::Failed, error);
            false
        };
        let failed = |kind: &str, message: String, verdict: &mut RunVerdict| {
            let error = ErrorInfo::new(kind, message).with_hint(hint(kind));
            verdict.ended(RunStatus::Failed, error);
            false
        };
        match (&heard.end, ending) {
            (_, PayloadEnding::Signal(signal)) => {
                failed("agent_killed", format!("the agent was ended by signal {signal}"), verdict)
            }
            (_, PayloadEnding::Killed) => {
                failed("agent_killed", "the agent and its init were killed".into(), verdict)
            }
            (Some(AgentEnd::Failed { kind: "credentials", message }), _) if self.door_error().is_none() => {
                // The key was never refused, so it is not what is wrong.
                let message = format!("the agent says that it failed: {message}");
                let error = ErrorInfo::new("credentials", message).with_hint(OWN_LOGIN);
                verdict.ended(RunStatus::Failed, error);
                false
            }
            (Some(AgentEnd::Failed { kind, message }), _) => {
                // A client between says only that nobody answers.
                let silent = matches!(*kind, "not_started" | "agent_failed") && self.door_error().is_none();
                if let Some(trouble) = silent.then(|| self.start_trouble(stage)).flatten() {
                    return troubled(trouble, verdict);
                }
                // What the host saw at the door beats the agent's words about it.
                let (kind, message) = match self.door_error() {
                    Some((seen, words)) => (seen, format!("{words} (the agent says: {message})")),
                    None => (*kind, format!("the agent says that it failed: {message}")),
                };
                failed(kind, message, verdict)
            }
            (None, PayloadEnding::Code(code)) => {
                if let Some((kind, words)) = self.door_error() {
                    return failed(kind, words, verdict);
                }
                if code == 0 {
                    let message = "the agent ended without saying that it is done".to_owned();
                    return failed("no_end", message, verdict);
                }
                if let Some(trouble) = self.end_trouble(stage, code) {
                    return troubled(trouble, verdict);
                }
                let meaning = self.plan.agent.adapter.exits.get(&code.to_string());
                let (kind, words) = explained(meaning.map(String::as_str));
                failed(kind, format!("the agent exited with code {code}{words}"), verdict)
            }
            (Some(AgentEnd::Done), PayloadEnding::Code(0)) => {
                // Some agents take the words of a refusal, or of a key that is not accepted, for an answer.
                if let Some((kind @ ("refused" | "credentials"), words)) = self.door_error() {
                    return failed(kind, words, verdict);
                }
                if claim.is_some_and(AdapterClaim::needs_human) {
                    let error = ErrorInfo::new("needs_human", "the agent asks for a person");
                    verdict.worsen(RunOutcome::NeedsHuman, error);
                    verdict.asks_person = true;
                }
                true
            }
            (Some(AgentEnd::Done), PayloadEnding::Code(code)) => failed(
                "agent_failed",
                format!("the agent said it was done and exited with code {code}"),
                verdict,
            ),
        }
    }

    /// Makes the artifacts an agent did not write of its last words, or of what it printed.
    pub(super) fn lend_words(&mut self, words: &LastWords, stage: &RunStage) -> Result<(), HostError> {
        if words.whole.is_empty() {
            return Ok(());
        }
        let wanted = &self.plan.profile.artifacts;
        let mut names = wanted.required.clone();
        // An answer to a question is asked for in no other form.
        if names.is_empty() {
            names.extend(wanted.optional.iter().filter(|name| *name == "summary.md").cloned());
        }
        for name in names {
            let text = match ArtifactKind::of(&name) {
                ArtifactKind::Patch | ArtifactKind::Other => continue,
                ArtifactKind::PlanMarkdown => words.plan.clone(),
                ArtifactKind::Markdown if words.rest.trim().is_empty() => words.whole.clone(),
                ArtifactKind::Markdown => words.rest.clone(),
                _ => match &words.json {
                    Some(json) => json.clone(),
                    None => continue,
                },
            };
            self.lend(&name, format!("{}\n", text.trim()).into_bytes(), stage)?;
        }
        Ok(())
    }

    /// Writes one artifact, unless the agent wrote it.
    pub(super) fn lend(&mut self, name: &str, bytes: Vec<u8>, stage: &RunStage) -> Result<(), HostError> {
        if name.contains('/') {
            return Ok(());
        }
        let path = self.folder.left().join(name);
        let before = self.foreign.lent.iter().position(|(lent, _)| lent == name);
        if let Some(before) = before {
            // What was lent before the repair round and not touched since gives way.
            let (_, written) = self.foreign.lent.remove(before);
            if self.read_left(name, written.len() as u64).is_ok_and(|now| now == written) {
                std::fs::remove_file(&path).map_err(HostError::io("remove", &path))?;
            }
        }
        // Never through a link: the folder is the agent's.
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(file) = rustix::fs::open(&path, flags, Mode::from_raw_mode(0o644)) else { return Ok(()) };
        File::from(file).write_all(&bytes).map_err(HostError::io("write", &path))?;
        give(&path, &stage.identity)?;
        self.foreign.lent.push((name.to_owned(), bytes));
        Ok(())
    }
}

/// An agent's last words, by what each kind of artifact is made of.
pub(super) struct LastWords {
    whole: String,
    plan: String,
    json: Option<String>,
    /// What stands around the JSON.
    rest: String,
}

impl LastWords {
    /// Those of an agent that ended well: its last message, else what it printed.
    pub(super) fn of(last: &AttendedOutput, asks_person: bool) -> Option<Self> {
        if let Some(heard) = &last.heard {
            return Some(Self::of_message(heard.words.trim()));
        }
        // Who asks a person prints the question.
        let printed = last.printed.as_ref().filter(|_| !asks_person)?;
        Some(Self::of_printed(printed.text().trim()))
    }

    fn of_message(words: &str) -> Self {
        let (json, rest) =
            json_block(words).map_or((None, words.to_owned()), |(json, rest)| (Some(json), rest));
        Self { whole: words.to_owned(), plan: words.to_owned(), json, rest }
    }

    fn of_printed(words: &str) -> Self {
        let found = printed_words::json(words);
        let (json, rest) = found.map_or((None, words.to_owned()), |(json, rest)| (Some(json), rest));
        let whole = printed_words::summary(words);
        Self { whole, plan: printed_words::plan(words), json, rest: printed_words::summary(&rest) }
    }
}

/// The last block marked as JSON in a text (or all of it), and the text without it.
pub(super) fn json_block(text: &str) -> Option<(String, String)> {
    let is_object =
        |text: &str| serde_json::from_str::<serde_json::Value>(text).is_ok_and(|value| value.is_object());
    if is_object(text) {
        return Some((text.to_owned(), String::new()));
    }
    let start = text.rfind("```json")?;
    let body = &text[start + "```json".len()..];
    let end = body.find("\n```").unwrap_or(body.len());
    let block = body[..end].trim();
    let after = body[end..].trim_start_matches('\n').trim_start_matches('`');
    is_object(block).then(|| {
        (block.to_owned(), format!("{}\n{}", text[..start].trim_end(), after.trim()).trim().to_owned())
    })
}

/// What an adapter says about an exit code: the kind of error, and words for the end of a message.
fn explained(meaning: Option<&str>) -> (&str, String) {
    let meaning = meaning.unwrap_or("agent_failed");
    match meaning.split_once(": ") {
        Some((kind, words)) => (kind, format!(": {words}")),
        None => (meaning, String::new()),
    }
}

/// For an agent that wants to be logged in, while nobody refused the key it was given.
const OWN_LOGIN: &str = "it wants a login of its own, and none is inside: its description has to lead it to {gateway} with {token} \
                         (docs/agents.md), or set its variables with context.env";

fn hint(kind: &str) -> &'static str {
    match kind {
        "credentials" => "check the key in the environment, or choose another --provider",
        "refused" => "rephrase the goal, or choose another --model",
        "rounds" => "allow more with --max-rounds, or give a smaller goal",
        _ => "its output is in evidence/agent.log",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_explained() {
        for (meaning, kind, words) in [
            (None, "agent_failed", ""),
            (Some("rounds"), "rounds", ""),
            (Some("credentials: it found no key"), "credentials", ": it found no key"),
        ] {
            assert_eq!(explained(meaning), (kind, words.to_owned()));
        }
    }

    #[test]
    fn json_is_found_in_words() {
        for (text, json, rest) in [
            (r#"{"a":1}"#, Some(r#"{"a":1}"#), ""),
            ("I looked.\n\n```json\n{\"a\":1}\n```\n", Some("{\"a\":1}"), "I looked."),
            (
                "One\n```json\n{}\n```\nTwo\n```json\n{\"b\":2}\n```\nEnd",
                Some("{\"b\":2}"),
                "One\n```json\n{}\n```\nTwo\nEnd",
            ),
            ("```json\n[1]\n```", None, ""),
            ("```json\n{\"a\":1}", Some("{\"a\":1}"), ""),
            ("no block", None, ""),
        ] {
            let found = json_block(text);
            assert_eq!(found.as_ref().map(|(json, _)| json.as_str()), json, "{text}");
            assert_eq!(found.map(|(_, rest)| rest).unwrap_or_default(), rest, "{text}");
        }
    }
}
