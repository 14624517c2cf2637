//! The command line of `bench tasks`.

use std::ffi::OsString;
use std::path::PathBuf;

use super::contender::LEVELS;
use crate::BenchFailure;

/// Where the tasks are, from the root of the project.
const TASKS: &str = "bench/tasks";
/// For one agent in one task, unless another limit is given.
const LIMIT_SECONDS: u64 = 900;

/// What a person can choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskOptions {
    /// Check the tasks instead of playing them.
    pub(crate) selfcheck: bool,
    /// Only tasks whose name begins with one of these, or whose kind or language is one of them.
    pub(crate) only: Vec<String>,
    /// Only these agents.
    pub(crate) agents: Vec<String>,
    /// The levels of supervision for Holon's own.
    pub(crate) levels: Vec<String>,
    /// For the order of the tasks.
    pub(crate) seed: u64,
    pub(crate) limit_seconds: u64,
    pub(crate) record: Option<PathBuf>,
    pub(crate) replay: Option<PathBuf>,
    pub(crate) tasks: PathBuf,
}

impl Default for TaskOptions {
    fn default() -> Self {
        Self {
            selfcheck: false,
            only: Vec::new(),
            agents: Vec::new(),
            levels: LEVELS.map(str::to_owned).to_vec(),
            seed: 1,
            limit_seconds: LIMIT_SECONDS,
            record: None,
            replay: None,
            tasks: TASKS.into(),
        }
    }
}

/// The lines of the usage text.
pub(crate) const HELP: &str = "\
Tasks with a real model: cargo xtask bench tasks [OPTIONS]

  HOLON_TEST_MODEL_URL   The endpoint, such as http://127.0.0.1:8080/v1; nothing is played without it or --replay
  HOLON_TEST_MODEL       The model [default: the first the endpoint names]
  HOLON_TEST_MODEL_KEY   Its key, if it wants one
  --only LIST            Only tasks whose names begin so, or of these kinds or languages
  --agents LIST          Only these: holon, holon-off, aider, … [default: all that are installed]
  --levels LIST          Levels of supervision for Holon's own [default: off,adaptive]
  --seed N               Another order of the tasks [default: 1]
  --limit-seconds N      For one agent in one task [default: 900]
  --record FOLDER        Write the endpoint's replies down, per task and agent
  --replay FOLDER        Play replies that were written down instead of asking an endpoint
  --tasks FOLDER         Other tasks [default: bench/tasks]
  --selfcheck            Check the tasks themselves: each must fail as it is given, and pass as it is solved
";

/// Reads what follows `tasks`.
pub(crate) fn parse(arguments: &[OsString]) -> Result<TaskOptions, BenchFailure> {
    let mut options = TaskOptions::default();
    let mut rest = arguments.iter().map(|argument| argument.to_string_lossy().into_owned());
    while let Some(argument) = rest.next() {
        let mut value = |what: &str| rest.next().ok_or_else(|| format!("{argument} needs {what}"));
        let list =
            |text: String| text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let number = |text: String| {
            text.parse::<u64>().map_err(|_| format!("{argument} needs a number, not `{text}`"))
        };
        match argument.as_str() {
            "--selfcheck" => options.selfcheck = true,
            "--only" => options.only = list(value("names")?),
            "--agents" => options.agents = list(value("names")?),
            "--levels" => options.levels = list(value("levels")?),
            "--seed" => options.seed = number(value("a number")?)?,
            "--limit-seconds" => options.limit_seconds = number(value("a number")?)?.max(1),
            "--record" => options.record = Some(value("a folder")?.into()),
            "--replay" => options.replay = Some(value("a folder")?.into()),
            "--tasks" => options.tasks = value("a folder")?.into(),
            _ => return Err(format!("unknown argument {argument} of tasks")),
        }
    }
    if options.record.is_some() && options.replay.is_some() {
        return Err("--record and --replay exclude each other".to_owned());
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn options_are_read() {
        let parse = |words: &[&str]| super::parse(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(parse(&[]).unwrap(), TaskOptions::default());
        let options =
            parse(&["--only", "python,ask-", "--levels", "strict", "--seed", "9", "--replay", "r"]).unwrap();
        assert_eq!(options.only, ["python", "ask-"]);
        assert_eq!(
            (options.levels, options.seed, options.replay),
            (vec!["strict".to_owned()], 9, Some("r".into()))
        );
        for (words, part) in [
            (&["--seed"][..], "number"),
            (&["--seed", "x"], "`x`"),
            (&["--record", "a", "--replay", "b"], "exclude"),
            (&["--fast"], "--fast"),
        ] {
            let failure = parse(words).unwrap_err();
            assert!(failure.contains(part), "{failure}");
        }
    }
}
