//! `holon AGENT`: the shortest way to an agent's own screen.

use std::ffi::OsString;

use clap::Subcommand;
use holon_host::adapter;

use crate::cli::CliCommand;
use crate::session::Session;

/// What an agent's name alone stands for.
const SCREEN: [&str; 3] = ["run", "--interactive", "--agent"];

/// The name of an agent in place of a command becomes its screen, and a goal behind it is what it begins with. Commands come
/// first: nobody takes their names.
pub(crate) fn screen_of(args: Vec<OsString>, session: &Session) -> Vec<OsString> {
    let is_word = |at: &usize| !is_flag(&args[*at]) && args[at - 1] != "--log-format";
    let Some(at) = (1..args.len()).find(is_word) else { return args };
    let Some(name) = args[at].to_str().filter(|name| !CliCommand::has_subcommand(name)) else { return args };
    let places = session.places().ok();
    let known = places.and_then(|places| adapter::list(&places, None).ok());
    let has_screen = known.is_some_and(|known| known.named(name).is_some_and(|agent| agent.find.is_some()));
    if has_screen { spelled_out(args, at) } else { args }
}

fn is_flag(arg: &OsString) -> bool {
    arg.to_string_lossy().starts_with('-')
}

fn spelled_out(mut args: Vec<OsString>, at: usize) -> Vec<OsString> {
    let goal = args.get(at + 1).is_some_and(|next| !is_flag(next) && !next.is_empty());
    if goal {
        args.insert(at + 1, "--goal".into());
    }
    args.splice(at..at, SCREEN.map(OsString::from));
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_its_screen_and_what_follows_is_its_goal_or_its_flags() {
        let check = |args: &[&str], expected: &[&str]| {
            let args = spelled_out(args.iter().map(OsString::from).collect(), 1);
            assert_eq!(args, expected.iter().map(OsString::from).collect::<Vec<_>>());
        };
        check(&["holon", "codex"], &["holon", "run", "--interactive", "--agent", "codex"]);
        check(
            &["holon", "codex", "--mode", "plan"],
            &["holon", "run", "--interactive", "--agent", "codex", "--mode", "plan"],
        );
        check(
            &["holon", "codex", "Mend it", "--mode", "plan"],
            &["holon", "run", "--interactive", "--agent", "codex", "--goal", "Mend it", "--mode", "plan"],
        );
    }
}
