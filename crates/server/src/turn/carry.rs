//! Carrying a turn out: model, hands and policy together, everything told as it happens.

use std::sync::Arc;
use std::time::Instant;

use holon_agent::supervise::Takeovers;
use holon_agent::{
    Agent, Answer as Given, Conversation, Ended, Later, Settings, Steward, Supervised, Supervision, prompt,
};
use holon_core::Profile;
use holon_core::event::Body;
use holon_host::HostError;
use holon_host::thread::{ChatMind, LateHands, ThreadFolder, project_notes, supervision};
use holon_model::Cancel;
use holon_store::{Thread, Turn, Upload};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::end::{Ending, conclude};
use super::keeper::{Keeper, aside, conversation};
use super::notes::{notes, seen_as};
use super::report::{self, DECISIONS, REPORT};
use super::scribe::{Scribe, Teller, Told};
use super::title;
use super::traced::{About, Traced, failed_early};
use crate::app::App;
use crate::live::Held;
use crate::setup::Minds;
use crate::words::Language;

/// A turn that has begun.
pub(crate) struct Carry {
    pub(crate) app: Arc<App>,
    pub(crate) held: Held,
    pub(crate) thread: Thread,
    /// The turns before this one.
    pub(crate) before: Vec<Turn>,
    pub(crate) number: u64,
    pub(crate) mode: String,
    pub(crate) language: Language,
    /// Whether the thread needs a title.
    pub(crate) first: bool,
    /// What the person said when the turn began.
    pub(crate) asked: String,
    /// Stops it; whoever wants that finds it with the live thread.
    pub(crate) cancel: Cancel,
}

/// What a turn begins with.
pub(crate) enum Way {
    /// What a person says.
    Message {
        /// The words.
        text: String,
        /// What came with them.
        files: Vec<Upload>,
    },
    /// What a person answered.
    Answers(Vec<Given>),
    /// The supervisor's report is wanted.
    Report,
}

/// What was prepared for a turn.
struct Prepared {
    mind: ChatMind,
    settings: Settings,
    hands: LateHands,
    supervision: Supervision,
    /// What people should know about its settings.
    warnings: Vec<String>,
}

/// What a turn thinks with.
#[derive(Clone, Copy)]
struct Thinking<'a> {
    mind: &'a ChatMind,
    settings: &'a Settings,
    hands: &'a LateHands,
}

/// What came of it.
struct Thought {
    ended: Ended,
    /// The supervisor's words, when it stopped the turn.
    report: Option<String>,
    supervision: Supervision,
}

