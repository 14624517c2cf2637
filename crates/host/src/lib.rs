//! One run: a spec in, checked artifacts out, in seven phases.
//!
//! [`run::Host::run`] is the whole way; [`store`] keeps what it leaves; [`adapter`] knows how an agent is driven.

pub mod adapter;
pub mod config;
pub mod contained;
pub mod effect;
pub mod error;
pub mod executor;
pub mod given_spec;
pub mod insertions;
mod model;
pub mod modes;
mod own;
pub mod places;
pub mod plan;
mod process_end;
pub mod record;
pub mod recording;
pub mod rehearsal;
pub mod release;
pub mod request;
pub mod run;
mod servers;
mod shape;
mod steering;
pub mod store;
mod supervision;
pub mod thread;

pub use config::ConfigurationFiles;
pub use error::HostError;
pub use executor::{Executor, RunContext};
pub use given_spec::GivenSpec;
pub use holon_model::Cancel;
pub use model::remedy as model_hint;
pub use model::{ModelRules, ModelWish, decide as decide_model};
pub use places::Places;
pub use plan::RunPlan;
pub use request::RunRequest;
pub use run::{Finished, Host, TreeBefore};
