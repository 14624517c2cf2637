//! All modes that can be named: built-in ones, the user's and the project's.

use std::collections::BTreeMap;

use crate::access::Access;
use crate::policy::{CommandRules, ToolRules};
use crate::sandbox::IsolationLevel;

use super::apply::overlay;
use super::builtin;
use super::error::{ModeError, Widening};
use super::file::ModeFile;
use super::limits::RunLimits;
use super::narrow::widenings;
use super::profile::{
    HostMountRules, HostMountSetting, ModeSource, ModelChoice, ModelPolicy, NetworkReach, Profile,
    ProfileArtifacts, PromptRef, ValueOrigin,
};

/// The rights no mode without a parent exceeds.
const CEILING: &str = "execute";

/// Every mode that can be named, before resolution.
#[derive(Debug, Clone)]
pub struct ModeCatalog {
    modes: BTreeMap<String, Vec<ModeDefinition>>,
    order: Vec<String>,
    refused: Vec<(String, ModeError)>,
}

/// One mode as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedMode {
    /// Canonical name.
    pub name: String,
    /// Other names for it.
    pub aliases: Vec<String>,
    /// Who defined it.
    pub source: ModeSource,
    /// One sentence.
    pub description: String,
}

#[derive(Debug, Clone)]
struct ModeDefinition {
    source: ModeSource,
    path: String,
    file: ModeFile,
}

impl ModeCatalog {
    /// The built-in modes.
    pub fn builtin() -> Result<Self, ModeError> {
        let mut catalog = Self { modes: BTreeMap::new(), order: Vec::new(), refused: Vec::new() };
        for (_, path, text) in builtin::MODES {
            catalog.add(ModeSource::Builtin, path, text)?;
        }
        Ok(catalog)
    }

    /// Adds a mode file; on an error the catalogue stays as it was and remembers why the name is missing.
    ///
    /// `path` is used in messages and, by its last part, as the mode's name. The user's files come before the
    /// project's, so that a project cannot take a name first. Inheritance is checked by [`Self::resolve`].
    pub fn add(&mut self, source: ModeSource, path: &str, text: &str) -> Result<(), ModeError> {
        self.try_add(source, path, text).inspect_err(|error| {
            self.refused.push((stem(path).to_owned(), error.clone()));
        })
    }

    fn try_add(&mut self, source: ModeSource, path: &str, text: &str) -> Result<(), ModeError> {
        let file = ModeFile::parse(text, path)?;
        let value = |key: &str, problem: String| ModeError::Value {
            file: path.to_owned(),
            key: key.to_owned(),
            problem,
        };
        let distrust = |key: &str, problem: String| ModeError::NotTrusted {
            file: path.to_owned(),
            key: key.to_owned(),
            problem,
        };
        let name = file.name.clone().unwrap_or_else(|| stem(path).to_owned());
        if name != stem(path) {
            return Err(value(
                "name",
                format!("is `{name}` but the file is called `{}.toml`; make them agree", stem(path)),
            ));
        }
        for (key, text) in [("name", &name)].into_iter().chain(file.aliases.iter().map(|a| ("aliases", a))) {
            if !is_name(text) {
                return Err(value(
                    key,
                    format!("`{text}` must be lower-case letters, digits, `-` or `_`, at most 40"),
                ));
            }
        }
        let taken = self.canonical(&name).map(str::to_owned);
        if let Some(owner) = &taken {
            match source {
                ModeSource::Project => {
                    return Err(distrust("name", format!("redefines the mode `{owner}`")));
                }
                ModeSource::User
                    if *owner == name && self.modes[owner].iter().all(|d| d.source != ModeSource::User) => {}
                _ => return Err(value("name", format!("`{name}` already names the mode `{owner}`"))),
            }
        }
        for alias in &file.aliases {
            if let Some(owner) = self.canonical(alias).filter(|owner| *owner != name) {
                let problem = format!("`{alias}` already names the mode `{owner}`");
                return Err(if source == ModeSource::Project {
                    distrust("aliases", problem)
                } else {
                    value("aliases", problem)
                });
            }
        }
        if source == ModeSource::Project && file.widen {
            return Err(distrust("widen", "asks for more rights than the parent has".to_owned()));
        }
        if source == ModeSource::Project && file.expose.paths.as_ref().is_some_and(|p| !p.is_empty()) {
            return Err(distrust("expose.paths", "asks to see paths of this machine".to_owned()));
        }
        if taken.is_some() && file.extends.is_some() {
            return Err(value("extends", format!("cannot be set when changing the existing mode `{name}`")));
        }
        let definition = ModeDefinition { source, path: path.to_owned(), file };
        if taken.is_none() {
            self.order.push(name.clone());
        }
        self.modes.entry(name.clone()).or_default().push(definition);
        Ok(())
    }

