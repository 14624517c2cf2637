//! Carrying decisions out: the thin part.
//!
//! A decision is made from what the forge holds now. When an answer is unclear, the forge is looked at again and decided
//! anew, so whatever was done is found and nothing is done twice. A crash is the same thing with a longer pause.

use std::rc::Rc;

use serde_json::Value;

use super::PublishTools;
use super::report::{PartReport, PublishCall, PublishOutcome, PublishStep};
use crate::api::{ApiRequest, checked};
use crate::branch::{GitRemote, GitWorkbench};
use crate::error::PublishError;
use crate::review::FindingCounts;

/// How often a part is decided anew.
const ATTEMPTS: u32 = 4;

/// One change to be made.
#[derive(Debug)]
pub(super) enum PublishAction {
    /// A commit to a branch.
    Push { bench: Rc<GitWorkbench>, remote: GitRemote, commit: String, branch: String, lease: Option<String> },
    /// A request, with what it does in words.
    Call(String, ApiRequest),
}

impl PublishAction {
    /// The commit that is pushed.
    pub(super) fn commit(&self) -> Option<&str> {
        match self {
            Self::Push { commit, .. } => Some(commit),
            Self::Call(..) => None,
        }
    }

    fn step(&self) -> PublishStep {
        match self {
            Self::Push { remote, commit, branch, lease, .. } => {
                let over = match lease {
                    Some(old) => format!(", in place of {old}"),
                    None => ", which is new".to_owned(),
                };
                PublishStep { what: format!("push {commit} to {branch} of {}{over}", remote.url), call: None }
            }
            Self::Call(what, request) => {
                PublishStep { what: what.clone(), call: Some(PublishCall::from(request)) }
            }
        }
    }
}

/// What a part comes to, given what the forge holds.
#[derive(Debug, Default)]
pub(super) struct PartDecision {
    pub actions: Vec<PublishAction>,
    pub url: Option<String>,
    pub counts: Option<FindingCounts>,
    pub notes: Vec<String>,
    /// The pull request it is about: number and head.
    pub pull: Option<(u64, String)>,
}

/// What went before, for a decision that depends on it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EarlierTries {
    /// How often the forge found the content itself wrong.
    pub unprocessable: u32,
}

/// Decides and carries out one part; the pull request it found or made comes back with the report.
pub(super) fn carry(
    tools: &mut PublishTools<'_>,
    dry_run: bool,
    mut report: PartReport,
    mut decide: impl FnMut(&mut PublishTools<'_>, EarlierTries) -> Result<PartDecision, PublishError>,
) -> (PartReport, Option<(u64, String)>) {
    let mut before = EarlierTries::default();
    let mut pull = None;
    let mut unclear = false;
    for attempt in 1.. {
        let decision = match decide(tools, before) {
            Ok(decision) => decision,
            Err(error) => return (report.fail(&error), pull),
        };
        // After an unclear answer the forge may already hold what was sent, and the counts would call it a duplicate.
        report.counts = report.counts.filter(|_| unclear).or(decision.counts);
        report.url = decision.url.or(report.url);
        report.notes = decision.notes;
        pull = decision.pull.or(pull);
        if dry_run {
            report.steps = decision.actions.iter().map(PublishAction::step).collect();
            report.result =
                if report.steps.is_empty() { PublishOutcome::Unchanged } else { PublishOutcome::Planned };
            return (report, pull);
        }
        match carry_out(tools, decision.actions, &mut report, &mut pull) {
            Ok(()) => break,
            Err(error) if attempt < ATTEMPTS && worth_another_look(&error) => {
                before.unprocessable += u32::from(error.status() == Some(422));
                unclear = error.is_unclear();
            }
            Err(error) => return (report.fail(&error), pull),
        }
    }
    report.result =
        if report.steps.is_empty() { PublishOutcome::Unchanged } else { PublishOutcome::Published };
    (report, pull)
}

/// Whether the forge may hold something else than was thought.
fn worth_another_look(error: &PublishError) -> bool {
    match error {
        PublishError::Unclear { .. } | PublishError::Refused { status: 409 | 422, .. } => true,
        PublishError::Push { said, .. } => said.contains("stale info") || said.contains("fetch first"),
        _ => false,
    }
}

fn carry_out(
    tools: &mut PublishTools<'_>,
    actions: Vec<PublishAction>,
    report: &mut PartReport,
    pull: &mut Option<(u64, String)>,
) -> Result<(), PublishError> {
    for action in actions {
        let step = action.step();
        match action {
            PublishAction::Push { bench, remote, commit, branch, lease } => {
                bench.push(&remote, &commit, &branch, lease.as_deref())?;
            }
            PublishAction::Call(_, request) => {
                let answer = checked(tools.api, &request)?;
                let value: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
                if let Some(url) = value["html_url"].as_str() {
                    report.url = Some(url.to_owned());
                }
                if let (Some(number), Some(head)) = (value["number"].as_u64(), value["head"]["sha"].as_str())
                {
                    *pull = Some((number, head.to_owned()));
                }
            }
        }
        report.steps.push(step);
    }
    Ok(())
}
