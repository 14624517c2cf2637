//! The check as it was: which files of a change define checks, and the tree in which they are as before the change.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use holon_core::manifest::{ChangedDefinition, DefinitionKind};
use regex::Regex;

use crate::before::{BaseSources, BaseTree};
use crate::definition::{LineMark, RULES, RestoreForm, is_documentation};
use crate::reach::{CheckDefinitions, is_code};
use crate::restore::{self, inline::GraftOutcome};
use crate::settings::{RevisedSettings, SettingReaders};
use crate::takeover::RevisedCode;
use crate::{modules, peek};

/// One file of a change. `None` where it does not exist.
#[derive(Debug, Clone, Default)]
pub struct RevisedFile {
    /// Relative to the workspace.
    pub path: String,
    /// Before.
    pub base: Option<FileContent>,
    /// After.
    pub result: Option<FileContent>,
}

/// What is known of a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileContent {
    /// Its text.
    Text(String),
    /// Something that is no text, or too long to be looked at.
    Opaque,
}

impl FileContent {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Opaque => None,
        }
    }
}

impl RevisedFile {
    fn base_text(&self) -> Option<&str> {
        self.base.as_ref().and_then(FileContent::text)
    }

    fn result_text(&self) -> Option<&str> {
        self.result.as_ref().and_then(FileContent::text)
    }
}

/// What stands at a path in the tree of the check as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlacedContent {
    /// What was there before the change.
    Base,
    /// Nothing: it was not there before.
    Absent,
    /// This: partly as before, partly as changed.
    Text(String),
}

/// One path that differs from the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// Relative to the workspace.
    pub path: String,
    /// What stands there.
    pub put: PlacedContent,
}

/// What a change does to the checks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckImpact {
    /// Files of the change that define checks.
    pub definitions: Vec<ChangedDefinition>,
    /// How the tree of the check as it was differs from the result.
    pub placements: Vec<Placement>,
    /// Whether the change adds code that ends a process: then fewer cases may run without any of them failing.
    pub ends_process: bool,
    /// Whether it does so as if all were well.
    pub ends_well: bool,
    /// Where it does: files with lines.
    pub endings: Vec<(String, u32)>,
}

impl CheckImpact {
    /// Whether the change defines anything of its own checks.
    pub fn is_touched(&self) -> bool {
        !self.definitions.is_empty()
    }

    /// Whether something of it could not be put back.
    pub fn leaves_doubt(&self) -> bool {
        self.definitions.iter().any(|one| !one.restored)
    }

    /// The files that add what ends a process, as what they are to a check that came to an end too early.
    pub fn ending_definitions(&self) -> impl Iterator<Item = ChangedDefinition> {
        let known = move |(path, _): &&(String, u32)| {
            !self.definitions.iter().any(|one| one.path == *path && !one.restored)
        };
        let one = |(path, line): &(String, u32)| ChangedDefinition {
            path: path.clone(),
            kind: DefinitionKind::TestAware,
            restored: false,
            line: Some(*line),
        };
        self.endings.iter().filter(known).map(one)
    }

    fn put(&mut self, path: &str, kind: DefinitionKind, put: PlacedContent) {
        self.touched(path, kind);
        self.placements.push(Placement { path: path.to_owned(), put });
    }

    /// A definition that the change touches, and that is as it was or put back.
    fn touched(&mut self, path: &str, kind: DefinitionKind) {
        let path = path.to_owned();
        self.definitions.push(ChangedDefinition { path, kind, restored: true, line: None });
    }

    fn doubt(&mut self, path: &str, kind: DefinitionKind, line: Option<u32>) {
        self.definitions.push(ChangedDefinition { path: path.to_owned(), kind, restored: false, line });
    }
}

