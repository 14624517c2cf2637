//! The rungs at work: every test runs real payloads, as the user of the tests and, when that is root, as an ordinary one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;

use super::testing::{SandboxWorld, as_every_user, is_root, job, mentioning, run, until_gone, wait_for_line};
use super::*;
use crate::backend::SandboxBackend;
use crate::isolation::{PayloadEnding, PayloadNetwork};
use crate::mount::{Mount, MountSource};

fn path(name: &str) -> String {
    format!("fallback::live::{name}")
}

#[test]
fn landlock_opens_what_the_job_names_and_nothing_else() {
    as_every_user(&path("landlock_opens_what_the_job_names_and_nothing_else"), || {
        let script = "
            cat file $IN/file || echo FAIL read
            echo new > file && echo new > made && mkdir d && mv made d/ && chmod +x d/made || echo FAIL work
            echo new > $OUT/made || echo FAIL output
            echo x > $IN/file && echo OPEN input
            echo x > $OUTSIDE/made && echo OPEN outside
            cat $OUTSIDE/secret && echo OPEN secret
            cat /etc/shadow && echo OPEN shadow
            ls /root /home /tmp && echo OPEN folders
            ln -s $OUTSIDE/secret link; cat link && echo OPEN link
            echo gone > /dev/null || echo FAIL device
            true";
        let world = SandboxWorld::new(script, true).on_the_host();
        let ran = run(&LandlockOnly::default(), &world.job);
        assert_eq!(ran.ending, PayloadEnding::Code(0), "{}", ran.output);
        assert!(!ran.output.contains("FAIL") && !ran.output.contains("OPEN"), "{}", ran.output);
        assert_eq!(world.read("work/d/made"), "new\n");
        assert_eq!(world.read("output/made"), "new\n");
        assert_eq!(world.read("input/file"), "old\n");
        let held = ran.held;
        assert!(held.landlock.is_some_and(|version| version >= 3) && held.seccomp && held.no_new_privs);
        assert!(held.capabilities_dropped && held.unprivileged_payload && held.files.is_some());
        assert!(!held.net_ns && !held.pid_ns && !held.mount_ns && !held.private_root, "{held:?}");
    });
}

#[test]
fn landlock_keeps_a_read_only_workspace_as_it_is() {
    as_every_user(&path("landlock_keeps_a_read_only_workspace_as_it_is"), || {
        let script = "
            echo x > file; echo x > made; rm file; mv file other; ln file hard; truncate -s 0 file
            chmod 777 file; touch -d 2001-01-01 file; chmod 777 $OUTSIDE/secret; touch $OUTSIDE/secret
            echo fine > $OUT/made";
        let world = SandboxWorld::new(script, false).on_the_host();
        let stamp = |name: &str| {
            let meta = world.dir.path().join(name).metadata().unwrap();
            (
                meta.mode(),
                meta.mtime(),
                meta.mtime_nsec(),
                meta.ctime(),
                meta.ctime_nsec(),
                meta.nlink(),
                meta.len(),
            )
        };
        let before = ["work", "work/file", "secret"].map(stamp);
        let ran = run(&LandlockOnly::default(), &world.job);
        // Root's payload owns the copy it was given; what matters is that it is its own.
        if !is_root() {
            assert_eq!(["work", "work/file", "secret"].map(stamp), before, "{}", ran.output);
        }
        assert_eq!(stamp("secret"), before[2]);
        assert_eq!(world.read("work/file"), "old\n");
        assert_eq!(world.read("output/made"), "fine\n", "{}", ran.output);
        assert_eq!(std::fs::read_dir(world.dir.path().join("work")).unwrap().count(), 1);
    });
}

