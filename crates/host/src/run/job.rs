//! What is started: the mounts, the environment and the limits of one payload.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use holon_sandbox::isolation::{
    BaseMounts, PayloadIdentity, PayloadLimits, PayloadNetwork, PayloadStreams, SandboxJob, layout,
};
use holon_sandbox::mount::{Mount, MountSource};
use holon_sandbox::snapshot::WORKSPACE_INSIDE;

use super::ActiveRun;
use super::snapshot::RunStage;
use crate::adapter::AdapterKind;
use crate::adapter::events::AgentEventFormat;
use crate::self_exe;

/// Open descriptors per process inside.
const DESCRIPTORS: u64 = 16_384;
/// Our own binary inside the walls, where it becomes the hands.
const HANDS: &str = "/holon/agent/holon-hands";
/// Our own binary inside the walls, where it becomes the client of an agent that needs one.
pub(super) const CLIENT: &str = "/holon/agent/holon-acp";
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Where the parts of the contract are, inside or, without a private root, on the host.
pub(super) struct PayloadFolders {
    pub input: PathBuf,
    pub output: PathBuf,
    pub workspace: PathBuf,
    pub home: PathBuf,
}

impl ActiveRun<'_> {
    /// Everything the payload sees and may use.
    pub(super) fn job(&self, stage: &RunStage, argv: Vec<OsString>) -> SandboxJob {
        self.job_on(stage, argv, self.ground(), &self.folder.left(), self.agent_env())
    }

    /// What the agent is told besides the contract: where the network is, and what its description adds.
    fn agent_env(&self) -> Vec<(String, String)> {
        [self.network_env(), self.foreign_env()].concat()
    }

    /// A check is no agent: it finds no way to a model, and nothing that speaks of one; what is permitted is for the agent.
    pub(super) fn check_job(
        &self,
        stage: &RunStage,
        command: &str,
        ground: BaseMounts,
        left: &Path,
    ) -> SandboxJob {
        let argv = ["/bin/sh", "-c", command].map(Into::into).to_vec();
        let offline = self.network() == PayloadNetwork::Permit;
        let told = if offline { stage.exposed.env_offline.clone() } else { Vec::new() };
        self.job_on(stage, argv, ground, left, told)
    }

    /// The ground of a check.
    pub(super) fn check_ground(&self, name: &str) -> BaseMounts {
        let identity = PayloadIdentity::for_run(name);
        let network =
            if self.network() == PayloadNetwork::Host { PayloadNetwork::Host } else { PayloadNetwork::None };
        BaseMounts {
            name: name.to_owned(),
            mounts: layout::system_root(&identity),
            identity,
            network,
            streams: PayloadStreams::Watched,
            ..self.ground()
        }
    }

    fn job_on(
        &self,
        stage: &RunStage,
        argv: Vec<OsString>,
        ground: BaseMounts,
        left: &Path,
        for_agent: Vec<(String, String)>,
    ) -> SandboxJob {
        let inside = stage.backend.private_root();
        let folders = self.folders(stage, inside);
        let mut mounts = if inside { ground.mounts } else { Vec::new() };
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
        mounts.push(Mount::writable(left, "/holon/output"));
        mounts.push(self.home_mount(stage));
        mounts.extend(stage.exposed.mounts.iter().cloned());
        if let (Some(file), Some(name)) =
            (&self.plan.agent.file, self.plan.agent.file.as_ref().and_then(|f| f.file_name()))
        {
            mounts.push(Mount::read_only(file, Path::new("/holon/agent").join(name)));
        }
        if self.is_native() {
            mounts.push(Mount::read_only(self.own_binary(), HANDS));
        }
        if self.plan.agent.adapter.events == Some(AgentEventFormat::Acp) {
            mounts.push(Mount::read_only(self.own_binary(), CLIENT));
        }
        mounts.extend(self.network_mount());
        let located = self.plan.agent.located.iter().flat_map(|located| &located.visible);
        mounts.extend(located.map(|path| Mount::read_only(path, path)));
        mounts.extend(self.original_path(&mounts));
        let argv = if inside { argv } else { self.outside_argv(argv) };
        SandboxJob {
            name: ground.name,
            identity: ground.identity,
            mounts,
            writable_below: scoped.map(<[_]>::to_vec).unwrap_or_default(),
            argv,
            env: self.environment(stage, &folders, for_agent),
            cwd: folders.workspace,
            limits: ground.limits,
            network: ground.network,
            streams: ground.streams,
        }
    }

    /// What is known of every job of this run before there is one.
    pub(super) fn ground(&self) -> BaseMounts {
        let limits = &self.plan.profile.limits;
        let identity = PayloadIdentity::for_run(self.record.id.as_str());
        BaseMounts {
            name: self.record.id.as_str().to_owned(),
            mounts: layout::system_root(&identity),
            owner: owner_of(&self.plan.workspace),
            identity,
            limits: PayloadLimits {
                processes: limits.processes,
                files: DESCRIPTORS,
                file_mb: limits.disk_mb,
                memory_mb: limits.memory_mb,
            },
            network: self.network(),
            streams: if self.is_native() { PayloadStreams::Channel } else { PayloadStreams::Watched },
        }
    }

    /// What is started inside: the agent itself, or the hands of the one that thinks here.
    pub(super) fn agent_argv(&self) -> Vec<OsString> {
        if self.is_native() { vec![HANDS.into()] } else { self.foreign_argv() }
    }

    pub(super) fn is_native(&self) -> bool {
        self.plan.agent.adapter.kind == AdapterKind::Native
    }

    /// Where artifacts go, as whoever works inside sees it.
    pub(super) fn output_as_seen(&self, stage: &RunStage) -> String {
        self.folders(stage, stage.backend.private_root()).output.to_string_lossy().into_owned()
    }

    pub(super) fn folders(&self, stage: &RunStage, inside: bool) -> PayloadFolders {
        if inside {
            return PayloadFolders {
                input: "/holon/input".into(),
                output: "/holon/output".into(),
                workspace: WORKSPACE_INSIDE.into(),
                home: "/holon/home".into(),
            };
        }
        let workspace = stage.snapshot.written().unwrap_or(&self.plan.workspace).to_owned();
        PayloadFolders {
            input: self.folder.input(),
            output: self.folder.left(),
            workspace,
            home: stage.home.clone(),
        }
    }

    /// Files that name the workspace by its own path (virtual environments, worktrees) find it there too.
    fn original_path(&self, mounts: &[Mount]) -> Option<Mount> {
        let original = &self.plan.workspace;
        let roomy = |m: &Mount| matches!(m.source, MountSource::Tmpfs { .. });
        let taken =
            mounts.iter().any(|m| (original.starts_with(&m.at) && !roomy(m)) || m.at.starts_with(original));
        let source = MountSource::Symlink(WORKSPACE_INSIDE.into());
        (!taken).then(|| Mount { at: original.clone(), source, writable: false })
    }

    /// Where the running program lies; if that cannot be told or kept, the walls say so.
    fn own_binary(&self) -> PathBuf {
        self_exe::binary(&self.folder.layers()).unwrap_or_else(|_| self_exe::RUNNING.into())
    }

    /// Without a private root the agent's file is where it always was.
    fn outside_argv(&self, mut argv: Vec<OsString>) -> Vec<OsString> {
        if let Some(first) = argv.first_mut().filter(|first| *first == HANDS || *first == CLIENT) {
            // A program knows by its name what it shall be.
            let name = Path::new(first).file_name().unwrap_or_default();
            let link = self.folder.layers().join(name);
            let _ = std::os::unix::fs::symlink(self.own_binary(), &link);
            *first = link.into_os_string();
        } else if let (Some(file), Some(first)) = (&self.plan.agent.file, argv.first_mut())
            && first.to_string_lossy().starts_with("/holon/agent/")
        {
            *first = file.clone().into_os_string();
        }
        argv
    }

    fn environment(
        &self,
        stage: &RunStage,
        folders: &PayloadFolders,
        for_agent: Vec<(String, String)>,
    ) -> Vec<(String, String)> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let located = self.plan.agent.located.iter().flat_map(|located| &located.path);
        let mut path: Vec<String> = located.chain(&stage.exposed.path).map(|p| text(p)).collect();
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
        let more = more.into_iter().chain(for_agent).chain(self.plan.spec.context.env.clone());
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
}

fn owner_of(workspace: &Path) -> Option<(u32, u32)> {
    use std::os::unix::fs::MetadataExt;
    workspace.metadata().ok().map(|m| (m.uid(), m.gid()))
}
