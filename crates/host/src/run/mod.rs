//! One run, in seven phases: resolve → prepare → snapshot → execute → collect → verify → seal.
//!
//! [`Host::run`] drives them; each phase is a module that does one thing and says what it found. Whatever happens after
//! the run folder exists ends in a manifest.

mod apply;
mod artifacts;
mod baseline;
mod baseline_runner;
pub(crate) mod carried_changes;
pub(crate) mod change_watch;
mod check_paths;
mod check_reports;
mod check_rewritten;
mod check_tree;
mod check_verdict;
mod checked;
pub(crate) mod checkpoints;
mod checks;
mod collect;
mod commit;
mod dirty;
mod door_watch;
mod environment;
mod execute;
mod final_message;
mod first_evidence;
mod foreign;
mod foreign_supervision;
mod former;
mod gateway_session;
mod inside_view;
mod isolation_levels;
mod job;
mod leftovers;
mod native_run;
mod native_run_result;
mod network_session;
mod out;
mod output;
mod permits;
mod prepare;
mod printed_words;
mod probe;
mod question;
mod replay;
mod resolve;
mod resume;
mod seal;
mod setup;
mod snapshot;
mod start_trouble;
pub(crate) mod supervised;
mod verdict;
mod verify;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use holon_agent::mcp::McpServerConfig;
use holon_agent::{PersonPrompt, SupervisionSession};
use holon_core::event::EventBody;
use holon_core::ids::RunId;
use holon_core::manifest::{Manifest, PhaseTiming, RunPhase, VerificationState};
use holon_core::redact::Redactor;
use holon_git::Git;
use holon_model::{Cassette, ModelCancel, Provider, SharedBudget};
use holon_sandbox::isolation::Launcher;
use holon_telemetry::{Observer, RunTraceLog};

use self::foreign::ForeignAgentRun;
use self::resume::ResumedRun;
use crate::config::ConfigurationFiles;
use crate::environment::OpenEnvironment;
use crate::error::HostError;
use crate::executor::RunContext;
use crate::holon_folders::HolonFolders;
use crate::model::ModelSession;
use crate::plan::{PlannedCassette, PlannedWork, RunPlan};
use crate::record::{RunEventWriter, now};
use crate::request::RunRequest;
use crate::servers;
use crate::store::{RunFolder, RunRecord, RunStore};

pub use apply::{AppliedRun, apply, keep_entry, note_recovered, undo};
pub(crate) use apply::{WorkspaceApply, bring_in};
pub use checked::TreeBefore;
pub use commit::{BranchCommit, commit};
pub use leftovers::promises_form;
pub use replay::ReplayedRun;
pub use resolve::{CREDENTIAL_IN_GOAL, hidden};
pub use verdict::RunVerdict;

/// Looks a variable of the host up.
pub type HostEnvironment = dyn Fn(&str) -> Option<OsString>;

/// Takes a piece of text as it comes.
pub type TextListener = dyn Fn(&str) + Send + Sync;

/// This machine and this process, as far as runs need them.
pub struct Host {
    /// Where state, cache and configuration live.
    pub places: HolonFolders,
    /// How walls are started.
    pub launcher: Launcher,
    /// Reads an environment variable of the host; the payload sees none of them.
    pub env: Box<HostEnvironment>,
    /// Values that must never be written anywhere, each with the name that stands for it.
    pub secrets: Vec<(String, String)>,
    /// The files of the configuration; what belongs to one command shares them, and opens each once.
    pub configuration: Arc<ConfigurationFiles>,
    /// Answers agents that think inside instead of a model, for rehearsals.
    pub script: Option<Arc<dyn Provider>>,
    /// Hears of work in modes: log lines, counts, spans.
    pub observer: Option<Arc<dyn Observer>>,
}

