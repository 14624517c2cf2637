//! `cargo xtask battery mutations`: single rules of the supervisor are changed one at a time, and a test has to notice.
//!
//! They are tried beside the long tests, which mostly wait, with what those leave of the processors.

use std::fs;
use std::path::PathBuf;

use serde::Deserialize;

use crate::switched::{SwitchedCopy, TestBinary, TestVariant, TrialPace, side_by_side};
use crate::verdict::{TestVerdict, judge};
use crate::{XtaskFailure, project};

/// Where the list of mutations is, relative to the root.
const LIST: &str = "breaks/supervisor/rules.toml";
/// The package whose unit tests have to notice.
const PACKAGE: &str = "holon-supervisor";
/// So many of a hundred have to be noticed.
const LEAST_PERCENT: usize = 95;
/// So many there have to be.
const LEAST: usize = 40;
/// How long the tests may take, in seconds.
const SECONDS: u64 = 240;
/// How many random streams each property sees here: enough to notice, and quick.
const STREAMS: (&str, &str) = ("HOLON_STREAMS", "400");

/// One rule, changed.
#[derive(Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct Mutation {
    /// The file, relative to the root.
    file: String,
    /// A text that occurs in it exactly once.
    old: String,
    /// What takes its place.
    new: String,
    /// The test that is asked first.
    test: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MutationList {
    #[serde(rename = "mutation")]
    mutations: Vec<Mutation>,
}

fn parse(text: &str) -> Result<Vec<Mutation>, XtaskFailure> {
    let list: MutationList = toml::from_str(text).map_err(|error| format!("{LIST}: {error}"))?;
    Ok(list.mutations)
}

impl Mutation {
    /// The file's text with the rule changed.
    fn apply(&self, text: &str) -> Result<String, XtaskFailure> {
        match text.matches(&self.old).count() {
            1 => Ok(text.replacen(&self.old, &self.new, 1)),
            count => Err(format!("its text occurs {count} times in {}", self.file)),
        }
    }

    /// What is changed, in a line.
    fn name(&self) -> String {
        let line = self.old.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let file = self.file.rsplit("/src/").next().unwrap_or(&self.file);
        format!("{file}: {}", line.chars().take(70).collect::<String>())
    }
}

/// What became of a mutation.
#[derive(Debug, Clone, PartialEq, Eq)]
enum MutationFate {
    Caught,
    /// Every test stayed green.
    Survived,
    /// It could not be tried.
    Untried(String),
}

/// What became of which mutation, by its number in the list.
type MutationFates = Vec<(usize, MutationFate)>;

/// The closing lines, and whether enough were caught.
pub(crate) type MutationVerdicts = (Vec<String>, Result<(), XtaskFailure>);

/// All mutations with their numbers in a copy of the tree, or why one has none.
pub(crate) struct NumberedMutations(Vec<(Mutation, Result<usize, XtaskFailure>)>);

/// Puts every mutation into the copy.
pub(crate) fn add_to(copy: &mut SwitchedCopy) -> Result<NumberedMutations, XtaskFailure> {
    let text = fs::read_to_string(project::root().join(LIST))
        .map_err(|error| format!("cannot read {LIST}: {error}"))?;
    let add = |mutation: Mutation| {
        let file = PathBuf::from(&mutation.file);
        let text = copy.tree().text(&file).and_then(|text| mutation.apply(&text.unwrap_or_default()));
        let number = text.and_then(|text| copy.add([(file, text)].into(), unit_tests()));
        (mutation, number)
    };
    Ok(NumberedMutations(parse(&text)?.into_iter().map(add).collect()))
}

fn unit_tests() -> TestBinary {
    TestBinary { package: PACKAGE.to_owned(), binary: "lib".to_owned() }
}

impl NumberedMutations {
    /// Tries every mutation; an error when too few are caught or one cannot be tried.
    pub(crate) fn try_all(&self, copy: &SwitchedCopy, pace: TrialPace) -> MutationVerdicts {
        match self.fates(copy, pace) {
            Ok(fates) => {
                let mutations: Vec<&Mutation> = self.0.iter().map(|(mutation, _)| mutation).collect();
                let (mut lines, result) = sum_up(&mutations, fates);
                lines.extend(self.built_apart(copy));
                (lines, result)
            }
            Err(failure) => (Vec::new(), Err(failure)),
        }
    }

    fn fates(&self, copy: &SwitchedCopy, pace: TrialPace) -> Result<MutationFates, XtaskFailure> {
        prove_green(copy, pace)?;
        let fates = side_by_side(self.0.len(), |at| {
            let (mutation, number) = &self.0[at];
            let fate = match number {
                Ok(number) => fate(copy, mutation, *number, pace)?,
                Err(why) => MutationFate::Untried(why.clone()),
            };
            if pace == TrialPace::Alone {
                eprintln!("--- {}: {}", told(&fate), mutation.name());
            }
            Ok((at, fate))
        });
        fates.into_iter().collect()
    }