/// Finds what a change does to the checks that are run by `commands`.
pub fn as_it_was(files: &[RevisedFile], commands: &[String], before: &BaseTree<'_>) -> CheckImpact {
    let read_base = before.text;
    let tests = BaseSources::of(before);
    let defined = CheckDefinitions::of_commands(commands, read_base);
    let changed: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let exists = |path: &str| changed.contains(path) || read_base(path).is_some();
    let gone: BTreeSet<&str> =
        files.iter().filter(|file| file.result.is_none()).map(|file| file.path.as_str()).collect();
    // What is gone with this change leaves its place to others.
    let still_there = |path: &str| if gone.contains(path) { None } else { read_base(path) };
    let new: BTreeSet<&str> =
        files.iter().filter(|file| file.base.is_none()).map(|file| file.path.as_str()).collect();
    let stands_in = |path: &str| {
        (new.contains(path) && defined.stands_in(path, &still_there)).then_some(DefinitionKind::Shadow)
    };
    let data = |path: &str| {
        let of_tests = is_data(path) && tests.is_read_by_tests_alone(path);
        of_tests.then_some(DefinitionKind::Fixture)
    };
    let kind_of = |path: &str| defined.kind(path, &exists).or_else(|| stands_in(path)).or_else(|| data(path));
    let is_definition = |path: &str| kind_of(path).is_some();
    let sources: BTreeSet<&str> = files
        .iter()
        .filter(|file| file.base.is_none() && file.result.is_some() && !is_definition(&file.path))
        .map(|file| file.path.as_str())
        .collect();
    let mut found = CheckImpact::default();
    let absent: BTreeSet<&str> = files
        .iter()
        .filter(|file| file.base.is_none() && is_definition(&file.path) && !begins_package(file, before))
        .map(|file| file.path.as_str())
        .collect();
    let looking = ChangeInspection { files, commands, defined: &defined, tests: &tests, absent: &absent };
    let readers = SettingReaders { tests: &tests, defined: &defined };
    for file in files {
        match kind_of(&file.path) {
            Some(_) if begins_package(file, before) => {}
            Some(kind) => whole_or_merged(file, kind, &sources, &readers, &mut found),
            None if settings_put_back(file, &readers, &mut found) => {}
            None => looking.among_other_code(file, &mut found),
        }
        modules_left(file, files, read_base, &mut found);
    }
    found
}

/// Puts back values of a file of settings that the checks name; says whether there were any.
fn settings_put_back(file: &RevisedFile, readers: &SettingReaders<'_>, found: &mut CheckImpact) -> bool {
    let (Some(base), Some(result)) = (file.base_text(), file.result_text()) else { return false };
    let path = file.path.as_str();
    let text = readers.put_back(&RevisedSettings { path, base, result, is_manifest: false });
    let Some(text) = text else { return false };
    found.put(path, DefinitionKind::Fixture, PlacedContent::Text(text));
    true
}

/// Modules with tests that a file of Rust declared and does not any more, although they are still there.
fn modules_left(
    file: &RevisedFile,
    files: &[RevisedFile],
    read_base: &dyn Fn(&str) -> Option<String>,
    found: &mut CheckImpact,
) {
    let (Some(base), Some(result)) = (file.base_text(), file.result_text()) else { return };
    if !file.path.ends_with(".rs") {
        return;
    }
    let now = modules::declared(&file.path, result);
    let left = modules::declared(&file.path, base).into_iter().filter(|(path, condition)| {
        now.get(path).is_none_or(|now| now != condition && !is_met(now))
            && !files.iter().any(|file| file.path == *path && file.result.is_none())
    });
    for (path, _) in left {
        let Some(text) = read_base(&path) else { continue };
        let gone = RevisedFile { path, base: Some(FileContent::Text(text)), result: None };
        match moved_on(&gone, files) {
            Some(true) => found.touched(&gone.path, DefinitionKind::InlineTests),
            Some(false) => found.doubt(&gone.path, DefinitionKind::InlineTests, None),
            None => {}
        }
    }
}

/// Whether a condition of a module is met wherever checks run.
fn is_met(condition: &str) -> bool {
    ["", "#[cfg(test)]", "#[cfg(unix)]", "#[cfg(target_os = \"linux\")]"].contains(&condition)
}

/// Whether a file could be data that tests are told by.
fn is_data(path: &str) -> bool {
    !is_code(path) && !is_documentation(path)
}

/// Whether a file is the manifest of a package that is new with this change: nothing that was there is in it.
fn begins_package(file: &RevisedFile, before: &BaseTree<'_>) -> bool {
    let by_keys = RULES
        .definition(&file.path)
        .is_some_and(|one| matches!(one.form, RestoreForm::Toml(_) | RestoreForm::Json(_)));
    let folder = file.path.rsplit_once('/').map(|(folder, _)| folder);
    by_keys && file.base.is_none() && folder.is_some_and(|folder| !(before.has_folder)(folder))
}

