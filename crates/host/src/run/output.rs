//! Attending a payload: its output, its limits, its end.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use holon_agent::{AgentConversation, TurnResult};
use holon_core::event::{EventBody, OutputStream};
use holon_core::redact::RedactStream;
use holon_gateway::BudgetLimit;
use holon_sandbox::backend::RunningPayload;
use holon_sandbox::disk::{DiskLimit, DiskLimits, DiskWatch};
use holon_sandbox::isolation::{FinishedPayload, LaunchRefusal, PayloadEnding};

use super::ActiveRun;
use super::native_run::NativeRunHandle;
use super::printed_words::PrintedWords;
use super::supervised;
use crate::adapter::events::{AgentEnd, AgentEventSummary};
use crate::error::HostError;

/// How often limits are looked at.
pub(super) const TICK: Duration = Duration::from_millis(25);
/// How long a payload may take to end after being asked to.
const GRACE: Duration = Duration::from_secs(3);
/// Pieces of output (of at most 64 KiB) handled between two looks at the limits.
const CHUNKS_PER_TICK: usize = 32;
/// Lines told as events; the rest of a talkative agent's output is in its log only.
const MAX_LINES: u64 = 20_000;
/// Longer lines are cut for events; the log has them whole.
const MAX_LINE: usize = 16 * 1024;
/// Lines that are read as an agent's events are longer: some hold whole files.
const MAX_EVENT: usize = 8 << 20;
/// Lines told of an agent that does not speak as it should.
const MAX_GARBAGE: u64 = 1_000;

/// What a payload may use while it is attended.
pub(super) struct Allowance {
    /// When it must be over.
    pub deadline: Instant,
    /// The whole time given, for messages.
    pub timeout: Duration,
    /// Longest silence.
    pub idle: Duration,
    /// Bytes of printed output.
    pub output_bytes: u64,
    /// What it may put on disk, and what was there before.
    pub disk: DiskLimits,
    pub already: DiskLimits,
}

/// Why the host ended a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PayloadStopCause {
    Timeout(Duration),
    Idle(Duration),
    Output(u64),
    Disk(DiskLimit),
    /// Of what the model may be asked for.
    Spent(BudgetLimit),
    /// The supervisor refused it and it did not leave.
    Supervised,
    Cancelled,
}

impl PayloadStopCause {
    /// Name and value of the limit, for events.
    pub(super) fn limit(&self) -> (&'static str, String) {
        match self {
            Self::Timeout(d) => ("timeout", format!("{}s", d.as_secs_f64())),
            Self::Idle(d) => ("idle_timeout", format!("{}s", d.as_secs_f64())),
            Self::Output(bytes) => ("output_mb", format!("{} MiB", bytes >> 20)),
            Self::Disk(DiskLimit::Bytes) => ("disk_mb", "bytes on disk".into()),
            Self::Disk(DiskLimit::Files) => ("files", "number of files".into()),
            Self::Disk(DiskLimit::Full) => ("disk", "the file system is nearly full".into()),
            Self::Spent(BudgetLimit::Requests) => ("rounds", "requests to the model".into()),
            Self::Spent(BudgetLimit::Tokens) => ("tokens", "tokens of the model".into()),
            Self::Spent(BudgetLimit::Cost) => ("cost", "money for the model".into()),
            Self::Supervised => ("supervisor", "stopped for a person".into()),
            Self::Cancelled => ("cancelled", "by request".into()),
        }
    }
}

/// How an attended payload ended.
pub(super) struct AttendedOutput {
    pub finished: FinishedPayload,
    pub stopped: Option<PayloadStopCause>,
    /// Why the model was about to be asked again when it was stopped, if it was.
    pub waits: Option<String>,
    /// What the native agent came to.
    pub thought: Option<(AgentConversation, TurnResult)>,
    /// What was heard from an agent that tells what it does.
    pub heard: Option<AgentEventSummary>,
    /// What one that does not tell that printed on standard output.
    pub printed: Option<PrintedWords>,
}

impl AttendedOutput {
    /// Whether an agent that thinks inside ended by itself and says that it is done.
    pub(super) fn is_done(&self) -> bool {
        let said = self.heard.as_ref().is_some_and(|heard| heard.end == Some(AgentEnd::Done));
        self.stopped.is_none() && said && self.finished.ending == PayloadEnding::Code(0)
    }
}

