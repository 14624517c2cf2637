//! Bubblewrap at work, as the user of the tests and as an ordinary one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;

use super::live::{DAEMON, nothing_survives};
use super::testing::{SandboxWorld, as_every_user, run, wait_for_line};
use super::*;
use crate::backend::SandboxBackend;
use crate::isolation::PayloadEnding;

fn path(name: &str) -> String {
    format!("fallback::live_bubblewrap::{name}")
}

#[test]
fn daemons_end_with_bubblewrap() {
    as_every_user(&path("daemons_end_with_bubblewrap"), || {
        nothing_survives(&Bubblewrap::default(), DAEMON, || SandboxWorld::new("", true));
    });
}

#[test]
fn bubblewrap_keeps_the_contract() {
    as_every_user(&path("bubblewrap_keeps_the_contract"), || {
        let script = "
            pwd; id -u; env | sort
            cat file /holon/input/file || echo FAIL read
            echo new > made && mkdir d && mv made d/ && echo new > /holon/output/made || echo FAIL write
            echo x > /tmp/x && echo x > /dev/null || echo FAIL tmp
            echo x > /holon/input/file && echo OPEN input
            echo x > /made && echo OPEN root
            echo x > /usr/made && echo OPEN usr
            echo x > /proc/sys/kernel/core_pattern && echo OPEN sysctl
            cat /proc/keys | grep . && echo OPEN keys
            ls /root /home && echo OPEN home
            unshare -U true && echo OPEN userns
            ls /sys/class/net /proc/1/root/etc/shadow && echo OPEN sys
            cat /proc/1/environ /proc/1/cmdline | tr '\\0' '\\n' | grep 's3cre[t]' && echo OPEN environ
            ls -A /proc/1 | grep . && echo OPEN init
            cat /proc/1/uid_map /proc/1/maps && echo OPEN init
            echo 500 > /proc/1/oom_score_adj && echo OPEN init
            script -qec 'tty; echo seen > /dev/tty' /dev/null | grep /dev/pts/0 > /dev/null || echo FAIL terminal
            echo x > /dev/made && echo OPEN dev
            true";
        let mut world = SandboxWorld::new(script, true);
        world.job.env.push(("TOKEN".into(), "s3cret".into()));
        let ran = run(&Bubblewrap::default(), &world.job);
        assert_eq!(ran.ending, PayloadEnding::Code(0), "{}", ran.output);
        assert!(!ran.output.contains("FAIL") && !ran.output.contains("OPEN"), "{}", ran.output);
        let uid = world.job.identity.inside_uid;
        assert!(ran.output.starts_with(&format!("/holon/workspace\n{uid}\nPATH=")), "{}", ran.output);
        assert_eq!(world.read("work/d/made"), "new\n");
        assert_eq!(world.read("output/made"), "new\n");
        assert_eq!(
            std::fs::metadata(world.dir.path().join("work/d/made")).unwrap().uid(),
            world.job.identity.uid
        );
        let held = ran.held;
        assert!(
            held.user_ns && held.mount_ns && held.pid_ns && held.net_ns && held.ipc_ns && held.uts_ns,
            "{held:?}"
        );
        assert!(held.private_root && held.masked_proc && held.seccomp && held.no_new_privs, "{held:?}");
        assert!(held.capabilities_dropped && held.unprivileged_payload && held.files.is_some(), "{held:?}");
        assert!(held.landlock.is_none() && !held.locked_mounts, "{held:?}");
    });
}

#[test]
fn bubblewrap_measures_a_payload_that_stays() {
    as_every_user(&path("bubblewrap_measures_a_payload_that_stays"), || {
        let world = SandboxWorld::new("echo up; while :; do sleep 1; done", false);
        let mut payload = Bubblewrap::default().start(&world.job).unwrap();
        wait_for_line(&mut payload, "up");
        let held = payload.held().clone();
        assert!(held.seccomp && held.masked_proc && held.private_root && held.cgroup_ns, "{held:?}");
        payload.kill();
        assert_eq!(payload.finish().ending, PayloadEnding::Killed);
    });
}

#[test]
fn bubblewrap_leaves_no_folder_behind_when_its_host_is_gone() {
    let stages = || -> BTreeSet<OsString> {
        let entries = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
        let ours = |name: &OsString| name.to_string_lossy().starts_with("holon-bwrap-");
        entries.map(|entry| entry.file_name()).filter(ours).collect()
    };
    let before = stages();
    let world = SandboxWorld::new("echo up; while :; do sleep 1; done", false);
    let mut payload = Bubblewrap::default().start(&world.job).unwrap();
    wait_for_line(&mut payload, "up");
    // Those of tests that run beside this one go, too.
    let made: BTreeSet<OsString> = stages().difference(&before).cloned().collect();
    assert!(!made.is_empty());
    // As the end of the host does it: the launcher hears of an end, and nobody here tidies up.
    payload.kill();
    let gone = || stages().is_disjoint(&made);
    holon_testkit::wait_until(std::time::Duration::from_secs(30), gone);
    assert!(gone(), "{made:?}");
    std::mem::forget(payload);
}

#[test]
fn what_bubblewrap_cannot_do_is_a_refusal() {
    let mut world = SandboxWorld::new("true", true);
    world.job.mounts.push(crate::mount::Mount::read_only("/does/not/exist", "/holon/x"));
    let refusal = Bubblewrap::default().start(&world.job).err().expect("a missing folder");
    assert!(refusal.message.contains("/does/not/exist"), "{refusal}");
    let absent = Bubblewrap { command: "/does/not/exist".into(), ..Bubblewrap::default() };
    assert!(absent.start(&world.job).err().is_some_and(|refusal| refusal.message.contains("apt install")));
    // A payload that ends at once, and even one that speaks like bubblewrap, is still a payload.
    for (script, code) in [("exit 3", 3), ("echo 'bwrap: no' >&2; exit 0", 0)] {
        assert_eq!(
            run(&Bubblewrap::default(), &SandboxWorld::new(script, true).job).ending,
            PayloadEnding::Code(code),
            "{script}"
        );
    }
}

#[test]
fn bubblewrap_opens_a_scope_and_nothing_beside_it() {
    as_every_user(&path("bubblewrap_opens_a_scope_and_nothing_beside_it"), || {
        let script =
            "echo x > file && echo OPEN; echo new > docs/made || echo FAIL; mv docs other && echo OPEN; true";
        for backend in [&Bubblewrap::default() as &dyn SandboxBackend, &LandlockOnly::default()] {
            let mut world = SandboxWorld::new(script, true);
            if !backend.private_root() {
                world = world.on_the_host();
            }
            let docs = world.dir.path().join("work/docs");
            std::fs::create_dir(&docs).unwrap();
            if let Some((uid, gid)) = world.job.identity.owner() {
                std::os::unix::fs::chown(&docs, Some(uid), Some(gid)).unwrap();
            }
            world.job.writable_below = vec!["docs".into()];
            let ran = run(backend, &world.job);
            assert!(
                !ran.output.contains("FAIL") && !ran.output.contains("OPEN"),
                "{}: {}",
                backend.name(),
                ran.output
            );
            assert_eq!(world.read("work/docs/made"), "new\n", "{}", backend.name());
            assert_eq!(world.read("work/file"), "old\n");
        }
    });
}
