//! A container made by podman or docker, driven by their command lines.
//!
//! The image brings its own root; of the job's mounts only those under /holon (and what [`OciSandbox::also`] names) are handed
//! in. The engine's client runs under the launcher: when the host dies, the launcher ends the container.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holon_core::sandbox::IsolationLevel;

use super::attended::{AttendedPayload, AttendedStart};
use super::command_line::PID_FILE;
use super::engine::{self, EngineDialect, EngineForm};
use super::staged::ENV_FILE;
use crate::backend::{RunningPayload, SandboxBackend};
use crate::isolation::bare::BareCommand;
use crate::isolation::{
    DetachedNetns, LaunchRefusal, LaunchStep, Launcher, PayloadEnding, SandboxEnforcement, SandboxJob,
};

/// What to do where a container can have no door to a model.
const NO_DOOR: &str = "Use podman, as root or with user namespaces allowed, or give the container a model that it can reach \
                       with --network host, or a cassette";

/// Options that can take walls back.
const TAKE_BACK: &[&str] = &[
    "--security-opt",
    "--privileged",
    "--cap-add",
    "--pid",
    "--ipc",
    "--uts",
    "--user",
    "--network",
    "--read-only",
];

/// A container engine, an image, and how to start one from the other.
#[derive(Debug, Clone)]
pub struct OciSandbox {
    /// The engine's program.
    pub command: PathBuf,
    /// Which language it speaks.
    pub dialect: EngineDialect,
    /// The image; its own entrypoint is the agent when a job has no command.
    pub image: String,
    /// Options before `run`, used with every command: which store, which daemon.
    pub globals: Vec<String>,
    /// More options of `run`.
    pub extra_args: Vec<String>,
    /// What this machine's engine takes; see [`OciSandbox::detect`].
    pub form: EngineForm,
    /// The environment of the engine's client (never of the payload); see [`engine::environment`].
    pub env: Vec<(String, String)>,
    /// Places outside /holon whose mounts are handed in too.
    pub also: Vec<PathBuf>,
    /// Where generated files are kept while the container lives; a temporary folder if absent.
    pub stage: Option<PathBuf>,
    /// How the launcher is started.
    pub launcher: Launcher,
}

impl SandboxBackend for OciSandbox {
    fn brings_its_system(&self) -> bool {
        true
    }

    fn name(&self) -> &'static str {
        "oci"
    }

    fn level(&self) -> IsolationLevel {
        IsolationLevel::L2
    }

    fn overlays(&self) -> bool {
        false
    }

    fn private_root(&self) -> bool {
        true
    }

    fn start(&self, job: &SandboxJob) -> Result<Box<dyn RunningPayload>, LaunchRefusal> {
        match self.launch(job)? {
            AttendedStart::Payload(payload) => Ok(payload),
            AttendedStart::Failed(said) if said.contains("already in use") => {
                // Left behind by a host that was killed together with its launcher.
                self.cleanup(&job.name);
                match self.launch(job)? {
                    AttendedStart::Payload(payload) => Ok(payload),
                    AttendedStart::Failed(said) => Err(engine::explain(&self.command, &said)),
                }
            }
            AttendedStart::Failed(said) => Err(engine::explain(&self.command, &said)),
        }
    }
}

impl OciSandbox {
    /// Removes the container of a run that ended badly, if there is one.
    pub fn cleanup(&self, run: &str) {
        for command in self.ending_commands(&container_name(run)) {
            let _ = engine::ask(&self.command, &command[1..], &self.env, Duration::from_secs(30));
        }
    }

