//! The door as a thing to start and to finish.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use holon_core::redact::Redactor;
use holon_login::CredentialProvider;
use holon_model::{
    Endpoint, HttpTimeouts, ModelCancel, ModelError, Normaliser, Prices, Provider, ProviderKey,
    RecordingProvider, SharedBudget,
};
use tokio::sync::Semaphore;

use crate::account::{BudgetLimit, GatewayAccount, GatewayBudget};
use crate::attend::{AttendanceSetup, AttendedSession};
use crate::body::BodyScale;
use crate::event::GatewayWatch;
use crate::key_redactor::HiddenKeys;
use crate::ledger::SpendingLedger;
use crate::limits::GatewayLimits;
use crate::listen;
use crate::login::GatewayLogin;
use crate::pass::PassThrough;
use crate::request_handler::GatewayRequestHandler;
use crate::token::GatewayToken;

/// Who answers.
#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "there is one per run")]
pub enum Upstream {
    /// An endpoint: bytes pass through for clients of its own wire, others are translated.
    Pass {
        /// Where, with the real key.
        endpoint: Endpoint,
        /// How long it is waited for.
        timeouts: HttpTimeouts,
    },
    /// Any provider, such as a replay: every client is translated.
    Any(Arc<dyn Provider>),
}

/// Appends a piece of text to a cassette.
pub type CassetteAppend = Box<dyn FnMut(&str) -> io::Result<()> + Send>;

/// Where the conversation is written down.
pub struct CassetteRecording {
    /// Folds what differs from run to run and removes secrets.
    pub normaliser: Normaliser,
    /// Appends a piece of text to the cassette.
    pub save: CassetteAppend,
}

/// How a door is set up.
pub struct GatewaySettings {
    /// What clients must show.
    pub token: GatewayToken,
    /// The one model that is asked, whatever a client names.
    pub model: String,
    /// Who answers.
    pub upstream: Upstream,
    /// Who gives what goes on requests to the endpoint, where it has no key.
    pub credentials: Option<Arc<dyn CredentialProvider>>,
    /// Keys that must not reach a client, besides that of the endpoint.
    pub keys: Vec<ProviderKey>,
    /// What may be spent.
    pub budget: GatewayBudget,
    /// What the model costs, for providers that do not tell.
    pub prices: Option<Prices>,
    /// Money that is shared with other runs.
    pub shared: Option<SharedBudget>,
    /// Bounds on the traffic itself.
    pub limits: GatewayLimits,
    /// Where the conversation is written down.
    pub record: Option<CassetteRecording>,
    /// Who gets to know what happens.
    pub watch: Option<GatewayWatch>,
    /// Who attends the agent's conversation.
    pub attend: Option<AttendanceSetup>,
}

impl GatewaySettings {
    /// The usual ones: nothing is bounded by a budget, recorded or watched.
    pub fn new(token: GatewayToken, model: impl Into<String>, upstream: Upstream) -> Self {
        Self {
            token,
            model: model.into(),
            upstream,
            credentials: None,
            keys: Vec::new(),
            budget: GatewayBudget::default(),
            prices: None,
            shared: None,
            limits: GatewayLimits::default(),
            record: None,
            watch: None,
            attend: None,
        }
    }
}