impl Carry {
    /// Brings the turn to its end, whatever that is; everything it came to is stored then.
    pub(crate) async fn go(self, way: Way) {
        let began = Instant::now();
        let (tell, told) = unbounded_channel();
        let scribe = Scribe::new(
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

    async fn work(&self, way: Way, tell: UnboundedSender<Told>) -> Ending {
        let (text, files, answers) = match way {
            Way::Report => return Ending::report(self.report().await),
            Way::Message { text, files } => (text, files, None),
            Way::Answers(answers) => (String::new(), Vec::new(), Some(answers)),
        };
        let mut talk = match conversation(&self.app, &self.thread.id).await {
            Ok(talk) => talk,
            Err(problem) => return self.failed_before("internal", problem.message),
        };
        if let (Some(_), Some(pending)) = (&answers, &talk.pending) {
            let _ = tell.send(Told::Waited(pending.interrupt.asks.clone()));
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
            let asks = matches!(self.app.setup.minds, Minds::Network { titles: true, .. });
            let mind = asks.then(|| prepared.mind.clone());
            let (app, held) = (Arc::clone(&self.app), self.held.clone());
            tokio::spawn(title::make(app, held, self.thread.id.clone(), text.clone(), mind));
        }
        let Prepared { mind, settings, hands, supervision, warnings } = prepared;
        for message in warnings {
            let _ = tell.send(Told::Body(Box::new(Body::Warning { message })));
        }
        let thinking = Thinking { mind: &mind, settings: &settings, hands: &hands };
        let thought = self.think(thinking, supervision, &mut talk, &text, answers, tell).await;
        let stopped = hands.stopped_by();
        let finished = tokio::task::spawn_blocking(move || hands.finish()).await;
        let changed = match finished {
            Ok(Ok(changed)) => Ok(changed),
            Ok(Err(e)) => Err(with_hint(&e)),
            Err(e) => Err(e.to_string()),
        };
        let kept = report::kept(&thought.supervision, self.number);
        Ending::of(thought.ended, stopped, changed).supervised(kept, thought.report)
    }

    /// Nothing could be begun; whoever watches hears of it all the same.
    fn failed_before(&self, code: &str, words: String) -> Ending {
        let profile = self.app.profile(&self.mode, &self.thread).ok();
        let intent = profile.as_ref().map_or("", |profile| profile.model.intent.as_str());
        let (thread, number) = (self.thread.id.as_str(), self.number);
        let about = About { mode: &self.mode, intent, thread, number, model: None };
        failed_early(self.app.metrics.observer().cloned(), &about, code, &self.app.redactor);
        Ending::failed_before(code, words)
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
        with: Thinking<'_>,
        supervision: Supervision,
        talk: &mut Conversation,
        text: &str,
        answers: Option<Vec<Given>>,
        tell: UnboundedSender<Told>,
    ) -> Thought {
        let cancel = &self.cancel;
        // Whoever wanted everything to end before this was set has not been heard.
        if self.app.is_ending() {
            cancel.cancel();
        }
        let takeovers = Takeovers::default();
        self.held.live.set_takeovers(Some(takeovers.clone()));
        let teller = Teller(tell.clone());
        let around = with.hands.surroundings(self.app.redactor.clone(), takeovers);
        let steward = Supervised::new(supervision, around, &teller);
        let traced = Traced::new(self.app.metrics.observer().cloned(), &teller);
        let keeper = Keeper::new(self.thread.id.clone(), tell, &steward, talk);
        let agent = Agent::new(&with.mind.provider, with.hands, with.settings, cancel)
            .watched_by(&traced)
            .under(&keeper)
            .asking(&Later);
        let ended = match answers {
            None => agent.turn(talk, text).await,
            Some(answers) => agent.resume(talk, answers).await,
        };
        self.held.live.set_takeovers(None);
        self.held.live.set_cancel(None);
        let about = About {
            mode: &self.mode,
            intent: &with.settings.profile.model.intent,
            thread: self.thread.id.as_str(),
            number: self.number,
            model: Some(&with.mind.info),
        };
        traced.end(&about, &ended, &self.app.redactor);
        let report = steward.report();
        Thought { ended, report, supervision: steward.finish() }
    }

    fn prepare(&self, files: &[Upload]) -> Result<Prepared, HostError> {
        let profile = self.app.profile(&self.mode, &self.thread)?;
        let folder = self.app.folder(&self.thread)?;
        let mind = self.app.mind(&self.thread, &profile, folder.model().as_deref())?;
        folder.keep_model(&mind.info.id)?;
        self.bring(&folder, files)?;
        let settings = self.settings(&profile, &mind, &folder, files)?;
        let turn = holon_host::thread::Turn {
            places: self.app.setup.places.clone(),
            folder,
            number: self.number,
            profile,
            name: format!("{}-{}", self.thread.id, self.number),
            around: self.app.setup.around.clone(),
        };
        let (supervision, warnings) = supervision(&self.app.setup.places, &turn, &self.asked)?;
        let hands = LateHands::new(turn, Arc::clone(&self.app.room));
        Ok(Prepared { mind, settings, hands, supervision, warnings })
    }

    fn settings(
        &self,
        profile: &Profile,
        mind: &ChatMind,
        folder: &ThreadFolder,
        files: &[Upload],
    ) -> Result<Settings, HostError> {
        let project = project_notes(folder.workspace());
        let mut system = prompt::chat(profile, project.as_deref())
            .map_err(|e| HostError::usage(e.to_string(), "this is a bug in Holon"))?;
        system.push_str(&notes(&self.mode, &self.before, files));
        let mut settings = Settings::for_chat(profile.clone(), system, mind.info.id.clone());
        settings.window = mind.window;
        settings.max_output = mind.max_output;
        settings.prices = mind.prices;
        settings.limits.rounds = self.app.setup.limits.iterations;
        Ok(settings)
    }

    /// Puts uploads where the hands see them.
    fn bring(&self, folder: &ThreadFolder, files: &[Upload]) -> Result<(), HostError> {
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
