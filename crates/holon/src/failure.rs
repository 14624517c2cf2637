//! The one form every error takes on its way to a person, and the exit code that goes with it.

use std::ffi::OsString;
use std::fmt;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use holon_attest::AttestError;
use holon_core::release::ReleaseDecision;
use holon_core::{RunOutcome, outcome, suggest};
use holon_flow::FlowError;
use holon_host::HostError;

use crate::terminal::{Terminal, TextStyle, visible};

/// Whose move it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// The command line or what it names is wrong: exit 64, nothing was started.
    User,
    /// A person has to look or to say something first: exit 2.
    Person,
    /// Something on this machine stands in the way: exit 1.
    Config,
    /// Holon itself is wrong: exit 1, and a report is welcome.
    Internal,
}

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) struct CliFailure {
    kind: FailureKind,
    message: String,
    hint: Option<String>,
}

impl CliFailure {
    /// A request that makes no sense as it is.
    pub(crate) fn user(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind: FailureKind::User, message: message.into(), hint: Some(hint.into()) }
    }

    /// Something on this machine that stands in the way.
    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self { kind: FailureKind::Config, message: message.into(), hint: None }
    }

    /// A mistake of Holon's own.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self { kind: FailureKind::Internal, message: message.into(), hint: None }
    }

    /// Something the release gate holds; `command` is the one that was refused.
    pub(crate) fn held(decision: &ReleaseDecision, command: &str) -> Self {
        let person = decision.exit_code() == RunOutcome::NeedsHuman.exit_code();
        let kind = if person { FailureKind::Person } else { FailureKind::Config };
        Self { kind, message: decision.message(), hint: Some(decision.hint(command)) }
    }

    /// The same with a remedy.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// For `map_err` around file operations.
    pub(crate) fn io<'a>(
        doing: &'a str,
        path: &'a std::path::Path,
    ) -> impl FnOnce(std::io::Error) -> Self + 'a {
        move |e| Self::config(format!("cannot {doing} {}: {e}", path.display()))
    }

    /// What can be done about it.
    pub(crate) fn remedy(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Whether the request is wrong, and not the machine.
    pub(crate) fn is_users(&self) -> bool {
        self.kind == FailureKind::User
    }

    fn exit_code(&self) -> u8 {
        match self.kind {
            FailureKind::User => outcome::USAGE,
            FailureKind::Person => RunOutcome::NeedsHuman.exit_code(),
            FailureKind::Config | FailureKind::Internal => 1,
        }
    }

    /// Prints `error:` and `hint:` to standard error and gives the exit code.
    pub(crate) fn report(&self, terminal: &Terminal) -> ExitCode {
        // Standard output was closed by its reader, who therefore wants no more.
        if self.message.is_empty() {
            return ExitCode::SUCCESS;
        }
        let label = |style, text: &str| terminal.stderr.paint(style, text);
        terminal.say(&format!("{} {}", label(TextStyle::Red, "error:"), visible(&self.message)));
        let report = "this is a bug in Holon; please report it with the command you ran";
        let hint = self.hint.as_deref().or((self.kind == FailureKind::Internal).then_some(report));
        if let Some(hint) = hint {
            terminal.say(&format!("{} {}", label(TextStyle::Cyan, "hint:"), visible(hint)));
        }
        ExitCode::from(self.exit_code())
    }

    /// Standard output is gone: end quietly.
    pub(crate) fn closed() -> Self {
        Self { kind: FailureKind::Config, message: String::new(), hint: None }
    }

    /// Standard output cannot be written to, for whatever reason.
    pub(crate) fn unwritten(error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::closed(),
            _ => Self::config(format!("cannot write to standard output: {error}")),
        }
    }
}

impl From<HostError> for CliFailure {
    fn from(error: HostError) -> Self {
        if let HostError::Held(decision) = &error {
            return Self::held(decision, "");
        }
        let kind = if error.is_usage() { FailureKind::User } else { FailureKind::Config };
        Self { kind, hint: error.hint(), message: error.to_string() }
    }
}

impl From<AttestError> for CliFailure {
    fn from(error: AttestError) -> Self {
        let kind =
            if matches!(error, AttestError::Policy { .. }) { FailureKind::User } else { FailureKind::Config };
        Self { kind, hint: None, message: error.to_string() }
    }
}

impl From<FlowError> for CliFailure {
    fn from(error: FlowError) -> Self {
        let kind = match &error {
            FlowError::Definition { .. } => FailureKind::Internal,
            error if error.is_usage() => FailureKind::User,
            _ => FailureKind::Config,
        };
        Self { kind, hint: error.hint(), message: error.to_string() }
    }
}

