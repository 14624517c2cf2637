//! One task as `bench/tasks/NAME` says it: a small repository, what is wanted, and what decides.

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::{BenchFailure, command};

/// What is asked of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TaskKind {
    /// Change files until a check passes; hidden tests decide.
    Change,
    /// Write a plan.
    Plan,
    /// Find what is wrong with a change.
    Review,
    /// Answer a question.
    Ask,
}

impl TaskKind {
    /// As it is written.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Change => "change",
            Self::Plan => "plan",
            Self::Review => "review",
            Self::Ask => "ask",
        }
    }
}

/// What was planted for reviewers to find.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Defect {
    pub(crate) path: String,
    pub(crate) line: u64,
    /// How many lines a finding may be away from it.
    pub(crate) within: u64,
    /// A regular expression that what is said about it matches.
    pub(crate) words: String,
}

/// The file `task.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskFile {
    kind: TaskKind,
    language: String,
    about: String,
    goal: String,
    /// The command whose failure an agent is shown.
    #[serde(default)]
    check: String,
    /// The command that decides, when the files of `hidden` are there.
    #[serde(default)]
    hidden: String,
    /// Files an agent that wants to be given files is given.
    #[serde(default)]
    sources: Vec<String>,
    /// Files that are put back before the hidden tests run.
    #[serde(default)]
    tests: Vec<String>,
    /// Regular expressions that an answer matches, all of them.
    #[serde(default)]
    expect: Vec<String>,
    /// Regular expressions that it must not match.
    #[serde(default)]
    refuse: Vec<String>,
    #[serde(default)]
    defect: Vec<Defect>,
    #[serde(default)]
    limit_seconds: Option<u64>,
}

/// One task.
#[derive(Debug, Clone)]
pub(crate) struct MeasuredTask {
    /// The name of its folder.
    pub(crate) name: String,
    /// Its folder.
    pub(crate) folder: PathBuf,
    pub(crate) kind: TaskKind,
    pub(crate) language: String,
    /// What kind of mistake or question it is.
    pub(crate) about: String,
    pub(crate) goal: String,
    pub(crate) check: String,
    pub(crate) hidden: String,
    pub(crate) sources: Vec<String>,
    pub(crate) tests: Vec<String>,
    pub(crate) expect: Vec<String>,
    pub(crate) refuse: Vec<String>,
    pub(crate) defects: Vec<Defect>,
    /// For one command that decides.
    pub(crate) limit_seconds: u64,
}

/// For a command that decides, unless its task says otherwise.
const LIMIT_SECONDS: u64 = 120;

/// All tasks below a folder, by name.
pub(crate) fn load(folder: &Path) -> Result<Vec<MeasuredTask>, BenchFailure> {
    let entries = fs::read_dir(folder).map_err(|e| format!("cannot read {}: {e}", folder.display()))?;
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    folders.retain(|path| path.join("task.toml").is_file());
    folders.sort();
    if folders.is_empty() {
        return Err(format!("there are no tasks in {}", folder.display()));
    }
    folders.iter().map(|path| read(path)).collect()
}

fn read(folder: &Path) -> Result<MeasuredTask, BenchFailure> {
    let path = folder.join("task.toml");
    let text = fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    parse(&name, folder, &text).map_err(|e| format!("{}: {e}", path.display()))
}

fn parse(name: &str, folder: &Path, text: &str) -> Result<MeasuredTask, BenchFailure> {
    let found: TaskFile = toml::from_str(text).map_err(|e| e.to_string())?;
    let task = MeasuredTask {
        name: name.to_owned(),
        folder: folder.to_owned(),
        kind: found.kind,
        language: found.language,
        about: found.about,
        goal: found.goal,
        check: found.check,
        hidden: found.hidden,
        sources: found.sources,
        tests: found.tests,
        expect: found.expect,
        refuse: found.refuse,
        defects: found.defect,
        limit_seconds: found.limit_seconds.unwrap_or(LIMIT_SECONDS),
    };
    task.sound()?;
    Ok(task)
}

