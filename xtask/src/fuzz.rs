//! `cargo xtask fuzz`: long runs of the fuzz targets, which are tests named `fuzz_TARGET`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::XtaskFailure;
use crate::project;

/// A target makes as many as this where nothing else is asked for.
const EXECUTIONS: u64 = 2_000_000;
/// What the name of a target's test begins with.
const PREFIX: &str = "fn fuzz_";

/// One target.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FuzzTarget {
    name: String,
    package: String,
    /// The integration test it is in, if it is in one.
    test: Option<String>,
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct FuzzOrder {
    target: Option<String>,
    executions: u64,
}

/// `cargo xtask fuzz [TARGET] [--executions N]`.
pub(crate) fn run(args: &[&str]) -> Result<(), XtaskFailure> {
    let order = order(args)?;
    let all = targets(&project::root().join("crates"));
    let chosen: Vec<_> =
        all.iter().filter(|target| order.target.as_ref().is_none_or(|name| *name == target.name)).collect();
    if chosen.is_empty() {
        let names: Vec<_> = all.iter().map(|target| target.name.as_str()).collect();
        return Err(format!("no such target; there are: {}", names.join(", ")));
    }
    let mut failed = Vec::new();
    for target in chosen {
        let mut command = project::cargo();
        command.args(["test", "--quiet", "--package", &target.package]);
        match &target.test {
            Some(test) => command.args(["--test", test]),
            // The binary has no library of its own.
            None if target.package == "holon" => command.arg("--bins"),
            None => command.arg("--lib"),
        };
        command.args(["--", "--nocapture", &format!("fuzz_{}", target.name)]);
        command.env("HOLON_FUZZ_EXECUTIONS", order.executions.to_string());
        let ended = command.status().map_err(|e| format!("cargo does not start: {e}"))?;
        if !ended.success() {
            failed.push(target.name.as_str());
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("these gave: {}", failed.join(", "))) }
}

fn order(args: &[&str]) -> Result<FuzzOrder, XtaskFailure> {
    let mut order = FuzzOrder { target: None, executions: EXECUTIONS };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match *arg {
            "--executions" => {
                let number = args.next().ok_or("--executions needs a number")?;
                order.executions =
                    number.parse().map_err(|_| format!("{number} is no number of executions"))?;
            }
            name if !name.starts_with('-') && order.target.is_none() => order.target = Some(name.to_owned()),
            other => return Err(format!("fuzz knows no {other}")),
        }
    }
    Ok(order)
}

/// Found where they are written, so that there is no list to forget one in.
fn targets(crates: &Path) -> Vec<FuzzTarget> {
    let mut found = Vec::new();
    let mut todo: Vec<PathBuf> = vec![crates.to_owned()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                todo.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap_or_default();
                found.extend(in_file(crates, &path, &text));
            }
        }
    }
    found.sort();
    found
}

fn in_file(crates: &Path, path: &Path, text: &str) -> Vec<FuzzTarget> {
    let below: Vec<_> =
        path.strip_prefix(crates).into_iter().flatten().filter_map(|part| part.to_str()).collect();
    let [folder, kind, .., file] = below.as_slice() else { return Vec::new() };
    let package = if *folder == "holon" { "holon".to_owned() } else { format!("holon-{folder}") };
    let test = (*kind == "tests").then(|| file.trim_end_matches(".rs").to_owned());
    text.lines()
        .filter_map(|line| line.trim_start().strip_prefix(PREFIX)?.strip_suffix("() {"))
        .map(|name| FuzzTarget { name: name.to_owned(), package: package.clone(), test: test.clone() })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_command_line_is_understood() {
        let check = |args: &[&str], target: Option<&str>, executions| {
            let expect = FuzzOrder { target: target.map(str::to_owned), executions };
            assert_eq!(order(args), Ok(expect), "{args:?}");
        };
        check(&[], None, EXECUTIONS);
        check(&["sse"], Some("sse"), EXECUTIONS);
        check(&["--executions", "7", "sse"], Some("sse"), 7);
        for wrong in [&["--executions"][..], &["--executions", "x"], &["--fast"], &["a", "b"]] {
            assert!(order(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn each_target_has_seeds_and_there_are_enough() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        let found = targets(&crates);
        assert!(found.len() >= 14, "only {} targets", found.len());
        for target in &found {
            let folder = target.package.trim_start_matches("holon-");
            let seeds = crates.join(folder).join("fuzz").join(&target.name);
            assert!(
                fs::read_dir(&seeds).is_ok_and(|mut seeds| seeds.next().is_some()),
                "{}",
                seeds.display()
            );
        }
        let names: std::collections::BTreeSet<_> = found.iter().map(|target| &target.name).collect();
        assert_eq!(names.len(), found.len(), "two targets of one name");
    }
}
