//! Models behind one request and reply: three wire formats, providers, retries and cassettes.
//!
//! Pure parts (wires, event streams, error classes, the decision to retry) are separate from the thin ones that talk to
//! a network, so a recorded conversation passes through everything but the socket.

pub mod ability;
pub mod alternates;
mod cache_file;
pub mod cancel;
pub mod cassette;
pub mod catalogue;
pub mod choose;
pub mod classify;
pub mod detect;
pub mod endpoint;
pub mod error;
pub mod fallback;
#[cfg(feature = "http")]
pub mod http;
pub mod key;
pub mod known_provider;
pub mod message;
pub mod provider;
pub mod reply;
pub mod request;
pub mod retry;
pub mod retrying;
pub mod select;
pub mod sse;
pub mod usage;
pub mod wire;

pub use ability::{Abilities, AbilityCache, ServerKind, Tested, Told};
pub use alternates::{ModelSwitch, Switched};
pub use cancel::{Cancel, OnCancel};
pub use cassette::{Cassette, Normaliser, Recorder, Replay};
pub use catalogue::{Catalogue, CatalogueCache, ModelRow};
pub use choose::{Chosen, Configured, Wish, resolve_endpoint};
pub use endpoint::Endpoint;
pub use error::{ErrorKind, ModelError};
pub use fallback::TextTools;
#[cfg(feature = "http")]
pub use http::{Http, HttpCatalogue, Timeouts};
pub use key::Key;
pub use message::{Message, Part, Reasoning, Role, Seal, ToolCall, ToolResult};
pub use provider::{Blocking, Provider, Sink};
pub use reply::{Delta, Reply, Stop};
pub use request::{Effort, Format, Request, Tool, ToolChoice};
pub use retrying::Retrying;
pub use select::{Constraints, Intent, Selection, select};
pub use usage::{Prices, Usage};
pub use wire::{Dialect, Wire};
