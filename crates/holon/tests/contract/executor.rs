//! What every executor promises, whoever it is: each way a run can end, a refusal that starts nothing, a cancellation, and
//! that a plan which was written down and read back is the same run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use holon_core::HumanDuration;
use holon_core::event::{EventBody, RunEvent};
use holon_core::manifest::Manifest;
use holon_core::outcome::{RunOutcome, RunStatus};
use holon_host::{
    ConfigurationFiles, Executor, FinishedRun, HolonFolders, Host, HostError, ModelCancel, RunContext,
    RunPlan, RunRequest, TreeBefore,
};
use holon_sandbox::isolation::Launcher;
use holon_testkit::{TestEnv, TestWorkspace};
use serde_json::Value;

use crate::{BIN, SUMMARY};

/// Keys that differ from run to run by nature.
const VARYING: [&str; 7] = ["run_id", "started_at", "duration_ms", "phases", "cached", "at", "shared"];

/// A place to run in, the host that plans, and the executor that is held to its promises.
struct Stage {
    env: TestEnv,
    repo: TestWorkspace,
    host: Host,
    executor: Box<dyn Executor>,
}

impl Stage {
    /// `make` makes the executor of a host.
    fn new(make: &dyn Fn(Host) -> Box<dyn Executor>) -> Self {
        let env = TestEnv::new(BIN);
        let repo = env.repo().file("a.txt", "one\n").commit("first");
        let host = || {
            let at = |name: &str| env.root().join("executor").join(name);
            let places =
                HolonFolders { state: at("state"), cache: at("cache"), config: at("config"), home: None };
            Host {
                configuration: ConfigurationFiles::shared(&places),
                places,
                launcher: Launcher::at(env.binary()),
                env: Box::new(|name| std::env::var_os(name)),
                secrets: Vec::new(),
                script: None,
                observer: None,
            }
        };
        let (host, executor) = (host(), make(host()));
        Self { env, repo, host, executor }
    }

    /// A plan whose agent is this script.
    fn plan(&self, script: &str, change: impl FnOnce(RunRequest) -> RunRequest) -> RunPlan {
        let agent = self.env.write("work/agent.sh", script);
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
        let request = RunRequest {
            mode: Some("execute".into()),
            goal: Some("Do it".into()),
            workspace: Some(self.repo.path().to_owned()),
            agent: Some(agent.to_string_lossy().into_owned()),
            ..RunRequest::default()
        };
        self.host.plan(&change(request)).unwrap()
    }

    fn execute(
        &self,
        plan: RunPlan,
        cancel: &ModelCancel,
    ) -> (Result<FinishedRun, HostError>, Vec<RunEvent>) {
        let mut events = Vec::new();
        let mut sink = |event: &RunEvent| events.push(event.clone());
        let finished = self.executor.execute(plan, RunContext::new(&mut sink, cancel));
        (finished, events)
    }

    /// Carries a plan out as it is and as it was read back, which must come to the same.
    #[track_caller]
    fn both(&self, plan: RunPlan, cancel: &ModelCancel) -> FinishedRun {
        let written = plan.to_json().unwrap();
        let read = RunPlan::from_json(written.as_bytes()).unwrap();
        let (first, events) = self.execute(plan, cancel);
        let first = first.unwrap();
        let (second, _) = self.execute(read, cancel);
        assert_eq!(steady(&first.manifest), steady(&second.unwrap().manifest));
        let starts = events.iter().filter(|event| matches!(event.body, EventBody::RunStarted { .. })).count();
        let ends = events.iter().filter(|event| matches!(event.body, EventBody::RunFinished { .. })).count();
        assert_eq!((starts, ends), (1, 1), "one beginning and one end");
        assert!(events.iter().all(|event| event.run == first.manifest.run_id));
        first
    }

    fn started(&self) -> usize {
        let state = self.host.places.runs_of(self.repo.path());
        fs::read_dir(state).map_or(0, Iterator::count)
    }
}

/// A manifest without what varies.
fn steady(manifest: &Manifest) -> Value {
    fn without(value: Value) -> Value {
        match value {
            Value::Object(map) => {
                let kept = map.into_iter().filter(|(key, _)| !VARYING.contains(&key.as_str()));
                kept.map(|(key, value)| (key, without(value))).collect()
            }
            Value::Array(items) => items.into_iter().map(without).collect(),
            other => other,
        }
    }
    without(serde_json::to_value(manifest).unwrap())
}

