//! Baselines beside the agent: while it works, each check runs on the untouched tree, so that it is known before the
//! agent is done. A thread of its own, a tree, a user and a network of its own: neither sees the other.
//!
//! Not where the agent could reach into it (the host's network, walls without a private root), not where the tree would
//! have to be copied, and not on one core: there a baseline is made afterwards, when a check cannot be judged without.

use std::fs::{self, File};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use holon_checks::runner::unstopped;
use holon_checks::{CheckExecution, ReportLocations};
use holon_core::redact::Redactor;
use holon_model::ModelCancel;
use holon_sandbox::backend::RunningPayload;
use holon_sandbox::disk::DiskWatch;
use holon_sandbox::isolation::{Launcher, PayloadEnding, PayloadNetwork, SandboxJob};
use holon_sandbox::snapshot::SnapshotStrategy;

use super::ActiveRun;
use super::baseline::{BaselineKey, BaselineLock, BaselineStore, StoredBaseline};
use super::check_reports::fresh_reports;
use super::check_rewritten::rewritten;
use super::check_tree::{CheckTree, CheckedChange, TreeKind};
use super::checks::{OneCheck, read_run, said};
use super::output::{Allowance, PrintedOutput, TICK, read_output};
use super::snapshot::{RunStage, give};
use crate::error::HostError;

/// A baseline, and whether it was known.
pub(super) type BaselineReply = (StoredBaseline, bool);

/// Baselines that are being made.
pub(crate) struct BaselineRunner {
    commands: Vec<String>,
    news: Receiver<BaselineNews>,
    tell: Sender<BaselineNews>,
    got: Vec<BaselineReply>,
    /// No more are made.
    all_made: bool,
    /// Nobody needs them any more.
    stop: ModelCancel,
    /// Somebody waits for them.
    wanted: ModelCancel,
    thread: Option<JoinHandle<()>>,
}

/// What whoever waits for baselines is told.
enum BaselineNews {
    /// The next one.
    Made(BaselineReply),
    /// No more come.
    AllMade,
    /// Somebody does not want to wait any longer.
    LookAgain,
}

/// Says that no more come, however their making ends.
struct SaysAllMade(Sender<BaselineNews>);

impl Drop for SaysAllMade {
    fn drop(&mut self) {
        let _ = self.0.send(BaselineNews::AllMade);
    }
}

impl BaselineRunner {
    /// The baseline of a check, as soon as it is there; none when it cannot be had, or `over` says so.
    pub(super) fn answer(&mut self, command: &str, over: &ModelCancel) -> Option<BaselineReply> {
        self.answer_until(command, over, None)
    }

    /// The same, but not for ever.
    pub(super) fn answer_until(
        &mut self,
        command: &str,
        over: &ModelCancel,
        until: Option<Instant>,
    ) -> Option<BaselineReply> {
        let at = self.commands.iter().position(|known| known == command)?;
        self.wanted.cancel();
        let tell = self.tell.clone();
        let _word = over.on_cancel(move || drop(tell.send(BaselineNews::LookAgain)));
        while self.got.len() <= at && !self.all_made {
            let news = match until {
                // A deadline: the agent does not wait longer than that for what it can begin without.
                Some(until) => self.news.recv_timeout(until.saturating_duration_since(Instant::now())).ok(),
                None => self.news.recv().ok(),
            };
            match news? {
                BaselineNews::Made(answer) => self.got.push(answer),
                BaselineNews::AllMade => self.all_made = true,
                BaselineNews::LookAgain if over.is_cancelled() => return None,
                BaselineNews::LookAgain => {}
            }
        }
        self.got.get(at).cloned()
    }
}

impl Drop for BaselineRunner {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl ActiveRun<'_> {
    /// Starts the baselines of all checks, where there are some and they can run beside the agent. What goes wrong here is
    /// no reason to stop: whoever needs a baseline makes it.
    pub(super) fn begin_baselines(&mut self, stage: &mut RunStage) {
        if self.plan.profile.access.delivers() && cores() > 1 {
            // Needed after the agent, and idle until then.
            thread::spawn(holon_checks::definition::make_ready);
        }
        if self.beside.is_none() && self.baselines_fit(stage) {
            self.beside = self.baselines_beside(stage).ok().flatten();
        }
    }

    fn baselines_fit(&self, stage: &RunStage) -> bool {
        cores() > 1 && self.checks_fit_beside(stage)
    }

    /// Whether a check can run beside the agent, which must not reach into it.
    pub(super) fn checks_fit_beside(&self, stage: &RunStage) -> bool {
        self.plan.profile.access.delivers()
            && stage.backend.name() == "native"
            && !matches!(stage.snapshot.strategy(), SnapshotStrategy::Copy | SnapshotStrategy::Reflink)
            && self.network() != PayloadNetwork::Host
    }

