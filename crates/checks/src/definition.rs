//! What defines a check, per ecosystem: rules as data, in `rules/checks`.

use std::sync::{LazyLock, OnceLock};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use holon_core::manifest::DefinitionKind;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;

/// One file of rules.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesFile {
    name: String,
    #[serde(default)]
    definition: Vec<DefinitionFile>,
    #[serde(default)]
    inline: Vec<InlineFile>,
    #[serde(default)]
    aware: Vec<MarksFile>,
    #[serde(default)]
    ending: Vec<MarksFile>,
    #[serde(default)]
    good_ending: Vec<MarksFile>,
    #[serde(default)]
    suppression: Vec<MarksFile>,
    #[serde(default)]
    suspect: Vec<SuspectFile>,
    #[serde(default)]
    borrowed: Vec<BorrowedFile>,
    #[serde(default)]
    spread: Vec<SpreadFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DefinitionFile {
    kind: DefinitionKind,
    files: Vec<String>,
    #[serde(default)]
    form: RestoreForm,
}

/// How a file that defines a check is put back.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum RestoreForm {
    /// The whole file as it was.
    #[default]
    Whole,
    /// As it was, with names of files the change adds to its lists of sources.
    Words,
    /// JSON: these keys as they were, the rest as it is. `pinned` tables keep the entries they had.
    Json(KeySelection),
    /// The same for TOML.
    Toml(KeySelection),
    /// Sections of an INI file whose name matches are as they were.
    Sections(String),
    /// Lines that match are as they were.
    Lines(String),
    /// As it was, but for these parts; not where lines that match `unless` differ.
    Parts(PartSelection),
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct KeySelection {
    pub(crate) keys: Vec<String>,
    pub(crate) pinned: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PartSelection {
    pub(crate) names: Vec<String>,
    pub(crate) style: PartStyle,
    pub(crate) unless: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PartStyle {
    Braces,
    Xml,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct InlineFile {
    kind: DefinitionKind,
    files: Vec<String>,
    form: InlineForm,
    #[serde(default)]
    starts: String,
    /// What the item must contain to be one.
    #[serde(default)]
    holds: String,
}

/// How tests live among other code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InlineForm {
    /// An item with attributes above it, up to its closing brace or semicolon.
    RustItems,
    /// From a line that starts it to its closing brace.
    Braces,
    /// From a line that starts it, with all lines that are indented further.
    Indented,
    /// Fenced code in `///` and `//!`.
    RustDocs,
    /// `>>>` in docstrings.
    PythonDocs,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MarksFile {
    files: Vec<String>,
    marks: Vec<String>,
    /// Files for which it does not.
    #[serde(default)]
    except: Vec<String>,
    /// Commands for which it matters; all when absent.
    #[serde(default)]
    commands: Option<String>,
    /// Where in a file it counts.
    #[serde(default)]
    scope: MarkScope,
    /// Whether it counts only in files that a check reads in as its own text.
    #[serde(default)]
    sourced: bool,
    /// Whether it counts only where tests hold the word that the first group of the mark finds.
    #[serde(default)]
    in_tests: bool,
    /// Lines, each with the one above it, in which it does not count.
    #[serde(default)]
    unless: Option<String>,
    /// What takes it back: it counts only where there is more of it than of this.
    #[serde(default)]
    balance: Option<String>,
}

/// An item of code that is suspect by what it holds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SuspectFile {
    files: Vec<String>,
    form: ItemExtent,
    starts: String,
    /// What makes it suspect.
    #[serde(default)]
    wrong: Option<String>,
    /// What keeps it from being so: whatever does not hold this is.
    #[serde(default)]
    plain: Option<String>,
    /// What makes it suspect in a file that was there before.
    #[serde(default)]
    in_old_files: Option<String>,
}

/// Names that stand for something foreign, and what must not be done to it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BorrowedFile {
    files: Vec<String>,
    /// How names come in: groups `names`, and `module` where it is told apart.
    binds: Vec<String>,
    /// Modules whose names count; all when empty.
    #[serde(default)]
    modules: Vec<String>,
    /// What is done, with `{name}` for the name.
    marks: Vec<String>,
    /// Lines in which it does not count.
    #[serde(default)]
    unless: Option<String>,
}

/// Names that mean something to everyone, defined where a test takes in all names of a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SpreadFile {
    files: Vec<String>,
    names: Vec<String>,
    /// How a file takes in all names, with `{stem}` for the name of the module.
    takes: String,
    /// How a name is defined, with `{names}` for any of them.
    defines: String,
}

/// Where in a file a mark counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MarkScope {
    /// Everywhere.
    #[default]
    Anywhere,
    /// Not inside of subshells: what ends one ends nothing else.
    OwnShell,
    /// Where it happens as soon as the file is loaded: not inside of functions and subshells.
    TopLevel,
}

