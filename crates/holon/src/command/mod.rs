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
pub(crate) mod improve;
pub(crate) mod login;
pub(crate) mod man;
pub(crate) mod models;
pub(crate) mod modes;
pub(crate) mod orchestrate;
pub(crate) mod overrule;
pub(crate) mod plan;
pub(crate) mod publish;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod verify;

use crate::Done;
use crate::cli::{Asked, Command};
use crate::session::Session;

/// Carries out what was asked.
pub(crate) fn dispatch(asked: Asked, session: &Session) -> Done {
    let command = match asked {
        Asked::Answered(code) => return Ok(code),
        Asked::Command(command) => command,
    };
    match command {
        Command::Run(args) => run::run(*args, session),
        Command::Runs(command) => runs::dispatch(command, session),
        Command::Modes(command) => modes::dispatch(command, session),
        Command::Models(command) => models::dispatch(command, session),
        Command::Adapter(args) => adapter::run(&args, session),
        Command::Agents(command) => agents::dispatch(command, session),
        Command::Login(command) => login::dispatch(command, session),
        Command::Publish(command) => publish::dispatch(command, session),
        Command::Config(command) => config::dispatch(command, session),
        Command::Context(command) => context::dispatch(command, session),
        Command::Attest(args) => attest::run(&args, session),
        Command::Verify(args) => verify::run(&args, session),
        Command::Audit(command) => audit::dispatch(command, session),
        Command::Plan(command) => plan::dispatch(command, session),
        Command::Ask(args) => ask::run(args, session),
        Command::Improve(args) => improve::run(*args, session),
        Command::Serve(args) => serve::run(args, session),
        Command::Chat(args) => chat::run(*args, session),
        Command::Acp(args) => acp::run(args, session),
        Command::Demo(args) => demo::run(&args, session),
        Command::Doctor(args) => doctor::run(&args, session),
        Command::Schema(args) => schema::run(&args, session),
        Command::Completions(args) => completions::run(&args, session),
        Command::Man(args) => man::run(&args, session),
    }
}
