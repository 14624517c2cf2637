//! How a program wants to be called without a person, as its own help tells.

/// A guess at an agent's arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallForm {
    /// The arguments; `{prompt}` stands for the task.
    pub args: Vec<String>,
    /// Whether it speaks the Agent Client Protocol when called like that.
    pub acp: bool,
    /// What in its help says so.
    pub why: String,
}

/// Options that take the task, the surest first.
const TASK_OPTIONS: [&str; 6] = ["--prompt", "--task", "--message", "--text", "--query", "--instruction"];
/// Commands that do a task and end.
const TASK_COMMANDS: [&str; 2] = ["exec", "run"];
/// Options that keep an agent from asking leave; the walls decide what it may.
const ASKS_NOTHING: [&str; 7] = [
    "--yolo",
    "--yes-always",
    "--dangerously-skip-permissions",
    "--allow-all-tools",
    "--auto-approve",
    "--always-approve",
    "--yes",
];
/// What the agent is told: the rules of the run, then the task.
const TASK: &str = "{system}\n\n{prompt}";

impl CallForm {
    /// From the text that a program prints about itself.
    pub fn of_help(help: &str) -> Self {
        if let Some(word) = acp_word(help) {
            return Self { args: vec![word.clone()], acp: true, why: format!("its help names `{word}`") };
        }
        let leave = ASKS_NOTHING.iter().find(|option| has_option(help, option));
        let mut args: Vec<String> = leave.into_iter().map(|option| (*option).to_owned()).collect();
        let headless = has_option(help, "--headless").then(|| "--headless".to_owned());
        args.extend(headless);
        let mut reasons: Vec<String> = args.iter().map(|arg| format!("`{arg}`")).collect();
        // `-p` alone prints an answer and ends; with a value it is a task's option.
        let print = ["--print", "--non-interactive"].iter().find(|option| has_option(help, option));
        if let Some(option) = TASK_OPTIONS.iter().find(|option| takes_value(help, option)) {
            reasons.push(format!("`{option}`"));
            args.extend([(*option).to_owned(), TASK.to_owned()]);
        } else if let Some(command) = TASK_COMMANDS.iter().find(|command| has_command(help, command)) {
            reasons.push(format!("`{command}`"));
            args = vec![(*command).to_owned(), TASK.to_owned()];
        } else {
            if let Some(option) = print {
                reasons.push(format!("`{option}`"));
                args.push((*option).to_owned());
            }
            args.push(TASK.to_owned());
        }
        let why = match reasons.is_empty() {
            true => "its help names nothing that is known; the task is its only argument".to_owned(),
            false => format!("its help names {}", reasons.join(", ")),
        };
        Self { args, acp: false, why }
    }

    /// As somebody says it is.
    pub fn given(args: &[String]) -> Self {
        let acp = args.iter().any(|arg| matches!(arg.as_str(), "acp" | "--acp"));
        Self { args: args.to_vec(), acp, why: "as you said".into() }
    }
}

fn acp_word(help: &str) -> Option<String> {
    let option = ["--acp", "--experimental-acp"].into_iter().find(|option| has_option(help, option));
    option.or_else(|| has_command(help, "acp").then_some("acp")).map(str::to_owned)
}

/// Whether a line of the help begins with an option, or with its short form and then it.
fn has_option(help: &str, option: &str) -> bool {
    option_line(help, option).is_some()
}

/// The rest of the line behind an option.
fn option_line<'a>(help: &'a str, option: &str) -> Option<&'a str> {
    help.lines().map(str::trim_start).filter(|line| line.starts_with('-')).find_map(|line| {
        let at = line.find(option)?;
        let rest = &line[at + option.len()..];
        // Descriptions of other options may speak of it.
        let head = line[..at].trim_end().trim_end_matches([',', '|', '/']).trim_end();
        let short = head.is_empty() || (head.starts_with('-') && !head.contains("  "));
        let whole = !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
        (short && whole).then_some(rest)
    })
}

/// Whether an option is followed by the name of a value, as in `--task TEXT`, `--task <text>`, `--task=TEXT` or `[string]`.
fn takes_value(help: &str, option: &str) -> bool {
    option_line(help, option).is_some_and(|rest| {
        let value = rest.trim_start_matches(',').trim_start_matches(' ');
        let near = rest.len() - value.len() <= 1;
        let named =
            value.starts_with(['<', '=', '[']) || value.split([' ', ',']).next().is_some_and(is_placeholder);
        (near && named) || rest.contains("[string]")
    })
}

fn is_placeholder(word: &str) -> bool {
    word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}

/// Whether the help lists a command: an indented line whose first word it is, alone or behind the program's name, as in
/// `tool run [message..]  run with a message`.
fn has_command(help: &str, command: &str) -> bool {
    help.lines().filter(|line| line.starts_with([' ', '\t'])).any(|line| {
        let line = line.trim();
        let mut words = line.split(' ');
        let first = words.next().unwrap_or_default();
        let listed = first.trim_end_matches([',', ':']) == command && line.len() > command.len();
        listed || (words.next() == Some(command) && line.contains("  ") && !first.starts_with('-'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(help: &str) -> String {
        let form = CallForm::of_help(help);
        form.args.join(" ").replace(TASK, "TASK")
    }

    #[test]
    fn help_texts_tell_how_an_agent_is_called() {
        for (help, wanted) in [
            (
                "Usage: a [options]\n  -p, --prompt <text>  the task\n  --yolo  ask nothing",
                "--yolo --prompt TASK",
            ),
            (
                "usage: mini [-h]\n  -t TASK, --task TASK  what to do\n  -y, --yes  ask nothing",
                "--yes --task TASK",
            ),
            (
                "usage: aider [-h]\n  --message COMMAND, -m COMMAND\n  --yes-always  say yes",
                "--yes-always --message TASK",
            ),
            ("Options:\n  -p, --print   print and exit\n  -h, --help", "--print TASK"),
            ("Options:\n  --prompt   a flag of another kind\n", "TASK"),
            ("Commands:\n  exec  Run non-interactively\n  login  Log in", "exec TASK"),
            ("Commands:\n  tool run [message..]  run with a message\n", "run TASK"),
            ("Options:\n  --acp  speak the protocol\n  --prompt <x>", "--acp"),
            ("Commands:\n  acp   Start as an agent of an editor\n", "acp"),
            ("  --headless  no screen\n  -t, --task TASK  what", "--headless --task TASK"),
            ("  --model NAME   as with --prompt <x>", "TASK"),
            ("", "TASK"),
        ] {
            assert_eq!(args(help), wanted, "{help}");
        }
        assert!(CallForm::of_help("  --acp  x").acp && !CallForm::of_help("").acp);
        let given = CallForm::given(&["--acp".to_owned(), "-v".to_owned()]);
        assert!(given.acp && given.args == ["--acp", "-v"]);
    }
}
