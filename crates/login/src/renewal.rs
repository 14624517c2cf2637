//! Renews a login: alone, under the agent's own lock, and so that no token is ever only in memory for long.
//!
//! Everything that happens here happens in this order, and a process may be killed between any two steps:
//!
//! 1. our own lock and those of the agent are taken, and what a killed process began is finished;
//! 2. the file is read: somebody else may have renewed it, and then there is nothing to do;
//! 3. room for the journal and for the file's next version is taken, so that a full disk is noticed before it matters;
//! 4. the token endpoint is asked, and its answer goes into the journal;
//! 5. the file's next version is written beside it, synced, and takes its place; its folder is synced;
//! 6. the journal is forgotten, the locks are given back, and only now is the new token used.
//!
//! One moment is left in which a kill loses the login at a provider that takes each token once: after the provider made the
//! new one, before it is in the journal. So a run does not do this itself, see [`crate::RenewalProcess`].

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::LoginError;
use crate::held_lock::{AgentLocks, Deadline, FileLock, with_suffix};
use crate::known_login::{KnownLogin, known_login};
use crate::login_file::{LoginDraft, LoginFile, sync_folder_of};
use crate::login_text::{self, LoginTokens};
use crate::renewal_journal::{JournalEntry, JournalFate, RenewalJournal, journal_path, own_name};
use crate::secret::{Secret, SecretMark};
use crate::token_answer::{self, TokenAnswer};
use crate::token_client;

/// How long locks are waited for; an agent that renews holds them for seconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often a file that ends in the middle is read again, and after which time.
const READ_AGAIN: (u32, Duration) = (5, Duration::from_millis(20));

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A login that is to be renewed if it needs it; there is no secret in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenewalJob {
    /// The login, by its name in the list.
    pub login: String,
    /// Its file.
    pub file: PathBuf,
    /// The folder for our own lock and journal.
    pub own: PathBuf,
    /// Another token endpoint than the list's, from the user's configuration.
    pub endpoint: Option<String>,
    /// A token that a provider refused, however long it should last.
    pub worn: Option<SecretMark>,
    /// So many seconds before its end a token is renewed.
    pub before: i64,
}

/// How far a renewal has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RenewalStep {
    /// The locks are held.
    Locked,
    /// The token endpoint is about to be asked.
    Posting,
    /// It has answered.
    Answered,
    /// The answer is in the journal.
    Journaled,
    /// The next version of the file is beside it.
    Written,
    /// It has taken the file's place.
    Replaced,
    /// The journal is empty again.
    Forgotten,
}

/// Renews here and now.
pub struct Renewer<'a> {
    clock: &'a dyn Fn() -> Timestamp,
    watch: &'a dyn Fn(RenewalStep),
}

impl<'a> Renewer<'a> {
    /// One that goes by a clock and tells how far it has come.
    pub fn new(clock: &'a dyn Fn() -> Timestamp, watch: &'a dyn Fn(RenewalStep)) -> Self {
        Self { clock, watch }
    }

    /// Gives the tokens of a login, renewed if they need it.
    pub fn renew(&self, job: &RenewalJob) -> Result<LoginTokens, LoginError> {
        let login = known_login(&job.login)?;
        let deadline = Deadline::after(PATIENCE);
        let own = job.own.join(own_name(&login.name, &job.file));
        let journal = RenewalJournal::at(journal_path(&own))?;
        let _own = FileLock::take(&with_suffix(&own, ".lock"), deadline)?;
        let _agents = AgentLocks::take(login, &job.file, &own, deadline)?;
        (self.watch)(RenewalStep::Locked);
        if let Some(entry) = journal.read()? {
            let draft = read(login, job).and_then(|file| file.draft()).ok();
            // Whatever is in the file then is looked at below.
            let _ = self.put_in_place(login, job, &journal, &entry, draft);
        }
        let file = read(login, job)?;
        let tokens = file.tokens(login)?;
        let due = job.is_due(&tokens, (self.clock)());
        tracing::debug!(login = %job.login, due, "has read a login");
        if !due {
            return Ok(tokens);
        }
        let (Some(rule), Some(refresh)) = (&login.renewal, &tokens.refresh) else {
            return Err(job.ended(login));
        };
        let endpoint = job.endpoint.as_deref().unwrap_or(&rule.endpoint);
        if !token_client::is_fit(endpoint) {
            return Err(LoginError::Endpoint { endpoint: endpoint.to_owned() });
        }
        let page = journal.page()?;
        let draft = file.draft()?;
        (self.watch)(RenewalStep::Posting);
        let answer = match self.ask(login, endpoint, token_answer::request(rule, refresh, &tokens)) {
            Ok(answer) => answer,
            Err(error) => return renewed_by_others(login, job, &tokens).ok_or(error),
        };
        (self.watch)(RenewalStep::Answered);
        let entry = JournalEntry::new(refresh, answer);
        let journaled = journal.write(page, &entry);
        (self.watch)(RenewalStep::Journaled);
        let tokens = self.put_in_place(login, job, &journal, &entry, Some(draft));
        // Where the file is whole again it does not matter that the journal was not.
        if tokens.is_err() { journaled.and(tokens) } else { tokens }
    }

