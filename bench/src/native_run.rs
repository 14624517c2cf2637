//! `holon run` with its own agent and the bench's model, as a user starts it.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use holon_sandbox::snapshot::remove_tree;

use crate::BenchFailure;
use crate::bench_model::{AgentRequest, BenchModel, CallTemplates, ModelRole, RunObservation};
use crate::command::time;
use crate::echo;
use crate::holon_run::hermetic;
use crate::scratch::BenchContext;
use crate::tree::BenchTree;

/// A model the agent is made for, in OpenRouter's spelling.
pub(crate) const MODEL: &str = "anthropic/claude-sonnet-4.5";

/// Runs it again and again.
pub(crate) struct NativeRun {
    holon: PathBuf,
    workspace: PathBuf,
    folder: PathBuf,
    mind: Rc<BenchModel>,
    mode: &'static str,
    provider: &'static str,
    model: &'static str,
    shadow: bool,
}

impl NativeRun {
    /// In the execute mode on this tree.
    pub(crate) fn new(
        bench: &BenchContext,
        name: &str,
        tree: &BenchTree,
        mind: &Rc<BenchModel>,
    ) -> Result<Self, BenchFailure> {
        Ok(Self {
            holon: bench.holon.clone(),
            workspace: tree.path.clone(),
            folder: bench.new_folder(name)?,
            mind: Rc::clone(mind),
            mode: "execute",
            provider: "openrouter",
            model: MODEL,
            shadow: false,
        })
    }

    /// With the supervisor deciding and not acting: it stops an agent that does nothing for many rounds.
    pub(crate) fn shadow(mut self) -> Self {
        self.shadow = true;
        self
    }

    /// In another mode.
    pub(crate) fn mode(mut self, mode: &'static str) -> Self {
        self.mode = mode;
        self
    }

    /// With another provider and model; both still the bench's own.
    pub(crate) fn model(mut self, provider: &'static str, model: &'static str) -> Self {
        (self.provider, self.model) = (provider, model);
        self
    }

    /// One whole run with these calls, checked afterwards.
    pub(crate) fn turn(&self, part: &ModelRole) -> Result<Duration, BenchFailure> {
        self.mind.prepare(part);
        let time = time(&mut self.command());
        self.clear();
        let time = time?;
        self.mind.sight()?;
        Ok(time)
    }

    /// What this run asks of the model.
    pub(crate) fn requests(&self, part: &ModelRole) -> Result<Vec<AgentRequest>, BenchFailure> {
        self.mind.prepare(part);
        self.mind.keep();
        let time = time(&mut self.command());
        self.clear();
        time.and_then(|_| Ok(self.mind.sight()?.requests))
    }

    /// How long the model takes for each of these by itself.
    pub(crate) fn model_alone(
        &self,
        part: &ModelRole,
        requests: &[AgentRequest],
    ) -> Result<Duration, BenchFailure> {
        self.mind.prepare(part);
        echo::each(&self.mind.base(), requests)
    }

    /// One whole run, with what the model saw of it: the processes that were there at its end, too.
    pub(crate) fn sight(&self, part: &ModelRole) -> Result<RunObservation, BenchFailure> {
        self.mind.prepare(part);
        let sight = watched(&mut self.command(), &self.mind);
        self.clear();
        sight
    }

    /// Bytes of the first request of a run, however that ends.
    pub(crate) fn first_request(&self) -> Result<usize, BenchFailure> {
        self.mind.prepare(&ModelRole::default());
        let _ = time(&mut self.command());
        self.clear();
        self.mind.sight().map(|sight| sight.first_bytes)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.holon);
        command.args(["run", "--agent", "native", "--mode", self.mode, "--goal", "Measure"]);
        command.arg("--workspace").arg(&self.workspace);
        command.args(self.shadow.then_some("--shadow"));
        hermetic(&mut command, &self.folder);
        command.env("HOLON_BASE_URL", self.mind.base());
        command.env("HOLON_PROVIDER", self.provider).env("HOLON_MODEL", self.model);
        for key in ["OPENROUTER_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"] {
            command.env(key, "bench-key-of-nobody");
        }
        command
    }

    /// Every run starts from an empty store; what is probed once per machine stays.
    fn clear(&self) {
        let _ = remove_tree(&self.folder.join("state"));
    }
}

/// Calls of the tool that runs a command which does nothing.
pub(crate) fn execute_calls() -> CallTemplates {
    CallTemplates::from([("execute".to_owned(), r#"{"command":"true {n}"}"#.to_owned())])
}

/// Calls of the tool that reads a file, each from another line.
pub(crate) fn read_calls() -> CallTemplates {
    let arguments = format!(r#"{{"path":"{}","offset":{{n}},"limit":20}}"#, BenchTree::LONG);
    CallTemplates::from([("read_file".to_owned(), arguments)])
}

/// Runs a command to its end, with the model looking at its processes before it ends the conversation.
pub(crate) fn watched(command: &mut Command, mind: &BenchModel) -> Result<RunObservation, BenchFailure> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|e| format!("cannot start: {e}"))?;
    mind.watch(child.id());
    let status = child.wait().map_err(|e| format!("cannot wait: {e}"))?;
    if !status.success() {
        return Err(format!("it ended with {status}"));
    }
    mind.sight()
}
