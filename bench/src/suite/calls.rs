//! What a tool call of the native agent costs beyond the command itself, and what memory fifty of them take.

use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

use crate::BenchFailure;
use crate::bench_model::{BenchModel, CallTemplates, ModelRole};
use crate::command::time;
use crate::native_run::{NativeRun, execute_calls, read_calls};
use crate::race::{self, RaceContender};
use crate::report::{ReportRow, SuiteReport, TargetBound};
use crate::scratch::BenchContext;

/// Calls in a run, one in each reply of the model.
pub(super) const CALLS: usize = 50;
/// Milliseconds over the command itself.
const MOST_MS: f64 = 3.0;
/// All of Holon's processes together.
const MOST_MB: f64 = 40.0;
const FILES: usize = 500;

const SHELL: &str = "sh -c true, by itself";
const EXECUTE: &str = "each call of execute";
const READ: &str = "each call of read_file";
const MODEL: &str = "the model by itself, each of those requests";

/// Runs with fifty calls against runs with none.
pub(super) fn measure(bench: &BenchContext) -> Result<SuiteReport, BenchFailure> {
    let mind = Rc::new(BenchModel::start());
    let run = Rc::new(NativeRun::new(bench, "native-calls", &bench.tree(FILES)?, &mind)?.shadow());
    let reading = ModelRole { calls: CALLS, with: read_calls() };
    let requests = run.requests(&reading)?;
    let contenders = vec![
        RaceContender::new(MODEL, || run.model_alone(&reading, &requests)),
        RaceContender::new(SHELL, || time(Command::new("/bin/sh").args(["-c", "true"]))),
        each(EXECUTE, &run, execute_calls()),
        each(READ, &run, read_calls()),
    ];
    let standings = race::run(contenders, bench.rounds(50));
    if standings.of(EXECUTE).is_empty() {
        return Err(standings.missing.join("; "));
    }
    let shell = ReportRow::milliseconds(SHELL, standings.of(SHELL));
    let command = shell.median().unwrap_or_default();
    let over: Vec<f64> = standings.of(EXECUTE).iter().map(|time| time - command).collect();
    let model = ReportRow::milliseconds(MODEL, standings.of(MODEL)).median().unwrap_or_default();
    let without_model: Vec<f64> = standings.of(READ).iter().map(|time| time - model).collect();
    let mut rows = vec![
        ReportRow::milliseconds(EXECUTE, standings.of(EXECUTE)).against(&shell),
        ReportRow::milliseconds(format!("{EXECUTE}, over the command"), &over)
            .median_target(TargetBound::AtMost(MOST_MS)),
        ReportRow::milliseconds(MODEL, standings.of(MODEL)),
        ReportRow::milliseconds(READ, standings.of(READ)),
        ReportRow::milliseconds(format!("{READ}, over the model"), &without_model)
            .median_target(TargetBound::AtMost(MOST_MS)),
    ];
    rows.insert(0, shell);
    rows.retain(|row| row.summary.is_some());
    rows.extend(memory(bench, &run)?);
    let mut notes = standings.missing;
    notes.push(format!(
        "a call's cost: ({CALLS} calls − none) / {CALLS}; that of execute has the model's time in it"
    ));
    notes.push("the supervisor decides without acting: it would stop an agent that does nothing".to_owned());
    Ok(SuiteReport { rows, notes })
}

/// What one call adds to a run, as both are made one after the other.
pub(super) fn each<'a>(name: &str, run: &Rc<NativeRun>, with: CallTemplates) -> RaceContender<'a> {
    let run = Rc::clone(run);
    RaceContender::new(name, move || {
        let none = run.turn(&ModelRole::default())?;
        let many = run.turn(&ModelRole { calls: CALLS, with: with.clone() })?;
        Ok(per_call(none, many))
    })
}

/// The share of one call.
pub(super) fn per_call(none: Duration, many: Duration) -> Duration {
    many.saturating_sub(none) / CALLS as u32
}

/// Peaks of the processes that are there when all calls have been made.
fn memory(bench: &BenchContext, run: &NativeRun) -> Result<Vec<ReportRow>, BenchFailure> {
    let (mut host, mut hands, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.rounds(10) {
        let family = run.sight(&ModelRole { calls: CALLS, with: execute_calls() })?.family;
        host.extend(family.iter().filter(|p| p.depth == 0).map(|p| p.peak_mb));
        hands.extend(family.iter().filter(|p| p.name == "holon-hands").map(|p| p.peak_mb));
        all.push(family.iter().map(|p| p.fair_mb).sum());
    }
    Ok(vec![
        ReportRow::samples(format!("peak memory, {CALLS} calls: host"), "MB", &host)
            .median_target(TargetBound::AtMost(MOST_MB)),
        ReportRow::samples(format!("peak memory, {CALLS} calls: hands"), "MB", &hands),
        ReportRow::samples(
            format!("peak memory, {CALLS} calls: all processes, shared pages once"),
            "MB",
            &all,
        )
        .median_target(TargetBound::AtMost(MOST_MB)),
    ])
}
