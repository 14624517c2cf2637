//! What a configuration says about environments.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// More commands, permits or files than this are a mistake.
const MOST: usize = 64;
/// Longer ones, too.
const LONGEST: usize = 4_000;

/// The section `[environment]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EnvironmentSettings {
    /// The commands, in order, each for a shell.
    pub setup: Vec<String>,
    /// What they may reach: hosts or clients, as `--allow-net` takes them.
    pub allow: Vec<String>,
    /// Further files that decide what they leave.
    pub inputs: Vec<String>,
}

/// The same in the user's file, which can also speak of single folders.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UserEnvironmentSettings {
    /// As in [`EnvironmentSettings`].
    pub setup: Vec<String>,
    /// As in [`EnvironmentSettings`].
    pub allow: Vec<String>,
    /// As in [`EnvironmentSettings`].
    pub inputs: Vec<String>,
    /// By the absolute path of a workspace; such a table takes the place of what is said for all.
    pub folders: BTreeMap<String, EnvironmentSettings>,
}

/// What is wrong with a section.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A command without a word.
    #[error("a command of `setup` is empty")]
    EmptyCommand,
    /// Something that cannot be in a command line or a path.
    #[error("`{key}` holds an entry with a NUL character")]
    Nul {
        /// The key.
        key: &'static str,
    },
    /// Too many entries, or one too long.
    #[error("`{key}` is too long: at most {MOST} entries of {LONGEST} bytes fit")]
    TooLong {
        /// The key.
        key: &'static str,
    },
    /// A path that leads out of the workspace.
    #[error("`inputs` names `{path}`, which is no path inside the workspace")]
    Outside {
        /// The path.
        path: String,
    },
    /// Permits for nothing.
    #[error("`allow` says what a setup may reach, and there is no `setup`")]
    NoSetup,
}

impl EnvironmentSettings {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Finds out what cannot be meant.
    pub fn check(&self) -> Result<(), SettingsError> {
        for (key, list) in [("setup", &self.setup), ("allow", &self.allow), ("inputs", &self.inputs)] {
            if list.len() > MOST || list.iter().any(|entry| entry.len() > LONGEST) {
                return Err(SettingsError::TooLong { key });
            }
            if list.iter().any(|entry| entry.contains('\0')) {
                return Err(SettingsError::Nul { key });
            }
        }
        if self.setup.iter().any(|command| command.trim().is_empty()) {
            return Err(SettingsError::EmptyCommand);
        }
        if self.setup.is_empty() && !self.allow.is_empty() {
            return Err(SettingsError::NoSetup);
        }
        match self.inputs.iter().find(|path| !is_inside(path)) {
            Some(path) => Err(SettingsError::Outside { path: path.clone() }),
            None => Ok(()),
        }
    }
}

impl UserEnvironmentSettings {
    /// What holds in a workspace, and whether it was said for it alone.
    pub fn of(&self, workspace: &str) -> EnvironmentSettings {
        let here = self.folders.iter().find(|(folder, _)| folder.trim_end_matches('/') == workspace);
        match here {
            Some((_, settings)) => settings.clone(),
            None => EnvironmentSettings {
                setup: self.setup.clone(),
                allow: self.allow.clone(),
                inputs: self.inputs.clone(),
            },
        }
    }
}

/// A relative path of plain names.
pub(crate) fn is_inside(path: &str) -> bool {
    !path.is_empty() && path.split('/').all(|name| !matches!(name, "" | "." | "..") && name != ".git")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn settings(setup: &[&str], allow: &[&str], inputs: &[&str]) -> EnvironmentSettings {
        let owned = |list: &[&str]| list.iter().map(|&entry| entry.to_owned()).collect();
        EnvironmentSettings { setup: owned(setup), allow: owned(allow), inputs: owned(inputs) }
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        assert_eq!(settings(&["npm ci"], &["npm"], &["a/b.txt"]).check(), Ok(()));
        assert_eq!(settings(&[" "], &[], &[]).check(), Err(SettingsError::EmptyCommand));
        assert_eq!(settings(&["a\0b"], &[], &[]).check(), Err(SettingsError::Nul { key: "setup" }));
        assert_eq!(settings(&[], &["npm"], &[]).check(), Err(SettingsError::NoSetup));
        for path in ["../x", "/etc/passwd", "a//b", "./a", ".git/config", ""] {
            assert!(
                matches!(settings(&["x"], &[], &[path]).check(), Err(SettingsError::Outside { .. })),
                "{path}"
            );
        }
        let many = vec!["true"; MOST + 1];
        assert_eq!(settings(&many, &[], &[]).check(), Err(SettingsError::TooLong { key: "setup" }));
    }

    #[test]
    fn a_folder_takes_the_place_of_what_is_said_for_all() {
        let here = settings(&["make deps"], &[], &[]);
        let user = UserEnvironmentSettings {
            setup: vec!["npm ci".into()],
            folders: [("/src/shop/".to_owned(), here.clone())].into(),
            ..UserEnvironmentSettings::default()
        };
        assert_eq!(user.of("/src/shop"), here);
        assert_eq!(user.of("/src/shop2").setup, ["npm ci"]);
    }
}
