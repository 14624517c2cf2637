//! The commands of a prompt: a slash, a word, and what belongs to it.

use holon_core::suggest;

use super::ChatMode;

/// For Tab and for those who mistype.
pub(super) const WORDS: &[&str] =
    &["/apply", "/diff", "/help", "/mode", "/new", "/quit", "/threads", "/tools", "/undo", "~supervisor"];

/// What `/help` says.
pub(super) const HELP: &str = "\
/diff               what the thread changed and did not apply yet
/apply              bring that into the folder, all or nothing (--allow-sensitive: files that steer tools, too)
/undo [TURN]        take back the last turn, or everything from a turn on
/mode [plan|build]  the other mode, or this one; Shift+Tab does the same
/tools [NAME VERDICT]  what single tools may do in this thread: allow, ask, deny, or - for what the mode says
/threads [ID]       the threads about this folder, or go to one
/new                begin a new thread
/quit               leave; so do Ctrl-D and Ctrl-C at an empty prompt
~supervisor         the supervisor's report; no model is asked
//text              say something that begins with a slash
Alt+Enter begins a new line, the arrows find former messages, Ctrl-C stops a turn.";

/// What a line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SlashCommand {
    /// Words for the agent.
    Say(String),
    Diff,
    Apply {
        allow_sensitive: bool,
    },
    Undo(Option<u64>),
    /// The other mode when none is named.
    Mode(Option<ChatMode>),
    /// Nothing to change: show the table. A verdict of `-` takes an entry away.
    Tools(Option<(String, String)>),
    /// All of them, or the one to go to.
    Threads(Option<String>),
    New,
    Help,
    Quit,
    /// Not understood, and why.
    Wrong(String),
}

/// Reads a line.
pub(super) fn order(line: &str) -> SlashCommand {
    let line = line.trim();
    let Some(command) = line.strip_prefix('/') else { return SlashCommand::Say(line.to_owned()) };
    if command.starts_with('/') {
        return SlashCommand::Say(command.to_owned());
    }
    let words: Vec<&str> = command.split_whitespace().collect();
    match words[..] {
        ["diff"] => SlashCommand::Diff,
        ["apply"] => SlashCommand::Apply { allow_sensitive: false },
        ["apply", "--allow-sensitive"] => SlashCommand::Apply { allow_sensitive: true },
        ["undo"] => SlashCommand::Undo(None),
        ["undo", turn] => match turn.parse() {
            Ok(turn) if turn > 0 => SlashCommand::Undo(Some(turn)),
            _ => SlashCommand::Wrong(format!(
                "`{turn}` is no turn: `/undo 2` goes back to before the second one"
            )),
        },
        ["mode"] => SlashCommand::Mode(None),
        ["mode", name] => match ChatMode::named(name) {
            Some(mode) => SlashCommand::Mode(Some(mode)),
            None => SlashCommand::Wrong(format!("`{name}` is no mode of a chat: use plan or build")),
        },
        ["tools"] => SlashCommand::Tools(None),
        ["tools", name, verdict @ ("allow" | "ask" | "deny" | "-")] => {
            SlashCommand::Tools(Some((name.to_owned(), verdict.to_owned())))
        }
        ["tools", ..] => SlashCommand::Wrong("say `/tools NAME allow|ask|deny|-`".to_owned()),
        ["threads"] => SlashCommand::Threads(None),
        ["threads", id] => SlashCommand::Threads(Some(id.to_owned())),
        ["new"] => SlashCommand::New,
        ["help"] | [] => SlashCommand::Help,
        ["quit"] | ["exit"] => SlashCommand::Quit,
        [name, ..] => {
            let typed = format!("/{name}");
            let meant = suggest::hint(&typed, WORDS.iter().copied());
            SlashCommand::Wrong(format!("there is no command `{typed}` like that{meant}; /help lists them"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_understood() {
        let check = |line: &str, expect: SlashCommand| assert_eq!(order(line), expect, "{line}");
        check(" fix it ", SlashCommand::Say("fix it".into()));
        check("~supervisor", SlashCommand::Say("~supervisor".into()));
        check("//usr/bin is full", SlashCommand::Say("/usr/bin is full".into()));
        check("/apply --allow-sensitive", SlashCommand::Apply { allow_sensitive: true });
        check("/undo 3", SlashCommand::Undo(Some(3)));
        check("/mode plan", SlashCommand::Mode(Some(ChatMode::Plan)));
        check("/tools execute ask", SlashCommand::Tools(Some(("execute".into(), "ask".into()))));
        check("/", SlashCommand::Help);
        for wrong in
            ["/undo x", "/mode ask", "/tools execute", "/tools execute sometimes", "/aply", "/diff x"]
        {
            assert!(matches!(order(wrong), SlashCommand::Wrong(_)), "{wrong}");
        }
        assert!(matches!(order("/aply"), SlashCommand::Wrong(words) if words.contains("/apply")));
    }
}
