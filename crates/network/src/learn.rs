//! Permits to keep, from what a command asked for while everything was recorded.

use crate::client_set_hosts::SetHosts;
use crate::permit::{HostRule, HostTarget};
use crate::record::NetworkSummary;

/// What a command needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LearntPermits {
    /// What to write after `--allow-net`, sets before hosts.
    pub permits: Vec<String>,
    /// What it asked for and cannot be permitted as it was asked.
    pub refused: Vec<String>,
}

impl LearntPermits {
    /// Sums up a recorded run; a host of a set is covered by the name of the set.
    pub fn of(summary: &NetworkSummary, sets: &[SetHosts]) -> Self {
        let (mut named, mut hosts, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        for (target, traffic) in &summary.hosts {
            let Ok(target) = HostTarget::parse(target, None) else { continue };
            if traffic.allowed == 0 {
                refused.extend(traffic.refusal.clone());
                continue;
            }
            let covers = |set: &&SetHosts| {
                set.permits()
                    .any(|permit| permit.rule.names(&target.host) && permit.rule.permits_port(target.port))
            };
            let (list, permit) = match sets.iter().find(covers) {
                Some(set) => (&mut named, set.set.to_string()),
                None => (&mut hosts, HostRule::narrowest(&target).to_string()),
            };
            if !list.contains(&permit) {
                list.push(permit);
            }
        }
        named.sort();
        named.extend(hosts);
        Self { permits: named, refused }
    }

    /// The flags to add to a command.
    pub fn flags(&self) -> String {
        let flags: Vec<String> = self.permits.iter().map(|permit| format!("--allow-net {permit}")).collect();
        flags.join(" ")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use std::path::Path;

    use super::*;
    use crate::client_set_hosts::{ClientQueries, ClientQueryError};
    use crate::permit::ClientSet;
    use crate::record::{ConnectionManner, NetworkEvent, RefusalReason};

    struct OneRegistry;

    impl ClientQueries for OneRegistry {
        fn ask(&self, _: &str, _: &[&str]) -> Result<String, ClientQueryError> {
            Ok("{\"registry\":\"https://npm.test\"}".to_owned())
        }

        fn read(&self, _: &Path) -> Option<String> {
            None
        }

        fn list(&self, _: &Path) -> Vec<String> {
            Vec::new()
        }

        fn variable(&self, _: &str) -> Option<String> {
            None
        }
    }

    #[test]
    fn what_was_asked_for_is_what_to_permit() {
        let mut summary = NetworkSummary::default();
        for target in ["npm.test:443", "files.test:443", "files.test:80", "odd.test:8080"] {
            let manner = ConnectionManner::Tunnel;
            summary.add(&NetworkEvent::Allowed {
                connection: 1,
                target: target.into(),
                address: None,
                manner,
                set: None,
            });
        }
        let message = "10.0.0.1:80 is not permitted".to_owned();
        let reason = RefusalReason::Port;
        summary.add(&NetworkEvent::Refused { target: "10.0.0.1:80".into(), reason, message, flag: None });
        let sets = [SetHosts::work_out(&ClientSet::Npm, &OneRegistry, Path::new("/"))];
        let learnt = LearntPermits::of(&summary, &sets);
        assert_eq!(learnt.permits, ["npm", "files.test", "odd.test:8080"]);
        assert_eq!(learnt.flags(), "--allow-net npm --allow-net files.test --allow-net odd.test:8080");
        assert_eq!(learnt.refused, ["10.0.0.1:80 is not permitted"]);
    }
}
