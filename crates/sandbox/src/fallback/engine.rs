//! Container engines as command lines: podman and docker, what they have in common, and what they mean when they fail.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags};

use crate::isolation::{LaunchRefusal, LaunchStep};
use crate::ready::readable;

/// Which dialect an engine speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineDialect {
    /// podman, also under the name of docker.
    Podman,
    /// docker, a client of a daemon.
    Docker,
}

/// Who the payload is inside the container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContainerUser {
    /// The same number inside and outside.
    Same,
    /// The same number through a map around it (`--userns keep-id`): rootless podman with subordinate ids.
    KeptId,
    /// Number 0 inside, which is the caller outside: rootless engines that can map nobody else.
    Mapped,
}

/// A form of command line that this machine's engine takes; found by trying.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineForm {
    /// Who the payload is.
    pub user: ContainerUser,
    /// A runtime other than the engine's default.
    pub runtime: Option<&'static str>,
}

/// What an engine said.
#[derive(Debug)]
pub struct EngineOutput {
    /// Its exit code; `None` when it was killed or took too long.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// Variables an engine's client needs: where its store and its daemon are. Nothing else of the host's environment
/// reaches it, so it cannot hand a secret on.
const PASSED: &[&str] = &["PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LANG", "DBUS_SESSION_BUS_ADDRESS"];
const PASSED_PREFIXES: &[&str] = &["XDG_", "DOCKER_", "CONTAINER_", "CONTAINERS_", "STORAGE_"];

/// The part of an environment that engines get.
pub fn environment(all: impl Iterator<Item = (String, String)>) -> Vec<(String, String)> {
    let wanted = |name: &str| PASSED.contains(&name) || PASSED_PREFIXES.iter().any(|p| name.starts_with(p));
    all.filter(|(name, _)| wanted(name)).collect()
}

/// Options that come before the subcommand, because they say which store or daemon is meant; each takes a value.
const GLOBAL: &[&str] = &[
    "--root",
    "--runroot",
    "--storage-driver",
    "--storage-opt",
    "--tmpdir",
    "--cgroup-manager",
    "--url",
    "--connection",
    "--identity",
    "--imagestore",
    "--network-config-dir",
    "--host",
    "-H",
    "--context",
    "--config",
    "--log-level",
];

/// Splits extra arguments (as in `HOLON_OCI_ARGS`, separated by blanks) into those before and after `run`.
pub fn split_arguments(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut words = text.split_whitespace().map(str::to_owned);
    while let Some(word) = words.next() {
        let name = word.split('=').next().unwrap_or_default();
        if !GLOBAL.contains(&name) {
            after.push(word);
            continue;
        }
        let value = if word.contains('=') { None } else { words.next() };
        before.push(word);
        before.extend(value);
    }
    (before, after)
}

/// Finds a program in a search path.
pub fn find_program(name: &str, path: &str) -> Option<PathBuf> {
    std::env::split_paths(path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|file| rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file())
}

/// Runs an engine command to its end, or to the limit.
pub fn ask(
    program: &Path,
    args: &[String],
    env: &[(String, String)],
    limit: Duration,
) -> io::Result<EngineOutput> {
    let (out, err) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let mut child = Command::new(program)
        .args(args)
        .env_clear()
        .envs(env.iter().map(|(k, v)| (k, v)))
        .stdin(Stdio::null())
        .stdout(out.try_clone()?)
        .stderr(err.try_clone()?)
        .spawn()?;
    let pidfd = rustix::process::pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
    if !readable(&pidfd, Instant::now() + limit) {
        let _ = child.kill();
    }
    let code = child.wait()?.code();
    let text = |mut file: File| -> io::Result<String> {
        let mut bytes = Vec::new();
        file.rewind()?;
        file.take(64 << 10).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    };
    Ok(EngineOutput { code, out: text(out)?, err: text(err)? })
}

/// A word of an engine's complaint, and what a person should do about it.
const COMPLAINTS: &[(&[&str], &str)] = &[
    (
        &["Cannot connect to the Docker daemon", "docker daemon running", "error during connect"],
        "the docker daemon is not running: start it (systemctl start docker), or install podman, which needs none",
    ),
    (
        &["permission denied while trying to connect"],
        "you may not talk to the docker daemon: join the docker group, or install podman, which needs no daemon",
    ),
    (
        &["image not known", "No such image", "no such image", "Unable to find image"],
        "the image is not in the local store and is never fetched during a run: pull it, build it (`build -t NAME DIR`), \
         or import a root file system (`tar -C ROOT -c . | podman import - NAME`)",
    ),
    (
        &["newuidmap", "newgidmap", "subuid"],
        "rootless containers need subordinate ids: install uidmap and add a line for yourself to /etc/subuid and /etc/subgid",
    ),
    (
        &["rlimit"],
        "the engine asks for higher limits than it may have: set default_ulimits in containers.conf, or HOLON_OCI_ARGS",
    ),
    (
        &["cgroup"],
        "the engine cannot use control groups here: set cgroup_manager = \"cgroupfs\" in containers.conf, or HOLON_OCI_ARGS",
    ),
];

/// Whether an engine itself speaks, as opposed to the payload.
pub fn complains(said: &str) -> bool {
    said.lines().any(|line| line.starts_with("Error") || line.starts_with("docker:"))
}

/// The complaint as a refusal, with a remedy where one is known.
pub fn explain(program: &Path, said: &str) -> LaunchRefusal {
    let line = said
        .lines()
        .map(str::trim)
        .rfind(|line| line.starts_with("Error") || line.starts_with("docker:"))
        .or_else(|| said.lines().map(str::trim).find(|line| !line.is_empty()))
        .unwrap_or("it ended without a word");
    let remedy = COMPLAINTS.iter().find(|(words, _)| words.iter().any(|word| said.contains(word)));
    let message = match remedy {
        Some((_, remedy)) => format!("{line}. {remedy}"),
        None => line.to_owned(),
    };
    LaunchRefusal { step: LaunchStep::Exec, errno: 0, message, detail: program.display().to_string() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn arguments_find_their_side_of_run() {
        let check = |text: &str, before: &[&str], after: &[&str]| {
            let (b, a) = split_arguments(text);
            assert_eq!(
                (b, a),
                (
                    before.iter().map(|s| s.to_string()).collect(),
                    after.iter().map(|s| s.to_string()).collect()
                ),
                "{text}"
            );
        };
        check("", &[], &[]);
        check("--device /dev/kvm", &[], &["--device", "/dev/kvm"]);
        check("--root /a --runtime runc", &["--root", "/a"], &["--runtime", "runc"]);
        check(" --root=/a  --cpus=2 ", &["--root=/a"], &["--cpus=2"]);
        check("-H tcp://x:1", &["-H", "tcp://x:1"], &[]);
        check("--root", &["--root"], &[]);
    }

    #[test]
    fn complaints_get_a_remedy() {
        for (said, expect) in [
            (
                "docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock.",
                "systemctl start docker",
            ),
            ("Error: localhost/x:1: image not known", "podman import"),
            ("docker: Error response from daemon: No such image: x:1", "podman import"),
            (
                "warning: first\nError: runc: error setting rlimit type 7: operation not permitted",
                "default_ulimits",
            ),
            ("something else", "something else"),
            ("", "without a word"),
        ] {
            let refusal = explain(Path::new("/usr/bin/podman"), said);
            assert!(refusal.message.contains(expect), "{said} -> {refusal}");
            assert_eq!(refusal.remedy(), None, "the message says it all");
        }
        assert!(
            explain(Path::new("p"), "time=… level=warning\nError: boom\n").message.starts_with("Error: boom")
        );
    }

    #[test]
    fn only_what_a_client_needs_is_passed_on() {
        let all =
            ["PATH", "HOME", "OPENAI_API_KEY", "DOCKER_HOST", "XDG_RUNTIME_DIR", "http_proxy", "LD_PRELOAD"];
        let passed: Vec<_> = environment(all.iter().map(|n| (n.to_string(), "v".to_owned())))
            .into_iter()
            .map(|(n, _)| n)
            .collect();
        assert_eq!(passed, ["PATH", "HOME", "DOCKER_HOST", "XDG_RUNTIME_DIR"]);
    }

    #[test]
    fn a_program_that_hangs_is_ended() {
        let env = [("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
        let sleep = find_program("sleep", "/usr/bin:/bin").unwrap();
        let answer = ask(&sleep, &["3600".to_owned()], &env, Duration::from_millis(50)).unwrap();
        assert_eq!(answer.code, None);
        let shell = find_program("sh", "relative:/usr/bin:/bin").unwrap();
        let said = ask(
            &shell,
            &["-c".to_owned(), "echo out; echo err >&2; exit 3".to_owned()],
            &env,
            Duration::from_secs(60),
        );
        let said = said.unwrap();
        assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (Some(3), "out", "err"));
    }
}
