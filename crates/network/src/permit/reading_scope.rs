//! What a request for a host that is only read may be about, by all permits for the host together.

use super::access::{Permit, PermitAccess, PermitSource};
use super::book::PermitBook;
use super::client_set::PackageFamily;
use super::host_target::HostTarget;
use super::repository_path::{RepositoryPath, RepositoryRequest};

/// What may be read at a target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ReadingScope {
    /// A person named the host, so that nothing of it is out of bounds.
    named: bool,
    registry: Option<PackageFamily>,
    repositories: Vec<RepositoryPath>,
}

/// What a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadingSubject {
    /// Anything of a host that a person named.
    Host,
    /// A registry of this kind.
    Registry(PackageFamily),
    /// A repository that may be fetched.
    Repository(RepositoryRequest),
    /// Nothing that is permitted there.
    Elsewhere,
}

impl ReadingScope {
    /// What a permit and its like in the book allow at a target.
    pub(crate) fn of(book: &PermitBook, permit: &Permit, target: &HostTarget) -> Self {
        if permit.source == PermitSource::Named {
            return Self { named: true, ..Self::default() };
        }
        let mut scope = Self::default();
        for other in book.permits().iter().filter(|other| other.permits(target)) {
            match (&other.access, other.set()) {
                (PermitAccess::Repository(path), _) => scope.repositories.push(path.clone()),
                (_, Some(set)) if scope.registry.is_none() => scope.registry = Some(set.family()),
                _ => {}
            }
        }
        scope
    }

    /// What a request for a path is about.
    pub(crate) fn subject(&self, path: &str) -> ReadingSubject {
        if self.named {
            return ReadingSubject::Host;
        }
        if let Some(request) = self.repositories.iter().find_map(|repository| repository.request(path)) {
            return ReadingSubject::Repository(request);
        }
        match self.registry {
            Some(PackageFamily::Git) | None => ReadingSubject::Elsewhere,
            Some(family) => ReadingSubject::Registry(family),
        }
    }

    /// The kind of registry that packages of this host are of.
    pub(crate) fn registry(&self) -> Option<PackageFamily> {
        self.registry
    }
}
