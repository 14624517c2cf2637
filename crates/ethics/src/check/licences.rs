//! Licences: of every dependency that is added, and of texts that are pasted in.

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use holon_core::artifact::ethics::RiskLevel;

use crate::allowed::is_allowed;
use crate::change::FileChangeLines;
use crate::dependency::{self, Dependency, Ecosystem};
use crate::finding::{EthicsCheckId, EthicsFinding};
use crate::input::AssessmentInput;
use crate::licence::{self, LicenceClass};
use crate::pattern::RulePattern;

/// Looks up the licence a dependency declares; offline, so it may not know.
pub trait LicenceLookup {
    /// An SPDX expression, a licence's usual name or its text, as the package itself states it.
    fn licence(&self, dependency: &Dependency) -> Option<String>;
}

/// Knows nothing, so only well-known packages are decided.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLicenceLookup;

impl LicenceLookup for NoLicenceLookup {
    fn licence(&self, _dependency: &Dependency) -> Option<String> {
        None
    }
}

static HEADER: LazyLock<Option<RulePattern>> = LazyLock::new(|| {
    RulePattern::new(r"SPDX-License-Identifier:\s*(?P<value>[A-Za-z0-9(][A-Za-z0-9 .+()-]*)").ok()
});

/// Dependencies whose licence does not fit, or is not known.
pub(crate) fn dependencies(
    input: &AssessmentInput,
    files: &[FileChangeLines],
    licences: &dyn LicenceLookup,
) -> Result<Vec<EthicsFinding>, String> {
    licence::rules_are_sound()?;
    let project = input.project_licence.as_deref().and_then(licence::class_of);
    let mut found = Vec::new();
    for (path, added) in added(input, files) {
        let Some(added) = added else {
            let what = "the manifest cannot be read, so its dependencies are not known";
            found.push(finding("unreadable-manifest", RiskLevel::Medium, what).at(&path, 0).unverified());
            continue;
        };
        let lines = LazyCell::new(|| spelled_lines(files, &path));
        for dependency in added {
            let judged = judge(&dependency, project, &input.allowed_licences, licences);
            found.extend(judged.map(|finding| finding.at(&path, line_of(&lines, &dependency))));
        }
    }
    for file in files.iter().filter(|file| file.place.lock) {
        found.extend(locked(file, project, &input.allowed_licences));
    }
    Ok(found)
}

/// Packages of a lock file that say themselves that they do not fit; most are nobody's direct choice.
fn locked<'a>(
    file: &'a FileChangeLines,
    project: Option<LicenceClass>,
    allowed: &'a [String],
) -> impl Iterator<Item = EthicsFinding> + 'a {
    dependency::lock::stated(file).into_iter().filter_map(move |stated| {
        if is_allowed(&stated.licence, project, allowed) {
            return None;
        }
        let severity = licence::fits(licence::class_of(&stated.licence)?, project, stated.development_only)?;
        let what = format!("{} is under `{}`, which does not fit the project", stated.name, stated.licence);
        Some(finding("licence-does-not-fit", severity, what).at(&file.path, stated.line))
    })
}

type AddedDependencies = (String, Option<Vec<Dependency>>);

/// What every touched manifest adds; `None` for one that cannot be read.
fn added(input: &AssessmentInput, files: &[FileChangeLines]) -> Vec<AddedDependencies> {
    let mut all: Vec<AddedDependencies> = Vec::new();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for file in input.files.iter().filter(|file| Ecosystem::of(&file.path).is_some()) {
        let text = |bytes: &Option<Vec<u8>>| bytes.as_ref().map(|b| String::from_utf8_lossy(b).into_owned());
        if let Some(after) = text(&file.after) {
            known.insert(&file.path);
            all.push((
                file.path.clone(),
                dependency::added(&file.path, text(&file.before).as_deref(), &after),
            ));
        }
    }
    for file in files.iter().filter(|file| !file.is_deleted && Ecosystem::of(&file.path).is_some()) {
        if !known.insert(&file.path) {
            continue;
        }
        let lines: Vec<&str> = file.added.iter().map(|line| line.text.as_str()).collect();
        // A new file is in the patch as a whole.
        let whole = file.is_new.then(|| dependency::declared(&file.path, &lines.join("\n"))).flatten();
        all.push((file.path.clone(), Some(whole.unwrap_or_else(|| dependency::guessed(&file.path, &lines)))));
    }
    all
}

