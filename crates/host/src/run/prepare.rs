//! Prepare: the input folder as the agent will see it.

use std::fs;
use std::path::Path;

use holon_core::digest::sha256;
use holon_core::manifest::ContextFile;
use holon_core::mode::builtin;
use holon_core::prompt::{self, Compiled, ContextEntry, Layers, MAX_PROJECT};

use super::{Plan, Run};
use crate::adapter::Kind;
use crate::error::HostError;
use crate::modes;
use crate::store::{copy_tree, write_atomic};

/// What agents are told that are processes: they hand over files, and end with a code.
const PROCESS: &str = include_str!("../../../../modes/prompts/process.md");

/// What agents are told that may hand over by their last message.
const LAST_WORDS: &str = include_str!("../../../../adapters/prompts/last-words.md");

impl Run<'_> {
    pub(super) fn prepare(&mut self) -> Result<(), HostError> {
        let input = self.folder.input();
        let context = input.join("context");
        for (number, path) in self.plan.context.iter().enumerate() {
            let name = path.file_name().map_or_else(|| format!("context-{number}").into(), ToOwned::to_owned);
            let mut target = context.join(&name);
            if target.exists() {
                target = context.join(number.to_string()).join(&name);
            }
            place(path, &target)?;
        }
        let index = index(&context)?;
        self.manifest.metadata.context = digests(&context, &index);
        if context.exists() {
            let text = serde_json::to_vec_pretty(&index).unwrap_or_default();
            write_atomic(&context.join("index.json"), &text)?;
        }
        let spec = serde_saphyr::to_string(&self.plan.spec).map_err(|e| {
            HostError::usage(format!("the spec cannot be written: {e}"), "this is a bug in Holon")
        })?;
        write_atomic(&input.join("spec.yaml"), spec.as_bytes())?;
        let compiled = self.plan.prompts(&index)?;
        let prompts = input.join("prompts");
        fs::create_dir(&prompts).map_err(HostError::io("create", &prompts))?;
        write_atomic(&prompts.join("system.md"), compiled.system.as_bytes())?;
        write_atomic(&prompts.join("user.md"), compiled.user.as_bytes())?;
        self.manifest.metadata.prompts_sha256 = Some(compiled.sha256);
        Ok(())
    }
}

impl Plan {
    /// The prompts as the agent will get them; also what `--dry-run` shows.
    pub fn prompts(&self, context: &[ContextEntry]) -> Result<Compiled, HostError> {
        let mode = modes::prompt_text(&self.profile)?;
        let project = modes::read_bounded(&self.workspace.join("AGENTS.md")).ok();
        let project = project.as_deref().map(|text| {
            let end =
                (0..=text.len().min(MAX_PROJECT)).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
            &text[..end]
        });
        let own = self.agent.adapter.prompt.as_deref().unwrap_or_default();
        let overlay = match self.agent.adapter.events {
            Some(_) => format!("{}\n\n{}\n\n{own}", PROCESS.trim(), LAST_WORDS.trim()),
            None => PROCESS.to_owned(),
        };
        let layers = Layers {
            common: builtin::common_prompt(),
            mode: &mode,
            // The native agent has words of its own.
            agent: Some(&overlay),
            project,
            goal: &self.spec.goal.description,
            context,
        };
        let compile = if self.agent.adapter.kind == Kind::Native {
            holon_agent::prompt::compile
        } else {
            prompt::compile
        };
        compile(&self.profile, &layers)
            .map_err(|e| HostError::usage(e.to_string(), "correct the mode or the goal"))
    }
}

/// Copies a context file or folder; links inside it are not followed.
fn place(from: &Path, to: &Path) -> Result<(), HostError> {
    if fs::metadata(from).map_err(HostError::io("read", from))?.is_dir() {
        return copy_tree(from, to);
    }
    let parent = to.parent().unwrap_or(to);
    fs::create_dir_all(parent).map_err(HostError::io("create", parent))?;
    fs::copy(from, to).map(drop).map_err(HostError::io("copy", from))
}

/// What the agent was handed, by digest.
fn digests(context: &Path, index: &[ContextEntry]) -> Vec<ContextFile> {
    // A name that is no text cannot be told in JSON, and is left out.
    let digest = |entry: &ContextEntry| {
        let bytes = fs::read(context.join(&entry.path)).ok()?;
        Some(ContextFile { path: entry.path.clone(), sha256: sha256(&bytes) })
    };
    index.iter().filter_map(digest).collect()
}

/// Everything in the context folder, by path.
fn index(context: &Path) -> Result<Vec<ContextEntry>, HostError> {
    let mut entries = Vec::new();
    let mut todo = vec![context.to_owned()];
    while let Some(folder) = todo.pop() {
        let Ok(listing) = fs::read_dir(&folder) else { continue };
        for entry in listing.flatten() {
            let path = entry.path();
            let meta = entry.metadata().map_err(HostError::io("read", &path))?;
            if meta.is_dir() {
                todo.push(path);
            } else if let Ok(name) = path.strip_prefix(context) {
                entries.push(ContextEntry { path: name.to_string_lossy().into_owned(), bytes: meta.len() });
            }
        }
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}
