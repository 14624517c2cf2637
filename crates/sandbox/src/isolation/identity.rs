//! Who a payload is: never the kernel's uid 0.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// First of the uids used for payloads that root starts; far above any account.
const PAYLOAD_BASE: u32 = 0x6000_0000;
/// How many there are.
const PAYLOADS: u64 = 0x0100_0000;
/// With fewer ids to choose from, those of accounts would be met.
const FEWEST_PAYLOADS: u64 = 4096;
/// The uid a payload started by root sees itself as.
const INSIDE: u32 = 1000;

/// User and group of a payload, as the kernel knows them and as they look inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayloadIdentity {
    /// Kernel uid.
    pub uid: u32,
    /// Kernel gid.
    pub gid: u32,
    /// Uid seen inside.
    pub inside_uid: u32,
    /// Gid seen inside.
    pub inside_gid: u32,
    /// Whether root starts it (and must first become `uid`).
    pub by_root: bool,
}

impl PayloadIdentity {
    /// The identity for a payload started by this process: the caller's own for an ordinary user, an otherwise
    /// unused uid (chosen from `seed`, so that runs differ) for root.
    pub fn for_run(seed: &str) -> Self {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        if uid != 0 {
            return Self { uid, gid, inside_uid: uid, inside_gid: gid, by_root: false };
        }
        // Number 0 of a container's user namespace is an ordinary user of the kernel, and may as little with other users' files.
        if !is_kernel_root(uid) {
            return Self { uid, gid, inside_uid: INSIDE, inside_gid: INSIDE, by_root: false };
        }
        let (users, groups) = (IdRanges::parse(&own_map("uid_map")), IdRanges::parse(&own_map("gid_map")));
        // Where there is room for nobody but root, the kernel will refuse what does not exist, and the refusal says so.
        let id = users.and(&groups).payload(fnv(seed)).unwrap_or(PAYLOAD_BASE);
        Self { uid: id, gid: id, inside_uid: INSIDE, inside_gid: INSIDE, by_root: true }
    }

    /// Uid and gid that directories writable for the payload must have, when the caller is root.
    pub fn owner(&self) -> Option<(u32, u32)> {
        self.by_root.then_some((self.uid, self.gid))
    }

    /// Whether `path` already belongs to the payload.
    pub(super) fn owns(&self, path: &Path) -> bool {
        path.symlink_metadata().is_ok_and(|m| m.uid() == self.uid)
    }
}

fn own_map(name: &str) -> String {
    std::fs::read_to_string(Path::new("/proc/self").join(name)).unwrap_or_default()
}

/// Whether this number, as seen from here, is the kernel's user 0, as far as can be told from inside.
pub(crate) fn is_kernel_root(uid: u32) -> bool {
    uid == 0 && first_is_first(&own_map("uid_map"))
}

/// Whether number 0 stands for number 0 outside; an unreadable map is taken for a host's.
fn first_is_first(map: &str) -> bool {
    let outside = |line: &str| {
        let mut fields = line.split_whitespace();
        (fields.next() == Some("0")).then(|| fields.next() == Some("0"))
    };
    map.lines().find_map(outside).unwrap_or(map.trim().is_empty())
}

/// Ids that exist in this user namespace: all of them on a host, 65,536 or a single one in many containers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct IdRanges(Vec<std::ops::Range<u64>>);

impl IdRanges {
    /// From `uid_map` or `gid_map`; an unreadable one leaves what a host has.
    fn parse(map: &str) -> Self {
        let mut ranges: Vec<_> = map
            .lines()
            .filter_map(|line| {
                let mut fields = line.split_whitespace();
                let first: u64 = fields.next()?.parse().ok()?;
                let count: u64 = fields.nth(1)?.parse().ok()?;
                Some(first..first.checked_add(count)?)
            })
            .collect();
        if ranges.is_empty() {
            ranges.push(0..u64::from(u32::MAX));
        }
        Self(ranges)
    }

    /// What exists in both.
    fn and(&self, other: &Self) -> Self {
        let both = |a: &std::ops::Range<u64>| {
            let a = a.clone();
            other.0.iter().map(move |b| a.start.max(b.start)..a.end.min(b.end))
        };
        Self(self.0.iter().flat_map(both).filter(|range| !range.is_empty()).collect())
    }

    /// An id for a payload: from far above all accounts where those exist, else from the later part of the longest range,
    /// past the accounts of people and before those that a system gives to itself.
    fn payload(&self, seed: u32) -> Option<u32> {
        let base = u64::from(PAYLOAD_BASE);
        let wanted = base..base + PAYLOADS;
        if self.0.iter().any(|range| range.start <= wanted.start && wanted.end <= range.end) {
            return u32::try_from(base + u64::from(seed) % PAYLOADS).ok();
        }
        let longest = self.0.iter().max_by_key(|range| range.end - range.start)?;
        let length = longest.end - longest.start;
        let (first, count) = (longest.start + length * 5 / 8, length / 4);
        if count < FEWEST_PAYLOADS {
            return None;
        }
        u32::try_from(first + u64::from(seed) % count).ok()
    }
}

/// A small stable hash: spreads run names over the uid range.
fn fnv(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn payload(users: &str, groups: &str, seed: u32) -> Option<u32> {
        IdRanges::parse(users).and(&IdRanges::parse(groups)).payload(seed)
    }

    #[test]
    fn number_0_of_a_container_is_not_the_kernels() {
        for (map, expect) in [
            ("         0          0 4294967295\n", true),
            ("0 0 65536", true),
            ("", true),
            ("0 100000 65536\n", false),
            ("1 0 5\n0 1000 1\n", false),
            ("5 0 10\n", false),
        ] {
            assert_eq!(first_is_first(map), expect, "{map:?}");
        }
        assert!(!is_kernel_root(1));
    }

    #[test]
    fn a_payload_has_an_id_that_exists() {
        let host = "         0          0 4294967295\n";
        assert_eq!(payload(host, host, 7), Some(PAYLOAD_BASE + 7));
        assert_eq!(payload("", "", 7), Some(PAYLOAD_BASE + 7), "an unreadable map is a host's");
        let container = "0 100000 65536";
        for seed in [0, 1, 16_383, 16_384, u32::MAX] {
            let id = payload(container, container, seed).unwrap();
            assert!((40_960..57_344).contains(&id), "{seed}: {id}");
        }
        assert_ne!(payload(container, container, 1), payload(container, container, 2));
        // podman without root: the caller first, its subordinate ids behind.
        let rootless = "0 1000 1\n1 100000 65536\n";
        assert!(payload(rootless, rootless, 3).is_some_and(|id| (40_000..60_000).contains(&id)));
        assert_eq!(payload("0 1000 1", "0 1000 1", 3), None, "nobody else exists");
        assert_eq!(payload(container, "0 1000 1", 3), None, "a group has to exist as well");
        assert_eq!(payload("0 100000 1000", "0 100000 1000", 3), None, "only accounts");
        assert_eq!(payload("0 0 x\nnonsense\n5 5 18446744073709551615", host, 1), Some(PAYLOAD_BASE + 1));
    }
}
