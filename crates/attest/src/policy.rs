//! What a team demands of a statement, as data.

use holon_core::outcome::RunOutcome;
use holon_core::sandbox::IsolationLevel;
use serde::Deserialize;

use crate::error::AttestError;
use crate::key::PublicKey;

/// Policies that come with Holon, by name.
const BUILTIN: [(&str, &str); 3] = [
    ("signed", include_str!("../../../policies/attestation/signed.toml")),
    ("standard", include_str!("../../../policies/attestation/standard.toml")),
    ("strict", include_str!("../../../policies/attestation/strict.toml")),
];

/// What a team demands. An unknown key is refused: a misspelt rule must not be no rule.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttestationPolicy {
    /// In one sentence.
    #[serde(default)]
    pub description: String,
    /// How many different signers are needed.
    #[serde(default = "one")]
    pub signatures: usize,
    /// Whose signatures count.
    #[serde(default)]
    pub signer: Vec<Signer>,
    /// Outcomes that are good enough.
    #[serde(default = "success")]
    pub outcomes: Vec<RunOutcome>,
    /// Rungs that are strong enough; any when there is none.
    #[serde(default)]
    pub levels: Vec<IsolationLevel>,
    /// Modes that may have made it; any when there is none.
    #[serde(default)]
    pub modes: Vec<String>,
    /// Agents that may have made it; any when there is none.
    #[serde(default)]
    pub agents: Vec<String>,
    /// Models that may have made it, as `provider/id` or with `*` at the end; any when there is none.
    #[serde(default)]
    pub models: Vec<String>,
    /// Whether the host's own checks must have passed.
    #[serde(default)]
    pub verified: bool,
    /// Checks that must be among them and have passed.
    #[serde(default)]
    pub checks: Vec<String>,
    /// Whether weaker tests are fine.
    #[serde(default)]
    pub weakened_tests: bool,
    /// Whether a person must have approved what a step of it was about.
    #[serde(default)]
    pub approved_by_person: bool,
    /// Whether somebody may have overridden an assessment that blocked it.
    #[serde(default, rename = "override")]
    pub overridden: bool,
    /// Whether rights may have been taken by flags.
    #[serde(default)]
    pub accepted_rights: bool,
    /// The most files that may be changed.
    #[serde(default)]
    pub max_files: Option<u64>,
    /// Whether the tool policy must have been enforced by the host.
    #[serde(default)]
    pub enforced_tools: bool,
}

fn one() -> usize {
    1
}

fn success() -> Vec<RunOutcome> {
    vec![RunOutcome::Success]
}

/// Whose signature counts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signer {
    /// What they are called.
    pub name: String,
    /// Their public key: a line as in a `.pub` file, a PEM block, or 32 bytes in base64.
    pub key: String,
}

impl AttestationPolicy {
    /// Reads a policy.
    pub fn parse(name: &str, text: &str) -> Result<Self, AttestError> {
        let refused = |why: String| AttestError::Policy { name: name.to_owned(), why };
        let policy: Self = toml::from_str(text).map_err(|e| refused(e.to_string()))?;
        if policy.signatures == 0 {
            return Err(refused("`signatures = 0` would believe anybody".into()));
        }
        if let Some(signer) = policy.signer.iter().find(|signer| PublicKey::parse(&signer.key).is_none()) {
            return Err(refused(format!("the key of {} is no public key", signer.name)));
        }
        Ok(policy)
    }

    /// One that comes with Holon.
    pub fn builtin(name: &str) -> Result<Option<Self>, AttestError> {
        let found = BUILTIN.iter().find(|(known, _)| *known == name);
        found.map(|(name, text)| Self::parse(name, text)).transpose()
    }
}

/// Names of the policies that come with Holon.
pub fn builtin_policies() -> impl Iterator<Item = &'static str> {
    BUILTIN.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn those_that_come_along_are_sound_and_each_demands_more() {
        for name in builtin_policies() {
            let policy = AttestationPolicy::builtin(name).unwrap().unwrap();
            assert!(!policy.description.is_empty() && !policy.overridden, "{name}");
        }
        assert!(!AttestationPolicy::builtin("signed").unwrap().unwrap().verified);
        assert!(AttestationPolicy::builtin("standard").unwrap().unwrap().verified);
        assert!(AttestationPolicy::builtin("strict").unwrap().unwrap().approved_by_person);
    }

    #[test]
    fn a_rule_that_is_misspelt_is_no_policy() {
        for text in
            ["verifed = true", "signatures = 0", "[[signer]]\nname = \"x\"\nkey = \"y\"", "levels = [\"L9\"]"]
        {
            assert!(AttestationPolicy::parse("test", text).is_err(), "{text}");
        }
    }
}
