//! What a turn's hands see and may use.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use holon_core::Profile;
use holon_core::mode::{HostMountSetting, NetworkReach};
use holon_sandbox::host_mounts::{self, HostMounts};
use holon_sandbox::isolation::{self, PayloadLimits, PayloadStreams, SandboxJob, layout};
use holon_sandbox::mount::{Mount, MountSource};
use holon_sandbox::snapshot::{WORKSPACE_INSIDE, WorkspaceSnapshot};

use super::folder::ThreadFolder;
use super::late_executor::TurnSurroundings;
use crate::error::HostError;
use crate::self_exe;

/// Open descriptors per process inside.
const DESCRIPTORS: u64 = 16_384;
/// Our own binary inside the walls, where it becomes the hands.
const HANDS: &str = "/holon/agent/holon-hands";
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Finds the toolchains and caches to show; their writable layers go with the turn.
pub(super) fn exposed(
    folder: &ThreadFolder,
    around: &TurnSurroundings,
    profile: &Profile,
    dir: &Path,
) -> Result<HostMounts, HostError> {
    let layers = dir.join("exposed");
    std::fs::create_dir(&layers).map_err(HostError::io("create", &layers))?;
    let home = around.home.as_deref();
    let below_home = |path: &String| match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    };
    let extra: Vec<PathBuf> = profile.expose.paths.iter().map(below_home).collect();
    host_mounts::find(&host_mounts::HostMountRequest {
        workspace: folder.workspace(),
        home,
        env: &*around.env,
        toolchains: profile.expose.toolchains == HostMountSetting::Auto,
        caches: profile.expose.caches == HostMountSetting::Auto,
        extra_paths: &extra,
        run_dir: &layers,
        owner: folder.identity().owner(),
        wanted: &[],
        workspace_writable: profile.access.writable(),
        offline: profile.network != NetworkReach::Host,
        overlays: true,
    })
    .map_err(|e| HostError::Walls { message: e.to_string(), hint: None })
}

/// Everything the hands of one turn see.
pub(super) fn job(
    name: &str,
    folder: &ThreadFolder,
    profile: &Profile,
    snapshot: &WorkspaceSnapshot,
    exposed: &HostMounts,
) -> Result<SandboxJob, HostError> {
    let identity = folder.identity();
    let mut mounts = layout::system_root(&identity);
    mounts.extend(snapshot.mounts());
    mounts.push(Mount::read_only(folder.input()?, "/holon/input"));
    mounts.push(Mount::writable(folder.home()?, "/holon/home"));
    mounts.extend(exposed.mounts.iter().cloned());
    // Shared by all threads about the workspace.
    let threads = folder.path().parent().unwrap_or(folder.path());
    let own = self_exe::binary(threads).map_err(HostError::io("copy the running program to", threads))?;
    mounts.push(Mount::read_only(own, HANDS));
    mounts.extend(original_path(folder.workspace(), &mounts));
    let limits = &profile.limits;
    Ok(SandboxJob {
        name: name.to_owned(),
        identity,
        mounts,
        writable_below: snapshot.scoped_dirs().map(<[_]>::to_vec).unwrap_or_default(),
        argv: vec![HANDS.into()],
        env: environment(name, profile, exposed),
        cwd: WORKSPACE_INSIDE.into(),
        limits: PayloadLimits {
            processes: limits.processes,
            files: DESCRIPTORS,
            file_mb: limits.disk_mb,
            memory_mb: limits.memory_mb,
        },
        network: if profile.network == NetworkReach::Host {
            isolation::PayloadNetwork::Host
        } else {
            isolation::PayloadNetwork::None
        },
        streams: PayloadStreams::Channel,
    })
}

/// Files that name the workspace by its own path (virtual environments, worktrees) find it there too.
fn original_path(workspace: &Path, mounts: &[Mount]) -> Option<Mount> {
    let roomy = |m: &Mount| matches!(m.source, MountSource::Tmpfs { .. });
    let taken =
        mounts.iter().any(|m| (workspace.starts_with(&m.at) && !roomy(m)) || m.at.starts_with(workspace));
    let source = MountSource::Symlink(WORKSPACE_INSIDE.into());
    (!taken).then(|| Mount { at: workspace.to_owned(), source, writable: false })
}

fn environment(name: &str, profile: &Profile, exposed: &HostMounts) -> Vec<(String, String)> {
    let mut path: Vec<String> = exposed.path.iter().map(|p| p.to_string_lossy().into_owned()).collect();
    path.push(SYSTEM_PATH.into());
    let path = path.join(":");
    let fixed = [
        ("HOME", "/holon/home"),
        ("PATH", &path),
        ("TMPDIR", "/tmp"),
        ("TERM", "dumb"),
        ("USER", "holon"),
        ("LOGNAME", "holon"),
        ("SHELL", "/bin/sh"),
        ("LANG", "C.UTF-8"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_CONFIG_SYSTEM", "/etc/gitconfig"),
        ("HOLON_MODE", &profile.name),
        ("HOLON_RUN_ID", name),
        ("HOLON_INPUT_DIR", "/holon/input"),
        ("HOLON_WORKSPACE_DIR", WORKSPACE_INSIDE),
    ];
    let mut env: Vec<(String, String)> = fixed.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    for (key, value) in &exposed.env {
        if !env.iter().any(|(k, _)| k == key) {
            env.push((key.clone(), value.clone()));
        }
    }
    env
}

/// Whose files these are.
pub(super) fn owner_of(workspace: &Path) -> Option<(u32, u32)> {
    workspace.metadata().ok().map(|m| (m.uid(), m.gid()))
}