#[test]
fn landlock_changes_modes_and_times_of_what_may_be_written_alone() {
    as_every_user(&path("landlock_changes_modes_and_times_of_what_may_be_written_alone"), || {
        let script = "
            chmod 751 file && touch -d 2001-01-01 file && mkdir d && chmod 700 d && touch -d 2002-02-02 . || echo FAIL own
            chown $(id -u) file || echo FAIL owner
            cp -p file copy && tar -cf - file | (cd d && tar -xpf -) || echo FAIL tools
            ln -s file near && touch -h -d 2001-01-01 near; chmod +x near || echo FAIL link
            chmod 777 $OUTSIDE/secret && echo OPEN mode
            touch -d 2001-01-01 $OUTSIDE/secret && echo OPEN time
            ln -s $OUTSIDE/secret far; chmod 777 far && echo OPEN link; touch -d 2001-01-01 far && echo OPEN link time
            (cd $OUTSIDE && chmod 777 secret) && echo OPEN below
            chmod 777 . .. && echo OPEN parent
            chmod 777 /proc/self/fd/0 && echo OPEN descriptor
            true";
        let world = SandboxWorld::new(script, true).on_the_host();
        let secret = world.dir.path().join("secret");
        let stamp = || {
            let meta = secret.metadata().unwrap();
            (meta.mode(), meta.mtime(), meta.ctime(), meta.ctime_nsec())
        };
        let top = world.dir.path().metadata().unwrap().mode();
        let before = stamp();
        let ran = run(&LandlockOnly::default(), &world.job);
        assert!(!ran.output.contains("FAIL") && !ran.output.contains("OPEN"), "{}", ran.output);
        assert_eq!(stamp(), before, "{}", ran.output);
        assert_eq!(world.dir.path().metadata().unwrap().mode(), top);
        let meta = world.dir.path().join("work/file").metadata().unwrap();
        assert_eq!((meta.mode() & 0o777, meta.mtime()), (0o751, 978_307_200), "{}", ran.output);
        // The control: without walls all of it gets through.
        if !is_root() {
            let free = SandboxWorld::new(script, true).on_the_host();
            let ran = run(&UnsandboxedBackend::default(), &free.job);
            for word in ["OPEN mode", "OPEN time", "OPEN link", "OPEN below", "OPEN parent"] {
                assert!(ran.output.contains(word), "{word}: {}", ran.output);
            }
        }
    });
}

