//! One run: a spec in, checked artifacts out, in seven phases.
//!
//! [`run::Host::run`] is the whole way; [`store`] keeps what it leaves; [`adapter`] knows how an agent is driven.

pub mod adapter;
pub mod agent_addition;
pub mod agent_conformance;
pub mod config;
pub mod contained;
pub mod effect;
pub mod environment;
pub mod error;
pub mod executor;
pub mod holon_folders;
pub mod insertions;
mod model;
pub mod modes;
pub mod plan;
mod process_end;
pub mod record;
pub mod recording;
pub mod release;
pub mod request;
pub mod run;
mod self_exe;
mod servers;
mod shape;
pub mod spec_source;
mod steering;
pub mod store;
mod supervision;
pub mod thread;

pub use config::ConfigurationFiles;
pub use error::HostError;
pub use executor::{Executor, RunContext};
pub use holon_folders::HolonFolders;
pub use holon_model::{BudgetIsSpent, ModelCancel, MostCost, SharedBudget};
pub use model::remedy as model_hint;
pub use model::{ModelPreferences, ModelRules, decide as decide_model};
pub use plan::RunPlan;
pub use request::RunRequest;
pub use run::{FinishedRun, Host, TreeBefore};
pub use spec_source::SourcedSpec;
