//! Why something may not leave: typed, with a sentence and a remedy each.

/// One reason; the first of a decision is the one to begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReleaseReason {
    /// It is not over.
    Unfinished,
    /// A wall did not hold.
    Breach(String),
    /// Commands that were to succeed on the result failed.
    ChecksFailed(Vec<String>),
    /// It failed.
    Failed(String),
    /// A required artifact is missing or not valid.
    ArtifactMissing(String),
    /// The assessment of purpose and risks blocks it.
    AssessmentBlocked(String),
    /// The review blocks it.
    ReviewBlocked(String),
    /// It holds what looks like a credential.
    Credential(Vec<String>),
    /// Its patch was kept back.
    Withheld,
    /// There is no patch.
    NoPatch,
    /// It changes files that steer what runs or is trusted.
    Sensitive(Vec<String>),
    /// A person has to look first.
    NeedsPerson(String),
    /// Somebody else changed the originals.
    BaseMoved(Vec<String>),
    /// The whole it is a part of is not over.
    WholeUnfinished {
        /// The whole.
        run: String,
    },
    /// The whole failed.
    WholeFailed {
        /// The whole.
        run: String,
        /// Why.
        why: String,
    },
    /// The whole is blocked, or waits for a person.
    WholeBlocked {
        /// The whole.
        run: String,
        /// Why.
        why: String,
    },
    /// The whole cannot be looked at here.
    WholeUnknown {
        /// The whole.
        run: String,
    },
}

impl ReleaseReason {
    /// Codes that a person's word can be about, for whoever reads a command line.
    pub const OVERRIDABLE: [&'static str; 7] = [
        "sensitive",
        "assessment_blocked",
        "review_blocked",
        "whole_unfinished",
        "whole_failed",
        "whole_blocked",
        "whole_unknown",
    ];

    /// A stable short word.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unfinished => "unfinished",
            Self::Breach(_) => "breach",
            Self::ChecksFailed(_) => "checks_failed",
            Self::Failed(_) => "failed",
            Self::ArtifactMissing(_) => "artifact_missing",
            Self::AssessmentBlocked(_) => "assessment_blocked",
            Self::ReviewBlocked(_) => "review_blocked",
            Self::Credential(_) => "credential",
            Self::Withheld => "withheld",
            Self::NoPatch => "no_patch",
            Self::Sensitive(_) => "sensitive",
            Self::NeedsPerson(_) => "needs_person",
            Self::BaseMoved(_) => "base_moved",
            Self::WholeUnfinished { .. } => "whole_unfinished",
            Self::WholeFailed { .. } => "whole_failed",
            Self::WholeBlocked { .. } => "whole_blocked",
            Self::WholeUnknown { .. } => "whole_unknown",
        }
    }

    /// Whether a person's word, with a reason, lets it pass.
    pub fn can_be_overridden(&self) -> bool {
        Self::OVERRIDABLE.contains(&self.code())
    }

    /// Whether there is nothing that could leave, whatever a person says about it: the work itself went wrong.
    pub const fn is_failure(&self) -> bool {
        matches!(
            self,
            Self::Unfinished
                | Self::Breach(_)
                | Self::ChecksFailed(_)
                | Self::Failed(_)
                | Self::ArtifactMissing(_)
                | Self::NoPatch
        )
    }

    /// What is wrong, in a sentence about `run`.
    pub fn sentence(&self, run: &str) -> String {
        match self {
            Self::Unfinished => format!("run {run} is not over"),
            Self::Breach(what) => format!("run {run} broke a wall: {what}"),
            Self::ChecksFailed(commands) => {
                format!(
                    "the check of run {run} failed, so its patch is not applied: {} did not succeed",
                    quoted(commands)
                )
            }
            Self::Failed(why) => format!("run {run} failed, so its patch is not applied: {why}"),
            Self::ArtifactMissing(name) => format!("run {run} lacks {name}, which is required"),
            Self::AssessmentBlocked(why) => format!("run {run} is blocked by its assessment: {why}"),
            Self::ReviewBlocked(why) => format!("run {run} is blocked by its review: {why}"),
            Self::Credential(places) => {
                format!("run {run} holds what looks like a credential: {}", places.join(", "))
            }
            Self::Withheld => format!("the patch of run {run} was withheld"),
            Self::NoPatch => format!("run {run} delivered no patch"),
            Self::Sensitive(paths) => format!(
                "run {run} changes files that steer agents, CI, git or Holon itself: {}",
                paths.join(", ")
            ),
            Self::NeedsPerson(why) => format!("a person has to look at run {run} first: {why}"),
            Self::BaseMoved(what) => {
                format!("files changed in the workspace since run {run} saw them: {}", what.join(", "))
            }
            Self::WholeUnfinished { run: whole } => {
                format!("run {run} is a part of {whole}, which is not over")
            }
            Self::WholeFailed { run: whole, why } => {
                format!("run {run} is a part of {whole}, which failed: {why}")
            }
            Self::WholeBlocked { run: whole, why } => {
                format!("run {run} is a part of {whole}, which is blocked: {why}")
            }
            Self::WholeUnknown { run: whole } => {
                format!("run {run} is a part of {whole}, which cannot be looked at from here")
            }
        }
    }

    /// What to do about it, apart from overriding it.
    pub fn remedy(&self, run: &str) -> String {
        match self {
            Self::Unfinished => "wait for its end, or go on with it (`holon run --resume`)".into(),
            Self::Breach(_) => format!("see `holon runs show {run}`; its patch is not to be trusted"),
            Self::ChecksFailed(_) | Self::Failed(_) => {
                format!("`holon runs show {run}` says what went wrong; mend it and run again")
            }
            Self::ArtifactMissing(_) => "run it again".into(),
            Self::AssessmentBlocked(_) => format!(
                "read its ethics.md; to let it out all the same: holon run --resume {run} --override-ethics \"REASON\""
            ),
            Self::ReviewBlocked(_) => "read its review.json, and have the findings mended".into(),
            Self::Credential(_) => {
                format!("remove it and run again; `holon runs diff {run}` says where the patch is without it")
            }
            Self::Withheld => format!("`holon runs diff {run}` says where it is, to be looked at"),
            Self::NoPatch => format!("modes that only look deliver none; see `holon runs show {run}`"),
            Self::Sensitive(_) => format!("read them first: holon runs diff {run}"),
            Self::NeedsPerson(_) => format!("look at it with `holon runs diff {run}`"),
            Self::BaseMoved(_) => "put your changes aside or commit them, then try again".into(),
            Self::WholeUnfinished { run: whole } => {
                format!("wait for {whole}, or go on with it: holon run --resume {whole}")
            }
            Self::WholeFailed { run: whole, .. } | Self::WholeBlocked { run: whole, .. } => {
                format!("see `holon runs show {whole}`, and let the whole out instead of a part of it")
            }
            Self::WholeUnknown { run: whole } => {
                format!("publish {whole} itself, from the machine that made it")
            }
        }
    }
}

fn quoted(commands: &[String]) -> String {
    commands.iter().map(|command| format!("`{command}`")).collect::<Vec<_>>().join(", ")
}