    fn baselines_beside(&self, stage: &mut RunStage) -> Result<Option<BaselineRunner>, HostError> {
        let all = self.plan.checking();
        let Some(ground) = self.baseline_ground(stage).filter(|_| !all.is_empty()) else { return Ok(None) };
        let folder = self.folder.beside();
        let left = folder.join("output");
        let ground_of_job = self.check_ground(&format!("{}-baseline", self.record.id));
        fs::create_dir_all(&left).map_err(HostError::io("create", &left))?;
        give(&left, &ground_of_job.identity)?;
        let commands: Vec<String> = all.iter().map(|(_, command)| command.clone()).collect();
        let layers = folder.join("tree");
        let mut tree = self.check_tree_in(&layers, stage, &ground_of_job.identity)?;
        let job = tree.on(stage, |stage| self.check_job(stage, "", ground_of_job, &left));
        let checks = all.iter().enumerate().map(|(at, (origin, command))| {
            let check = OneCheck { number: at + 1, origin: *origin, command };
            BaselineCheck {
                command: command.clone(),
                log: self.folder.evidence().join(check.log("-baseline")),
                limit: check.limit(),
                places: ReportLocations::of(command, &self.plan.check_reports).ok(),
            }
        });
        let (stop, wanted) = (ModelCancel::default(), ModelCancel::default());
        let making = BaselineThread {
            checks: checks.collect(),
            kept: BaselineStore::of(self.host),
            ground,
            workspace: self.plan.workspace.clone(),
            tree,
            job,
            launcher: self.host.launcher.clone(),
            follow: PayloadFollowing {
                redactor: self.events.redactor().clone(),
                allowance: self.allowance(stage, Instant::now()),
                folder,
                stop: vec![stop.clone(), self.cancel.clone()],
            },
            wanted: wanted.clone(),
        };
        let (tell, news) = channel();
        let said = SaysAllMade(tell.clone());
        let span = tracing::Span::current();
        let make = move || span.in_scope(|| making.all(&said.0));
        let thread = thread::Builder::new().name("baseline".into()).spawn(make).ok();
        Ok(Some(BaselineRunner {
            commands,
            news,
            tell,
            got: Vec::new(),
            all_made: false,
            stop,
            wanted,
            thread,
        }))
    }
}

/// How many cores there are to use.
fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

struct BaselineCheck {
    command: String,
    log: PathBuf,
    limit: Duration,
    places: Option<ReportLocations>,
}

/// Everything the thread needs.
struct BaselineThread {
    checks: Vec<BaselineCheck>,
    kept: BaselineStore,
    ground: BaselineKey,
    workspace: PathBuf,
    tree: CheckTree,
    job: SandboxJob,
    launcher: Launcher,
    follow: PayloadFollowing,
    wanted: ModelCancel,
}

impl BaselineThread {
    fn is_over(&self) -> bool {
        self.follow.is_over()
    }

    /// Makes all of them, one after the other in one tree, as they will run on the result.
    fn all(mut self, answers: &Sender<BaselineNews>) {
        let commands: Vec<String> = self.checks.iter().map(|check| check.command.clone()).collect();
        let keys = self.ground.keys(&commands);
        if self.tell_known(keys.as_deref(), answers) {
            return;
        }
        let Some(_alone) = self.room(keys.as_deref()) else { return };
        // Somebody else may have made them meanwhile.
        if self.tell_known(keys.as_deref(), answers) {
            return;
        }
        let change = CheckedChange::of(None, &self.workspace, &commands);
        let mut made = Vec::new();
        for at in 0..self.checks.len() {
            let Ok(Some(kept)) = self.one(at, &change) else { break };
            made.push(kept.clone());
            if answers.send(BaselineNews::Made((kept, false))).is_err() {
                break;
            }
        }
        // Kept is what was the same before and after: people work in this tree.
        if let Some(keys) = keys.filter(|keys| self.ground.keys(&commands).as_ref() == Some(keys)) {
            keys.iter().zip(&made).for_each(|(key, kept)| self.kept.put(key, kept));
        }
    }

    /// Tells what is kept, if that is all of it.
    fn tell_known(&self, keys: Option<&[String]>, answers: &Sender<BaselineNews>) -> bool {
        let known: Option<Vec<StoredBaseline>> =
            keys.and_then(|keys| keys.iter().map(|key| self.kept.get(key)).collect());
        let Some(known) = known else { return false };
        known.into_iter().for_each(|kept| drop(answers.send(BaselineNews::Made((kept, true)))));
        true
    }

