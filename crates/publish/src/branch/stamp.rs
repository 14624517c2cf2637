//! Trailers of a commit, by which a later run knows that the branch is its own.

use crate::facts::PublicationFacts;

/// What a commit of the publisher says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitStamp {
    /// The run.
    pub run: String,
    /// The task.
    pub task: String,
    /// The digest of the run's manifest.
    pub digest: String,
    /// The commit it was put on.
    pub base: String,
    /// The tree it holds: an amended commit keeps the message and changes the tree.
    pub tree: String,
}

/// A commit at the tip of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExistingCommit {
    /// Its id.
    pub id: String,
    /// Its tree.
    pub tree: String,
    /// Its parents.
    pub parents: Vec<String>,
    /// Its message.
    pub message: String,
}

/// What the branch holds, seen from this run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchStatus {
    /// There is no such branch.
    Absent,
    /// It holds this very output.
    Current(String),
    /// It holds an earlier output of the same task, which may be replaced.
    Earlier(String),
    /// It holds something else.
    Foreign(String, String),
}

impl CommitStamp {
    /// The stamp of a commit to be made.
    pub fn new(facts: &PublicationFacts, base: &str, tree: &str) -> Self {
        Self {
            run: facts.run.clone(),
            task: facts.task.to_string(),
            digest: facts.digest.clone(),
            base: base.to_owned(),
            tree: tree.to_owned(),
        }
    }

    /// The trailers, one per line.
    pub fn trailers(&self) -> String {
        format!(
            "Holon-Run: {}\nHolon-Task: {}\nHolon-Manifest: sha256:{}\nHolon-Base: {}\nHolon-Tree: {}\n",
            self.run, self.task, self.digest, self.base, self.tree
        )
    }

    /// The stamp in a message, from its last lines.
    pub fn read(message: &str) -> Option<Self> {
        let last = message.trim_end().rsplit("\n\n").next()?;
        let value = |name: &str| {
            last.lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(|v| v.trim().to_owned()))
        };
        Some(Self {
            run: value("Holon-Run")?,
            task: value("Holon-Task")?,
            digest: value("Holon-Manifest")?.strip_prefix("sha256:")?.to_owned(),
            base: value("Holon-Base")?,
            tree: value("Holon-Tree")?,
        })
    }
}

/// Whose a branch is, from the commit at its tip.
pub fn standing(tip: Option<&ExistingCommit>, facts: &PublicationFacts) -> BranchStatus {
    let Some(tip) = tip else { return BranchStatus::Absent };
    let foreign = |why: &str| BranchStatus::Foreign(tip.id.clone(), why.to_owned());
    let Some(stamp) = CommitStamp::read(&tip.message) else { return foreign("it carries no mark of a run") };
    if stamp.tree != tip.tree {
        return foreign("it was changed after the run that made it");
    }
    if tip.parents != [stamp.base.as_str()] {
        return foreign("it was moved onto another commit");
    }
    if stamp.task != facts.task.as_str() {
        return foreign("it belongs to another task");
    }
    if stamp.digest == facts.digest {
        BranchStatus::Current(tip.id.clone())
    } else {
        BranchStatus::Earlier(tip.id.clone())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn facts(digest: &str) -> PublicationFacts {
        PublicationFacts {
            run: "20260101-000000-aaaaaa".into(),
            digest: digest.into(),
            task: "issue-1".parse().unwrap(),
            draft: false,
            made: String::new(),
            overrides: Vec::new(),
            not_run: Vec::new(),
        }
    }

    fn ours(digest: &str) -> ExistingCommit {
        let stamp = CommitStamp::new(&facts(digest), "base", "tree");
        ExistingCommit {
            id: "tip".into(),
            tree: "tree".into(),
            parents: vec!["base".into()],
            message: format!("Title\n\nText.\n\n{}", stamp.trailers()),
        }
    }

    #[test]
    fn only_our_own_commit_is_replaced() {
        let check = |change: fn(&mut ExistingCommit), expect: &str| {
            let mut tip = ours("d1");
            change(&mut tip);
            assert!(format!("{:?}", standing(Some(&tip), &facts("d2"))).starts_with(expect), "{tip:?}");
        };
        assert_eq!(standing(None, &facts("d1")), BranchStatus::Absent);
        assert_eq!(standing(Some(&ours("d1")), &facts("d1")), BranchStatus::Current("tip".into()));
        check(|_| {}, "Earlier");
        check(|tip| tip.tree = "amended".into(), "Foreign");
        check(|tip| tip.parents = vec!["other".into()], "Foreign");
        check(|tip| tip.parents.push("merged".into()), "Foreign");
        check(|tip| tip.message = "Fix a typo".into(), "Foreign");
        check(|tip| tip.message = tip.message.replace("issue-1", "issue-2"), "Foreign");
        check(|tip| tip.message.push_str("\nSigned-off-by: Someone\n\nMore.\n"), "Foreign");
    }
}
