//! The launcher: a fresh, single-threaded process of our own binary, with an empty environment, that builds the walls.
//!
//! It is a process of its own for two reasons: creating namespaces by fork is only sound in a single-threaded process,
//! and an init that was exec'd from nothing has no secret of the host in its memory, environment or descriptors.
//!
//! ```text
//! host ──spawn──▶ launcher ──clone3(new namespaces)──▶ init (pid 1) ──fork──▶ payload
//! ```
//! The launcher itself stays outside, waits for init, and removes the control group.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::mount::MountPropagationFlags;
use rustix::process::{Pid, WaitOptions, waitpid};

use super::cgroup::Cgroup;
use super::identity::PayloadIdentity;
use super::job::{BaseMounts, PayloadNetwork, SandboxJob};
use super::step::{LaunchRefusal, LaunchStep};
use super::sys::{self, ForkSide};
use super::view::{DetachedMount, DetachedMounts};
use super::wire::{self, InitMessage, LauncherPrelude};
use super::{bare, detached_netns, init};

/// The name a process is started under to become the launcher.
pub(super) const LAUNCHER_NAME: &str = "holon-walls";

/// Becomes the launcher, or the keeper of a container's network, if this process was started as one, and then never
/// returns. Call it first thing in `main`.
pub fn become_launcher_if_asked() {
    let Some(name) = std::env::args_os().next() else { return };
    if name == LAUNCHER_NAME {
        let code = match take_socket() {
            Ok(socket) => launch(socket),
            Err(_) => 70,
        };
        sys::exit_now(code);
    }
    if detached_netns::is_keeper(&name) {
        let kept = take_socket().and_then(|socket| detached_netns::keep(&socket));
        if let Err(error) = &kept {
            let _ = writeln!(io::stderr(), "no network can be made there: {error}");
        }
        sys::exit_now(if kept.is_ok() { 0 } else { 70 });
    }
}

/// The control socket arrives as standard input; it moves out of the way of the payload.
fn take_socket() -> io::Result<UnixStream> {
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 10)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?.as_fd())?;
    Ok(socket.into())
}

fn launch(socket: UnixStream) -> i32 {
    let told = |e: io::Error| LaunchRefusal::new(LaunchStep::Job, e, "");
    let outcome = wire::receive::<LauncherPrelude>(&socket).map_err(told).and_then(|prelude| {
        let groups = match &prelude {
            LauncherPrelude::Client => Cgroup::default(),
            LauncherPrelude::Bare { name, limits } => Cgroup::enter(name, limits),
            LauncherPrelude::Walls(ground) => Cgroup::enter(&ground.name, &ground.limits),
        };
        let done = match &prelude {
            LauncherPrelude::Walls(ground) => start(&socket, ground, &groups),
            LauncherPrelude::Bare { .. } | LauncherPrelude::Client => {
                bare::run(&socket, &wire::receive(&socket).map_err(told)?, &groups)
            }
        };
        if groups.ran_out_of_memory() {
            let _ = wire::send(&socket, &InitMessage::OutOfMemory);
        }
        done.map(|()| groups)
    });
    match outcome {
        Ok(groups) => {
            // The host may go on as soon as it sees the end of the socket; leaving a control group takes a while.
            drop(socket);
            drop(groups);
            0
        }
        Err(refusal) => {
            let _ = wire::send(&socket, &InitMessage::Refused(refusal));
            71
        }
    }
}

/// Makes the namespaces, then serves init what only the launcher can: maps, and, as root, the mounts.
fn start(socket: &UnixStream, ground: &BaseMounts, groups: &Cgroup) -> Result<(), LaunchRefusal> {
    let refuse = |e: io::Error| LaunchRefusal::new(LaunchStep::Namespaces, e, "");
    sys::close_on_exec_from(3).map_err(|e| LaunchRefusal::new(LaunchStep::Job, e, ""))?;
    if ground.identity.by_root {
        make_private_tree()?;
    }
    let (to_init, from_launcher) = UnixStream::pair().map_err(refuse)?;
    // SAFETY: nothing in the launcher starts a thread.
    match unsafe { sys::fork_into(namespaces(ground.network)) }.map_err(refuse)? {
        ForkSide::Child => {
            drop(to_init);
            init::run(socket, ground, from_launcher, groups)
        }
        ForkSide::Parent(pid) => {
            drop(from_launcher);
            groups.step_out();
            let served = write_id_maps(pid, &ground.identity).and_then(|()| {
                (&to_init).write_all(b"m").map_err(refuse)?;
                if ground.identity.by_root { hand_mounts(socket, &to_init, ground) } else { Ok(()) }
            });
            drop(to_init);
            let _ = waitpid(Pid::from_raw(pid), WaitOptions::empty());
            served
        }
    }
}

/// Root's part: mounts are made here, with root's rights, and go on to init; the job passes through.
fn hand_mounts(socket: &UnixStream, to_init: &UnixStream, ground: &BaseMounts) -> Result<(), LaunchRefusal> {
    let mut views = DetachedMounts::new(ground.identity);
    let base = views.make(ground.mounts.clone())?;
    // Init may have ended with a refusal of its own, which it reports itself; so whether it takes anything is its affair.
    let _ = wire::give_fds(to_init, &descriptors(&base));
    drop(base);
    if let Some((uid, gid)) = ground.owner {
        views.expect_owner(uid, gid)?;
    }
    let job: SandboxJob = wire::receive(socket).map_err(|e| LaunchRefusal::new(LaunchStep::Job, e, ""))?;
    let rest = views.make(job.mounts.clone())?;
    let _ = wire::give(to_init, &job).and_then(|()| wire::give_fds(to_init, &descriptors(&rest)));
    Ok(())
}

fn descriptors(views: &[DetachedMount]) -> Vec<BorrowedFd<'_>> {
    views.iter().filter_map(|view| view.fd.as_ref().map(AsFd::as_fd)).collect()
}

fn namespaces(network: PayloadNetwork) -> u64 {
    let mut flags = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    if network.is_private() {
        flags |= libc::CLONE_NEWNET;
    }
    flags as u64
}

/// Root prepares mounts in a tree of its own, so that nothing ever shows on the host.
fn make_private_tree() -> Result<(), LaunchRefusal> {
    // SAFETY: the launcher has one thread and shares its descriptors with nobody.
    unsafe { sys::unshare(libc::CLONE_NEWNS) }
        .map_err(|e| LaunchRefusal::new(LaunchStep::Namespaces, e, "mounts"))?;
    stop_propagation()
}

/// Cuts the mount tree of this namespace off from every other.
pub(super) fn stop_propagation() -> Result<(), LaunchRefusal> {
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|e| LaunchRefusal::new(LaunchStep::Namespaces, e, "propagation"))
}

/// One user and one group: the payload's.
fn write_id_maps(pid: i32, identity: &PayloadIdentity) -> Result<(), LaunchRefusal> {
    let write = |file: &str, text: String| {
        let path = format!("/proc/{pid}/{file}");
        fs::write(&path, text).map_err(|e| LaunchRefusal::new(LaunchStep::IdMap, e, path))
    };
    if !identity.by_root {
        // Without this the kernel lets an ordinary user write no gid map.
        write("setgroups", "deny".into())?;
    }
    write("gid_map", format!("{} {} 1", identity.inside_gid, identity.gid))?;
    write("uid_map", format!("{} {} 1", identity.inside_uid, identity.uid))
}
