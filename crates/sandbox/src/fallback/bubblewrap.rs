//! The system's bubblewrap: on some machines it alone may make user namespaces.
//!
//! Started by root it would leave the payload with the kernel's uid 0 and a writable /proc/sys, so the launcher first
//! becomes the payload's own user; the job's folders must then be reachable for that user. All options travel through a
//! descriptor, because a command line can be read by everybody.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use holon_core::sandbox::IsolationLevel;

use super::attended::{AttendedPayload, AttendedStart};
use super::plan;
use crate::backend::{RunningPayload, SandboxBackend};
use crate::isolation::bare::{BareCommand, FIRST_HANDED, HandedDescriptor, UNREACHABLE};
use crate::isolation::{
    LaunchRefusal, LaunchStep, Launcher, PROC_HIDDEN, PROC_READ_ONLY, PayloadEnding, PayloadNetwork,
    SandboxEnforcement, SandboxJob, seccomp_bytes,
};
use crate::mount::{Mount, MountSource};

/// Where load is told, and watched by whoever writes there; native walls have Landlock against that.
const PRESSURE: &str = "pressure";
const STATUS_FILE: &str = "status";
/// Places of the descriptors that every start hands over; generated files follow.
const FILTER: i32 = FIRST_HANDED;
const OPTIONS: i32 = FIRST_HANDED + 1;
const STATUS: i32 = FIRST_HANDED + 2;

/// Bubblewrap, wherever it is installed.
#[derive(Debug, Clone)]
pub struct Bubblewrap {
    /// Its program.
    pub command: PathBuf,
    /// How the launcher is started.
    pub launcher: Launcher,
}

impl Default for Bubblewrap {
    fn default() -> Self {
        Self { command: "/usr/bin/bwrap".into(), launcher: Launcher::default() }
    }
}

impl SandboxBackend for Bubblewrap {
    fn name(&self) -> &'static str {
        "bubblewrap"
    }

    fn level(&self) -> IsolationLevel {
        IsolationLevel::L3
    }

    fn overlays(&self) -> bool {
        false
    }

    fn private_root(&self) -> bool {
        true
    }

    fn start(&self, job: &SandboxJob) -> Result<Box<dyn RunningPayload>, LaunchRefusal> {
        if !self.command.is_file() {
            let message = "bubblewrap is not installed (apt install bubblewrap)";
            return Err(plan::refusal(LaunchStep::Exec, message, &self.command));
        }
        let staging = |e: std::io::Error| LaunchRefusal::new(LaunchStep::Job, e, "status file");
        let stage = tempfile::Builder::new().prefix("holon-bwrap-").tempdir().map_err(staging)?;
        let status = stage.path().join(STATUS_FILE);
        let (options, files) = options(job)?;
        let mut handed = vec![
            HandedDescriptor::Bytes(seccomp_bytes().to_vec()),
            HandedDescriptor::Bytes(nul_separated(&options)),
            HandedDescriptor::WriteTo(status.clone()),
        ];
        handed.extend(files.into_iter().map(HandedDescriptor::Bytes));
        let mut argv: Vec<OsString> =
            vec![self.command.clone().into(), "--args".into(), OPTIONS.to_string().into(), "--".into()];
        argv.extend(job.argv.iter().cloned());
        let bare = BareCommand {
            argv,
            cwd: "/".into(),
            become_user: job.identity.owner(),
            limits: Some(job.limits),
            handed,
            to_remove: Some(stage.path().to_owned()),
            adopt: true,
            streams: job.streams,
            ..BareCommand::default()
        };
        let running = self.launcher.spawn_bare(&job.name, job.limits, &bare, false)?;
        let promised = promised(job, running.held());
        let pid = || child_pid(&fs::read_to_string(&status).ok()?);
        let failed = |ending, said: &str| ending == PayloadEnding::Code(1) && said.starts_with("bwrap: ");
        match AttendedPayload::start(running, stage, promised, pid, failed)? {
            AttendedStart::Payload(payload) => Ok(payload),
            AttendedStart::Failed(said) => {
                let denied = job.identity.by_root && said.contains("Permission denied");
                let said = if denied { format!("{said}. {UNREACHABLE}") } else { said };
                Err(plan::refusal(LaunchStep::Namespaces, said, &self.command))
            }
        }
    }
}

/// What bubblewrap does or fails, and what the launcher had already done.
fn promised(job: &SandboxJob, by_launcher: &SandboxEnforcement) -> SandboxEnforcement {
    SandboxEnforcement {
        user_ns: true,
        mount_ns: true,
        pid_ns: true,
        net_ns: job.network.is_private(),
        ipc_ns: true,
        uts_ns: true,
        private_root: true,
        masked_proc: true,
        seccomp: true,
        no_new_privs: true,
        capabilities_dropped: true,
        ..by_launcher.clone()
    }
}

