//! What models there are, what they can do and what they cost.
//!
//! Three sources, newest first: OpenRouter's live list (kept in a cache with its ETag), that cache, and a hand-kept table
//! with the date of its figures. Entries of a configuration are laid over any of them.

mod cache;
mod entry;
mod load;
mod openrouter;
mod pattern;
mod plan;
mod row;
mod table;

use std::path::PathBuf;

pub use cache::{CachedCatalogue, CatalogueCache};
pub use entry::{StaticEntry, add_entries};
pub use load::{Catalogue, CatalogueFetch, CatalogueOrigin, FetchedCatalogue, load};
pub use openrouter::{OPENROUTER, parse as parse_openrouter};
pub use plan::{CataloguePlan, CatalogueQuery, Freshness, TTL, plan};
pub use row::{DataPolicy, Latency, ModelRow, Tier};
pub use table::{LocalModelNames, ModelRowTable, maker_of};

/// What can be wrong with a catalogue.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// It is not what OpenRouter's list looks like.
    #[error("the list of models cannot be understood ({problem}): `{found}`")]
    Malformed {
        /// What is wrong with it.
        problem: String,
        /// Its beginning.
        found: String,
    },
    /// It could not be fetched.
    #[error("the list of models cannot be fetched: {0}")]
    Fetch(#[from] crate::ModelError),
    /// The cache could not be written.
    #[error("cannot write the cache {}: {source}", path.display())]
    Cache {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}
