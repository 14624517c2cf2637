//! The command line of the bench.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::BenchFailure;
use crate::suite::{self, Suite};
use crate::tasks::options::{self, TaskOptions};

/// What this process is here for.
#[derive(Debug)]
pub(crate) enum BenchTask {
    /// Say how it is used.
    Help,
    /// Measure and show.
    Measure(BenchArguments),
    /// Measure one suite quickly or not, for the process that started this one as another user.
    Report(&'static Suite, bool),
    /// Play tasks with a real model.
    Play(TaskOptions),
    /// Run one command and say what it used.
    Meter(Vec<OsString>),
}

/// What a person can choose.
#[derive(Debug)]
pub(crate) struct BenchArguments {
    /// In the order they are run.
    pub(crate) suites: Vec<&'static Suite>,
    /// Few rounds.
    pub(crate) quick: bool,
    /// A missed target is a failure.
    pub(crate) strict: bool,
    /// A folder with other scripts for the suite `supervisor`.
    pub(crate) scripts: Option<PathBuf>,
    /// Seeds of agents made from the grammar, for the same suite.
    pub(crate) seeds: Vec<u64>,
}

/// The usage text.
pub(crate) fn help() -> String {
    let mut text = "\
Measures Holon beside its peers on this machine and prints ratios.

Usage: cargo xtask bench [--quick] [--strict] [--scripts DIR] [--seed N]… [SUITE…]

  --quick   Few rounds: good enough to see an order of magnitude
  --strict  Exit 1 when a target is missed or a suite could not be measured
  --scripts DIR  Agents of one's own for the suite `supervisor`, as those in bench/supervisor
  --seed N       Agents made from the grammar beside them, instead of the usual two seeds; may be given several times
  --help    This text

Suites (all of them unless some are named):
"
    .to_owned();
    for suite in suite::ALL {
        text += &format!("  {:<16}{}\n", suite.name, suite.about);
    }
    text + "\n" + options::HELP
}

/// Reads the arguments after the program's name.
pub(crate) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<BenchTask, BenchFailure> {
    let arguments: Vec<OsString> = arguments.collect();
    if let Some((first, command)) = arguments.split_first()
        && first == "--meter"
    {
        return Ok(BenchTask::Meter(command.to_vec()));
    }
    if let Some((first, rest)) = arguments.split_first()
        && first == "tasks"
        && !rest.iter().any(|argument| argument == "--help" || argument == "-h")
    {
        return options::parse(rest).map(BenchTask::Play);
    }
    let (mut suites, mut quick, mut strict, mut report) = (Vec::new(), false, false, false);
    let mut scripts = None;
    let mut seeds = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.to_str() {
            Some("--help" | "-h") => return Ok(BenchTask::Help),
            Some("--quick") => quick = true,
            Some("--strict") => strict = true,
            Some("--report") => report = true,
            Some("--seed") => {
                let seed = rest.next().ok_or("--seed needs a number")?.to_string_lossy();
                seeds.push(seed.parse().map_err(|_| format!("--seed needs a number, not `{seed}`"))?);
            }
            Some("--scripts") => {
                let folder = rest.next().ok_or("--scripts needs a folder")?;
                scripts = Some(PathBuf::from(folder));
            }
            Some(name) if !name.starts_with('-') => suites.push(suite::named(name)?),
            _ => return Err(format!("unknown argument {}", argument.to_string_lossy())),
        }
    }
    if report {
        let suite = suites.first().ok_or("--report needs a suite")?;
        return Ok(BenchTask::Report(suite, quick));
    }
    if suites.is_empty() {
        suites = suite::ALL.iter().collect();
    }
    Ok(BenchTask::Measure(BenchArguments { suites, quick, strict, scripts, seeds }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;

    fn check(arguments: &[&str], expect: Result<(&[&str], bool, bool), &str>) {
        let parsed = parse(arguments.iter().map(OsString::from));
        match (parsed, expect) {
            (Ok(BenchTask::Measure(found)), Ok((suites, quick, strict))) => {
                let names: Vec<_> = found.suites.iter().map(|suite| suite.name).collect();
                assert_eq!((names.as_slice(), found.quick, found.strict), (suites, quick, strict));
            }
            (Err(failure), Err(part)) => assert!(failure.contains(part), "{failure}"),
            (found, expect) => panic!("{arguments:?}: {found:?}, not {expect:?}"),
        }
    }

    #[test]
    fn arguments_choose_suites_and_ways() {
        let all: Vec<_> = suite::ALL.iter().map(|suite| suite.name).collect();
        check(&[], Ok((&all, false, false)));
        check(&["--quick", "cold-start"], Ok((&["cold-start"], true, false)));
        check(&["memory", "--strict", "cold-start"], Ok((&["memory", "cold-start"], false, true)));
        check(&["cold-strat"], Err("cold-start"));
        check(&["--fast"], Err("--fast"));
        check(&["--report"], Err("suite"));
        check(&["--scripts"], Err("folder"));
        check(&["--seed", "x"], Err("number"));
        check(&["supervisor", "--seed", "7"], Ok((&["supervisor"], false, false)));
        check(&["supervisor", "--scripts", "mine"], Ok((&["supervisor"], false, false)));
    }
}