    /// The canonical name behind a name or alias.
    pub fn canonical(&self, name: &str) -> Option<&str> {
        if let Some((key, _)) = self.modes.get_key_value(name) {
            return Some(key);
        }
        let has = |definitions: &Vec<ModeDefinition>| {
            definitions.iter().any(|d| d.file.aliases.iter().any(|a| a == name))
        };
        self.modes.iter().find(|(_, definitions)| has(definitions)).map(|(key, _)| key.as_str())
    }

    /// All modes, built-in ones first.
    pub fn list(&self) -> Vec<ListedMode> {
        let listed = |name: &String| {
            let definitions = self.modes.get(name)?;
            let first = definitions.first()?;
            Some(ListedMode {
                name: name.clone(),
                aliases: definitions.iter().flat_map(|d| d.file.aliases.clone()).collect(),
                source: first.source,
                description: definitions
                    .iter()
                    .rev()
                    .find_map(|d| d.file.description.clone())
                    .unwrap_or_default(),
            })
        };
        self.order.iter().filter_map(listed).collect()
    }

    /// Every mode that does not resolve and every file that was refused, with the reason.
    pub fn problems(&self) -> Vec<(String, ModeError)> {
        let broken = self.order.iter().filter_map(|name| self.resolve(name).err().map(|e| (name.clone(), e)));
        self.refused.iter().cloned().chain(broken).collect()
    }

    /// Files that were refused, by the name they would have had.
    pub fn refused(&self) -> &[(String, ModeError)] {
        &self.refused
    }

    /// Resolves a mode by name or alias; an unknown name is an error that lists the known ones.
    pub fn resolve(&self, name: &str) -> Result<Profile, ModeError> {
        self.resolve_in(name, &mut Vec::new())
    }

    fn resolve_in(&self, name: &str, chain: &mut Vec<String>) -> Result<Profile, ModeError> {
        let Some(name) = self.canonical(name) else {
            if let Some((_, error)) = self.refused.iter().find(|(refused, _)| refused == name) {
                return Err(error.clone());
            }
            return Err(ModeError::Unknown { name: name.to_owned(), known: self.order.clone() });
        };
        let definitions = &self.modes[name];
        if chain.iter().any(|seen| seen == name) {
            chain.push(name.to_owned());
            let file = definitions.first().map(|d| d.path.clone()).unwrap_or_default();
            return Err(ModeError::Cycle { file, chain: chain.clone() });
        }
        chain.push(name.to_owned());
        let mut profile: Option<Profile> = None;
        for definition in definitions {
            let next = match profile.take() {
                Some(before) => narrow_to(&before, definition)?,
                None => self.first(name, definition, chain)?,
            };
            profile = Some(next);
        }
        let mut profile = profile.unwrap_or_else(blank);
        profile.name = name.to_owned();
        profile.aliases = definitions.iter().flat_map(|d| d.file.aliases.clone()).collect();
        Ok(profile)
    }

    /// The profile of a mode's own definition, before a user's changes to it.
    fn first(
        &self,
        name: &str,
        definition: &ModeDefinition,
        chain: &mut Vec<String>,
    ) -> Result<Profile, ModeError> {
        let ModeDefinition { source, path, file } = definition;
        let mut profile = match &file.extends {
            Some(parent) => {
                let base = self.resolve_in(parent, chain).map_err(|e| missing_parent(e, parent, path))?;
                if *source == ModeSource::Project && base.source == ModeSource::User {
                    return Err(ModeError::NotTrusted {
                        file: path.clone(),
                        key: "extends".to_owned(),
                        problem: format!("takes over the user's own mode `{}`", base.name),
                    });
                }
                let mut profile = narrow_to(&base, definition)?;
                profile.lineage = [vec![base.name.clone()], base.lineage].concat();
                profile
            }
            None if *source == ModeSource::Builtin => overlay(&blank(), file, *source, path)?,
            None => self.standalone(name, definition)?,
        };
        profile.source = *source;
        Ok(profile)
    }

