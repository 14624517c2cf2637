//! A foreign agent's part of a run: what it is started with, and what it says while it works.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use holon_core::manifest::Manifest;
use holon_core::mode::{ModeCatalog, Profile};

use super::ActiveRun;
use super::foreign_supervision::{ClientEnd, ForeignSupervision};
use super::gateway_session::GatewaySession;
use super::job::{CLIENT, PayloadFolders};
use super::snapshot::{RunStage, give};
use crate::adapter::events::AgentEventReader;
use crate::adapter::fill::PlaceholderValues;
use crate::adapter::{ModeOverrides, ResolvedAgent};
use crate::error::HostError;
use crate::insertions::Insertions;

/// More rounds than any script has.
const REHEARSED: u64 = 1000;

/// What only agents that think inside need.
#[derive(Default)]
pub(crate) struct ForeignAgentRun {
    /// Their way to a model.
    pub door: Option<GatewaySession>,
    /// Reads what the one that runs now tells.
    pub reader: Option<AgentEventReader>,
    /// Artifacts made of its last words, with what was written.
    pub lent: Vec<(String, Vec<u8>)>,
    /// What stands in braces in its description, for this start.
    pub filling: PlaceholderValues,
    /// What watches the one that runs now.
    pub watched: Option<ForeignSupervision>,
    /// How its end was taken.
    pub over: ClientEnd,
    /// What was put into its conversation.
    pub insertions: Insertions,
}

impl ForeignAgentRun {
    /// How many lines were not in the form they should have.
    pub(super) fn garbage(&self) -> u64 {
        self.reader.as_ref().map_or(0, |reader| reader.heard().unread)
    }
}

impl ActiveRun<'_> {
    /// What holds for this agent in this mode.
    pub(super) fn for_mode(&self) -> ModeOverrides {
        for_mode(&self.plan.agent, &self.plan.profile)
    }

    /// Gets an agent's start ready: what its description's words stand for, its files, and someone to hear it.
    pub(super) fn furnish(&mut self, stage: &RunStage, repair: Option<&str>) -> Result<(), HostError> {
        if self.is_native() {
            return Ok(());
        }
        self.foreign.filling = self.filling(stage, repair)?;
        // On a terminal it draws a screen, which nobody reads but a person.
        self.foreign.reader =
            AgentEventReader::of(&self.plan.agent.adapter).filter(|_| !self.plan.interactive);
        if stage.attempts == 0 {
            self.write_files(stage)?;
        }
        Ok(())
    }

    fn filling(&mut self, stage: &RunStage, repair: Option<&str>) -> Result<PlaceholderValues, HostError> {
        let address = self.door_address(stage)?;
        let folders = self.folders(stage, stage.backend.private_root());
        let agent = &self.plan.agent;
        let mode = for_mode(agent, &self.plan.profile);
        let mut filling = PlaceholderValues::new(mode.args, agent.args.clone());
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let PayloadFolders { input, output, workspace, home } = &folders;
        for (name, folder) in [("input", input), ("output", output), ("workspace", workspace), ("home", home)]
        {
            filling.set(name, text(folder));
        }
        filling.set("client", CLIENT);
        if let Some(located) = &agent.located {
            filling.set("program", text(&located.program));
        }
        if let Some(file) = agent.file_inside() {
            filling.set("agent", text(&file));
        }
        if let Some(door) = &self.foreign.door {
            filling.set("gateway", address);
            filling.set("token", door.token.as_str());
            // By these some agents know a key that they were told to trust.
            let token = door.token.as_str();
            let end = token.get(token.len().saturating_sub(20)..).unwrap_or_default();
            filling.set("token_end", end);
            filling.set("model", door.told.clone());
        }
        // A rehearsal ends with its script.
        let rounds = if self.host.script.is_some() { REHEARSED } else { self.plan.profile.limits.rounds };
        filling.set("rounds", rounds.to_string());
        let read = |name: &str| {
            let path = self.folder.input().join("prompts").join(name);
            fs::read_to_string(&path).map_err(HostError::io("read", &path))
        };
        let prompt = match repair {
            Some(text) => format!("{}\n\n{text}", read("user.md")?),
            None => read("user.md")?,
        };
        if self.has_goal() {
            filling.set_text("goal", prompt.clone(), &text(&input.join("prompts/user.md")));
        }
        filling.set_text("prompt", prompt, &text(&input.join("prompts/user.md")));
        filling.set_text("system", read("system.md")?, &text(&input.join("prompts/system.md")));
        Ok(filling)
    }

    /// Writes the files of its description into its private home.
    fn write_files(&self, stage: &RunStage) -> Result<(), HostError> {
        let mode = self.for_mode();
        let screen = self.screen().map(|screen| &screen.files);
        for (name, content) in
            self.plan.agent.adapter.files.iter().chain(&mode.files).chain(screen.into_iter().flatten())
        {
            let mut folder = stage.home.clone();
            let mut parts = name.split('/').peekable();
            while let Some(part) = parts.next() {
                folder.push(part);
                if parts.peek().is_none() {
                    let content = self.foreign.filling.file(content);
                    fs::write(&folder, content).map_err(HostError::io("write", &folder))?;
                } else if !folder.exists() {
                    fs::create_dir(&folder).map_err(HostError::io("create", &folder))?;
                }
                give(&folder, &stage.identity)?;
            }
        }
        Ok(())
    }

    /// The command of an agent that thinks inside.
    pub(super) fn foreign_argv(&self) -> Vec<OsString> {
        let agent = &self.plan.agent;
        match &agent.image {
            // An image has its own entry point; a command that was named runs in it.
            Some(_) if agent.adapter.command.is_empty() => agent.args.iter().map(Into::into).collect(),
            _ => {
                let screen = self.screen().map(|screen| &screen.command);
                self.foreign.filling.words(screen.unwrap_or(&agent.adapter.command))
            }
        }
    }

    /// The environment its description adds.
    pub(super) fn foreign_env(&self) -> Vec<(String, String)> {
        let mode = self.for_mode();
        let adapter = &self.plan.agent.adapter;
        let closed = self.foreign.door.is_none() && adapter.model.as_ref().is_some_and(|m| m.on_request);
        let common = if closed { BTreeMap::new() } else { adapter.env.clone() };
        let screen = self.screen().map(|screen| screen.env.clone()).unwrap_or_default();
        let all = common.into_iter().chain(mode.env).chain(screen);
        all.map(|(name, value)| (name, self.foreign.filling.text(&value))).collect()
    }
}

