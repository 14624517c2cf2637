//! The check as it was: which files of a change define checks, and the tree in which they are as before the change.

use std::collections::BTreeSet;

use holon_core::manifest::{ChangedDefinition, DefinitionKind};
use regex::Regex;

use crate::before::{BaseTree, Sources};
use crate::definition::{Form, RULES, is_documentation};
use crate::peek;
use crate::reach::{CheckDefinitions, is_code};
use crate::restore::{self, inline::Grafted};

/// One file of a change. `None` where it does not exist.
#[derive(Debug, Clone, Default)]
pub struct ChangedFile {
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

impl ChangedFile {
    fn base_text(&self) -> Option<&str> {
        self.base.as_ref().and_then(FileContent::text)
    }

    fn result_text(&self) -> Option<&str> {
        self.result.as_ref().and_then(FileContent::text)
    }
}

/// What stands at a path in the tree of the check as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Put {
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
    pub put: Put,
}

/// What a change does to the checks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AsItWas {
    /// Files of the change that define checks.
    pub definitions: Vec<ChangedDefinition>,
    /// How the tree of the check as it was differs from the result.
    pub placements: Vec<Placement>,
    /// Whether the change adds code that ends a process: then fewer cases may run without any of them failing.
    pub ends_process: bool,
    /// Whether it does so as if all were well.
    pub ends_well: bool,
    /// Where it does.
    pub endings: Vec<String>,
}

impl AsItWas {
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
        let known =
            move |path: &&String| !self.definitions.iter().any(|one| one.path == **path && !one.restored);
        let one = |path: &String| ChangedDefinition {
            path: path.clone(),
            kind: DefinitionKind::TestAware,
            restored: false,
        };
        self.endings.iter().filter(known).map(one)
    }

    fn put(&mut self, path: &str, kind: DefinitionKind, put: Put) {
        self.definitions.push(ChangedDefinition { path: path.to_owned(), kind, restored: true });
        self.placements.push(Placement { path: path.to_owned(), put });
    }

    fn doubt(&mut self, path: &str, kind: DefinitionKind) {
        self.definitions.push(ChangedDefinition { path: path.to_owned(), kind, restored: false });
    }
}

/// Finds what a change does to the checks that are run by `commands`.
pub fn as_it_was(files: &[ChangedFile], commands: &[String], before: &BaseTree<'_>) -> AsItWas {
    let read_base = before.text;
    let tests = Sources::of(before);
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
    let mut found = AsItWas::default();
    let looking = Looking { files, commands, defined: &defined, tests: &tests };
    for file in files {
        match kind_of(&file.path) {
            Some(_) if begins_package(file, before) => {}
            Some(kind) => whole_or_merged(file, kind, &sources, &mut found),
            None => looking.among_other_code(file, &mut found),
        }
    }
    found
}

/// Whether a file could be data that tests are told by.
fn is_data(path: &str) -> bool {
    !is_code(path) && !is_documentation(path)
}

/// Whether a file is the manifest of a package that is new with this change: nothing that was there is in it.
fn begins_package(file: &ChangedFile, before: &BaseTree<'_>) -> bool {
    let by_keys =
        RULES.definition(&file.path).is_some_and(|one| matches!(one.form, Form::Toml(_) | Form::Json(_)));
    let folder = file.path.rsplit_once('/').map(|(folder, _)| folder);
    by_keys && file.base.is_none() && folder.is_some_and(|folder| !(before.has_folder)(folder))
}

/// A file that is a definition by its name or because a check names it.
fn whole_or_merged(file: &ChangedFile, kind: DefinitionKind, sources: &BTreeSet<&str>, found: &mut AsItWas) {
    let put = match (&file.base, &file.result) {
        (None, _) => Put::Absent,
        (Some(_), None) => Put::Base,
        (Some(_), Some(_)) => {
            let form = RULES.definition(&file.path).map_or(&Form::Whole, |one| &one.form);
            match (file.base_text(), file.result_text()) {
                (Some(base), Some(result)) => match restore::merged(form, base, result, sources) {
                    // Nothing that matters to a check differs.
                    Some(text) if text == result => return,
                    Some(text) if text != base => Put::Text(text),
                    _ => Put::Base,
                },
                _ => Put::Base,
            }
        }
    };
    found.put(&file.path, kind, put);
}

/// What code of a change is looked at with.
struct Looking<'l> {
    files: &'l [ChangedFile],
    commands: &'l [String],
    defined: &'l CheckDefinitions,
    tests: &'l Sources<'l>,
}

impl Looking<'_> {
    /// Code that is no definition: tests inside of it, marks for linters, and code that knows that it is tested.
    fn among_other_code(&self, file: &ChangedFile, found: &mut AsItWas) {
        let Self { files, commands, defined, tests } = self;
        let path = file.path.as_str();
        let base = file.base_text().unwrap_or_default();
        let Some(result) = file.result_text() else {
            if file.result.is_none() && !moved_on(file, files) {
                found.doubt(path, DefinitionKind::InlineTests);
            }
            return;
        };
        let (told, before) = (peek::without_remarks(path, result), peek::without_remarks(path, base));
        let added = |mark: &&Regex| mark.find_iter(&told).count() > mark.find_iter(&before).count();
        let aware = RULES.aware(path, commands).any(|mark| added(&mark))
            || peek::names_definitions(path, base, result, defined)
            || peek::macro_for_function(path, base, result)
            || peek::meddles_with_tests(path, base, result, tests)
            || peek::asserts_less(path, base, result, tests);
        if aware {
            found.doubt(path, DefinitionKind::TestAware);
        }
        if RULES.endings(path, commands).any(|mark| added(&mark)) {
            found.ends_process = true;
            found.endings.push(path.to_owned());
        }
        found.ends_well |= RULES.good_endings(path, commands).any(|mark| added(&mark));
        let mut text = result.to_owned();
        let mut kinds = BTreeSet::new();
        if file.base.is_some() {
            for rule in RULES.inline(path) {
                match restore::inline::graft(rule, base, &text) {
                    Grafted::Same => {}
                    Grafted::Text(grafted) => {
                        text = grafted;
                        kinds.insert(rule.kind);
                    }
                    Grafted::Impossible => found.doubt(path, rule.kind),
                }
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
            found.definitions.push(ChangedDefinition { path: path.to_owned(), kind: *kind, restored: true });
        }
        if !kinds.is_empty() {
            found.placements.push(Placement { path: path.to_owned(), put: Put::Text(text) });
        }
    }
}

/// Whether everything that was a test in a file that is gone is in another file of the change.
fn moved_on(gone: &ChangedFile, files: &[ChangedFile]) -> bool {
    let Some(base) = gone.base_text() else { return true };
    RULES.inline(&gone.path).all(|rule| {
        let tests = restore::inline::tests(rule, base);
        let kept = |test: &String| {
            files
                .iter()
                .filter(|file| file.base.is_none())
                .filter_map(ChangedFile::result_text)
                .any(|text| restore::inline::tests(rule, text).contains(test))
        };
        tests.iter().all(kept)
    })
}
