//! JSON Schema for artifacts a spec asks for: a bounded part of draft 2020-12 that refuses what it does not know.
//!
//! A keyword that is passed over would make a check that passes because it did not look. So reading a schema names
//! every keyword that is not checked here, and a schema with one is no schema.

mod check;
mod read;

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use super::ArtifactProblem;

/// The largest schema that is read, in bytes.
pub const MAX_SCHEMA_BYTES: usize = 256 * 1024;

/// Why something cannot be used as a schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct SchemaError {
    /// Where in the schema, as a JSON pointer such as `#/properties/name`.
    pub place: String,
    /// What is wrong there.
    pub message: String,
}

/// A schema whose every keyword is understood.
#[derive(Debug, Clone)]
pub struct ArtifactSchema {
    root: Value,
    patterns: BTreeMap<String, Regex>,
}

impl ArtifactSchema {
    /// Takes a schema if every keyword of it can be checked.
    pub fn new(root: Value) -> Result<Self, SchemaError> {
        let patterns = read::patterns(&root)?;
        Ok(Self { root, patterns })
    }

    /// The schema itself.
    pub fn value(&self) -> &Value {
        &self.root
    }

    /// What is wrong with a value, at most [`check::MOST_PROBLEMS`] of it; nothing when it satisfies the schema.
    pub fn problems(&self, value: &Value) -> Vec<ArtifactProblem> {
        check::problems(&self.root, &self.patterns, value)
    }
}

/// What `#/a/b` points to.
fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    match reference {
        "#" => Some(root),
        other => root.pointer(other.strip_prefix('#')?),
    }
}

#[cfg(test)]
mod tests;
