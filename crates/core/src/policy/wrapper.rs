//! Sees through programs that run other programs: `env`, `timeout`, `sh -c`, `xargs`, `find -exec` …

use super::shell::{ShellWord, SimpleCommand, split};

const MAX_DEPTH: usize = 8;

/// A command that would really run, with the wrappers it was found in.
pub(super) struct UnwrappedCommand {
    /// The outer commands, as written; a deny may name them.
    pub(super) shells: Vec<SimpleCommand>,
    /// The command itself.
    pub(super) command: SimpleCommand,
}

/// Replaces each wrapper by what it runs; an error says why that cannot be known.
pub(super) fn unwrap_all(commands: Vec<SimpleCommand>) -> Result<Vec<UnwrappedCommand>, String> {
    let mut out = Vec::new();
    for command in commands {
        unwrap_into(command, Vec::new(), 0, &mut out)?;
    }
    Ok(out)
}

/// What a command turns out to be.
enum InnerCommand {
    /// Nothing but itself.
    Itself,
    /// Another command; the flag says whether the outer one counts as a command of its own too.
    Command(SimpleCommand, bool),
    /// A line for a shell.
    Line(String),
}

fn unwrap_into(
    command: SimpleCommand,
    shells: Vec<SimpleCommand>,
    depth: usize,
    out: &mut Vec<UnwrappedCommand>,
) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err("commands are wrapped too deeply".to_owned());
    }
    match look_inside(&command)? {
        InnerCommand::Itself => out.push(UnwrappedCommand { shells, command }),
        InnerCommand::Command(inner, too) => {
            let mut shells = shells;
            if too {
                out.push(UnwrappedCommand { shells: shells.clone(), command: command.clone() });
            }
            shells.push(command);
            unwrap_into(inner, shells, depth + 1, out)?;
        }
        InnerCommand::Line(line) => {
            let mut shells = shells;
            shells.push(command);
            let inner = split(&line).map_err(|e| e.to_string())?;
            if inner.is_empty() {
                out.push(UnwrappedCommand { shells: shells.clone(), command: SimpleCommand::default() });
            }
            for command in inner {
                unwrap_into(command, shells.clone(), depth + 1, out)?;
            }
        }
    }
    Ok(())
}

fn look_inside(command: &SimpleCommand) -> Result<InnerCommand, String> {
    let Some(ShellWord::Literal(program)) = command.words.first() else { return Ok(InnerCommand::Itself) };
    let name = program.rsplit('/').next().unwrap_or(program);
    let rest = &command.words[1..];
    match name {
        "env" => behind_env(command, rest),
        "sh" | "bash" | "dash" | "ash" | "zsh" | "ksh" | "mksh" => behind_shell(name, rest),
        "busybox" | "toybox" if !rest.is_empty() => {
            Ok(InnerCommand::Command(with_words(command, rest.to_vec()), false))
        }
        "eval" => all_text(rest).map(|line| InnerCommand::Line(line.join(" "))).ok_or_else(|| unknown(name)),
        "watch" | "trap" => match rest.iter().find(|w| !is_option(w)) {
            Some(ShellWord::Literal(line)) => Ok(InnerCommand::Line(line.clone())),
            Some(ShellWord::Dynamic) => Err(unknown(name)),
            None => Ok(InnerCommand::Itself),
        },
        "command" | "builtin" => match rest.first().and_then(ShellWord::text) {
            Some("-v" | "-V") => Ok(InnerCommand::Itself),
            _ => behind_options(command, name, rest, &[], 0),
        },
        "exec" => behind_options(command, name, rest, &["-a"], 0),
        "nohup" | "setsid" | "chronic" | "unbuffer" | "then" => behind_options(command, name, rest, &[], 0),
        "nice" => behind_options(command, name, rest, &["-n"], 0),
        "ionice" => behind_options(command, name, rest, &["-c", "-n", "-p"], 0),
        "stdbuf" => behind_options(command, name, rest, &["-i", "-o", "-e"], 0),
        "time" => behind_options(command, name, rest, &["-f", "-o"], 0),
        "timeout" => behind_options(command, name, rest, &["-s", "-k"], 1),
        "sudo" | "doas" => behind_options(
            command,
            name,
            rest,
            &["-u", "-g", "-h", "-p", "-C", "-r", "-t", "-U", "-D", "-R", "-T"],
            0,
        ),
        "xargs" => {
            let inner =
                behind_options(command, name, rest, &["-n", "-P", "-I", "-L", "-s", "-d", "-a", "-E"], 0)?;
            Ok(match inner {
                // The arguments come from its input.
                InnerCommand::Command(mut inner, too) => {
                    inner.words.push(ShellWord::Dynamic);
                    InnerCommand::Command(inner, too)
                }
                other => other,
            })
        }
        "find" | "fd" => behind_find(command, rest),
        "parallel" | "ssh" | "at" | "batch" => Err(format!("`{name}` runs commands that cannot be seen")),
        _ => Ok(InnerCommand::Itself),
    }
}

