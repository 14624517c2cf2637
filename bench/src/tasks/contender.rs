//! Whoever takes part: Holon's own agent at a level of supervision, or another one as `task_agents.toml` says.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::task::{MeasuredTask, TaskKind};
use crate::agents::{self, FOLDER};
use crate::holon_run::hermetic;
use crate::{BenchFailure, command};

/// The levels of supervision Holon's own agent is measured at unless others are chosen.
pub(crate) const LEVELS: [&str; 2] = ["off", "adaptive"];
/// All there are.
const ALL_LEVELS: [&str; 4] = ["off", "advise", "adaptive", "strict"];
const HOLON: &str = "holon";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskAgentsFile {
    agent: Vec<TaskAgent>,
}

/// Another agent.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskAgent {
    name: String,
    program: String,
    /// What would install it.
    package: String,
    #[serde(default)]
    change: Vec<String>,
    #[serde(default)]
    answer: Vec<String>,
    #[serde(default)]
    variables: BTreeMap<String, String>,
    /// Files below its home.
    #[serde(default)]
    files: BTreeMap<String, String>,
}

fn known() -> Result<Vec<TaskAgent>, BenchFailure> {
    let text = include_str!("../../task_agents.toml");
    let file: TaskAgentsFile = toml::from_str(text).map_err(|e| format!("task_agents.toml: {e}"))?;
    Ok(file.agent)
}

/// One that takes part.
#[derive(Debug, Clone)]
pub(crate) enum TaskContender {
    Holon { program: PathBuf, level: String },
    Other { agent: Box<TaskAgent>, program: PathBuf },
}

/// One run of a contender.
pub(crate) struct ContenderRun<'a> {
    pub(crate) task: &'a MeasuredTask,
    pub(crate) base: &'a str,
    pub(crate) model: &'a str,
    pub(crate) workspace: &'a Path,
    pub(crate) home: &'a Path,
    /// Where Holon delivers.
    pub(crate) out: &'a Path,
}

/// Who takes part, and who of those that were asked for cannot, with the reason.
pub(crate) fn gather(
    holon: &Path,
    levels: &[String],
    chosen: &[String],
) -> Result<(Vec<TaskContender>, Vec<String>), BenchFailure> {
    for level in levels {
        if !ALL_LEVELS.contains(&level.as_str()) {
            return Err(format!("unknown level {level}; there are {}", ALL_LEVELS.join(", ")));
        }
    }
    let known = known()?;
    let names: Vec<String> = levels.iter().map(|level| format!("{HOLON}-{level}")).collect();
    let named = |name: &str| {
        name == HOLON || names.iter().any(|own| own == name) || known.iter().any(|agent| agent.name == name)
    };
    if let Some(unknown) = chosen.iter().find(|name| !named(name)) {
        let others: Vec<&str> = known.iter().map(|agent| agent.name.as_str()).collect();
        return Err(format!(
            "unknown agent {unknown}; there are holon, {}, {}",
            names.join(", "),
            others.join(", ")
        ));
    }
    let wanted = |name: &str| chosen.is_empty() || chosen.iter().any(|own| own == name);
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for (level, name) in levels.iter().zip(&names) {
        if wanted(HOLON) || wanted(name) {
            found.push(TaskContender::Holon { program: holon.to_owned(), level: level.clone() });
        }
    }
    for agent in known.into_iter().filter(|agent| wanted(&agent.name)) {
        match agent.find() {
            Ok(program) => found.push(TaskContender::Other { agent: Box::new(agent), program }),
            Err(why) => missing.push(format!("{}: {why}", agent.name)),
        }
    }
    Ok((found, missing))
}

impl TaskContender {
    /// As it is shown and recorded.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Holon { level, .. } => format!("{HOLON}-{level}"),
            Self::Other { agent, .. } => agent.name.clone(),
        }
    }

    /// Whether it delivers a patch instead of changing the folder.
    pub(crate) fn delivers(&self) -> bool {
        matches!(self, Self::Holon { .. })
    }

    /// Whether it takes tasks of this kind.
    pub(crate) fn takes(&self, kind: TaskKind) -> bool {
        match self {
            Self::Holon { .. } => true,
            Self::Other { agent, .. } => !agent.arguments(kind).is_empty(),
        }
    }

    /// The command of one run; writes what it needs into its home.
    pub(crate) fn command(&self, turn: &ContenderRun<'_>) -> Result<Command, BenchFailure> {
        match self {
            Self::Holon { program, level } => Ok(holon(program, level, turn)),
            Self::Other { agent, program } => agent.command(program, turn),
        }
    }
}

fn holon(program: &Path, level: &str, turn: &ContenderRun<'_>) -> Command {
    let task = turn.task;
    let mut command = Command::new(program);
    hermetic(&mut command, turn.home);
    match task.kind {
        // A question has a command of its own, which prints the answer and takes its level from the settings.
        TaskKind::Ask => {
            command.args(["ask", "--quiet", "--whole"]).arg(&task.goal).env("HOLON_SUPERVISOR__LEVEL", level);
        }
        kind => {
            let mode = if kind == TaskKind::Change { "execute" } else { kind.name() };
            command.args(["run", "--agent", "native", "--mode", mode, "--supervisor", level, "--quiet"]);
            command.args(["--goal", &task.goal, "--no-auto-checks"]).arg("--out").arg(turn.out);
        }
    }
    if task.kind == TaskKind::Change {
        command.args(["--check", &task.check]);
    }
    command.arg("--workspace").arg(turn.workspace);
    command.env("HOLON_BASE_URL", turn.base).env("HOLON_PROVIDER", "bench").env("HOLON_MODEL", turn.model);
    command.env("HOLON_API_KEY", "bench-key-of-nobody");
    command
}