fn for_mode(agent: &ResolvedAgent, profile: &Profile) -> ModeOverrides {
    agent.adapter.for_mode(&profile.name, profile.access.label())
}

/// What is known about an agent before it starts.
pub(super) fn describe(agent: &ResolvedAgent, profile: &Profile, manifest: &mut Manifest) {
    let mode = for_mode(agent, profile);
    manifest.metadata.native_plan_used = mode.native_plan;
    manifest.metadata.native_review_used = mode.native_review;
    manifest.metadata.agent.version = agent.located.as_ref().and_then(|located| located.version.clone());
}

/// Modes that a description speaks of and nobody has, in words: what it says about them has no effect.
pub(super) fn unheard(agent: &ResolvedAgent, modes: &ModeCatalog) -> Vec<String> {
    const ACCESS: [&str; 4] = ["read-only", "scoped", "scratch", "rw"];
    let names: Vec<String> = modes.list().into_iter().map(|listed| listed.name).collect();
    let known = || names.iter().map(String::as_str).chain(ACCESS);
    let unknown = agent
        .adapter
        .modes
        .keys()
        .filter(|name| !ACCESS.contains(&name.as_str()) && modes.resolve(name).is_err());
    unknown
        .map(|name| {
            let hint = holon_core::suggest::hint(name, known());
            format!("agent {}: `modes.{name}` is no mode{hint}, so what it says has no effect", agent.name)
        })
        .collect()
}

/// Whether an agent has another version than those it was tried with, in words.
pub(super) fn untried(agent: &ResolvedAgent) -> Option<String> {
    let find = agent.adapter.find.as_ref()?;
    let (version, range) = (agent.located.as_ref()?.version.as_ref()?, find.tested.as_ref()?);
    (!range.holds(version))
        .then(|| format!("{} {version} is outside of the versions it was tried with ({range})", agent.name))
}
