//! Files that a check names: its script, what that calls, what it compares with and what it measures by.

mod rules;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use globset::GlobMatcher;
use holon_core::manifest::DefinitionKind;

use crate::before::has_word;
use crate::definition::RULES;
use crate::runner::{TestRunner, recognise};
use rules::NAMED;

/// How far names are followed.
const DEPTH: usize = 3;
/// Most files looked into.
const FILES: usize = 60;

/// What defines the checks of some commands: by rules about names, and because they name it.
#[derive(Debug, Clone, Default)]
pub struct CheckDefinitions {
    /// Files the commands reach.
    reached: BTreeMap<String, DefinitionKind>,
    /// Files they reach by names with wildcards.
    globs: Vec<(GlobMatcher, DefinitionKind)>,
    /// What make is asked for: a file or folder of that name makes it do nothing.
    targets: BTreeSet<String>,
    /// Words by which a check leaves lines out.
    quiet: BTreeSet<String>,
    /// Files that are read where they are there: one that is new is read, too.
    optional: BTreeSet<String>,
    /// Folders that checks write files into, with the ends of those files: one that lies there already may be taken for
    /// what was written.
    outputs: BTreeSet<(String, String)>,
    /// Names of the scripts that the commands start.
    scripts: BTreeSet<String>,
    /// Last parts of names of what is compared with.
    expected: BTreeSet<String>,
    /// Files that build files take in by names with wildcards, there or not.
    taken_in: Vec<GlobMatcher>,
    /// Everything that was read to find this: commands, build files, scripts.
    texts: Vec<String>,
}

/// A text in which names are looked for, and how far from the command it is.
struct ReachableText {
    text: String,
    depth: usize,
}

impl CheckDefinitions {
    /// What the commands reach. `read_base` gives the text of a file before the change.
    pub fn of_commands(commands: &[String], read_base: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut found = Self::default();
        let mut todo = Vec::new();
        for command in commands {
            for (path, line) in words::invoked(command) {
                let Some(text) = read_base(&path) else { continue };
                found.scripts.extend(path.rsplit('/').next().map(str::to_owned));
                if NAMED.is_the_check(&path, &line, &text) {
                    found.reached.insert(path, DefinitionKind::CheckScript);
                    todo.push(ReachableText { text, depth: 1 });
                }
            }
            for path in words::configurations(command) {
                if let Some(text) = read_base(&path) {
                    found.reached.insert(path, DefinitionKind::RunnerConfiguration);
                    todo.push(ReachableText { text, depth: 1 });
                }
            }
            let built: Vec<String> = build_files(command).filter_map(read_base).collect();
            for path in built.iter().flat_map(|text| words::asked_scripts(command, text)) {
                if let Some(text) = read_base(&path).filter(|text| NAMED.is_comparing(&path, text)) {
                    found.reached.insert(path, DefinitionKind::CheckScript);
                    todo.push(ReachableText { text, depth: 1 });
                }
            }
            found.add_targets(command, &built);
            todo.extend(built.into_iter().map(|text| ReachableText { text, depth: 0 }));
            todo.push(ReachableText { text: command.clone(), depth: 0 });
        }
        let mut looked = 0;
        while let Some(reading) = todo.pop() {
            found.read(&reading, read_base, &mut looked, &mut todo);
        }
        let fixtures = found.reached.iter().filter(|(_, kind)| **kind == DefinitionKind::Fixture);
        let last = |path: &String| path.rsplit('/').next().unwrap_or(path).to_owned();
        found.expected =
            fixtures.map(|(path, _)| last(path)).filter(|name| NAMED.is_expected(name)).collect();
        // What has rules of its own keeps them.
        found.reached.retain(|path, _| RULES.definition(path).is_none());
        found
    }

