//! Carrying decisions out: the thin part.
//!
//! A decision is made from what the forge holds now. When an answer is unclear, the forge is looked at again and decided
//! anew, so whatever was done is found and nothing is done twice. A crash is the same thing with a longer pause.

use std::rc::Rc;

use serde_json::Value;

use super::Tools;
use super::report::{Call, Outcome, PartReport, Step};
use crate::api::{Request, checked};
use crate::branch::{Bench, Remote};
use crate::error::Error;
use crate::review::Counts;

/// How often a part is decided anew.
const ATTEMPTS: u32 = 4;

/// One change to be made.
#[derive(Debug)]
pub(super) enum Action {
    /// A commit to a branch.
    Push { bench: Rc<Bench>, remote: Remote, commit: String, branch: String, lease: Option<String> },
    /// A request, with what it does in words.
    Call(String, Request),
}

impl Action {
    /// The commit that is pushed.
    pub(super) fn commit(&self) -> Option<&str> {
        match self {
            Self::Push { commit, .. } => Some(commit),
            Self::Call(..) => None,
        }
    }

    fn step(&self) -> Step {
        match self {
            Self::Push { remote, commit, branch, lease, .. } => {
                let over = match lease {
                    Some(old) => format!(", in place of {old}"),
                    None => ", which is new".to_owned(),
                };
                Step { what: format!("push {commit} to {branch} of {}{over}", remote.url), call: None }
            }
            Self::Call(what, request) => Step { what: what.clone(), call: Some(Call::from(request)) },
        }
    }
}

/// What a part comes to, given what the forge holds.
#[derive(Debug, Default)]
pub(super) struct Decision {
    pub actions: Vec<Action>,
    pub url: Option<String>,
    pub counts: Option<Counts>,
    pub notes: Vec<String>,
    /// The pull request it is about: number and head.
    pub pull: Option<(u64, String)>,
}

/// What went before, for a decision that depends on it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Before {
    /// How often the forge found the content itself wrong.
    pub unprocessable: u32,
}

/// Decides and carries out one part; the pull request it found or made comes back with the report.
pub(super) fn carry(
    tools: &mut Tools<'_>,
    dry_run: bool,
    mut report: PartReport,
    mut decide: impl FnMut(&mut Tools<'_>, Before) -> Result<Decision, Error>,
) -> (PartReport, Option<(u64, String)>) {
    let mut before = Before::default();
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
            report.steps = decision.actions.iter().map(Action::step).collect();
            report.result = if report.steps.is_empty() { Outcome::Unchanged } else { Outcome::Planned };
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
    report.result = if report.steps.is_empty() { Outcome::Unchanged } else { Outcome::Published };
    (report, pull)
}

/// Whether the forge may hold something else than was thought.
fn worth_another_look(error: &Error) -> bool {
    match error {
        Error::Unclear { .. } | Error::Refused { status: 409 | 422, .. } => true,
        Error::Push { said, .. } => said.contains("stale info") || said.contains("fetch first"),
        _ => false,
    }
}

fn carry_out(
    tools: &mut Tools<'_>,
    actions: Vec<Action>,
    report: &mut PartReport,
    pull: &mut Option<(u64, String)>,
) -> Result<(), Error> {
    for action in actions {
        let step = action.step();
        match action {
            Action::Push { bench, remote, commit, branch, lease } => {
                bench.push(&remote, &commit, &branch, lease.as_deref())?;
            }
            Action::Call(_, request) => {
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
