//! The steps of the demo, each a real run.

use std::fs;
use std::path::{Path, PathBuf};

use holon_core::event::{EventBody, RunEvent};
use holon_core::{Manifest, RunOutcome};
use holon_git::{ObjectFormat, apply};
use holon_host::{FinishedRun, HostError, RunContext, RunRequest};
use holon_sandbox::diff::tree_digest;

use super::stage::DemoStage;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::show::{manifest, patch, summary};
use crate::stop;
use crate::terminal::{Terminal, TextStyle, visible};

const GOAL: &str = "Make the test pass: repeated dashes in slugs";

/// Tells the whole story and counts the steps that surprised.
pub(super) fn tell(stage: &DemoStage, session: &Session) -> Result<u64, CliFailure> {
    let mut teller =
        DemoNarrator { stage, terminal: &session.terminal, cancel: stop::on_signals()?, surprises: 0 };
    teller.say(
        "A sample repository with a failing test. What the model says comes from cassettes written by hand: no key, no",
    )?;
    teller
        .say("network. The agent, its tools, the snapshot, the walls, the patch and the checks are real.")?;
    let before = digest(&stage.sample())?;

    teller.head("1. The test before, run by the host behind the walls")?;
    teller.test(&stage.sample(), RunOutcome::Failure)?;

    teller.head("2. Plan mode, and a foreign agent (a script) that tries to write anyway")?;
    let intruder = teller.run(&teller.request("plan", "intruder.sh", &stage.sample()))?;
    teller.expect(&intruder, RunOutcome::Failure)?;
    teller.unchanged(&before)?;

    teller.head("3. Plan mode with the native agent")?;
    let planner = teller.run(&teller.native("plan", &stage.sample(), &[]))?;
    teller.expect(&planner, RunOutcome::Success)?;
    teller.file(&planner.folder.join("output/plan.md"))?;

    teller.head("4. Execute mode: the plan goes in, a patch made by the host comes out")?;
    let plan = planner.folder.join("output/plan.md");
    let wanted = RunRequest {
        checks: vec!["sh test.sh".into()],
        ..teller.native("execute", &stage.sample(), &[plan])
    };
    let builder = teller.run(&wanted)?;
    teller.expect(&builder, RunOutcome::Success)?;
    let diff = fs::read(builder.folder.join("output/diff.patch")).unwrap_or_default();
    teller.quote(&patch::coloured(&diff, session.terminal.stdout))?;
    teller.unchanged(&before)?;

    teller.head("5. The test after, on a copy with the patch applied")?;
    let copy = stage.copy()?;
    apply::plain(&stage.git, &diff, &copy, ObjectFormat::default()).map_err(HostError::from)?;
    teller.test(&copy, RunOutcome::Success)?;

    teller.head("6. Review mode: findings whose lines the host has checked")?;
    let patch_file = builder.folder.join("output/diff.patch");
    let reviewer = teller.run(&teller.native("review", &copy, &[patch_file]))?;
    teller.expect(&reviewer, RunOutcome::Success)?;
    teller.findings(&reviewer.folder.join("output/review.json"))?;

    teller.head("The walls that stood around each of them")?;
    teller.walls(&builder.manifest)?;
    Ok(teller.surprises)
}

fn digest(folder: &Path) -> Result<String, CliFailure> {
    tree_digest(folder, &[]).map_err(|e| HostError::from(e).into())
}

struct DemoNarrator<'a> {
    stage: &'a DemoStage,
    terminal: &'a Terminal,
    cancel: holon_host::ModelCancel,
    surprises: u64,
}

