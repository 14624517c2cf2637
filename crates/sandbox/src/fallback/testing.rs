//! What the tests of the rungs share. The test binary itself can become the launcher.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::Duration;

use crate::backend::{RunningPayload, SandboxBackend};
use crate::isolation::layout::system_root;
use crate::isolation::{
    PayloadEnding, PayloadIdentity, PayloadLimits, PayloadNetwork, PayloadStreams, SandboxEnforcement,
    SandboxJob, become_launcher_if_asked,
};
use crate::mount::{Mount, MountSource};

/// Runs before the test harness, which knows nothing of launchers.
#[used]
// SAFETY: the section holds pointers to functions that the C library calls, with no arguments needed, before main; this one
// only looks at the arguments and returns unless it is the launcher.
#[unsafe(link_section = ".init_array")]
static BECOME_LAUNCHER: extern "C" fn() = {
    extern "C" fn start() {
        become_launcher_if_asked();
    }
    start
};

/// A job with nothing but a command.
pub(super) fn job(argv: &[&str]) -> SandboxJob {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let name = format!("test-{}-{number}", std::process::id());
    SandboxJob {
        identity: PayloadIdentity::for_run(&name),
        name,
        mounts: Vec::new(),
        writable_below: Vec::new(),
        argv: argv.iter().map(Into::into).collect(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: "/".into(),
        limits: PayloadLimits { processes: 128, files: 512, file_mb: 64, memory_mb: 512 },
        network: PayloadNetwork::None,
        streams: PayloadStreams::Watched,
    }
}

/// A job for a shell script in a world of its own: `work` writable as the workspace, `input` readable.
pub(crate) struct SandboxWorld {
    pub dir: tempfile::TempDir,
    pub job: SandboxJob,
}

impl SandboxWorld {
    pub(crate) fn new(script: &str, writable: bool) -> Self {
        // Reachable for the payload's user, whoever that is.
        let dir = tempfile::Builder::new().prefix("holon-fallback-").tempdir_in("/tmp").unwrap();
        open(dir.path());
        let mut job = job(&["/bin/sh", "-c", script]);
        for name in ["work", "input", "output"] {
            let path = dir.path().join(name);
            std::fs::create_dir(&path).unwrap();
            std::fs::write(path.join("file"), "old\n").unwrap();
            if let Some((uid, gid)) = job.identity.owner() {
                for path in [path.as_path(), &path.join("file")] {
                    std::os::unix::fs::chown(path, Some(uid), Some(gid)).unwrap();
                }
            }
        }
        std::fs::write(dir.path().join("secret"), "s3cret\n").unwrap();
        job.mounts = system_root(&job.identity);
        job.mounts.push(Mount {
            at: "/holon/workspace".into(),
            source: MountSource::Bind(dir.path().join("work")),
            writable,
        });
        job.mounts.push(Mount::read_only(dir.path().join("input"), "/holon/input"));
        job.mounts.push(Mount::writable(dir.path().join("output"), "/holon/output"));
        job.cwd = "/holon/workspace".into();
        Self { dir, job }
    }

    /// Names the host's paths, for a backend without a root of its own.
    pub(super) fn on_the_host(mut self) -> Self {
        self.job.cwd = self.dir.path().join("work");
        for (name, folder) in [("IN", "input"), ("OUT", "output"), ("OUTSIDE", "")] {
            let path = self.dir.path().join(folder).to_str().unwrap().to_owned();
            self.job.env.push((name.into(), path));
        }
        self
    }

    pub(super) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(path)).unwrap_or_default()
    }
}

fn open(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// How a job ended, with its output and errors together, and what held.
pub(super) struct SandboxJobResult {
    pub ending: PayloadEnding,
    pub output: String,
    pub held: SandboxEnforcement,
}

/// Runs a job to its end.
#[track_caller]
pub(super) fn run(backend: &dyn SandboxBackend, job: &SandboxJob) -> SandboxJobResult {
    let mut payload = backend.start(job).unwrap_or_else(|refusal| panic!("{refusal}"));
    let held = payload.held().clone();
    let (mut out, mut err) = payload.take_output().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        err.read_to_string(&mut text).unwrap();
        text
    });
    let mut output = String::new();
    out.read_to_string(&mut output).unwrap();
    output += &reader.join().unwrap();
    let ending =
        payload.wait(Duration::from_secs(60)).unwrap_or_else(|refusal| panic!("{refusal}: {output}"));
    let finished = payload.finish();
    assert_eq!(Some(finished.ending), ending, "{output}");
    SandboxJobResult { ending: finished.ending, output, held }
}

