//! Carrying a turn out: model, hands and policy together, everything told as it happens.

use std::sync::Arc;
use std::time::Instant;

use holon_agent::{Agent, Answer as Given, Conversation, Ended, Later, Settings, prompt};
use holon_core::Profile;
use holon_host::HostError;
use holon_host::thread::{ChatMind, LateHands, ThreadFolder, project_notes};
use holon_model::Cancel;
use holon_store::{Thread, Turn, Upload};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::end::{Ending, conclude};
use super::keeper::Keeper;
use super::notes::{notes, seen_as};
use super::scribe::{Scribe, Teller, Told};
use super::start::conversation;
use super::title;
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
        let writing = tokio::spawn(scribe.write_all(told));
        let ending = self.work(way, tell).await;
        // Every sender is gone now, so this ends; what it wrote comes before the end of the turn.
        let usage = match writing.await {
            Ok(Ok(usage)) => usage,
            Ok(Err(_)) | Err(_) => None,
        };
        let failed = ending.failed();
        conclude(&self, ending, usage).await;
        self.app.metrics.turn(&self.mode, began.elapsed(), failed);
    }

    async fn work(&self, way: Way, tell: UnboundedSender<Told>) -> Ending {
        let (text, files, answers) = match way {
            Way::Report => return Ending::report(self.language.no_supervisor()),
            Way::Message { text, files } => (text, files, None),
            Way::Answers(answers) => (String::new(), Vec::new(), Some(answers)),
        };
        let mut talk = match conversation(&self.app, &self.thread.id).await {
            Ok(talk) => talk,
            Err(problem) => return Ending::failed_before("internal", problem.message),
        };
        if let (Some(_), Some(pending)) = (&answers, &talk.pending) {
            let _ = tell.send(Told::Waited(pending.interrupt.asks.clone()));
        }
        let prepared = match self.prepare(&files) {
            Ok(prepared) => prepared,
            Err(e) => {
                let code = if matches!(e, HostError::Model(_)) { "model" } else { e.kind() };
                return Ending::failed_before(code, with_hint(&e));
            }
        };
        if self.first {
            let asks = matches!(self.app.setup.minds, Minds::Network { titles: true, .. });
            let mind = asks.then(|| prepared.mind.clone());
            let (app, held) = (Arc::clone(&self.app), self.held.clone());
            tokio::spawn(title::make(app, held, self.thread.id.clone(), text.clone(), mind));
        }
        let ended = self.think(&prepared, &mut talk, &text, answers, tell).await;
        let Prepared { hands, .. } = prepared;
        let stopped = hands.stopped_by();
        let finished = tokio::task::spawn_blocking(move || hands.finish()).await;
        let changed = match finished {
            Ok(Ok(changed)) => Ok(changed),
            Ok(Err(e)) => Err(with_hint(&e)),
            Err(e) => Err(e.to_string()),
        };
        Ending::of(ended, talk, stopped, changed)
    }

    async fn think(
        &self,
        prepared: &Prepared,
        talk: &mut Conversation,
        text: &str,
        answers: Option<Vec<Given>>,
        tell: UnboundedSender<Told>,
    ) -> Ended {
        let cancel = Cancel::default();
        self.held.live.set_cancel(Some(cancel.clone()));
        // Whoever wanted everything to end before this was set has not been heard.
        if self.app.is_ending() {
            cancel.cancel();
        }
        let keeper = Keeper { thread: self.thread.id.clone(), tell: tell.clone(), inner: None };
        let teller = Teller(tell);
        let agent = Agent::new(&prepared.mind.provider, &prepared.hands, &prepared.settings, &cancel)
            .watched_by(&teller)
            .under(&keeper)
            .asking(&Later);
        let ended = match answers {
            None => agent.turn(talk, text).await,
            Some(answers) => agent.resume(talk, answers).await,
        };
        self.held.live.set_cancel(None);
        ended
    }

    fn prepare(&self, files: &[Upload]) -> Result<Prepared, HostError> {
        let profile = self.app.profile(&self.mode, &self.thread)?;
        let mind = self.app.mind(&self.thread, &profile)?;
        let folder = self.app.folder(&self.thread)?;
        self.bring(&folder, files)?;
        let settings = self.settings(&profile, &mind, &folder, files)?;
        let turn = holon_host::thread::Turn {
            folder,
            number: self.number,
            profile,
            name: format!("{}-{}", self.thread.id, self.number),
            around: self.app.setup.around.clone(),
        };
        let hands = LateHands::new(turn, Arc::clone(&self.app.room));
        Ok(Prepared { mind, settings, hands })
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
        for file in files {
            let (from, target) = (self.app.upload_path(&file.id), to.join(seen_as(file)));
            std::fs::copy(&from, &target).map_err(HostError::io("copy", &from))?;
        }
        Ok(())
    }
}

fn with_hint(e: &HostError) -> String {
    match e.hint() {
        Some(hint) => format!("{e}; {hint}"),
        None => e.to_string(),
    }
}
