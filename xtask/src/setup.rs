//! `cargo xtask setup`: the packages the tests use.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::python::PythonProgram;
use crate::{XtaskFailure, npm, page, process};

const PACKAGES: &str = include_str!("../packages.toml");

/// How long apt may take, in seconds: a mirror that does not answer must not eat the time of the tests.
const APT_SECONDS: u64 = 600;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetupPackages {
    package: Vec<DebianPackage>,
    #[serde(default)]
    npm: Vec<npm::NpmPackage>,
    #[serde(default)]
    program: Vec<PythonProgram>,
}

/// A Debian package, how to tell that it is there, and what happens without it.
#[derive(Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct DebianPackage {
    name: String,
    command: Option<String>,
    file: Option<String>,
    without: String,
}

impl DebianPackage {
    fn is_there(&self) -> bool {
        let command = self.command.as_deref().is_none_or(|command| process::find(command).is_some());
        let file = self.file.as_deref().is_none_or(|file| Path::new(file).exists());
        command && file
    }
}

/// `cargo xtask setup`.
pub(crate) fn run() -> Result<(), XtaskFailure> {
    let mut missing = ensure()?;
    missing.extend(for_page());
    missing.extend(for_server()?.1);
    match missing {
        missing if missing.is_empty() => {
            println!("setup: everything the tests use is installed");
            Ok(())
        }
        missing => Err(format!("{} packages are missing:\n{}", missing.len(), missing.join("\n"))),
    }
}

/// Installs what is missing where that is allowed and returns what is missing still, one line each.
pub(crate) fn ensure() -> Result<Vec<String>, XtaskFailure> {
    let mut missing = debian()?;
    missing.extend(fetched()?);
    Ok(missing)
}

/// What the browser tests need; a line if it could not be had.
pub(crate) fn for_page() -> Option<String> {
    let failure = page::ensure().err()?;
    eprintln!("setup: {failure}");
    Some("missing web/node_modules: the page is not tried in a browser".into())
}

/// A variable for the tests, and what it names.
pub(crate) type TestVariable = (String, PathBuf);

/// What the long tests of the server need: a variable for each program, and a line for each that could not be had.
pub(crate) fn for_server() -> Result<(Vec<TestVariable>, Vec<String>), XtaskFailure> {
    let (mut there, mut missing) = (Vec::new(), Vec::new());
    for program in parse(PACKAGES)?.program {
        if !program.is_there() {
            eprintln!("setup: installing {} {}", program.name, program.version);
            if let Err(failure) = program.install() {
                eprintln!("setup: {failure}");
                missing.push(format!("missing program {}: {}", program.name, program.without));
                continue;
            }
        }
        there.extend(program.path().map(|path| (program.variable.clone(), path)));
    }
    Ok((there, missing))
}

/// Fetches what the tests read from the npm registry; one line for each that could not be had.
fn fetched() -> Result<Vec<String>, XtaskFailure> {
    let mut missing = Vec::new();
    for package in parse(PACKAGES)?.npm.iter().filter(|package| !package.is_there()) {
        eprintln!("setup: fetching {} {}", package.name, package.version);
        if let Err(failure) = package.fetch() {
            eprintln!("setup: {failure}");
            missing.push(format!("missing npm package {}: {}", package.name, package.without));
        }
    }
    Ok(missing)
}

fn debian() -> Result<Vec<String>, XtaskFailure> {
    let missing = missing()?;
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = missing.iter().map(|package| package.name.as_str()).collect();
    match may_install() {
        Ok(()) => {
            eprintln!("setup: installing {}", names.join(" "));
            if let Err(failure) = install(&names) {
                eprintln!("setup: {failure}");
            }
        }
        Err(why) => eprintln!("setup: cannot install packages: {why}"),
    }
    let missing = self::missing()?;
    for package in &missing {
        eprintln!("setup: missing {}: {}", package.name, package.without);
    }
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|package| package.name.as_str()).collect();
        eprintln!("setup: to install them: apt-get install --no-install-recommends {}", names.join(" "));
    }
    Ok(missing
        .iter()
        .map(|package| format!("missing package {}: {}", package.name, package.without))
        .collect())
}

fn missing() -> Result<Vec<DebianPackage>, XtaskFailure> {
    let packages = parse(PACKAGES)?.package;
    Ok(packages.into_iter().filter(|package| !package.is_there()).collect())
}

fn parse(text: &str) -> Result<SetupPackages, XtaskFailure> {
    let packages: SetupPackages =
        toml::from_str(text).map_err(|error| format!("xtask/packages.toml: {error}"))?;
    match packages.package.iter().find(|package| package.command.is_none() && package.file.is_none()) {
        Some(package) => Err(format!("xtask/packages.toml: {} needs `command` or `file`", package.name)),
        None => Ok(packages),
    }
}

fn may_install() -> Result<(), XtaskFailure> {
    if process::find("apt-get").is_none() {
        return Err("there is no apt-get".into());
    }
    match process::capture(Command::new("id").arg("-u"))?.trim() {
        "0" => Ok(()),
        _ => Err("that needs root".into()),
    }
}

fn install(names: &[&str]) -> Result<(), XtaskFailure> {
    apt(&["update"])?;
    let mut args = vec!["install", "--yes", "--no-install-recommends"];
    args.extend(names);
    apt(&args)
}

fn apt(args: &[&str]) -> Result<(), XtaskFailure> {
    let mut command = Command::new("apt-get");
    command.args(["-qq", "-o", "Dpkg::Use-Pty=0"]).args(args).env("DEBIAN_FRONTEND", "noninteractive");
    process::show(process::with_deadline(APT_SECONDS, &command).stdout(Stdio::null()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_list_is_well_formed() {
        let SetupPackages { package: packages, npm, program } = parse(PACKAGES).unwrap();
        assert!(npm.iter().all(|package| !package.without.is_empty()));
        assert!(program.iter().all(|program| program.version.contains('.') && !program.without.is_empty()));
        assert!(packages.iter().any(|package| package.name == "git"));
        assert!(packages.iter().all(|package| !package.without.is_empty()));
    }

    #[test]
    fn a_package_without_proof_is_an_error() {
        assert!(
            parse("[[package]]\nname = \"x\"\nwithout = \"y\"\n")
                .err()
                .unwrap()
                .contains("`command` or `file`")
        );
        assert!(parse("[[package]]\nname = \"x\"\nwhy = \"y\"\n").is_err());
    }

    #[test]
    fn proof_is_a_command_or_a_file() {
        let package = |command: Option<&str>, file: Option<&str>| DebianPackage {
            name: "x".into(),
            command: command.map(Into::into),
            file: file.map(Into::into),
            without: String::new(),
        };
        assert!(package(Some("sh"), None).is_there());
        assert!(package(None, Some("/bin/sh")).is_there());
        assert!(!package(Some("no-such-program-anywhere"), None).is_there());
        assert!(!package(Some("sh"), Some("/no/such/file")).is_there());
    }
}
