//! The native agent beside other agents: the same model server, the same tree, the same calls.

use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

use super::calls::{CALLS, per_call};
use crate::BenchFailure;
use crate::agents::{self, PeerAgent};
use crate::bench_model::{BenchModel, ModelRole};
use crate::command::time;
use crate::machine;
use crate::native_run::{NativeRun, execute_calls, watched};
use crate::race::{self, RaceContender};
use crate::report::{ReportRow, SuiteReport, TargetBound};
use crate::scratch::BenchContext;

const FILES: usize = 50_000;
const HOLON: &str = "holon, behind walls";
const MEMORY_ROUNDS: usize = 3;
/// Those that take minutes for a turn get one of so many.
const SLOW_EVERY: usize = 5;

/// Whole run, per call, memory and first request of everybody who is here.
pub(super) fn measure(bench: &BenchContext) -> Result<SuiteReport, BenchFailure> {
    let mind = Rc::new(BenchModel::start());
    let tree = bench.tree(FILES)?;
    let own = NativeRun::new(bench, "agents-holon", &tree, &mind)?.shadow();
    let mut notes = Vec::new();
    let mut runners: Vec<(String, SuiteRunner)> = vec![(HOLON.to_owned(), SuiteRunner::Holon(own))];
    for agent in agents::known()? {
        match agent.find() {
            Ok(program) => {
                let home = bench.new_folder(&format!("agents-{}", agent.name))?;
                let (workspace, mind) = (tree.path.clone(), Rc::clone(&mind));
                let runner =
                    SuiteRunner::Other(Box::new(PeerRunner { agent, program, home, workspace, mind }));
                runners.push((runner.name(), runner));
            }
            Err(why) => notes.push(format!("{}: {why}", agent.name)),
        }
    }
    let contenders = runners.iter().map(|(name, runner)| {
        let contender = RaceContender::with_parts([none(name), each(name)].to_vec(), || {
            let nothing = runner.turn(0)?;
            let many = runner.turn(CALLS)?;
            Ok(vec![nothing, per_call(nothing, many)])
        });
        contender.every(if runner.is_slow() { SLOW_EVERY } else { 1 })
    });
    let standings = race::run(contenders.collect(), bench.rounds(10));
    notes.extend(standings.missing.iter().cloned());
    let mut rows = Vec::new();
    for title in [none, each] {
        let row = |name: &str| ReportRow::milliseconds(title(name), standings.of(&title(name)));
        compare(&mut rows, &runners, Some(TargetBound::AtLeast(1.0)), row);
    }
    let mut peaks = Vec::new();
    let mut sizes = Vec::new();
    for (name, runner) in &runners {
        let taken = !standings.of(&none(name)).is_empty();
        let rounds = if !taken {
            0
        } else if runner.is_slow() {
            1
        } else {
            MEMORY_ROUNDS
        };
        let (peak, size) = runner.weigh(rounds)?;
        peaks.push(ReportRow::samples(format!("{name}: peak memory, {CALLS} calls"), "MB", &peak));
        sizes.push(ReportRow::samples(format!("{name}: first request"), "KB", &size));
    }
    // How much is said first depends on how much can be done; the limit for it is another suite's.
    for (kind, limit) in [(peaks, Some(TargetBound::AtLeast(1.0))), (sizes, None)] {
        let mut kind = kind.into_iter();
        compare(&mut rows, &runners, limit, |_| {
            kind.next().unwrap_or_else(|| ReportRow::samples("", "", &[]))
        });
    }
    notes.push(format!(
        "ratios are to {HOLON}; {FILES} files; memory is that of all processes together, shared pages once"
    ));
    Ok(SuiteReport { rows, notes })
}

/// One row for each runner, in ratio to the first.
fn compare(
    rows: &mut Vec<ReportRow>,
    runners: &[(String, SuiteRunner)],
    limit: Option<TargetBound>,
    mut row: impl FnMut(&str) -> ReportRow,
) {
    let mut all = runners.iter().map(|(name, _)| row(name));
    let Some(own) = all.next() else { return };
    let others: Vec<ReportRow> = all
        .filter(|row| row.summary.is_some())
        .map(|row| row.against(&own))
        .map(|row| if let Some(limit) = limit { row.ratio_target(limit) } else { row })
        .collect();
    rows.push(own);
    rows.extend(others);
}

fn none(name: &str) -> String {
    format!("{name}: no calls")
}

fn each(name: &str) -> String {
    format!("{name}: each call")
}

/// Whoever takes part.
enum SuiteRunner {
    Holon(NativeRun),
    Other(Box<PeerRunner>),
}

struct PeerRunner {
    agent: PeerAgent,
    program: PathBuf,
    home: PathBuf,
    workspace: PathBuf,
    mind: Rc<BenchModel>,
}

impl SuiteRunner {
    fn name(&self) -> String {
        match self {
            Self::Holon(_) => HOLON.to_owned(),
            Self::Other(other) => {
                let version = machine::version(&other.program);
                format!("{} {version}", other.agent.name)
            }
        }
    }

    fn is_slow(&self) -> bool {
        matches!(self, Self::Other(other) if other.agent.slow)
    }

    fn turn(&self, calls: usize) -> Result<Duration, BenchFailure> {
        match self {
            Self::Holon(run) => run.turn(&ModelRole { calls, with: execute_calls() }),
            Self::Other(other) => {
                other.mind.prepare(&other.part(calls));
                let time = time(&mut other.command()?)?;
                other.mind.sight()?;
                Ok(time)
            }
        }
    }

    /// Memory of a run with calls, and kilobytes of its first request.
    fn weigh(&self, rounds: usize) -> Result<(Vec<f64>, Vec<f64>), BenchFailure> {
        let (mut peaks, mut sizes) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let sight = match self {
                Self::Holon(run) => run.sight(&ModelRole { calls: CALLS, with: execute_calls() })?,
                Self::Other(other) => {
                    other.mind.prepare(&other.part(CALLS));
                    watched(&mut other.command()?, &other.mind)?
                }
            };
            peaks.push(sight.family.iter().map(|process| process.fair_mb).sum());
            sizes.push(sight.first_bytes as f64 / 1024.0);
        }
        Ok((peaks, sizes))
    }
}

impl PeerRunner {
    fn part(&self, calls: usize) -> ModelRole {
        ModelRole { calls, with: self.agent.calls.clone() }
    }

    fn command(&self) -> Result<Command, BenchFailure> {
        self.agent.command(&self.program, &self.mind, &self.home, &self.workspace)
    }
}
