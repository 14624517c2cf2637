//! What somebody wants to add: a package of npm or of Python, or a program that is there.

use std::path::PathBuf;
use std::str::FromStr;

/// Where an agent comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentSource {
    /// A package for npm, with a version if one was given.
    Npm(String),
    /// A package for pip, with a version if one was given.
    Pip(String),
    /// A program on this machine.
    Path(PathBuf),
}

impl AgentSource {
    /// The package's name without version, or the program's.
    pub fn base(&self) -> String {
        match self {
            Self::Npm(package) => {
                // The first character may be the mark of a scope.
                let at = package.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(at, _)| at);
                package[..at.unwrap_or(package.len())].to_owned()
            }
            Self::Pip(package) => {
                let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
                package.chars().take_while(|c| plain(*c)).collect()
            }
            Self::Path(path) => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        }
    }

    /// A name for `--agent` that is made of it.
    pub fn name(&self) -> String {
        let base = self.base();
        let last = base.rsplit('/').next().unwrap_or_default();
        let last = match self {
            Self::Path(_) => last.split('.').next().unwrap_or_default(),
            _ => last,
        };
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
        last.to_lowercase().chars().map(plain).collect::<String>().trim_matches(['-', '.']).to_owned()
    }
}

impl FromStr for AgentSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let package = |name: &str| {
            let odd = name.is_empty() || name.starts_with('-') || name.contains(char::is_whitespace);
            if odd { Err(format!("`{text}` names no package")) } else { Ok(name.to_owned()) }
        };
        if let Some(name) = text.strip_prefix("npm:") {
            return Ok(Self::Npm(package(name)?));
        }
        if let Some(name) = text.strip_prefix("pip:") {
            return Ok(Self::Pip(package(name)?));
        }
        match text.contains('/') {
            true => Ok(Self::Path(PathBuf::from(text))),
            false => {
                Err(format!("`{text}` is neither npm:NAME nor pip:NAME nor a path; did you mean ./{text}?"))
            }
        }
    }
}

impl std::fmt::Display for AgentSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Npm(package) => write!(f, "npm:{package}"),
            Self::Pip(package) => write!(f, "pip:{package}"),
            Self::Path(path) => write!(f, "{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn sources_are_read_and_named() {
        for (text, base, name) in [
            ("npm:cline", "cline", "cline"),
            ("npm:@kilocode/cli@1.2.3", "@kilocode/cli", "cli"),
            ("npm:@a/My_Agent", "@a/My_Agent", "my_agent"),
            ("pip:aider-chat", "aider-chat", "aider-chat"),
            ("pip:mini-swe-agent==1.14", "mini-swe-agent", "mini-swe-agent"),
            ("pip:openhands[all]>=1", "openhands", "openhands"),
            ("./my agent.sh", "my agent.sh", "my-agent"),
        ] {
            let source: AgentSource = text.parse().unwrap();
            assert_eq!((source.base().as_str(), source.name().as_str()), (base, name), "{text}");
            assert_eq!(source.to_string(), text);
        }
        for wrong in ["npm:", "pip:--index-url", "npm:a b", "cline", ""] {
            assert!(wrong.parse::<AgentSource>().is_err(), "{wrong}");
        }
        assert!("cline".parse::<AgentSource>().unwrap_err().contains("./cline"));
    }
}