#[track_caller]
fn ended(finished: &FinishedRun, status: RunStatus, outcome: RunOutcome) {
    let manifest = &finished.manifest;
    assert_eq!((manifest.status, manifest.outcome), (status, outcome), "{:?}", manifest.error);
    let path: PathBuf = finished.folder.join("output/manifest.json");
    let stored: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert_eq!(stored["exit_code"], manifest.exit_code, "what is told is what is stored");
}

fn every_promise(make: &dyn Fn(Host) -> Box<dyn Executor>) {
    let stage = Stage::new(make);
    let go = ModelCancel::default();
    let same = |request| request;
    let edit = format!("{SUMMARY}echo two > a.txt\n");

    let done = stage.both(stage.plan(&edit, same), &go);
    ended(&done, RunStatus::Completed, RunOutcome::Success);
    assert!(fs::read_to_string(done.folder.join("output/diff.patch")).unwrap().contains("+two"));

    let failed = stage.both(stage.plan(&format!("{SUMMARY}exit 3\n"), same), &go);
    ended(&failed, RunStatus::Completed, RunOutcome::Failure);

    let asks = stage.both(stage.plan(&format!("{SUMMARY}exit 2\n"), same), &go);
    ended(&asks, RunStatus::Completed, RunOutcome::NeedsHuman);

    let checked = |request| RunRequest { checks: vec!["false".into()], ..request };
    let red = stage.both(stage.plan(&edit, checked), &go);
    assert_ne!(red.manifest.outcome, RunOutcome::Success, "{:?}", red.manifest.error);

    let short = |request| RunRequest { timeout: Some(HumanDuration::from_secs(1)), ..request };
    let late = stage.both(stage.plan("#!/bin/sh\nexec sleep 600\n", short), &go);
    ended(&late, RunStatus::Timeout, RunOutcome::Failure);

    let stopped = ModelCancel::default();
    stopped.cancel();
    let cancelled = stage.both(stage.plan("#!/bin/sh\nexec sleep 600\n", same), &stopped);
    assert_eq!(cancelled.manifest.status, RunStatus::Cancelled, "{:?}", cancelled.manifest.error);

    let before = TreeBefore { workspace: stage.repo.path().to_owned(), touched: Vec::new(), always: false };
    let passing = |request| RunRequest { checks: vec!["grep -q one a.txt".into()], ..request };
    let alone = stage.both(stage.plan(SUMMARY, passing).only_checks(Some(before)), &go);
    ended(&alone, RunStatus::Completed, RunOutcome::Success);
    assert!(alone.manifest.no_changes && alone.manifest.metadata.verification.is_some());

    refusals(&stage, &go);
}

/// What cannot be carried out is refused with a reason, and leaves nothing.
fn refusals(stage: &Stage, go: &ModelCancel) {
    let cassette = stage.env.write("work/tape.yaml", "- tool: finish\n  args: { summary: Done. }\n");
    let replayed = |request| RunRequest { agent: None, replay: Some(cassette.clone()), ..request };
    let plan = stage.plan(SUMMARY, replayed);
    fs::write(&cassette, "- tool: finish\n  args: { summary: Other. }\n").unwrap();
    let before = stage.started();
    let (refused, events) = stage.execute(plan, go);
    let error = refused.unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("has changed since"), "{error}");
    assert_eq!((stage.started(), events.len()), (before, 0), "nothing was started");
}

#[test]
fn the_host_keeps_every_promise_of_an_executor() {
    every_promise(&|host| Box::new(host));
}

/// An executor that is reached by a message: it sees nothing of a plan but its text.
struct Remote(Host);

impl Executor for Remote {
    fn execute(&self, plan: RunPlan, context: RunContext<'_>) -> Result<FinishedRun, HostError> {
        self.0.execute(RunPlan::from_json(plan.to_json()?.as_bytes())?, context)
    }

    fn secrets(&self) -> &[(String, String)] {
        self.0.secrets()
    }

    fn observer(&self) -> Option<std::sync::Arc<dyn holon_telemetry::Observer>> {
        self.0.observer()
    }
}

#[test]
fn an_executor_that_gets_plans_as_text_keeps_every_promise() {
    every_promise(&|host| Box::new(Remote(host)));
}

#[test]
fn a_stored_plan_is_the_one_that_was_carried_out() {
    let stage = Stage::new(&|host| Box::new(host));
    let plan = stage.plan(SUMMARY, |request| request);
    let (finished, _) = stage.execute(plan.clone(), &ModelCancel::default());
    let stored = fs::read(Path::new(&finished.unwrap().folder).join("run-plan.json")).unwrap();
    assert_eq!(RunPlan::from_json(&stored).unwrap(), plan);
}
