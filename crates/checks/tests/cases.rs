//! Ways to cheat a check, and honest changes that touch tests: what the decision about each is, on data.
//!
//! The tree in which a check runs as it was is made here as the host makes it, and looked into: no word of a cheat may be
//! left in it, the old check must be back, and an honest change of code must still be there, else old code would be tested.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod seeds;

use std::collections::BTreeMap;

use holon_checks::as_it_was::FileContent;
use holon_checks::{BaseTree, CheckImpact, PlacedContent, RevisedFile, as_it_was};
use serde::Deserialize;

#[derive(Deserialize)]
struct CheatCasesFile {
    case: Vec<CheatCase>,
}

/// One change and what must become of it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct CheatCase {
    name: String,
    ecosystem: String,
    command: String,
    before: BTreeMap<String, String>,
    after: BTreeMap<String, String>,
    deleted: Vec<String>,
    gone: Vec<String>,
    back: Vec<String>,
    kept: Vec<String>,
    /// Nothing can be put back: it must be refused.
    refused: bool,
    /// The person said beforehand that tests may change.
    allowed: bool,
}

impl CheatCase {
    fn files(&self) -> Vec<RevisedFile> {
        let text = |text: &String| FileContent::Text(text.clone());
        let changed = self.after.iter().map(|(path, after)| RevisedFile {
            path: path.clone(),
            base: self.before.get(path).map(text),
            result: Some(text(after)),
        });
        let deleted = self.deleted.iter().map(|path| RevisedFile {
            path: path.clone(),
            base: self.before.get(path).map(text),
            result: None,
        });
        changed.chain(deleted).collect()
    }

    fn judged(&self) -> CheckImpact {
        let text = |path: &str| self.before.get(path).cloned();
        let has_folder =
            |folder: &str| self.before.keys().any(|path| path.starts_with(&format!("{folder}/")));
        let paths = || self.before.keys().cloned().collect();
        let before = BaseTree { text: &text, has_folder: &has_folder, paths: &paths };
        as_it_was(&self.files(), std::slice::from_ref(&self.command), &before)
    }

    /// Everything in the tree of the check as it was.
    fn tree(&self, judged: &CheckImpact) -> String {
        let mut tree = self.before.clone();
        tree.extend(self.after.clone());
        self.deleted.iter().for_each(|path| {
            tree.remove(path);
        });
        for placement in &judged.placements {
            let text = match &placement.put {
                PlacedContent::Absent => None,
                PlacedContent::Base => self.before.get(&placement.path).cloned(),
                PlacedContent::Text(text) => Some(text.clone()),
            };
            match text {
                Some(text) => tree.insert(placement.path.clone(), text),
                None => tree.remove(&placement.path),
            };
        }
        tree.into_values().collect::<Vec<_>>().join("\n")
    }

    /// What is wrong with the decision about a cheat: `verified` could be said, or nobody is told why not.
    fn cheat_passes(&self) -> Option<String> {
        let judged = self.judged();
        if judged.definitions.is_empty() {
            return Some("nothing was noticed".into());
        }
        if judged.leaves_doubt() {
            return None;
        }
        if self.refused {
            return Some("it had to be refused".into());
        }
        self.wrong_words(&judged)
    }

    /// What is wrong with the decision about an honest change: it goes to a person, or old code would be tested.
    fn honest_is_held(&self) -> Option<String> {
        let judged = self.judged();
        if judged.leaves_doubt() && !self.allowed {
            return Some(format!("goes to a person: {:?}", judged.definitions));
        }
        self.wrong_words(&judged)
    }

    fn wrong_words(&self, judged: &CheckImpact) -> Option<String> {
        let tree = self.tree(judged);
        // JSON and TOML are written anew.
        let squeezed = |text: &str| text.split_whitespace().collect::<String>();
        let has = |word: &String| tree.contains(word.as_str()) || squeezed(&tree).contains(&squeezed(word));
        let there = self.gone.iter().find(|word| tree.contains(word.as_str()));
        let missing = self.back.iter().chain(&self.kept).find(|word| !has(word));
        match (there, missing) {
            (Some(word), _) => Some(format!("still there: {word}\n{tree}")),
            (_, Some(word)) => Some(format!("not there: {word}\n{tree}")),
            _ => None,
        }
    }
}

fn load(text: &str) -> Vec<CheatCase> {
    toml::from_str::<CheatCasesFile>(text).unwrap().case
}

/// How many of a set go wrong, told by name.
fn count(set: &str, cases: &[CheatCase], wrong: impl Fn(&CheatCase) -> Option<String>) -> usize {
    let found: Vec<_> = cases.iter().filter_map(|case| wrong(case).map(|why| (case, why))).collect();
    for (case, why) in &found {
        eprintln!("{set}: {} ({}): {why}", case.name, case.ecosystem);
    }
    eprintln!("{set}: {} of {} wrong", found.len(), cases.len());
    found.len()
}

#[test]
fn inv_18_no_cheat_passes_as_the_check_it_was() {
    let written = load(include_str!("cases/blind_cheats.toml"));
    let published = load(include_str!("cases/published_cheats.toml"));
    let generated = seeds::cheats();
    let ecosystems: std::collections::BTreeSet<_> =
        written.iter().chain(&generated).map(|case| case.ecosystem.clone()).collect();
    assert!(written.len() + generated.len() >= 60 && generated.len() >= 30 && ecosystems.len() >= 8);
    let wrong = count("cheats as written", &written, CheatCase::cheat_passes)
        + count("cheats as published", &published, CheatCase::cheat_passes)
        + count("cheats by rules", &generated, CheatCase::cheat_passes);
    assert_eq!(wrong, 0);
}

#[test]
fn honest_changes_are_not_held_without_need() {
    let written = load(include_str!("cases/blind_honest.toml"));
    let generated = seeds::honest();
    let all = written.len() + generated.len();
    assert!(all >= 60, "{all}");
    let wrong = count("honest as written", &written, CheatCase::honest_is_held)
        + count("honest by rules", &generated, CheatCase::honest_is_held);
    assert!(wrong * 100 <= all * 3, "{wrong} of {all}");
}
