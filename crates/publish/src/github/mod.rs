//! A finished output to GitHub: comments, reviews, pull requests, checks.
//!
//! Each part is decided from the output and from what GitHub holds, and carried out afterwards. Nothing is remembered
//! between runs but what stands on GitHub itself.

mod check;
mod comment;
mod execute;
pub(crate) mod hub;
mod options;
mod pull;
mod pull_review;
mod report;
mod words;

use std::path::Path;

use holon_core::artifact::{ethics::EthicsReport, review::ReviewReport};
use holon_core::ids::TaskId;
use holon_core::redact::Redactor;
use holon_core::secrets;
use holon_git::Git;

use crate::api::{ApiBase, ApiRequest, ForgeApi};
use crate::error::PublishError;
use crate::facts::PublicationFacts;
use crate::folder::VerifiedOutput;
use crate::text::Cleaner;
use crate::token::ForgeToken;
use execute::{PartDecision, PublishAction, carry};
use hub::{ForgeIdentity, IssueOrPull, RepoFacts};

pub use options::{EthicsAs, OwnAccount, PublishOptions, PublishPart, PublishPolicyVerdict};
pub use report::{PartReport, PublishCall, PublishOutcome, PublishReport, PublishStep};

/// What publishing works with.
pub struct PublishTools<'a> {
    /// The forge.
    pub api: &'a mut dyn ForgeApi,
    /// Where it is, which decides where the token may go.
    pub reach: &'a ApiBase,
    /// The token for git.
    pub token: Option<ForgeToken>,
    /// Git.
    pub git: &'a Git,
    /// A place for temporary files.
    pub temp: &'a Path,
    /// Variables of the network that git shall see.
    pub network: Vec<(&'static str, String)>,
    /// Knows what must never be published.
    pub redactor: Redactor,
}

/// Publishes what an output holds; an error means that nothing was begun, a failed part is in the report.
pub fn publish(
    output: &VerifiedOutput,
    options: &PublishOptions,
    tools: &mut PublishTools<'_>,
) -> Result<PublishReport, PublishError> {
    let ready = output.gate(options.draft_needs_human)?;
    let clean = Cleaner::new(tools.redactor.clone());
    let parts = parts(output, options)?;
    let target = &options.target;
    let repo = hub::repo(tools.api, &target.repo)?;
    if repo.archived {
        return Err(PublishError::usage(
            format!("{} is archived", target.repo),
            "nothing can be published there",
        ));
    }
    let thread = target.number.map(|number| hub::thread(tools.api, &target.repo, number)).transpose()?;
    let task = task(output, options, thread.as_ref())?;
    let facts = PublicationFacts::of(output, task, ready, &clean);
    let mut run = Publication {
        output,
        options,
        clean: &clean,
        facts: &facts,
        repo: &repo,
        thread,
        me: None,
        opened: None,
    };
    let mut report = PublishReport {
        run: facts.run.clone(),
        target: target.to_string(),
        task: facts.task.to_string(),
        dry_run: options.dry_run,
        parts: Vec::new(),
    };
    for part in parts {
        report.parts.push(run.part(part, tools));
    }
    Ok(report)
}

/// What to publish: what was asked for, or everything there is.
fn parts(output: &VerifiedOutput, options: &PublishOptions) -> Result<Vec<PublishPart>, PublishError> {
    let file = |part: PublishPart| match part {
        PublishPart::Pull => "diff.patch",
        PublishPart::Review => "review.json",
        PublishPart::Plan => "plan.md",
        PublishPart::Ethics => "ethics.json",
        PublishPart::Summary | PublishPart::Policy => "summary.md",
    };
    let has = |part: &PublishPart| output.bytes(file(*part)).is_some();
    if let Some(part) = options.only.iter().find(|part| !has(part)) {
        let message = format!("run {} left no valid {}", output.run(), file(*part));
        return Err(PublishError::usage(message, "leave --only out to publish what there is"));
    }
    let mut parts = options.only.clone();
    if parts.is_empty() {
        parts = [PublishPart::Pull, PublishPart::Review, PublishPart::Plan, PublishPart::Ethics]
            .into_iter()
            .filter(has)
            .collect();
        if parts.is_empty() && has(&PublishPart::Summary) {
            parts.push(PublishPart::Summary);
        }
    }
    parts.retain(|part| *part != PublishPart::Policy);
    // Whatever else goes out, it goes out with what the policy says.
    parts.extend(options.policy.as_ref().map(|_| PublishPart::Policy));
    parts.sort();
    parts.dedup();
    if parts.is_empty() {
        return Err(PublishError::folder(output.dir(), "there is nothing in it that can be published"));
    }
    Ok(parts)
}

