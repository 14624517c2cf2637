//! What an agent that ends by asking a person wants to know, so that whoever looks at the manifest can answer.

use holon_core::event::{EventBody, OutputStream, RunEvent};
use holon_core::manifest::AdapterClaim;

use super::ActiveRun;
use super::snapshot::RunStage;
use super::verdict::RunVerdict;

/// Longest question that is kept.
const MOST_CHARS: usize = 4_000;
/// How much of what it printed last stands for a question it wrote nowhere.
const LAST_LINES: usize = 20;

impl ActiveRun<'_> {
    /// Keeps the question, and says its first line where the outcome is explained. Who ends with 2 and asks nothing has
    /// met an error: shells end like that too.
    pub(super) fn note_question(
        &mut self,
        stage: &RunStage,
        claim: Option<&AdapterClaim>,
        verdict: &mut RunVerdict,
    ) {
        if !verdict.asks_person {
            self.manifest.metadata.question = None;
            return;
        }
        let Some(text) = self.question(stage, claim) else {
            verdict.asks_person = claim.is_some_and(AdapterClaim::needs_human);
            return;
        };
        let first = text.lines().next().unwrap_or_default().to_owned();
        if let Some(error) = verdict.error.as_mut().filter(|error| error.kind == "needs_human")
            && !error.message.contains(&first)
        {
            error.message = format!("{}: {first}", error.message);
        }
        self.manifest.metadata.question = Some(text);
    }

    /// Its question: from its own manifest, its last words, its summary, or what it printed last on standard output.
    fn question(&self, stage: &RunStage, claim: Option<&AdapterClaim>) -> Option<String> {
        let last = stage.last.as_ref();
        let claimed = claim.and_then(|claim| claim.question.clone().or_else(|| claim.error.clone()));
        let thought = || last?.thought.as_ref().map(|(_, ended)| ended.text.clone());
        let heard = || last?.heard.as_ref().map(|heard| heard.words.clone());
        let summary = || self.read_left("summary.md", 1 << 20).ok();
        let printed = || {
            let events = std::fs::read_to_string(self.folder.evidence().join("events.jsonl")).ok()?;
            Some(last_printed(&events))
        };
        let plain = |text: String| Some(text).filter(|text| !text.trim().is_empty());
        let text = claimed
            .and_then(plain)
            .or_else(|| thought().and_then(plain))
            .or_else(|| heard().and_then(plain))
            .or_else(|| summary().and_then(|bytes| plain(String::from_utf8_lossy(&bytes).into_owned())))
            .or_else(|| printed().and_then(plain))?;
        let clean = self.events.redactor().redact_str(text.trim());
        Some(clean.chars().take(MOST_CHARS).collect())
    }
}

/// The last lines the agent printed on standard output since it was started the last time.
fn last_printed(events: &str) -> String {
    let mut lines = Vec::new();
    for event in events.lines().filter_map(|line| serde_json::from_str::<RunEvent>(line).ok()) {
        match event.body {
            EventBody::AgentStarted { .. } => lines.clear(),
            EventBody::Output { stream: OutputStream::Stdout, text } if !text.trim().is_empty() => {
                lines.push(text)
            }
            _ => {}
        }
    }
    lines.split_off(lines.len().saturating_sub(LAST_LINES)).join("\n")
}

#[cfg(test)]
mod tests {
    use holon_core::ids::RunId;

    use super::*;

    #[test]
    fn the_end_of_what_was_printed_is_taken() {
        let run = RunId::from_parts(0, [0; 4]);
        let line = |body: EventBody| {
            RunEvent { seq: 1, at: String::new(), run: run.clone(), task: None, body }.to_line()
        };
        let said = |stream, text: &str| line(EventBody::Output { stream, text: text.into() });
        let first = [said(OutputStream::Stdout, "old"), line(EventBody::AgentStarted { attempt: 2 })];
        let then = [
            said(OutputStream::Stdout, "a"),
            said(OutputStream::Stderr, "oops"),
            said(OutputStream::Stdout, "b"),
        ];
        assert_eq!(last_printed(&first.iter().chain(&then).cloned().collect::<Vec<_>>().join("\n")), "a\nb");
        let many: Vec<String> = (0..50).map(|n| said(OutputStream::Stdout, &n.to_string())).collect();
        assert!(last_printed(&many.join("\n")).starts_with("30\n"));
        assert_eq!(last_printed("no event"), "");
    }
}