#[test]
fn landlock_reaches_no_limits_and_priorities_of_others() {
    as_every_user(&path("landlock_reaches_no_limits_and_priorities_of_others"), || {
        let script = "
import ctypes, os, resource, sys
host = int(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
def shm():
    made = libc.shmget(0, 4096, 0o1600)
    if made < 0:
        raise OSError(ctypes.get_errno(), 'shmget')
    libc.shmctl(made, 0, None)
def tried(name, act):
    try:
        act()
        print('OPEN', name)
    except OSError as error:
        print('closed', name, error.errno)
tried('limits', lambda: resource.prlimit(host, resource.RLIMIT_NOFILE))
tried('priority', lambda: os.setpriority(os.PRIO_PROCESS, host, os.getpriority(os.PRIO_PROCESS, host)))
tried('processors', lambda: os.sched_setaffinity(host, os.sched_getaffinity(host)))
tried('shared memory', shm)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
os.setpriority(os.PRIO_PROCESS, 0, 19)
os.sched_setaffinity(0, os.sched_getaffinity(0))
print('own')
";
        let mut world = SandboxWorld::new("", true).on_the_host();
        let host = std::process::id().to_string();
        world.job.argv = ["/usr/bin/python3", "-c", script, &host].map(Into::into).to_vec();
        let ran = run(&LandlockOnly::default(), &world.job);
        assert!(ran.output.contains("own") && !ran.output.contains("OPEN"), "{}", ran.output);
        let free = run(&UnsandboxedBackend::default(), &world.job);
        let expect: &[&str] = if is_root() {
            &["OPEN shared memory"]
        } else {
            &["OPEN limits", "OPEN priority", "OPEN processors"]
        };
        for word in expect {
            assert!(free.output.contains(word), "{word}: {}", free.output);
        }
    });
}

#[test]
fn landlock_opens_around_what_is_hidden() {
    as_every_user(&path("landlock_opens_around_what_is_hidden"), || {
        let script = "cat $TOOLS/bin/tool || echo FAIL; cat $TOOLS/conf/credentials && echo OPEN; cat $TOOLS/conf/other || echo FAIL; true";
        let mut world = SandboxWorld::new(script, true).on_the_host();
        let tools = world.dir.path().join("tools");
        for (file, text) in [("bin/tool", "tool"), ("conf/credentials", "s3cret"), ("conf/other", "other")] {
            std::fs::create_dir_all(tools.join(file).parent().unwrap()).unwrap();
            std::fs::write(tools.join(file), text).unwrap();
        }
        world.job.env.push(("TOOLS".into(), tools.to_str().unwrap().into()));
        let hidden = tools.join("conf/credentials");
        world.job.mounts.push(Mount::same_path(&tools));
        world.job.mounts.push(Mount { at: hidden, source: MountSource::File(Vec::new()), writable: false });
        let ran = run(&LandlockOnly::default(), &world.job);
        assert!(!ran.output.contains("FAIL") && !ran.output.contains("OPEN"), "{}", ran.output);
        assert!(!ran.output.contains("s3cret"), "{}", ran.output);
    });
}

#[test]
fn landlock_has_no_network_and_sees_no_secret_of_the_host() {
    as_every_user(&path("landlock_has_no_network_and_sees_no_secret_of_the_host"), || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let host = std::process::id();
        let script = format!(
            "(exec 3<>/dev/tcp/127.0.0.1/{port}) && echo REACHED; tr '\\0' ' ' < /proc/{host}/environ && echo SEEN; kill -0 {host} && echo SIGNALLED; true"
        );
        let mut world = SandboxWorld::new("", true).on_the_host();
        world.job.argv = ["/bin/bash", "-c", &script].map(Into::into).to_vec();
        let ran = run(&LandlockOnly::default(), &world.job);
        for word in ["REACHED", "SEEN", "SIGNALLED"] {
            assert!(!ran.output.contains(word), "{}", ran.output);
        }
        // The control: the same without walls reaches what its user may reach.
        let free = run(&UnsandboxedBackend::default(), &world.job);
        assert!(free.output.contains("REACHED"), "{}", free.output);
        if !is_root() {
            assert!(free.output.contains("SEEN") && free.output.contains("SIGNALLED"), "{}", free.output);
        }
        // With the host's network, internet sockets work and nothing else changes.
        world.job.network = PayloadNetwork::Host;
        let networked = run(&LandlockOnly::default(), &world.job);
        assert!(
            networked.output.contains("REACHED") && !networked.output.contains("SEEN"),
            "{}",
            networked.output
        );
    });
}

