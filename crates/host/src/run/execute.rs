//! Execute: the agent behind the walls.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use holon_core::event::Body;
use holon_core::manifest::SandboxInfo;
use holon_core::mode::Network;
use holon_core::sandbox::{Enforced, EnforcedLimits};
use holon_sandbox::backend::{Backend, Payload};
use holon_sandbox::disk::DiskLimits;
use holon_sandbox::fallback::Choice;
use holon_sandbox::mount::{Mount, Source};
use holon_sandbox::snapshot::{StrategyChoice, WORKSPACE_INSIDE};
use holon_sandbox::walls::{self, Ending, Ground, Identity, Job, Limits, Refusal, Step, layout};

use super::Run;
use super::output::{Allowance, not_started};
use super::rungs;
use super::snapshot::Stage;
use super::verdict::Verdict;
use crate::error::HostError;
use crate::store::write_atomic;

/// Open descriptors per process inside.
const DESCRIPTORS: u64 = 16_384;
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Where the parts of the contract are, inside or, without a private root, on the host.
struct Folders {
    input: PathBuf,
    output: PathBuf,
    workspace: PathBuf,
    home: PathBuf,
}

impl Run<'_> {
    /// First start of the agent.
    pub(super) fn execute(&mut self, stage: &mut Stage) -> Result<(), HostError> {
        self.start_agent(stage)
    }

    /// Second and last start, with what was wrong as additional context.
    pub(super) fn repair(&mut self, stage: &mut Stage, verdict: &Verdict) -> Result<(), HostError> {
        let mut text =
            String::from("# Repair\n\nThe result was checked and is not complete. Mend exactly this:\n");
        for (artifact, problems) in &verdict.repairs {
            text += &format!("\n## {artifact}\n");
            for problem in problems {
                text += &format!("- {problem}\n");
            }
        }
        let context = self.folder.input().join("context");
        std::fs::create_dir_all(&context).map_err(HostError::io("create", &context))?;
        write_atomic(&context.join("repair.md"), text.as_bytes())?;
        self.events
            .emit(Body::RepairRound { paths: verdict.repairs.iter().map(|(a, _)| a.clone()).collect() });
        stage.snapshot.renew()?;
        stage.renew_caches()?;
        self.start_agent(stage)
    }

    fn start_agent(&mut self, stage: &mut Stage) -> Result<(), HostError> {
        let payload = self.build_walls(stage)?;
        stage.attempts += 1;
        self.note_walls(stage.backend.as_ref(), payload.held(), stage);
        let attempt = stage.attempts;
        self.events.emit(Body::AgentStarted { attempt });
        let log = self.folder.evidence().join("agent.log");
        let watched = vec![self.folder.layers(), self.folder.output()];
        let allowance = self.allowance(stage, stage.deadline);
        let attended = self.attend(payload, &allowance, &watched, &log, true)?;
        let (code, signal) = match attended.finished.ending {
            Ending::Code(code) => (Some(code), None),
            Ending::Signal(signal) => (None, Some(signal)),
            Ending::Killed => (None, Some(9)),
        };
        self.events.emit(Body::AgentExited { attempt, code, signal });
        stage.last = Some(attended);
        Ok(())
    }

    pub(super) fn allowance(&self, stage: &Stage, deadline: Instant) -> Allowance {
        let limits = &self.plan.profile.limits;
        Allowance {
            deadline,
            timeout: limits.timeout.get(),
            idle: limits.idle_timeout.get(),
            output_bytes: limits.output_mb << 20,
            disk: DiskLimits { bytes: (limits.disk_mb + limits.output_mb) << 20, files: limits.files },
            already: stage.already,
        }
    }

    /// Builds the walls; where the machine refuses a step, goes one rung down the ladder, never below the mode's
    /// minimum, and never silently.
    fn build_walls(&mut self, stage: &mut Stage) -> Result<Box<dyn Payload>, HostError> {
        let argv = self.plan.agent.argv.clone();
        let job = self.job(stage, argv.clone());
        let refusal = match stage.backend.start(&job) {
            Ok(payload) => return Ok(payload),
            Err(refusal) => refusal,
        };
        let no_overlay = matches!(refusal.step, Step::Overlay | Step::IdmappedMount);
        if no_overlay && self.plan.snapshot == StrategyChoice::Auto {
            self.warn(format!("no overlay here ({refusal}); the workspace is copied instead"));
            self.retake(stage, StrategyChoice::Reflink)?;
            let job = self.job(stage, argv);
            return stage.backend.start(&job).map_err(|r| not_started(&r));
        }
        if refusal.step == Step::Exec || self.plan.sandbox != Choice::Auto || no_overlay {
            return Err(not_started(&refusal));
        }
        self.step_down(stage, &refusal)
    }

    fn step_down(&mut self, stage: &mut Stage, refused: &Refusal) -> Result<Box<dyn Payload>, HostError> {
        stage.backend = rungs::next(self.host, &self.plan, refused)?;
        let name = stage.backend.name();
        self.warn(format!("native walls are refused here ({refused}); using {name} instead"));
        self.retake(stage, self.plan.snapshot)?;
        let overlays = stage.backend.overlays();
        stage.exposed = self.expose(&stage.snapshot, &stage.identity, overlays)?;
        let job = self.job(stage, self.plan.agent.argv.clone());
        stage.backend.start(&job).map_err(|r| not_started(&r))
    }

    fn retake(&mut self, stage: &mut Stage, choice: StrategyChoice) -> Result<(), HostError> {
        stage.snapshot.discard()?;
        stage.snapshot = self.snapshot_for(stage.backend.as_ref(), &stage.identity, choice)?;
        self.note_snapshot(stage);
        Ok(())
    }

    /// Everything the payload sees and may use.
    pub(super) fn job(&self, stage: &Stage, argv: Vec<OsString>) -> Job {
        let inside = stage.backend.private_root();
        let folders = self.folders(stage, inside);
        let mut mounts = if inside { layout::system_root(&stage.identity) } else { Vec::new() };
        let mut workspace = stage.snapshot.mounts();
        let scoped = stage.snapshot.scoped_dirs();
        if scoped.is_some_and(<[_]>::is_empty) {
            // Nothing of the scope can be opened: the whole workspace stays closed.
            workspace
                .iter_mut()
                .filter(|m| m.at == Path::new(WORKSPACE_INSIDE))
                .for_each(|m| m.writable = false);
        }
        mounts.extend(workspace);
        mounts.push(Mount::read_only(self.folder.input(), "/holon/input"));
        mounts.push(Mount::writable(self.folder.output(), "/holon/output"));
        mounts.push(Mount::writable(&stage.home, "/holon/home"));
        mounts.extend(stage.exposed.mounts.iter().cloned());
        if let (Some(file), Some(name)) =
            (&self.plan.agent.file, self.plan.agent.file.as_ref().and_then(|f| f.file_name()))
        {
            mounts.push(Mount::read_only(file, Path::new("/holon/agent").join(name)));
        }
        mounts.extend(self.original_path(&mounts));
        let argv = if inside { argv } else { self.outside_argv(argv) };
        let ground = self.ground();
        Job {
            name: ground.name,
            identity: ground.identity,
            mounts,
            writable_below: scoped.map(<[_]>::to_vec).unwrap_or_default(),
            argv,
            env: self.environment(stage, &folders),
            cwd: folders.workspace,
            limits: ground.limits,
            network: ground.network,
        }
    }

    /// What is known of every job of this run before there is one.
    pub(super) fn ground(&self) -> Ground {
        let limits = &self.plan.profile.limits;
        let host_network = self.plan.profile.network == Network::Host;
        Ground {
            name: self.record.id.as_str().to_owned(),
            identity: Identity::for_run(self.record.id.as_str()),
            limits: Limits {
                processes: limits.processes,
                files: DESCRIPTORS,
                file_mb: limits.disk_mb,
                memory_mb: limits.memory_mb,
            },
            network: if host_network { walls::Network::Host } else { walls::Network::None },
        }
    }

    fn folders(&self, stage: &Stage, inside: bool) -> Folders {
        if inside {
            return Folders {
                input: "/holon/input".into(),
                output: "/holon/output".into(),
                workspace: WORKSPACE_INSIDE.into(),
                home: "/holon/home".into(),
            };
        }
        let workspace = stage.snapshot.written().unwrap_or(&self.plan.workspace).to_owned();
        Folders {
            input: self.folder.input(),
            output: self.folder.output(),
            workspace,
            home: stage.home.clone(),
        }
    }

    /// Files that name the workspace by its own path (virtual environments, worktrees) find it there too.
    fn original_path(&self, mounts: &[Mount]) -> Option<Mount> {
        let original = &self.plan.workspace;
        let roomy = |m: &Mount| matches!(m.source, Source::Tmpfs { .. });
        let taken =
            mounts.iter().any(|m| (original.starts_with(&m.at) && !roomy(m)) || m.at.starts_with(original));
        let source = Source::Symlink(WORKSPACE_INSIDE.into());
        (!taken).then(|| Mount { at: original.clone(), source, writable: false })
    }

    /// Without a private root the agent's file is where it always was.
    fn outside_argv(&self, mut argv: Vec<OsString>) -> Vec<OsString> {
        if let (Some(file), Some(first)) = (&self.plan.agent.file, argv.first_mut())
            && first.to_string_lossy().starts_with("/holon/agent/")
        {
            *first = file.clone().into_os_string();
        }
        argv
    }

    fn environment(&self, stage: &Stage, folders: &Folders) -> Vec<(String, String)> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut path: Vec<String> = stage.exposed.path.iter().map(|p| text(p)).collect();
        path.push(SYSTEM_PATH.into());
        let mut env: Vec<(String, String)> = [
            ("HOME", text(&folders.home)),
            ("TMPDIR", if stage.backend.private_root() { "/tmp".into() } else { text(&folders.home) }),
            ("TERM", "dumb".into()),
            ("GIT_TERMINAL_PROMPT", "0".into()),
            ("HOLON_MODE", self.plan.profile.name.clone()),
            ("HOLON_RUN_ID", self.record.id.as_str().to_owned()),
            ("HOLON_INPUT_DIR", text(&folders.input)),
            ("HOLON_OUTPUT_DIR", text(&folders.output)),
            ("HOLON_WORKSPACE_DIR", text(&folders.workspace)),
        ]
        .map(|(k, v)| (k.to_owned(), v))
        .into();
        let system: &[(&str, &str)] = &[
            ("USER", "holon"),
            ("LOGNAME", "holon"),
            ("SHELL", "/bin/sh"),
            ("LANG", "C.UTF-8"),
            ("GIT_CONFIG_SYSTEM", "/etc/gitconfig"),
        ];
        let mut more: Vec<(String, String)> = Vec::new();
        // An image knows its own paths and tools.
        if !stage.backend.brings_its_system() {
            more.push(("PATH".into(), path.join(":")));
            more.extend(system.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
            more.extend(stage.exposed.env.iter().cloned());
        }
        let more = more
            .into_iter()
            .chain(self.plan.agent.adapter.env.clone())
            .chain(self.plan.spec.context.env.clone());
        for (key, value) in more {
            match env.iter_mut().find(|(k, _)| *k == key) {
                // What the contract sets is not for others to change.
                Some(_) if key.starts_with("HOLON_") || key == "HOME" || key == "PATH" => {}
                Some(entry) => entry.1 = value,
                None => env.push((key, value)),
            }
        }
        env
    }

    /// Records which walls really stood.
    pub(super) fn note_walls(&mut self, backend: &dyn Backend, held: &walls::Held, stage: &Stage) {
        let workspace = match (stage.snapshot.access().writable(), stage.snapshot.strategy().label()) {
            (false, _) if backend.private_root() => "read-only mount".to_owned(),
            (_, strategy) => strategy.to_owned(),
        };
        self.manifest.metadata.sandbox = SandboxInfo {
            backend: backend.name().to_owned(),
            level: backend.level(),
            enforced: Enforced {
                user_ns: held.user_ns,
                mount_ns: held.mount_ns,
                pid_ns: held.pid_ns,
                net_ns: held.net_ns,
                ipc_ns: held.ipc_ns,
                uts_ns: held.uts_ns,
                cgroup_ns: held.cgroup_ns,
                private_root: held.private_root,
                masked_proc: held.masked_proc,
                landlock: held.landlock,
                seccomp: held.seccomp,
                no_new_privs: held.no_new_privs,
                capabilities_dropped: held.capabilities_dropped,
                unprivileged_payload: held.unprivileged_payload,
                workspace: Some(workspace),
                // A foreign agent decides about its own tools; the walls are what counts.
                tools: false,
                limits: EnforcedLimits {
                    processes: held.processes.clone(),
                    memory: held.memory.clone(),
                    disk: Some("watched".into()),
                    files: held.files.clone(),
                },
            },
        };
    }
}

/// Time left for something that must not outlive the run's limit.
pub(super) fn until(deadline: Instant, at_most: Duration) -> Instant {
    deadline.min(Instant::now() + at_most)
}