impl ActiveRun<'_> {
    /// Follows a payload to its end. `tell` says whether its lines become events.
    pub(super) fn attend(
        &mut self,
        mut payload: Box<dyn RunningPayload>,
        thinking: Option<NativeRunHandle>,
        allowance: &Allowance,
        watched: &[std::path::PathBuf],
        log: &Path,
        tell: bool,
    ) -> Result<AttendedOutput, HostError> {
        let chunks = read_output(payload.as_mut());
        let file =
            File::options().create(true).append(true).open(log).map_err(HostError::io("create", log))?;
        let mut printed =
            PrintedOutput::new(file, self.events.redactor().stream(), self.events.redactor().stream(), tell);
        if tell && self.foreign.reader.is_some() {
            printed.stdout.longest = MAX_EVENT;
        } else if tell && !self.is_native() {
            printed.words = Some(PrintedWords::default());
        }
        let mut disk = DiskWatch::start(watched.to_vec(), allowance.disk);
        let mut last_sign = Instant::now();
        let mut waits = None;
        let stopped = loop {
            match payload.wait(TICK) {
                // An agent that is told so may end before anybody looks.
                Ok(Some(_)) => break self.door_spent().map(PayloadStopCause::Spent),
                Ok(None) => {}
                Err(refusal) => return Err(not_started(&refusal)),
            }
            // Only so many at a time: a flood must not keep the limits below from being looked at.
            for (stream, bytes) in chunks.try_iter().take(CHUNKS_PER_TICK) {
                last_sign = Instant::now();
                self.tell(printed.take(stream, &bytes));
            }
            if let Some(by) = supervised::wish(self.folder.path()) {
                match &thinking {
                    Some(thinking) => thinking.take_over(by),
                    None => self.watched_takes_over(by),
                }
            }
            for body in if tell { self.watched_news() } else { Vec::new() } {
                last_sign = Instant::now();
                self.events.emit(body);
            }
            for body in thinking.iter().flat_map(NativeRunHandle::news) {
                waits = match &body {
                    EventBody::ModelWaiting { reason, .. } => Some(reason.clone()),
                    _ => None,
                };
                self.events.emit(body);
            }
            if thinking.as_ref().is_some_and(NativeRunHandle::stirred) {
                last_sign = Instant::now();
            }
            for body in if tell { self.door_news() } else { Vec::new() } {
                last_sign = Instant::now();
                match &body {
                    EventBody::ModelWaiting { reason, .. } => waits = Some(reason.clone()),
                    EventBody::ModelAnswered { error: None, .. } => waits = None,
                    _ => {}
                }
                self.events.emit(body);
            }
            if let Some(body) = if tell { self.door_silence() } else { None } {
                self.events.emit(body);
            }
            for body in if tell { self.network_news() } else { Vec::new() } {
                last_sign = Instant::now();
                self.events.emit(body);
            }
            if tell && self.watch_is_busy() {
                last_sign = Instant::now();
            }
            if tell {
                self.attend_screen(payload.as_mut());
            }
            let now = Instant::now();
            if self.cancel.is_cancelled() {
                break Some(PayloadStopCause::Cancelled);
            } else if now >= allowance.deadline {
                break Some(PayloadStopCause::Timeout(allowance.timeout));
            } else if now - last_sign >= allowance.idle {
                break Some(PayloadStopCause::Idle(allowance.idle));
            } else if let Some(limit) = self.door_spent() {
                break Some(PayloadStopCause::Spent(limit));
            } else if tell && self.overstays() {
                break Some(PayloadStopCause::Supervised);
            } else if printed.bytes > allowance.output_bytes {
                break Some(PayloadStopCause::Output(allowance.output_bytes));
            } else if let Some(limit) = disk.broken(allowance.already, || payload.processes()) {
                break Some(PayloadStopCause::Disk(limit));
            }
        };
        if let Some(stopped) = &stopped {
            let (limit, value) = stopped.limit();
            self.events.emit(EventBody::LimitHit { limit: limit.into(), value });
            thinking.iter().for_each(NativeRunHandle::stop);
            // A flood or a full disk gets no time to go on.
            if !matches!(stopped, PayloadStopCause::Disk(_) | PayloadStopCause::Output(_)) {
                payload.terminate();
                let _ = wait_draining(payload.as_mut(), &chunks, GRACE);
            }
        }
        // Readers may be blocked on a full channel while the payload goes away, so keep draining in between.
        let finisher = thread::spawn(move || payload.finish());
        for (stream, bytes) in chunks.iter() {
            if printed.bytes <= allowance.output_bytes {
                self.tell(printed.take(stream, &bytes));
            }
        }
        let rest = printed.end();
        self.tell(rest);
        let finished = finisher.join().map_err(|_| HostError::Walls {
            message: "the thread that ends payloads panicked".into(),
            hint: Some("this is a bug in Holon".into()),
        })?;
        let thought = thinking.and_then(|thinking| thinking.end(|body| self.events.emit(body)));
        let thought = thought.map(|(conversation, ended, supervision)| {
            self.supervision = Some(supervision);
            (conversation, ended)
        });
        let heard = self.foreign.reader.take().filter(|_| tell).map(|reader| reader.heard().clone());
        let printed = printed.words;
        Ok(AttendedOutput { finished, stopped, waits, thought, heard, printed })
    }

    fn tell(&mut self, lines: Vec<(OutputStream, String)>) {
        for (stream, text) in lines {
            let reader = self.foreign.reader.as_mut().filter(|_| stream == OutputStream::Stdout);
            match reader.and_then(|reader| reader.line(&text)) {
                Some(bodies) => bodies.into_iter().for_each(|body| {
                    self.watched_hears(&body);
                    self.events.emit(body);
                }),
                None if self.foreign.garbage() > MAX_GARBAGE => {}
                None => self.events.emit(EventBody::Output { stream, text: cut(text) }),
            }
        }
    }
}

