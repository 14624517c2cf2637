//! The native agent beside other agents: the same model server, the same tree, the same calls.

use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

use super::calls::{CALLS, per_call};
use crate::Failure;
use crate::agents::{self, Agent};
use crate::command::time;
use crate::machine;
use crate::mind::{Mind, Part};
use crate::native_run::{NativeRun, execute_calls, watched};
use crate::race::{self, Contender};
use crate::report::{Limit, Report, Row};
use crate::scratch::Bench;

const FILES: usize = 50_000;
const HOLON: &str = "holon, behind walls";
const MEMORY_ROUNDS: usize = 3;
/// Those that take minutes for a turn get one of so many.
const SLOW_EVERY: usize = 5;

/// Whole run, per call, memory and first request of everybody who is here.
pub(super) fn measure(bench: &Bench) -> Result<Report, Failure> {
    let mind = Rc::new(Mind::start());
    let tree = bench.tree(FILES)?;
    let own = NativeRun::new(bench, "agents-holon", &tree, &mind)?.shadow();
    let mut notes = Vec::new();
    let mut runners: Vec<(String, Runner)> = vec![(HOLON.to_owned(), Runner::Holon(own))];
    for agent in agents::known()? {
        match agent.find() {
            Ok(program) => {
                let home = bench.new_folder(&format!("agents-{}", agent.name))?;
                let (workspace, mind) = (tree.path.clone(), Rc::clone(&mind));
                let runner = Runner::Other(Box::new(Other { agent, program, home, workspace, mind }));
                runners.push((runner.name(), runner));
            }
            Err(why) => notes.push(format!("{}: {why}", agent.name)),
        }
    }
    let contenders = runners.iter().map(|(name, runner)| {
        let contender = Contender::with_parts([none(name), each(name)].to_vec(), || {
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
        let row = |name: &str| Row::milliseconds(title(name), standings.of(&title(name)));
        compare(&mut rows, &runners, Some(Limit::AtLeast(1.0)), row);
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
        peaks.push(Row::samples(format!("{name}: peak memory, {CALLS} calls"), "MB", &peak));
        sizes.push(Row::samples(format!("{name}: first request"), "KB", &size));
    }
    // How much is said first depends on how much can be done; the limit for it is another suite's.
    for (kind, limit) in [(peaks, Some(Limit::AtLeast(1.0))), (sizes, None)] {
        let mut kind = kind.into_iter();
        compare(&mut rows, &runners, limit, |_| kind.next().unwrap_or_else(|| Row::samples("", "", &[])));
    }
    notes.push(format!(
        "ratios are to {HOLON}; {FILES} files; memory is that of all processes together, shared pages once"
    ));
    Ok(Report { rows, notes })
}

/// One row for each runner, in ratio to the first.
fn compare(
    rows: &mut Vec<Row>,
    runners: &[(String, Runner)],
    limit: Option<Limit>,
    mut row: impl FnMut(&str) -> Row,
) {
    let mut all = runners.iter().map(|(name, _)| row(name));
    let Some(own) = all.next() else { return };
    let others: Vec<Row> = all
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
enum Runner {
    Holon(NativeRun),
    Other(Box<Other>),
}

struct Other {
    agent: Agent,
    program: PathBuf,
    home: PathBuf,
    workspace: PathBuf,
    mind: Rc<Mind>,
}

impl Runner {
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

    fn turn(&self, calls: usize) -> Result<Duration, Failure> {
        match self {
            Self::Holon(run) => run.turn(&Part { calls, with: execute_calls() }),
            Self::Other(other) => {
                other.mind.prepare(&other.part(calls));
                let time = time(&mut other.command()?)?;
                other.mind.sight()?;
                Ok(time)
            }
        }
    }

    /// Memory of a run with calls, and kilobytes of its first request.
    fn weigh(&self, rounds: usize) -> Result<(Vec<f64>, Vec<f64>), Failure> {
        let (mut peaks, mut sizes) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let sight = match self {
                Self::Holon(run) => run.sight(&Part { calls: CALLS, with: execute_calls() })?,
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

impl Other {
    fn part(&self, calls: usize) -> Part {
        Part { calls, with: self.agent.calls.clone() }
    }

    fn command(&self) -> Result<Command, Failure> {
        self.agent.command(&self.program, &self.mind, &self.home, &self.workspace)
    }
}
