//! A HOME with a login, a server that renews it, and a clock that is moved by hand.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use holon_login::{Clock, FileLogin, LoginError, RenewalJob, RenewalStep, Renewer, RenewsLogin, known_login};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::oauth_server::OauthServer;

/// How long a token of the server lasts.
pub(crate) const LASTS: i64 = 3600;

pub(crate) struct LoginWorld {
    pub(crate) server: OauthServer,
    pub(crate) now: Arc<AtomicI64>,
    home: tempfile::TempDir,
}

impl LoginWorld {
    /// Somebody has logged in, and the token has just ended.
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let world = Self { server: OauthServer::start(), now: Arc::new(AtomicI64::new(1_000_000)), home };
        std::fs::create_dir(world.file().parent().unwrap()).unwrap();
        world.write(&world.login_text());
        world
    }

    /// The file of the login that the server knows now.
    pub(crate) fn login_text(&self) -> String {
        let state = self.server.state();
        let ends = self.now() * 1000;
        let login = json!({
            "claudeAiOauth": {
                "accessToken": state.access(), "refreshToken": state.refresh(), "expiresAt": ends,
                "scopes": ["user:inference"], "subscriptionType": "max", "later": {"kept": true},
            },
            "mcpOAuth": {"kept": [1, 2]},
        });
        login.to_string()
    }

    pub(crate) fn write(&self, text: &str) {
        std::fs::write(self.file(), text).unwrap();
        std::fs::set_permissions(self.file(), std::fs::Permissions::from_mode(0o600)).unwrap();
    }

    pub(crate) fn folder(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.home.path().join(".claude/.credentials.json")
    }

    pub(crate) fn own(&self) -> PathBuf {
        self.home.path().join("state/logins")
    }

    pub(crate) fn now(&self) -> i64 {
        self.now.load(Ordering::SeqCst)
    }

    /// The token ends.
    pub(crate) fn pass(&self) {
        self.now.fetch_add(LASTS, Ordering::SeqCst);
    }

    pub(crate) fn clock(&self) -> Clock {
        let now = Arc::clone(&self.now);
        Arc::new(move || Timestamp::from_second(now.load(Ordering::SeqCst)).unwrap())
    }

    /// The login, renewed in this process.
    pub(crate) fn login(&self) -> FileLogin {
        self.login_with(Arc::new(RenewalInProcess { clock: self.clock(), watch: Box::new(|_| {}) }))
    }

    pub(crate) fn login_with(&self, renewal: Arc<dyn RenewsLogin>) -> FileLogin {
        FileLogin::new(known_login("claude").unwrap(), self.file(), self.own())
            .with_endpoint(Some(self.server.endpoint()))
            .with_clock(self.clock())
            .with_renewal(renewal)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.file()).unwrap()).unwrap()
    }

    /// The file has the tokens the server takes, and everything it had besides.
    pub(crate) fn assert_whole(&self, context: &str) {
        let json = self.json();
        let state = self.server.state();
        assert_eq!(json["claudeAiOauth"]["accessToken"], json!(state.access()), "{context}");
        assert_eq!(json["claudeAiOauth"]["refreshToken"], json!(state.refresh()), "{context}");
        assert_eq!(json["claudeAiOauth"]["later"], json!({"kept": true}), "{context}");
        assert_eq!(json["mcpOAuth"], json!({"kept": [1, 2]}), "{context}");
        let mode = std::fs::metadata(self.file()).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode, 0o600, "{context}");
    }

    /// Nothing but the login and our own empty lock is left.
    pub(crate) fn assert_clean(&self) {
        let names = |folder: &Path| -> Vec<String> {
            let entries = std::fs::read_dir(folder).into_iter().flatten();
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        };
        assert_eq!(names(self.file().parent().unwrap()), [".credentials.json"]);
        let mut home = names(self.home.path());
        home.sort();
        assert!(home.iter().all(|name| [".claude", "state"].contains(&name.as_str())), "{home:?}");
        let own = names(&self.own());
        assert!(own.iter().all(|name| name.ends_with(".lock")), "{own:?}");
    }
}

/// Renews in this process by a clock of the test.
pub(crate) struct RenewalInProcess {
    pub(crate) clock: Clock,
    pub(crate) watch: Box<dyn Fn(RenewalStep) + Send + Sync>,
}

impl RenewsLogin for RenewalInProcess {
    fn renew(&self, job: &RenewalJob) -> Result<(), LoginError> {
        Renewer::new(&*self.clock, &*self.watch).renew(job).map(drop)
    }
}
