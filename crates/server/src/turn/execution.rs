//! Carrying a turn out: model, hands and policy together, everything told as it happens.

use std::sync::Arc;
use std::time::Instant;

use holon_agent::supervise::TakeoverRequests;
use holon_agent::{
    AgentConversation, DeferToPerson, NativeAgent, PersonReply, SupervisedTurn, SupervisionSession,
    SupervisorHook, TurnResult, TurnSettings, prompt,
};
use holon_core::Profile;
use holon_core::event::EventBody;
use holon_host::HostError;
use holon_host::thread::{ChatModelSession, LateToolExecutor, ThreadFolder, project_notes, supervision};
use holon_model::ModelCancel;
use holon_store::{StoredThread, StoredTurn, StoredUpload};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::checkpointer::{ConversationCheckpointer, aside, conversation};
use super::end::{TurnEnding, conclude};
use super::event_writer::{EventWriterInput, TurnEventSender, TurnEventWriter};
use super::notes::{notes, seen_as};
use super::report::{self, DECISIONS, REPORT};
use super::title;
use super::traced::{TracedEventSink, TurnDescription, failed_early};
use crate::app::AppState;
use crate::live_threads::LiveThreadHandle;
use crate::setup::ReplySource;
use crate::words::ReplyLanguage;

/// A turn that has begun.
pub(crate) struct TurnExecution {
    pub(crate) app: Arc<AppState>,
    pub(crate) held: LiveThreadHandle,
    pub(crate) thread: StoredThread,
    /// The turns before this one.
    pub(crate) before: Vec<StoredTurn>,
    pub(crate) number: u64,
    pub(crate) mode: String,
    pub(crate) language: ReplyLanguage,
    /// Whether the thread needs a title.
    pub(crate) first: bool,
    /// What the person said when the turn began.
    pub(crate) asked: String,
    /// Stops it; whoever wants that finds it with the live thread.
    pub(crate) cancel: ModelCancel,
}

/// What a turn begins with.
pub(crate) enum TurnBeginning {
    /// What a person says.
    Message {
        /// The words.
        text: String,
        /// What came with them.
        files: Vec<StoredUpload>,
    },
    /// What a person answered.
    Answers(Vec<PersonReply>),
    /// The supervisor's report is wanted.
    Report,
}

/// What was prepared for a turn.
struct PreparedTurn {
    mind: ChatModelSession,
    settings: TurnSettings,
    hands: LateToolExecutor,
    supervision: SupervisionSession,
    /// What people should know about its settings.
    warnings: Vec<String>,
}

/// What a turn thinks with.
#[derive(Clone, Copy)]
struct ModelTurn<'a> {
    mind: &'a ChatModelSession,
    settings: &'a TurnSettings,
    hands: &'a LateToolExecutor,
}

/// What came of it.
struct ModelTurnResult {
    ended: TurnResult,
    /// The supervisor's words, when it stopped the turn.
    report: Option<String>,
    supervision: SupervisionSession,
}

impl TurnExecution {
    /// Brings the turn to its end, whatever that is; everything it came to is stored then.
    pub(crate) async fn go(self, way: TurnBeginning) {
        let began = Instant::now();
        let (tell, told) = unbounded_channel();
        let scribe = TurnEventWriter::new(
            Arc::clone(&self.app),
            self.held.clone(),
            self.thread.id.clone(),
            self.number,
            self.mode.clone(),
        );
        let cancel = self.cancel.clone();
        let writing = tokio::spawn(async move {
            let written = scribe.write_all(told).await;
            // Nothing more is done that cannot be written down.
            written.inspect_err(|_| cancel.cancel())
        });
        let ending = self.work(way, tell).await;
        // Every sender is gone now, so this ends; what it wrote comes before the end of the turn.
        let (ending, usage) = match writing.await {
            Ok(Ok(usage)) => (ending, usage),
            Ok(Err(e)) => (ending.unwritten(e.into()), None),
            Err(_) => (ending, None),
        };
        let failed = ending.failed();
        conclude(&self, ending, usage).await;
        self.app.metrics.turn(&self.mode, began.elapsed(), failed);
    }

