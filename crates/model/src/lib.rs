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
pub mod shared_budget;
pub mod sse;
pub mod usage;
pub mod wire;

pub use ability::{AbilityCache, DeclaredAbilities, ModelAbilities, ServerKind, TestedAbilities};
pub use alternates::{ModelSwitch, SwitchedModel};
pub use cancel::{ModelCancel, OnCancel};
pub use cassette::{Cassette, Normaliser, RecordingProvider, ReplayProvider};
pub use catalogue::{Catalogue, CatalogueCache, ModelRow};
pub use choose::{ChosenEndpoint, ConfiguredServer, EndpointPreferences, resolve_endpoint};
pub use endpoint::Endpoint;
pub use error::{ModelError, ModelErrorKind};
pub use fallback::TextTools;
#[cfg(feature = "http")]
pub use http::{HttpCatalogue, HttpProvider, HttpTimeouts};
pub use key::ProviderKey;
pub use message::{MessagePart, ModelMessage, Reasoning, Role, Seal, ToolCall, ToolResult};
pub use provider::{BlockingProvider, DeltaSink, Provider};
pub use reply::{ModelReply, ReplyDelta, ReplyStop};
pub use request::{Effort, ModelRequest, ReplyFormat, ToolChoice, ToolSpec};
pub use retrying::RetryingProvider;
pub use select::{ModelConstraints, ModelIntent, SelectedModel, select};
pub use shared_budget::{BudgetIsSpent, BudgetShare, MostCost, SharedBudget};
pub use usage::{Prices, TokenUsage};
pub use wire::{WireDialect, WireFormat};
