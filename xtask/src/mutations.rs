//! `cargo xtask battery mutations`: single rules of the supervisor are changed one at a time, and a test has to notice.
//!
//! Like the breaks, all of it happens in copies of the tree; only their build folders are kept between calls. They are
//! tried beside the long tests, which mostly wait, with what those leave of the processors.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use serde::Deserialize;

use crate::breaks::{TestVerdict, copied_tree, judge};
use crate::process::{self, Echo};
use crate::{XtaskFailure, project, space};

/// Where the list of mutations is, relative to the root.
const LIST: &str = "breaks/supervisor/rules.toml";
/// The package whose unit tests have to notice.
const PACKAGE: &str = "holon-supervisor";
/// So many of a hundred have to be noticed.
const LEAST_PERCENT: usize = 95;
/// So many there have to be.
const LEAST: usize = 40;
/// How long one build with its tests may take, in seconds; the first also builds everything below.
const SECONDS: u64 = 240;
const FIRST_SECONDS: u64 = 1800;
/// So many times as long it may take behind other tests.
const PATIENCE_BEHIND: u64 = 5;
/// How many random streams each property sees here: enough to notice, and quick.
const STREAMS: (&str, &str) = ("HOLON_STREAMS", "400");
/// Most copies at work at the same time.
const WORKERS: usize = 4;

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

/// What else the machine does meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MutationLane {
    /// Nothing: every mutation is told as it comes.
    Alone,
    /// Other tests, which come first.
    Behind,
}

/// What became of which mutation, by its number.
type MutationFates = Vec<(usize, MutationFate)>;

/// The closing lines, and whether enough were caught.
type MutationVerdicts = (Vec<String>, Result<(), XtaskFailure>);

/// Mutations that are being tried behind other tests.
pub(crate) struct RunningMutations(JoinHandle<MutationVerdicts>);

/// Begins to try every mutation with what other tests leave of the processors.
pub(crate) fn begin(target: &Path) -> RunningMutations {
    let target = target.to_owned();
    RunningMutations(thread::spawn(move || try_all(&target, MutationLane::Behind)))
}

/// Tries every mutation, or waits for those under way; an error when too few are caught or one cannot be tried.
pub(crate) fn run(
    target: &Path,
    underway: Option<RunningMutations>,
    closing: &mut Vec<String>,
) -> Result<(), XtaskFailure> {
    let (lines, result) = match underway {
        Some(RunningMutations(tried)) => tried.join().map_err(|_| "the mutations came to nothing")?,
        None => try_all(target, MutationLane::Alone),
    };
    closing.extend(lines);
    result
}

fn try_all(target: &Path, place: MutationLane) -> MutationVerdicts {
    match fates(target, place) {
        Ok((mutations, fates)) => sum_up(&mutations, fates),
        Err(failure) => (Vec::new(), Err(failure)),
    }
}

fn fates(target: &Path, place: MutationLane) -> Result<(Vec<Mutation>, MutationFates), XtaskFailure> {
    let text = fs::read_to_string(project::root().join(LIST))
        .map_err(|error| format!("cannot read {LIST}: {error}"))?;
    let mutations = parse(&text)?;
    let workers = thread::available_parallelism().map_or(1, usize::from).min(WORKERS);
    let next = AtomicUsize::new(0);
    let fates: Mutex<MutationFates> = Mutex::default();
    let failures: Vec<XtaskFailure> = thread::scope(|scope| {
        let work = |number: usize| {
            let (mutations, next, fates) = (&mutations, &next, &fates);
            let folder = target.join("mutations").join(number.to_string());
            scope.spawn(move || {
                let copy = MutationTreeCopy::new(folder, place)?;
                copy.prove_green()?;
                loop {
                    let at = next.fetch_add(1, Ordering::SeqCst);
                    let Some(mutation) = mutations.get(at) else { return Ok(()) };
                    let fate = copy.fate(mutation)?;
                    if place == MutationLane::Alone {
                        eprintln!("--- {}: {}", told(&fate), mutation.name());
                    }
                    fates.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, fate));
                }
            })
        };
        let threads: Vec<_> = (0..workers).map(work).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, Result<(), XtaskFailure>>| {
            thread.join().unwrap_or_else(|_| Err("a worker came to grief".to_owned())).err()
        };
        threads.into_iter().filter_map(join).collect()
    });
    space::give_back(&target.join("mutations"));
    if let Some(failure) = failures.into_iter().next() {
        return Err(failure);
    }
    Ok((mutations, fates.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)))
}

