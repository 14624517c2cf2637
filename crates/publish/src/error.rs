//! Why something was not published.

use std::path::PathBuf;
use std::time::Duration;

use holon_core::RunOutcome;
use holon_core::release::{ReleaseDecision, ReleaseReason};

use crate::branch::PatchConflict;

/// What stood in the way, with enough context to act on it.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The output folder cannot be used.
    #[error("{}: {why}", path.display())]
    Folder {
        /// The folder or file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A file is not the one the manifest vouches for.
    #[error("{path} is not the file the run left: the manifest says sha256 {expected}, it has {found}")]
    Tampered {
        /// The file, relative to the folder.
        path: String,
        /// The digest that was promised.
        expected: String,
        /// The digest of what is there.
        found: String,
    },
    /// The release gate lets nothing of it out.
    #[error("{}", .0.message())]
    Held(Box<ReleaseDecision>),
    /// What was asked for makes no sense.
    #[error("{message}")]
    Usage {
        /// What is wrong.
        message: String,
        /// What to do.
        hint: String,
    },
    /// The forge answered with a refusal.
    #[error("{call} was refused ({status}): {message}")]
    Refused {
        /// Method and path.
        call: String,
        /// The status.
        status: u16,
        /// What the forge said.
        message: String,
    },
    /// No answer, or one that says nothing about what was done.
    #[error("{call} got no clear answer: {why}")]
    Unclear {
        /// Method and path.
        call: String,
        /// What happened.
        why: String,
    },
    /// An answer that is not what the forge's description promises.
    #[error("{call} was answered with something unexpected: {why}")]
    Answer {
        /// Method and path.
        call: String,
        /// What is wrong.
        why: String,
    },
    /// The forge wants more patience than was allowed.
    #[error("{call} has to wait {}s because of a rate limit, which is more than was allowed", wait.as_secs())]
    RateLimited {
        /// Method and path.
        call: String,
        /// How long it would take.
        wait: Duration,
    },
    /// The patch does not apply to the branch; nothing was changed.
    #[error("the patch does not apply to {onto}; nothing was changed:{}", told(conflicts))]
    Conflicts {
        /// The branch and its commit.
        onto: String,
        /// Every place that stands against it.
        conflicts: Vec<PatchConflict>,
    },
    /// The branch holds commits of someone else.
    #[error("branch {branch} holds work of someone else (commit {commit}, {why}); it is left as it is")]
    Foreign {
        /// The branch.
        branch: String,
        /// Its last commit.
        commit: String,
        /// How that was recognised.
        why: String,
    },
    /// The push was refused.
    #[error("pushing to {branch} was refused: {said}")]
    Push {
        /// The branch.
        branch: String,
        /// What the server said.
        said: String,
    },
    /// The patch would add a credential.
    #[error("the patch adds what looks like a credential ({rule}) in {path}:{line}")]
    Secret {
        /// The file.
        path: String,
        /// The line in the new file.
        line: u64,
        /// The shape's id.
        rule: String,
    },
    /// Git could not do something.
    #[error(transparent)]
    Git(#[from] holon_git::GitError),
    /// A file could not be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason given by the system.
        source: std::io::Error,
    },
    /// The credentials cannot be used.
    #[error("{0}")]
    Credentials(String),
}

fn told(conflicts: &[PatchConflict]) -> String {
    let shown = conflicts.iter().take(20).map(|conflict| format!("\n  {conflict}"));
    let mut text: String = shown.collect();
    if conflicts.len() > 20 {
        text.push_str(&format!("\n  and {} more", conflicts.len() - 20));
    }
    text
}

impl PublishError {
    /// A request that makes no sense.
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), hint: hint.into() }
    }

    pub(crate) fn folder(path: impl Into<PathBuf>, why: impl Into<String>) -> Self {
        Self::Folder { path: path.into(), why: why.into() }
    }

    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }

    /// Whether the command line is to blame.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Usage { .. })
    }

    /// Whether a person has to decide before this can go out.
    pub fn needs_human(&self) -> bool {
        matches!(self, Self::Held(decision) if decision.exit_code() == RunOutcome::NeedsHuman.exit_code())
    }

    /// Whether the change may have been made although no answer says so.
    pub fn is_unclear(&self) -> bool {
        matches!(self, Self::Unclear { .. })
    }

    /// The status of a refusal.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Usage { hint, .. } => hint.clone(),
            Self::Tampered { .. } => "publish the folder as the run left it, or run again".into(),
            Self::Held(decision) if matches!(decision.held[..], [ReleaseReason::NeedsPerson(_)]) => {
                "look at it, then publish it as a draft with --draft-needs-human".into()
            }
            Self::Held(decision) if decision.can_be_overridden() => decision.hint("holon publish github …"),
            Self::Held(decision) if self.needs_human() => decision.hint(""),
            Self::Held(_) => "only a successful run is published; see `holon runs show`".into(),
            Self::Refused { status: 401, .. } => "the token is not accepted: set GITHUB_TOKEN to a valid one".into(),
            Self::Refused { status: 403, .. } => {
                "the token lacks a permission: docs/publish.md lists what each artifact needs; a token of a pull request \
                 from a fork can only read"
                    .into()
            }
            Self::Refused { status: 404, .. } => {
                "either it does not exist, or the token may not see it; check the name and the token's repositories".into()
            }
            Self::Unclear { call, .. } if call.starts_with("GET ") => {
                "check the network (and --api-url, if it is given), then run the same command again".into()
            }
            Self::Unclear { .. } => "run the same command again: what is already there is found and not repeated".into(),
            Self::RateLimited { .. } => "allow it with --max-wait, or run the same command later: it goes on where it stopped".into(),
            Self::Conflicts { .. } => "run again on the branch as it is now".into(),
            Self::Foreign { .. } => "choose another branch with --task, or delete the branch".into(),
            Self::Push { said, .. } if said.contains("workflow") => {
                "a patch that changes workflows needs a token with the `workflows` permission".into()
            }
            Self::Push { said, .. } if said.to_lowercase().contains("protected") => {
                "the branch is protected: allow the publisher's account to push to `holon/*`, or choose a fork with --push-to".into()
            }
            Self::Push { .. } => "see what the server said; run the same command again when it is solved".into(),
            Self::Secret { .. } => "take the credential out, and make it invalid if it was real".into(),
            _ => return None,
        })
    }
}
