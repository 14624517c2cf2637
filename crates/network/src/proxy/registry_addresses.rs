//! Where the registries of clients were found to be.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use crate::permit::{ClientSet, PermitSource};

/// Addresses that the user's configuration leads to, by client.
#[derive(Debug, Default)]
pub(crate) struct RegistryAddresses(Mutex<HashMap<ClientSet, HashSet<IpAddr>>>);

impl RegistryAddresses {
    pub(crate) fn remember(&self, source: &PermitSource, address: Option<IpAddr>) {
        if let (PermitSource::ClientConfiguration(set), Some(address)) = (source, address) {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.entry(set.clone()).or_default().insert(address);
        }
    }

    /// Files may be where the registry itself is, whatever kind of address that is: the user's configuration leads there.
    pub(crate) fn fine_for(&self, source: &PermitSource) -> Vec<IpAddr> {
        let PermitSource::RegistryAnswer(set) = source else { return Vec::new() };
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(set).into_iter().flatten().copied().collect()
    }
}