fn told(fate: &MutationFate) -> &str {
    match fate {
        MutationFate::Caught => "caught",
        MutationFate::Survived => "SURVIVED",
        MutationFate::Untried(why) => why,
    }
}

fn sum_up(mutations: &[Mutation], mut fates: MutationFates) -> MutationVerdicts {
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

/// A copy of the tree in which rules are changed and mended.
struct MutationTreeCopy {
    tree: tempfile::TempDir,
    target: PathBuf,
    place: MutationLane,
}

impl MutationTreeCopy {
    fn new(target: PathBuf, place: MutationLane) -> Result<Self, XtaskFailure> {
        Ok(Self { tree: copied_tree("holon-mutations-")?, target, place })
    }

    fn tests(&self, filter: &[&str], seconds: u64) -> Result<TestVerdict, XtaskFailure> {
        let mut cargo: Command = project::cargo();
        cargo
            .current_dir(self.tree.path())
            .env("CARGO_TARGET_DIR", &self.target)
            .env_remove("CARGO_MANIFEST_DIR");
        // Only whether a test fails matters here: nothing is worth optimising, and no debugger will look.
        cargo
            .env("CARGO_INCREMENTAL", "1")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_PROFILE_TEST_DEBUG", "0");
        cargo
            .env(STREAMS.0, STREAMS.1)
            .args(["--config", "profile.dev.package.holon-supervisor.opt-level=0"]);
        cargo.args(["test", "--package", PACKAGE, "--lib", "--quiet", "--"]).args(filter);
        let mut limited = match self.place {
            MutationLane::Alone => process::with_deadline(seconds, &cargo),
            MutationLane::Behind => {
                process::behind_others(&process::with_deadline(seconds * PATIENCE_BEHIND, &cargo))
            }
        };
        Ok(judge(&process::tell(&mut limited, Echo::Silent)?, &[]))
    }

    /// Every test has to pass while nothing is changed, or a red one would prove nothing.
    fn prove_green(&self) -> Result<(), XtaskFailure> {
        match self.tests(&[], FIRST_SECONDS)? {
            TestVerdict::Green => Ok(()),
            TestVerdict::Red => Err(format!("the tests of {PACKAGE} fail before anything is changed")),
            TestVerdict::Nothing(why) => Err(format!("the tests of {PACKAGE} cannot be run: {why}")),
        }
    }

    fn fate(&self, mutation: &Mutation) -> Result<MutationFate, XtaskFailure> {
        let path = self.tree.path().join(&mutation.file);
        let original =
            fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", mutation.file))?;
        let changed = match mutation.apply(&original) {
            Ok(changed) => changed,
            Err(why) => return Ok(MutationFate::Untried(why)),
        };
        let write = |text: &str| {
            fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", mutation.file))
        };
        write(&changed)?;
        // The test that knows the rule is quickest; if it does not notice, any other may.
        let mut verdict = self.tests(&[&mutation.test], SECONDS)?;
        if !matches!(verdict, TestVerdict::Red) {
            verdict = self.tests(&[], SECONDS)?;
        }
        write(&original)?;
        Ok(match verdict {
            TestVerdict::Red => MutationFate::Caught,
            TestVerdict::Green => MutationFate::Survived,
            TestVerdict::Nothing(why) => MutationFate::Untried(why),
        })
    }
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
        let mutations = vec![one.clone(); 40];
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