    /// Asks the token endpoint.
    fn ask(
        &self,
        login: &KnownLogin,
        endpoint: &str,
        (body, media_type): (String, &'static str),
    ) -> Result<TokenAnswer, LoginError> {
        let (title, host) = (login.title.clone(), token_client::host(endpoint).to_owned());
        let answer = match token_client::post(endpoint, body, media_type) {
            Ok(answer) => answer,
            Err(why) => return Err(LoginError::Unreachable { title, host, why }),
        };
        let named =
            token_answer::error_name(&answer.body).map_or_else(String::new, |name| format!(": {name}"));
        let reason = format!("status {}{named}", answer.status);
        match answer.status {
            200..=299 => token_answer::read(&answer.body, (self.clock)()).ok_or_else(|| {
                let why = "it answers without a token".to_owned();
                LoginError::Unreachable { title, host, why }
            }),
            400..=403 => {
                Err(LoginError::RenewalRefused { title, host, reason, log_in: login.log_in.clone() })
            }
            _ => Err(LoginError::Unreachable { title, host, why: reason }),
        }
    }

    /// Puts an answer into the agent's file, if it belongs there, and forgets the journal.
    fn put_in_place(
        &self,
        login: &KnownLogin,
        job: &RenewalJob,
        journal: &RenewalJournal,
        entry: &JournalEntry,
        draft: Option<LoginDraft>,
    ) -> Result<LoginTokens, LoginError> {
        let file = read(login, job);
        let (file, current) = match file {
            Ok(file) => {
                let tokens = file.tokens(login);
                (Some(file), tokens)
            }
            Err(error) => (None, Err(error)),
        };
        let (file, mut draft) = match (entry.fate(&current), file, draft) {
            (JournalFate::Write, Some(file), Some(draft)) => (file, draft),
            (JournalFate::Forget, ..) => {
                journal.forget()?;
                return current;
            }
            _ => return current,
        };
        let bytes = match file.with(login, &entry.answer) {
            Ok(bytes) => bytes,
            Err(error) => {
                // The whole login was taken out of the file.
                journal.forget()?;
                return current.and(Err(error));
            }
        };
        draft.write(&bytes)?;
        (self.watch)(RenewalStep::Written);
        draft.replace(&job.file)?;
        sync_folder_of(&job.file)?;
        (self.watch)(RenewalStep::Replaced);
        journal.forget()?;
        (self.watch)(RenewalStep::Forgotten);
        login_text::parse(login, &job.file, &bytes)
    }
}

impl RenewalJob {
    /// Whether tokens need to be renewed; pure.
    pub(crate) fn is_due(&self, tokens: &LoginTokens, now: Timestamp) -> bool {
        self.worn.as_ref() == Some(&tokens.access.mark()) || tokens.ends_within(self.before, now)
    }

    fn ended(&self, login: &KnownLogin) -> LoginError {
        let from = self.file.display().to_string();
        LoginError::Ended { title: login.title.clone(), from, log_in: login.log_in.clone() }
    }
}

/// Reads the file; one that ends in the middle is most likely being written, and is read again.
pub(crate) fn read(login: &KnownLogin, job: &RenewalJob) -> Result<LoginFile, LoginError> {
    let (times, pause) = READ_AGAIN;
    for _ in 0..times {
        let file = LoginFile::read(login, &job.file)?;
        match file.tokens(login) {
            Err(LoginError::HalfWritten { .. } | LoginError::Broken { .. }) => sleep(pause),
            _ => return Ok(file),
        }
    }
    LoginFile::read(login, &job.file)
}

/// The tokens in the file, if somebody who knows no lock of ours has put other ones there.
fn renewed_by_others(login: &KnownLogin, job: &RenewalJob, before: &LoginTokens) -> Option<LoginTokens> {
    let tokens = read(login, job).and_then(|file| file.tokens(login)).ok()?;
    let other = |secret: &Option<Secret>| secret.as_ref().map(Secret::mark);
    (other(&tokens.refresh) != other(&before.refresh) && tokens.access != before.access).then_some(tokens)
}
