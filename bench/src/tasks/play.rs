//! The tasks one after the other, each with all agents, so that whatever else the machine does hits all of them alike.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use holon_sandbox::snapshot::remove_tree;

use super::contender::{Contender, Turn};
use super::endpoint::Endpoint;
use super::grade;
use super::limited::{self, Ended};
use super::outcome::Outcome;
use super::proxy::{Proxy, Source};
use super::recording::{self, Player};
use super::task::{Kind, Task};
use super::workspace::{self, Judge, gist};
use crate::Failure;

/// Where replies come from.
#[derive(Debug)]
pub(crate) enum Replies {
    /// An endpoint; what it says is written down below a folder when there is one.
    Asked { endpoint: Endpoint, record: Option<PathBuf> },
    /// What was written down.
    Recorded(PathBuf),
}

/// The place where all of it happens.
#[derive(Debug)]
pub(crate) struct Ring {
    pub(crate) folder: PathBuf,
    pub(crate) model: String,
    pub(crate) replies: Replies,
    /// For one agent in one task.
    pub(crate) limit_seconds: u64,
}

/// Whether a task is solved, and what was seen.
struct Graded {
    solved: bool,
    visible: Option<bool>,
    why: String,
}

impl Ring {
    /// Everybody in every task; and what has to be said about it.
    pub(crate) fn play(
        &self,
        tasks: &[Task],
        contenders: &[Contender],
    ) -> Result<(Vec<Outcome>, Vec<String>), Failure> {
        let judge = Judge::new(&self.folder.join("judge"))?;
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

    fn source(&self, task: &Task, contender: &Contender) -> Result<Source, Failure> {
        match &self.replies {
            Replies::Asked { endpoint, .. } => Ok(Source::Endpoint(endpoint.clone())),
            Replies::Recorded(folder) => Player::open(folder, &task.name, &contender.name())
                .map(|player| Source::Recording(Mutex::new(player))),
        }
    }

    fn turn(
        &self,
        task: &Task,
        contender: &Contender,
        source: Source,
        judge: &Judge,
    ) -> Result<Outcome, Failure> {
        let place = self.folder.join(format!("{}-{}", task.name, contender.name()));
        let [workspace, home, out] = ["workspace", "home", "out"].map(|name| place.join(name));
        fs::create_dir_all(&home).map_err(|e| format!("cannot make {}: {e}", home.display()))?;
        workspace::prepare(task, &workspace)?;
        let proxy = Proxy::start(source)?;
        let base = proxy.base();
        let turn =
            Turn { task, base: &base, model: &self.model, workspace: &workspace, home: &home, out: &out };
        let limit = Duration::from_secs(self.limit_seconds);
        let ended = contender.command(&turn).and_then(|mut command| limited::run(&mut command, limit));
        let (tally, exchanges) = proxy.settle();
        if let Replies::Asked { record: Some(folder), .. } = &self.replies {
            recording::keep(folder, &task.name, &contender.name(), &exchanges)?;
        }
        drop(proxy);
        let (exit, seconds) =
            ended.as_ref().map_or_else(|_| ("-".to_owned(), 0.0), |ended| (ended.word(), ended.seconds));
        let graded = match &ended {
            Ok(ended) => grade_run(task, contender, ended, &workspace, &out, judge),
            Err(failure) => Err(failure.clone()),
        };
        let graded = graded.unwrap_or_else(|why| Graded { solved: false, visible: None, why });
        let why = match &ended {
            Ok(ended) if !graded.solved && !ended.good() => format!("{} ({})", graded.why, gist(ended)),
            _ => graded.why,
        };
        // Agents leave folders behind that even their owner must open first.
        let _ = remove_tree(&place);
        Ok(Outcome {
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
    task: &Task,
    contender: &Contender,
    ended: &Ended,
    workspace: &Path,
    out: &Path,
    judge: &Judge,
) -> Result<Graded, Failure> {
    let delivered = |name: &str| fs::read_to_string(out.join(name)).unwrap_or_default();
    if task.kind == Kind::Change {
        if contender.delivers() {
            let patch = out.join("diff.patch");
            if fs::metadata(&patch).map_or(0, |data| data.len()) == 0 {
                return Ok(Graded { solved: false, visible: Some(false), why: "no patch".to_owned() });
            }
            workspace::apply(&patch, workspace)?;
        }
        let judged = judge.judge(task, workspace)?;
        let solved = judged.visible && judged.hidden;
        return Ok(Graded { solved, visible: Some(judged.visible), why: judged.said });
    }
    let (answer, findings) = if contender.delivers() {
        let answer = ["plan.md", "summary.md"].map(delivered).join("\n") + "\n" + &ended.stdout;
        (answer, grade::findings_of_review(&delivered("review.json")))
    } else {
        (ended.stdout.clone(), grade::findings_of_prose(&ended.stdout))
    };
    let complaint = grade::complaint(task, &answer, &findings);
    Ok(Graded { solved: complaint.is_none(), visible: None, why: complaint.unwrap_or_default() })
}

fn line(outcome: &Outcome) -> String {
    let Outcome { task, agent, solved, exit, seconds, tally, why, .. } = outcome;
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

    use holon_model::cassette::{Call, Step, Turn};
    use holon_testkit::model::{ModelServer, Scripted, Seen};
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
    fn clever(seen: &Seen) -> Scripted {
        let text = seen.body["messages"].to_string();
        let part = |task: &str, file: &str| {
            fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tasks").join(task).join(file))
                .unwrap()
        };
        if text.contains("idle session") {
            return Scripted::from(Turn::text(part("ask-session-timeout", "right.md")));
        }
        let call = |name: &str, arguments: serde_json::Value| {
            let call = Call { name: name.to_owned(), arguments: arguments.to_string(), ..Call::default() };
            Scripted::from(Turn { steps: vec![Step::Call(call)], ..Turn::default() })
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
        let (Some(program), None) = (holon(), tasks.iter().find_map(Task::lacks)) else {
            println!("SKIPPED: there is no holon binary or no python3 here");
            return;
        };
        let open = fs::Permissions::from_mode(0o755);
        let folder = tempfile::Builder::new().prefix("holon-bench-").permissions(open).tempdir().unwrap();
        let contenders = [Contender::Holon { program, level: "off".to_owned() }];
        let server = ModelServer::improvise(|_, seen| clever(seen));
        let endpoint = Endpoint::new(&server.base(), None).unwrap();
        let record = folder.path().join("recorded");
        recording::begin(&record, "scripted-model").unwrap();
        let ring = |name: &str, replies| Ring {
            folder: folder.path().join(name),
            model: "scripted-model".to_owned(),
            replies,
            limit_seconds: 300,
        };
        let asked = ring("asked", Replies::Asked { endpoint, record: Some(record.clone()) });
        let (first, notes) = asked.play(&tasks, &contenders).unwrap();
        drop(server);
        assert_eq!((first.len(), notes.len()), (2, 0));
        assert!(first.iter().all(|outcome| outcome.solved), "{first:#?}");
        let (second, notes) = ring("again", Replies::Recorded(record)).play(&tasks, &contenders).unwrap();
        assert_eq!((second.len(), notes.len()), (2, 0));
        for (one, other) in first.iter().zip(&second) {
            assert!(other.solved && one.task == other.task, "{other:#?}");
            assert_eq!(one.tally.calls, other.tally.calls, "{other:#?}");
        }
        let nobody = ring("nobody", Replies::Recorded(folder.path().join("empty")));
        let (none, notes) = nobody.play(&tasks, &contenders).unwrap();
        assert!(none.is_empty() && notes.len() == 2 && notes[0].contains("no recording"), "{notes:?}");
    }
}
