//! What a caller decides about publishing to GitHub.

use holon_core::ids::TaskId;

use crate::review::VerdictReach;
use crate::target::{PublishTarget, RepoName};

/// One thing an output can become.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PublishPart {
    /// diff.patch as branch and pull request.
    Pull,
    /// review.json as a pull request review.
    Review,
    /// plan.md as a comment.
    Plan,
    /// ethics.json as a check run or comment.
    Ethics,
    /// summary.md as a comment.
    Summary,
    /// What a policy says, as a check run or comment.
    Policy,
}

impl PublishPart {
    /// The name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pull => "pull",
            Self::Review => "review",
            Self::Plan => "plan",
            Self::Ethics => "ethics",
            Self::Summary => "summary",
            Self::Policy => "policy",
        }
    }
}

/// Who the publisher is, so that only its own marks count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnAccount {
    /// This account.
    Login(String),
    /// Not known yet: the forge is asked.
    Ask,
}

/// Where an ethics report goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EthicsAs {
    /// A check run where the token may make one, else a comment.
    #[default]
    Auto,
    /// A check run.
    Check,
    /// A comment.
    Comment,
}

/// What a team's policy says about an output and the statement that goes along with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublishPolicyVerdict {
    /// The policy, by its name or file.
    pub policy: String,
    /// Who signed the statement, of those that count.
    pub signed_by: Vec<String>,
    /// Every broken rule, a sentence each; none when the policy is satisfied.
    pub against: Vec<String>,
}

impl PublishPolicyVerdict {
    /// Whether no rule is broken.
    pub fn satisfied(&self) -> bool {
        self.against.is_empty()
    }
}

/// Everything a caller decides.
#[derive(Debug, Clone)]
pub struct PublishOptions {
    /// The repository, and maybe an issue or pull request.
    pub target: PublishTarget,
    /// Only these; empty for everything the output holds.
    pub only: Vec<PublishPart>,
    /// The name of the work, which names the branch `holon/TASK`; made from the number or the run when not given.
    pub task: Option<TaskId>,
    /// The branch a pull request goes to; the repository's default one when not given.
    pub base: Option<String>,
    /// The repository to push to, when it is not the target's own.
    pub push_to: Option<RepoName>,
    /// Add the change to the target pull request's own branch instead of opening one.
    pub into_pull: bool,
    /// The title of a pull request; the first line of summary.md when not given.
    pub title: Option<String>,
    /// Name and address of the commit's author.
    pub author: Option<(String, String)>,
    /// The folder of the repository that the run's workspace was, when it was not its root.
    pub directory: Option<String>,
    /// Publish what needs a person, as a draft.
    pub draft_needs_human: bool,
    /// Open a pull request as a draft in any case.
    pub draft: bool,
    /// The most findings posted at once.
    pub limit: usize,
    /// How far a verdict goes.
    pub verdicts: VerdictReach,
    /// Where an ethics report goes.
    pub ethics: EthicsAs,
    /// Who publishes.
    pub own: OwnAccount,
    /// A signed statement about the output, which goes along with its pull request.
    pub statement: Option<String>,
    /// What a policy says, which becomes the check `holon/policy`.
    pub policy: Option<PublishPolicyVerdict>,
    /// Say what would be done and change nothing.
    pub dry_run: bool,
}

impl PublishOptions {
    /// The defaults for a target.
    pub fn new(target: PublishTarget) -> Self {
        Self {
            target,
            only: Vec::new(),
            task: None,
            base: None,
            push_to: None,
            into_pull: false,
            title: None,
            author: None,
            directory: None,
            draft_needs_human: false,
            draft: false,
            limit: 50,
            verdicts: VerdictReach::default(),
            ethics: EthicsAs::default(),
            own: OwnAccount::Ask,
            statement: None,
            policy: None,
            dry_run: false,
        }
    }
}
