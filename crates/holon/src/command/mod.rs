//! One file per command.

pub(crate) mod acp;
pub(crate) mod adapter;
pub(crate) mod agents;
pub(crate) mod ask;
pub(crate) mod attest;
pub(crate) mod audit;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod context;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod environment;
pub(crate) mod flows;
pub(crate) mod improve;
pub(crate) mod login;
pub(crate) mod man;
pub(crate) mod models;
pub(crate) mod modes;
pub(crate) mod network;
pub(crate) mod orchestrate;
pub(crate) mod overrule;
pub(crate) mod plan;
pub(crate) mod publish;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod verify;

use crate::CommandExit;
use crate::cli::{CliCommand, ParsedCommandLine};
use crate::session::Session;

/// Carries out what was asked.
pub(crate) fn dispatch(asked: ParsedCommandLine, session: &Session) -> CommandExit {
    let command = match asked {
        ParsedCommandLine::Answered(code) => return Ok(code),
        ParsedCommandLine::Command(command) => command,
    };
    match command {
        CliCommand::Run(args) => run::run(*args, session),
        CliCommand::Runs(command) => runs::dispatch(command, session),
        CliCommand::Modes(command) => modes::dispatch(command, session),
        CliCommand::Flows(command) => flows::dispatch(command, session),
        CliCommand::Models(command) => models::dispatch(command, session),
        CliCommand::Adapter(args) => adapter::run(&args, session),
        CliCommand::Agents(command) => agents::dispatch(command, session),
        CliCommand::Login(command) => login::dispatch(command, session),
        CliCommand::Publish(command) => publish::dispatch(command, session),
        CliCommand::Config(command) => config::dispatch(command, session),
        CliCommand::Context(command) => context::dispatch(command, session),
        CliCommand::Environment(command) => environment::dispatch(command, session),
        CliCommand::Network(command) => network::dispatch(command, session),
        CliCommand::Attest(args) => attest::run(&args, session),
        CliCommand::Verify(args) => verify::run(&args, session),
        CliCommand::Audit(command) => audit::dispatch(command, session),
        CliCommand::Plan(command) => plan::dispatch(command, session),
        CliCommand::Ask(args) => ask::run(args, session),
        CliCommand::Improve(args) => improve::run(*args, session),
        CliCommand::Serve(args) => serve::run(args, session),
        CliCommand::Chat(args) => chat::run(*args, session),
        CliCommand::Acp(args) => acp::run(args, session),
        CliCommand::Demo(args) => demo::run(&args, session),
        CliCommand::Doctor(args) => doctor::run(&args, session),
        CliCommand::Schema(args) => schema::run(&args, session),
        CliCommand::Completions(args) => completions::run(&args, session),
        CliCommand::Man(args) => man::run(&args, session),
    }
}
