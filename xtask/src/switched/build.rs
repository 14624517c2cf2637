//! One build of the copy, and what cargo says about it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::process::{self, Echo};
use crate::{XtaskFailure, project};

/// A program that was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BuiltProgram {
    /// The folder of its package, relative to the tree.
    pub(crate) package: PathBuf,
    pub(crate) name: String,
    /// Whether it is one of tests, rather than one that is tested.
    pub(crate) tests: bool,
    pub(crate) file: PathBuf,
}

/// How a build ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BuildResult {
    Built(Vec<BuiltProgram>),
    /// The files and lines the compiler objects to, and what it says first.
    Refused(Vec<(PathBuf, usize)>, String),
}

/// The cargo command that builds these tests of the tree with the features they have in `cargo xtask test`: then what
/// was built for those is what these need.
pub(crate) fn command<'a>(tree: &Path, target: &Path, tests: impl Iterator<Item = &'a str>) -> Command {
    let mut cargo = project::cargo();
    cargo.current_dir(tree).env("CARGO_TARGET_DIR", target);
    // Only whether a test fails matters here: nothing is worth optimising, and no debugger will look.
    cargo.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
    cargo.args(["test", "--workspace", "--no-run", "--message-format=json"]);
    for package in OPTIMISED {
        cargo.args(["--config", &format!("profile.dev.package.{package}.opt-level=0")]);
    }
    cargo.args(tests.flat_map(|test| ["--test", test]));
    cargo
}

/// The packages of ours that are optimised for the tests; twenty tests do not make up for that.
const OPTIMISED: [&str; 5] =
    ["holon-supervisor", "holon-model", "holon-agent", "holon-store", "holon-server"];

/// Builds; an error when there is no telling how it ended.
pub(crate) fn build(cargo: &mut Command, tree: &Path) -> Result<BuildResult, XtaskFailure> {
    let told = process::tell(cargo, Echo::Silent)?;
    let messages: Vec<Value> = told
        .lines
        .iter()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(Value::is_object)
        .collect();
    if told.succeeded() {
        return Ok(BuildResult::Built(
            messages.iter().filter_map(|message| program(message, tree)).collect(),
        ));
    }
    let errors: Vec<&Value> =
        messages.iter().map(|message| &message["message"]).filter(|m| is_error(m)).collect();
    let said = errors.iter().filter_map(|error| error["message"].as_str()).next();
    let complaint = said.map_or_else(|| told.complaint(), str::to_owned);
    Ok(BuildResult::Refused(errors.into_iter().flat_map(places).collect(), complaint))
}

fn is_error(message: &Value) -> bool {
    message["level"].as_str().is_some_and(|level| level.starts_with("error"))
}

/// The lines an error points at.
fn places(error: &Value) -> Vec<(PathBuf, usize)> {
    let spans = error["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
    let place = |span: &Value| {
        let line = usize::try_from(span["line_start"].as_u64()?).ok()?;
        Some((PathBuf::from(span["file_name"].as_str()?), line))
    };
    spans.iter().filter(|span| span["is_primary"] == true).filter_map(place).collect()
}

fn program(message: &Value, tree: &Path) -> Option<BuiltProgram> {
    let manifest = Path::new(message["manifest_path"].as_str()?);
    Some(BuiltProgram {
        package: manifest.parent()?.strip_prefix(tree).ok()?.to_owned(),
        name: message["target"]["name"].as_str()?.to_owned(),
        tests: message["profile"]["test"].as_bool()?,
        file: message["executable"].as_str()?.into(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn said(lines: &[&str], code: i32) -> BuildResult {
        let mut script = Command::new("/bin/sh");
        script
            .args(["-c", "printf '%s\\n' \"$@\"; exit $CODE", "sh"])
            .args(lines)
            .env("CODE", code.to_string());
        build(&mut script, Path::new("/t")).unwrap()
    }

    #[test]
    fn programs_are_those_of_the_tree_that_can_be_started() {
        let artifact = |folder: &str, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"{folder}/Cargo.toml","target":{{"name":"run"}},
                "profile":{{"test":true}},"executable":{executable}}}"#
            )
            .replace('\n', "")
        };
        let lines = [
            "   Compiling x",
            &artifact("/t/crates/holon", "\"/x/run-1\""),
            &artifact("/t/crates/core", "null"),
            &artifact("/else/where", "\"/x/other\""),
        ];
        let expect = BuiltProgram {
            package: "crates/holon".into(),
            name: "run".into(),
            tests: true,
            file: "/x/run-1".into(),
        };
        assert_eq!(said(&lines, 0), BuildResult::Built(vec![expect]));
    }

    #[test]
    fn errors_have_places() {
        let error = r#"{"reason":"compiler-message","message":{"level":"error","message":"mismatched types","spans":[{"file_name":"crates/a/src/b.rs","line_start":7,"is_primary":true},{"file_name":"c.rs","line_start":1,"is_primary":false}]}}"#;
        let warning = r#"{"reason":"compiler-message","message":{"level":"warning","message":"unused","spans":[{"file_name":"d.rs","line_start":7,"is_primary":true}]}}"#;
        let expect = BuildResult::Refused(vec![("crates/a/src/b.rs".into(), 7)], "mismatched types".into());
        assert_eq!(said(&[warning, error, "error: could not compile"], 101), expect);
        let expect = BuildResult::Refused(vec![], "error: no such package".into());
        assert_eq!(said(&["error: no such package"], 101), expect);
    }
}
