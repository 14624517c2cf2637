//! Finding a container engine that works here, by letting it start something.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::engine::{self, ContainerUser, EngineDialect, EngineForm};
use super::oci::OciSandbox;
use crate::isolation::{
    LaunchRefusal, LaunchStep, Launcher, PayloadIdentity, PayloadLimits, PayloadNetwork, PayloadStreams,
    SandboxJob,
};

/// An entrypoint no image has: an engine that complains only about it has built everything else.
const NOWHERE: &str = "/.holon-probe";
/// The exit code of an engine that found everything but the command.
const NOT_FOUND: i32 = 127;
const PATIENCE: Duration = Duration::from_secs(60);
/// By name, the one without a daemon first.
const ENGINES: [&str; 2] = ["podman", "docker"];

/// Forms to try, the most natural first. Debian's podman names a runtime that may not be installed, and an engine
/// without subordinate ids can map the caller only to number 0.
fn forms(dialect: EngineDialect, root: bool) -> Vec<EngineForm> {
    let users: &[ContainerUser] = match (dialect, root) {
        (EngineDialect::Docker, _) | (_, true) => &[ContainerUser::Same],
        (EngineDialect::Podman, false) => &[ContainerUser::KeptId, ContainerUser::Mapped],
    };
    let runtimes: &[Option<&'static str>] = match dialect {
        EngineDialect::Podman => &[None, Some("runc"), Some("crun")],
        EngineDialect::Docker => &[None],
    };
    runtimes
        .iter()
        .flat_map(|runtime| users.iter().map(|user| EngineForm { user: *user, runtime: *runtime }))
        .collect()
}

/// The engines there are, podman first, by looking for their programs alone.
pub fn installed(path: &str) -> Vec<PathBuf> {
    ENGINES.iter().filter_map(|name| engine::find_program(name, path)).collect()
}

impl OciSandbox {
    /// The first engine of the search path (podman, then docker) that can start a container of `image`, or of an empty
    /// root when no image is named. `env` looks a variable of the host up; `HOLON_OCI_ARGS` adds arguments.
    pub fn detect(
        env: &dyn Fn(&str) -> Option<String>,
        image: Option<&str>,
        launcher: Launcher,
    ) -> Result<OciSandbox, LaunchRefusal> {
        let path = env("PATH").unwrap_or_default();
        let mut refusals = Vec::new();
        for program in installed(&path) {
            match Self::try_engine(&program, env, image, &launcher) {
                Ok(found) => return Ok(found),
                Err(refusal) => refusals.push(refusal),
            }
        }
        // podman's word counts most: it needs no daemon, so what it says is about this machine.
        refusals.into_iter().next().map_or_else(|| Err(not_installed()), Err)
    }

    fn try_engine(
        program: &Path,
        env: &dyn Fn(&str) -> Option<String>,
        image: Option<&str>,
        launcher: &Launcher,
    ) -> Result<OciSandbox, LaunchRefusal> {
        let (globals, extra_args) = engine::split_arguments(&env("HOLON_OCI_ARGS").unwrap_or_default());
        let own_env = engine::environment(std::env::vars_os().filter_map(|(name, _)| {
            let name = name.into_string().ok()?;
            Some((name.clone(), env(&name)?))
        }));
        let ask = |args: &[&str]| {
            let args: Vec<String> =
                globals.iter().cloned().chain(args.iter().map(|a| (*a).to_owned())).collect();
            engine::ask(program, &args, &own_env, PATIENCE)
                .map_err(|e| LaunchRefusal::new(LaunchStep::Exec, e, program.display().to_string()))
        };
        let version = ask(&["--version"])?;
        let dialect = if version.out.to_lowercase().contains("podman") {
            EngineDialect::Podman
        } else {
            EngineDialect::Docker
        };
        let mut rootless_daemon = false;
        if dialect == EngineDialect::Docker {
            let info = ask(&["info", "--format", "{{.SecurityOptions}}"])?;
            if info.code != Some(0) {
                return Err(engine::explain(program, &info.err));
            }
            rootless_daemon = info.out.contains("rootless");
        }
        let mut oci = OciSandbox {
            command: program.to_owned(),
            dialect,
            image: image.unwrap_or_default().to_owned(),
            globals: globals.clone(),
            extra_args,
            form: EngineForm { user: ContainerUser::Same, runtime: None },
            env: own_env.clone(),
            also: Vec::new(),
            stage: None,
            launcher: launcher.clone(),
        };
        let mut first = None;
        for mut form in forms(dialect, rustix::process::geteuid().is_root()) {
            if rootless_daemon {
                form.user = ContainerUser::Mapped;
            }
            oci.form = form;
            match oci.try_once() {
                Ok(()) => return Ok(oci),
                Err(refusal) => first = first.or(Some(refusal)),
            }
        }
        Err(first.unwrap_or_else(not_installed))
    }

    /// Starts nothing in a container with all its walls.
    fn try_once(&self) -> Result<(), LaunchRefusal> {
        if self.image.is_empty() && self.dialect == EngineDialect::Docker {
            // It has no way to run without an image; that the daemon answered must do.
            return Ok(());
        }
        let staging = |e: std::io::Error| LaunchRefusal::new(LaunchStep::Job, e, "generated files");
        let stage = tempfile::Builder::new().prefix("holon-oci-").tempdir().map_err(staging)?;
        let mut oci = self.clone();
        if self.image.is_empty() {
            let root = stage.path().join("root");
            std::fs::create_dir(&root).map_err(staging)?;
            oci.extra_args.push("--rootfs".into());
            oci.image = root.to_string_lossy().into_owned();
        }
        let job = nothing(&format!("probe-{}-{}", std::process::id(), stage_name(stage.path())));
        let made = oci.arguments(&job, stage.path(), None)?;
        made.stage(stage.path()).map_err(staging)?;
        let mut args: Vec<String> =
            made.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        if self.image.is_empty() {
            // Without an image there is no entrypoint to replace.
            args = without_entrypoint(args);
        }
        let answer = engine::ask(&self.command, &args, &self.env, PATIENCE).map_err(staging)?;
        match answer.code {
            Some(NOT_FOUND) => Ok(()),
            _ => Err(engine::explain(&self.command, &answer.err)),
        }
    }
}

fn without_entrypoint(args: Vec<String>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        if arg == "--entrypoint" {
            args.next();
        } else {
            kept.push(arg);
        }
    }
    kept.push(NOWHERE.to_owned());
    kept
}

fn stage_name(stage: &Path) -> String {
    stage.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn nothing(name: &str) -> SandboxJob {
    SandboxJob {
        name: name.to_owned(),
        identity: PayloadIdentity::for_run(name),
        mounts: Vec::new(),
        writable_below: Vec::new(),
        argv: vec![NOWHERE.into()],
        env: Vec::new(),
        cwd: PathBuf::from("/"),
        limits: PayloadLimits { processes: 64, files: 256, file_mb: 64, memory_mb: 256 },
        network: PayloadNetwork::None,
        streams: PayloadStreams::Watched,
    }
}

fn not_installed() -> LaunchRefusal {
    LaunchRefusal {
        step: LaunchStep::Exec,
        errno: 0,
        message: "neither podman nor docker is installed; podman needs no daemon (apt install podman)".into(),
        detail: String::new(),
    }
}