/// A file that is a definition by its name or because a check names it.
fn whole_or_merged(
    file: &RevisedFile,
    kind: DefinitionKind,
    sources: &BTreeSet<&str>,
    readers: &SettingReaders<'_>,
    found: &mut CheckImpact,
) {
    let put = match (&file.base, &file.result) {
        (None, _) => PlacedContent::Absent,
        (Some(_), None) => PlacedContent::Base,
        (Some(_), Some(_)) => {
            // What a build file takes in is one, too.
            let usual =
                if kind == DefinitionKind::BuildFile { &RestoreForm::Words } else { &RestoreForm::Whole };
            let form = RULES.definition(&file.path).map_or(usual, |one| &one.form);
            let by_parts =
                matches!(form, RestoreForm::Json(_) | RestoreForm::Toml(_) | RestoreForm::Sections(_));
            match (file.base_text(), file.result_text()) {
                (Some(base), Some(result)) => {
                    let merged = restore::merged(form, base, result, sources).map(|merged| {
                        let path = file.path.as_str();
                        let read = RevisedSettings { path, base, result: &merged, is_manifest: true };
                        by_parts.then(|| readers.put_back(&read)).flatten().unwrap_or(merged)
                    });
                    match merged {
                        // Nothing that matters to a check differs.
                        Some(text) if text == result => return,
                        Some(text) if text != base => PlacedContent::Text(text),
                        _ => PlacedContent::Base,
                    }
                }
                _ => PlacedContent::Base,
            }
        }
    };
    found.put(&file.path, kind, put);
}

/// What code of a change is looked at with.
struct ChangeInspection<'l> {
    files: &'l [RevisedFile],
    commands: &'l [String],
    defined: &'l CheckDefinitions,
    tests: &'l BaseSources<'l>,
    /// Files that are new and do not stand in the tree of the check as it was.
    absent: &'l BTreeSet<&'l str>,
}

