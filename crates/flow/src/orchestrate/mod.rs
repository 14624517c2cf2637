//! Orchestrate: a goal is split into tasks, each runs in its mode behind walls of its own, and their changes become one
//! patch that only goes out assessed.
//!
//! [`planner`] decides, purely, from the state; `drive` carries that out through the dispatcher and writes the state down
//! around everything that takes time. So an orchestration that was stopped, cancelled or killed goes on where it was, and
//! no finished child is ever run again.

mod artifacts;
mod asking;
mod assessment_history;
mod brief;
mod checking;
mod child_builder;
mod children;
mod deliver;
mod drive;
mod estimating;
mod folder;
pub mod graph;
mod hearing;
pub(crate) mod merge;
mod merge_tasks;
pub(crate) mod merge_tree;
pub mod planner;
pub mod release_gate;
pub mod replan;
mod report;
mod reserve;
mod resumed;
pub mod state;
mod task_activity;
mod task_inbox;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use holon_core::artifact::orchestration::OrchestrationGraph;
use holon_core::config::ResolvedConfig;
use holon_core::event::{EventBody, EventSink};
use holon_core::manifest::EthicsOverride;
use holon_core::mode::ModeCatalog;
use holon_core::redact::Redactor;
use holon_host::store::{RunFolder, RunRecord, RunStore};
use holon_host::{
    FinishedRun, HolonFolders, HostError, ModelCancel, RunPlan, RunRequest, SharedBudget, modes,
};

use crate::conductor::{MakeHost, new_id};
use crate::dispatch::Dispatcher;
use crate::error::FlowError;
use crate::journal::FlowJournal;
use crate::raised::RaisedLimits;
use crate::step::{ChildWork, FlowRequest};
use drive::OrchestrationDriver;
use folder::OrchestrationFolder;
use merge_tree::MergeTree;
use release_gate::ReleaseGate;
use state::OrchestrationState;

pub(crate) use child_builder::touched;
pub(crate) use deliver::{keep_contents, manifest_again};
pub(crate) use folder::find_child;
pub use folder::load;
pub(crate) use merge_tree::{copy_tree, make_removable};
pub use planner::word::TaskWord;
pub use task_inbox::{TaskAnswer, TaskMessage, tell_task};

/// Carries orchestrations out.
pub struct Orchestrator<'a> {
    /// Where state, cache and configuration live.
    pub places: HolonFolders,
    /// Makes the hosts of the children.
    pub host: &'a MakeHost<'a>,
    /// The way into every mode.
    pub dispatcher: &'a Dispatcher,
    /// Who decides whether the result may go out.
    pub conscience: &'a ReleaseGate,
}

/// Where the tasks come from.
enum PlanSource {
    /// The mode orchestrate plans them.
    Model,
    /// They were planned before.
    Given(OrchestrationGraph),
    /// There is one, in mode code, with its edges.
    Edges(CodeEdges),
}

impl PlanSource {
    fn is_planned(&self) -> bool {
        !matches!(self, Self::Model)
    }

    fn mode(&self) -> &'static str {
        mode_of(matches!(self, Self::Edges(_)))
    }
}

/// The mode whose limits hold for all of it.
fn mode_of(single: bool) -> &'static str {
    if single { "execute" } else { "orchestrate" }
}

/// What follows a single run in mode code before its changes may go out: the assessment, always.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeEdges {
    /// Whether a review comes first, whose findings are mended.
    pub review: bool,
}

impl CodeEdges {
    /// What flags or the configuration ask for.
    pub fn wanted(assess: bool, review: bool, config: &ResolvedConfig) -> Option<Self> {
        let says = |key: &str| config.flag(key).unwrap_or_default();
        let review = review || says("modes.code.review");
        (assess || review || says("modes.code.assess")).then_some(Self { review })
    }
}

/// How an orchestration is to be carried out this time.
pub struct OrchestrationOrder<'a> {
    /// What was asked for, with paths relative to `base`.
    pub request: RunRequest,
    /// The folder the command was given in.
    pub base: PathBuf,
    /// A person lets the result out whatever the assessment says.
    pub ethics_override: Option<EthicsOverride>,
    /// Limits that take the place of those it was started with, when it is gone on with.
    pub raised: RaisedLimits,
    /// Receives the events of the orchestration and of its children.
    pub sink: &'a mut dyn EventSink,
    /// Ends it, and all its children.
    pub cancel: &'a ModelCancel,
}

