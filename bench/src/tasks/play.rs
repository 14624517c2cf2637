//! The tasks one after the other, each with all agents, so that whatever else the machine does hits all of them alike.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use holon_sandbox::snapshot::remove_tree;

use super::contender::{ContenderRun, TaskContender};
use super::endpoint::MeasuredEndpoint;
use super::grade;
use super::limited::{self, LimitedCommandEnd};
use super::outcome::TaskResult;
use super::proxy::{Proxy, ProxySource};
use super::recording::{self, ReplyPlayer};
use super::task::{MeasuredTask, TaskKind};
use super::workspace::{self, GradingHome, gist};
use crate::BenchFailure;

/// Where replies come from.
#[derive(Debug)]
pub(crate) enum RepliesFrom {
    /// An endpoint; what it says is written down below a folder when there is one.
    Asked { endpoint: MeasuredEndpoint, record: Option<PathBuf> },
    /// What was written down.
    Recorded(PathBuf),
}

/// The place where all of it happens.
#[derive(Debug)]
pub(crate) struct TaskRing {
    pub(crate) folder: PathBuf,
    pub(crate) model: String,
    pub(crate) replies: RepliesFrom,
    /// For one agent in one task.
    pub(crate) limit_seconds: u64,
}

/// Whether a task is solved, and what was seen.
struct TaskGrade {
    solved: bool,
    visible: Option<bool>,
    why: String,
}

impl TaskRing {
    /// Everybody in every task; and what has to be said about it.
    pub(crate) fn play(
        &self,
        tasks: &[MeasuredTask],
        contenders: &[TaskContender],
    ) -> Result<(Vec<TaskResult>, Vec<String>), BenchFailure> {
        let judge = GradingHome::new(&self.folder.join("judge"))?;
        let (mut outcomes, mut notes) = (Vec::new(), Vec::new());
        for (number, task) in tasks.iter().enumerate() {
            // Nobody always follows the same neighbour, which may have warmed the endpoint's cache.
            let first = number % contenders.len().max(1);
            let order = contenders[first..].iter().chain(&contenders[..first]);
            for contender in order.filter(|contender| contender.takes(task.kind)) {
                let source = match self.source(task, contender) {
                    Ok(source) => source,
                    Err(why) => {
                        notes.push(format!("{} with {}: {why}", task.name, contender.name()));
                        continue;
                    }
                };
                let outcome = self.turn(task, contender, source, &judge)?;
                println!("  {}", line(&outcome));
                outcomes.push(outcome);
            }
        }
        Ok((outcomes, notes))
    }

    fn source(&self, task: &MeasuredTask, contender: &TaskContender) -> Result<ProxySource, BenchFailure> {
        match &self.replies {
            RepliesFrom::Asked { endpoint, .. } => Ok(ProxySource::Endpoint(endpoint.clone())),
            RepliesFrom::Recorded(folder) => ReplyPlayer::open(folder, &task.name, &contender.name())
                .map(|player| ProxySource::Recording(Mutex::new(player))),
        }
    }

    fn turn(
        &self,
        task: &MeasuredTask,
        contender: &TaskContender,
        source: ProxySource,
        judge: &GradingHome,
    ) -> Result<TaskResult, BenchFailure> {
        let place = self.folder.join(format!("{}-{}", task.name, contender.name()));
        let [workspace, home, out] = ["workspace", "home", "out"].map(|name| place.join(name));
        fs::create_dir_all(&home).map_err(|e| format!("cannot make {}: {e}", home.display()))?;
        workspace::prepare(task, &workspace)?;
        let proxy = Proxy::start(source)?;
        let base = proxy.base();
        let turn = ContenderRun {
            task,
            base: &base,
            model: &self.model,
            workspace: &workspace,
            home: &home,
            out: &out,
        };
        let limit = Duration::from_secs(self.limit_seconds);
        let ended = contender.command(&turn).and_then(|mut command| limited::run(&mut command, limit));
        let (tally, exchanges) = proxy.settle();
        if let RepliesFrom::Asked { record: Some(folder), .. } = &self.replies {
            recording::keep(folder, &task.name, &contender.name(), &exchanges)?;
        }
        drop(proxy);
        let (exit, seconds) =
            ended.as_ref().map_or_else(|_| ("-".to_owned(), 0.0), |ended| (ended.word(), ended.seconds));
        let graded = match &ended {
            Ok(ended) => grade_run(task, contender, ended, &workspace, &out, judge),
            Err(failure) => Err(failure.clone()),
        };
        let graded = graded.unwrap_or_else(|why| TaskGrade { solved: false, visible: None, why });
        let why = match &ended {
            Ok(ended) if !graded.solved && !ended.good() => format!("{} ({})", graded.why, gist(ended)),
            _ => graded.why,
        };
        // Agents leave folders behind that even their owner must open first.
        let _ = remove_tree(&place);
        Ok(TaskResult {
            task: task.name.clone(),
            kind: task.kind,
            language: task.language.clone(),
            about: task.about.clone(),
            agent: contender.name(),
            solved: graded.solved,
            visible: graded.visible,
            exit,
            seconds,
            tally,
            why,
        })
    }
}

