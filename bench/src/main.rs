//! Measures Holon beside its peers on this machine and prints ratios: `cargo xtask bench`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod agents;
mod arguments;
mod bench_model;
mod chat;
mod command;
mod cycle;
mod echo;
mod family;
mod holon_run;
mod machine;
mod meter;
mod native_run;
mod other_user;
mod peers;
mod race;
mod record;
mod report;
mod sandbox;
mod scratch;
mod seclusion;
mod suite;
mod summary;
mod table;
mod tasks;
mod tree;

use std::process::ExitCode;

use arguments::{BenchArguments, BenchTask};
use machine::Machine;
use record::SuiteRecord;
use report::{SuiteReport, TargetCounts};
use scratch::BenchContext;
use suite::Suite;

/// What went wrong, in words for the person who started the bench.
type BenchFailure = String;

fn main() -> ExitCode {
    let outcome = match arguments::parse(std::env::args_os().skip(1)) {
        Ok(BenchTask::Help) => {
            print!("{}", arguments::help());
            Ok(ExitCode::SUCCESS)
        }
        Ok(BenchTask::Meter(command)) => meter::run(&command).map(|()| ExitCode::SUCCESS),
        Ok(BenchTask::Report(suite, quick)) => report_only(suite, quick).map(|()| ExitCode::SUCCESS),
        Ok(BenchTask::Play(options)) => tasks::run(&options),
        Ok(BenchTask::Measure(arguments)) => measure(&arguments),
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
fn report_only(suite: &Suite, quick: bool) -> Result<(), BenchFailure> {
    let report = (suite.measure)(&BenchContext::new(quick)?)?;
    println!("{}", serde_json::to_string(&report).map_err(|e| e.to_string())?);
    Ok(())
}

fn measure(arguments: &BenchArguments) -> Result<ExitCode, BenchFailure> {
    seclusion::enter()?;
    let mut bench = BenchContext::new(arguments.quick)?;
    bench.scripts.clone_from(&arguments.scripts);
    bench.seeds.clone_from(&arguments.seeds);
    let machine = Machine::look(&bench.holon);
    println!("{machine}");
    let mut verdict = TargetCounts::default();
    for suite in &arguments.suites {
        println!("\n{}: {}", suite.name, suite.about);
        let mut record = SuiteRecord::new(suite.name, arguments.quick, &machine);
        let mut take = |(who, report): (String, Result<SuiteReport, BenchFailure>)| {
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