    /// A mode without a parent: it must say what it writes and how it explains itself, below the ceiling.
    fn standalone(&self, name: &str, definition: &ModeDefinition) -> Result<Profile, ModeError> {
        let ModeDefinition { source, path, file } = definition;
        let need = |key: &str, problem: &str| ModeError::Value {
            file: path.clone(),
            key: key.to_owned(),
            problem: problem.to_owned(),
        };
        if file.workspace.access.is_none() {
            return Err(need(
                "workspace.access",
                "is missing; say `extends = \"…\"` or what the mode may write",
            ));
        }
        if file.prompt.file.is_none() {
            return Err(need(
                "prompt.file",
                "is missing; a mode without `extends` needs a prompt of its own",
            ));
        }
        let ceiling = self.resolve(CEILING)?;
        let mut base = ceiling.clone();
        base.artifacts = ProfileArtifacts::default();
        base.origins.retain(|key, _| !key.starts_with("artifacts."));
        let mut profile = overlay(&base, file, *source, path)?;
        if profile.artifacts.required.is_empty() {
            profile.artifacts.required.push("summary.md".to_owned());
        }
        if profile.access.delivers() && !profile.requires("diff.patch") {
            profile.artifacts.required.push("diff.patch".to_owned());
        }
        base.artifacts = profile.artifacts.clone();
        refuse_wider(&profile, &base, name, definition)?;
        profile.lineage.clear();
        Ok(profile)
    }
}

/// Lays a definition over its parent and refuses what is wider.
fn narrow_to(parent: &Profile, definition: &ModeDefinition) -> Result<Profile, ModeError> {
    let child = overlay(parent, &definition.file, definition.source, &definition.path)?;
    refuse_wider(&child, parent, stem(&definition.path), definition)?;
    Ok(child)
}

fn refuse_wider(
    child: &Profile,
    parent: &Profile,
    name: &str,
    definition: &ModeDefinition,
) -> Result<(), ModeError> {
    let may_widen = match definition.source {
        ModeSource::Builtin => true,
        ModeSource::User => definition.file.widen,
        ModeSource::Project => false,
    };
    if may_widen {
        return Ok(());
    }
    let mut found = widenings(child, parent);
    // Layers already keep a wider entry from having any effect; saying so is kinder than ignoring it.
    if let Some((tool, asked, allowed)) = parent.tools.first_wider(&definition.file.tools) {
        found.push(Widening {
            key: format!("tools.{tool}"),
            asked: asked.to_string(),
            allowed: allowed.to_string(),
        });
    }
    // A read-only child must not inherit the open network that its writing parent was given.
    let kept_open = child.network == NetworkReach::Host && parent.network == NetworkReach::Host;
    if kept_open && child.promises_no_change() && !parent.promises_no_change() {
        found.push(Widening { key: "network.tools".into(), asked: "host".into(), allowed: "gateway".into() });
    }
    if let Some(allow) = &definition.file.commands.allow {
        let inside = |list: &Vec<String>| {
            allow.iter().all(|i| list.iter().any(|o| crate::policy::pattern_within(i, o)))
        };
        if !parent.commands.allow.iter().all(inside) {
            found.push(Widening {
                key: "commands.allow".into(),
                asked: allow.join(", "),
                allowed: "the parent's list".into(),
            });
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    Err(ModeError::Wider {
        file: definition.path.clone(),
        mode: name.to_owned(),
        parent: format!("`{}`", parent.name),
        widenings: found,
    })
}

/// A parent that does not exist is a mistake of this file.
fn missing_parent(error: ModeError, parent: &str, path: &str) -> ModeError {
    match error {
        ModeError::Unknown { name, known } if name == parent => ModeError::Value {
            file: path.to_owned(),
            key: "extends".to_owned(),
            problem: ModeError::Unknown { name, known }.to_string(),
        },
        other => other,
    }
}

/// Where built-in modes start: nothing but reading.
fn blank() -> Profile {
    Profile {
        name: String::new(),
        aliases: Vec::new(),
        description: String::new(),
        source: ModeSource::Builtin,
        lineage: Vec::new(),
        access: Access::ReadOnly,
        writes_on_request: false,
        hide: Vec::new(),
        tools: ToolRules::default(),
        commands: CommandRules::default(),
        network: NetworkReach::None,
        minimum: IsolationLevel::L4,
        expose: HostMountRules {
            toolchains: HostMountSetting::None,
            caches: HostMountSetting::None,
            paths: Vec::new(),
        },
        limits: RunLimits::default(),
        artifacts: ProfileArtifacts::default(),
        model: ModelChoice { intent: String::new(), policy: ModelPolicy::Auto, reasoning: false },
        prompt: PromptRef { file: String::new(), source: ModeSource::Builtin, named_by: String::new() },
        origins: BTreeMap::<String, ValueOrigin>::new(),
    }
}

fn stem(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.strip_suffix(".toml").unwrap_or(file)
}

fn is_name(text: &str) -> bool {
    (1..=40).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_'))
}
