//! The project's own commands, run as `cargo xtask COMMAND`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod agents;
mod battery;
mod bench;
mod breaks;
mod codegen;
mod fuzz;
mod house;
mod mutations;
mod npm;
mod package;
mod page;
mod process;
mod project;
mod python;
mod report;
mod runner;
mod setup;
mod skipped;
mod space;
mod switched;
mod test;
mod tidy;
mod trial;
mod verdict;

use std::process::ExitCode;

const HELP: &str = "\
The project's own commands.

Usage: cargo xtask COMMAND [ARGUMENTS]

  setup              Install the packages the tests use, or say which are missing
  setup agents       Install the real agents that `battery agents` drives, in a folder outside of the tree
  test               setup, format, lints, tidy, all tests but the long ones, documentation tests
  battery [NAME…]    The long tests (crates/holon/tests/battery_NAME.rs), then the breaks and the mutations
  battery breaks     Break each promise on purpose and demand that its test turns red
  battery mutations  Change single rules of the supervisor and demand that a test notices
  fuzz [TARGET] [--executions N]
                     Mutate the seeds of every parser of foreign bytes, 2,000,000 times each
  bench [ARGUMENTS]  Build for release and measure; results also go to target/bench/
  package [OPTIONS]  Build to be shipped and make tarball, Debian package, container image, SBOM and digests in
                     target/package/; --binary PATH takes a binary that is there, --out FOLDER another folder
  tidy               Check the rules of the source tree that no compiler checks
  house              Print how large, how tangled and how well named the source tree is, for whoever reviews
  codegen [--check]  Write schemas/ and docs/cli.md from the binary; with --check fail on a difference
  help               Show this

CI=true makes a skipped security test a failure.
";

/// The exit code for a command line that makes no sense.
const USAGE: u8 = 64;

/// What stopped a command, in words for the person who started it.
type XtaskFailure = String;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match args.as_slice() {
        [] | ["help" | "--help" | "-h", ..] | [_, "--help" | "-h"] => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        ["setup"] => setup::run(),
        ["setup", "agents"] => agents::run(),
        ["test"] => test::run(),
        ["battery", names @ ..] if names.iter().all(|name| !name.starts_with('-')) => battery::run(names),
        ["fuzz", rest @ ..] => fuzz::run(rest),
        ["bench", rest @ ..] => bench::run(rest),
        ["package", rest @ ..] => package::run(rest),
        ["tidy"] => tidy::run(),
        ["house"] => house::run(),
        ["codegen"] => codegen::run(codegen::CodegenWrite::Files),
        ["codegen", "--check"] => codegen::run(codegen::CodegenWrite::Nothing),
        other => {
            eprintln!("error: no such command: {}\n\n{HELP}", other.join(" "));
            return ExitCode::from(USAGE);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}
