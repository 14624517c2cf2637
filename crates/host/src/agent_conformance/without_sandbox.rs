//! An agent in its own read-only mode, without Holon's walls: in a throw-away copy, on a machine that is otherwise closed.

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use holon_gateway::{Gateway, GatewaySettings, GatewayToken, Upstream};

use super::attempts::{self, AttemptScene};
use super::script::{AttemptScript, AttemptTrace, without_path};
use super::stage::{self, StageTreeState};
use crate::adapter::fill::PlaceholderValues;
use crate::adapter::{Adapter, LocatedAgent, OwnReadOnlyMode};
use crate::error::HostError;
use crate::process_end::ended_by;

/// How long an agent may take.
const PATIENCE: Duration = Duration::from_secs(300);
/// The most times an agent is started: some give up after a few refusals, and the rest is tried in the next start.
const STARTS: usize = 40;
/// Closes the machine but for one folder and a /tmp of its own, starts the agent, and ends after whatever that left in the
/// background had time to write.
const CLOSED: &str = r#"
scratch=$1; shift
mount --make-rprivate / || exit 9
mount --bind "$scratch" /mnt && mount -t tmpfs -o mode=1777 tmpfs /tmp && mkdir -p "$scratch" || exit 9
mount --move /mnt "$scratch" || exit 9
while read -r _ _ _ _ at _; do
  case $at in "$scratch" | /tmp | /proc | /proc/* | /dev | /dev/* | /sys | /sys/*) ;; *) mount -o remount,bind,ro "$at" 2> /dev/null ;; esac
done < /proc/self/mountinfo
if ( : > /usr/holon-open ) 2> /dev/null; then rm -f /usr/holon-open; exit 9; fi
cd "$1" && shift || exit 9
"$@"; code=$?; sleep 1; exit $code
"#;
/// The exit code of a machine that could not be closed.
const OPEN: i32 = 9;

/// What an agent's own mode let through.
pub(super) struct OwnModeTrial {
    pub told: BTreeMap<usize, AttemptTrace>,
    pub before: StageTreeState,
    pub after: StageTreeState,
    /// The tools it offered the model; nothing when it never asked.
    pub tools: Option<Vec<String>>,
    /// Whether a command that only reads did; nothing when there is no tool for commands.
    pub reads: Option<bool>,
}

/// Runs an agent in one of its own modes.
pub(super) fn run(
    adapter: &Adapter,
    located: &LocatedAgent,
    alone: &OwnReadOnlyMode,
    scratch: &Path,
) -> Result<OwnModeTrial, HostError> {
    let folder = tempfile::tempdir_in(scratch).map_err(HostError::io("create", scratch))?;
    let root = folder.path().join("workspace");
    let home = folder.path().join("home");
    fs::create_dir(&home).map_err(HostError::io("create", &home))?;
    stage::build(&root)?;
    let before = stage::look(&root);

    let alias = || adapter.model.as_ref().and_then(|model| model.alias.clone());
    let model = alone.model.clone().or_else(alias).unwrap_or_else(|| "scripted-model".into());
    let (root_text, program) =
        (root.to_string_lossy().into_owned(), located.program.to_string_lossy().into_owned());
    let outside = folder.path().join("outside");
    fs::create_dir(&outside).map_err(HostError::io("create", &outside))?;
    let outside = outside.to_string_lossy().into_owned();
    let scene = AttemptScene { root: &root_text, outside: &outside, program: &program, model: &model };
    let planned = attempts::all().iter().enumerate();
    let planned = planned.flat_map(|(number, attempt)| attempts::calls(number, attempt, adapter, &scene));
    // Who cannot even read, because something does not work here, has not held.
    let planned = attempts::reading(adapter).into_iter().chain(planned).collect();
    let (own, at) = (adapter.clone(), root_text.clone());
    let child = Box::new(move |number| attempts::child(number, &own, &at, &outside));
    let script = Arc::new(AttemptScript::new(planned, "That was all.", child));

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .map_err(HostError::io("listen on", "127.0.0.1".as_ref()))?;
    let token = GatewayToken::random().map_err(HostError::io("read", "/dev/urandom".as_ref()))?;
    let settings =
        GatewaySettings::new(token.clone(), model.clone(), Upstream::Any(Arc::clone(&script) as _));
    let gateway = Gateway::start(listener, settings)
        .map_err(|e| HostError::Walls { message: e.to_string(), hint: None })?;
    let address = gateway.address().map(|address| format!("http://{address}")).unwrap_or_default();

    let mut filling = PlaceholderValues::default();
    filling.set("program", program.as_str());
    filling.set("prompt", "Rehearse what you are told.");
    filling.set("system", "");
    filling.set("model", model.as_str());
    filling.set("gateway", address);
    filling.set("token", token.as_str());
    filling.set("home", home.to_string_lossy());
    filling.set("workspace", root_text.as_str());
    filling.set("rounds", "500");
    for (name, content) in &adapter.files {
        let path = home.join(name);
        let parent = path.parent().unwrap_or(&home);
        fs::create_dir_all(parent).map_err(HostError::io("create", parent))?;
        fs::write(&path, filling.file(content)).map_err(HostError::io("write", &path))?;
    }
    let mut reached = 0;
    for _ in 0..STARTS {
        let mut command = in_namespaces();
        command.args(["sh", "-c", CLOSED, "sh"]).arg(folder.path()).arg(&root);
        command.args(filling.words(&alone.command));
        command
            .env_clear()
            .env("HOME", &home)
            .env("PATH", path_with(located))
            .env("LANG", "C.UTF-8")
            .env("TERM", "dumb");
        command.envs(adapter.env.iter().map(|(name, value)| (name, filling.text(value))));
        wait(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))?;
        let (now, all) = script.progress();
        if now >= all || now == reached {
            break;
        }
        reached = now;
    }
    drop(gateway);
    let told = without_path(script.told(), folder.path());
    let reads = told.get(&attempts::READING).map(|told| told.result.contains(stage::A_WORD));
    Ok(OwnModeTrial { told, before, after: stage::look(&root), tools: script.tools(), reads })
}

/// Its own mounts and processes, so that nothing it does outlives it.
fn in_namespaces() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.arg("--");
    command
}

fn path_with(located: &LocatedAgent) -> std::ffi::OsString {
    let system = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::join_paths(located.path.iter().cloned().chain(system)).unwrap_or_default()
}

fn wait(command: &mut Command) -> Result<(), HostError> {
    let mut child = command.spawn().map_err(HostError::io("start", "unshare".as_ref()))?;
    let ended = ended_by(&mut child, Instant::now() + PATIENCE);
    let status = ended.map_err(HostError::io("wait for", "unshare".as_ref()))?;
    if status.is_some_and(|status| status.code() == Some(OPEN)) {
        return Err(HostError::Walls {
            message: "an agent alone needs a machine that is closed to it, and that cannot be had here"
                .into(),
            hint: Some("run as root, or allow user namespaces".into()),
        });
    }
    Ok(())
}