/// How far an item reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ItemExtent {
    /// To its closing brace, or to a semicolon before that.
    Braces,
    /// The same with the lifetimes and texts of Rust.
    Rust,
    /// Its line and all that is indented further.
    Indented,
    /// To the semicolon that ends it.
    Statement,
}

/// A definition that is a file, or a part of one.
#[derive(Debug)]
pub(crate) struct DefinitionRule {
    pub(crate) kind: DefinitionKind,
    files: GlobSet,
    pub(crate) form: RestoreForm,
}

#[derive(Debug)]
pub(crate) struct InlineRule {
    pub(crate) kind: DefinitionKind,
    files: GlobSet,
    pub(crate) form: InlineForm,
    pub(crate) starts: LazyRegex,
    pub(crate) holds: Option<LazyRegex>,
}

#[derive(Debug)]
pub(crate) struct MarkRule {
    files: GlobSet,
    except: GlobSet,
    marks: Vec<LazyRegex>,
    commands: Option<LazyRegex>,
    scope: MarkScope,
    sourced: bool,
    in_tests: bool,
    unless: Option<LazyRegex>,
    balance: Option<LazyRegex>,
}

/// One mark with everything that says where it counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LineMark<'r> {
    pub(crate) regex: &'r Regex,
    pub(crate) scope: MarkScope,
    pub(crate) sourced: bool,
    pub(crate) in_tests: bool,
    pub(crate) unless: Option<&'r Regex>,
    pub(crate) balance: Option<&'r Regex>,
}

#[derive(Debug)]
pub(crate) struct SuspectRule {
    files: GlobSet,
    pub(crate) form: ItemExtent,
    pub(crate) starts: LazyRegex,
    pub(crate) wrong: Option<LazyRegex>,
    pub(crate) plain: Option<LazyRegex>,
    pub(crate) in_old_files: Option<LazyRegex>,
}

#[derive(Debug)]
pub(crate) struct BorrowedRule {
    files: GlobSet,
    pub(crate) binds: Vec<LazyRegex>,
    pub(crate) modules: Vec<String>,
    pub(crate) marks: Vec<String>,
    pub(crate) unless: Option<LazyRegex>,
}

#[derive(Debug)]
pub(crate) struct SpreadRule {
    files: GlobSet,
    pub(crate) takes: String,
    pub(crate) defines: LazyRegex,
}

/// An expression over lines, prepared when the first file is met that needs it: a change seldom touches many languages.
#[derive(Debug)]
pub(crate) struct LazyRegex {
    pattern: String,
    regex: OnceLock<Option<Regex>>,
}

impl LazyRegex {
    pub(crate) fn new(pattern: &str) -> Self {
        Self { pattern: pattern.to_owned(), regex: OnceLock::new() }
    }

    /// The expression; the rules are sound, which a test holds.
    pub(crate) fn regex(&self) -> Option<&Regex> {
        let compile = || RegexBuilder::new(&self.pattern).multi_line(true).build().ok();
        self.regex.get_or_init(compile).as_ref()
    }
}

#[derive(Debug, Default)]
pub(crate) struct CheckRules {
    definitions: Vec<DefinitionRule>,
    inline: Vec<InlineRule>,
    aware: Vec<MarkRule>,
    endings: Vec<MarkRule>,
    good_endings: Vec<MarkRule>,
    suppressions: Vec<MarkRule>,
    suspects: Vec<SuspectRule>,
    borrowed: Vec<BorrowedRule>,
    spreads: Vec<SpreadRule>,
}

const FILES: [&str; 14] = [
    include_str!("../../../rules/checks/python.toml"),
    include_str!("../../../rules/checks/javascript.toml"),
    include_str!("../../../rules/checks/rust.toml"),
    include_str!("../../../rules/checks/go.toml"),
    include_str!("../../../rules/checks/jvm.toml"),
    include_str!("../../../rules/checks/dotnet.toml"),
    include_str!("../../../rules/checks/ruby.toml"),
    include_str!("../../../rules/checks/php.toml"),
    include_str!("../../../rules/checks/perl.toml"),
    include_str!("../../../rules/checks/c.toml"),
    include_str!("../../../rules/checks/shell.toml"),
    include_str!("../../../rules/checks/others.toml"),
    include_str!("../../../rules/checks/lint.toml"),
    include_str!("../../../rules/checks/any.toml"),
];

pub(crate) static RULES: LazyLock<CheckRules> = LazyLock::new(|| load(&FILES).unwrap_or_default());

/// Reads the rules, which takes a moment, so that whoever needs them first finds them ready.
pub fn make_ready() {
    LazyLock::force(&RULES);
}

