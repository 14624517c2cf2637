//! No namespaces, only what a process can do to itself: limits, Landlock, no capabilities, seccomp.
//!
//! Paths inside are those of the host. What this level cannot do, beside what Landlock cannot:
//! - it cannot put anything elsewhere, so generated files and temporary space of the job are ignored; the host names
//!   writable folders in `TMPDIR` and the like;
//! - it cannot cover a file, so a folder with something to be hidden is opened entry by entry instead;
//! - as an ordinary user the payload is that user: Landlock keeps it from their files and processes, but modes, owners and
//!   times of files are not Landlock's business. The filter refuses such changes; where something may be written, it asks
//!   the launcher, which makes them below what may be written and nowhere else. What would reach the user's other processes
//!   (limits, priorities, processors, queues and shared memory) is refused;
//! - the command lines of other processes can be read.

use std::fs;
use std::path::{Path, PathBuf};

use holon_core::sandbox::IsolationLevel;

use super::plan::{self, WORKSPACE};
use crate::backend::{RunningPayload, SandboxBackend};
use crate::isolation::bare::{BareCommand, LandlockReach, MetadataPolicy, SelfConfinement};
use crate::isolation::layout::system_root;
use crate::isolation::{LaunchRefusal, LaunchStep, Launcher, PayloadNetwork, SandboxJob};
use crate::mount::{Mount, MountSource};

/// Settings every C library reads; the machine's own, since generated ones have no place to be.
const SETTINGS: &[&str] = &["/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf"];
/// A process finds itself here; Landlock keeps it from the secrets of processes outside.
const PROC: &str = "/proc";

/// Landlock and seccomp on a copied workspace.
#[derive(Debug, Clone, Default)]
pub struct LandlockOnly {
    /// How the launcher is started.
    pub launcher: Launcher,
}

impl SandboxBackend for LandlockOnly {
    fn name(&self) -> &'static str {
        "landlock"
    }

    fn level(&self) -> IsolationLevel {
        IsolationLevel::L4
    }

    fn overlays(&self) -> bool {
        false
    }

    fn private_root(&self) -> bool {
        false
    }

    fn start(&self, job: &SandboxJob) -> Result<Box<dyn RunningPayload>, LaunchRefusal> {
        let mut mounts = plan::mounts(job)?;
        // A job without a private root names only what is its own.
        mounts.extend(system_root(&job.identity));
        let internet = job.network == PayloadNetwork::Host;
        let rw = mounts.iter().any(|mount| mount.writable && mount.at.starts_with(WORKSPACE));
        let metadata = match (job.identity.by_root, rw) {
            (true, _) => MetadataPolicy::Own,
            (false, true) => MetadataPolicy::Brokered,
            (false, false) => MetadataPolicy::Frozen,
        };
        let confined = SelfConfinement { reach: reach(&mounts)?, internet, metadata };
        let bare = BareCommand { confined: Some(confined), ..BareCommand::of(job) };
        Ok(Box::new(self.launcher.spawn_bare(&job.name, job.limits, &bare, false)?))
    }
}

/// What the payload may read and write, from what it would have seen behind better walls.
fn reach(mounts: &[Mount]) -> Result<LandlockReach, LaunchRefusal> {
    let hidden: Vec<&Path> = mounts
        .iter()
        .filter(|mount| matches!(mount.source, MountSource::File(_) | MountSource::EmptyDir))
        .map(|mount| mount.at.as_path())
        .collect();
    let mut reach = LandlockReach { read: vec![PROC.into()], ..LandlockReach::default() };
    reach.read.extend(SETTINGS.iter().map(PathBuf::from).filter(|path| path.exists()));
    for mount in mounts {
        let MountSource::Bind(source) = &mount.source else { continue };
        let holes: Vec<PathBuf> = hidden
            .iter()
            .filter_map(|at| at.strip_prefix(&mount.at).ok())
            .filter(|below| !below.as_os_str().is_empty())
            .map(|below| source.join(below))
            .filter(|path| path.symlink_metadata().is_ok())
            .collect();
        if mount.writable && !holes.is_empty() {
            return Err(plan::refusal(
                LaunchStep::Landlock,
                "part of a writable folder cannot be hidden here",
                source,
            ));
        }
        match (holes.is_empty(), mount.writable) {
            (true, true) => reach.write.push(source.clone()),
            (true, false) => reach.read.push(source.clone()),
            (false, _) => open_around(source, &holes, &mut reach)
                .map_err(|e| LaunchRefusal::new(LaunchStep::Landlock, e, source.display().to_string()))?,
        }
    }
    Ok(reach)
}

/// Opens everything in `folder` but the holes: Landlock can only add, never take away.
fn open_around(folder: &Path, holes: &[PathBuf], reach: &mut LandlockReach) -> std::io::Result<()> {
    reach.list.push(folder.to_owned());
    let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if holes.contains(&path) || entry.file_type()?.is_symlink() {
            // A link needs no rule of its own, and opening it would open its target.
            continue;
        }
        if holes.iter().any(|hole| hole.starts_with(&path)) {
            open_around(&path, holes, reach)?;
        } else {
            reach.read.push(path);
        }
    }
    Ok(())
}