    fn built_apart(&self, copy: &SwitchedCopy) -> Option<String> {
        let apart =
            |number: &Result<usize, XtaskFailure>| number.as_ref().is_ok_and(|n| copy.apart().contains(n));
        let names: Vec<String> =
            self.0.iter().filter(|(_, number)| apart(number)).map(|(mutation, _)| mutation.name()).collect();
        (!names.is_empty()).then(|| {
            format!("mutations built on their own, {} of {}: {}", names.len(), self.0.len(), names.join("; "))
        })
    }
}

/// Every test has to pass while nothing is changed, or a red one would prove nothing.
fn prove_green(copy: &SwitchedCopy, pace: TrialPace) -> Result<(), XtaskFailure> {
    let unchanged = copy.variant(0, &unit_tests(), pace)??;
    match verdict_of(&unchanged, &[])? {
        TestVerdict::Green => Ok(()),
        TestVerdict::Red => Err(format!("the tests of {PACKAGE} fail before anything is changed")),
        TestVerdict::Nothing(why) => Err(format!("the tests of {PACKAGE} cannot be run: {why}")),
    }
}

fn fate(
    copy: &SwitchedCopy,
    mutation: &Mutation,
    number: usize,
    pace: TrialPace,
) -> Result<MutationFate, XtaskFailure> {
    let changed = match copy.variant(number, &unit_tests(), pace)? {
        Ok(changed) => changed,
        Err(why) => return Ok(MutationFate::Untried(why)),
    };
    // The test that knows the rule is quickest; if it does not notice, any other may.
    let mut verdict = verdict_of(&changed, &[&mutation.test])?;
    if !matches!(verdict, TestVerdict::Red) {
        verdict = verdict_of(&changed, &[])?;
    }
    Ok(match verdict {
        TestVerdict::Red => MutationFate::Caught,
        TestVerdict::Green => MutationFate::Survived,
        TestVerdict::Nothing(why) => MutationFate::Untried(why),
    })
}

fn verdict_of(variant: &TestVariant, filter: &[&str]) -> Result<TestVerdict, XtaskFailure> {
    let told = variant.run(filter, SECONDS, |command| {
        command.arg("--quiet").env(STREAMS.0, STREAMS.1);
    })?;
    Ok(judge(&told, &[]))
}

fn told(fate: &MutationFate) -> &str {
    match fate {
        MutationFate::Caught => "caught",
        MutationFate::Survived => "SURVIVED",
        MutationFate::Untried(why) => why,
    }
}

fn sum_up(mutations: &[&Mutation], mut fates: MutationFates) -> MutationVerdicts {
    fates.sort_by_key(|(at, _)| *at);
    let missed = fates.iter().filter(|(_, fate)| *fate != MutationFate::Caught);
    let mut lines: Vec<String> =
        missed.map(|(at, fate)| format!("{}: {}", told(fate), mutations[*at].name())).collect();
    let caught = fates.iter().filter(|(_, fate)| *fate == MutationFate::Caught).count();
    let untried = fates.iter().filter(|(_, fate)| matches!(fate, MutationFate::Untried(_))).count();
    lines.push(format!("mutations: {caught} of {} caught", mutations.len()));
    let result = if mutations.len() < LEAST {
        Err(format!("there must be at least {LEAST} mutations"))
    } else if untried > 0 {
        Err(format!("{untried} mutations could not be tried"))
    } else if caught * 100 < mutations.len() * LEAST_PERCENT {
        Err(format!("fewer than {LEAST_PERCENT} % of the mutations were caught"))
    } else {
        Ok(())
    };
    (lines, result)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    #[test]
    fn every_mutation_of_the_list_can_be_applied() {
        let text = fs::read_to_string(project::root().join(LIST)).unwrap();
        let mutations = parse(&text).unwrap();
        assert!(mutations.len() >= LEAST);
        for mutation in mutations {
            let original = fs::read_to_string(project::root().join(&mutation.file)).unwrap();
            let changed =
                mutation.apply(&original).unwrap_or_else(|why| panic!("{}: {why}", mutation.name()));
            assert_ne!(changed, original);
        }
    }

    #[test]
    fn too_few_caught_is_a_failure() {
        let one = Mutation {
            file: "crates/x/src/a.rs".into(),
            old: "\n  a == b".into(),
            new: "c".into(),
            test: "t".into(),
        };
        let mutations = vec![&one; 40];
        let fates = |survivors: usize| -> MutationFates {
            (0..40)
                .map(|at| (at, if at < survivors { MutationFate::Survived } else { MutationFate::Caught }))
                .collect()
        };
        let (lines, result) = sum_up(&mutations, fates(2));
        assert_eq!(lines, ["SURVIVED: a.rs: a == b", "SURVIVED: a.rs: a == b", "mutations: 38 of 40 caught"]);
        assert!(result.is_ok());
        assert!(sum_up(&mutations, fates(3)).1.unwrap_err().contains("95 %"));
        assert!(sum_up(&mutations[..3], vec![]).1.is_err());
        let untried = vec![(0, MutationFate::Untried("it does not build".into()))];
        assert!(sum_up(&mutations, untried).1.unwrap_err().contains("could not be tried"));
        assert!(one.apply("x").is_err() && one.apply("\n  a == b\n  a == b").is_err());
    }
}