fn load(texts: &[&str]) -> Result<CheckRules, String> {
    let mut rules = CheckRules::default();
    for text in texts {
        let file: RulesFile = toml::from_str(text).map_err(|e| e.to_string())?;
        let wrong = |e: &dyn std::fmt::Display| format!("{}: {e}", file.name);
        for one in file.definition {
            let files = globs(&one.files).map_err(|e| wrong(&e))?;
            rules.definitions.push(DefinitionRule { kind: one.kind, files, form: one.form });
        }
        for one in file.inline {
            rules.inline.push(InlineRule {
                kind: one.kind,
                files: globs(&one.files).map_err(|e| wrong(&e))?,
                form: one.form,
                starts: LazyRegex::new(&one.starts),
                holds: (!one.holds.is_empty()).then(|| LazyRegex::new(&one.holds)),
            });
        }
        for (list, into) in [
            (file.aware, &mut rules.aware),
            (file.ending, &mut rules.endings),
            (file.good_ending, &mut rules.good_endings),
            (file.suppression, &mut rules.suppressions),
        ] {
            for one in list {
                into.push(marks(&one).map_err(|e| wrong(&e))?);
            }
        }
        for one in file.suspect {
            rules.suspects.push(SuspectRule {
                files: globs(&one.files).map_err(|e| wrong(&e))?,
                form: one.form,
                starts: LazyRegex::new(&one.starts),
                wrong: one.wrong.as_deref().map(LazyRegex::new),
                plain: one.plain.as_deref().map(LazyRegex::new),
                in_old_files: one.in_old_files.as_deref().map(LazyRegex::new),
            });
        }
        for one in file.borrowed {
            rules.borrowed.push(BorrowedRule {
                files: globs(&one.files).map_err(|e| wrong(&e))?,
                binds: one.binds.iter().map(|bind| LazyRegex::new(bind)).collect(),
                modules: one.modules,
                marks: one.marks,
                unless: one.unless.as_deref().map(LazyRegex::new),
            });
        }
        for one in file.spread {
            let defines = one.defines.replace("{names}", &one.names.join("|"));
            let files = globs(&one.files).map_err(|e| wrong(&e))?;
            rules.spreads.push(SpreadRule { files, takes: one.takes, defines: LazyRegex::new(&defines) });
        }
    }
    Ok(rules)
}

fn marks(one: &MarksFile) -> Result<MarkRule, String> {
    Ok(MarkRule {
        files: globs(&one.files)?,
        except: globs(&one.except)?,
        marks: one.marks.iter().map(|mark| LazyRegex::new(mark)).collect(),
        commands: one.commands.as_deref().map(LazyRegex::new),
        scope: one.scope,
        sourced: one.sourced,
        in_tests: one.in_tests,
        unless: one.unless.as_deref().map(LazyRegex::new),
        balance: one.balance.as_deref().map(LazyRegex::new),
    })
}

fn globs(list: &[String]) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for glob in list {
        set.add(GlobBuilder::new(glob).literal_separator(true).build().map_err(|e| e.to_string())?);
    }
    set.build().map_err(|e| e.to_string())
}

impl MarkRule {
    fn are_for(&self, path: &str) -> bool {
        self.files.is_match(path) && !self.except.is_match(path)
    }

    fn matter_to(&self, commands: &[String]) -> bool {
        let Some(wanted) = self.commands.as_ref().and_then(LazyRegex::regex) else { return true };
        commands.iter().any(|command| wanted.is_match(command))
    }

    fn each(&self) -> impl Iterator<Item = LineMark<'_>> {
        let unless = self.unless.as_ref().and_then(LazyRegex::regex);
        let balance = self.balance.as_ref().and_then(LazyRegex::regex);
        let Self { scope, sourced, in_tests, .. } = *self;
        let one = move |regex| LineMark { regex, scope, sourced, in_tests, unless, balance };
        self.marks.iter().filter_map(LazyRegex::regex).map(one)
    }
}

impl CheckRules {
    /// The first rule that makes a file a definition.
    pub(crate) fn definition(&self, path: &str) -> Option<&DefinitionRule> {
        self.definitions.iter().find(|one| one.files.is_match(path))
    }

    pub(crate) fn inline<'r>(&'r self, path: &'r str) -> impl Iterator<Item = &'r InlineRule> {
        self.inline.iter().filter(move |one| one.files.is_match(path))
    }

