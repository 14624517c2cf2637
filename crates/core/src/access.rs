//! What a run may do to the workspace it sees.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scope;

/// What the agent may write, and what of it may leave the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Access {
    /// Every write fails.
    ReadOnly,
    /// Writes work below the globs in `write` and fail elsewhere; those changes become the patch.
    Scoped {
        /// Workspace-relative globs.
        write: Vec<String>,
    },
    /// Writes work and are thrown away: nothing leaves.
    Scratch,
    /// Writes work everywhere in the snapshot and become the patch.
    #[serde(rename = "rw")]
    ReadWrite,
}

impl Access {
    /// Whether changes may leave the sandbox as a patch.
    pub fn delivers(&self) -> bool {
        matches!(self, Self::Scoped { .. } | Self::ReadWrite)
    }

    /// Whether the agent can write to its view of the workspace at all.
    pub fn writable(&self) -> bool {
        !matches!(self, Self::ReadOnly)
    }

    /// Whether no more can reach the user's tree than `parent` lets through (decided conservatively).
    ///
    /// Read-only and scratch let nothing through, so they are inside everything; a scope is inside another
    /// one only when each of its globs is provably inside.
    pub fn is_within(&self, parent: &Self) -> bool {
        match (self, parent) {
            (Self::ReadOnly | Self::Scratch, _) | (_, Self::ReadWrite) => true,
            (Self::Scoped { write }, Self::Scoped { write: outer }) => scope::all_within(write, outer),
            (Self::Scoped { .. } | Self::ReadWrite, _) => false,
        }
    }

    /// The short name used in mode files, manifests and messages.
    pub fn label(&self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Scoped { .. } => "scoped",
            Self::Scratch => "scratch",
            Self::ReadWrite => "rw",
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scoped { write } => write!(f, "scoped ({})", write.join(", ")),
            other => f.write_str(other.label()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inv_11_what_can_leave_only_shrinks() {
        let scoped = |g: &str| Access::Scoped { write: vec![g.into()] };
        let check = |child: &Access, parent: &Access, expect| {
            assert_eq!(child.is_within(parent), expect, "{child} in {parent}");
        };
        let all = [Access::ReadOnly, Access::Scratch, scoped("docs/**"), Access::ReadWrite];
        for access in &all {
            check(access, access, true);
            check(&Access::ReadOnly, access, true);
            check(&Access::Scratch, access, true);
            check(access, &Access::ReadWrite, true);
            check(&Access::ReadWrite, access, *access == Access::ReadWrite);
        }
        check(&scoped("docs/guide/**"), &scoped("docs/**"), true);
        check(&scoped("src/**"), &scoped("docs/**"), false);
        check(&scoped("docs/**"), &Access::ReadOnly, false);
        check(&scoped("docs/**"), &Access::Scratch, false);
    }
}
