//! The server itself.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use super::fault::{FaultSchedule, ForgeFault};
use super::http::{self, IncomingRequest, OutgoingResponse};
use super::repository::HostedRepo;
use super::routes;
use super::world::{AccessLevel, GitHubAccount, GitHubWorld, HostedApp, HostedRepoState};
use crate::git::{finish, git_command};

/// Nothing waits longer than this for a client.
const PATIENCE: Duration = Duration::from_secs(20);

/// A request that was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct ForgeRequest {
    /// Its method.
    pub method: String,
    /// Its path.
    pub path: String,
    /// Its query, as it came.
    pub query: String,
    /// Its body, `null` when that is no JSON.
    pub body: Value,
}

/// Something that someone else does.
type MeanwhileAction = Box<dyn FnOnce() + Send>;

/// A GitHub on loopback; it ends when it is dropped, and then demands that every request was as GitHub describes it.
pub struct GitHub {
    address: SocketAddr,
    shared: Arc<GitHubState>,
    thread: Option<JoinHandle<()>>,
    dir: tempfile::TempDir,
}

pub(super) struct GitHubState {
    pub(super) base: String,
    pub(super) root: PathBuf,
    pub(super) world: Mutex<GitHubWorld>,
    faults: Mutex<FaultSchedule>,
    meanwhile: Mutex<Vec<(usize, MeanwhileAction)>>,
    count: AtomicUsize,
    seen: Mutex<Vec<ForgeRequest>>,
    violations: Mutex<Vec<String>>,
    over: AtomicBool,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl GitHub {
    /// Starts one on a free port.
    pub fn start() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(GitHubState {
            base: format!("http://{address}"),
            root: dir.path().to_owned(),
            world: Mutex::default(),
            faults: Mutex::default(),
            meanwhile: Mutex::default(),
            count: AtomicUsize::new(0),
            seen: Mutex::default(),
            violations: Mutex::default(),
            over: AtomicBool::new(false),
        });
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::spawn(move || serve(&listener, &for_thread));
        Self { address, shared, thread: Some(thread), dir }
    }

    /// The address of its API.
    pub fn address(&self) -> String {
        self.shared.base.clone()
    }

    /// The folder of its repositories.
    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    /// Lets a person in with this token.
    pub fn user(&self, login: &str, token: &str) {
        let account = GitHubAccount { login: login.into(), bot: false, levels: Default::default() };
        locked(&self.shared.world).tokens.insert(token.into(), account);
    }

    /// Lets an App's installation in with this token; what is not named may be written.
    pub fn bot(&self, login: &str, token: &str, levels: &[(&str, AccessLevel)]) {
        let levels = levels.iter().map(|(kind, level)| (kind.to_string(), *level)).collect();
        locked(&self.shared.world)
            .tokens
            .insert(token.into(), GitHubAccount { login: login.into(), bot: true, levels });
    }

    /// Registers an App with its public key in PEM form.
    pub fn app(&self, id: &str, slug: &str, public_key: &Path) {
        let app = HostedApp { id: id.into(), slug: slug.into(), public_key: public_key.to_owned() };
        locked(&self.shared.world).app = Some(app);
    }

    /// Makes an empty repository.
    pub fn repository(&self, name: &str) -> HostedRepo {
        let dir = self.shared.root.join(format!("{name}.git"));
        std::fs::create_dir_all(&dir).expect("making a folder");
        let run =
            |args: &[&str]| finish(git_command(&dir).args(args)).unwrap_or_else(|error| panic!("{error}"));
        run(&["init", "--quiet", "--bare", "--initial-branch=main", "--template=", "."]);
        for setting in ["http.receivepack", "uploadpack.allowAnySHA1InWant"] {
            run(&["config", setting, "true"]);
        }
        let repo = HostedRepoState {
            name: name.into(),
            dir,
            default_branch: "main".into(),
            private: false,
            members: Vec::new(),
            file_address: false,
            threads: Default::default(),
            checks: Vec::new(),
            statuses: Vec::new(),
        };
        locked(&self.shared.world).repos.insert(name.into(), repo);
        HostedRepo { shared: Arc::clone(&self.shared), name: name.into() }
    }

    /// Makes a fork: a copy of every branch under another owner.
    pub fn fork(&self, of: &HostedRepo, name: &str) -> HostedRepo {
        let fork = self.repository(name);
        let from = of.dir();
        finish(
            git_command(&fork.dir()).args(["fetch", "--quiet"]).arg(from).arg("+refs/heads/*:refs/heads/*"),
        )
        .unwrap_or_else(|error| panic!("{error}"));
        fork
    }

