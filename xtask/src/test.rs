//! `cargo xtask test`: everything that has to hold before a change is taken, except the long tests.

use crate::report::StepReport;
use crate::runner::{self, TestSelection};
use crate::skipped::SkippedTests;
use crate::{XtaskFailure, codegen, process, project, setup, space, tidy};

/// `cargo xtask test`.
pub(crate) fn run() -> Result<(), XtaskFailure> {
    let mut report = StepReport::new("test");
    let skipped = SkippedTests::collect()?;
    let target = project::metadata()?.target;
    let room = space::before(&target);
    if let Some(room) = &room {
        eprintln!("{room}");
    }
    setup(&mut report);
    component(&mut report, "format", "rustfmt", &["fmt", "--all", "--check"]);
    component(
        &mut report,
        "lints",
        "clippy",
        &["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny=warnings"],
    );
    report.step("tidy", tidy::run);
    let mut closing = Vec::new();
    report.step("tests", || judge(runner::run(&TestSelection::Short, &skipped, |_| {})?, &mut closing));
    report.step("documentation tests", || judge(runner::run_documentation(&skipped)?, &mut closing));
    report.step("generated files", || codegen::run(codegen::CodegenWrite::Nothing));
    report.close_with(closing);
    report.close_with(room.into_iter().chain(space::after(&target)));
    if !runner::has_nextest() {
        report.close_with(["(cargo-nextest is not installed: `cargo test` was used instead)".to_owned()]);
    }
    skipped.close(&mut report);
    report.finish()
}

/// Installs what is missing; what cannot be installed is no failure by itself, but stands in the closing lines.
pub(crate) fn setup(report: &mut StepReport) {
    let mut missing = Vec::new();
    report.step("setup", || {
        missing = setup::ensure()?;
        Ok(())
    });
    report.close_with(missing);
}

/// Keeps a runner's closing lines and turns its verdict into a step's result.
pub(crate) fn judge(result: (bool, Vec<String>), closing: &mut Vec<String>) -> Result<(), XtaskFailure> {
    let (passed, lines) = result;
    closing.extend(lines);
    if passed { Ok(()) } else { Err("see the runner's closing lines".into()) }
}

/// Runs a part of the toolchain, which is added with rustup where it is missing.
fn component(report: &mut StepReport, name: &str, component: &str, args: &[&str]) {
    let there = || process::capture(project::cargo().args([args[0], "--version"])).is_ok();
    let add = || {
        let rustup = process::find("rustup");
        let mut command = std::process::Command::new(rustup.unwrap_or_else(|| "rustup".into()));
        process::show(command.args(["component", "add", component]))
    };
    if there() || (add().is_ok() && there()) {
        report.step(name, || process::show(project::cargo().args(args)));
    } else {
        report.not_run(name, &format!("{component} is not installed: rustup component add {component}"));
    }
}
