//! A permit with everything that is decided about it before a connection comes.

use super::client_set::ClientSet;
use super::host_target::HostTarget;
use super::rule::HostRule;

/// Hosts that may be reached, how, and on whose word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permit {
    /// Which hosts.
    pub rule: HostRule,
    /// What may be done there.
    pub access: PermitAccess,
    /// On whose word.
    pub source: PermitSource,
}

/// What may be done at a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermitAccess {
    /// Anything; encrypted bytes pass as they are.
    Whole,
    /// Reading alone: the host ends the encryption and judges every request.
    ReadOnly {
        /// Whether a client that does not accept the run's own authority may be passed through unread.
        opaque: bool,
    },
}

/// On whose word something is permitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermitSource {
    /// A person named the host: by a flag, in the configuration, or when asked.
    Named,
    /// The user's own configuration of a client leads there.
    ClientConfiguration(ClientSet),
    /// An answer of a client's registry leads there.
    RegistryAnswer(ClientSet),
}

impl Permit {
    /// What a person names: anything may be done there.
    pub fn named(rule: HostRule) -> Self {
        Self { rule, access: PermitAccess::Whole, source: PermitSource::Named }
    }

    /// What a client's configuration leads to: reading alone.
    pub fn configured(rule: HostRule, set: ClientSet) -> Self {
        let source = PermitSource::ClientConfiguration(set);
        Self { rule, access: PermitAccess::ReadOnly { opaque: false }, source }
    }

    /// The client this permit is for.
    pub fn set(&self) -> Option<&ClientSet> {
        match &self.source {
            PermitSource::Named => None,
            PermitSource::ClientConfiguration(set) | PermitSource::RegistryAnswer(set) => Some(set),
        }
    }

    pub(super) fn permits(&self, target: &HostTarget) -> bool {
        self.rule.names(&target.host) && self.rule.permits_port(target.port)
    }
}