    /// Looks for names in one text.
    fn read(
        &mut self,
        reading: &ReachableText,
        read_base: &dyn Fn(&str) -> Option<String>,
        looked: &mut usize,
        todo: &mut Vec<ReachableText>,
    ) {
        let ReachableText { text, depth } = reading;
        self.texts.push(text.clone());
        let (compared, input) = (words::compared(text), words::redirected(text));
        let run: BTreeSet<String> = words::invoked(text).into_iter().map(|(path, _)| path).collect();
        self.globs.extend(
            words::globs(text).filter(|glob| NAMED.is_of_cases(glob)).filter_map(|glob| matcher(&glob)),
        );
        self.quiet.extend(words::left_out(text));
        self.outputs.extend(words::written(text));
        let (included, sourced) = (words::included(text), words::sourced(text));
        self.taken_in
            .extend(included.iter().filter(|path| path.contains('*')).filter_map(|path| exact(path)));
        let responses = words::responses(text);
        let listing = words::listing(text);
        self.optional.extend(included.iter().chain(&sourced).cloned());
        let documents = words::documents(text);
        for path in words::names(text) {
            if self.reached.contains_key(&path) || *looked >= FILES {
                continue;
            }
            let named = NAMED.is_named_check(&path) && !NAMED.is_data(&path);
            let script = named || NAMED.is_script(&path);
            let tool = *depth < DEPTH && !script && run.contains(&path);
            if listing.contains(&path) {
                *looked += 1;
                if read_base(&path).is_some() {
                    self.reached.insert(path, DefinitionKind::CheckScript);
                }
                continue;
            }
            if included.contains(&path) || documents.contains(&path) || responses.contains(&path) {
                *looked += 1;
                let document = documents.contains(&path);
                let kind = if document { DefinitionKind::DocTests } else { DefinitionKind::BuildFile };
                if let Some(inside) = read_base(&path) {
                    if included.contains(&path) && *depth < DEPTH {
                        todo.push(ReachableText { text: inside, depth: depth + 1 });
                    }
                    self.reached.insert(path, kind);
                }
                continue;
            }
            // What a check looks into is what it checks, unless it compares with it or measures by it.
            let data = (NAMED.is_data(&path) && (compared.contains(&path) || NAMED.is_expected(&path)))
                || (!NAMED.is_code(&path)
                    && (input.contains(&path) || (*depth > 0 && NAMED.is_setting(&path))));
            if !script && !data && !tool {
                continue;
            }
            *looked += 1;
            let Some(inside) = read_base(&path) else { continue };
            let fits = match (script, tool) {
                (true, _) => {
                    named
                        || NAMED.is_checking(&inside)
                        || NAMED.is_tool(&path, &inside)
                        || runs_checks(&inside)
                }
                (_, true) => data || NAMED.is_tool(&path, &inside),
                _ => true,
            };
            if !fits {
                continue;
            }
            let kind = if data && !script { DefinitionKind::Fixture } else { DefinitionKind::CheckScript };
            self.reached.insert(path, kind);
            if kind == DefinitionKind::CheckScript && *depth < DEPTH {
                todo.push(ReachableText { text: inside, depth: depth + 1 });
            }
        }
    }

    /// Targets of make that are not said to be no files, and that no path in the build file lies in.
    fn add_targets(&mut self, command: &str, build_files: &[String]) {
        for target in words::targets(command) {
            let phony = |text: &String| {
                text.lines().filter_map(|line| line.strip_prefix(".PHONY")).any(|rest| {
                    rest.split(|c: char| c.is_whitespace() || c == ':').any(|word| word == target)
                })
            };
            let used = |text: &String| text.contains(&format!("{target}/"));
            if !build_files.iter().any(|text| phony(text) || used(text)) {
                self.targets.insert(target);
            }
        }
    }

    /// What a file is to the checks. `exists` says whether there is a file before or after the change.
    pub fn kind(&self, path: &str, exists: &dyn Fn(&str) -> bool) -> Option<DefinitionKind> {
        let reached = self.reached.get(path).copied();
        let by_rule = || RULES.definition(path).map(|one| one.kind);
        let by_glob = || self.globs.iter().find(|(glob, _)| glob.is_match(path)).map(|(_, kind)| *kind);
        let half = || NAMED.may_be_half(path) && NAMED.partners(path).iter().any(|other| exists(other));
        let paired = || half().then_some(DefinitionKind::Fixture);
        let taken =
            || self.taken_in.iter().any(|glob| glob.is_match(path)).then_some(DefinitionKind::BuildFile);
        reached.or_else(by_rule).or_else(by_glob).or_else(taken).or_else(paired)
    }

