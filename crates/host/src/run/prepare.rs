//! Prepare: the input folder as the agent will see it.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use holon_core::digest::sha256;
use holon_core::manifest::ContextFile;
use holon_core::mode::builtin;
use holon_core::prompt::{self, CompiledPrompt, ContextEntry, MAX_PROJECT, PromptLayers};
use holon_core::schema;
use holon_core::spec::{RequestedSchema, Spec};

use super::ActiveRun;
use crate::adapter::AdapterKind;
use crate::error::HostError;
use crate::modes;
use crate::plan::RunPlan;
use crate::spec_source::NamedPath;
use crate::store::{copy_tree, write_atomic};

/// What agents are told that are processes: they hand over files, and end with a code.
const PROCESS: &str = include_str!("../../../../modes/prompts/process.md");

/// What agents are told that may hand over by their last message.
const LAST_WORDS: &str = include_str!("../../../../adapters/prompts/last-words.md");

/// Names the host itself uses in the context folder.
pub(super) const OF_HOST: [&str; 2] = ["index.json", "repair.md"];

/// Longest schema that is told in the prompt; a longer one is in the spec, which the agent has.
const LONGEST_SCHEMA: usize = 16 * 1024;

impl ActiveRun<'_> {
    pub(super) fn prepare(&mut self) -> Result<(), HostError> {
        let input = self.folder.input();
        let context = input.join("context");
        for (number, named) in self.plan.context.iter().enumerate() {
            place(named, &free_place(&context, &named.path, number))?;
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

impl RunPlan {
    /// The prompts as the agent will get them; also what `--dry-run` shows.
    pub fn prompts(&self, context: &[ContextEntry]) -> Result<CompiledPrompt, HostError> {
        let project = modes::read_bounded(&self.workspace.join("AGENTS.md")).ok();
        let project = project.as_deref().map(|text| {
            let end =
                (0..=text.len().min(MAX_PROJECT)).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
            &text[..end]
        });
        let goal = format!("{}{}", self.spec.goal.description, schemas_in_words(&self.spec));
        let own = self.agent.adapter.prompt.as_deref().unwrap_or_default();
        let adapter = &self.agent.adapter;
        // Who gets the prompt with the command says what it has to say on standard output.
        let speaks = adapter.events.is_some() || adapter.command.iter().any(|word| word.contains("{prompt}"));
        let overlay = match speaks {
            true => format!("{}\n\n{}\n\n{own}", PROCESS.trim(), LAST_WORDS.trim()),
            false => PROCESS.to_owned(),
        };
        let layers = PromptLayers {
            common: builtin::common_prompt(),
            mode: &self.mode_prompt,
            // The native agent has words of its own.
            agent: Some(&overlay),
            project,
            goal: &goal,
            context,
        };
        let compile = if self.agent.adapter.kind == AdapterKind::Native {
            holon_agent::prompt::compile
        } else {
            prompt::compile
        };
        compile(&self.profile, &layers)
            .map_err(|e| HostError::usage(e.to_string(), "correct the mode or the goal"))
    }
}

/// Where a context file or folder goes: under its own name, or in a numbered folder where that name is taken.
fn free_place(context: &Path, path: &Path, number: usize) -> PathBuf {
    let name = path.file_name().map_or_else(|| format!("context-{number}").into(), ToOwned::to_owned);
    let target = context.join(&name);
    if !OF_HOST.iter().any(|own| name == *own) && !target.exists() {
        return target;
    }
    let mut folders = (number..).map(|n| context.join(n.to_string()).join(&name));
    folders.find(|target| !target.exists()).unwrap_or(target)
}

/// Copies a context file or folder; links inside it are not followed.
fn place(named: &NamedPath, to: &Path) -> Result<(), HostError> {
    let from = &named.path;
    let mut source = named.open().map_err(HostError::io("read", from))?;
    let meta = source.metadata().map_err(HostError::io("read", from))?;
    if meta.is_dir() {
        // By its descriptor: what has taken the name since is not what was looked at.
        return copy_tree(&PathBuf::from(format!("/proc/self/fd/{}", source.as_raw_fd())), to);
    }
    let parent = to.parent().unwrap_or(to);
    fs::create_dir_all(parent).map_err(HostError::io("create", parent))?;
    let mut target = File::create(to).map_err(HostError::io("create", to))?;
    io::copy(&mut source, &mut target).map_err(HostError::io("copy", from))?;
    target.set_permissions(meta.permissions()).map_err(HostError::io("write", to))
}

/// What the artifacts a spec asks for must satisfy, for the prompt.
fn schemas_in_words(spec: &Spec) -> String {
    let mut text = String::new();
    for artifact in &spec.output.artifacts {
        let schema = match &artifact.schema {
            None => continue,
            Some(RequestedSchema::Named(name)) => schema::compact(name).unwrap_or_default(),
            Some(RequestedSchema::Inline(keywords)) => serde_json::to_string(keywords).unwrap_or_default(),
        };
        let path = &artifact.path;
        text += &match schema.len() <= LONGEST_SCHEMA {
            true => format!("\n\n`{path}` must satisfy this JSON Schema: {schema}"),
            false => format!("\n\n`{path}` must satisfy the JSON Schema in `/holon/input/spec.yaml`."),
        };
    }
    text
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
