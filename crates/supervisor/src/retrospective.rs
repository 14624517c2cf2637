//! The retrospective graph: at a takeover the plan is rebuilt from what the workspace proves, not from what was meant.

use crate::event::GitState;
use crate::graph::{GraphMove, GraphRecipe, TaskGraph, TemplateFit};
use crate::known::{CheckState, EvidenceMemory};

/// What each part of the snapshot is worth.
const HASHES: u32 = 400;
const GIT: u32 = 300;
const CHECKS: u32 = 300;

/// The workspace at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkspaceProof<'a> {
    pub known: &'a EvidenceMemory,
    pub git: GitState,
    /// Whether the hashes of changed files were made from their bytes just now.
    pub hashed: bool,
    /// Whether any check could have run.
    pub checkable: bool,
}

impl WorkspaceProof<'_> {
    /// Whether the snapshot can be believed, of 1000. Whether things go well is another question.
    pub(crate) fn trust(&self) -> u32 {
        let fresh = self.known.checks().iter().any(|check| self.known.is_fresh(check));
        let parts = [
            (HASHES, self.hashed, true),
            (GIT, self.git.is_known(), true),
            (CHECKS, fresh, self.checkable || !self.known.checks().is_empty()),
        ];
        let (mut held, mut all) = (0, 0);
        for (worth, holds, applies) in parts {
            all += u32::from(applies) * worth;
            held += u32::from(applies && holds) * worth;
        }
        held * 1000 / all
    }

    /// The last result of a failing check: a newer one does not exist, so it is what is known.
    pub(crate) fn failing(&self) -> Option<&CheckState> {
        self.known.fresh_red().or_else(|| {
            let last = self.known.checks().last();
            last.filter(|check| !check.ok)
        })
    }

    /// The failing cases, or the failing command when it names none.
    pub(crate) fn cases(&self) -> Vec<String> {
        self.failing().map(CheckState::cases).unwrap_or_default()
    }
}

/// What came of it.
pub(crate) struct RebuiltGraph {
    pub graph: TaskGraph,
    pub fits: Vec<TemplateFit>,
    pub moved: Vec<GraphMove>,
    /// Whether the snapshot was good enough to mark steps as done.
    pub believed: bool,
    /// Of 1000.
    pub trust: u32,
}

/// Rebuilds a plan. Without trust, or on an unsafe tree, nothing is taken as done and the steps come in one line.
pub(crate) fn rebuild(
    snapshot: &WorkspaceProof<'_>,
    plan: &GraphRecipe<'_>,
    named: &[String],
    round: u32,
    least: f64,
) -> Option<RebuiltGraph> {
    let trust = snapshot.trust();
    let believed = f64::from(trust) >= least * 1000.0 && !snapshot.git.is_unsafe();
    let (mut graph, fits) = plan.build()?;
    let ground = crate::graph::AdvanceContext { known: snapshot.known, named, round };
    let moved = if believed {
        graph.backfill(ground)
    } else {
        graph = graph.linear(plan.number);
        graph.start(ground)
    };
    Some(RebuiltGraph { graph, fits, moved, believed, trust })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::{Complexity, GoalIntent};
    use crate::event::SupervisorFact;
    use crate::scene::{check_ran, read, write};

    fn known(facts: &[SupervisorFact]) -> EvidenceMemory {
        let mut known = EvidenceMemory::default();
        facts.iter().for_each(|fact| {
            known.absorb(fact, 1);
        });
        known
    }

    #[test]
    fn trust_is_about_the_snapshot() {
        let red = known(&[check_ran("t", 1, &["x"])]);
        let stale = known(&[check_ran("t", 0, &[]), write("c", "a", "1", "2")]);
        let none = EvidenceMemory::default();
        let check = |known: &EvidenceMemory, hashed: bool, git: GitState, checkable: bool, expect: u32| {
            assert_eq!(WorkspaceProof { known, git, hashed, checkable }.trust(), expect);
        };
        check(&red, true, GitState::Normal, true, 1000);
        check(&stale, true, GitState::Normal, true, 700);
        check(&red, false, GitState::Normal, true, 600);
        check(&red, true, GitState::Unknown, true, 700);
        check(&stale, true, GitState::Unknown, true, 400);
        check(&none, true, GitState::None, false, 1000);
        check(&none, false, GitState::None, false, 428);
        check(&none, true, GitState::None, true, 700);
    }

    #[test]
    fn failing_cases_come_from_the_last_word() {
        let cases = |facts: &[SupervisorFact]| {
            let known = known(facts);
            WorkspaceProof { known: &known, git: GitState::Normal, hashed: true, checkable: true }.cases()
        };
        assert_eq!(cases(&[]), Vec::<String>::new());
        assert_eq!(cases(&[check_ran("t", 1, &["a", "b"])]), ["a", "b"]);
        assert_eq!(cases(&[check_ran("t", 1, &[])]), ["`t`"]);
        assert_eq!(cases(&[check_ran("t", 1, &["a"]), write("c", "f", "1", "2")]), ["a"]);
        assert_eq!(cases(&[check_ran("t", 1, &["a"]), check_ran("t", 0, &[])]), Vec::<String>::new());
    }

    #[test]
    fn belief_decides_the_shape() {
        let known = known(&[read("c", "a.rs", "0"), write("c", "a.rs", "0", "1")]);
        let plan = GraphRecipe {
            number: 3,
            goal: "g",
            intent: GoalIntent::Edit,
            complexity: Complexity::Moderate,
            checks: true,
            monorepo: false,
            cases: &[],
        };
        let build = |git, hashed, least| {
            let snapshot = WorkspaceProof { known: &known, git, hashed, checkable: true };
            rebuild(&snapshot, &plan, &[], 5, least).unwrap()
        };
        let good = build(GitState::Normal, true, 0.65);
        assert!(good.believed && good.trust == 700 && good.graph.fallback_branches.len() == 1);
        assert_eq!(good.graph.current().unwrap().kind.name(), "verify");
        for (git, hashed, least) in [
            (GitState::Normal, true, 0.71),
            (GitState::Normal, false, 0.65),
            (GitState::Conflict, true, 0.65),
            (GitState::Corrupt, true, 0.65),
        ] {
            let bad = build(git, hashed, least);
            assert!(!bad.believed && bad.graph.fallback_branches.is_empty(), "{git:?}");
            assert_eq!((bad.graph.current().unwrap().kind.name(), bad.graph.progress()), ("inspect", 0));
        }
        assert!(build(GitState::Detached, true, 0.65).believed);
        assert!(build(GitState::Rebase, true, 0.65).believed);
    }
}
