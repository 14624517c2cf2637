//! Who a payload is: never the kernel's uid 0.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// First of the uids used for payloads that root starts; far above any account.
const PAYLOAD_BASE: u32 = 0x6000_0000;
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
        let payload = PAYLOAD_BASE + (fnv(seed) & 0x00ff_ffff);
        Self { uid: payload, gid: payload, inside_uid: INSIDE, inside_gid: INSIDE, by_root: true }
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

/// A small stable hash: spreads run names over the uid range.
fn fnv(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
