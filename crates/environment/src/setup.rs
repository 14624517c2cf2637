//! The commands that set a project up, and where they come from.

use std::collections::BTreeSet;

use holon_core::digest::sha256;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::found::{INPUT_FILES, found_setup};
use crate::settings::{EnvironmentSettings, is_inside};

/// The form of what a digest is made of; another one is another digest.
const VERSION: &str = "holon setup 1";

/// Files of a project, by their path in it. What is too large to be a text that decides something is not there.
pub trait ProjectFiles {
    /// The text of a regular file.
    fn text(&self, path: &str) -> Option<String>;

    /// Whether there is a regular file.
    fn is_file(&self, path: &str) -> bool;
}

/// Who says how a project is set up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SetupSource {
    /// The user's own configuration.
    User {
        /// The file.
        file: String,
    },
    /// The repository's `holon.toml`.
    Project {
        /// The file.
        file: String,
    },
    /// It was worked out from files of the repository.
    Found {
        /// Their names.
        files: Vec<String>,
    },
}

impl SetupSource {
    /// Whether somebody has to agree before anything of it runs.
    pub fn is_of_repository(&self) -> bool {
        !matches!(self, Self::User { .. })
    }
}

impl std::fmt::Display for SetupSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::User { file } | Self::Project { file } => f.write_str(file),
            Self::Found { files } => write!(f, "found: {}", files.join(", ")),
        }
    }
}

/// How a project is set up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentSetup {
    /// The commands, in order, each for a shell.
    pub commands: Vec<String>,
    /// What they may reach, as permits are written.
    pub permits: Vec<String>,
    /// Further files that decide what they leave.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// Who says so.
    pub source: SetupSource,
    /// What could not be taken over, for a person to read.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl EnvironmentSetup {
    pub(crate) fn of_settings(settings: EnvironmentSettings, source: SetupSource) -> Self {
        let EnvironmentSettings { setup, allow, inputs } = settings;
        Self { commands: setup, permits: allow, inputs, source, notes: Vec::new() }
    }

    /// What somebody agrees to: the commands, what they may reach and what they go by. Who says so is no part of it.
    pub fn digest(&self) -> String {
        let what = (VERSION, &self.commands, &self.permits, &self.inputs);
        sha256(&serde_json::to_vec(&what).unwrap_or_default())
    }
}

/// The setup of a project: the user's, else the repository's own, else what its files suggest.
pub fn choose_setup(
    user: (EnvironmentSettings, String),
    project: (EnvironmentSettings, String),
    files: &dyn ProjectFiles,
) -> Option<EnvironmentSetup> {
    let (settings, file) = user;
    if !settings.setup.is_empty() {
        return Some(EnvironmentSetup::of_settings(settings, SetupSource::User { file }));
    }
    let (settings, file) = project;
    if !settings.setup.is_empty() {
        return Some(EnvironmentSetup::of_settings(settings, SetupSource::Project { file }));
    }
    found_setup(files)
}

/// The files whose content decides what a setup leaves: those known to, those named, and those that a command names.
pub fn inputs_of(setup: &EnvironmentSetup, files: &dyn ProjectFiles) -> Vec<String> {
    let mut names: BTreeSet<String> = INPUT_FILES.iter().map(|&name| name.to_owned()).collect();
    names.extend(setup.inputs.iter().cloned());
    let words = setup.commands.iter().flat_map(|command| {
        command.split(|c: char| c.is_whitespace() || "\"'`;|&()<>=".contains(c)).map(|word| {
            let word = word.strip_prefix("./").unwrap_or(word);
            word.to_owned()
        })
    });
    names.extend(words.filter(|word| is_inside(word)));
    names.into_iter().filter(|name| files.is_file(name)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::found::tests::Files;

    fn settings(setup: &[&str]) -> EnvironmentSettings {
        let setup = setup.iter().map(|&command| command.to_owned()).collect();
        EnvironmentSettings { setup, ..EnvironmentSettings::default() }
    }

    #[test]
    fn the_user_comes_before_the_repository_and_that_before_what_is_found() {
        let files = Files::of(&[("package-lock.json", "{}")]);
        let choose = |user: &[&str], project: &[&str]| {
            choose_setup((settings(user), "u".into()), (settings(project), "p".into()), &files).unwrap()
        };
        assert_eq!(choose(&["a"], &["b"]).source, SetupSource::User { file: "u".into() });
        assert_eq!(choose(&[], &["b"]).source, SetupSource::Project { file: "p".into() });
        assert_eq!(choose(&[], &[]).commands, ["npm ci"]);
        let none = choose_setup(Default::default(), Default::default(), &Files::of(&[]));
        assert_eq!(none, None);
    }

    #[test]
    fn what_a_digest_is_of() {
        let one =
            EnvironmentSetup::of_settings(settings(&["npm ci"]), SetupSource::User { file: "u".into() });
        let same = EnvironmentSetup { source: SetupSource::Project { file: "p".into() }, ..one.clone() };
        assert_eq!(one.digest(), same.digest());
        let changed = [
            EnvironmentSetup { commands: vec!["npm  ci".into()], ..one.clone() },
            EnvironmentSetup { commands: vec!["npm".into(), "ci".into()], ..one.clone() },
            EnvironmentSetup { permits: vec!["npm".into()], ..one.clone() },
            EnvironmentSetup { inputs: vec!["npm".into()], ..one.clone() },
        ];
        let all: BTreeSet<String> = changed.iter().chain([&one]).map(EnvironmentSetup::digest).collect();
        assert_eq!(all.len(), changed.len() + 1);
    }

    #[test]
    fn files_that_a_command_names_are_inputs() {
        let files = Files::of(&[
            ("scripts/setup.sh", ""),
            ("req/dev.txt", ""),
            ("package.json", ""),
            ("extra.lock", ""),
            ("README.md", ""),
        ]);
        let mut setup = EnvironmentSetup::of_settings(
            settings(&["./scripts/setup.sh --fast && pip install -r=req/dev.txt ../outside /etc/passwd"]),
            SetupSource::User { file: "u".into() },
        );
        setup.inputs = vec!["extra.lock".into(), "not-there".into()];
        let expected = ["extra.lock", "package.json", "req/dev.txt", "scripts/setup.sh"];
        assert_eq!(inputs_of(&setup, &files), expected);
    }
}
