//! Whether a signed statement satisfies a policy: every rule that is broken, with its reason.

use std::fmt;

use holon_core::manifest::{DecidedBy, GateDecision, VerificationState};
use holon_core::sandbox::IsolationLevel;
use serde::Serialize;

use crate::envelope::{DsseEnvelope, PAYLOAD_TYPE};
use crate::error::AttestError;
use crate::key::PublicKey;
use crate::policy::{AttestationPolicy, Signer};
use crate::statement::{PREDICATE_TYPE, Predicate, RunStatement, STATEMENT_TYPE};

/// What is judged beside the statement, where it is at hand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PresentedChange {
    /// Digest of the patch that shall be accepted.
    pub patch_sha256: Option<String>,
    /// The commit it shall go on top of.
    pub base_commit: Option<String>,
}

/// Which rule is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the sentences say it")]
pub enum ViolationKind {
    Payload,
    Signature,
    Statement,
    Subject,
    Base,
    Outcome,
    Level,
    Mode,
    Agent,
    Model,
    Checks,
    WeakenedTests,
    Approval,
    Override,
    AcceptedRights,
    Size,
    Tools,
}

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Which rule.
    pub kind: ViolationKind,
    /// Why.
    pub sentence: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

/// Who signed a statement, and what a policy says against it; good when nothing is.
pub fn judge(
    envelope: &DsseEnvelope,
    policy: &AttestationPolicy,
    presented: &PresentedChange,
) -> Result<(Vec<String>, Vec<Violation>), AttestError> {
    let mut against = Vec::new();
    let mut say = |kind, sentence: String| against.push(Violation { kind, sentence });
    if envelope.payload_type != PAYLOAD_TYPE {
        say(
            ViolationKind::Payload,
            format!("the payload is called `{}`, not {PAYLOAD_TYPE}", envelope.payload_type),
        );
        return Ok((Vec::new(), against));
    }
    let Some(payload) = envelope.payload() else {
        say(ViolationKind::Payload, "the payload is not written in base64 as it has to be".into());
        return Ok((Vec::new(), against));
    };
    let signed_by = signers(envelope, &policy.signer)?;
    if signed_by.len() < policy.signatures {
        let known: Vec<&str> = policy.signer.iter().map(|signer| signer.name.as_str()).collect();
        let sentence = match known.is_empty() {
            true => "the policy names no signer; name one with --signer or [[signer]]".to_owned(),
            false => format!(
                "{} of {} needed signatures are there, of those that count: {}",
                signed_by.len(),
                policy.signatures,
                known.join(", ")
            ),
        };
        say(ViolationKind::Signature, sentence);
        // What nobody vouches for is not worth reading.
        return Ok((signed_by, against));
    }
    let statement: RunStatement = match serde_json::from_slice(&payload) {
        Ok(statement) => statement,
        Err(e) => {
            say(ViolationKind::Statement, format!("the payload is no statement of ours: {e}"));
            return Ok((signed_by, against));
        }
    };
    if statement.statement_type != STATEMENT_TYPE || statement.predicate_type != PREDICATE_TYPE {
        let sentence =
            format!("it is a `{}` with a `{}`", statement.statement_type, statement.predicate_type);
        say(ViolationKind::Statement, sentence);
        return Ok((signed_by, against));
    }
    about(&statement, presented, &mut against);
    made(&statement.predicate, policy, &mut against);
    decided(&statement.predicate, policy, &mut against);
    Ok((signed_by, against))
}

/// Names of those who signed, each once.
fn signers(envelope: &DsseEnvelope, known: &[Signer]) -> Result<Vec<String>, AttestError> {
    let mut found: Vec<(String, PublicKey)> = Vec::new();
    for signer in known {
        let Some(key) = PublicKey::parse(&signer.key) else { continue };
        // The same key under two names is one signer.
        if found.iter().all(|(_, other)| *other != key) && envelope.is_signed_by(&key)? {
            found.push((signer.name.clone(), key));
        }
    }
    Ok(found.into_iter().map(|(name, _)| name).collect())
}

/// Whether it is about what was presented.
fn about(statement: &RunStatement, presented: &PresentedChange, against: &mut Vec<Violation>) {
    if let Some(wanted) = &presented.patch_sha256 {
        let about = statement
            .subject
            .iter()
            .any(|subject| subject.name == "diff.patch" && subject.digest.get("sha256") == Some(wanted));
        if !about {
            let sentence = format!("it is not about this patch (sha256 {wanted})");
            against.push(Violation { kind: ViolationKind::Subject, sentence });
        }
    }
    if let Some(wanted) = &presented.base_commit {
        let commit = statement.predicate.base.as_ref().and_then(|base| base.commit.as_ref());
        if commit != Some(wanted) {
            let said = commit.map_or("no commit", String::as_str);
            let sentence = format!("the change was made on {said}, not on {wanted}");
            against.push(Violation { kind: ViolationKind::Base, sentence });
        }
    }
}

