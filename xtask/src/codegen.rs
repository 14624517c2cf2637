//! `cargo xtask codegen`: the files that come out of the binary itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{XtaskFailure, process, project};

/// What to do about a file that differs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodegenWrite {
    /// Write it.
    Files,
    /// Say so and fail.
    Nothing,
}

/// Everything that is generated, by path relative to the root.
type GeneratedFiles = BTreeMap<PathBuf, String>;

/// Folders that hold nothing but generated files: others in there are left-overs.
const OWNED: [&str; 1] = ["schemas"];

/// `cargo xtask codegen [--check]`.
pub(crate) fn run(write: CodegenWrite) -> Result<(), XtaskFailure> {
    // As the tests build it, whose features differ: after them there is nothing left to build.
    process::show(project::cargo().args(["test", "--quiet", "--workspace", "--no-run", "--test", "cli"]))?;
    let holon = project::metadata()?.target.join("debug/holon");
    let generated = generate(&|args| {
        let mut command = Command::new(&holon);
        // Help is wrapped to the terminal, so there must be none, and the width must be fixed.
        command.args(args).env_clear().env("COLUMNS", "100").current_dir("/");
        process::capture(&mut command)
    })?;
    let drift = drift(&generated, &present(&generated)?);
    match write {
        CodegenWrite::Nothing if drift.is_empty() => Ok(()),
        CodegenWrite::Nothing => Err(format!("out of date, run `cargo xtask codegen`: {}", list(&drift))),
        CodegenWrite::Files => {
            for path in &drift {
                save(path, generated.get(path))?;
                println!("codegen: {}", path.display());
            }
            Ok(())
        }
    }
}

/// Makes everything with a function that runs `holon` and returns its standard output.
fn generate(holon: &dyn Fn(&[&str]) -> Result<String, XtaskFailure>) -> Result<GeneratedFiles, XtaskFailure> {
    let mut generated = GeneratedFiles::new();
    for name in holon(&["schema", "--list"])?.split_whitespace() {
        generated.insert(format!("schemas/{name}.json").into(), ensure_newline(holon(&["schema", name])?));
    }
    generated.insert("docs/cli.md".into(), reference(holon)?);
    Ok(generated)
}

/// The help of every command, one section each, as Markdown.
fn reference(holon: &dyn Fn(&[&str]) -> Result<String, XtaskFailure>) -> Result<String, XtaskFailure> {
    let mut page =
        "# Command line reference\n\nMade from the binary by `cargo xtask codegen`; do not edit.\n"
            .to_owned();
    let mut waiting = vec![Vec::<String>::new()];
    while let Some(command) = waiting.pop() {
        let mut args: Vec<&str> = command.iter().map(String::as_str).collect();
        args.push("--help");
        let help = holon(&args)?;
        let name =
            ["holon"].into_iter().chain(command.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
        let text = help.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        page.push_str(&format!("\n## `{name}`\n\n```text\n{}\n```\n", text.trim_end()));
        for subcommand in subcommands(&help).into_iter().rev() {
            waiting.push(command.iter().cloned().chain([subcommand]).collect());
        }
    }
    Ok(page)
}

/// The names in the `Commands:` section of a help text, without `help` itself.
fn subcommands(help: &str) -> Vec<String> {
    let section = help.lines().skip_while(|line| line.trim_end() != "Commands:").skip(1);
    section
        // Another section starts at the margin; wrapped descriptions are indented further than names.
        .take_while(|line| line.is_empty() || line.starts_with(' '))
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

fn ensure_newline(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// What is on disk now: the generated paths, and everything in the folders that hold nothing else.
fn present(generated: &GeneratedFiles) -> Result<GeneratedFiles, XtaskFailure> {
    let root = project::root();
    let owned = |path: &Path| OWNED.iter().any(|folder| path.starts_with(folder));
    let mut paths: Vec<PathBuf> = generated.keys().cloned().collect();
    paths.extend(project::files()?.into_iter().filter(|path| owned(path)));
    Ok(paths
        .into_iter()
        .filter_map(|path| Some((path.clone(), std::fs::read_to_string(root.join(path)).ok()?)))
        .collect())
}

/// The paths that are missing, different or left over.
fn drift(generated: &GeneratedFiles, present: &GeneratedFiles) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = generated.keys().chain(present.keys()).cloned().collect();
    paths.sort();
    paths.dedup();
    paths.retain(|path| generated.get(path) != present.get(path));
    paths
}

fn save(path: &Path, content: Option<&String>) -> Result<(), XtaskFailure> {
    let full = project::root().join(path);
    let saved = match content {
        Some(content) => full
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&full, content)),
        None => std::fs::remove_file(&full),
    };
    saved.map_err(|error| format!("cannot write {}: {error}", path.display()))
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TOP: &str = "Runs agents\n\nUsage: holon <COMMAND>\n\nCommands:\n  run     Run an agent,\n            wrapped\n  schema  Show\n  help    Help\n\nOptions:\n  -h, --help  Help\n";

    fn fake(args: &[&str]) -> Result<String, XtaskFailure> {
        match args {
            ["schema", "--list"] => Ok("spec\nmanifest\n".into()),
            ["schema", name] if *name != "--help" => Ok(format!("{{\"title\": \"{name}\"}}")),
            ["--help"] => Ok(TOP.into()),
            [command, "--help"] => Ok(format!("Usage: holon {command}  \n")),
            other => Err(format!("unexpected {other:?}")),
        }
    }

    #[test]
    fn commands_are_read_from_help() {
        assert_eq!(subcommands(TOP), ["run", "schema"]);
        assert_eq!(subcommands("Usage: holon run\n\nOptions:\n  -h\n"), [""; 0]);
    }

    #[test]
    fn schemas_and_the_reference_are_made() {
        let generated = generate(&fake).unwrap();
        let paths: Vec<_> = generated.keys().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(paths, ["docs/cli.md", "schemas/manifest.json", "schemas/spec.json"]);
        assert_eq!(generated[Path::new("schemas/spec.json")], "{\"title\": \"spec\"}\n");
        let page = &generated[Path::new("docs/cli.md")];
        let headings: Vec<_> = page.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(headings, ["## `holon`", "## `holon run`", "## `holon schema`"]);
        assert!(!page.lines().any(|line| line.ends_with(' ')));
    }

    #[test]
    fn drift_is_missing_different_or_left_over() {
        let set = |pairs: &[(&str, &str)]| -> GeneratedFiles {
            pairs.iter().map(|(path, text)| (PathBuf::from(path), text.to_string())).collect()
        };
        let made = set(&[("a", "1"), ("b", "2"), ("c", "3")]);
        assert_eq!(
            drift(&made, &set(&[("a", "1"), ("b", "old"), ("d", "x")])),
            ["b", "c", "d"].map(PathBuf::from)
        );
        assert!(drift(&made, &made).is_empty());
    }
}