    /// Whether a file that is new stands in the way of a check by its place alone.
    pub(crate) fn stands_in(&self, path: &str, read_base: &dyn Fn(&str) -> Option<String>) -> bool {
        let first = path.split('/').next().unwrap_or(path);
        // A package wins over the module of the same name.
        let module = path.strip_suffix("/__init__.py").map(|package| format!("{package}.py"));
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let end = name.rsplit_once('.').map_or("", |(_, end)| end);
        self.targets.contains(first)
            || module.is_some_and(|module| read_base(&module).is_some())
            || self.optional.contains(path)
            || (!end.is_empty() && self.outputs.contains(&(folder.to_owned(), end.to_owned())))
    }

    /// Whether the checks themselves go by a name, with or without wildcards.
    pub(crate) fn names(&self, word: &str) -> bool {
        self.reached.contains_key(word)
            || self.globs.iter().any(|(glob, _)| glob.glob().glob() == word || glob.is_match(word))
    }

    /// Whether a word is the last part of the name of something that a check compares with.
    pub(crate) fn expects(&self, word: &str) -> bool {
        self.expected.contains(word)
    }

    /// Whether a script of a check reads a file in as its own text.
    pub(crate) fn reads_in(&self, path: &str) -> bool {
        self.optional.contains(path)
    }

    /// Whether anything that defines the checks holds a word.
    pub(crate) fn says(&self, word: &str) -> bool {
        self.texts.iter().any(|text| has_word(text, word))
    }

    /// Whether one of them holds the name of a file and a word.
    pub(crate) fn says_together(&self, name: &str, word: &str) -> bool {
        self.texts.iter().any(|text| text.contains(name) && has_word(text, word))
    }

    /// Whether a word is the name of a script that a check starts.
    pub(crate) fn starts(&self, word: &str) -> bool {
        self.scripts.contains(word)
    }

    /// Words by which a check leaves lines out.
    pub(crate) fn quiet_words(&self) -> impl Iterator<Item = &str> {
        self.quiet.iter().map(String::as_str)
    }
}

/// Whether a script calls a runner, or a file that is a test by its name.
fn runs_checks(text: &str) -> bool {
    let is_runner = |runner| !matches!(runner, TestRunner::Make | TestRunner::Other);
    let is_test = |(path, _): &(String, String)| {
        RULES
            .definition(path)
            .is_some_and(|one| [DefinitionKind::TestSource, DefinitionKind::CheckScript].contains(&one.kind))
    };
    text.lines().filter_map(recognise).any(is_runner) || words::invoked(text).iter().any(is_test)
}

/// Whether a key of a manifest says what a package is, and not what is demanded of it.
pub(crate) fn is_free_key(key: &str) -> bool {
    NAMED.free_keys.iter().any(|free| free == key)
}

fn exact(glob: &str) -> Option<GlobMatcher> {
    Some(globset::GlobBuilder::new(glob).literal_separator(true).build().ok()?.compile_matcher())
}

fn matcher(glob: &str) -> Option<(GlobMatcher, DefinitionKind)> {
    let kind = if NAMED.is_script(glob) || NAMED.is_code(glob) {
        DefinitionKind::TestSource
    } else {
        DefinitionKind::Fixture
    };
    Some((exact(glob)?, kind))
}

/// Whether a file is source code by its name.
pub(crate) fn is_code(path: &str) -> bool {
    NAMED.is_code(path)
}