/// How it was made.
fn made(predicate: &Predicate, policy: &AttestationPolicy, against: &mut Vec<Violation>) {
    let mut expect = |holds: bool, kind, sentence: String| {
        if !holds {
            against.push(Violation { kind, sentence });
        }
    };
    let any_or = |list: &[String], name: &str| list.is_empty() || list.iter().any(|known| known == name);
    expect(
        policy.outcomes.contains(&predicate.outcome),
        ViolationKind::Outcome,
        format!("the outcome is {}", predicate.outcome),
    );
    let level = predicate.sandbox.level;
    expect(
        policy.levels.is_empty() || policy.levels.contains(&level),
        ViolationKind::Level,
        match level {
            IsolationLevel::None => "there was no isolation".to_owned(),
            level => format!("the walls stood on {level}"),
        },
    );
    expect(
        any_or(&policy.modes, &predicate.mode),
        ViolationKind::Mode,
        format!("the mode is {}", predicate.mode),
    );
    let agent = &predicate.agent.name;
    expect(any_or(&policy.agents, agent), ViolationKind::Agent, format!("the agent is {agent}"));
    let model = predicate.model.as_ref().map(|model| format!("{}/{}", model.provider, model.id));
    let fits = |pattern: &String| match (pattern.strip_suffix('*'), &model) {
        (_, None) => false,
        (Some(start), Some(model)) => model.starts_with(start),
        (None, Some(model)) => model == pattern,
    };
    expect(
        policy.models.is_empty() || policy.models.iter().any(fits),
        ViolationKind::Model,
        format!("the model is {}", model.as_deref().unwrap_or("not known")),
    );
    expect(
        !policy.enforced_tools || predicate.sandbox.enforced.tools,
        ViolationKind::Tools,
        "the tool policy was only asked of the agent".into(),
    );
    expect(
        policy.max_files.is_none_or(|most| predicate.change.files <= most),
        ViolationKind::Size,
        format!("{} files are changed", predicate.change.files),
    );
}

/// What was checked and decided.
fn decided(predicate: &Predicate, policy: &AttestationPolicy, against: &mut Vec<Violation>) {
    let mut expect = |holds: bool, kind, sentence: String| {
        if !holds {
            against.push(Violation { kind, sentence });
        }
    };
    let checks = &predicate.checks;
    let all_passed = !checks.ran.is_empty() && checks.ran.iter().all(|check| check.exit_code == Some(0));
    expect(
        !policy.verified || (checks.state == VerificationState::Verified && all_passed),
        ViolationKind::Checks,
        "no check of the host's vouches for the result".into(),
    );
    for command in &policy.checks {
        let passed = checks.ran.iter().any(|check| check.command == *command && check.exit_code == Some(0));
        expect(passed, ViolationKind::Checks, format!("the check `{command}` did not pass"));
    }
    expect(
        policy.weakened_tests || checks.weakened.is_empty(),
        ViolationKind::WeakenedTests,
        checks.weakened.first().map_or_else(String::new, |weaker| format!("tests are weaker: {weaker}")),
    );
    let approved = predicate.steps.iter().filter_map(|step| step.gate.as_ref()).any(|gate| {
        gate.decision == GateDecision::Approved
            && matches!(gate.by, DecidedBy::Person | DecidedBy::Resume)
            && !gate.seen.is_empty()
    });
    expect(
        !policy.approved_by_person || approved,
        ViolationKind::Approval,
        "no person approved it before it was made".into(),
    );
    expect(
        policy.overridden || predicate.overridden.is_none(),
        ViolationKind::Override,
        predicate.overridden.as_ref().map_or_else(String::new, |given| {
            format!("its assessment was overridden by uid {}: {}", given.uid, given.reason)
        }),
    );
    expect(
        policy.overridden || predicate.release_overrides.is_empty(),
        ViolationKind::Override,
        predicate.release_overrides.first().map_or_else(String::new, |word| {
            let text = |key: &str| word[key].as_str().unwrap_or("somebody").to_owned();
            format!("{} let it pass although it was held: {}", text("person"), text("reason"))
        }),
    );
    expect(
        policy.accepted_rights || predicate.accepted.is_empty(),
        ViolationKind::AcceptedRights,
        format!("rights were taken by flags: {}", predicate.accepted.join("; ")),
    );
}
