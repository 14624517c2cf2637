//! What a server is started with.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use holon_host::thread::TurnSurroundings;
use holon_host::{HolonFolders, Host};

use crate::guard::LOCAL;

/// Everything a server needs of the process it runs in.
pub struct ServerSetup {
    /// Where state, cache and configuration live.
    pub places: HolonFolders,
    /// Launcher, environment and home of whoever started it.
    pub around: TurnSurroundings,
    /// Values that must never be written anywhere, each with the name that stands for it.
    pub secrets: Vec<(String, String)>,
    /// Folders below which workspaces may lie, canonical.
    pub roots: Vec<PathBuf>,
    /// Who may come in.
    pub doors: AccessSettings,
    /// What there may be at once.
    pub limits: ServerLimits,
    /// Where answers come from.
    pub minds: ReplySource,
    /// Makes the host of a run.
    pub host: Arc<dyn Fn(HolonFolders) -> Host + Send + Sync>,
    /// Hands memory that is not used any more back to the system.
    pub give_back: fn(),
    /// The version that is told.
    pub version: String,
    /// The files of the page, by path; without an `index.html` a plain page says that the server is up.
    pub page: &'static [(&'static str, &'static [u8])],
}

/// Who may come in.
#[derive(Debug, Clone, Default)]
pub struct AccessSettings {
    /// Users and their tokens. Without any, a server that has an address makes one for its owner, or takes the one it kept.
    pub tokens: Vec<(String, String)>,
    /// Whether the owner's token is made anew.
    pub renew: bool,
    /// Names the server may be called by, besides loopback's and the one it listens on.
    pub hosts: Vec<String>,
    /// Where it listens; filled in when it is bound.
    pub address: Option<SocketAddr>,
}

impl AccessSettings {
    /// Whether several people come in.
    pub(crate) fn is_shared(&self) -> bool {
        self.tokens.iter().any(|(user, _)| user != LOCAL)
    }
}

/// Where answers come from.
#[derive(Debug, Clone)]
pub enum ReplySource {
    /// From models over the network, chosen by environment and wish.
    Network {
        /// The wanted provider.
        provider: Option<String>,
        /// The wanted model, where a thread has none of its own.
        model: Option<String>,
        /// Whether a model is asked for the titles of threads, too.
        titles: bool,
    },
    /// From a cassette, each thread from its beginning.
    Cassette {
        /// The file.
        file: PathBuf,
        /// Whether to say that this is a demonstration.
        demo: bool,
    },
}

/// What there may be at once.
#[derive(Debug, Clone, Copy)]
pub struct ServerLimits {
    /// Bytes of a request's body, uploads apart.
    pub body: usize,
    /// Bytes of a message.
    pub message: usize,
    /// Bytes of an upload.
    pub upload: usize,
    /// Uploads that are taken in at the same time; others wait.
    pub uploads: usize,
    /// Bytes of uploads that are kept in all; a thread has a quarter of them at most, and a user among several a half.
    pub kept: u64,
    /// Open event streams.
    pub streams: usize,
    /// Turns under way.
    pub turns: usize,
    /// Turns that have hands; others wait for theirs.
    pub hands: usize,
    /// Runs under way.
    pub runs: usize,
    /// Requests of a user in a second, on average.
    pub rate: u32,
    /// Requests of a user at once.
    pub burst: u32,
    /// Requests to the model in a turn.
    pub iterations: u64,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            body: 1 << 20,
            message: 256 << 10,
            upload: 32 << 20,
            uploads: 8,
            kept: 4 << 30,
            streams: 4096,
            turns: 2048,
            hands: 64,
            runs: 8,
            rate: 200,
            burst: 2000,
            iterations: 50,
        }
    }
}
