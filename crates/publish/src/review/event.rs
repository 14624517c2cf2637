//! What a review says as a whole.

use holon_core::artifact::review::ReviewVerdict;

/// How far a verdict goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum VerdictReach {
    /// Every review is a comment; a person decides.
    #[default]
    Comment,
    /// A blocking review requests changes, the others comment.
    Block,
    /// Approving is passed on as well.
    All,
}

/// The word for GitHub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewEvent {
    /// Says something.
    Comment,
    /// Stands in the way of merging.
    RequestChanges,
    /// Lets it pass.
    Approve,
}

impl ReviewEvent {
    /// What a verdict becomes; nobody can judge their own pull request, and a draft judges nothing.
    pub fn of(verdict: ReviewVerdict, verdicts: VerdictReach, may_judge: bool) -> Self {
        match (verdict, verdicts) {
            _ if !may_judge => Self::Comment,
            (ReviewVerdict::Block, VerdictReach::Block | VerdictReach::All) => Self::RequestChanges,
            (ReviewVerdict::Approve, VerdictReach::All) => Self::Approve,
            _ => Self::Comment,
        }
    }

    /// As it stands in a request.
    pub fn name(self) -> &'static str {
        match self {
            Self::Comment => "COMMENT",
            Self::RequestChanges => "REQUEST_CHANGES",
            Self::Approve => "APPROVE",
        }
    }
}

#[cfg(test)]
mod tests {
    use holon_core::artifact::review::ReviewVerdict::{Approve, Block, Comment};

    use super::*;

    #[test]
    fn a_verdict_goes_no_further_than_allowed() {
        let check = |verdict, verdicts, may, expect: &str| {
            assert_eq!(ReviewEvent::of(verdict, verdicts, may).name(), expect, "{verdict:?} {verdicts:?}");
        };
        check(Approve, VerdictReach::Comment, true, "COMMENT");
        check(Block, VerdictReach::Comment, true, "COMMENT");
        check(Block, VerdictReach::Block, true, "REQUEST_CHANGES");
        check(Approve, VerdictReach::Block, true, "COMMENT");
        check(Approve, VerdictReach::All, true, "APPROVE");
        check(Block, VerdictReach::All, false, "COMMENT");
        check(Comment, VerdictReach::All, true, "COMMENT");
    }
}
