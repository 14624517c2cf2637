//! Containers at work: a real podman with a store of its own and an image made of one static program.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::live::nothing_survives;
use super::testing::{SandboxWorld, as_every_user, run, wait_for_line};
use super::*;
use crate::backend::SandboxBackend;
use crate::isolation::{Launcher, PayloadEnding};

const IMAGE: &str = "localhost/holon-test:busybox";
const BUSYBOX: &str = "/bin/busybox";

/// A store that goes away with the test, holding one image.
struct PodmanStore {
    dir: tempfile::TempDir,
}

impl PodmanStore {
    /// `None`, recorded as skipped, where there is nothing to make it with.
    fn new(test: &str) -> Option<Self> {
        let skip = |reason: &str| {
            holon_testkit::skip_security(test, reason);
            None
        };
        if engine::find_program("podman", &std::env::var("PATH").unwrap()).is_none() {
            return skip("podman is not installed");
        }
        if !Path::new(BUSYBOX).exists() {
            return skip("busybox-static is not installed");
        }
        // Short, because podman puts socket names below it.
        let store = Self { dir: tempfile::Builder::new().prefix("hps").tempdir_in("/tmp").unwrap() };
        let root = store.dir.path().join("image");
        for folder in ["bin", "tmp", "proc", "dev", "etc", "sys"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::copy(BUSYBOX, root.join("bin/busybox")).unwrap();
        for name in
            ["sh", "cat", "echo", "id", "ls", "sleep", "env", "grep", "mkdir", "mv", "tr", "sort", "setsid"]
        {
            std::os::unix::fs::symlink("busybox", root.join("bin").join(name)).unwrap();
        }
        let mut tar = Command::new("tar")
            .args(["--owner=0", "--group=0", "-C"])
            .arg(&root)
            .args(["-c", "."])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let entry = "ENTRYPOINT [\"/bin/sh\", \"-c\", \"echo own entrypoint $TOKEN; exit 4\"]";
        let done = store
            .podman(&["import", "--change", entry, "-", IMAGE])
            .stdin(tar.stdout.take().unwrap())
            .output()
            .unwrap();
        assert!(
            tar.wait().unwrap().success() && done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
        Some(store)
    }

    fn arguments(&self) -> String {
        let dir = self.dir.path().display();
        format!(
            "--root {dir}/r --runroot {dir}/rr --tmpdir {dir}/t --storage-driver vfs --cgroup-manager cgroupfs"
        )
    }

    fn podman(&self, args: &[&str]) -> Command {
        let mut command = Command::new("podman");
        command.args(self.arguments().split(' ')).args(args).stderr(Stdio::piped()).stdout(Stdio::piped());
        command
    }

    fn env(&self) -> impl Fn(&str) -> Option<String> {
        let arguments = self.arguments();
        move |name| if name == "HOLON_OCI_ARGS" { Some(arguments.clone()) } else { std::env::var(name).ok() }
    }

    fn detect(&self, image: Option<&str>) -> Result<OciSandbox, crate::isolation::LaunchRefusal> {
        OciSandbox::detect(&self.env(), image, Launcher::default())
    }

    fn containers(&self) -> String {
        let listed = self.podman(&["ps", "--all", "--format", "{{.Names}}"]).output().unwrap();
        assert!(listed.status.success());
        String::from_utf8(listed.stdout).unwrap()
    }
}

impl Drop for PodmanStore {
    fn drop(&mut self) {
        let dir = self.dir.path();
        // Rootless podman keeps one process per user to hold its namespace; this store is a user of its own.
        let hold = || std::fs::read_to_string(dir.join("t/pause.pid")).ok()?.trim().parse().ok();
        // Launchers that lost their host, and podman's own cleaners, may still be at it.
        let text = dir.to_string_lossy().into_owned();
        holon_testkit::wait_until(Duration::from_secs(30), || {
            if let Some(pid) = hold().and_then(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
            super::testing::launchers() == 0 && super::testing::mentioning(&text).is_empty()
        });
    }
}

fn path(name: &str) -> String {
    format!("fallback::live_oci::{name}")
}

#[test]
fn a_container_keeps_the_contract() {
    let name = path("a_container_keeps_the_contract");
    as_every_user(&name, || {
        let Some(store) = PodmanStore::new(&name) else { return };
        let script = "
            echo $PWD; env | grep TOKEN
            cat file /holon/input/file || echo FAIL read
            echo new > made && mkdir d && mv made d/ && echo new > /holon/output/made || echo FAIL write
            echo x > /tmp/x && echo x > /dev/null || echo FAIL tmp
            echo x > /holon/input/file && echo OPEN input
            echo x > /made && echo OPEN root
            echo x > /run/made && echo OPEN run
            echo x > /proc/sys/kernel/core_pattern && echo OPEN sysctl
            ls /usr/bin/env /root /home && echo OPEN host
            ls /sys/class/net | grep -v lo && echo OPEN network
            busybox unshare -r true && echo OPEN userns
            busybox mknod /tmp/null c 0 0 && echo OPEN whiteout
            grep -q 'Seccomp:.*2' /proc/self/status || echo FAIL filter
            true";
        let mut world = SandboxWorld::new(script, true);
        world.job.env.push(("TOKEN".into(), "s3cret # \"quoted\"".into()));
        let oci = store.detect(Some(IMAGE)).unwrap_or_else(|refusal| panic!("{refusal}"));
        let ran = run(&oci, &world.job);
        assert_eq!(ran.ending, PayloadEnding::Code(0), "{}", ran.output);
        assert!(!ran.output.contains("FAIL") && !ran.output.contains("OPEN"), "{}", ran.output);
        assert!(
            ran.output.starts_with("/holon/workspace\nTOKEN=s3cret # \"quoted\"\nold\nold\n"),
            "{}",
            ran.output
        );
        assert_eq!(world.read("work/d/made"), "new\n");
        assert_eq!(world.read("output/made"), "new\n");
        let owner = std::fs::metadata(world.dir.path().join("work/d/made")).unwrap().uid();
        assert_eq!(owner, world.job.identity.uid, "the payload is never the kernel's uid 0");
        assert_eq!(store.containers(), "");
    });
}

#[test]
fn a_container_is_measured_and_stopped() {
    let name = path("a_container_is_measured_and_stopped");
    as_every_user(&name, || {
        let Some(store) = PodmanStore::new(&name) else { return };
        let mut world = SandboxWorld::new("trap 'exit 9' TERM; echo up; while :; do sleep 0.1; done", false);
        world.job.env.push(("TOKEN".into(), "s3cret-value".into()));
        let oci = store.detect(Some(IMAGE)).unwrap_or_else(|refusal| panic!("{refusal}"));
        let mut payload = oci.start(&world.job).unwrap_or_else(|refusal| panic!("{refusal}"));
        wait_for_line(&mut payload, "up");
        let held = payload.held().clone();
        assert!(held.mount_ns && held.pid_ns && held.net_ns && held.ipc_ns && held.uts_ns, "{held:?}");
        assert!(held.private_root && held.masked_proc && held.seccomp && held.no_new_privs, "{held:?}");
        assert!(held.capabilities_dropped && held.unprivileged_payload && held.files.is_some(), "{held:?}");
        assert!(held.landlock.is_none() && !held.locked_mounts, "{held:?}");
        assert_eq!(
            super::testing::mentioning("s3cret-value"),
            Vec::<String>::new(),
            "a value shows in the process list"
        );
        payload.terminate();
        assert_eq!(payload.wait(Duration::from_secs(60)).unwrap(), Some(PayloadEnding::Code(9)));
        payload.finish();
        assert_eq!(store.containers(), "");
    });
}

#[test]
fn nothing_survives_a_container() {
    let name = path("nothing_survives_a_container");
    as_every_user(&name, || {
        let Some(store) = PodmanStore::new(&name) else { return };
        let oci = store.detect(Some(IMAGE)).unwrap_or_else(|refusal| panic!("{refusal}"));
        let script = "
            (setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' \"$0\" >/dev/null 2>&1 &) &
            wait; echo up; while :; do sleep 1; done";
        nothing_survives(&oci, script, || SandboxWorld::new("", true));
        // The launcher that lost its host removes the container as well.
        let gone = holon_testkit::wait_until(Duration::from_secs(30), || store.containers().is_empty());
        assert!(gone, "{}", store.containers());
    });
}

#[test]
fn an_image_can_be_the_agent() {
    let name = path("an_image_can_be_the_agent");
    as_every_user(&name, || {
        let Some(store) = PodmanStore::new(&name) else { return };
        let mut world = SandboxWorld::new("", true);
        world.job.argv.clear();
        world.job.env.push(("TOKEN".into(), "here".into()));
        let oci = store.detect(Some(IMAGE)).unwrap_or_else(|refusal| panic!("{refusal}"));
        let ran = run(&oci, &world.job);
        // An engine may add a warning of its own about limits it does not have.
        assert_eq!(
            (ran.ending, ran.output.lines().next()),
            (PayloadEnding::Code(4), Some("own entrypoint here"))
        );
    });
}

#[test]
fn what_is_missing_is_said() {
    let name = path("what_is_missing_is_said");
    let Some(store) = PodmanStore::new(&name) else { return };
    // An engine alone can be found without an image.
    let found = store.detect(None).unwrap_or_else(|refusal| panic!("{refusal}"));
    assert_eq!(found.dialect, engine::EngineDialect::Podman);
    let refusal = store.detect(Some("localhost/absent:1")).unwrap_err();
    assert!(refusal.message.contains("podman import"), "{refusal}");
    let world = SandboxWorld::new("true", true);
    let mut oci = store.detect(Some(IMAGE)).unwrap();
    oci.image = "localhost/absent:1".into();
    let refusal = oci.start(&world.job).err().unwrap();
    assert!(refusal.message.contains("podman import"), "{refusal}");
    // A command the image does not have is the engine's complaint, not a payload's end.
    let mut world = SandboxWorld::new("", true);
    world.job.argv = vec!["/absent".into()];
    oci.image = IMAGE.into();
    let refusal = oci.start(&world.job).err().unwrap();
    assert!(refusal.to_string().contains("/absent"), "{refusal}");
    // A payload that ends with an engine's number is just a payload.
    let ran = run(&oci, &SandboxWorld::new("exit 127", true).job);
    assert_eq!(ran.ending, PayloadEnding::Code(127), "{}", ran.output);
    let nothing = OciSandbox::detect(&|_| None, None, Launcher::default()).unwrap_err();
    assert!(nothing.message.contains("apt install podman"), "{nothing}");
}

#[test]
fn a_container_left_behind_makes_room() {
    let name = path("a_container_left_behind_makes_room");
    let Some(store) = PodmanStore::new(&name) else { return };
    let oci = store.detect(Some(IMAGE)).unwrap_or_else(|refusal| panic!("{refusal}"));
    let world = SandboxWorld::new("echo second", true);
    let left = oci::container_name(&world.job.name);
    let made = store.podman(&["create", "--name", &left, IMAGE]).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let ran = run(&oci, &world.job);
    assert_eq!(ran.output, "second\n");
    assert_eq!(store.containers(), "");
}
