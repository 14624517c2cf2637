//! The part of the private root that is the same for every payload: see `policies/root.toml`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use serde::Deserialize;

use super::identity::PayloadIdentity;
use crate::mount::{Mount, MountSource};

/// Memory-backed temporary space inside, in MiB and files.
const TMP: (u64, u64) = (2048, 200_000);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RootPolicy {
    system: Vec<PathBuf>,
    etc: Vec<PathBuf>,
    devices: Vec<PathBuf>,
    devices_links: BTreeMap<PathBuf, PathBuf>,
    files: BTreeMap<PathBuf, String>,
}

static POLICY: LazyLock<Result<RootPolicy, String>> = LazyLock::new(|| {
    toml::from_str(include_str!("../../../../policies/root.toml")).map_err(|e| e.to_string())
});

/// What was found last, and for whom it was made out: the system does not change while a process runs.
static FOUND: Mutex<Option<SystemMounts>> = Mutex::new(None);

struct SystemMounts {
    who: (u32, u32),
    mounts: Vec<Mount>,
}

/// Mounts of the system, the devices, the generated settings and the temporary space.
pub fn system_root(identity: &PayloadIdentity) -> Vec<Mount> {
    let who = (identity.inside_uid, identity.inside_gid);
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    match &*found {
        Some(found) if found.who == who => found.mounts.clone(),
        _ => {
            let mounts = look(identity);
            *found = Some(SystemMounts { who, mounts: mounts.clone() });
            mounts
        }
    }
}

fn look(identity: &PayloadIdentity) -> Vec<Mount> {
    let Ok(policy) = &*POLICY else { return Vec::new() };
    let mut mounts = Vec::new();
    for path in policy.system.iter().chain(&policy.etc) {
        mounts.extend(as_on_host(path));
    }
    for device in policy.devices.iter().filter(|d| d.exists()) {
        mounts.push(Mount { at: device.clone(), source: MountSource::Bind(device.clone()), writable: true });
    }
    for (at, target) in &policy.devices_links {
        mounts.push(Mount { at: at.clone(), source: MountSource::Symlink(target.clone()), writable: false });
    }
    for (at, text) in &policy.files {
        let text = text
            .replace("{uid}", &identity.inside_uid.to_string())
            .replace("{gid}", &identity.inside_gid.to_string());
        mounts.push(Mount { at: at.clone(), source: MountSource::File(text.into_bytes()), writable: false });
    }
    let tmpfs = |at: &str, mb, inodes| Mount {
        at: at.into(),
        source: MountSource::Tmpfs { mb, inodes },
        writable: true,
    };
    mounts.push(tmpfs("/tmp", TMP.0, TMP.1));
    mounts.push(tmpfs("/dev/shm", TMP.0, TMP.1));
    mounts.push(Mount {
        at: "/var/tmp".into(),
        source: MountSource::Symlink("/tmp".into()),
        writable: false,
    });
    mounts.push(Mount { at: "/run/lock".into(), source: MountSource::EmptyDir, writable: false });
    mounts
}

/// A link stays a link, everything else becomes a read-only view; nothing for what does not exist.
fn as_on_host(path: &Path) -> Option<Mount> {
    let meta = path.symlink_metadata().ok()?;
    if !meta.is_symlink() {
        return Some(Mount::same_path(path));
    }
    let target = std::fs::read_link(path).ok()?;
    // Links out of /etc (os-release, localtime) usually end in /usr, which is there; others become a view of their end.
    let absolute = path.parent().unwrap_or(Path::new("/")).join(&target);
    let inside_usr =
        absolute.starts_with("/usr") || target.starts_with("usr") || target.starts_with("../usr");
    if inside_usr {
        return Some(Mount { at: path.to_owned(), source: MountSource::Symlink(target), writable: false });
    }
    Some(Mount::read_only(path.canonicalize().ok()?, path))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_policy_parses_and_names_nothing_of_a_home() {
        let policy = POLICY.as_ref().unwrap();
        for path in policy.system.iter().chain(&policy.etc) {
            assert!(path.starts_with("/usr") || path.starts_with("/etc") || path.components().count() == 2);
        }
    }
}