    /// Code that looks at what it is checked by, or steers it.
    pub(crate) fn aware<'r>(
        &'r self,
        path: &'r str,
        commands: &'r [String],
    ) -> impl Iterator<Item = LineMark<'r>> {
        of_file(&self.aware, path, commands)
    }

    /// What ends a process from inside.
    pub(crate) fn endings<'r>(
        &'r self,
        path: &'r str,
        commands: &'r [String],
    ) -> impl Iterator<Item = LineMark<'r>> {
        of_file(&self.endings, path, commands)
    }

    /// What ends a process from inside as if all were well.
    pub(crate) fn good_endings<'r>(
        &'r self,
        path: &'r str,
        commands: &'r [String],
    ) -> impl Iterator<Item = LineMark<'r>> {
        of_file(&self.good_endings, path, commands)
    }

    pub(crate) fn suppressions<'r>(
        &'r self,
        path: &'r str,
        commands: &'r [String],
    ) -> impl Iterator<Item = &'r Regex> {
        of_file(&self.suppressions, path, commands).map(|mark| mark.regex)
    }

    /// Items that are suspect by what they hold.
    pub(crate) fn suspects<'r>(&'r self, path: &'r str) -> impl Iterator<Item = &'r SuspectRule> {
        self.suspects.iter().filter(move |one| one.files.is_match(path))
    }

    /// What must not be done to names that stand for something foreign.
    pub(crate) fn borrowed<'r>(&'r self, path: &'r str) -> impl Iterator<Item = &'r BorrowedRule> {
        self.borrowed.iter().filter(move |one| one.files.is_match(path))
    }

    /// Names that mean something to everyone.
    pub(crate) fn spreads<'r>(&'r self, path: &'r str) -> impl Iterator<Item = &'r SpreadRule> {
        self.spreads.iter().filter(move |one| one.files.is_match(path))
    }
}

/// The expressions that matter for a file, and for what is run.
fn of_file<'r>(
    list: &'r [MarkRule],
    path: &'r str,
    commands: &'r [String],
) -> impl Iterator<Item = LineMark<'r>> {
    list.iter().filter(move |one| one.are_for(path) && one.matter_to(commands)).flat_map(MarkRule::each)
}

/// Whether a path is that of documentation alone, which no check can depend on by its usual name.
pub fn is_documentation(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let known = ["README", "CHANGELOG", "LICENSE", "CONTRIBUTING", "AUTHORS", "NOTICE", "CODE_OF_CONDUCT"];
    let prose = [".md", ".markdown", ".rst", ".adoc"].iter().any(|end| name.to_lowercase().ends_with(end));
    (prose || known.contains(&name)) && RULES.definition(path).is_none()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_rules_are_sound() {
        let rules = load(&FILES).unwrap();
        assert!(rules.definitions.len() > 30 && rules.inline.len() > 5 && !rules.aware.is_empty());
        let inline = rules.inline.iter().flat_map(|one| [Some(&one.starts), one.holds.as_ref()]).flatten();
        let marks =
            [&rules.aware, &rules.endings, &rules.good_endings, &rules.suppressions].into_iter().flatten();
        let marked = marks
            .flat_map(|one| one.marks.iter().chain(&one.commands).chain(&one.unless).chain(&one.balance));
        let suspects = rules.suspects.iter().flat_map(|one| {
            [Some(&one.starts), one.wrong.as_ref(), one.plain.as_ref(), one.in_old_files.as_ref()]
        });
        let borrowed = rules.borrowed.iter().flat_map(|one| one.binds.iter().chain(&one.unless));
        let spread = rules.spreads.iter().map(|one| &one.defines);
        for expression in inline.chain(marked).chain(suspects.flatten()).chain(borrowed).chain(spread) {
            assert!(expression.regex().is_some(), "{}", expression.pattern);
        }
        let filled = rules
            .borrowed
            .iter()
            .flat_map(|one| &one.marks)
            .chain(rules.spreads.iter().map(|one| &one.takes));
        for pattern in filled {
            let filled = pattern.replace("{name}", "x").replace("{stem}", "x");
            assert!(filled != *pattern && LazyRegex::new(&filled).regex().is_some(), "{pattern}");
        }
    }

    #[test]
    fn files_by_what_they_are_to_a_check() {
        let kind = |path: &str| RULES.definition(path).map(|one| one.kind);
        assert_eq!(kind("tests/test_a.py"), Some(DefinitionKind::TestSource));
        assert_eq!(kind("pkg/conftest.py"), Some(DefinitionKind::TestSource));
        assert_eq!(kind("package.json"), Some(DefinitionKind::BuildFile));
        assert_eq!(kind("src/app.py"), None);
        assert_eq!(kind("src/lib.rs"), None);
        assert_eq!(kind("src/latest.py"), None);
        assert_eq!(kind("contest.py"), None);
        assert_eq!(kind("README.md"), None);
        assert!(is_documentation("docs/a.md") && !is_documentation("src/a.rs"));
        assert!(!is_documentation("tests/data/a.md"), "test data may be prose");
    }
}