fn behind_env(command: &SimpleCommand, rest: &[ShellWord]) -> Result<InnerCommand, String> {
    let mut assignments = command.assignments.clone();
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        let ShellWord::Literal(text) = word else { return Err(unknown("env")) };
        match text.as_str() {
            "-" | "-i" | "-0" | "-v" | "--" | "--ignore-environment" | "--null" | "--debug" => {}
            "-u" | "-C" | "--unset" | "--chdir" => at += 1,
            t if t.starts_with("--unset=") || t.starts_with("--chdir=") => {}
            t if t.starts_with('-') => return Err(unknown("env")),
            t => match t.split_once('=') {
                Some((name, _)) => assignments.push(name.to_owned()),
                None => {
                    let words = rest[at..].to_vec();
                    return Ok(InnerCommand::Command(SimpleCommand { assignments, words }, false));
                }
            },
        }
        at += 1;
    }
    Ok(InnerCommand::Itself)
}

fn behind_shell(name: &str, rest: &[ShellWord]) -> Result<InnerCommand, String> {
    let mut line_next = false;
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        let ShellWord::Literal(text) = word else { return Err(unknown(name)) };
        match text.as_str() {
            "-o" | "-O" | "+o" | "+O" => at += 1,
            t if t.starts_with("--rcfile") || t.starts_with("--init-file") => return Err(unknown(name)),
            t if t.starts_with("--") && t.len() > 2 => {}
            "--" | "-" => {}
            t if t.starts_with(['-', '+']) => {
                if t.contains('s') {
                    return Err(format!("`{name}` reads commands that cannot be seen"));
                }
                line_next |= t.starts_with('-') && t.contains('c');
            }
            t if line_next => return Ok(InnerCommand::Line(t.to_owned())),
            _ => return Ok(InnerCommand::Itself),
        }
        at += 1;
    }
    Err(format!("`{name}` reads commands that cannot be seen"))
}

/// Skips options (those in `with_value` take the next word) and `operands` plain words; the rest is the command.
fn behind_options(
    command: &SimpleCommand,
    name: &str,
    rest: &[ShellWord],
    with_value: &[&str],
    operands: usize,
) -> Result<InnerCommand, String> {
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        let ShellWord::Literal(text) = word else { break };
        if text == "--" {
            at += 1;
            break;
        }
        if !text.starts_with('-') || text == "-" {
            break;
        }
        at += if with_value.contains(&text.as_str()) { 2 } else { 1 };
    }
    at += operands;
    match rest.get(at) {
        None => Ok(InnerCommand::Itself),
        Some(ShellWord::Dynamic) => Err(unknown(name)),
        Some(ShellWord::Literal(_)) => {
            Ok(InnerCommand::Command(with_words(command, rest[at..].to_vec()), false))
        }
    }
}

fn behind_find(command: &SimpleCommand, rest: &[ShellWord]) -> Result<InnerCommand, String> {
    const RUNS: [&str; 8] = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
    let runs = |w: &ShellWord| w.text().is_some_and(|t| RUNS.contains(&t));
    let Some(start) = rest.iter().position(runs) else { return Ok(InnerCommand::Itself) };
    let inner = &rest[start + 1..];
    let end = inner.iter().position(|w| matches!(w.text(), Some(";" | "+"))).unwrap_or(inner.len());
    if inner[end..].iter().any(runs) {
        return Err("`find` runs several commands".to_owned());
    }
    let words = inner[..end]
        .iter()
        .map(|w| if w.text() == Some("{}") { ShellWord::Dynamic } else { w.clone() })
        .collect();
    Ok(InnerCommand::Command(with_words(command, words), true))
}

/// Every form of a command with leading options (and perhaps their values) left out, as `git -C x push` is a push.
pub(super) fn without_leading_options(words: &[ShellWord]) -> Vec<Vec<ShellWord>> {
    let Some((program, rest)) = words.split_first() else { return Vec::new() };
    let mut reached = vec![false; rest.len() + 3];
    reached[0] = true;
    for (i, word) in rest.iter().enumerate() {
        if reached[i] && is_option(word) {
            reached[i + 1] = true;
            reached[i + 2] = true;
        }
    }
    (1..=rest.len())
        .filter(|i| reached[*i])
        .map(|i| std::iter::once(program.clone()).chain(rest[i..].iter().cloned()).collect())
        .collect()
}

fn is_option(word: &ShellWord) -> bool {
    word.text().is_some_and(|t| t.starts_with(['-', '+']))
}

fn with_words(outer: &SimpleCommand, words: Vec<ShellWord>) -> SimpleCommand {
    SimpleCommand { assignments: outer.assignments.clone(), words }
}

fn all_text(words: &[ShellWord]) -> Option<Vec<&str>> {
    words.iter().map(ShellWord::text).collect()
}

fn unknown(name: &str) -> String {
    format!("what `{name}` runs is only known when it runs")
}