impl CliFailure {
    /// What clap found wrong with these arguments, in our words.
    pub(crate) fn usage(error: &clap::Error, args: &[OsString], definition: &clap::Command) -> Self {
        let known = KnownNames::at(args, definition);
        let text = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.clone()),
            Some(ContextValue::Strings(texts)) if !texts.is_empty() => Some(texts.join(", ")),
            _ => None,
        };
        let argument = text(ContextKind::InvalidArg).unwrap_or_default();
        let value = text(ContextKind::InvalidValue).unwrap_or_default();
        let help = "`--help` shows every flag with an example";
        match error.kind() {
            ErrorKind::UnknownArgument => {
                let name = argument.split('=').next().unwrap_or_default();
                // What is named may be the beginning alone, `-0` of `-0.5`.
                let words = args.iter().filter_map(|arg| arg.to_str());
                let below =
                    |word: &&str| word.starts_with(name) && word.parse::<f64>().is_ok_and(|n| n < 0.0);
                if let Some(number) = words.filter(|_| name.starts_with('-')).find(below) {
                    return Self::user(format!("`{number}` is below zero, which no flag takes"), help);
                }
                let what = if argument.starts_with('-') { "unknown flag" } else { "unexpected argument" };
                let meant = suggest::hint(name, known.flags.iter().map(String::as_str));
                Self::user(format!("{what} `{argument}`{meant}"), help)
            }
            ErrorKind::InvalidSubcommand => {
                let name = text(ContextKind::InvalidSubcommand).unwrap_or_default();
                if name.trim().is_empty() {
                    return Self::user(
                        "the goal is empty",
                        "say what is to be done: holon \"Mend the date parser\"",
                    );
                }
                let meant = suggest::hint(&name, known.commands.iter().map(String::as_str));
                // Several words without quotes are most likely a goal.
                let words: Vec<&str> = args.iter().skip(1).filter_map(|arg| arg.to_str()).collect();
                let goal =
                    words.len() > 1 && words[0] == name && words.iter().all(|word| !word.starts_with('-'));
                let hint = match goal && meant.is_empty() {
                    true => format!("for a goal, put it in quotes: holon \"{}\"", words.join(" ")),
                    false => "`holon --help` lists the commands; a goal is several words, or follows `holon run --goal`"
                        .to_owned(),
                };
                Self::user(format!("unknown command `{name}`{meant}"), hint)
            }
            ErrorKind::InvalidValue if value.is_empty() => {
                Self::user(format!("`{argument}` needs a value"), help)
            }
            ErrorKind::InvalidValue => {
                let valid = text(ContextKind::ValidValue).unwrap_or_default();
                let meant = suggest::hint(&value, valid.split(", "));
                Self::user(
                    format!("`{value}` is no value for `{argument}`{meant}"),
                    format!("the values are: {valid}"),
                )
            }
            ErrorKind::ValueValidation => {
                let why = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
                // The standard library's words for numbers speak of digits and types.
                let why = match why.as_str() {
                    "invalid digit found in string" => format!("`{value}` is not a whole number"),
                    text if text.starts_with("number too ") => format!("`{value}` is too large"),
                    _ => why,
                };
                Self::user(format!("{argument}: {why}"), help)
            }
            ErrorKind::ArgumentConflict => {
                let other = text(ContextKind::PriorArg).unwrap_or_default();
                let message = if other.is_empty() || other == argument {
                    format!("`{argument}` is given more than once")
                } else {
                    format!("`{argument}` cannot be used together with `{other}`")
                };
                Self::user(message, "leave one of them out")
            }
            ErrorKind::MissingRequiredArgument => Self::user(format!("{argument} is missing"), help),
            _ => {
                let text = error.to_string();
                let line = text.lines().next().unwrap_or_default();
                Self::user(line.strip_prefix("error: ").unwrap_or(line), help)
            }
        }
    }
}

/// Names that could have been meant: those of the command that was reached.
struct KnownNames {
    flags: Vec<String>,
    commands: Vec<String>,
}

impl KnownNames {
    fn at(args: &[OsString], definition: &clap::Command) -> Self {
        let mut command = definition;
        for arg in args.iter().skip(1).filter_map(|arg| arg.to_str()) {
            match command.find_subcommand(arg) {
                Some(next) => command = next,
                None if arg.starts_with('-') => {}
                None => break,
            }
        }
        let own = command.get_arguments().chain(definition.get_arguments().filter(|arg| arg.is_global_set()));
        Self {
            flags: own
                .filter(|arg| !arg.is_hide_set())
                .filter_map(|arg| arg.get_long().map(|long| format!("--{long}")))
                .collect(),
            commands: command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect(),
        }
    }
}

impl fmt::Display for CliFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// A panic prints one plain line instead of a backtrace.
pub(crate) fn plain_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|l| format!(" at {}:{}", l.file(), l.line())).unwrap_or_default();
        let what = info.payload_as_str().unwrap_or("it gave no reason");
        let terminal = Terminal::plain();
        terminal.say(&format!("error: Holon has a bug{place}: {}", visible(what)));
        terminal.say("hint: please report this line with the command you ran");
    }));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used)]
    use super::*;

    #[test]
    fn what_was_meant_is_guessed_from_the_words() {
        let check = |line: &str, message: &str, hint: &str| {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let definition = crate::cli::definition();
            let error = definition.clone().try_get_matches_from(&args).expect_err(line);
            let told = CliFailure::usage(&error, &args, &definition);
            assert!(told.message.contains(message), "{line}: {}", told.message);
            assert!(told.hint.as_deref().unwrap_or_default().contains(hint), "{line}: {:?}", told.hint);
        };
        check("holon mend it", "unknown command `mend`", "in quotes: holon \"mend it\"");
        check("holon runs gc --keep x", "--keep <N>: `x` is not a whole number", "--help");
        check(
            "holon runs list --limit 99999999999999999999",
            "`99999999999999999999` is too large",
            "--help",
        );
        check("holon mend", "unknown command `mend`", "lists the commands");
        check("holon rum --goal x", "did you mean `run`?", "lists the commands");
        check("holon run --timeout -5", "`-5` is below zero", "--help");
        check("holon run --max-cost -0.5", "`-0.5` is below zero", "--help");
        check("holon run --gaol x", "did you mean `--goal`?", "--help");
    }

    #[test]
    fn usage_is_told_apart_by_its_exit_code() {
        assert_eq!(CliFailure::user("x", "y").exit_code(), 64);
        assert_eq!(CliFailure::config("x").exit_code(), 1);
        assert_eq!(CliFailure::internal("x").exit_code(), 1);
        assert_eq!(CliFailure::from(HostError::usage("x", "y")).exit_code(), 64);
        assert_eq!(CliFailure::from(HostError::run("x", "y")).exit_code(), 1);
    }
}
