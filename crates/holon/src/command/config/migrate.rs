//! `holon config migrate`: keys of former releases under their new names, everything else as it was.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::ExitCode;

use holon_core::config::{ConfigLayer, ConfigSource, migrate};
use holon_host::store::write_atomic;

use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::terminal::visible;

/// Rewrite keys of former releases in a file; comments and order stay
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  holon config migrate             the new text of your own file\n  holon config migrate holon.toml --write"
)]
pub(crate) struct ConfigMigrateArgs {
    /// The file [default: your own config.toml]
    file: Option<PathBuf>,
    /// Write it, and keep the old one beside it as FILE.before
    #[arg(long)]
    write: bool,
}

/// Prints the new text or writes it.
pub(super) fn run(args: &ConfigMigrateArgs, session: &Session) -> CommandExit {
    let path = match &args.file {
        Some(path) => path.clone(),
        None => session.places()?.config.join("config.toml"),
    };
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == ErrorKind::NotFound && args.file.is_none() => {
            let path = visible(&path.display().to_string());
            session.terminal.say(&format!("you have no {path}: nothing to rewrite"));
            return Ok(ExitCode::SUCCESS);
        }
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let hint = "name a file that is there, or none for your own config.toml";
            return Err(CliFailure::user(format!("there is no file {}", path.display()), hint));
        }
        Err(e) => return Err(CliFailure::io("read", &path)(e)),
    };
    ConfigLayer::parse(ConfigSource::User { path: path.display().to_string() }, &text)
        .map_err(|e| CliFailure::user(e.to_string(), "correct the file first"))?;
    let migrated = migrate(&text);
    for (old, new) in &migrated.moved {
        session.terminal.say(&format!("{} is {} now", visible(old), visible(new)));
    }
    for (old, why) in &migrated.left {
        session.terminal.say(&format!("left as it is: {}: {}", visible(old), visible(why)));
    }
    if migrated.moved.is_empty() {
        session.terminal.say(&format!("{}: nothing to rewrite", path.display()));
    }
    if !args.write {
        session.terminal.deliver(migrated.text)?;
    } else if !migrated.moved.is_empty() {
        let mut before = path.clone().into_os_string();
        before.push(".before");
        let before = PathBuf::from(before);
        fs::copy(&path, &before).map_err(CliFailure::io("write", &before))?;
        write_atomic(&path, migrated.text.as_bytes())?;
        session.terminal.say(&format!("written; the old file is {}", before.display()));
    }
    Ok(if migrated.left.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) })
}
