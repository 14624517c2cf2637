//! Writes a whole file.

use holon_hands::Expectation;
use serde::Deserialize;
use serde_json::json;

use super::arguments::read;
use super::load::load;
use super::{Arguments, Described, Outcome, Running, Scene, Settings, Tool, Trouble};
use crate::reply::{leaves_out, line_left_out};
use crate::steward::Evidence;

pub(super) struct WriteFile;

#[derive(Deserialize)]
struct Wanted {
    #[serde(alias = "file_path", alias = "file")]
    path: String,
    #[serde(alias = "text", alias = "contents")]
    content: String,
}

impl Tool for WriteFile {
    fn name(&self) -> &str {
        "write_file"
    }

    fn describe(&self, _settings: &Settings) -> Described {
        let schema = json!({"type": "object", "properties": {
            "path": {"type": "string"}, "content": {"type": "string"}}, "required": ["path", "content"]});
        Described::new("write_file", "Write a whole file, new or replaced.", schema)
    }

    fn run<'a>(&'a self, arguments: Arguments, scene: &'a Scene<'a>) -> Running<'a> {
        Box::pin(async move {
            let Wanted { path, content } = read(arguments)?;
            let lines = content.lines().count();
            let before = match leaves_out(&content) {
                true => load(scene, &path).await.ok().flatten(),
                false => None,
            };
            if let Some(line) = before.and_then(|before| line_left_out(&content, &before.text)) {
                return Err(Trouble::Said(format!(
                    "{path}: nothing was written. \"{line}\" stands for lines that the file has; they would be lost. \
                     Write the whole file, or use edit_file."
                )));
            }
            let stored = scene.store(&path, content.into_bytes(), Expectation::Any).await?;
            let what = match &stored.before {
                None => "new",
                Some(before) if *before == stored.after => "unchanged",
                Some(_) => "replaced",
            };
            let changed =
                Evidence::Changed { path: path.clone(), before: stored.before, after: Some(stored.after) };
            Ok(Outcome::said(format!("{path}: {what}, {lines} lines")).proving(changed))
        })
    }
}
