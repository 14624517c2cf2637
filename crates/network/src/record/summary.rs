//! The sum of what happened, by host.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{ConnectionManner, NetworkEvent};
use crate::arrival::PackageArrival;

/// What happened at one host and port.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostTraffic {
    /// Connections that were opened.
    pub allowed: u64,
    /// Connections and requests that were refused.
    pub refused: u64,
    /// Bytes that went out.
    pub sent: u64,
    /// Bytes that came in.
    pub received: u64,
    /// Whether some of it passed unread although it should have been read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub opaque: bool,
    /// Why the last refusal was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// The flag that would have allowed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag: Option<String>,
}

/// Everything that happened on the network of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkSummary {
    /// Connections that were opened.
    pub allowed: u64,
    /// Connections and requests that were refused.
    pub refused: u64,
    /// By host and port.
    pub hosts: BTreeMap<String, HostTraffic>,
    /// Requests for so many further hosts are in the sums alone.
    #[serde(default)]
    pub other_hosts: u64,
    /// What came in.
    pub packages: Vec<PackageArrival>,
}

/// More hosts than this are only counted: a hostile run must not fill the manifest.
const MOST_HOSTS: usize = 500;
/// More packages than this are not listed.
const MOST_PACKAGES: usize = 20_000;

impl NetworkSummary {
    /// Adds what happened.
    pub fn add(&mut self, event: &NetworkEvent) {
        match event {
            NetworkEvent::Allowed { target, manner, .. } => {
                self.allowed += 1;
                let opaque = *manner == ConnectionManner::Opaque;
                self.at(target, |host| {
                    host.allowed += 1;
                    host.opaque |= opaque;
                });
            }
            NetworkEvent::Refused { target, message, flag, .. } => {
                self.refused += 1;
                self.at(target, |host| {
                    host.refused += 1;
                    host.refusal = Some(message.clone());
                    host.flag.clone_from(flag);
                });
            }
            NetworkEvent::Finished { target, sent, received, .. } => {
                self.at(target, |host| {
                    host.sent += sent;
                    host.received += received;
                });
            }
            NetworkEvent::Arrived { package } => {
                if self.packages.len() < MOST_PACKAGES && !self.packages.contains(package) {
                    self.packages.push(package.clone());
                }
            }
        }
    }

    /// Adds another sum, such as that of a later start of the same run.
    pub fn add_all(&mut self, other: Self) {
        self.allowed += other.allowed;
        self.refused += other.refused;
        self.other_hosts += other.other_hosts;
        for (target, traffic) in other.hosts {
            self.at(&target, |host| {
                host.allowed += traffic.allowed;
                host.refused += traffic.refused;
                host.sent += traffic.sent;
                host.received += traffic.received;
                host.opaque |= traffic.opaque;
                if traffic.refusal.is_some() {
                    (host.refusal, host.flag) = (traffic.refusal, traffic.flag);
                }
            });
        }
        for package in other.packages {
            self.add(&NetworkEvent::Arrived { package });
        }
    }

    fn at(&mut self, target: &str, change: impl FnOnce(&mut HostTraffic)) {
        if self.hosts.len() >= MOST_HOSTS && !self.hosts.contains_key(target) {
            self.other_hosts += 1;
            return;
        }
        change(self.hosts.entry(target.to_owned()).or_default());
    }

    /// The flags that would have allowed what was refused for want of a permit.
    pub fn flags(&self) -> Vec<&str> {
        let mut flags: Vec<&str> = self.hosts.values().filter_map(|host| host.flag.as_deref()).collect();
        flags.sort_unstable();
        flags.dedup();
        flags
    }
}

impl fmt::Display for NetworkSummary {
    /// A table for a person, without a line end behind it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.hosts.keys().map(String::len).max().unwrap_or(0).max(4);
        write!(f, "{:width$}  allowed  refused        out         in", "host")?;
        for (target, host) in &self.hosts {
            let name = if target.is_empty() { "-" } else { target };
            let (sent, received) = (size(host.sent), size(host.received));
            write!(f, "\n{name:width$}  {:7}  {:7}  {sent:>9}  {received:>9}", host.allowed, host.refused)?;
            if host.opaque {
                f.write_str("  opaque")?;
            }
            if let Some(flag) = &host.flag {
                write!(f, "  {flag}")?;
            }
        }
        if self.other_hosts > 0 {
            write!(f, "\nand {} times some of more hosts than are listed", self.other_hosts)?;
        }
        Ok(())
    }
}

fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["B", "KiB", "MiB", "GiB"];
    let mut whole = bytes;
    let mut unit = 0;
    while whole >= 10_240 && unit + 1 < UNITS.len() {
        whole /= 1024;
        unit += 1;
    }
    format!("{whole} {}", UNITS.get(unit).copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::super::reason::RefusalReason;
    use super::*;

    #[test]
    fn a_table_says_what_happened_and_what_to_add() {
        let mut summary = NetworkSummary::default();
        let target = || "example.org:443".to_owned();
        summary.add(&NetworkEvent::Allowed {
            connection: 1,
            target: target(),
            address: None,
            manner: ConnectionManner::Opaque,
            set: None,
        });
        summary.add(&NetworkEvent::Finished { connection: 1, target: target(), sent: 12, received: 20_480 });
        summary.add(&NetworkEvent::Refused {
            target: "a.test:443".into(),
            reason: RefusalReason::NotPermitted { nearest: None },
            message: "a.test:443 is not permitted".into(),
            flag: Some("--allow-net a.test".into()),
        });
        let expect = "host             allowed  refused        out         in\n\
                      a.test:443             0        1        0 B        0 B  --allow-net a.test\n\
                      example.org:443        1        0       12 B     20 KiB  opaque";
        assert_eq!(summary.to_string(), expect);
        assert_eq!(summary.flags(), ["--allow-net a.test"]);
    }

    #[test]
    fn two_starts_add_up() {
        let refused = |flag: &str| NetworkEvent::Refused {
            target: "a.test:443".into(),
            reason: RefusalReason::Port,
            message: "no".into(),
            flag: Some(flag.into()),
        };
        let (mut first, mut second) = (NetworkSummary::default(), NetworkSummary::default());
        first.add(&refused("--allow-net b.test"));
        second.add(&refused("--allow-net a.test"));
        second.add(&NetworkEvent::Finished {
            connection: 1,
            target: "a.test:443".into(),
            sent: 1,
            received: 2,
        });
        first.add_all(second);
        let host = &first.hosts["a.test:443"];
        assert_eq!((first.refused, host.refused, host.received), (2, 2, 2));
        assert_eq!(first.flags(), ["--allow-net a.test"]);
    }

    #[test]
    fn a_hostile_run_does_not_fill_the_summary() {
        let mut summary = NetworkSummary::default();
        for number in 0..2000 {
            summary.add(&NetworkEvent::Refused {
                target: format!("h{number}.test:443"),
                reason: RefusalReason::Port,
                message: String::new(),
                flag: None,
            });
        }
        assert_eq!((summary.refused, summary.hosts.len(), summary.other_hosts), (2000, 500, 1500));
    }
}