impl MeasuredTask {
    /// What its kind needs is there, and expressions are expressions.
    fn sound(&self) -> Result<(), BenchFailure> {
        let need = |there: bool, what: &str| {
            if there { Ok(()) } else { Err(format!("a task of the kind {} needs {what}", self.kind.name())) }
        };
        match self.kind {
            TaskKind::Change => {
                need(!self.check.is_empty() && !self.hidden.is_empty(), "`check` and `hidden`")?;
                need(!self.sources.is_empty() && !self.tests.is_empty(), "`sources` and `tests`")?;
            }
            TaskKind::Review => need(!self.defects.is_empty(), "a [[defect]]")?,
            TaskKind::Plan | TaskKind::Ask => need(!self.expect.is_empty(), "`expect`")?,
        }
        programs(&self.language)?;
        let words = self.defects.iter().map(|defect| &defect.words);
        for expression in self.expect.iter().chain(&self.refuse).chain(words) {
            Regex::new(expression).map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    /// The program that is missing for it here, if one is.
    pub(crate) fn lacks(&self) -> Option<&'static str> {
        if self.kind != TaskKind::Change {
            return None;
        }
        let needed = programs(&self.language).unwrap_or_default();
        needed.iter().copied().find(|program| command::find(program).is_none())
    }

    /// One of its folders: `repo`, `base`, `hidden` or `solution`.
    pub(crate) fn part(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// What has to be installed for a language.
fn programs(language: &str) -> Result<&'static [&'static str], BenchFailure> {
    let needed: &[&str] = match language {
        "c" => &["make", "cc"],
        "go" => &["go"],
        "javascript" => &["node"],
        "perl" => &["perl"],
        "python" => &["python3"],
        "ruby" => &["ruby"],
        "rust" => &["cargo"],
        "shell" => &["sh"],
        other => return Err(format!("nobody knows what runs `{other}`")),
    };
    Ok(needed)
}

/// The order in which tasks are played: the same for the same seed.
pub(crate) fn shuffle(tasks: &mut [MeasuredTask], seed: u64) {
    let mut state = seed;
    for last in (1..tasks.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let other = usize::try_from((state >> 33) % (last as u64 + 1)).unwrap_or(0);
        tasks.swap(last, other);
    }
}

/// Where the tasks are, for tests.
#[cfg(test)]
pub(crate) fn own() -> Vec<MeasuredTask> {
    #![allow(clippy::unwrap_used)]
    load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tasks")).unwrap()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_task_says_what_its_kind_needs() {
        let good = "kind = 'change'\nlanguage = 'c'\nabout = 'state'\ngoal = 'Fix it'\n\
                    check = 'make'\nhidden = 'make h'\nsources = ['a.c']\ntests = ['t.c']\n";
        let parse = |text: &str| super::parse("x", Path::new("/x"), text);
        let task = parse(good).unwrap();
        assert_eq!(
            (task.kind, task.name.as_str(), task.limit_seconds),
            (TaskKind::Change, "x", LIMIT_SECONDS)
        );
        for (part, instead, complaint) in [
            ("hidden = 'make h'\n", "", "`hidden`"),
            ("'c'", "'cobol'", "cobol"),
            ("'change'", "'review'", "[[defect]]"),
            ("'change'", "'ask'", "`expect`"),
            ("'change'", "'fix'", "fix"),
            ("goal", "gaol", "gaol"),
            ("tests = ['t.c']", "tests = ['t.c']\nexpect = ['(']", "("),
        ] {
            let failure = parse(&good.replace(part, instead)).unwrap_err();
            assert!(failure.contains(complaint), "{instead}: {failure}");
        }
    }

    #[test]
    fn there_are_tasks_of_all_kinds_in_many_languages() {
        let tasks = own();
        let of = |kind| tasks.iter().filter(|task| task.kind == kind).count();
        assert!(of(TaskKind::Change) >= 30, "{}", of(TaskKind::Change));
        assert!([TaskKind::Plan, TaskKind::Review, TaskKind::Ask].iter().all(|kind| of(*kind) >= 4));
        let changes = tasks.iter().filter(|task| task.kind == TaskKind::Change);
        let languages: BTreeSet<&str> = changes.map(|task| task.language.as_str()).collect();
        assert!(languages.len() >= 6, "{languages:?}");
        for task in &tasks {
            for file in task.sources.iter().chain(&task.tests) {
                assert!(task.part("repo").join(file).is_file(), "{}: {file}", task.name);
            }
        }
    }

    #[test]
    fn a_seed_gives_one_order() {
        let names = |seed| {
            let mut tasks = own();
            shuffle(&mut tasks, seed);
            tasks.into_iter().map(|task| task.name).collect::<Vec<_>>()
        };
        assert_eq!(names(7), names(7));
        assert_ne!(names(7), names(8));
        let (mut one, mut other) = (names(1), names(2));
        one.sort();
        other.sort();
        assert_eq!(one, other);
    }
}
