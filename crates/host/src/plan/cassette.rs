//! A cassette in a plan: which file it is, and that it is still the one that was looked at.

use std::path::{Path, PathBuf};

use holon_model::Cassette;
use holon_sandbox::mount::{self, path::StoredPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::HostError;
use crate::model;

/// A recorded conversation that answers instead of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedCassette {
    /// The file.
    #[serde(with = "mount::path")]
    #[schemars(with = "StoredPath")]
    pub path: PathBuf,
    /// The digest of what it held when the run was planned.
    pub sha256: String,
    /// How many turns were heard before.
    #[serde(default)]
    pub heard: u64,
}

impl PlannedCassette {
    /// Looks at a cassette; one that cannot be read is found out before anything starts.
    pub(crate) fn look(path: &Path) -> Result<Self, HostError> {
        let (_, sha256) = model::cassette(path)?;
        let path = std::path::absolute(path).map_err(HostError::io("read", path))?;
        Ok(Self { path, sha256, heard: 0 })
    }

    /// One that nobody looked at yet.
    pub(crate) fn unseen(path: &Path) -> Self {
        Self { path: path.to_owned(), sha256: String::new(), heard: 0 }
    }

    /// The conversation that is left of it.
    pub(crate) fn open(&self) -> Result<Cassette, HostError> {
        let (mut cassette, found) = model::cassette(&self.path)?;
        if found != self.sha256 {
            let path = self.path.display();
            return Err(HostError::usage(
                format!("{path} is not the cassette the run was planned with: it has changed since"),
                "put it back as it was, or plan the run anew",
            ));
        }
        let heard = usize::try_from(self.heard).unwrap_or(usize::MAX);
        cassette.turns.drain(..heard.min(cassette.turns.len()));
        Ok(cassette)
    }
}