    /// Waits until nobody else makes these, and a core is left for them, or somebody waits for them here.
    fn room(&self, keys: Option<&[String]>) -> Option<[Option<BaselineLock>; 2]> {
        let mut alone = None;
        while !self.is_over() {
            if let (Some(key), true) = (keys.and_then(<[_]>::last), alone.is_none()) {
                alone = self.kept.try_alone(&key[..key.len().min(2)]);
            }
            if alone.is_some() || keys.is_none() {
                let mut cores = (1..cores()).map(|core| self.kept.try_alone(&format!("core-{core}")));
                let core = cores.find_map(|core| core);
                if core.is_some() || self.wanted.is_cancelled() {
                    return Some([alone, core]);
                }
            }
            // Other processes hold these by locks on several files, and such a lock tells nobody when it goes.
            thread::sleep(TICK);
        }
        None
    }

    /// Makes one; nothing when nobody needs it any more.
    fn one(&mut self, at: usize, change: &CheckedChange<'_>) -> Result<Option<StoredBaseline>, HostError> {
        self.tree.renew(&mut self.job)?;
        let check = &self.checks[at];
        self.job.argv = ["/bin/sh", "-c", &unstopped(&check.command)].map(Into::into).to_vec();
        let began = Instant::now();
        let Ok(payload) = self.launcher.spawn(&self.job) else { return Ok(None) };
        let ending = self.follow.to_end(Box::new(payload), &check.log, check.limit)?;
        if self.is_over() {
            return Ok(None);
        }
        let rewritten = rewritten(change, self.tree.snapshot(), TreeKind::Base);
        let reports = match &check.places {
            Some(places) => {
                let mut seen = std::mem::take(&mut self.tree.seen);
                let fresh = fresh_reports(change, self.tree.snapshot(), TreeKind::Base, places, &mut seen);
                self.tree.seen = seen;
                fresh
            }
            None => Default::default(),
        };
        let (report, told) = read_run(&check.command, &check.log, &reports);
        let said = said(&check.log);
        let exit = match ending {
            PayloadEnding::Code(code) => Some(code),
            PayloadEnding::Signal(_) | PayloadEnding::Killed => None,
        };
        let duration_ms = began.elapsed().as_millis() as u64;
        Ok(Some(StoredBaseline { ran: CheckExecution { exit, report, rewritten, told }, duration_ms, said }))
    }
}

/// What is needed to follow a payload beside the agent.
pub(super) struct PayloadFollowing {
    pub(super) redactor: Redactor,
    pub(super) allowance: Allowance,
    /// Where it writes.
    pub(super) folder: PathBuf,
    /// Any of these ends it.
    pub(super) stop: Vec<ModelCancel>,
}

impl PayloadFollowing {
    fn is_over(&self) -> bool {
        self.stop.iter().any(ModelCancel::is_cancelled)
    }

    /// Follows a payload to its end, within the limits of every payload; what it prints goes to a log.
    pub(super) fn to_end(
        &self,
        mut payload: Box<dyn RunningPayload>,
        log: &Path,
        limit: Duration,
    ) -> Result<PayloadEnding, HostError> {
        let chunks = read_output(payload.as_mut());
        let file = File::options().create(true).append(true).open(log);
        let file = file.map_err(HostError::io("create", log))?;
        let mut printed = PrintedOutput::new(file, self.redactor.stream(), self.redactor.stream(), false);
        let mut disk = DiskWatch::start(vec![self.folder.clone()], self.allowance.disk);
        let (began, mut last_sign) = (Instant::now(), Instant::now());
        // One that is not needed, or too long, is ended at once: it says nothing.
        let stopped = loop {
            if !matches!(payload.wait(TICK), Ok(None)) {
                break false;
            }
            for (stream, bytes) in chunks.try_iter() {
                last_sign = Instant::now();
                printed.take(stream, &bytes);
            }
            if self.is_over()
                || began.elapsed() >= limit
                || last_sign.elapsed() >= self.allowance.idle
                || printed.bytes > self.allowance.output_bytes
                || disk.broken(self.allowance.already, || payload.processes()).is_some()
            {
                break true;
            }
        };
        let finisher = thread::spawn(move || payload.finish());
        for (stream, bytes) in chunks.iter() {
            if printed.bytes <= self.allowance.output_bytes {
                printed.take(stream, &bytes);
            }
        }
        printed.end();
        let ending = finisher.join().map_or(PayloadEnding::Killed, |finished| finished.ending);
        Ok(if stopped { PayloadEnding::Killed } else { ending })
    }
}
