//! Credentials that a program of the user's prints: `{"token": …, "expires_at": …, "headers": {…}}`.

use std::io::{self, Read};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::Value;

use crate::credential::{Credential, CredentialProvider, TokenHeader};
use crate::error::LoginError;
use crate::renewal::Clock;
use crate::secret::{Secret, SecretMark};

/// The most bytes a program may print.
const MOST_BYTES: usize = 64 << 10;
/// The most seconds before its end that a credential is made anew.
const BEFORE: i64 = 60;
/// How long a program may take, unless said otherwise.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long what is left in its pipes may take, when nobody holds them any more.
const REST: Duration = Duration::from_secs(5);

/// A program that prints credentials; what it printed is kept in memory until shortly before its end.
pub struct CommandCredential {
    program: String,
    arguments: Vec<String>,
    form: TokenHeader,
    patience: Duration,
    clock: Clock,
    memory: Mutex<CommandMemory>,
}

#[derive(Default)]
struct CommandMemory {
    latest: Option<(Credential, Timestamp)>,
    /// The credential that was made because another was refused.
    second: Option<SecretMark>,
}

impl CommandCredential {
    /// A program with its arguments, started without a shell.
    pub fn new(program: &str, arguments: impl IntoIterator<Item = String>, form: TokenHeader) -> Self {
        let (program, arguments) = (program.to_owned(), arguments.into_iter().collect());
        let (clock, memory): (Clock, _) = (Arc::new(Timestamp::now), Mutex::default());
        Self { program, arguments, form, patience: PATIENCE, clock, memory }
    }

    /// The same with another bound of time.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// The same by another clock.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    fn memory(&self) -> MutexGuard<'_, CommandMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, what: impl Into<String>) -> LoginError {
        LoginError::Command { program: self.program.clone(), what: what.into() }
    }

    fn made(&self) -> Result<Credential, LoginError> {
        let printed = self.run()?;
        let now = (self.clock)();
        let credential = read(&printed, self.form).map_err(|what| self.fail(what))?;
        if credential.ends().is_some_and(|ends| ends <= now) {
            return Err(self.fail("printed a token that has ended already"));
        }
        Ok(credential)
    }

    fn run(&self) -> Result<Vec<u8>, LoginError> {
        let started = Command::new(&self.program)
            .args(&self.arguments)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = started.map_err(|error| self.fail(format!("cannot be started: {error}")))?;
        let (printed, said) = (heard(child.stdout.take()), heard(child.stderr.take()));
        let ended = ended(&mut child, Instant::now() + self.patience);
        // What it left running must not hold the pipes.
        end_group(&child);
        let Some(status) = ended else {
            let _ = child.wait();
            return Err(self.fail(format!("took longer than {} s", self.patience.as_secs_f64())));
        };
        if !status.success() {
            let said = words(&said.recv_timeout(REST).unwrap_or_default());
            let said = if said.is_empty() { said } else { format!(": {said}") };
            return Err(self.fail(format!("ended with {}{said}", code(status))));
        }
        let printed = printed.recv_timeout(REST).unwrap_or_default();
        if printed.len() > MOST_BYTES {
            return Err(self.fail(format!("printed more than {MOST_BYTES} bytes")));
        }
        Ok(printed)
    }
}

impl CredentialProvider for CommandCredential {
    fn credential(&self) -> Result<Credential, LoginError> {
        let now = (self.clock)();
        // Whoever asks at the same time waits for the same answer.
        let mut memory = self.memory();
        if let Some((credential, made)) = &memory.latest
            && is_fresh(credential.ends(), *made, now)
        {
            return Ok(credential.clone());
        }
        let credential = self.made()?;
        memory.latest = Some((credential.clone(), now));
        Ok(credential)
    }

    fn after_refusal(&self, refused: &Credential) -> Result<Credential, LoginError> {
        let given_up = || {
            let remedy = "see what it prints, and log in where it takes its token from".to_owned();
            LoginError::Refused { from: self.source(), remedy }
        };
        let now = (self.clock)();
        let mut memory = self.memory();
        if memory.second.as_ref() == Some(&refused.mark()) {
            return Err(given_up());
        }
        let known = memory.latest.as_ref().map(|(credential, _)| credential.clone());
        let credential = match known.filter(|known| known.mark() != refused.mark()) {
            Some(known) => known,
            None => self.made()?,
        };
        if credential.mark() == refused.mark() {
            return Err(given_up());
        }
        memory.second = Some(credential.mark());
        memory.latest = Some((credential.clone(), now));
        Ok(credential)
    }

