//! Measures Holon beside its peers on this machine and prints ratios: `cargo xtask bench`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod agents;
mod arguments;
mod chat;
mod command;
mod cycle;
mod echo;
mod family;
mod holon_run;
mod machine;
mod meter;
mod mind;
mod native_run;
mod other_user;
mod peers;
mod race;
mod record;
mod report;
mod scratch;
mod seclusion;
mod suite;
mod summary;
mod table;
mod tasks;
mod tree;
mod walls;

use std::process::ExitCode;

use arguments::{Arguments, Task};
use machine::Machine;
use record::Record;
use report::{Report, Verdict};
use scratch::Bench;
use suite::Suite;

/// What went wrong, in words for the person who started the bench.
type Failure = String;

fn main() -> ExitCode {
    let outcome = match arguments::parse(std::env::args_os().skip(1)) {
        Ok(Task::Help) => {
            print!("{}", arguments::help());
            Ok(ExitCode::SUCCESS)
        }
        Ok(Task::Meter(command)) => meter::run(&command).map(|()| ExitCode::SUCCESS),
        Ok(Task::Report(suite, quick)) => report_only(suite, quick).map(|()| ExitCode::SUCCESS),
        Ok(Task::Play(options)) => tasks::run(&options),
        Ok(Task::Measure(arguments)) => measure(&arguments),
        Err(failure) => {
            eprintln!("{failure}\n\n{}", arguments::help());
            return ExitCode::from(64);
        }
    };
    outcome.unwrap_or_else(|failure| {
        eprintln!("holon-bench: {failure}");
        ExitCode::FAILURE
    })
}

/// One suite for the process that started this one as another user; the report goes to it as JSON.
fn report_only(suite: &Suite, quick: bool) -> Result<(), Failure> {
    let report = (suite.measure)(&Bench::new(quick)?)?;
    println!("{}", serde_json::to_string(&report).map_err(|e| e.to_string())?);
    Ok(())
}

fn measure(arguments: &Arguments) -> Result<ExitCode, Failure> {
    seclusion::enter()?;
    let mut bench = Bench::new(arguments.quick)?;
    bench.scripts.clone_from(&arguments.scripts);
    bench.seeds.clone_from(&arguments.seeds);
    let machine = Machine::look(&bench.holon);
    println!("{machine}");
    let mut verdict = Verdict::default();
    for suite in &arguments.suites {
        println!("\n{}: {}", suite.name, suite.about);
        let mut record = Record::new(suite.name, arguments.quick, &machine);
        let mut take = |(who, report): (String, Result<Report, Failure>)| {
            let load = machine::load();
            println!("as {who}, load {load}");
            match report {
                Ok(report) => {
                    table::print(&report);
                    verdict.add(&report);
                    record.add(&who, &load, report);
                }
                Err(failure) => {
                    println!("  could not be measured: {failure}");
                    verdict.failed += 1;
                    record.add_failure(&who, &failure);
                }
            }
        };
        take((machine::user(), (suite.measure)(&bench)));
        if other_user::matters(suite) {
            take((other_user::name(), other_user::report(suite, &bench)));
        }
        record.write()?;
    }
    println!("\n{verdict}");
    let strict = arguments.strict && !verdict.all_met();
    Ok(if strict { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
