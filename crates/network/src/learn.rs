//! Permits to keep, from what a command asked for while everything was recorded.

use crate::client_set_hosts::SetHosts;
use crate::permit::{HostRule, HostTarget};

/// What a command needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LearntPermits {
    /// What to write after `--allow-net`, sets before hosts.
    pub permits: Vec<String>,
    /// What it asked for and cannot be permitted as it was asked.
    pub refused: Vec<String>,
}

impl LearntPermits {
    /// Sums up a recorded run: each host and port, whether it was reached, and the last refusal. A host of a set is covered by
    /// the name of the set.
    pub fn of<'a>(
        hosts: impl IntoIterator<Item = (&'a str, bool, Option<&'a str>)>,
        sets: &[SetHosts],
    ) -> Self {
        let (mut named, mut hosts_alone, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        for (target, reached, refusal) in hosts {
            refused.extend(refusal.map(str::to_owned));
            let Ok(target) = HostTarget::parse(target, None) else { continue };
            if !reached {
                continue;
            }
            let covers = |set: &&SetHosts| {
                set.permits()
                    .any(|permit| permit.rule.names(&target.host) && permit.rule.permits_port(target.port))
            };
            let (list, permit) = match sets.iter().find(covers) {
                Some(set) => (&mut named, set.set.to_string()),
                None => (&mut hosts_alone, HostRule::narrowest(&target).to_string()),
            };
            if !list.contains(&permit) {
                list.push(permit);
            }
        }
        named.sort();
        named.extend(hosts_alone);
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
    use crate::client_set_hosts::{ClientQueries, ClientQueryError, IndexAnswer};
    use crate::permit::ClientSet;

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

        fn fetch(&self, _: &str, _: &str) -> Result<IndexAnswer, ClientQueryError> {
            Err(ClientQueryError::Missing { program: "index".into() })
        }

        fn variable(&self, _: &str) -> Option<String> {
            None
        }
    }

    #[test]
    fn what_was_asked_for_is_what_to_permit() {
        let message = "10.0.0.1:80 is not permitted";
        let hosts = [
            ("npm.test:443", true, None),
            ("files.test:443", true, None),
            ("files.test:80", true, None),
            ("odd.test:8080", true, None),
            ("10.0.0.1:80", false, Some(message)),
        ];
        let sets = [SetHosts::work_out(&ClientSet::Npm, &OneRegistry, Path::new("/"))];
        let learnt = LearntPermits::of(hosts, &sets);
        assert_eq!(learnt.permits, ["npm", "files.test", "odd.test:8080"]);
        assert_eq!(learnt.flags(), "--allow-net npm --allow-net files.test --allow-net odd.test:8080");
        assert_eq!(learnt.refused, ["10.0.0.1:80 is not permitted"]);
    }
}