    fn source(&self) -> String {
        format!("what `{}` prints", self.program)
    }
}

/// Whether a credential need not be made anew; pure. One that lasts a minute is not made anew all the time.
fn is_fresh(ends: Option<Timestamp>, made: Timestamp, now: Timestamp) -> bool {
    let Some(ends) = ends else { return true };
    let lasts = ends.as_second().saturating_sub(made.as_second());
    now.as_second() < ends.as_second().saturating_sub(BEFORE.min(lasts / 10))
}

/// What a program printed, as a credential; pure. The error is words without anything of it.
fn read(printed: &[u8], form: TokenHeader) -> Result<Credential, &'static str> {
    let whole: Value = serde_json::from_slice(printed).map_err(|_| "printed no JSON object with a token")?;
    let header_fits = |text: &str| text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    let token = whole.get("token").and_then(Value::as_str).map(Secret::new);
    let token = token.filter(|token| !token.is_blank()).ok_or("printed no JSON object with a token")?;
    if !header_fits(token.expose()) {
        return Err("printed a token with characters that no header can hold");
    }
    let ends = match whole.get("expires_at") {
        None | Some(Value::Null) => None,
        Some(value) => Some(moment(value).ok_or("printed an expires_at that is no time")?),
    };
    let mut credential = Credential::new(token, form, ends);
    match whole.get("headers") {
        None | Some(Value::Null) => {}
        Some(Value::Object(headers)) => {
            for (name, value) in headers {
                let name_fits = !name.is_empty()
                    && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
                match value.as_str().filter(|value| name_fits && header_fits(value)) {
                    Some(value) => credential = credential.with_header(name, value, true),
                    None => return Err("printed a header that is none"),
                }
            }
        }
        Some(_) => return Err("printed headers that are no object"),
    }
    Ok(credential)
}

/// A time as text, or in seconds or milliseconds since 1970.
fn moment(value: &Value) -> Option<Timestamp> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(number) => {
            let number = number.as_f64().filter(|number| number.is_finite())?;
            let milliseconds = number >= 1e11;
            if milliseconds {
                Timestamp::from_millisecond(number as i64)
            } else {
                Timestamp::from_second(number as i64)
            }
            .ok()
        }
        _ => None,
    }
}

/// Reads a pipe to its end on a thread of its own; what is beyond the bound is read and dropped.
fn heard(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let most = MOST_BYTES as u64 + 1;
            let _ = pipe.by_ref().take(most).read_to_end(&mut bytes);
            let _ = io::copy(&mut pipe, &mut io::sink());
        }
        let _ = sender.send(bytes);
    });
    receiver
}

fn ended(child: &mut Child, deadline: Instant) -> Option<ExitStatus> {
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if Instant::now() >= deadline {
            return None;
        }
        sleep(Duration::from_millis(2));
    }
}

fn end_group(child: &Child) {
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

fn code(status: ExitStatus) -> String {
    let signal = || status.signal().map_or("no exit code".to_owned(), |signal| format!("signal {signal}"));
    status.code().map_or_else(signal, |code| format!("exit code {code}"))
}

/// The first line a program said, without anything that could be part of a token.
fn words(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let kept = line.split_whitespace().map(|word| {
        let parts = word.split(|c: char| !(c.is_alphanumeric() || "-_.+/~".contains(c)));
        // No word of a language mixes letters and digits at such length.
        let secret = parts.clone().any(|part| {
            let digits = part.contains(|c: char| c.is_ascii_digit());
            part.len() > 24 || part.len() > 11 && digits || part.starts_with("sk-")
        });
        if secret { "[…]".to_owned() } else { word.replace(char::is_control, "") }
    });
    kept.collect::<Vec<_>>().join(" ").chars().take(200).collect()
}

#[cfg(test)]
mod tests;