impl DemoNarrator<'_> {
    fn say(&self, line: &str) -> Result<(), CliFailure> {
        self.terminal.print(format!("{line}\n"))
    }

    fn head(&self, line: &str) -> Result<(), CliFailure> {
        if self.cancel.is_cancelled() {
            return Err(CliFailure::config("the demo was stopped"));
        }
        self.say(&format!("\n{}", self.terminal.stdout.paint(TextStyle::Bold, line)))
    }

    fn quote(&self, text: &str) -> Result<(), CliFailure> {
        text.trim_end().lines().try_for_each(|line| self.say(format!("    {line}").trim_end()))
    }

    fn request(&self, mode: &str, agent: &str, workspace: &Path) -> RunRequest {
        RunRequest {
            mode: Some(mode.into()),
            goal: Some(GOAL.into()),
            agent: Some(self.stage.agent(agent)),
            workspace: Some(workspace.to_owned()),
            ..RunRequest::default()
        }
    }

    /// The native agent, with a cassette for a model.
    fn native(&self, mode: &str, workspace: &Path, context: &[PathBuf]) -> RunRequest {
        RunRequest {
            mode: Some(mode.into()),
            goal: Some(GOAL.into()),
            workspace: Some(workspace.to_owned()),
            context: context.to_vec(),
            replay: Some(self.stage.cassette(mode)),
            ..RunRequest::default()
        }
    }

    fn run(&self, request: &RunRequest) -> Result<FinishedRun, CliFailure> {
        let dim =
            |text: String| self.terminal.stdout.paint(TextStyle::Dim, &visible(&text).replace('\n', " "));
        let mut show = |event: &RunEvent| {
            let line = match &event.body {
                EventBody::Output { text, .. } => dim(format!("    | {text}")),
                EventBody::MessageDelta { text } => visible(&format!("    {}", text.trim_end())),
                EventBody::ToolProposed { tool, summary, .. } => {
                    dim(format!("    > {tool} {}", summary.as_deref().unwrap_or_default()))
                }
                EventBody::ToolFinished { ok: false, summary: Some(summary), .. } => {
                    dim(format!("    | {summary}"))
                }
                _ => return,
            };
            let _ = self.say(line.trim_end());
        };
        let host = &self.stage.host;
        Ok(host.run(host.plan(request)?, RunContext::new(&mut show, &self.cancel))?)
    }

    /// Runs the sample's test as a check of an agent that does nothing, and shows what it printed.
    fn test(&mut self, workspace: &Path, expected: RunOutcome) -> Result<(), CliFailure> {
        let request =
            RunRequest { checks: vec!["sh test.sh".into()], ..self.request("execute", "idle.sh", workspace) };
        let (host, mut nobody) = (&self.stage.host, |_: &RunEvent| {});
        let finished = host.run(host.plan(&request)?, RunContext::new(&mut nobody, &self.cancel))?;
        let log = fs::read_to_string(finished.folder.join("evidence/check-1.log")).unwrap_or_default();
        self.quote(&visible(&log))?;
        self.expect(&finished, expected)
    }

    /// The outcome and why; a different one than promised is a surprise.
    fn expect(&mut self, finished: &FinishedRun, expected: RunOutcome) -> Result<(), CliFailure> {
        let manifest = &finished.manifest;
        let (style, word) = summary::word(manifest);
        let stream = self.terminal.stdout;
        let why = manifest.error.as_ref().map(|e| format!(": {}", visible(&e.message))).unwrap_or_default();
        let as_promised = manifest.outcome == expected;
        let note = if as_promised { "" } else { " (this is not what should have happened)" };
        self.surprises += u64::from(!as_promised);
        self.say(&format!("  {}{why}{note}", stream.paint(style, word)))
    }

    fn unchanged(&mut self, before: &str) -> Result<(), CliFailure> {
        if digest(&self.stage.sample())? == before {
            return self.say("  the repository is byte for byte as it was");
        }
        self.surprises += 1;
        self.say(&self.terminal.stdout.paint(TextStyle::Red, "  THE REPOSITORY HAS CHANGED"))
    }

    fn file(&self, path: &Path) -> Result<(), CliFailure> {
        let text = fs::read_to_string(path).unwrap_or_default();
        self.quote(&visible(&text))
    }

    fn findings(&self, path: &Path) -> Result<(), CliFailure> {
        let text = fs::read_to_string(path).unwrap_or_default();
        let review: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let field = |value: &serde_json::Value, key: &str| match &value[key] {
            serde_json::Value::String(text) => visible(text),
            other => other.to_string(),
        };
        self.say(&format!("    verdict: {}", field(&review, "verdict")))?;
        for finding in review["findings"].as_array().into_iter().flatten() {
            let get = |key| field(finding, key);
            let place = format!("{}:{}", get("path"), get("line"));
            self.say(&format!(
                "    {place} {}: {} (location {})",
                get("severity"),
                get("title"),
                get("location")
            ))?;
        }
        Ok(())
    }

    fn walls(&self, run: &Manifest) -> Result<(), CliFailure> {
        let sandbox = &run.metadata.sandbox;
        let (held, missing) = manifest::layers(&sandbox.enforced);
        self.say(&format!("    {} (level {}): {}", sandbox.backend, sandbox.level, held.join(", ")))?;
        if !missing.is_empty() {
            self.say(&format!("    not there on this machine: {}", missing.join(", ")))?;
        }
        Ok(())
    }
}
