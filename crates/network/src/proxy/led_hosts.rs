//! Hosts that registries lead to for their files.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use super::run_network::JudgedWay;
use crate::permit::{ClientSet, HostRule, HostTarget, Permit, PermitAccess, PermitSource, TargetHost};

/// What registries have led to so far.
#[derive(Debug, Default)]
pub(crate) struct LedHosts(Mutex<LedBook>);

#[derive(Debug, Default)]
struct LedBook {
    /// How many answers of a registry were read, and how many hosts they named.
    registries: HashMap<TargetHost, (usize, usize)>,
    /// Where the registries of a client are.
    addresses: HashMap<ClientSet, HashSet<IpAddr>>,
}

/// A registry's files are on few hosts, and its first answers name them.
const MOST_ANSWERS: usize = 16;
const MOST_HOSTS: usize = 4;

impl LedHosts {
    /// Whether an answer of this host is worth reading for where it leads.
    pub(crate) fn may_lead(&self, way: &JudgedWay) -> bool {
        if !matches!(way.permit.source, PermitSource::ClientConfiguration(_)) {
            return false;
        }
        let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (answers, hosts) = book.registries.entry(way.target.host.clone()).or_default();
        *answers += 1;
        *answers <= MOST_ANSWERS && *hosts < MOST_HOSTS
    }

    /// The permit for a host that a registry leads to.
    pub(crate) fn permit(&self, way: &JudgedWay, target: &HostTarget) -> Option<Permit> {
        let PermitSource::ClientConfiguration(set) = &way.permit.source else { return None };
        let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, hosts) = book.registries.entry(way.target.host.clone()).or_default();
        if *hosts >= MOST_HOSTS {
            return None;
        }
        *hosts += 1;
        let rule = HostRule { port: Some(target.port), ..HostRule::narrowest(target) };
        let source = PermitSource::RegistryAnswer(set.clone());
        Some(Permit { rule, access: PermitAccess::ReadOnly { opaque: false }, source })
    }

    pub(crate) fn remember_registry(&self, source: &PermitSource, address: Option<IpAddr>) {
        if let (PermitSource::ClientConfiguration(set), Some(address)) = (source, address) {
            let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            book.addresses.entry(set.clone()).or_default().insert(address);
        }
    }

    /// Files may be where the registry itself is, whatever kind of address that is: the user's configuration leads there.
    pub(crate) fn reached_by_registry(&self, source: &PermitSource) -> Vec<IpAddr> {
        let PermitSource::RegistryAnswer(set) = source else { return Vec::new() };
        let book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        book.addresses.get(set).into_iter().flatten().copied().collect()
    }
}
