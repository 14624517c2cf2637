//! By what a kept environment is known again.

use holon_core::digest::sha256;
use serde::{Deserialize, Serialize};

/// The form of kept environments; those of another one are never used.
const VERSION: &str = "holon environment 1";

/// A program of a toolchain, as far as it can be told without running it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ToolchainStamp {
    /// Its name.
    pub program: String,
    /// Where it really is.
    pub path: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// When it was last changed, in nanoseconds.
    pub changed: i128,
}

/// Everything that decides what a setup leaves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentKey {
    /// The commands, in order.
    pub commands: Vec<String>,
    /// Each input file with the digest of its content, by path.
    pub inputs: Vec<(String, String)>,
    /// The programs that work on them.
    pub toolchains: Vec<ToolchainStamp>,
    /// What the machine is.
    pub machine: String,
    /// The image that is the userland, where it is not the host's.
    pub image: Option<String>,
}

impl EnvironmentKey {
    /// The digest; the order in which files and programs were looked at does not matter.
    pub fn digest(&self) -> String {
        let mut key = self.clone();
        key.inputs.sort();
        key.toolchains.sort();
        sha256(&serde_json::to_vec(&(VERSION, key)).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn stamp(program: &str, bytes: u64, changed: i128) -> ToolchainStamp {
        ToolchainStamp { program: program.into(), path: format!("/usr/bin/{program}"), bytes, changed }
    }

    fn key() -> EnvironmentKey {
        EnvironmentKey {
            commands: vec!["npm ci".into(), "npm run build".into()],
            inputs: vec![("package-lock.json".into(), "aa".into()), ("package.json".into(), "bb".into())],
            toolchains: vec![stamp("node", 10, 1), stamp("npm", 20, 2)],
            machine: "x86_64".into(),
            image: None,
        }
    }

    #[test]
    fn anything_that_decides_makes_another_environment() {
        let other = |change: &dyn Fn(&mut EnvironmentKey)| {
            let mut key = key();
            change(&mut key);
            key.digest()
        };
        let all = [
            key().digest(),
            other(&|key| key.commands.reverse()),
            other(&|key| key.commands = vec!["npm cinpm run build".into()]),
            other(&|key| key.inputs[0].1 = "ab".into()),
            other(&|key| drop(key.inputs.pop())),
            other(&|key| key.inputs[0].0 = "yarn.lock".into()),
            other(&|key| key.toolchains[0].bytes = 11),
            other(&|key| key.toolchains[1].changed = 3),
            other(&|key| key.toolchains[1].path = "/opt/npm".into()),
            other(&|key| key.machine = "aarch64".into()),
            other(&|key| key.image = Some("node:24".into())),
        ];
        let different: BTreeSet<&String> = all.iter().collect();
        assert_eq!(different.len(), all.len());
    }

    #[test]
    fn the_order_of_looking_does_not_matter() {
        let mut turned = key();
        turned.inputs.reverse();
        turned.toolchains.reverse();
        assert_eq!(turned.digest(), key().digest());
    }
}
