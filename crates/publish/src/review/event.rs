//! What a review says as a whole.

use holon_core::artifact::review::ReviewVerdict;

/// How far a verdict goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Verdicts {
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
pub enum Event {
    /// Says something.
    Comment,
    /// Stands in the way of merging.
    RequestChanges,
    /// Lets it pass.
    Approve,
}

impl Event {
    /// What a verdict becomes; nobody can judge their own pull request, and a draft judges nothing.
    pub fn of(verdict: ReviewVerdict, verdicts: Verdicts, may_judge: bool) -> Self {
        match (verdict, verdicts) {
            _ if !may_judge => Self::Comment,
            (ReviewVerdict::Block, Verdicts::Block | Verdicts::All) => Self::RequestChanges,
            (ReviewVerdict::Approve, Verdicts::All) => Self::Approve,
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
            assert_eq!(Event::of(verdict, verdicts, may).name(), expect, "{verdict:?} {verdicts:?}");
        };
        check(Approve, Verdicts::Comment, true, "COMMENT");
        check(Block, Verdicts::Comment, true, "COMMENT");
        check(Block, Verdicts::Block, true, "REQUEST_CHANGES");
        check(Approve, Verdicts::Block, true, "COMMENT");
        check(Approve, Verdicts::All, true, "APPROVE");
        check(Block, Verdicts::All, false, "COMMENT");
        check(Comment, Verdicts::All, true, "COMMENT");
    }
}
