//! Finds files by the form of their paths.

use holon_hands::{Deed, Done};
use serde::Deserialize;
use serde_json::json;

use super::arguments::{flag, read};
use super::ls::told;
use super::{Arguments, Described, Outcome, Running, Scene, Settings, Tool, odd};
use crate::steward::Evidence;

/// Most files told.
const MOST: u64 = 200;

pub(super) struct Glob;

#[derive(Deserialize)]
struct Wanted {
    pattern: String,
    #[serde(default)]
    path: String,
    #[serde(default, deserialize_with = "flag")]
    all: bool,
}

impl Tool for Glob {
    fn name(&self) -> &str {
        "glob"
    }

    fn describe(&self, _settings: &Settings) -> Described {
        let schema = json!({"type": "object", "properties": {
            "pattern": {"type": "string"}, "path": {"type": "string"}, "all": {"type": "boolean"}},
            "required": ["pattern"]});
        Described::new("glob", "Find files by name, e.g. src/**/*.rs", schema)
    }

    fn target<'a>(&self, arguments: &'a Arguments) -> Option<&'a str> {
        arguments.get("pattern").and_then(serde_json::Value::as_str)
    }

    fn side_by_side(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, arguments: Arguments, scene: &'a Scene<'a>) -> Running<'a> {
        Box::pin(async move {
            let Wanted { pattern, path, all } = read(arguments)?;
            let Done::Listing(listing) =
                scene.carry_out(Deed::Glob { pattern, path, limit: MOST, all }).await?
            else {
                return Err(odd());
            };
            let found = Evidence::Found { results: listing.entries.len() };
            Ok(Outcome::said(told(&listing.entries, listing.cut)).proving(found))
        })
    }
}