#[test]
fn unix_sockets_of_the_host_cannot_be_reached_from_landlock() {
    as_every_user(&path("unix_sockets_of_the_host_cannot_be_reached_from_landlock"), || {
        let world = SandboxWorld::new("", true).on_the_host();
        let socket = world.dir.path().join("work/bus");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        std::fs::set_permissions(&socket, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        let mut world = world;
        let script = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('bus'); print('REACHED')";
        world.job.argv = ["/usr/bin/python3", "-c", script].map(Into::into).to_vec();
        assert!(run(&UnsandboxedBackend::default(), &world.job).output.contains("REACHED"));
        let ran = run(&LandlockOnly::default(), &world.job);
        assert!(ran.output.contains("PermissionError"), "{}", ran.output);
    });
}

#[test]
fn none_is_a_plain_process_with_an_honest_record() {
    as_every_user(&path("none_is_a_plain_process_with_an_honest_record"), || {
        let world =
            SandboxWorld::new("id -u; echo new > made; cat $OUTSIDE/secret; exit 7", true).on_the_host();
        let ran = run(&UnsandboxedBackend::default(), &world.job);
        assert_eq!(ran.ending, PayloadEnding::Code(7));
        assert_eq!(ran.output, format!("{}\ns3cret\n", world.job.identity.uid));
        assert_eq!(world.read("work/made"), "new\n");
        let held = ran.held;
        assert!(held.unprivileged_payload && held.files.is_some());
        assert!(held.landlock.is_none() && !held.seccomp && !held.no_new_privs && !held.capabilities_dropped);
    });
}

#[test]
fn none_stays_root_only_where_its_user_cannot_go() {
    if !is_root() {
        return;
    }
    let private = tempfile::tempdir().unwrap();
    std::fs::set_permissions(private.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let mut job = job(&["/usr/bin/id", "-u"]);
    job.cwd = private.path().to_owned();
    let ran = run(&UnsandboxedBackend::default(), &job);
    assert_eq!((ran.output.as_str(), ran.held.unprivileged_payload), ("0\n", false));
    // The walls never give in like that.
    let refusal = LandlockOnly::default().start(&{
        let mut job = job.clone();
        job.mounts = vec![Mount::writable(private.path(), "/holon/workspace")];
        std::fs::create_dir(private.path().join("x")).unwrap();
        job.mounts.push(Mount::writable(private.path().join("x"), "/holon/output"));
        job
    });
    let refusal = refusal.err().expect("a folder its user cannot reach");
    assert_eq!(refusal.errno, libc::EACCES, "{refusal}");
}

/// A daemon that leaves the session and its parents, ignores SIGTERM, and a payload that waits.
pub(super) const DAEMON: &str = "
    (setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' \"$0\" >/dev/null 2>&1 &) &
    wait; echo up; while :; do sleep 1; done";

/// The daemon goes with its payload, whether that ends by itself, is killed, or loses its host.
pub(super) fn nothing_survives(backend: &dyn SandboxBackend, script: &str, world: impl Fn() -> SandboxWorld) {
    for (number, way) in ["ends", "killed", "dropped"].into_iter().enumerate() {
        let mut world = world();
        let marker = format!("holon-marker-{}-{}-{number}", backend.name(), world.job.name);
        let script =
            if way == "ends" { script.replace("; while", "; exit 3; while") } else { script.to_owned() };
        world.job.argv = ["/bin/sh", "-c", &script, &marker].map(Into::into).to_vec();
        let mut payload = backend.start(&world.job).unwrap_or_else(|refusal| panic!("{refusal}"));
        wait_for_line(&mut payload, "up");
        if way != "ends" {
            assert!(!mentioning(&marker).is_empty(), "{way}: the daemon should be there");
        }
        match way {
            "ends" => {
                let ending = payload.wait(std::time::Duration::from_secs(60)).unwrap();
                assert_eq!(ending, Some(PayloadEnding::Code(3)));
                payload.finish();
                assert_eq!(mentioning(&marker), Vec::<String>::new(), "{way}");
            }
            "killed" => {
                payload.kill();
                payload.finish();
                assert_eq!(mentioning(&marker), Vec::<String>::new(), "{way}");
            }
            _ => {
                drop(payload);
                assert_eq!(until_gone(&marker), Vec::<String>::new(), "{way}");
            }
        }
    }
}

#[test]
fn daemons_end_with_a_payload_without_namespaces() {
    as_every_user(&path("daemons_end_with_a_payload_without_namespaces"), || {
        nothing_survives(&UnsandboxedBackend::default(), DAEMON, || {
            SandboxWorld::new("", true).on_the_host()
        });
        nothing_survives(&LandlockOnly::default(), DAEMON, || SandboxWorld::new("", true).on_the_host());
    });
}

#[test]
fn a_command_that_is_not_there_is_a_refusal() {
    for backend in [&LandlockOnly::default() as &dyn SandboxBackend, &UnsandboxedBackend::default()] {
        let mut job = job(&["/does/not/exist"]);
        job.mounts = crate::isolation::layout::system_root(&job.identity);
        let mut payload = backend.start(&job).unwrap();
        let refusal = payload.wait(std::time::Duration::from_secs(60)).unwrap_err();
        assert_eq!(
            (refusal.step, refusal.errno),
            (crate::isolation::LaunchStep::Exec, libc::ENOENT),
            "{}",
            backend.name()
        );
    }
}