/// Reads lines until one starts with `prefix`; returns the rest of that line.
pub(super) fn wait_for_line(payload: &mut Box<dyn RunningPayload>, prefix: &str) -> String {
    let (mut out, _) = payload.take_output().unwrap();
    let mut text = String::new();
    let mut byte = [0];
    while out.read(&mut byte).unwrap() == 1 {
        text.push(byte[0] as char);
        if byte[0] == b'\n' {
            if let Some(rest) = text.trim_end().strip_prefix(prefix) {
                return rest.trim().to_owned();
            }
            text.clear();
        }
    }
    panic!("the output ended without {prefix:?}: {text}")
}

/// Command lines of living processes that contain `marker`, this process excepted.
pub(super) fn mentioning(marker: &str) -> Vec<String> {
    let own = std::process::id().to_string();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(|pid| pid != own))
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(marker))
        .collect()
}

/// How many launchers this process still has.
pub(super) fn launchers() -> usize {
    let own = std::process::id();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(|entry| {
            std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| line.starts_with(b"holon-walls"))
        })
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok())
        .filter(|stat| {
            stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.split(' ').nth(1) == Some(&own.to_string()))
        })
        .count()
}

/// What is still there when it had time to go.
pub(super) fn until_gone(marker: &str) -> Vec<String> {
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    loop {
        let left = mentioning(marker);
        if left.is_empty() || std::time::Instant::now() > deadline {
            return left;
        }
        std::thread::yield_now();
    }
}

pub(super) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs `test` here and, if this is root, once more as an ordinary user: this very test of a copy of this very binary.
#[track_caller]
pub(crate) fn as_every_user(name: &str, test: impl FnOnce()) {
    test();
    if !is_root() {
        return;
    }
    let place = tempfile::Builder::new().prefix("holon-ordinary-").tempdir_in("/tmp").unwrap();
    open(place.path());
    let (binary, home) = (place.path().join("tests"), place.path().join("home"));
    let own = std::env::current_exe().unwrap();
    std::fs::hard_link(&own, &binary).or_else(|_| std::fs::copy(&own, &binary).map(|_| ())).unwrap();
    std::fs::create_dir(&home).unwrap();
    std::os::unix::fs::chown(&home, Some(ORDINARY), Some(ORDINARY)).unwrap();
    let output = std::process::Command::new(binary)
        .args(["--exact", name, "--nocapture"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", &home)
        .env("XDG_RUNTIME_DIR", &home)
        .uid(ORDINARY)
        .gid(ORDINARY)
        .current_dir("/")
        .output()
        .unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "as an ordinary user: {said}");
}

/// Says that this test runs in a user namespace made by [`as_root_of`].
const INSIDE: &str = "HOLON_TEST_USER_NAMESPACE";

/// Whether this is the inner run of [`as_root_of`].
pub(super) fn in_user_namespace() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Runs this very test of a copy of this binary as number 0 of a user namespace in which only the ids of `map` exist (those
/// inside, those outside, how many), as in a container.
#[track_caller]
pub(super) fn as_root_of(map: &str, name: &str) {
    let place = tempfile::Builder::new().prefix("holon-mapped-").tempdir_in("/tmp").unwrap();
    open(place.path());
    let (binary, own) = (place.path().join("tests"), std::env::current_exe().unwrap());
    std::fs::hard_link(&own, &binary).or_else(|_| std::fs::copy(&own, &binary).map(|_| ())).unwrap();
    // Holds the namespace until it is let go of.
    let mut holder = std::process::Command::new("unshare")
        .args(["--user", "sh", "-c", "read go"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let pid = holder.id().to_string();
    let space = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/user")).ok();
    holon_testkit::wait_until(Duration::from_secs(30), || space(&pid) != space("self"));
    for file in ["gid_map", "uid_map"] {
        std::fs::write(format!("/proc/{pid}/{file}"), map).unwrap();
    }
    let output = std::process::Command::new("nsenter")
        .args(["--target", &pid, "--user", "--setuid", "0", "--setgid", "0"])
        .arg(binary)
        .args(["--exact", name, "--nocapture"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env(INSIDE, "1")
        .current_dir("/")
        .output()
        .unwrap();
    drop(holder.stdin.take());
    holder.wait().unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "with the ids {map}: {said}");
}

/// Nobody's number.
const ORDINARY: u32 = 23_456;
