//! Finding out what this machine can do, by doing it.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use holon_core::sandbox::IsolationLevel;
use holon_git::Git;
use holon_host::thread::{ChatModelPreferences, would_ask};
use holon_host::{HolonFolders, HostError, modes};
use holon_sandbox::backend::{NativeSandbox, SandboxBackend};
use holon_sandbox::fallback::probe::{probe_all, try_out};
use holon_sandbox::isolation::layout::system_root;
use holon_sandbox::isolation::{
    LaunchRefusal, Launcher, PayloadIdentity, PayloadLimits, PayloadNetwork, PayloadStreams,
    SandboxEnforcement, SandboxJob,
};
use holon_sandbox::mount::{Mount, MountSource, Overlay};
use holon_sandbox::snapshot::{WORKSPACE_INSIDE, remove_tree};

use super::pause::PodmanPauses;
use crate::failure::CliFailure;
use crate::session::{Session, variable};
use crate::show::manifest;
use crate::terminal::one_line;

/// Fewer free bytes than this are worth a word.
const LITTLE: u64 = 256 << 20;

/// Everything that was found.
pub(super) struct DoctorFindings {
    pub(super) rungs: Vec<IsolationLevelRow>,
    pub(super) held: Option<NativeLayers>,
    pub(super) overlay: Result<(), String>,
    pub(super) git: Result<GitInstallation, String>,
    /// Bytes free for runs.
    pub(super) free: Option<u64>,
    /// Whether runs can be kept.
    pub(super) state: Result<(), String>,
    pub(super) folders: Vec<(&'static str, String)>,
    /// Which model a run would ask, and what is missing, in a sentence.
    pub(super) model: String,
    pub(super) advice: Vec<String>,
}

/// One rung of the ladder.
pub(super) struct IsolationLevelRow {
    pub(super) name: &'static str,
    /// The level it gives here, if it works.
    pub(super) level: Option<IsolationLevel>,
    pub(super) note: String,
    pub(super) remedy: Option<String>,
}

/// The native walls as they stood around nothing.
pub(super) struct NativeLayers {
    pub(super) there: Vec<String>,
    pub(super) missing: Vec<String>,
    pub(super) processes: Option<String>,
    pub(super) memory: Option<String>,
}

/// The git that runs use.
pub(super) struct GitInstallation {
    pub(super) version: String,
    pub(super) path: String,
}

impl DoctorFindings {
    /// Looks at everything; takes some hundred milliseconds where a container engine has to answer.
    pub(super) fn look(session: &Session) -> Result<Self, CliFailure> {
        let places = session.places()?;
        let launcher = Launcher::default();
        let text = |name: &str| variable(name).and_then(|value| value.into_string().ok());
        let pauses = PodmanPauses::note();
        let probes = probe_all(&launcher, &text, None);
        pauses.end_new_ones();
        let native = NativeSandbox::new(launcher);
        let held = try_out(&native, &[]).ok().map(|held| layers(&held));
        let answer = |name, result: Result<(IsolationLevel, String), &LaunchRefusal>| match result {
            Ok((level, note)) => IsolationLevelRow { name, level: Some(level), note, remedy: None },
            Err(refusal) => IsolationLevelRow {
                name,
                level: None,
                note: one_line(&refusal.to_string(), 300),
                remedy: refusal.remedy().map(str::to_owned),
            },
        };
        let root = rustix::process::geteuid().is_root();
        let payload =
            if root { "started by root, runs as an unprivileged user" } else { "without being root" };
        let rungs = vec![
            answer("native", probes.native.as_ref().map(|level| (*level, payload.to_owned()))),
            answer(
                "oci",
                probes
                    .oci
                    .as_ref()
                    .map(|()| (IsolationLevel::L2, "for agents in an image (--image)".to_owned())),
            ),
            answer(
                "bubblewrap",
                probes
                    .bubblewrap
                    .as_ref()
                    .map(|()| (IsolationLevel::L3, "used where native is refused".to_owned())),
            ),
            answer(
                "landlock",
                probes.landlock.as_ref().map(|abi| (IsolationLevel::L4, format!("ABI {abi}, on a copy"))),
            ),
        ];
        let state = state_works(&places.state);
        let overlay = state.clone().and_then(|()| overlay_works(&native, &places));
        let free = free_bytes(&places.state);
        let mut advice = advice(root, &overlay, held.as_ref());
        advice.extend(free.filter(|free| *free < LITTLE).map(|_| {
            "there is little space left for runs; `holon runs gc` removes old ones of a workspace".to_owned()
        }));
        let model = model(&places);
        Ok(Self { rungs, held, overlay, git: git(), free, state, folders: folders(&places), model, advice })
    }
}

/// The model that a run of the native agent would ask; nobody beyond this machine or a configured server is asked.
fn model(places: &HolonFolders) -> String {
    let asked = || -> Result<_, HostError> {
        let profile = modes::catalog(places, None)?.resolve("execute")?;
        would_ask(&variable, places, ChatModelPreferences::default(), &profile)
    };
    let chosen = match asked() {
        Ok(chosen) => chosen,
        Err(error) => return one_line(&error.to_string(), 600),
    };
    let told = chosen.row.as_ref().and_then(|row| row.context);
    let window = match told {
        Some(window) => format!("window {window} tokens"),
        None => format!("window not told, {} tokens assumed", chosen.window()),
    };
    let kind = chosen.known.told.kind;
    let mut words = vec![format!("{} at {}, {window}", chosen.model, chosen.endpoint.base)];
    words.extend(holon_agent::fit::too_small_to_execute(&chosen.model, told, kind));
    if chosen.endpoint.is_loopback() && chosen.known.tested.is_none() {
        words.push("`holon models probe` finds out what it can do".to_owned());
    }
    one_line(&words.join("; "), 600)
}

fn layers(held: &SandboxEnforcement) -> NativeLayers {
    let (there, missing) = manifest::layers(&held.enforced());
    NativeLayers { there, missing, processes: held.processes.clone(), memory: held.memory.clone() }
}

/// Runs are kept in the state folder; without one none can start.
fn state_works(state: &Path) -> Result<(), String> {
    let told = |e: std::io::Error| format!("{}: {}", state.display(), e.kind());
    fs::DirBuilder::new().recursive(true).mode(0o700).create(state).map_err(told)?;
    tempfile::tempfile_in(state).map(drop).map_err(told)
}

/// Mounts a layer over an empty folder where runs are kept, behind real walls.
fn overlay_works(native: &NativeSandbox, places: &HolonFolders) -> Result<(), String> {
    let folder =
        tempfile::Builder::new().prefix("doctor-").tempdir_in(&places.state).map_err(|e| e.to_string())?;
    let tried = try_overlay(native, folder.path());
    // The kernel leaves a folder behind that only its owner's chmod opens.
    let _ = remove_tree(folder.path());
    tried
}

fn try_overlay(native: &NativeSandbox, folder: &Path) -> Result<(), String> {
    let name = format!("doctor-{}", std::process::id());
    let identity = PayloadIdentity::for_run(&name);
    let part = |name: &str| -> Result<_, String> {
        let path = folder.join(name);
        fs::create_dir(&path).map_err(|e| e.to_string())?;
        if let Some((uid, gid)) = identity.owner() {
            std::os::unix::fs::chown(&path, Some(uid), Some(gid)).map_err(|e| e.to_string())?;
        }
        Ok(path)
    };
    let layers = Overlay {
        lowers: vec![part("lower")?],
        upper: Some(part("upper")?),
        work: Some(part("work")?),
        lasting: false,
        moved_whole: false,
    };
    let mut mounts = system_root(&identity);
    mounts.push(Mount { at: WORKSPACE_INSIDE.into(), source: MountSource::Overlay(layers), writable: true });
    let job = SandboxJob {
        name,
        identity,
        mounts,
        writable_below: Vec::new(),
        argv: Vec::new(),
        env: Vec::new(),
        cwd: "/".into(),
        limits: PayloadLimits { processes: 64, files: 256, file_mb: 64, memory_mb: 256 },
        network: PayloadNetwork::None,
        streams: PayloadStreams::Watched,
    };
    let payload = native.start(&job).map_err(|refusal| refusal.to_string())?;
    payload.finish();
    Ok(())
}

fn git() -> Result<GitInstallation, String> {
    Git::find()
        .map(|git| GitInstallation {
            version: git.version().to_string(),
            path: git.path().display().to_string(),
        })
        .map_err(|e| e.to_string())
}

/// Free space where the nearest existing folder above is.
fn free_bytes(state: &Path) -> Option<u64> {
    let folder = state.ancestors().find(|folder| folder.exists())?;
    let space = rustix::fs::statvfs(folder).ok()?;
    space.f_bavail.checked_mul(space.f_frsize)
}

fn folders(places: &HolonFolders) -> Vec<(&'static str, String)> {
    let shown = |path: &Path| path.display().to_string();
    vec![("state", shown(&places.state)), ("cache", shown(&places.cache)), ("config", shown(&places.config))]
}

fn advice(root: bool, overlay: &Result<(), String>, held: Option<&NativeLayers>) -> Vec<String> {
    let mut advice = Vec::new();
    if !root && overlay.is_ok() {
        advice.push(
            "the kernel does not let ordinary users rename existing folders in an overlay (EXDEV); where a tool does \
             not fall back to copying, use --snapshot copy"
                .to_owned(),
        );
    }
    if held.is_some_and(|held| held.memory.is_none()) {
        advice.push(
            "memory is not limited: that needs a control group delegated to you, as in a systemd user session \
             (`systemd-run --user --scope holon …`), or root"
                .to_owned(),
        );
    }
    if root {
        advice.push("Holon does not need root; an ordinary user gets walls that are as strong".to_owned());
    }
    advice
}