impl ChangeInspection<'_> {
    /// Code that is no definition: tests inside of it, marks for linters, and code that knows that it is tested.
    fn among_other_code(&self, file: &RevisedFile, found: &mut CheckImpact) {
        let Self { files, commands, defined, .. } = self;
        let path = file.path.as_str();
        let base = file.base_text().unwrap_or_default();
        let Some(result) = file.result_text() else {
            if file.result.is_none() {
                match moved_on(file, files) {
                    // Cases have other names now.
                    Some(true) => found.touched(path, DefinitionKind::InlineTests),
                    Some(false) => found.doubt(path, DefinitionKind::InlineTests, None),
                    None => {}
                }
            }
            return;
        };
        self.looks_at_checks(file, base, result, found);
        let mut text = result.to_owned();
        let mut kinds = BTreeSet::new();
        for rule in RULES.inline(path) {
            if file.base.is_none() {
                // Tests of its own in a file that does not stand in that tree.
                let gone = |name: &str| {
                    modules::files_of(path, name).iter().any(|file| self.absent.contains(file.as_str()))
                };
                if let Some(shorter) = restore::inline::without_gone_modules(rule, &text, gone) {
                    text = shorter;
                    kinds.insert(rule.kind);
                }
                continue;
            }
            match restore::inline::graft(rule, base, &text) {
                GraftOutcome::Same => {}
                GraftOutcome::Text(grafted) => {
                    text = grafted;
                    kinds.insert(rule.kind);
                }
                GraftOutcome::Impossible => found.doubt(path, rule.kind, None),
            }
        }
        let marks: Vec<&Regex> = RULES.suppressions(path, commands).collect();
        if let Some(stripped) = restore::without_new_marks(&marks, base, &text) {
            text = stripped;
            kinds.insert(DefinitionKind::Suppression);
        }
        if let Some(stripped) = peek::without_quiet_words(defined, base, &text) {
            text = stripped;
            kinds.insert(DefinitionKind::Suppression);
        }
        for kind in &kinds {
            found.touched(path, *kind);
        }
        if !kinds.is_empty() {
            found.placements.push(Placement { path: path.to_owned(), put: PlacedContent::Text(text) });
        }
    }

    /// Whether a script for a shell is new and nothing speaks of it.
    fn is_script_of_its_own(&self, file: &RevisedFile) -> bool {
        let name = file.path.rsplit('/').next().unwrap_or(&file.path);
        let others = || self.files.iter().filter(|other| other.path != file.path);
        file.base.is_none()
            && [".sh", ".bash", ".zsh", ".ksh"].iter().any(|end| name.ends_with(end))
            && !self.tests.is_sourced(&file.path)
            && self.tests.tests_naming(name).next().is_none()
            && !self.defined.says(name)
            && !others().filter_map(RevisedFile::result_text).any(|text| text.contains(name))
    }

    /// Code that knows that it is tested, takes over what a check stands on, or ends the process.
    fn looks_at_checks(&self, file: &RevisedFile, base: &str, result: &str, found: &mut CheckImpact) {
        let Self { commands, defined, tests, .. } = self;
        let path = peek::telling_path(&file.path, result);
        let (told, before) = (peek::without_remarks(&path, result), peek::without_remarks(&path, base));
        let change = RevisedCode { path: &path, base: &before, result: &told, is_old: file.base.is_some() };
        let sourced = OnceCell::new();
        let is_sourced = || {
            let ask = || defined.reads_in(&file.path) || tests.is_sourced(&file.path);
            *sourced.get_or_init(ask)
        };
        let line = |mark: LineMark<'_>| change.marked(&mark, tests).filter(|_| !mark.sourced || is_sourced());
        let aware = RULES
            .aware(&path, commands)
            .find_map(line)
            .or_else(|| change.changes_what_is_borrowed())
            .or_else(|| change.holds_suspect())
            .or_else(|| change.spreads_a_name(tests))
            .or_else(|| change.takes_from_tests(tests))
            .or_else(|| peek::names_definitions(&path, base, result, defined))
            .or_else(|| peek::macro_for_function(&path, base, result))
            .or_else(|| peek::meddles_with_tests(&path, base, result, tests))
            .or_else(|| peek::asserts_less(&path, base, result, tests));
        if let Some(line) = aware {
            found.doubt(&file.path, DefinitionKind::TestAware, Some(line));
        }
        // A program of its own ends itself and nothing else.
        if path != file.path || self.is_script_of_its_own(file) {
            return;
        }
        if let Some(line) = RULES.endings(&path, commands).find_map(line) {
            found.ends_process = true;
            found.endings.push((file.path.clone(), line));
        }
        found.ends_well |= RULES.good_endings(&path, commands).any(|mark| line(mark).is_some());
    }
}

/// Whether everything that was a test in a file that is gone is in another file of the change; nothing where there was
/// no test in it.
fn moved_on(gone: &RevisedFile, files: &[RevisedFile]) -> Option<bool> {
    let base = gone.base_text()?;
    let is_built = |file: &RevisedFile| {
        let declares = |other: &RevisedFile| {
            other
                .result_text()
                .is_some_and(|text| modules::declared(&other.path, text).contains_key(&file.path))
        };
        // The same declaration leads to `slug.rs` and to `slug/mod.rs`.
        let stem = |path: &str| {
            path.strip_suffix("/mod.rs").or_else(|| path.strip_suffix(".rs")).unwrap_or(path).to_owned()
        };
        !file.path.ends_with(".rs")
            || is_root(&file.path)
            || stem(&file.path) == stem(&gone.path)
            || files.iter().any(declares)
    };
    let new: Vec<&RevisedFile> =
        files.iter().filter(|file| file.base.is_none()).filter(|file| is_built(file)).collect();
    let mut had_tests = false;
    let all_kept = RULES.inline(&gone.path).all(|rule| {
        let tests = restore::inline::tests(rule, base);
        had_tests |= !tests.is_empty();
        let kept = |test: &String| {
            new.iter()
                .filter_map(|file| file.result_text())
                .any(|text| restore::inline::tests(rule, text).contains(test))
        };
        tests.iter().all(kept)
    });
    had_tests.then_some(all_kept)
}

/// Whether a file of Rust is built without being declared.
fn is_root(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    ["lib.rs", "main.rs", "build.rs"].contains(&name) || path.contains("/bin/") || path.contains("examples/")
}
