//! Credentials from the file an agent keeps its login in.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::credential::{Credential, CredentialProvider};
use crate::error::LoginError;
use crate::held_lock::note_path;
use crate::known_login::KnownLogin;
use crate::login_text::LoginTokens;
use crate::renewal::{self, Clock, RenewalJob};
use crate::renewal_journal::{journal_path, own_name};
use crate::renewal_process::{RenewalProcess, RenewsLogin};
use crate::secret::SecretMark;

/// So many seconds before its end a token is renewed, as most agents do it themselves.
const BEFORE: i64 = 300;
/// The same for a token that was renewed a moment ago and lasts no longer than that.
const BEFORE_A_SHORT_ONE: i64 = 10;

/// A login in a file. The file is read for every request, for the agent outside may renew it, too.
pub struct FileLogin {
    login: &'static KnownLogin,
    job: RenewalJob,
    renewal: Arc<dyn RenewsLogin>,
    clock: Clock,
    memory: Mutex<RenewalMemory>,
}

/// What this process did to the login.
#[derive(Default)]
struct RenewalMemory {
    /// The token that was there after the last renewal.
    latest: Option<SecretMark>,
    /// The token that was made because another was refused.
    second: Option<SecretMark>,
    /// Whether it was looked whether a killed process left a lock.
    has_looked: bool,
}

impl FileLogin {
    /// The login in a file; `own` is a folder of ours for its lock and journal.
    pub fn new(login: &'static KnownLogin, file: PathBuf, own: PathBuf) -> Self {
        let (endpoint, worn) = (None, None);
        let job = RenewalJob { login: login.name.clone(), file, own, endpoint, worn, before: BEFORE };
        let renewal = Arc::new(RenewalProcess::of_this_binary());
        Self { login, job, renewal, clock: Arc::new(Timestamp::now), memory: Mutex::default() }
    }

    /// The same with another token endpoint, as the user's configuration says.
    #[must_use]
    pub fn with_endpoint(mut self, endpoint: Option<String>) -> Self {
        self.job.endpoint = endpoint;
        self
    }

    /// The same with another way to renew.
    #[must_use]
    pub fn with_renewal(mut self, renewal: Arc<dyn RenewsLogin>) -> Self {
        self.renewal = renewal;
        self
    }

    /// The same by another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    fn memory(&self) -> MutexGuard<'_, RenewalMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tokens(&self) -> Result<LoginTokens, LoginError> {
        renewal::read(self.login, &self.job).and_then(|file| file.tokens(self.login))
    }

    /// Whether a killed renewal left an answer that belongs into the file, or, looked for once, a lock of the agent's.
    fn has_something_left(&self) -> bool {
        let own = self.job.own.join(own_name(&self.login.name, &self.job.file));
        let looked = std::mem::replace(&mut self.memory().has_looked, true);
        let locks = 0..self.login.locks.folders.len();
        journal_path(&own).exists() || !looked && locks.into_iter().any(|at| note_path(&own, at).exists())
    }

    fn renewed(&self, job: &RenewalJob) -> Result<LoginTokens, LoginError> {
        self.renewal.renew(job)?;
        let tokens = self.tokens()?;
        self.memory().latest = Some(tokens.access.mark());
        Ok(tokens)
    }

    fn usable(&self, tokens: &LoginTokens) -> Result<Credential, LoginError> {
        if tokens.has_ended((self.clock)()) {
            let (title, log_in) = (self.login.title.clone(), self.login.log_in.clone());
            return Err(LoginError::Ended { title, from: self.job.file.display().to_string(), log_in });
        }
        Ok(Credential::of_login(self.login, tokens))
    }

    fn given_up(&self) -> LoginError {
        let remedy = format!("log in again with `{}`", self.login.log_in);
        LoginError::Refused { from: self.source(), remedy }
    }
}

impl CredentialProvider for FileLogin {
    fn credential(&self) -> Result<Credential, LoginError> {
        let mut tokens = self.tokens();
        let mut job = self.job.clone();
        if let Ok(tokens) = &tokens
            && self.memory().latest == Some(tokens.access.mark())
        {
            job.before = BEFORE_A_SHORT_ONE;
        }
        let now = (self.clock)();
        let due = tokens.as_ref().is_ok_and(|tokens| job.is_due(tokens, now));
        if due || self.has_something_left() {
            tokens = match (self.renewed(&job), tokens) {
                // It is good for a little while, and next time may be a better one.
                (Err(_), Ok(old)) if !old.has_ended(now) => Ok(old),
                (Err(error), _) => Err(error),
                (Ok(new), _) => Ok(new),
            };
        }
        self.usable(&tokens?)
    }

    fn after_refusal(&self, refused: &Credential) -> Result<Credential, LoginError> {
        let refused = refused.mark();
        if self.memory().second.as_ref() == Some(&refused) {
            return Err(self.given_up());
        }
        let mut tokens = self.tokens()?;
        if tokens.access.mark() == refused {
            tokens = self.renewed(&RenewalJob { worn: Some(refused.clone()), ..self.job.clone() })?;
        }
        let new = tokens.access.mark();
        if new == refused {
            return Err(self.given_up());
        }
        self.memory().second = Some(new);
        self.usable(&tokens)
    }

    fn source(&self) -> String {
        // Without its path, which may say who somebody is: it is in manifests, too.
        format!("the {} login that {} keeps", self.login.title, self.login.agent)
    }
}