/// A line as long as it is told.
fn cut(mut text: String) -> String {
    let end = (0..=text.len().min(MAX_LINE)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.truncate(end);
    text
}

/// Waits for a payload that was asked to end, throwing away what it still prints.
fn wait_draining(
    payload: &mut dyn RunningPayload,
    chunks: &Receiver<(OutputStream, Vec<u8>)>,
    limit: Duration,
) -> Option<()> {
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline {
        if !matches!(payload.wait(TICK), Ok(None)) {
            return Some(());
        }
        chunks.try_iter().for_each(drop);
    }
    None
}

/// The walls stood, but the command did not start.
pub(super) fn not_started(refusal: &LaunchRefusal) -> HostError {
    HostError::Walls { message: refusal.to_string(), hint: refusal.remedy().map(str::to_owned) }
}

pub(super) fn read_output(payload: &mut dyn RunningPayload) -> Receiver<(OutputStream, Vec<u8>)> {
    let (sender, receiver) = sync_channel(64);
    if let Some((stdout, stderr)) = payload.take_output() {
        pump(stdout, OutputStream::Stdout, sender.clone());
        pump(stderr, OutputStream::Stderr, sender);
    }
    receiver
}

fn pump(mut from: Box<dyn Read + Send>, stream: OutputStream, to: SyncSender<(OutputStream, Vec<u8>)>) {
    thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(n) = from.read(&mut buffer) {
            if n == 0 || to.send((stream, buffer[..n].to_vec())).is_err() {
                break;
            }
        }
    });
}

/// Printed output on its way into the log and the events: redacted first, then cut into lines.
pub(super) struct PrintedOutput {
    log: File,
    pub(super) bytes: u64,
    /// Lines that may still be told.
    telling: u64,
    /// Keeps what is printed on standard output, where that may become an artifact.
    words: Option<PrintedWords>,
    stdout: OutputHalf,
    stderr: OutputHalf,
}

struct OutputHalf {
    redactor: RedactStream,
    line: Vec<u8>,
    longest: usize,
}

impl PrintedOutput {
    pub(super) fn new(log: File, stdout: RedactStream, stderr: RedactStream, tell: bool) -> Self {
        let half = |redactor| OutputHalf { redactor, line: Vec::new(), longest: MAX_LINE };
        let telling = if tell { MAX_LINES } else { 0 };
        Self { log, bytes: 0, telling, words: None, stdout: half(stdout), stderr: half(stderr) }
    }

    pub(super) fn take(&mut self, stream: OutputStream, bytes: &[u8]) -> Vec<(OutputStream, String)> {
        self.bytes += bytes.len() as u64;
        let half = if stream == OutputStream::Stdout { &mut self.stdout } else { &mut self.stderr };
        let mut clean = Vec::with_capacity(bytes.len());
        half.redactor.push(bytes, &mut clean);
        if let Some(words) = self.words.as_mut().filter(|_| stream == OutputStream::Stdout) {
            words.push(&clean);
        }
        let (lines, counted) = (half.lines(&clean, stream), half.longest == MAX_LINE);
        let _ = self.log.write_all(&clean);
        if counted { self.told(lines) } else { lines }
    }

    fn told(&mut self, mut lines: Vec<(OutputStream, String)>) -> Vec<(OutputStream, String)> {
        let before = self.telling;
        lines.truncate(usize::try_from(before).unwrap_or(usize::MAX));
        self.telling -= lines.len() as u64;
        if before > 0 && self.telling == 0 {
            lines.push((OutputStream::Stderr, "… further output is in evidence/agent.log only".to_owned()));
        }
        lines
    }

    pub(super) fn end(&mut self) -> Vec<(OutputStream, String)> {
        let mut all = Vec::new();
        for (stream, half) in
            [(OutputStream::Stdout, &mut self.stdout), (OutputStream::Stderr, &mut self.stderr)]
        {
            let mut clean = Vec::new();
            half.redactor.flush(&mut clean);
            let _ = self.log.write_all(&clean);
            if let Some(words) = self.words.as_mut().filter(|_| stream == OutputStream::Stdout) {
                words.push(&clean);
            }
            all.extend(half.lines(&clean, stream));
            if !half.line.is_empty() {
                let line = std::mem::take(&mut half.line);
                all.push((stream, text(&line)));
            }
        }
        self.told(all)
    }
}

impl OutputHalf {
    fn lines(&mut self, bytes: &[u8], stream: OutputStream) -> Vec<(OutputStream, String)> {
        let mut found = Vec::new();
        for part in bytes.split_inclusive(|b| *b == b'\n') {
            let room = self.longest.saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") {
                found.push((stream, text(&self.line)));
                self.line.clear();
            }
        }
        found
    }
}

fn text(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    String::from_utf8_lossy(line).into_owned()
}