    fn launch(&self, job: &SandboxJob) -> Result<AttendedStart, LaunchRefusal> {
        let staging = |e: std::io::Error| LaunchRefusal::new(LaunchStep::Job, e, "generated files");
        let mut builder = tempfile::Builder::new();
        builder.prefix("holon-oci-").permissions(Permissions::from_mode(0o700));
        let stage = match &self.stage {
            Some(folder) => builder.tempdir_in(folder),
            None => builder.tempdir(),
        }
        .map_err(staging)?;
        let wanted = job.network.has_gateway();
        let apart = if wanted { Some(self.network_apart(stage.path())?) } else { None };
        let arguments = self.arguments(job, stage.path(), apart.as_ref())?;
        arguments.stage(stage.path()).map_err(staging)?;
        let bare = BareCommand {
            argv: [vec![self.command.clone().into()], arguments.argv].concat(),
            env: self.env.clone(),
            cwd: "/".into(),
            streams: job.streams,
            to_terminate: self.command_words(&["kill", "--signal", "TERM", &container_name(&job.name)]),
            at_end: self.ending_commands(&container_name(&job.name)),
            to_remove: Some(stage.path().to_owned()),
            ..BareCommand::default()
        };
        let running = self.launcher.spawn_bare(&job.name, job.limits, &bare, true)?;
        let (pid_file, env_file) = (stage.path().join(PID_FILE), stage.path().join(ENV_FILE));
        let name = container_name(&job.name);
        let pid = || match self.dialect {
            EngineDialect::Podman => fs::read_to_string(&pid_file).ok()?.trim().parse().ok(),
            EngineDialect::Docker => self.ask_pid(&name),
        };
        // 125 to 127 are the engine's own, when it also complains: a short payload may have ended with the same number.
        let failed =
            |ending, said: &str| matches!(ending, PayloadEnding::Code(125..=127)) && engine::complains(said);
        let started = AttendedPayload::start(running, stage, self.promised(job), pid, failed);
        let _ = fs::remove_file(env_file);
        started.map(|started| started.with_door(apart))
    }

    /// A network that the container is put into, with the host's listener on it.
    fn network_apart(&self, stage: &Path) -> Result<DetachedNetns, LaunchRefusal> {
        let made = match self.dialect {
            // Its daemon makes the networks, and joins none that it did not make.
            EngineDialect::Docker => {
                Err(io::Error::other("docker takes no network of somebody else's making"))
            }
            EngineDialect::Podman if rustix::process::geteuid().is_root() => DetachedNetns::new(),
            EngineDialect::Podman => {
                let into: Vec<OsString> =
                    self.command_words(&["unshare"]).into_iter().map(Into::into).collect();
                DetachedNetns::kept(&into, &self.env, self.launcher.binary(), stage)
            }
        };
        made.map_err(|e| LaunchRefusal {
            step: LaunchStep::Loopback,
            errno: e.raw_os_error().unwrap_or(0),
            message: format!("{e}. {NO_DOOR}"),
            detail: "a way to a model for the container".into(),
        })
    }

    fn ask_pid(&self, name: &str) -> Option<u32> {
        let ask = ["inspect", "--format", "{{.State.Pid}}", name].map(str::to_owned);
        let args = [self.globals.clone(), ask.to_vec()].concat();
        let answer = engine::ask(&self.command, &args, &self.env, Duration::from_secs(10)).ok()?;
        answer.out.parse().ok().filter(|pid| answer.code == Some(0) && *pid != 0)
    }

    /// What an engine does or fails; whether its covers are on is only known by looking.
    fn promised(&self, job: &SandboxJob) -> SandboxEnforcement {
        // A person's own arguments come later on the command line: after some of them only a look can tell.
        let takes_back = |arg: &String| TAKE_BACK.iter().any(|option| arg.starts_with(option));
        if self.extra_args.iter().any(takes_back) {
            return SandboxEnforcement::default();
        }
        SandboxEnforcement {
            mount_ns: true,
            pid_ns: true,
            ipc_ns: true,
            uts_ns: true,
            net_ns: job.network.is_private(),
            private_root: true,
            no_new_privs: true,
            capabilities_dropped: true,
            seccomp: true,
            unprivileged_payload: job.identity.uid != 0,
            files: Some("rlimit".into()),
            ..SandboxEnforcement::default()
        }
    }

    fn ending_commands(&self, name: &str) -> Vec<Vec<String>> {
        vec![self.command_words(&["kill", name]), self.command_words(&["rm", "--force", name])]
    }

    fn command_words(&self, words: &[&str]) -> Vec<String> {
        let mut all = vec![self.command.to_string_lossy().into_owned()];
        all.extend(self.globals.iter().cloned());
        all.extend(words.iter().map(|word| (*word).to_owned()));
        all
    }
}

/// The engine's name for a run's container.
pub fn container_name(run: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '-' };
    format!("holon-{}", run.chars().map(safe).collect::<String>())
}