fn grade_run(
    task: &MeasuredTask,
    contender: &TaskContender,
    ended: &LimitedCommandEnd,
    workspace: &Path,
    out: &Path,
    judge: &GradingHome,
) -> Result<TaskGrade, BenchFailure> {
    let delivered = |name: &str| fs::read_to_string(out.join(name)).unwrap_or_default();
    if task.kind == TaskKind::Change {
        if contender.delivers() {
            let patch = out.join("diff.patch");
            if fs::metadata(&patch).map_or(0, |data| data.len()) == 0 {
                return Ok(TaskGrade { solved: false, visible: Some(false), why: "no patch".to_owned() });
            }
            workspace::apply(&patch, workspace)?;
        }
        let judged = judge.judge(task, workspace)?;
        let solved = judged.visible && judged.hidden;
        return Ok(TaskGrade { solved, visible: Some(judged.visible), why: judged.said });
    }
    let (answer, findings) = if contender.delivers() {
        let answer = ["plan.md", "summary.md"].map(delivered).join("\n") + "\n" + &ended.stdout;
        (answer, grade::findings_of_review(&delivered("review.json")))
    } else {
        (ended.stdout.clone(), grade::findings_of_prose(&ended.stdout))
    };
    let complaint = grade::complaint(task, &answer, &findings);
    Ok(TaskGrade { solved: complaint.is_none(), visible: None, why: complaint.unwrap_or_default() })
}

fn line(outcome: &TaskResult) -> String {
    let TaskResult { task, agent, solved, exit, seconds, tally, why, .. } = outcome;
    let word = if *solved { "solved" } else { "not solved" };
    let mut line = format!(
        "{task:<24} {agent:<16} {word:<10} exit {exit:<6} {seconds:>6.1} s  {:>3} calls  {:>7} + {} tokens",
        tally.calls, tally.prompt_tokens, tally.completion_tokens
    );
    if !why.is_empty() {
        line += &format!("  {why}");
    }
    line
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::PermissionsExt;

    use holon_model::cassette::{CassetteCall, CassetteStep, CassetteTurn};
    use holon_testkit::model::{ModelServer, ReceivedRequest, ScriptedResponse};
    use serde_json::json;

    use super::super::task;
    use super::*;
    use crate::scratch::BINARY;

    /// The binary that is named, else the one that was built beside this test.
    fn holon() -> Option<PathBuf> {
        let named = std::env::var_os(BINARY).map(PathBuf::from);
        let own = std::env::current_exe().ok()?;
        named.or_else(|| Some(own.parent()?.parent()?.join("holon"))).filter(|path| path.is_file())
    }

    /// Solves the two tasks of the test: by a call that writes a file, and by an answer.
    fn clever(seen: &ReceivedRequest) -> ScriptedResponse {
        let text = seen.body["messages"].to_string();
        let part = |task: &str, file: &str| {
            fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tasks").join(task).join(file))
                .unwrap()
        };
        if text.contains("idle session") {
            return ScriptedResponse::from(CassetteTurn::text(part("ask-session-timeout", "right.md")));
        }
        let call = |name: &str, arguments: serde_json::Value| {
            let call = CassetteCall {
                name: name.to_owned(),
                arguments: arguments.to_string(),
                ..CassetteCall::default()
            };
            ScriptedResponse::from(CassetteTurn {
                steps: vec![CassetteStep::Call(call)],
                ..CassetteTurn::default()
            })
        };
        if text.contains("\"role\":\"assistant\"") {
            return call("finish", json!({"summary": "The number of pages is rounded up now."}));
        }
        let content = part("python-pager", "solution/search/pager.py");
        call("write_file", json!({"path": "search/pager.py", "content": content}))
    }

    #[test]
    fn tasks_are_played_recorded_and_played_again() {
        let mut tasks = task::own();
        tasks.retain(|task| ["python-pager", "ask-session-timeout"].contains(&task.name.as_str()));
        let (Some(program), None) = (holon(), tasks.iter().find_map(MeasuredTask::lacks)) else {
            println!("SKIPPED: there is no holon binary or no python3 here");
            return;
        };
        let open = fs::Permissions::from_mode(0o755);
        let folder = tempfile::Builder::new().prefix("holon-bench-").permissions(open).tempdir().unwrap();
        let contenders = [TaskContender::Holon { program, level: "off".to_owned() }];
        let server = ModelServer::improvise(|_, seen| clever(seen));
        let endpoint = MeasuredEndpoint::new(&server.base(), None).unwrap();
        let record = folder.path().join("recorded");
        recording::begin(&record, "scripted-model").unwrap();
        let ring = |name: &str, replies| TaskRing {
            folder: folder.path().join(name),
            model: "scripted-model".to_owned(),
            replies,
            limit_seconds: 300,
        };
        let asked = ring("asked", RepliesFrom::Asked { endpoint, record: Some(record.clone()) });
        let (first, notes) = asked.play(&tasks, &contenders).unwrap();
        drop(server);
        assert_eq!((first.len(), notes.len()), (2, 0));
        assert!(first.iter().all(|outcome| outcome.solved), "{first:#?}");
        let (second, notes) = ring("again", RepliesFrom::Recorded(record)).play(&tasks, &contenders).unwrap();
        assert_eq!((second.len(), notes.len()), (2, 0));
        for (one, other) in first.iter().zip(&second) {
            assert!(other.solved && one.task == other.task, "{other:#?}");
            assert_eq!(one.tally.calls, other.tally.calls, "{other:#?}");
        }
        let nobody = ring("nobody", RepliesFrom::Recorded(folder.path().join("empty")));
        let (none, notes) = nobody.play(&tasks, &contenders).unwrap();
        assert!(none.is_empty() && notes.len() == 2 && notes[0].contains("no recording"), "{notes:?}");
    }
}