/// A run that is over.
#[derive(Debug)]
pub struct FinishedRun {
    /// What the host says about it.
    pub manifest: Manifest,
    /// Its folder in the store.
    pub folder: PathBuf,
    /// Where the artifacts were copied to, if asked.
    pub out: Option<PathBuf>,
    /// What `--apply` did, or why it could do nothing; `None` when it was not asked for or there was nothing to apply.
    pub applied: Option<Result<AppliedRun, HostError>>,
}

impl Host {
    /// Works out what a request means, once and completely, without starting anything.
    pub fn plan(&self, request: &RunRequest) -> Result<RunPlan, HostError> {
        resolve::resolve(self, request)
    }

    /// Carries a plan out. An error means that nothing was started; everything later is in the manifest.
    pub fn run(&self, plan: RunPlan, context: RunContext<'_>) -> Result<FinishedRun, HostError> {
        let RunContext { sink, cancel, person, words, budget } = context;
        let mut run = self.enter(plan, RunContext { sink: &mut *sink, cancel, person, words, budget })?;
        let _trace = run.open_trace();
        let verdict = match run.plan.work.clone() {
            PlannedWork::Agent => run.work(),
            PlannedWork::Checks { before } => run.only_checks(before.as_ref()),
            PlannedWork::Setup { environment } => run.set_up(&environment),
        };
        Ok(run.seal(verdict.unwrap_or_else(|e| RunVerdict::failed(&e))))
    }

    /// Makes the folder of a run and everything that goes with it; from here on there will be a manifest.
    fn enter<'a>(&'a self, plan: RunPlan, context: RunContext<'a>) -> Result<ActiveRun<'a>, HostError> {
        let (began, started_at) = (Instant::now(), now());
        let RunContext { sink, cancel, person, words, budget } = context;
        let mode = match plan.work {
            PlannedWork::Agent => plan.profile.name.clone(),
            PlannedWork::Checks { .. } => checked::NAME.to_owned(),
            PlannedWork::Setup { .. } => setup::NAME.to_owned(),
        };
        let own = plan.profile.limits.cost_usd;
        let shared = budget.or_else(|| (own > 0.0).then(|| SharedBudget::new(own, 0.0)));
        let cassette = plan.replay.as_ref().map(PlannedCassette::open).transpose()?;
        let resumed = plan.goes_on.as_ref().map(ResumedRun::of).transpose()?;
        let with_values = |server| servers::with_values(server, &self.configuration);
        let servers = plan.servers.iter().map(with_values).collect::<Result<_, _>>()?;
        // What there is to hide is a matter of the workspace as it is when the run begins.
        let mut hide = hidden(&plan.profile, &plan.workspace)?;
        hide.extend(plan.hide.iter().cloned());
        let store = RunStore::of(&self.places, &plan.workspace);
        store.sweep()?;
        let record = RunRecord {
            id: new_id(),
            workspace: plan.workspace.clone(),
            mode: mode.clone(),
            goal: plan.spec.goal.description.clone(),
            agent: plan.agent.name.clone(),
            started_at: started_at.clone(),
            out: plan.out.clone(),
            finished: false,
            applied_at: None,
        };
        let resolved = began.elapsed();
        let folder = RunFolder::create(store.folder(), &record)?;
        let redactor = Redactor::new(self.secrets.iter().map(|(name, value)| (name, value)));
        plan.save(&folder, &redactor)?;
        let events = RunEventWriter::create(
            record.id.clone(),
            &folder.evidence().join("events.jsonl"),
            redactor,
            sink,
        )?;
        let mut manifest = Manifest::begun(record.id.clone(), mode, started_at);
        resolve::describe(&plan, &mut manifest);
        manifest.metadata.audit.clone_from(&plan.audit);
        manifest.metadata.part_of = crate::release::whole_id(folder.path());
        let timing = PhaseTiming { duration_ms: resolved.as_millis() as u64, ok: true };
        manifest.phases.insert(RunPhase::Resolve, timing);
        let mut run = ActiveRun {
            host: self,
            plan,
            person,
            words,
            shared,
            cassette,
            servers,
            hide,
            record,
            folder,
            events,
            manifest,
            cancel,
            began,
            mind: None,
            supervision: None,
            resumed,
            foreign: ForeignAgentRun::default(),
            permitted: None,
            environment: None,
            kept: false,
            looking: None,
            beside: None,
        };
        run.begin();
        Ok(run)
    }
}

