//! One false claim: what kind it is, which field makes it, and a sentence for people.

use std::fmt;

use serde::Serialize;

/// What sort of claim is false; a stable word for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DiscrepancyKind {
    /// The manifest cannot be what this version or an older one writes.
    Form,
    /// The run's id is not that of its folder, its record or its events.
    RunId,
    /// The mode, or what the mode may do.
    Mode,
    /// The agent or its adapter.
    Agent,
    /// When it began or how long it took.
    Time,
    /// A phase.
    Phase,
    /// Status, outcome and exit code do not belong together, or are not those that were told.
    Verdict,
    /// The reason given does not fit what is there.
    Error,
    /// A wall that did not hold.
    Breach,
    /// An artifact's row: path, presence, whether it was required or valid.
    Artifact,
    /// An artifact's bytes are not those that were listed.
    Digest,
    /// The output folder holds what it must not: an unlisted file, a link, a pipe.
    Output,
    /// What the patch does is not what is said about it.
    Patch,
    /// What the patch was made against.
    Base,
    /// How the workspace was shown to the agent.
    Snapshot,
    /// What was enforced.
    Sandbox,
    /// A check, or what was concluded from the checks.
    Check,
    /// The event log itself.
    Events,
    /// Tokens and money.
    Usage,
    /// The model.
    Model,
    /// What the agent was given: prompts and context.
    Input,
    /// What is said about the audit log.
    Audit,
    /// Somebody's decision: an override, a right that was taken, a gate.
    Decision,
    /// A step of a flow or a task of an orchestration.
    Step,
    /// A warning nobody gave.
    Warning,
    /// What the supervisor is said to have done.
    Supervisor,
    /// The manifest is not the one that was sealed.
    Seal,
}

impl DiscrepancyKind {
    /// The stable word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Form => "form",
            Self::RunId => "run_id",
            Self::Mode => "mode",
            Self::Agent => "agent",
            Self::Time => "time",
            Self::Phase => "phase",
            Self::Verdict => "verdict",
            Self::Error => "error",
            Self::Breach => "breach",
            Self::Artifact => "artifact",
            Self::Digest => "digest",
            Self::Output => "output",
            Self::Patch => "patch",
            Self::Base => "base",
            Self::Snapshot => "snapshot",
            Self::Sandbox => "sandbox",
            Self::Check => "check",
            Self::Events => "events",
            Self::Usage => "usage",
            Self::Model => "model",
            Self::Input => "input",
            Self::Audit => "audit",
            Self::Decision => "decision",
            Self::Step => "step",
            Self::Warning => "warning",
            Self::Supervisor => "supervisor",
            Self::Seal => "seal",
        }
    }
}

impl fmt::Display for DiscrepancyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One false claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Discrepancy {
    /// What sort of claim it is.
    pub kind: DiscrepancyKind,
    /// The field that makes it, e.g. `metadata.changes.files`, or the file it is about.
    pub claim: String,
    /// What is said, and what is so.
    pub sentence: String,
}

impl fmt::Display for Discrepancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.claim, self.kind, self.sentence)
    }
}

/// Gathers false claims.
#[derive(Debug, Default)]
pub(super) struct Discrepancies(pub(super) Vec<Discrepancy>);

impl Discrepancies {
    /// One more.
    pub(super) fn add(
        &mut self,
        kind: DiscrepancyKind,
        claim: impl Into<String>,
        sentence: impl Into<String>,
    ) {
        self.0.push(Discrepancy { kind, claim: claim.into(), sentence: sentence.into() });
    }

    /// One more, unless `holds`.
    pub(super) fn expect(
        &mut self,
        holds: bool,
        kind: DiscrepancyKind,
        claim: impl Into<String>,
        sentence: impl FnOnce() -> String,
    ) {
        if !holds {
            self.add(kind, claim, sentence());
        }
    }

    /// One more, unless what is said is what `source` shows.
    pub(super) fn same<T: PartialEq + Serialize + ?Sized>(
        &mut self,
        kind: DiscrepancyKind,
        claim: impl Into<String>,
        said: &T,
        shown: &T,
        source: &str,
    ) {
        self.expect(said == shown, kind, claim, || {
            let (said, shown) = apart(&in_words(said), &in_words(shown));
            format!("the manifest says {said}, {source} shows {shown}")
        });
    }
}

/// A value as the manifest has it.
pub(super) fn in_words(value: &(impl Serialize + ?Sized)) -> String {
    match serde_json::to_string(value) {
        Ok(text) if text == "null" => "nothing".to_owned(),
        Ok(text) => text,
        Err(_) => "what cannot be written".to_owned(),
    }
}

/// The parts of two long texts in which they differ.
fn apart(one: &str, other: &str) -> (String, String) {
    const LONGEST: usize = 200;
    const BEFORE: usize = 40;
    if one.chars().count().max(other.chars().count()) <= LONGEST {
        return (one.to_owned(), other.to_owned());
    }
    let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(BEFORE);
    let part = |text: &str| {
        let shown: String = text.chars().skip(from).take(LONGEST).collect();
        let before = if from > 0 { "…" } else { "" };
        let after = if text.chars().count() > from + LONGEST { "…" } else { "" };
        format!("{before}{shown}{after}")
    };
    (part(one), part(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_as_the_manifest_has_them() {
        let mut found = Discrepancies::default();
        let (said, shown) = (serde_json::json!("success"), serde_json::Value::Null);
        found.same(DiscrepancyKind::Verdict, "outcome", &said, &shown, "the log");
        assert_eq!(found.0[0].sentence, "the manifest says \"success\", the log shows nothing");
    }

    #[test]
    fn of_long_values_the_difference_is_shown() {
        let long = |end: &str| format!("{}{end}", "x".repeat(500));
        let (one, other) = apart(&long("left"), &long("right"));
        assert!(one.ends_with("xleft") && one.starts_with('…') && other.ends_with("xright"), "{one} {other}");
        let (one, other) = apart(&long(""), "y");
        assert!(one.ends_with('…') && other == "y", "{one} {other}");
        assert_eq!(apart("a", "b"), ("a".to_owned(), "b".to_owned()));
    }
}