/// Where a command finds what it does.
fn build_files(command: &str) -> impl Iterator<Item = &'static str> {
    let has =
        |program: &str| command.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == program);
    let table: [(&[&str], &[&str]); 4] = [
        (&["make", "gmake"], &["GNUmakefile", "makefile", "Makefile"]),
        (&["npm", "pnpm", "yarn", "bun"], &["package.json"]),
        (&["just"], &["justfile", "Justfile"]),
        (&["task"], &["Taskfile.yml", "Taskfile.yaml"]),
    ];
    table
        .into_iter()
        .filter(move |(programs, _)| programs.iter().any(|p| has(p)))
        .flat_map(|(_, files)| files.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(path: &str) -> Option<String> {
        let text = match path {
            "Makefile" => "test:\n\t./scripts/suite.sh\n",
            "package.json" => {
                r#"{"scripts": {"test": "sh etc/t.sh && node app.js", "build": "sh etc/b.sh"}}"#
            }
            "justfile" => "test: build\n  sh etc/t.sh\n  sh etc/tool.sh < in > out\nbuild:\n  sh etc/b.sh\n",
            "etc/t.sh" => "say() { [ $1 = $2 ] || bad=1; }\nsay \"$(tool 1)\" 2\n[ $bad = 0 ]\n",
            "etc/b.sh" => "[ -d out ] || mkdir out\n",
            "etc/tool.sh" => "[ -n \"$1\" ] && echo $1\n",
            "scripts/suite.sh" => {
                "./greet | diff - want.txt\nnode src/index.js\n. ./lib/calc.sh\n. ./lib/tools.sh\n"
            }
            "lib/tools.sh" => "assert_same() { [ $1 = $2 ]; }",
            "lib/calc.sh" => "add() { echo $(($1 + $2)); }",
            "want.txt" | "greet" | "src/index.js" | "app.py" => "x",
            "cli.py" => "sys.exit(main())",
            "check.py" => "open('data/want.json'), open('data/a.json'), open('limits.json')",
            "accept.py" => "import app\nassert app.x == 1\n",
            "ci.sh" => {
                "python3 cli.py > out\npython3 tools/same.py out\nwhile read t; do sh suite/$t.sh; done < names\n"
            }
            "tools/same.py" => "sys.exit(a != b)",
            "data/want.json" | "data/a.json" | "a.txt" | "limits.json" | "names" => "{}",
            _ => return None,
        };
        Some(text.to_owned())
    }

    fn found(command: &str) -> Vec<String> {
        CheckDefinitions::of_commands(&[command.to_owned()], &tree).reached.into_keys().collect()
    }

    #[test]
    fn what_a_check_names_is_reached() {
        let all = ["lib/tools.sh", "scripts/suite.sh", "want.txt"];
        assert_eq!(found("make test"), all, "and not what is tested");
        assert_eq!(found("sh scripts/suite.sh"), all);
        for command in ["npm test", "npm run test", "just test"] {
            assert_eq!(
                found(command),
                ["etc/t.sh"],
                "what is asked for compares; the product's output is compared"
            );
        }
        assert_eq!(found("python3 app.py --selftest"), [""; 0], "the program may be what is tested");
        assert_eq!(
            found("python3 check.py"),
            ["data/want.json", "limits.json"],
            "rules of its own for the script"
        );
        assert_eq!(found("grep -q two a.txt"), [""; 0], "what is looked into is what is checked");
        assert_eq!(found("cat /etc/passwd ../x.sh"), [""; 0]);
    }

    #[test]
    fn the_script_of_a_check_needs_no_telling_name() {
        assert_eq!(found("python3 accept.py"), ["accept.py"]);
        assert_eq!(found("sh ci.sh"), ["names", "tools/same.py"], "and not the product it runs");
        assert_eq!(found("python3 cli.py --selftest"), [""; 0]);
        let definitions = CheckDefinitions::of_commands(&["sh ci.sh".to_owned()], &tree);
        let kind = |path: &str| definitions.kind(path, &|_| false);
        assert_eq!(kind("suite/edge.sh"), Some(DefinitionKind::TestSource));
        assert_eq!((kind("cli.py"), kind("suite/deep/edge.sh")), (None, None));
    }

    #[test]
    fn what_is_compared_with_is_known_by_its_last_part() {
        let read = |path: &str| match path {
            "test.sh" => {
                Some("cp t/want.txt \"$work\"\ncd \"$work\" && slug && cmp slugs.txt want.txt\n".to_owned())
            }
            "t/want.txt" => Some("a\n".to_owned()),
            _ => None,
        };
        let definitions = CheckDefinitions::of_commands(&["sh test.sh".to_owned()], &read);
        assert!(definitions.expects("want.txt"), "{definitions:?}");
        assert!(!definitions.expects("slugs.txt"));
    }

    #[test]
    fn pairs_and_stand_ins_are_known_by_their_neighbours() {
        let definitions = CheckDefinitions::of_commands(&["make check".to_owned()], &|_| None);
        let exists = |path: &str| path == "data/a.expected";
        assert_eq!(definitions.kind("data/a.in", &exists), Some(DefinitionKind::Fixture));
        assert_eq!(definitions.kind("data/b.in", &exists), None);
        assert!(definitions.stands_in("check/README", &|_| None));
        assert!(!definitions.stands_in("doc/README", &|_| None));
        assert!(definitions.stands_in("expect/__init__.py", &|path| (path == "expect.py").then(String::new)));
    }
}