/// A run in progress.
pub(crate) struct ActiveRun<'a> {
    host: &'a Host,
    plan: RunPlan,
    /// Someone the native agent can ask.
    person: Option<Arc<dyn PersonPrompt>>,
    /// Hears the native agent's words as they come.
    words: Option<Arc<TextListener>>,
    /// Money that it shares with other runs, or its own, which its requests share.
    shared: Option<SharedBudget>,
    /// What answers instead of a model.
    cassette: Option<Cassette>,
    /// The tool servers, with the values of their variables.
    servers: Vec<McpServerConfig>,
    /// Paths of the workspace the agent must not see.
    hide: Vec<PathBuf>,
    record: RunRecord,
    folder: RunFolder,
    events: RunEventWriter<'a>,
    manifest: Manifest,
    cancel: &'a ModelCancel,
    began: Instant,
    /// What the native agent thinks with.
    mind: Option<ModelSession>,
    /// What watches over it, between its turns.
    supervision: Option<SupervisionSession>,
    /// What it goes on from, until the agent has it.
    resumed: Option<ResumedRun>,
    /// What an agent that thinks inside needs.
    foreign: ForeignAgentRun,
    /// What it reaches by permits.
    permitted: Option<network_session::NetworkSession>,
    /// What it stands on.
    environment: Option<OpenEnvironment>,
    /// Whether what the agent left besides the artifacts has been carried over.
    kept: bool,
    /// Looks for uncommitted work beside the run.
    looking: Option<dirty::PendingDirtyCount>,
    /// What checks say of the untouched tree, found out beside the agent.
    beside: Option<baseline_runner::BaselineRunner>,
}