impl Orchestrator<'_> {
    /// Starts an orchestration; an error means that nothing was started. `asked` is kept and comes back with [`load`].
    pub fn start(
        &self,
        asked: serde_json::Value,
        commission: OrchestrationOrder<'_>,
    ) -> Result<FinishedRun, FlowError> {
        self.begin(asked, PlanSource::Model, commission)
    }

    /// Starts a single run in mode code whose changes are assessed before they go out, and reviewed before that when it is
    /// wanted. Nobody plans it.
    pub fn start_single(
        &self,
        asked: serde_json::Value,
        edges: CodeEdges,
        commission: OrchestrationOrder<'_>,
    ) -> Result<FinishedRun, FlowError> {
        self.begin(asked, PlanSource::Edges(edges), commission)
    }

    /// The same with a plan that was made before; it must have been checked.
    pub fn carry_out(
        &self,
        asked: serde_json::Value,
        plan: OrchestrationGraph,
        commission: OrchestrationOrder<'_>,
    ) -> Result<FinishedRun, FlowError> {
        self.begin(asked, PlanSource::Given(plan), commission)
    }

    fn begin(
        &self,
        asked: serde_json::Value,
        source: PlanSource,
        commission: OrchestrationOrder<'_>,
    ) -> Result<FinishedRun, FlowError> {
        let redactor = self.redactor();
        let mut wanted =
            FlowRequest::new(commission.request.clone(), &commission.base)?.without_secrets(&redactor);
        let goal = wanted.goal();
        if goal.trim().is_empty() {
            return Err(HostError::usage("there is no goal", "say what is wanted with --goal").into());
        }
        let (catalog, plan) = self.resolve(&wanted, &goal, source.is_planned(), source.mode())?;
        wanted.warn(&plan.warnings);
        if let Some(refusal) = self.dispatcher.today().refusal() {
            return Err(refusal);
        }
        let store = RunStore::of(&self.places, &plan.workspace);
        store.sweep()?;
        let record = RunRecord {
            id: new_id(),
            workspace: plan.workspace.clone(),
            mode: "orchestrate".into(),
            goal: goal.clone(),
            agent: plan.agent.name.clone(),
            started_at: holon_host::record::now(),
            out: plan.out.clone(),
            finished: false,
            applied_at: None,
        };
        let limits = &plan.profile.limits;
        let mut state = OrchestrationState {
            version: 1,
            id: record.id.clone(),
            asked,
            spec_sha256: wanted.spec_sha256(),
            goal,
            single: matches!(source, PlanSource::Edges(_)),
            // The mode's own limit holds when nobody gave a smaller one.
            max_cost_usd: Some(
                wanted.max_cost_usd().map_or(limits.cost_usd, |cost| cost.min(limits.cost_usd)),
            ),
            max_ms: limits.timeout.get().as_millis() as u64,
            spent_usd: 0.0,
            estimate: None,
            elapsed_ms: 0,
            children: 0,
            planned: None,
            planning: Vec::new(),
            nodes: Vec::new(),
            merges: Vec::new(),
            replans: Vec::new(),
            dropped: Vec::new(),
            left: None,
            ethics_override: None,
            overruled: false,
            messages: Vec::new(),
            last_word: None,
            ended: None,
            sealed: false,
        };
        let planned = match source {
            PlanSource::Model => None,
            PlanSource::Given(graph) => Some((graph, true)),
            PlanSource::Edges(edges) => Some((graph::single(&state.goal, edges.review), false)),
        };
        if let Some((graph, by_model)) = planned {
            let by = state::PlanOrigin { by_model, problem: None };
            planner::apply(&mut state, planner::OrchestrationEvent::Planned { graph, by });
        }
        let held = OrchestrationFolder::create(&self.places, store.folder(), &record, redactor)?;
        self.conduct(state, held, &record, &wanted, &catalog, commission)
    }

    /// Goes on with an orchestration that was stopped, cancelled or interrupted; no finished child is run again.
    pub fn resume(
        &self,
        folder: RunFolder,
        message: Option<String>,
        commission: OrchestrationOrder<'_>,
    ) -> Result<FinishedRun, FlowError> {
        let lost = || FlowError::resume("its state is gone", "start it anew");
        let before = load(&folder)?.ok_or_else(lost)?;
        let redactor = self.redactor();
        let mut wanted =
            FlowRequest::new(commission.request.clone(), &commission.base)?.without_secrets(&redactor);
        if wanted.spec_sha256() != before.spec_sha256 {
            return Err(FlowError::resume(
                "the spec is not the one it was started with",
                "put it back as it was, or start anew",
            ));
        }
        let message = message.map(|text| redactor.redact_str(&text));
        let mut state = resumed::resumed(before, message, commission.ethics_override.is_some())?;
        let raised = commission.raised;
        wanted.request.max_rounds = raised.rounds.or(wanted.request.max_rounds);
        let (catalog, plan) =
            self.resolve(&wanted, &state.goal, state.planned.is_some(), mode_of(state.single))?;
        let own = catalog.resolve(mode_of(state.single)).map_err(HostError::from)?.limits;
        if let Some(money) = raised.money(state.spent_usd, Some(own.cost_usd))? {
            state.max_cost_usd = Some(money);
        }
        if let Some(time) = raised.time(own.timeout)? {
            state.max_ms = time.get().as_millis() as u64;
        }
        wanted.warn(&plan.warnings);
        let held = OrchestrationFolder::reopen(&self.places, folder, redactor)?;
        let record = held.run().record()?;
        self.conduct(state, held, &record, &wanted, &catalog, commission)
    }

    /// What the orchestration itself means: checks everything that can be checked before anything starts. Where there is a
    /// plan already, nobody needs to be there who makes one.
    fn resolve(
        &self,
        asked: &FlowRequest,
        goal: &str,
        planned: bool,
        mode: &str,
    ) -> Result<(ModeCatalog, RunPlan), FlowError> {
        let workspace = asked.request.workspace.as_deref().unwrap_or(Path::new("."));
        let catalog = modes::catalog(&self.places, Some(workspace))?;
        let profile = &catalog.resolve(mode).map_err(HostError::from)?;
        let (label, goal, files, artifacts) = ("orchestrate", goal.to_owned(), &[][..], &[][..]);
        let work = ChildWork { profile, label, goal, workspace, files, artifacts, checks: false };
        let request = RunRequest {
            timeout: asked.timeout().map(|time| time.min(profile.limits.timeout)),
            max_cost_usd: asked.max_cost_usd().map(|cost| cost.min(profile.limits.cost_usd)),
            out: asked.request.out.clone(),
            ..asked.child(work)?
        };
        let request = if planned { RunRequest { replay: None, ..request } } else { request };
        let plan = (self.host)(self.places.clone()).plan(&request)?;
        asked.refuse_without_effect(&plan)?;
        Ok((catalog, plan))
    }

    fn conduct(
        &self,
        mut state: OrchestrationState,
        held: OrchestrationFolder,
        record: &RunRecord,
        asked: &FlowRequest,
        catalog: &ModeCatalog,
        commission: OrchestrationOrder<'_>,
    ) -> Result<FinishedRun, FlowError> {
        let OrchestrationOrder { ethics_override, raised, sink, cancel, .. } = commission;
        if let Some(given) = ethics_override {
            let reason = self.redactor().redact_str(&given.reason);
            (state.ethics_override, state.overruled) = (Some(EthicsOverride { reason, ..given }), false);
        }
        let own = (self.host)(self.places.clone());
        // A single run counts by its own mode.
        self.dispatcher.begin_whole(&own, (!state.single).then_some("orchestrate"));
        let secrets = own.secrets;
        let events = held.run().evidence().join("events.jsonl");
        let mut journal = FlowJournal::open(record.id.clone(), &events, &secrets, sink)?;
        // Whoever hears of it can go on with it, also when it is killed at once.
        held.save(&state)?;
        journal.emit(EventBody::RunStarted {
            mode: record.mode.clone(),
            goal: record.goal.clone(),
            agent: record.agent.clone(),
        });
        for message in asked.warnings.clone() {
            journal.emit(EventBody::Warning { message });
        }
        let trunk = MergeTree::new(&record.workspace, held.path(), record.out.as_deref());
        let (places, host) = (&self.places, self.host);
        let today = self.dispatcher.today();
        let day_left = today.money_left().map(|left| left + state.spent_usd);
        let limits = [state.max_cost_usd, day_left];
        let budget = limits.into_iter().flatten().reduce(f64::min).map(|limit| {
            let named = raised.cost_usd.or_else(|| asked.max_cost_usd());
            SharedBudget::new(limit, state.spent_usd).asked_for(named)
        });
        if let Some(left) =
            today.money_left().filter(|left| state.money_left().is_some_and(|own| *left < own))
        {
            journal.emit(EventBody::Warning { message: today.leaves(left) });
        }
        let mut drive = OrchestrationDriver {
            budget,
            places,
            host,
            dispatcher: self.dispatcher,
            conscience: self.conscience,
            asked,
            catalog,
            held,
            workspace: record.workspace.clone(),
            trunk,
            journal,
            cancel,
            began: Instant::now(),
            activities: BTreeMap::new(),
        };
        let failure = drive.go(&mut state).err();
        drive.log_children(&state);
        let OrchestrationDriver { mut trunk, mut journal, held, began, .. } = drive;
        state.elapsed_ms += began.elapsed().as_millis() as u64;
        let sealing = deliver::OrchestrationSealing {
            record,
            wants_apply: asked.request.apply.then_some(&self.places),
            audit: self.dispatcher.audit(),
            wanted: asked.artifacts(),
            failure,
        };
        let decision = report::orchestration(&state).decision;
        let finished = deliver::seal(state, held, &mut trunk, &mut journal, sealing);
        self.dispatcher.end_whole(&finished, Some(&decision));
        trunk.remove();
        Ok(finished)
    }

    /// Takes out what must not be written, as the runs of the children do.
    fn redactor(&self) -> Redactor {
        let secrets = (self.host)(self.places.clone()).secrets;
        Redactor::new(secrets.iter().map(|(name, value)| (name, value)))
    }
}

/// The command that goes on with it.
pub(crate) fn resume_hint(record: &RunRecord) -> String {
    crate::folder::resume_command(&record.id, Path::new(&record.workspace))
}
