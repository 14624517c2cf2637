//! Removes a file.

use holon_hands::{Deed, Done};
use serde::Deserialize;
use serde_json::json;

use super::arguments::read;
use super::{Arguments, Described, Outcome, Running, Scene, Settings, Tool, odd};
use crate::steward::Evidence;

/// Most bytes of a file whose digest is wanted before it goes.
const MOST: u64 = 8 * 1024 * 1024;

pub(super) struct DeleteFile;

#[derive(Deserialize)]
struct Wanted {
    #[serde(alias = "file_path", alias = "file")]
    path: String,
}

impl Tool for DeleteFile {
    fn name(&self) -> &str {
        "delete_file"
    }

    fn describe(&self, _settings: &Settings) -> Described {
        let schema =
            json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
        Described::new("delete_file", "Delete a file.", schema)
    }

    fn run<'a>(&'a self, arguments: Arguments, scene: &'a Scene<'a>) -> Running<'a> {
        Box::pin(async move {
            let Wanted { path } = read(arguments)?;
            // What it was is evidence; a file that cannot be read can still be removed.
            let before = match scene.carry_out(Deed::Load { path: path.clone(), max_bytes: MOST }).await {
                Ok(Done::Bytes(file)) => Some(file.sha256),
                _ => None,
            };
            let Done::Nothing =
                scene.carry_out(Deed::Remove { path: path.clone(), recursive: false }).await?
            else {
                return Err(odd());
            };
            let text = format!("{path}: deleted");
            Ok(Outcome::said(text).proving(Evidence::Changed { path, before, after: None }))
        })
    }
}
