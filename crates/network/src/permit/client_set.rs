//! Clients by whose configuration a set of hosts is worked out.

use std::fmt;

use holon_core::suggest;

use super::error::{PermitError, shortened};

/// A client whose hosts are permitted together, as its user has configured it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ClientSet {
    /// npm.
    Npm,
    /// pnpm.
    Pnpm,
    /// yarn, the first and the later ones.
    Yarn,
    /// pip.
    Pip,
    /// uv.
    Uv,
    /// cargo.
    Cargo,
    /// go.
    Go,
    /// Maven.
    Maven,
    /// A remote of the repository.
    Git(RemoteName),
}

/// The name of a git remote.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RemoteName(String);

/// Clients that speak with the same kind of registry.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PackageFamily {
    /// Tarballs with metadata in JSON.
    Npm,
    /// Wheels and source distributions behind an index.
    Python,
    /// Crates behind a sparse index.
    Cargo,
    /// Modules behind a module proxy.
    Go,
    /// Jars and their descriptions.
    Maven,
    /// Repositories over smart HTTP.
    Git,
}

impl ClientSet {
    /// All that have a name of their own; `git` needs a remote.
    pub const NAMED: [Self; 8] =
        [Self::Npm, Self::Pnpm, Self::Yarn, Self::Pip, Self::Uv, Self::Cargo, Self::Go, Self::Maven];

    /// Reads the name of a set; `None` is a word that could be a host.
    pub fn parse(text: &str) -> Option<Result<Self, PermitError>> {
        if let Some(remote) = text.strip_prefix("git:") {
            return Some(RemoteName::parse(remote).map(Self::Git));
        }
        if text == "git" {
            return Some(Err(PermitError::Remote { text: text.to_owned() }));
        }
        Self::NAMED.iter().find(|set| set.to_string() == text).cloned().map(Ok)
    }

    /// The error for a word that is no set.
    pub(super) fn unknown(word: &str) -> PermitError {
        let names: Vec<String> = Self::NAMED.iter().map(ToString::to_string).collect();
        let all = names.iter().map(String::as_str).chain(["git:origin"]);
        let known = all.clone().collect::<Vec<_>>().join(", ");
        PermitError::UnknownSet { word: shortened(word), hint: suggest::hint(word, all), known }
    }

    /// What kind of registry the client speaks with.
    pub fn family(&self) -> PackageFamily {
        match self {
            Self::Npm | Self::Pnpm | Self::Yarn => PackageFamily::Npm,
            Self::Pip | Self::Uv => PackageFamily::Python,
            Self::Cargo => PackageFamily::Cargo,
            Self::Go => PackageFamily::Go,
            Self::Maven => PackageFamily::Maven,
            Self::Git(_) => PackageFamily::Git,
        }
    }
}

impl fmt::Display for PackageFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Npm => "npm",
            Self::Python => "python",
            Self::Cargo => "cargo",
            Self::Go => "go",
            Self::Maven => "maven",
            Self::Git => "git",
        })
    }
}

impl fmt::Display for ClientSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Npm => "npm",
            Self::Pnpm => "pnpm",
            Self::Yarn => "yarn",
            Self::Pip => "pip",
            Self::Uv => "uv",
            Self::Cargo => "cargo",
            Self::Go => "go",
            Self::Maven => "maven",
            Self::Git(remote) => return write!(f, "git:{}", remote.0),
        })
    }
}

impl RemoteName {
    /// Reads a name that git would take for a remote and for nothing else.
    pub fn parse(text: &str) -> Result<Self, PermitError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
        let fine = (1..=100).contains(&text.len())
            && text.chars().all(plain)
            && !text.starts_with(['-', '.', '/'])
            && !text.contains("..");
        if fine {
            Ok(Self(text.to_owned()))
        } else {
            Err(PermitError::Remote { text: format!("git:{}", shortened(text)) })
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
