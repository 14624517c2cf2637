//! `cargo xtask battery`: the tests that take long, the breaks and the mutations.

use crate::report::StepReport;
use crate::runner::{self, LONG, TestSelection};
use crate::skipped::SkippedTests;
use crate::switched::TrialPace;
use crate::trial::{BuiltTrial, SwitchedTrial, TrialUnderway};
use crate::{XtaskFailure, agents, page, project, setup, space, test};

/// How the names of those begin that drive real agents.
const AGENTS: &str = "battery_agents";
/// The one that drives a browser.
const PAGE: &str = "battery_page";
/// The one in which an implementation that is not ours verifies signed statements.
const STATEMENT: &str = "battery_statement";
/// The one that fuzzes the server.
const SERVER: &str = "battery_server";
/// The name that selects the breaks.
const BREAKS: &str = "breaks";
/// The name that selects the mutations.
const MUTATIONS: &str = "mutations";

/// What the names on the command line ask for.
#[derive(Debug, PartialEq, Eq)]
struct BatteryPlan {
    binaries: Vec<String>,
    breaks: bool,
    mutations: bool,
}

/// `cargo xtask battery [NAME…]`.
pub(crate) fn run(names: &[&str]) -> Result<(), XtaskFailure> {
    let metadata = project::metadata()?;
    let plan = plan(names, &metadata.tests)?;
    let mut report = StepReport::new("battery");
    test::setup(&mut report);
    let skipped = SkippedTests::collect()?;
    let mut closing = Vec::new();
    let trial = plan.breaks || plan.mutations;
    let mut trial =
        trial.then(|| SwitchedTrial::new(&metadata.target, plan.breaks, plan.mutations)).transpose()?;
    let mut underway = None;
    if plan.binaries.is_empty() {
        if names.is_empty() {
            report.not_run("long tests", "there are none in crates/holon/tests/battery_*.rs");
        }
    } else {
        // Only these drive real agents, and installing them takes a while.
        let agents =
            plan.binaries.iter().any(|name| name.starts_with(AGENTS)).then(agents::ensure).transpose()?;
        if let Some((_, missing)) = &agents {
            closing.extend(missing.iter().cloned());
        }
        let wants = |name: &str| plan.binaries.iter().any(|binary| binary == name);
        if wants(PAGE) {
            match setup::for_page() {
                Some(missing) => closing.push(missing),
                None => report.step("unit tests of the page", page::unit_tests),
            }
        }
        let programs = wants(SERVER) || wants(STATEMENT) || wants("battery_package");
        let (variables, missing) = if programs { setup::for_server()? } else { Default::default() };
        closing.extend(missing);
        // Nothing ends this early from here on, so that no build is left behind.
        underway = trial.take().map(|trial| trial.begin(TrialPace::Behind));
        let long = TestSelection::Long(plan.binaries);
        report.step("long tests", || {
            let result = runner::run(&long, &skipped, |cargo| {
                cargo.envs(variables.iter().cloned());
                if let Some((folder, _)) = &agents {
                    cargo.env(agents::FOLDER, folder);
                }
            })?;
            test::judge(result, &mut closing)
        });
    }
    let underway = underway.or_else(|| trial.map(|trial| trial.begin(TrialPace::Alone)));
    if let Some(built) = underway.map(TrialUnderway::finish) {
        let tried = |of: fn(&BuiltTrial, &mut Vec<String>) -> Result<(), XtaskFailure>,
                     closing: &mut Vec<String>| {
            built.as_ref().map_err(Clone::clone).and_then(|built| of(built, closing))
        };
        if plan.breaks {
            report.step(BREAKS, || tried(BuiltTrial::breaks, &mut closing));
        }
        if plan.mutations {
            report.step(MUTATIONS, || tried(BuiltTrial::mutations, &mut closing));
        }
    }
    report.close_with(closing);
    report.close_with(space::after(&metadata.target));
    skipped.close(&mut report);
    report.finish()
}

/// No name means everything; a name is that of a file without `battery_` and `.rs`, `breaks` or `mutations`.
fn plan(names: &[&str], tests: &[String]) -> Result<BatteryPlan, XtaskFailure> {
    let long: Vec<&String> = tests.iter().filter(|test| test.starts_with(LONG)).collect();
    if names.is_empty() {
        return Ok(BatteryPlan {
            binaries: long.into_iter().cloned().collect(),
            breaks: true,
            mutations: true,
        });
    }
    let mut plan = BatteryPlan { binaries: Vec::new(), breaks: false, mutations: false };
    for name in names {
        if *name == BREAKS {
            plan.breaks = true;
            continue;
        }
        if *name == MUTATIONS {
            plan.mutations = true;
            continue;
        }
        let full = format!("{LONG}{}", name.strip_prefix(LONG).unwrap_or(name));
        if !long.contains(&&full) {
            let known: Vec<_> =
                long.iter().map(|test| &test[LONG.len()..]).chain([BREAKS, MUTATIONS]).collect();
            return Err(format!("no battery is called {name}; there are: {}", known.join(", ")));
        }
        plan.binaries.push(full);
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_choose_batteries() {
        let tests = ["battery_crash", "battery_escape", "run"].map(String::from);
        let check = |names: &[&str], binaries: &[&str], breaks: bool| {
            let binaries = binaries.iter().map(|name| name.to_string()).collect();
            let mutations = names.is_empty() || names.contains(&MUTATIONS);
            assert_eq!(plan(names, &tests).unwrap(), BatteryPlan { binaries, breaks, mutations });
        };
        check(&[], &["battery_crash", "battery_escape"], true);
        let with_agents = ["battery_agents".to_owned(), "battery_crash".to_owned()];
        assert_eq!(plan(&[], &with_agents).unwrap().binaries, with_agents, "real agents are driven too");
        check(&["escape"], &["battery_escape"], false);
        check(&["battery_escape", "breaks"], &["battery_escape"], true);
        check(&["breaks"], &[], true);
        check(&["mutations"], &[], false);
        let failure = plan(&["run"], &tests).unwrap_err();
        assert_eq!(failure, "no battery is called run; there are: crash, escape, breaks, mutations");
    }
}