/// The task's name: given, else from the number, else from the run.
fn task(
    output: &VerifiedOutput,
    options: &PublishOptions,
    thread: Option<&IssueOrPull>,
) -> Result<TaskId, PublishError> {
    if let Some(task) = &options.task {
        // What git takes for the end of a branch's name.
        let text = task.as_str();
        if text.ends_with(['.', '-']) || text.ends_with(".lock") || text.contains("..") {
            return Err(PublishError::usage(
                format!("task `{text}` cannot name a branch"),
                "use letters, digits and dashes",
            ));
        }
        return Ok(task.clone());
    }
    let name = match (options.target.number, thread) {
        (Some(number), Some(IssueOrPull::Pull(_))) => format!("pr-{number}"),
        (Some(number), _) => format!("issue-{number}"),
        (None, _) => output.run().to_owned(),
    };
    name.parse().map_err(|e| PublishError::usage(format!("{e}"), "name the task with --task"))
}

/// One publication in progress.
struct Publication<'a> {
    output: &'a VerifiedOutput,
    options: &'a PublishOptions,
    clean: &'a Cleaner,
    facts: &'a PublicationFacts,
    repo: &'a RepoFacts,
    thread: Option<IssueOrPull>,
    me: Option<ForgeIdentity>,
    /// The pull request that was opened for the patch: number and head.
    opened: Option<(u64, String)>,
}

