//! Scripts as files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use holon_model::Cassette;
use holon_model::cassette::CassetteTurn;
use serde::Deserialize;

/// One agent and the repository it works in.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentScript {
    /// The name of its file.
    #[serde(skip)]
    pub name: String,
    /// What agents of its kind have in common.
    #[serde(skip)]
    pub family: String,
    /// The programming language of the repository.
    #[serde(default = "text")]
    pub language: String,
    /// How it gets lost, in a line.
    pub about: String,
    /// What it is asked to do.
    pub goal: String,
    /// What a text has to name for it to be put right, beside a next step.
    #[serde(default)]
    pub names: Vec<String>,
    /// Says whether the result is good.
    pub proof: String,
    /// Files that are put back as they were before that.
    #[serde(default)]
    pub keep: Vec<String>,
    /// Most rounds it is given.
    #[serde(default = "forty")]
    pub rounds: u32,
    /// More arguments of `holon run`.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The repository.
    pub files: BTreeMap<String, String>,
    /// What was committed after that, one after the other.
    #[serde(default)]
    pub commits: Vec<ScriptCommit>,
    /// Its first turns, once.
    #[serde(default)]
    pub opening: String,
    /// What it does again and again.
    #[serde(default)]
    pub circle: String,
    /// What it does once it has been put right.
    #[serde(default)]
    pub repair: String,
}

/// One commit after the first.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptCommit {
    /// Its message.
    pub message: String,
    /// The files it changes.
    pub files: BTreeMap<String, String>,
}

fn forty() -> u32 {
    40
}

fn text() -> String {
    "text".to_owned()
}

impl AgentScript {
    /// All scripts of a folder, by name.
    pub fn load(folder: &Path) -> Result<Vec<Self>, String> {
        let entries = fs::read_dir(folder).map_err(|e| format!("cannot read {}: {e}", folder.display()))?;
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|end| end == "toml"));
        paths.sort();
        paths.iter().map(|path| Self::read(path)).collect()
    }

    fn read(path: &Path) -> Result<Self, String> {
        let wrong = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
        let text = fs::read_to_string(path).map_err(|e| wrong(&e))?;
        let mut script: Self = toml::from_str(&text).map_err(|e| wrong(&e))?;
        script.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        script.family = script.name.splitn(2, '-').last().unwrap_or_default().to_owned();
        for part in [&script.opening, &script.circle, &script.repair] {
            turns(part, 1).map_err(|e| wrong(&e))?;
        }
        if script.opening.is_empty() && script.circle.is_empty() {
            return Err(wrong(&"neither `opening` nor `circle` says what the agent does"));
        }
        Ok(script)
    }

    /// The repository as it is when the agent begins.
    pub fn tree(&self) -> BTreeMap<String, String> {
        let mut tree = self.files.clone();
        for commit in &self.commits {
            tree.extend(commit.files.clone());
        }
        tree
    }

    /// Whether it gets lost at all.
    pub fn is_lost(&self) -> bool {
        !self.circle.is_empty()
    }
}

/// The turns of a part, with the number of the request where a script wants it.
pub(super) fn turns(part: &str, number: usize) -> Result<Vec<CassetteTurn>, String> {
    if part.trim().is_empty() {
        return Ok(Vec::new());
    }
    let cassette: Cassette = part.replace("{n}", &number.to_string()).parse().map_err(|e| format!("{e}"))?;
    Ok(cassette.turns)
}
