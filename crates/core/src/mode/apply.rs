//! Laying one definition over another: inheritance and the values of a single run all go through here.

use crate::access::Access;
use crate::artifact;
use crate::policy::{ToolRules, check_pattern};
use crate::sandbox::IsolationLevel;
use crate::scope;

use super::error::ModeError;
use super::file::{AccessKeyword, ModeFile};
use super::profile::{ModeSource, Profile, PromptRef, ValueOrigin};

/// The highest value any whole-number limit may have, so that arithmetic on them never overflows.
const MAX_COUNT: u64 = 1 << 40;

/// Lays the values of a mode file over the profile it starts from, without any check of rights.
pub(super) fn overlay(
    base: &Profile,
    file: &ModeFile,
    source: ModeSource,
    path: &str,
) -> Result<Profile, ModeError> {
    let mut layer =
        ModeLayer { out: base.clone(), path, origin: ValueOrigin::File { source, file: path.to_owned() } };
    layer.plain_values(file);
    layer.workspace(file)?;
    layer.tools_and_commands(file)?;
    layer.surroundings(file)?;
    layer.limits(file)?;
    layer.artifacts(file)?;
    layer.prompt(file, source)?;
    Ok(layer.out)
}

pub(super) struct ModeLayer<'a> {
    pub(super) out: Profile,
    pub(super) path: &'a str,
    pub(super) origin: ValueOrigin,
}