impl Publication<'_> {
    fn part(&mut self, part: PublishPart, tools: &mut PublishTools<'_>) -> PartReport {
        let done = match part {
            PublishPart::Pull => self.pull(tools),
            PublishPart::Review => self.review(tools),
            PublishPart::Plan => self.comment(tools, PublishPart::Plan, "Plan", "plan.md"),
            PublishPart::Summary => self.comment(tools, PublishPart::Summary, "Summary", "summary.md"),
            PublishPart::Ethics => self.ethics(tools),
            PublishPart::Policy => self.policy(tools),
        };
        done.unwrap_or_else(|error| PartReport::new(part.name()).fail(&error))
    }

    fn pull_facts(&self) -> Option<&hub::PullFacts> {
        match &self.thread {
            Some(IssueOrPull::Pull(pull)) => Some(pull),
            _ => None,
        }
    }

    /// The issue or pull request that comments go to.
    fn number(&self) -> Option<u64> {
        self.options.target.number.or(self.opened.as_ref().map(|(number, _)| *number))
    }

    fn me(&mut self, tools: &mut PublishTools<'_>) -> Result<ForgeIdentity, PublishError> {
        if self.me.is_none() {
            self.me = Some(hub::me(tools.api, &self.options.own)?);
        }
        Ok(self.me.clone().unwrap_or(ForgeIdentity::SomeApp))
    }

    fn pull(&mut self, tools: &mut PublishTools<'_>) -> Result<PartReport, PublishError> {
        let name = PublishPart::Pull.name();
        let patch = self.output.bytes("diff.patch").unwrap_or_default();
        if patch.is_empty() || self.output.manifest().no_changes {
            return Ok(PartReport::skipped(name, "the run changed nothing"));
        }
        if let Some(hit) = secrets::scan_added_lines_with(&tools.redactor, patch).into_iter().next() {
            return Err(PublishError::Secret { path: hit.path, line: hit.line, rule: hit.rule });
        }
        let ask = pull::PullContext {
            output: self.output,
            options: self.options,
            facts: self.facts,
            clean: self.clean,
            repo: self.repo,
            pull: self.pull_facts(),
            patch,
        };
        let (report, pull) =
            carry(tools, self.options.dry_run, PartReport::new(name), |tools, _| pull::decide(&ask, tools));
        self.opened = pull;
        Ok(report)
    }

    fn review(&mut self, tools: &mut PublishTools<'_>) -> Result<PartReport, PublishError> {
        let name = PublishPart::Review.name();
        let Some(review) = self.output.json::<ReviewReport>("review.json")? else {
            return Ok(PartReport::skipped(name, "there is no review.json"));
        };
        let Some(number) = self.pull_facts().map(|pull| pull.number) else {
            return Err(PublishError::usage(
                "a review needs a pull request",
                "name one as OWNER/REPO#NUMBER, or use `holon publish summary`, `sarif`, `junit` or `markdown`",
            ));
        };
        let me = self.me(tools)?;
        let ask = pull_review::PullReviewContext {
            output: self.output,
            review: &review,
            options: self.options,
            facts: self.facts,
            clean: self.clean,
            repo: self.repo,
            me: &me,
            number,
        };
        Ok(carry(tools, self.options.dry_run, PartReport::new(name), |tools, before| {
            pull_review::decide(&ask, tools, before)
        })
        .0)
    }

    fn comment(
        &mut self,
        tools: &mut PublishTools<'_>,
        part: PublishPart,
        heading: &str,
        file: &str,
    ) -> Result<PartReport, PublishError> {
        let text = self.output.text(file).unwrap_or_default();
        self.comment_saying(tools, part, heading, (file, &text))
    }

    fn comment_saying(
        &mut self,
        tools: &mut PublishTools<'_>,
        part: PublishPart,
        heading: &str,
        (file, text): (&str, &str),
    ) -> Result<PartReport, PublishError> {
        let Some(number) = self.number() else {
            let why = "no issue or pull request is given to comment on; `holon publish summary` writes a job summary";
            return Ok(PartReport::skipped(part.name(), why));
        };
        let me = self.me(tools)?;
        let said = comment::CommentContent { kind: part.name(), heading, file, text };
        let (repo, facts, clean) = (&self.options.target.repo, self.facts, self.clean);
        let decide = |tools: &mut PublishTools<'_>| {
            let present = hub::list(tools.api, repo.path(&format!("/issues/{number}/comments")))?;
            let (request, url) = comment::decide(repo, number, &present, &me, &said, facts, clean);
            let actions =
                request.into_iter().map(|(what, request)| PublishAction::Call(what, request)).collect();
            Ok(PartDecision { actions, url, ..PartDecision::default() })
        };
        Ok(carry(tools, self.options.dry_run, PartReport::new(part.name()), |tools, _| decide(tools)).0)
    }

    fn ethics(&mut self, tools: &mut PublishTools<'_>) -> Result<PartReport, PublishError> {
        let Some(ethics) = self.output.json::<EthicsReport>("ethics.json")? else {
            return Ok(PartReport::skipped(PublishPart::Ethics.name(), "there is no ethics.json"));
        };
        let head = self.head();
        let file = if self.output.bytes("ethics.md").is_some() { "ethics.md" } else { "ethics.json" };
        let head = match (head, self.options.ethics) {
            (_, EthicsAs::Comment) | (None, EthicsAs::Auto) => {
                return self.comment(tools, PublishPart::Ethics, "Ethics report", file);
            }
            (None, EthicsAs::Check) => {
                return Err(PublishError::usage(
                    "a check run needs a pull request",
                    "name one as OWNER/REPO#NUMBER",
                ));
            }
            (Some(head), _) => head,
        };
        let text = self.output.text("ethics.md").unwrap_or_else(|| ethics.approval_justification.clone());
        let said = check::CheckRunContent::of_ethics(&ethics, &text, self.facts, self.clean);
        let (report, refused) = self.check_run(tools, PublishPart::Ethics, &head, &said);
        if refused && self.options.ethics == EthicsAs::Auto {
            let mut report = self.comment(tools, PublishPart::Ethics, "Ethics report", file)?;
            report.notes.push("the token may not make check runs, so it is a comment".into());
            return Ok(report);
        }
        Ok(report)
    }

    fn policy(&mut self, tools: &mut PublishTools<'_>) -> Result<PartReport, PublishError> {
        let name = PublishPart::Policy.name();
        let Some(verdict) = &self.options.policy else {
            return Ok(PartReport::skipped(name, "no policy is given"));
        };
        let said = check::CheckRunContent::of_policy(verdict, self.facts, self.clean);
        let mut report = match self.head() {
            Some(head) => {
                let (report, refused) = self.check_run(tools, PublishPart::Policy, &head, &said);
                match refused {
                    true => {
                        let text = format!("{}\n\n{}", said.title, said.text);
                        let mut report = self.comment_saying(
                            tools,
                            PublishPart::Policy,
                            "Policy",
                            ("`holon verify`", &text),
                        )?;
                        report.notes.push("the token may not make check runs, so it is a comment".into());
                        report
                    }
                    false => report,
                }
            }
            // The pull request is yet to be opened.
            None if self.options.dry_run => {
                let (what, request) = said.new_request(&self.options.target.repo, None, self.facts);
                let decision = || PartDecision {
                    actions: vec![PublishAction::Call(what.clone(), request.clone())],
                    ..PartDecision::default()
                };
                carry(tools, true, PartReport::new(name), |_, _| Ok(decision())).0
            }
            None => PartReport::skipped(name, "there is no pull request that a check could stand beside"),
        };
        report.notes.push(said.title);
        Ok(report)
    }

    /// The commit that check runs stand beside.
    fn head(&self) -> Option<String> {
        let pull = self.pull_facts().map(|pull| pull.head_sha.clone());
        pull.or(self.opened.as_ref().map(|(_, sha)| sha.clone()))
    }

    /// Makes a check run or brings it up to date, and says whether the token may not: only Apps may make check runs, and
    /// everyone may say the same in a comment.
    fn check_run(
        &self,
        tools: &mut PublishTools<'_>,
        part: PublishPart,
        head: &str,
        said: &check::CheckRunContent,
    ) -> (PartReport, bool) {
        let (repo, facts) = (&self.options.target.repo, self.facts);
        let mut forbidden = false;
        let (report, _) = carry(tools, self.options.dry_run, PartReport::new(part.name()), |tools, _| {
            let request = ApiRequest::get(repo.path(&format!("/commits/{head}/check-runs")));
            let request = request.query("check_name", said.name).query("filter", "all");
            let present = hub::list_in(tools.api, request, "check_runs");
            forbidden = present.as_ref().is_err_and(|error| error.status() == Some(403));
            let request = check::decide(repo, head, &present?, said, facts);
            let actions =
                request.into_iter().map(|(what, request)| PublishAction::Call(what, request)).collect();
            Ok(PartDecision { actions, ..PartDecision::default() })
        });
        let refused = forbidden || report.error.as_deref().is_some_and(|error| error.contains("(403)"));
        (report, refused)
    }
}