    async fn work(&self, way: TurnBeginning, tell: UnboundedSender<EventWriterInput>) -> TurnEnding {
        let (text, files, answers) = match way {
            TurnBeginning::Report => return TurnEnding::report(self.report().await),
            TurnBeginning::Message { text, files } => (text, files, None),
            TurnBeginning::Answers(answers) => (String::new(), Vec::new(), Some(answers)),
        };
        let mut talk = match conversation(&self.app, &self.thread.id).await {
            Ok(talk) => talk,
            Err(problem) => return self.failed_before("internal", problem.message),
        };
        if let (Some(_), Some(pending)) = (&answers, &talk.pending) {
            let _ = tell.send(EventWriterInput::Waited(pending.interrupt.asks.clone()));
        }
        if let Err(problem) = self.app.check_workspace(&self.thread) {
            let hint = problem.hint.iter().map(|hint| format!("; {hint}")).collect::<String>();
            return self.failed_before(&problem.code, problem.message + &hint);
        }
        let prepared = match aside(|| self.prepare(&files)) {
            Ok(prepared) => prepared,
            Err(e) => {
                let code = if matches!(e, HostError::Model(_)) { "model" } else { e.kind() };
                return self.failed_before(code, with_hint(&e));
            }
        };
        if self.first {
            let asks = matches!(self.app.setup.minds, ReplySource::Network { titles: true, .. });
            let mind = asks.then(|| prepared.mind.clone());
            let (app, held) = (Arc::clone(&self.app), self.held.clone());
            tokio::spawn(title::make(app, held, self.thread.id.clone(), text.clone(), mind));
        }
        let PreparedTurn { mind, settings, hands, supervision, warnings } = prepared;
        for message in warnings {
            let _ = tell.send(EventWriterInput::Body(Box::new(EventBody::Warning { message })));
        }
        let thinking = ModelTurn { mind: &mind, settings: &settings, hands: &hands };
        let thought = self.think(thinking, supervision, &mut talk, &text, answers, tell).await;
        let stopped = hands.stopped_by();
        let finished = tokio::task::spawn_blocking(move || hands.finish()).await;
        let changed = match finished {
            Ok(Ok(changed)) => Ok(changed),
            Ok(Err(e)) => Err(with_hint(&e)),
            Err(e) => Err(e.to_string()),
        };
        let kept = report::kept(&thought.supervision, self.number);
        TurnEnding::of(thought.ended, stopped, changed).supervised(kept, thought.report)
    }

    /// Nothing could be begun; whoever watches hears of it all the same.
    fn failed_before(&self, code: &str, words: String) -> TurnEnding {
        let profile = self.app.profile(&self.mode, &self.thread).ok();
        let intent = profile.as_ref().map_or("", |profile| profile.model.intent.as_str());
        let (thread, number) = (self.thread.id.as_str(), self.number);
        let about = TurnDescription { mode: &self.mode, intent, thread, number, model: None };
        failed_early(self.app.metrics.observer().cloned(), &about, code, &self.app.redactor);
        TurnEnding::failed_before(code, words)
    }

    /// What the supervisor came to in the turn before, without asking any model.
    async fn report(&self) -> String {
        let (user, id) = (self.thread.user.clone(), self.thread.id.clone());
        let read = self.app.store.read(move |backend| {
            let records = backend.events_of_kind(&user, Some(&id), "supervisor", "", DECISIONS)?;
            Ok((backend.kept(&id, REPORT)?, records))
        });
        let Ok((Some(kept), rows)) = read.await else { return self.language.no_supervisor() };
        let Ok(kept) = serde_json::from_str::<Value>(&kept) else { return self.language.no_supervisor() };
        let record = |row: &holon_store::EventRow| {
            serde_json::from_str::<Value>(&row.data).ok()?.get("record").cloned()
        };
        let records: Vec<Value> = rows.iter().filter_map(record).collect();
        report::words(&kept, &records, self.language)
    }