    /// Refuses reviews with comments on lines, as GitHub does when the diff changed since it was read.
    pub fn refuse_lines(&self, refuse: bool) {
        locked(&self.shared.world).refuse_lines = refuse;
    }

    /// Sets what goes wrong from now on; requests are counted anew.
    pub fn faults(&self, faults: FaultSchedule) {
        *locked(&self.shared.faults) = faults;
        self.shared.count.store(0, Ordering::SeqCst);
    }

    /// Lets something happen just before a request is answered, as when someone pushes in between.
    pub fn meanwhile(&self, request: usize, what: impl FnOnce() + Send + 'static) {
        locked(&self.shared.meanwhile).push((request, Box::new(what)));
    }

    /// How many requests came since [`Self::faults`], or since the start.
    pub fn count(&self) -> usize {
        self.shared.count.load(Ordering::SeqCst)
    }

    /// The requests to the API so far.
    pub fn requests(&self) -> Vec<ForgeRequest> {
        locked(&self.shared.seen).clone()
    }

    /// The requests that changed something, as `METHOD /path`.
    pub fn changes(&self) -> Vec<String> {
        let seen = self.requests().into_iter().filter(|request| request.method != "GET");
        seen.map(|request| format!("{} {}", request.method, request.path)).collect()
    }

    /// Forgets the requests so far.
    pub fn forget(&self) {
        locked(&self.shared.seen).clear();
    }

    /// Differences from GitHub's description so far; looking at them takes them away.
    pub fn violations(&self) -> Vec<String> {
        std::mem::take(&mut *locked(&self.shared.violations))
    }
}

impl Drop for GitHub {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let violations = self.violations();
        assert!(
            violations.is_empty() || std::thread::panicking(),
            "not as GitHub describes its interface:\n{}",
            violations.join("\n")
        );
    }
}

fn serve(listener: &TcpListener, shared: &Arc<GitHubState>) {
    for stream in listener.incoming() {
        if shared.over.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        std::thread::spawn(move || attend(&stream, &shared));
    }
}

fn attend(stream: &TcpStream, shared: &GitHubState) {
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let _ = stream.set_write_timeout(Some(PATIENCE));
    let _ = stream.set_nodelay(true);
    while let Ok(Some(incoming)) = http::read(stream) {
        if shared.over.load(Ordering::SeqCst) {
            return;
        }
        let number = shared.count.fetch_add(1, Ordering::SeqCst) + 1;
        let due = locked(&shared.meanwhile).extract_if(.., |(at, _)| *at == number).collect::<Vec<_>>();
        due.into_iter().for_each(|(_, happen)| happen());
        let fault = locked(&shared.faults).of(number);
        let limited = |seconds: &str, name: &str, message: &str| {
            OutgoingResponse::json(403, &json!({"message": message})).with(name, seconds)
        };
        let answer = match &fault {
            Some(ForgeFault::CutBefore) => return,
            Some(ForgeFault::Secondary(seconds)) => {
                limited(&seconds.to_string(), "retry-after", "You have exceeded a secondary rate limit.")
            }
            Some(ForgeFault::Primary(reset)) => {
                limited(&reset.to_string(), "x-ratelimit-reset", "API rate limit exceeded")
                    .with("x-ratelimit-remaining", "0")
            }
            _ => shared.answer(&incoming),
        };
        let answer = match fault {
            Some(ForgeFault::CutAfter) => return,
            Some(ForgeFault::BadGateway) => OutgoingResponse::json(502, &json!({"message": "Server Error"})),
            _ => answer,
        };
        if http::write(stream, &answer).is_err() {
            return;
        }
    }
}

impl GitHubState {
    fn answer(&self, incoming: &IncomingRequest) -> OutgoingResponse {
        if incoming.path.contains(".git/") {
            return routes::git(self, incoming);
        }
        locked(&self.seen).push(ForgeRequest {
            method: incoming.method.clone(),
            path: incoming.path.clone(),
            query: incoming.query.clone(),
            body: incoming.json(),
        });
        let mut violations = Vec::new();
        let answer = routes::api(self, incoming, &mut violations);
        let told = violations.into_iter().map(|why| format!("{} {}: {why}", incoming.method, incoming.path));
        locked(&self.violations).extend(told);
        answer
    }
}
