//! What the documents show is what happens: every `console` block is run, in order, in a fresh environment per document.
//!
//! A line that begins with `$ ` is a command (`> ` continues it), the lines after it are its output, standard output and
//! error together. `...` stands for any lines, or inside a line for any characters. Every command must succeed; one that
//! shall fail says so, as in `holon …; echo "exit $?"`. Commands start in a repository that holds the demo's sample.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use holon_testkit::{TestEnv, TestWorkspace};

macro_rules! documents {
    ($($test:ident => $document:literal),* $(,)?) => {
        $(#[test]
        fn $test() {
            run_examples($document);
        })*

        const DOCUMENTS: &[&str] = &[$($document),*];
    };
}

documents! {
    readme => "README.md",
    getting_started => "docs/getting-started.md",
    modes => "docs/modes.md",
    flows => "docs/flows.md",
    run_contract => "docs/run-contract.md",
    agents => "docs/agents.md",
    models => "docs/models.md",
    sandbox => "docs/sandbox.md",
    runs => "docs/runs.md",
    attestation => "docs/attestation.md",
    tool_servers => "docs/tool-servers.md",
    troubleshooting => "docs/troubleshooting.md",
    terminal => "docs/terminal.md",
    editors => "docs/editors.md",
    configuration => "docs/configuration.md",
    extending => "docs/extending.md",
    ethics => "docs/ethics.md",
    observability => "docs/observability.md",
}

/// One command of a document.
#[derive(Debug, PartialEq, Eq)]
struct DocExample {
    line: usize,
    command: String,
    output: Vec<String>,
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn run_examples(document: &str) {
    let text = std::fs::read_to_string(root().join(document)).expect("the document is there");
    let env = TestEnv::new(env!("CARGO_BIN_EXE_holon"));
    let repo = sample(&env);
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", env.binary().parent().unwrap().display());
    for example in examples(&text) {
        let script = format!("exec 2>&1\n{}", example.command);
        let output = env.program("sh").args(["-c", &script]).env("PATH", &path).cwd(repo.path()).run();
        let place = format!("{document}:{}: $ {}", example.line, example.command);
        assert_eq!(output.code, 0, "{place}\n{}", output.stdout);
        let said: Vec<&str> = output.stdout.lines().collect();
        let expected: Vec<&str> = example.output.iter().map(String::as_str).collect();
        assert!(
            lines_match(&expected, &said),
            "{place}\n--- the document says\n{}\n--- it really says\n{}",
            expected.join("\n"),
            output.stdout
        );
    }
    env.assert_nothing_left();
}

fn sample(env: &TestEnv) -> TestWorkspace {
    let folder = root().join("crates/holon/demo/sample");
    let mut repo = env.repo_named("slug");
    for name in ["README.md", "slug.sh", "test.sh"] {
        repo = repo.file(name, std::fs::read(folder.join(name)).unwrap());
    }
    repo.commit("A slug maker with a failing test")
}

fn examples(text: &str) -> Vec<DocExample> {
    let mut found: Vec<DocExample> = Vec::new();
    let mut inside = false;
    let mut first = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            inside = !inside && line.trim() == "```console";
            first = inside;
        } else if inside && let Some(command) = line.strip_prefix("$ ") {
            found.push(DocExample { line: index + 1, command: command.to_owned(), output: Vec::new() });
            first = false;
        } else if inside {
            assert!(!first, "line {}: a console block begins with `$ `", index + 1);
            let example = found.last_mut().expect("a command comes first");
            match line.strip_prefix("> ").or((line == ">").then_some("")) {
                Some(more) if example.output.is_empty() => {
                    example.command.push('\n');
                    example.command.push_str(more);
                }
                _ => example.output.push(line.to_owned()),
            }
        }
    }
    found
}

/// Whether lines match, `...` alone standing for any number of them.
fn lines_match(expected: &[&str], said: &[&str]) -> bool {
    match (expected, said) {
        ([], []) => true,
        (["...", rest @ ..], _) => (0..=said.len()).any(|skip| lines_match(rest, &said[skip..])),
        ([first, rest @ ..], [line, more @ ..]) => {
            line_matches(first, line.trim_end()) && lines_match(rest, more)
        }
        _ => false,
    }
}

/// Whether a line matches, `...` standing for any characters.
fn line_matches(expected: &str, line: &str) -> bool {
    match expected.split_once("...") {
        None => expected == line,
        Some((start, rest)) => line.strip_prefix(start).is_some_and(|tail| {
            tail.char_indices()
                .map(|(at, _)| at)
                .chain([tail.len()])
                .any(|at| line_matches(rest, &tail[at..]))
        }),
    }
}

#[test]
fn every_document_with_examples_is_run() {
    let mut folders = vec![root().join("docs")];
    let mut found = vec!["README.md".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                let text = std::fs::read_to_string(&path).unwrap();
                let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
                found.extend(text.contains("```console").then_some(name));
            }
        }
    }
    for name in found {
        assert!(
            DOCUMENTS.contains(&name.as_str()),
            "{name} has examples but is not in the list of this test"
        );
    }
}

#[test]
fn examples_are_read() {
    let text = "x\n```console\n$ a <<E\n> b\n> E\nout\n> quoted\n$ c\n```\n```sh\n$ no\n```\n";
    let example = |line, command: &str, output: &[&str]| DocExample {
        line,
        command: command.into(),
        output: output.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(examples(text), [example(3, "a <<E\nb\nE", &["out", "> quoted"]), example(8, "c", &[])]);
}

#[test]
fn dots_stand_for_anything() {
    let check = |expected: &[&str], said: &[&str], same| {
        assert_eq!(lines_match(expected, said), same, "{expected:?}")
    };
    check(&["a ... c"], &["a b c"], true);
    check(&["a ... c"], &["a b d"], false);
    check(&["a", "...", "z"], &["a", "b", "c", "z"], true);
    check(&["a", "...", "z"], &["a", "z"], true);
    check(&["a", "..."], &["a"], true);
    check(&["a"], &["a", "b"], false);
    check(&[], &["a"], false);
}