/// The first document of the status file names the process.
fn child_pid(status: &str) -> Option<u32> {
    let first: serde_json::Value = serde_json::from_str(status.lines().next()?).ok()?;
    u32::try_from(first.get("child-pid")?.as_u64()?).ok()
}

/// Options and the generated files behind the descriptors they name.
fn options(job: &SandboxJob) -> Result<(Vec<OsString>, Vec<Vec<u8>>), LaunchRefusal> {
    let mut made = BubblewrapOptions::default();
    made.words(["--unshare-user", "--unshare-all"]);
    if job.network == PayloadNetwork::Host {
        made.words(["--share-net"]);
    }
    made.words([
        "--new-session",
        "--die-with-parent",
        "--cap-drop",
        "ALL",
        "--hostname",
        "holon",
        "--clearenv",
    ]);
    made.words([
        "--uid",
        &job.identity.inside_uid.to_string(),
        "--gid",
        &job.identity.inside_gid.to_string(),
    ]);
    for (name, value) in &job.env {
        made.words(["--setenv", name, value]);
    }
    // Devices, terminals of its own and the links between them: as bubblewrap makes them, which alone can mount terminals.
    made.words(["--dev", "/dev"]);
    for mount in plan::mounts(job)? {
        let made_already = mount.at.starts_with("/dev") && !matches!(mount.source, MountSource::Tmpfs { .. });
        if !made_already {
            made.mount(&mount)?;
        }
    }
    made.words(["--remount-ro", "/dev", "--proc", "/proc"]);
    // Its first process is bubblewrap itself, with the rights of the payload's own user: nothing of it is to be seen.
    made.empty_folder(Path::new("/proc/1"));
    for name in PROC_READ_ONLY {
        let place = Path::new("/proc").join(name);
        if place.exists() {
            made.place("--ro-bind", &place, &place);
        }
    }
    for name in PROC_HIDDEN.iter().chain(&[PRESSURE]) {
        let place = Path::new("/proc").join(name);
        match place.symlink_metadata() {
            Ok(meta) if meta.is_dir() => made.empty_folder(&place),
            Ok(_) => made.file(&place, Vec::new()),
            Err(_) => {}
        }
    }
    made.words([
        "--remount-ro",
        "/",
        "--seccomp",
        &FILTER.to_string(),
        "--json-status-fd",
        &STATUS.to_string(),
    ]);
    made.option("--chdir", &job.cwd);
    Ok((made.words, made.files))
}

#[derive(Default)]
struct BubblewrapOptions {
    words: Vec<OsString>,
    files: Vec<Vec<u8>>,
}

impl BubblewrapOptions {
    fn words<S: AsRef<str>>(&mut self, words: impl IntoIterator<Item = S>) {
        self.words.extend(words.into_iter().map(|word| word.as_ref().into()));
    }

    fn option(&mut self, name: &str, value: &Path) {
        self.words.extend([name.into(), value.into()]);
    }

    fn place(&mut self, how: &str, from: &Path, at: &Path) {
        self.words.extend([how.into(), from.into(), at.into()]);
    }

    fn file(&mut self, at: &Path, bytes: Vec<u8>) {
        let number = STATUS + 1 + self.files.len() as i32;
        self.files.push(bytes);
        self.words(["--perms", "0444", "--ro-bind-data", &number.to_string()]);
        self.words.push(at.into());
    }

    fn empty_folder(&mut self, at: &Path) {
        self.words(["--perms", "0555"]);
        self.option("--tmpfs", at);
        self.option("--remount-ro", at);
    }

    fn mount(&mut self, mount: &Mount) -> Result<(), LaunchRefusal> {
        let at = mount.at.as_path();
        match &mount.source {
            MountSource::Bind(path) if mount.writable => self.place("--bind", path, at),
            MountSource::Bind(path) => self.place("--ro-bind", path, at),
            MountSource::Tmpfs { mb, .. } => {
                self.words(["--perms", "1777", "--size", &(mb << 20).to_string()]);
                self.option("--tmpfs", at);
            }
            MountSource::File(bytes) => self.file(at, bytes.clone()),
            MountSource::Symlink(target) => self.place("--symlink", target, at),
            MountSource::EmptyDir => self.empty_folder(at),
            MountSource::Overlay(_) => {
                return Err(plan::refusal(LaunchStep::Overlay, "bubblewrap gets copies only", at));
            }
        }
        Ok(())
    }
}

fn nul_separated(words: &[OsString]) -> Vec<u8> {
    words
        .iter()
        .map(OsString::as_os_str)
        .map(OsStr::as_bytes)
        .flat_map(|word| [word, b"\0"].concat())
        .collect()
}