/// What is said to agents that have no modes of their own; the same to each.
fn prompt(task: &MeasuredTask) -> String {
    let goal = &task.goal;
    match task.kind {
        TaskKind::Change => {
            format!(
                "{goal}\n\nThe command `{}` fails now and must pass. Do not change the tests.",
                task.check
            )
        }
        TaskKind::Plan => format!("{goal}\n\nYour last message is the plan; name the files it touches."),
        TaskKind::Review => format!(
            "{goal}\n\nThe change is what `git diff` shows. Change nothing. Write each finding on a line of its own, as \
             path:line: what is wrong."
        ),
        TaskKind::Ask => format!("{goal}\n\nChange nothing. Answer in a few sentences."),
    }
}

impl TaskAgent {
    fn find(&self) -> Result<PathBuf, BenchFailure> {
        let folder = std::env::var_os(FOLDER).map(PathBuf::from);
        let found = folder.as_deref().and_then(|folder| agents::below(folder, &self.program));
        found.or_else(|| command::find(&self.program)).ok_or_else(|| {
            format!(
                "not installed: no `{}` on the PATH or in the folder that {FOLDER} names; it is in {}",
                self.program, self.package
            )
        })
    }

    fn arguments(&self, kind: TaskKind) -> &[String] {
        if kind == TaskKind::Change { &self.change } else { &self.answer }
    }

    fn command(&self, program: &Path, turn: &ContenderRun<'_>) -> Result<Command, BenchFailure> {
        let prompt = prompt(turn.task);
        let fill = |text: &str| {
            text.replace("{base}", turn.base)
                .replace("{root}", turn.base.trim_end_matches("/v1"))
                .replace("{model}", turn.model)
                .replace("{home}", &turn.home.to_string_lossy())
                .replace("{workspace}", &turn.workspace.to_string_lossy())
                .replace("{check}", &turn.task.check)
                .replace("{goal}", &prompt)
        };
        for (name, content) in &self.files {
            let path = turn.home.join(name);
            fs::create_dir_all(path.parent().unwrap_or(turn.home))
                .and_then(|()| fs::write(&path, fill(content)))
                .map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        }
        let mut command = Command::new(program);
        for argument in self.arguments(turn.task.kind) {
            if argument == "{files}" {
                command.args(&turn.task.sources);
            } else {
                command.arg(fill(argument));
            }
        }
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", turn.home);
        command.envs(self.variables.iter().map(|(name, value)| (name, fill(value))));
        command.current_dir(turn.workspace);
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::task;
    use super::*;

    #[test]
    fn agents_are_chosen_by_name() {
        let levels = LEVELS.map(str::to_owned);
        let names = |chosen: &[&str]| {
            let chosen: Vec<String> = chosen.iter().map(|name| (*name).to_owned()).collect();
            let (found, missing) = gather(Path::new("/bin/holon"), &levels, &chosen)?;
            Ok::<_, BenchFailure>((found.iter().map(TaskContender::name).collect::<Vec<_>>(), missing.len()))
        };
        assert_eq!(
            names(&["holon"]).unwrap(),
            (vec!["holon-off".to_owned(), "holon-adaptive".to_owned()], 0)
        );
        assert_eq!(names(&["holon-adaptive"]).unwrap().0, ["holon-adaptive"]);
        assert!(names(&["hal"]).unwrap_err().contains("aider"));
        let (all, missing) = names(&[]).unwrap();
        assert_eq!(all.len() + missing, 2 + known().unwrap().len());
        assert!(gather(Path::new("/x"), &["wild".to_owned()], &[]).unwrap_err().contains("strict"));
    }

    #[test]
    fn commands_name_the_task_and_the_endpoint() {
        let home = tempfile::tempdir().unwrap();
        let tasks = task::own();
        let of = |kind: TaskKind| tasks.iter().find(|task| task.kind == kind).unwrap();
        for agent in known().unwrap() {
            for kind in [TaskKind::Change, TaskKind::Plan, TaskKind::Review, TaskKind::Ask] {
                let (task, place) = (of(kind), home.path());
                let base = "http://127.0.0.1:9/v1";
                let turn =
                    ContenderRun { task, base, model: "small", workspace: place, home: place, out: place };
                let contender =
                    TaskContender::Other { agent: Box::new(agent.clone()), program: "/bin/x".into() };
                assert!(contender.takes(kind) && !contender.delivers());
                let command = contender.command(&turn).unwrap();
                let said = format!("{command:?}");
                assert!(said.contains(task.goal.split('"').next().unwrap()), "{said}");
                for open in ["{goal}", "{base}", "{model}", "{home}", "{files}", "{check}", "{root}"] {
                    assert!(!said.contains(open), "{said}");
                }
            }
        }
        let holon = TaskContender::Holon { program: "/bin/holon".into(), level: "strict".to_owned() };
        let (task, place) = (of(TaskKind::Review), home.path());
        let turn =
            ContenderRun { task, base: "http://b/v1", model: "m", workspace: place, home: place, out: place };
        let said = format!("{:?}", holon.command(&turn).unwrap());
        assert!(
            said.contains("\"review\"") && said.contains("\"strict\"") && holon.name() == "holon-strict",
            "{said}"
        );
    }
}