impl ActiveRun<'_> {
    fn begin(&mut self) {
        self.events.emit(EventBody::RunStarted {
            mode: self.record.mode.clone(),
            goal: self.plan.spec.goal.description.clone(),
            agent: self.plan.agent.name.clone(),
        });
        for warning in self.plan.warnings.clone() {
            self.warn(warning);
        }
    }

    /// What the host does is written down beside the evidence, where that was asked for.
    fn open_trace(&mut self) -> Option<RunTraceLog> {
        let redactor = self.events.redactor().clone();
        let redact = Arc::new(move |line: &str| redactor.redact_str(line));
        let trace = RunTraceLog::open(self.record.id.as_str(), &self.folder.evidence(), redact);
        let trace = trace.unwrap_or_else(|error| {
            self.warn(format!("no trace is written: {error}"));
            None
        });
        let (mode, agent) = (&self.record.mode, &self.record.agent);
        tracing::info!(mode, agent, sandbox = ?self.plan.sandbox, "begins a run");
        trace
    }

    /// The phases between resolving and sealing.
    fn work(&mut self) -> Result<RunVerdict, HostError> {
        self.open_model_session()?;
        self.open_door()?;
        self.open_network()?;
        let backend = isolation_levels::first(self.host, &self.plan, self.ground())?;
        // Asking git for its version takes as long as preparing, so both happen at once.
        let git = self.plan.profile.access.writable().then(|| std::thread::spawn(Git::find));
        self.open_environment()?;
        self.look_for_uncommitted();
        self.phase(RunPhase::Prepare, Self::prepare)?;
        let mut stage = self.phase(RunPhase::Snapshot, |run| run.take_snapshot(backend, git))?;
        self.phase(RunPhase::Execute, |run| run.execute(&mut stage))?;
        let mut found = self.collect_or_explain(&stage)?;
        let mut verdict = self.phase(RunPhase::Verify, |run| run.verify(&mut stage, &mut found))?;
        // A script would only say the same again.
        let answers = self.host.script.is_none();
        if verdict.asks_for_repair && answers && !self.cancel.is_cancelled() && stage.time_left() {
            self.phase(RunPhase::Execute, |run| run.repair(&mut stage, &verdict))?;
            found = self.collect_or_explain(&stage)?;
            verdict = self.phase(RunPhase::Verify, |run| run.verify(&mut stage, &mut found))?;
        }
        // Before the checks, which could change it.
        self.keep_left();
        self.put_aside(&found, &verdict);
        if verdict.is_deliverable() {
            self.phase(RunPhase::Verify, |run| run.run_checks(&mut stage, &found, &mut verdict))?;
        }
        self.beside = None;
        let known = self.manifest.metadata.verification.as_ref();
        let allowed = self.plan.tests_may_change;
        // A check that fails as before vouches for nothing but a change that it cannot depend on.
        let prose = |change: &holon_sandbox::diff::PathChange| {
            holon_checks::definition::is_documentation(&change.path.to_string_lossy())
        };
        let only_prose = found.changes.as_ref().is_some_and(|changes| changes.entries.iter().all(prose));
        let as_before = verdict.as_before;
        verdict.settle_doubt(known.is_some_and(|known| match known.state {
            VerificationState::Verified => true,
            VerificationState::FailingAsBefore => only_prose || as_before,
            VerificationState::ChangedChecks => allowed,
            _ => false,
        }));
        self.deliver(&found, &mut verdict)?;
        self.prove_untouched(&stage, &mut verdict);
        Ok(verdict)
    }

    /// When the agent was stopped, that is the reason to report; a change too large to be told is only its consequence.
    fn collect_or_explain(
        &mut self,
        stage: &snapshot::RunStage,
    ) -> Result<collect::CollectedResult, HostError> {
        let stopped = stage.last.as_ref().is_some_and(|l| l.stopped.is_some() || l.finished.out_of_memory);
        match self.phase(RunPhase::Collect, |run| run.collect(stage)) {
            Err(e) if stopped => {
                self.warn(format!("no patch: {e}"));
                Ok(collect::CollectedResult::nothing())
            }
            found => found,
        }
    }

    /// Runs one phase, with its events and its timing (a phase that runs twice adds up).
    fn phase<T>(
        &mut self,
        phase: RunPhase,
        work: impl FnOnce(&mut Self) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        self.events.emit(EventBody::PhaseStarted { phase });
        let began = Instant::now();
        let result = work(self);
        let duration_ms = began.elapsed().as_millis() as u64;
        let ok = result.is_ok();
        tracing::info!(
            ?phase,
            duration_ms,
            error = result.as_ref().err().map(tracing::field::display),
            "ends a phase"
        );
        self.events.emit(EventBody::PhaseFinished { phase, duration_ms, ok });
        let timing = self.manifest.phases.entry(phase).or_insert(PhaseTiming { duration_ms: 0, ok: true });
        timing.duration_ms += duration_ms;
        timing.ok &= ok;
        result
    }

    /// The same, unless it was said before: what is looked at again after a repair round is told once.
    fn warn_once(&mut self, message: String) {
        if !self.manifest.metadata.warnings.contains(&self.events.redactor().redact_str(&message)) {
            self.warn(message);
        }
    }

    fn warn(&mut self, message: impl Into<String>) {
        let message = message.into();
        tracing::warn!("{message}");
        self.manifest.metadata.warnings.push(self.events.redactor().redact_str(&message));
        self.events.warn(message);
    }
}

/// A new run id from the clock and the kernel's randomness.
fn new_id() -> RunId {
    let seconds = u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or(0);
    let mut random = [0; 4];
    // Without randomness ids of the same second could only collide, which creating the folder would notice.
    let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
    RunId::from_parts(seconds, random)
}
