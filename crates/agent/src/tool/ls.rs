//! Lists a folder.

use holon_hands::{Deed, Done, Entry, EntryKind};
use serde::Deserialize;
use serde_json::json;

use super::arguments::{flag, number, read};
use super::{Arguments, Described, Outcome, Running, Scene, Settings, Tool, odd};
use crate::steward::Evidence;

/// Most entries told.
const MOST: u64 = 400;

pub(super) struct Ls;

#[derive(Deserialize)]
struct Wanted {
    #[serde(default)]
    path: String,
    #[serde(default, deserialize_with = "number")]
    depth: Option<u64>,
    #[serde(default, deserialize_with = "flag")]
    all: bool,
}

impl Tool for Ls {
    fn name(&self) -> &str {
        "ls"
    }

    fn describe(&self, _settings: &Settings) -> Described {
        let schema = json!({"type": "object", "properties": {
            "path": {"type": "string"}, "depth": {"type": "integer"}}});
        Described::new("ls", "List a folder.", schema)
    }

    fn side_by_side(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, arguments: Arguments, scene: &'a Scene<'a>) -> Running<'a> {
        Box::pin(async move {
            let Wanted { path, depth, all } = read(arguments)?;
            let path = if path.is_empty() { ".".to_owned() } else { path };
            let depth = u32::try_from(depth.unwrap_or(1).clamp(1, 10)).unwrap_or(1);
            let Done::Listing(listing) =
                scene.carry_out(Deed::List { path, depth, limit: MOST, all }).await?
            else {
                return Err(odd());
            };
            let found = Evidence::Found { results: listing.entries.len() };
            Ok(Outcome::said(told(&listing.entries, listing.cut)).proving(found))
        })
    }
}

/// Entries one per line, with a mark for what they are.
pub(super) fn told(entries: &[Entry], cut: bool) -> String {
    if entries.is_empty() {
        return "[nothing]".to_owned();
    }
    let mut lines: Vec<String> = entries
        .iter()
        .map(|entry| {
            let mark = match entry.kind {
                EntryKind::File => "",
                EntryKind::Folder => "/",
                EntryKind::Link => "@",
                EntryKind::Other => "=",
            };
            format!("{}{mark}", entry.path)
        })
        .collect();
    if cut {
        lines.push("[there is more; ask for a smaller part]".to_owned());
    }
    lines.join("\n")
}
