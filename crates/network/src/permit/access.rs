//! A permit with everything that is decided about it before a connection comes.

use super::client_set::ClientSet;
use super::host_target::HostTarget;
use super::repository_path::RepositoryPath;
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermitAccess {
    /// Anything; encrypted bytes pass as they are.
    Whole,
    /// Reading alone: the host ends the encryption and judges every request.
    ReadOnly {
        /// Whether a client that does not accept the run's own authority may be passed through unread.
        opaque: bool,
    },
    /// Fetching one repository, and nothing else of the host.
    Repository(RepositoryPath),
}

/// On whose word something is permitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermitSource {
    /// A person named the host: by a flag, in the configuration, or when asked.
    Named,
    /// The user's own configuration of a client leads there.
    ClientConfiguration(ClientSet),
    /// The index of a client keeps its files there: it said so to the host, before the run began.
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

    /// Where an index told the host that its files are: reading alone.
    pub fn files(rule: HostRule, set: ClientSet) -> Self {
        let source = PermitSource::RegistryAnswer(set);
        Self { rule, access: PermitAccess::ReadOnly { opaque: false }, source }
    }

    /// Where a remote of the user's is: fetching that repository alone.
    pub fn repository(rule: HostRule, path: RepositoryPath, set: ClientSet) -> Self {
        let source = PermitSource::ClientConfiguration(set);
        Self { rule, access: PermitAccess::Repository(path), source }
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