/// Why a door cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The listener or the thread behind it.
    #[error("the gateway cannot listen: {0}")]
    Listen(#[from] io::Error),
    /// The endpoint.
    #[error("the gateway cannot reach its provider: {0}")]
    Upstream(#[from] ModelError),
}

/// The open door; it closes when this is dropped.
pub struct Gateway {
    ledger: SpendingLedger,
    address: Option<SocketAddr>,
    problem: Option<RecordingProblem>,
    attended: Option<Arc<AttendedSession>>,
    stop: ModelCancel,
    thread: Option<JoinHandle<()>>,
}

impl Gateway {
    /// Opens the door at a listener, on a thread of its own.
    pub fn start(listener: TcpListener, settings: GatewaySettings) -> Result<Self, GatewayError> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr().ok();
        let ledger =
            SpendingLedger::new(settings.budget, settings.prices, settings.watch.clone(), settings.shared);
        let mut keys = settings.keys;
        if let Upstream::Pass { endpoint, .. } = &settings.upstream {
            keys.extend(endpoint.key.clone());
            keys.extend(secrets_of(endpoint));
        }
        // Who has no credential now may have one when a request comes; the error is told then.
        let now = settings.credentials.as_ref().and_then(|provider| provider.credential().ok());
        keys.extend(now.iter().flat_map(|now| now.secrets().map(|secret| ProviderKey::new(secret.expose()))));
        let login = settings.credentials.map(|provider| Arc::new(GatewayLogin::new(provider, keys.clone())));
        let (inner, endpoint): (Arc<dyn Provider>, _) = match settings.upstream {
            Upstream::Any(provider) => (provider, None),
            Upstream::Pass { endpoint, timeouts } => {
                (Arc::new(PassThrough::new(endpoint.clone(), timeouts, login.clone())?), Some(endpoint))
            }
        };
        let hidden = HiddenKeys::new(keys.iter().map(ProviderKey::expose));
        let (provider, problem) = recorded(inner, settings.record, hidden.clone());
        let attended = settings.attend.map(|attendance| Arc::new(AttendedSession::new(attendance)));
        let door = Arc::new(GatewayRequestHandler {
            token: settings.token,
            model: settings.model,
            provider,
            endpoint,
            login,
            limits: settings.limits,
            ledger: ledger.clone(),
            keys: hidden,
            redactor: Redactor::new(keys.iter().map(|key| ("key", key.expose()))),
            exchanges: Arc::new(Semaphore::new(settings.limits.exchanges.max(1))),
            scale: BodyScale::default(),
            attended: attended.clone(),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let stop = ModelCancel::default();
        let stopped = stop.clone();
        let span = tracing::Span::current();
        let thread = std::thread::Builder::new().name("gateway".to_owned()).spawn(move || {
            let _run = span.entered();
            let served = async {
                if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                    listen::serve(listener, door).await;
                }
            };
            let _ = runtime.block_on(stopped.race(served));
            // Whatever still runs is dropped, and booked as it is; a name look-up that hangs is not waited for.
            runtime.shutdown_timeout(Duration::from_millis(100));
        })?;
        Ok(Self { ledger, address, problem, attended, stop, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// What happened so far.
    pub fn account(&self) -> GatewayAccount {
        let recording = self.problem.as_ref().and_then(|problem| problem());
        GatewayAccount { recording, ..self.ledger.account() }
    }

    /// What is used up, once a request was turned away for it; [`crate::GatewayEvent::Spent`] tells it at that moment.
    pub fn spent(&self) -> Option<BudgetLimit> {
        self.ledger.account().spent
    }

    /// The client is over, which tells what became of the last text that was put into its conversation; `cut` says that the
    /// host ended it.
    pub fn client_over(&self, cut: bool) {
        if let Some(attended) = &self.attended {
            attended.over(cut);
        }
    }

    /// Closes the door, ends what still runs, and gives the account.
    pub fn finish(mut self) -> GatewayAccount {
        self.close();
        self.account()
    }

    fn close(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.close();
    }
}

/// What an endpoint holds besides its key that may be secret: values of its headers, and who is named in its address.
fn secrets_of(endpoint: &Endpoint) -> Vec<ProviderKey> {
    let headers = endpoint.headers.iter().filter(|(name, _)| !PLAIN_HEADERS.contains(&name.as_str()));
    let values = headers.flat_map(|(_, value)| {
        // A scheme in front is not part of the secret.
        let bare = value.split_once(' ').map(|(_, rest)| rest);
        [Some(value.as_str()), bare].into_iter().flatten()
    });
    let address = endpoint.base.split_once("://").map_or("", |(_, rest)| rest);
    let authority = address.split('/').next().unwrap_or_default();
    let named = authority.rsplit_once('@').map(|(named, _)| named);
    let parts =
        named.into_iter().flat_map(|named| [named, named.split_once(':').map_or("", |(_, word)| word)]);
    values.chain(parts).filter(|value| !value.is_empty()).map(ProviderKey::new).collect()
}

/// Headers that say who asks and are no secret.
const PLAIN_HEADERS: [&str; 4] = ["http-referer", "x-title", "user-agent", "anthropic-version"];

type RecordingProblem = Box<dyn Fn() -> Option<String> + Send + Sync>;

/// The provider, recorded if that is wanted, and the way to learn what is wrong with the recording.
fn recorded(
    inner: Arc<dyn Provider>,
    record: Option<CassetteRecording>,
    keys: HiddenKeys,
) -> (Arc<dyn Provider>, Option<RecordingProblem>) {
    let Some(CassetteRecording { normaliser, mut save }) = record else { return (inner, None) };
    // The normaliser may know the keys or not; here they are known for certain.
    let save = move |text: &str| save(&String::from_utf8_lossy(&keys.cover(text.as_bytes())));
    let recorder = Arc::new(RecordingProvider::new(inner, normaliser, save));
    let asked = Arc::clone(&recorder);
    (recorder, Some(Box::new(move || asked.problem())))
}