fn finding(rule: &str, severity: RiskLevel, what: impl Into<String>) -> EthicsFinding {
    EthicsFinding::new(EthicsCheckId::Dependencies, rule, severity, what)
}

fn judge(
    dependency: &Dependency,
    project: Option<LicenceClass>,
    allowed: &[String],
    licences: &dyn LicenceLookup,
) -> Option<EthicsFinding> {
    let declared = licences.licence(dependency).or_else(|| {
        let known = licence::known(dependency.ecosystem.name(), &dependency.name);
        known.filter(|_| !dependency.from_address).map(str::to_owned)
    });
    let Some(declared) = declared.filter(|declared| !declared.trim().is_empty()) else {
        let what = format!("the licence of {dependency} could not be looked up");
        return Some(finding("licence-unknown", RiskLevel::Medium, what).unverified());
    };
    if is_allowed(&declared, project, allowed) {
        return None;
    }
    let named: String = declared.lines().next().unwrap_or_default().chars().take(60).collect();
    let Some(class) = licence::class_of(&declared) else {
        let what = format!("the licence of {dependency}, `{named}`, is not one that is known");
        return Some(finding("licence-unknown", RiskLevel::Medium, what).unverified());
    };
    let severity = licence::fits(class, project, dependency.development_only)?;
    Some(finding(
        "licence-does-not-fit",
        severity,
        format!("{dependency} is under `{named}`, which does not fit the project"),
    ))
}

/// One spelling for names that package managers take for the same.
fn spelled(text: &str) -> String {
    text.to_lowercase().replace(['_', '.'], "-")
}

fn spelled_lines(files: &[FileChangeLines], path: &str) -> Vec<(u64, String)> {
    let file = files.iter().find(|file| file.path == path);
    file.map(|file| file.added.iter().map(|line| (line.number, spelled(&line.text))).collect())
        .unwrap_or_default()
}

/// The first line that names a dependency.
fn line_of(lines: &[(u64, String)], dependency: &Dependency) -> u64 {
    let name = spelled(dependency.name.rsplit(':').next().unwrap_or(&dependency.name));
    lines.iter().find(|(_, text)| text.contains(&name)).map_or(0, |(number, _)| *number)
}

/// Licence texts and headers in added lines that do not fit the project.
pub(crate) fn texts(
    input: &AssessmentInput,
    files: &[FileChangeLines],
) -> Result<Vec<EthicsFinding>, String> {
    licence::rules_are_sound()?;
    let header = HEADER.as_ref().ok_or("the expression for licence headers does not compile")?;
    let project = input.project_licence.as_deref().and_then(licence::class_of);
    let mut found = Vec::new();
    for file in files {
        // Where texts about licences are usual, one does not make the file foreign.
        let quoted = (file.place.docs && !file.place.credits) || file.place.test_code;
        let soften = |severity: RiskLevel| if quoted { RiskLevel::Medium } else { severity };
        let mut push = |class: Option<LicenceClass>, id: &str, line: u64| {
            if let Some(severity) = class.and_then(|class| licence::fits(class, project, false)) {
                let what = format!("a text under `{id}`, which does not fit the project");
                let finding = EthicsFinding::new(
                    EthicsCheckId::LicenceTexts,
                    "foreign-licence",
                    soften(severity),
                    what,
                );
                found.push(finding.at(&file.path, line));
            }
        };
        let mut declared = false;
        for line in &file.added {
            if let Some(value) = header.captures(&line.text).and_then(|hit| hit.name("value")) {
                let value = value.as_str().trim();
                declared = true;
                if is_allowed(value, project, &input.allowed_licences) {
                    continue;
                }
                push(licence::class_of(value), value, line.number);
            }
        }
        if !declared && let Some((line, id)) = phrase(file) {
            push(licence::class_of(id), id, line);
        }
    }
    Ok(found)
}

/// The first licence phrase in the added lines, which may go over several.
fn phrase(file: &FileChangeLines) -> Option<(u64, &'static str)> {
    let mut words = String::new();
    let mut starts = Vec::new();
    for line in &file.added {
        let more = licence::words_of(&line.text);
        if !more.is_empty() {
            if !words.is_empty() {
                words.push(' ');
            }
            starts.push((words.len(), line.number));
            words += &more;
        }
    }
    let (at, id) = licence::first_phrase(&words)?;
    let line = starts.iter().rev().find(|(start, _)| *start <= at).map_or(0, |(_, line)| *line);
    Some((line, id))
}