    async fn think(
        &self,
        with: ModelTurn<'_>,
        supervision: SupervisionSession,
        talk: &mut AgentConversation,
        text: &str,
        answers: Option<Vec<PersonReply>>,
        tell: UnboundedSender<EventWriterInput>,
    ) -> ModelTurnResult {
        let cancel = &self.cancel;
        // Whoever wanted everything to end before this was set has not been heard.
        if self.app.is_ending() {
            cancel.cancel();
        }
        let takeovers = TakeoverRequests::default();
        self.held.live.set_takeovers(Some(takeovers.clone()));
        let teller = TurnEventSender(tell.clone());
        let around = with.hands.surroundings(self.app.redactor.clone(), takeovers);
        let steward = SupervisedTurn::new(supervision, around, &teller);
        let traced = TracedEventSink::new(self.app.metrics.observer().cloned(), &teller);
        let keeper = ConversationCheckpointer::new(self.thread.id.clone(), tell, &steward, talk);
        let agent = NativeAgent::new(&with.mind.provider, with.hands, with.settings, cancel)
            .watched_by(&traced)
            .under(&keeper)
            .asking(&DeferToPerson);
        let ended = match answers {
            None => agent.turn(talk, text).await,
            Some(answers) => agent.resume(talk, answers).await,
        };
        self.held.live.set_takeovers(None);
        self.held.live.set_cancel(None);
        let about = TurnDescription {
            mode: &self.mode,
            intent: &with.settings.profile.model.intent,
            thread: self.thread.id.as_str(),
            number: self.number,
            model: Some(&with.mind.info),
        };
        traced.end(&about, &ended, &self.app.redactor);
        let report = steward.report();
        ModelTurnResult { ended, report, supervision: steward.finish() }
    }

    fn prepare(&self, files: &[StoredUpload]) -> Result<PreparedTurn, HostError> {
        let profile = self.app.profile(&self.mode, &self.thread)?;
        let folder = self.app.folder(&self.thread)?;
        let mind = self.app.model_session(&self.thread, &profile, folder.model().as_deref())?;
        folder.keep_model(&mind.info.id)?;
        self.bring(&folder, files)?;
        let settings = self.settings(&profile, &mind, &folder, files)?;
        let turn = holon_host::thread::ThreadTurn {
            places: self.app.setup.places.clone(),
            folder,
            number: self.number,
            profile,
            name: format!("{}-{}", self.thread.id, self.number),
            around: self.app.setup.around.clone(),
        };
        let (supervision, warnings) = supervision(&self.app.setup.places, &turn, &self.asked)?;
        let hands = LateToolExecutor::new(turn, Arc::clone(&self.app.room));
        Ok(PreparedTurn { mind, settings, hands, supervision, warnings })
    }

    fn settings(
        &self,
        profile: &Profile,
        mind: &ChatModelSession,
        folder: &ThreadFolder,
        files: &[StoredUpload],
    ) -> Result<TurnSettings, HostError> {
        let project = project_notes(folder.workspace());
        let mut system = prompt::chat(profile, project.as_deref())
            .map_err(|e| HostError::usage(e.to_string(), "this is a bug in Holon"))?;
        system.push_str(&notes(&self.mode, &self.before, files));
        let mut settings = TurnSettings::for_chat(profile.clone(), system, mind.info.id.clone());
        settings.window = mind.window;
        settings.max_output = mind.max_output;
        settings.prices = mind.prices;
        settings.limits.rounds = self.app.setup.limits.iterations;
        Ok(settings)
    }

    /// Puts uploads where the hands see them.
    fn bring(&self, folder: &ThreadFolder, files: &[StoredUpload]) -> Result<(), HostError> {
        if files.is_empty() {
            return Ok(());
        }
        let to = folder.uploads()?;
        let mut names = files.iter().map(|file| (file.id.as_str(), seen_as(file)));
        names.try_for_each(|(id, name)| self.app.uploads.bring(id, &to.join(name)))
    }
}

fn with_hint(e: &HostError) -> String {
    match e.hint() {
        Some(hint) => format!("{e}; {hint}"),
        None => e.to_string(),
    }
}