impl ModeLayer<'_> {
    fn set_here(&mut self, key: &str) {
        self.out.origins.insert(key.to_owned(), self.origin.clone());
    }

    fn bad(&self, key: &str, problem: impl Into<String>) -> ModeError {
        ModeError::Value { file: self.path.to_owned(), key: key.to_owned(), problem: problem.into() }
    }

    fn plain_values(&mut self, file: &ModeFile) {
        if let Some(text) = &file.description {
            self.out.description.clone_from(text);
            self.set_here("description");
        }
        if let Some(intent) = &file.model.intent {
            self.out.model.intent.clone_from(intent);
            self.set_here("model.intent");
        }
        if let Some(policy) = file.model.policy {
            self.out.model.policy = policy;
            self.set_here("model.policy");
        }
        if let Some(reasoning) = file.model.reasoning {
            self.out.model.reasoning = reasoning;
            self.set_here("model.reasoning");
        }
    }

    fn workspace(&mut self, file: &ModeFile) -> Result<(), ModeError> {
        let table = &file.workspace;
        let kind = table.access.unwrap_or(match &self.out.access {
            Access::ReadOnly => AccessKeyword::ReadOnly,
            Access::Scoped { .. } => AccessKeyword::Scoped,
            Access::Scratch => AccessKeyword::Scratch,
            Access::ReadWrite => AccessKeyword::Rw,
        });
        let access = match (kind, &table.write) {
            (AccessKeyword::Scoped, Some(write)) if !write.is_empty() => {
                Access::Scoped { write: write.clone() }
            }
            (AccessKeyword::Scoped, None) if matches!(self.out.access, Access::Scoped { .. }) => {
                self.out.access.clone()
            }
            (AccessKeyword::Scoped, _) => {
                return Err(
                    self.bad("workspace.write", "must list at least one glob when access is \"scoped\"")
                );
            }
            (_, Some(_)) => {
                return Err(self.bad("workspace.write", "only makes sense with access = \"scoped\""));
            }
            (AccessKeyword::ReadOnly, None) => Access::ReadOnly,
            (AccessKeyword::Scratch, None) => Access::Scratch,
            (AccessKeyword::Rw, None) => Access::ReadWrite,
        };
        if table.access.is_some() || table.write.is_some() {
            self.out.access = access;
            self.set_here("workspace.access");
        }
        for glob in table.write.iter().flatten() {
            scope::check_glob(glob)
                .map_err(|e| self.bad("workspace.write", format!("is not usable: {e}")))?;
        }
        if file.scratch == Some(true) {
            if self.out.access.delivers() {
                return Err(self.bad("scratch", "can only be set on a read-only mode"));
            }
            self.out.access = Access::Scratch;
            self.set_here("workspace.access");
        }
        if let Some(on_request) = table.writes_on_request {
            if on_request && self.out.access != Access::Scratch {
                return Err(
                    self.bad("workspace.writes_on_request", "only makes sense with access = \"scratch\"")
                );
            }
            self.out.writes_on_request = on_request;
            self.set_here("workspace.writes_on_request");
        } else if self.out.access != Access::Scratch {
            self.out.writes_on_request = false;
        }
        if let Some(hide) = &table.hide {
            for glob in hide {
                scope::check_glob(glob)
                    .map_err(|e| self.bad("workspace.hide", format!("is not usable: {e}")))?;
            }
            join(&mut self.out.hide, hide, file.widen);
            self.set_here("workspace.hide");
        }
        Ok(())
    }

    fn tools_and_commands(&mut self, file: &ModeFile) -> Result<(), ModeError> {
        for name in file.tools.keys() {
            let stem = name.strip_suffix('*').unwrap_or(name);
            if (stem.is_empty() && name != "*") || stem.contains('*') || name.len() > 200 {
                return Err(
                    self.bad(&format!("tools.{name}"), "must be a tool's name or a prefix ending in `*`")
                );
            }
        }
        if !file.tools.is_empty() {
            if file.widen {
                let mut table = self.out.tools.flattened();
                table.extend(file.tools.clone());
                self.out.tools = ToolRules { layers: vec![table] };
            } else {
                self.out.tools.layers.push(file.tools.clone());
            }
            for name in file.tools.keys() {
                self.set_here(&format!("tools.{name}"));
            }
        }
        for (key, list) in [("commands.allow", &file.commands.allow), ("commands.deny", &file.commands.deny)]
        {
            for pattern in list.iter().flatten() {
                check_pattern(pattern).map_err(|why| self.bad(key, why))?;
            }
        }
        if let Some(allow) = &file.commands.allow {
            if file.widen {
                self.out.commands.allow.clear();
            }
            self.out.commands.allow.push(allow.clone());
            self.set_here("commands.allow");
        }
        if let Some(deny) = &file.commands.deny {
            join(&mut self.out.commands.deny, deny, file.widen);
            self.set_here("commands.deny");
        }
        Ok(())
    }

    pub(super) fn surroundings(&mut self, file: &ModeFile) -> Result<(), ModeError> {
        if let Some(network) = file.network.tools {
            self.out.network = network;
            self.set_here("network.tools");
        }
        if let Some(minimum) = file.sandbox.minimum {
            if minimum == IsolationLevel::None {
                return Err(self.bad(
                    "sandbox.minimum",
                    "must be L0 to L4; running without walls is only ever asked for on the command line",
                ));
            }
            self.out.minimum = minimum;
            self.set_here("sandbox.minimum");
        }
        if let Some(toolchains) = file.expose.toolchains {
            self.out.expose.toolchains = toolchains;
            self.set_here("expose.toolchains");
        }
        if let Some(caches) = file.expose.caches {
            self.out.expose.caches = caches;
            self.set_here("expose.caches");
        }
        if let Some(paths) = &file.expose.paths {
            for path in paths {
                let rooted = path.starts_with('/') || path.starts_with("~/");
                if !rooted || path.contains('\0') || path.split('/').any(|p| p == ".." || p == ".") {
                    return Err(self.bad(
                        "expose.paths",
                        format!("`{path}` must be absolute or start with ~/, without `..`"),
                    ));
                }
            }
            self.out.expose.paths.clone_from(paths);
            self.set_here("expose.paths");
        }
        Ok(())
    }

    pub(super) fn limits(&mut self, file: &ModeFile) -> Result<(), ModeError> {
        let table = &file.limits;
        let limits = &mut self.out.limits;
        let mut set = Vec::new();
        for (key, value, slot) in [
            ("limits.rounds", table.rounds, &mut limits.rounds),
            ("limits.output_mb", table.output_mb, &mut limits.output_mb),
            ("limits.memory_mb", table.memory_mb, &mut limits.memory_mb),
            ("limits.processes", table.processes, &mut limits.processes),
            ("limits.disk_mb", table.disk_mb, &mut limits.disk_mb),
            ("limits.files", table.files, &mut limits.files),
        ] {
            if let Some(value) = value {
                *slot = value;
                set.push((key, (1..=MAX_COUNT).contains(&value)));
            }
        }
        for (key, value, slot) in [
            ("limits.timeout", table.timeout, &mut limits.timeout),
            ("limits.idle_timeout", table.idle_timeout, &mut limits.idle_timeout),
        ] {
            if let Some(value) = value {
                *slot = value;
                set.push((key, true));
            }
        }
        if let Some(cost) = table.cost_usd {
            limits.cost_usd = cost;
            set.push(("limits.cost_usd", cost.is_finite() && (0.0..=1e6).contains(&cost)));
        }
        for (key, ok) in set {
            if !ok {
                return Err(self.bad(key, "must be a finite number above zero"));
            }
            self.set_here(key);
        }
        Ok(())
    }

    pub(super) fn artifacts(&mut self, file: &ModeFile) -> Result<(), ModeError> {
        let table = &file.artifacts;
        for (key, list) in [("artifacts.required", &table.required), ("artifacts.optional", &table.optional)]
        {
            for name in list.iter().flatten() {
                artifact::check_name(name).map_err(|why| self.bad(key, format!("`{name}` {why}")))?;
            }
        }
        if let Some(required) = &table.required {
            join(&mut self.out.artifacts.required, required, file.widen);
            self.set_here("artifacts.required");
        }
        if let Some(optional) = &table.optional {
            join(&mut self.out.artifacts.optional, optional, file.widen);
            self.set_here("artifacts.optional");
        }
        let Profile { artifacts, .. } = &mut self.out;
        artifacts.optional.retain(|a| !artifacts.required.contains(a));
        Ok(())
    }

    fn prompt(&mut self, file: &ModeFile, source: ModeSource) -> Result<(), ModeError> {
        if let Some(name) = &file.prompt.file {
            check_prompt_name(name).map_err(|why| self.bad("prompt.file", format!("`{name}` {why}")))?;
            self.out.prompt = PromptRef { file: name.clone(), source, named_by: self.path.to_owned() };
            self.set_here("prompt.file");
        }
        Ok(())
    }
}

/// Adds what is new, or replaces the whole list where a user's file may widen.
pub(super) fn join(into: &mut Vec<String>, more: &[String], replace: bool) {
    if replace {
        into.clear();
    }
    for item in more {
        if !into.contains(item) {
            into.push(item.clone());
        }
    }
}

/// A prompt is a plain Markdown file at or below the folder of its mode file.
fn check_prompt_name(name: &str) -> Result<(), &'static str> {
    if name.len() > 200 || name.contains(['\\', '\0', ':', '~']) || name.chars().any(char::is_control) {
        return Err("must be a plain file name");
    }
    if name.starts_with('/') || name.split('/').any(|part| part.is_empty() || part.starts_with('.')) {
        return Err("must be relative to the mode file, without `..` or hidden folders");
    }
    if !name.ends_with(".md") {
        return Err("must end in .md");
    }
    Ok(())
}
