//! Numbers connections, adds up, and tells whoever watches.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::event::{NetworkEvent, NetworkWatch};
use super::reason::RefusalReason;
use super::summary::NetworkSummary;
use crate::permit::{HostRule, HostTarget};

/// Where everything that happens is told.
pub(crate) struct Recorder {
    watch: Option<NetworkWatch>,
    connections: AtomicU64,
    summary: Mutex<NetworkSummary>,
    told: AtomicU64,
}

/// So many events are told one by one: a hostile run must not fill the disk with them. The sum goes on.
const MOST_TOLD: u64 = 50_000;

impl Recorder {
    pub(crate) fn new(watch: Option<NetworkWatch>) -> Self {
        Self { watch, connections: AtomicU64::new(0), summary: Mutex::default(), told: AtomicU64::new(0) }
    }

    pub(crate) fn next_connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn tell(&self, event: &NetworkEvent) {
        self.summary.lock().unwrap_or_else(PoisonError::into_inner).add(event);
        // What came in is always told: it is bounded by what may come in at all.
        let always = matches!(event, NetworkEvent::Arrived { .. });
        if let Some(watch) = &self.watch
            && (always || self.told.fetch_add(1, Ordering::Relaxed) < MOST_TOLD)
        {
            watch(event);
        }
    }

    /// Tells a refusal and gives its words and the flag that would allow it.
    pub(crate) fn refuse(
        &self,
        target: Option<&HostTarget>,
        reason: RefusalReason,
    ) -> (String, Option<String>) {
        let named = target.map(ToString::to_string).unwrap_or_default();
        let flag = target.filter(|_| reason.is_permit_missing()).map(|target| flag(target, &reason));
        let message = reason.sentence(if named.is_empty() { "the network" } else { &named });
        self.tell(&NetworkEvent::Refused {
            target: named,
            reason,
            message: message.clone(),
            flag: flag.clone(),
        });
        (message, flag)
    }

    pub(crate) fn summary(&self) -> NetworkSummary {
        self.summary.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The flag that would allow what was refused.
fn flag(target: &HostTarget, reason: &RefusalReason) -> String {
    let target = match reason {
        RefusalReason::Address { address, .. } => {
            HostTarget { host: crate::permit::TargetHost::Address(*address), port: target.port }
        }
        _ => target.clone(),
    };
    format!("--allow-net {}", HostRule::narrowest(&target))
}
