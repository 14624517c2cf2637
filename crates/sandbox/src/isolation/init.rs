//! Pid 1 inside: builds the private root, confines itself, starts the payload, reaps, and reports.

use std::fs;
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Gid, Uid};
use rustix::process::{DumpableBehavior, Pid, WaitOptions};

use super::cgroup::Cgroup;
use super::enforcement::SandboxEnforcement;
use super::identity::PayloadIdentity;
use super::job::{BaseMounts, PayloadStreams, SandboxJob};
use super::root::PrivateRoot;
use super::step::{LaunchRefusal, LaunchStep};
use super::terminal::PseudoTerminal;
use super::view::{DetachedMount, DetachedMounts};
use super::wire::{self, GO_ON, InitMessage, TERMINATE};
use super::{confine, launcher, sys, terminal};
use crate::mount::{Mount, MountSource};

/// Where the workspace is inside.
pub(super) const WORKSPACE: &str = "/holon/workspace";

/// Runs as pid 1 of the new namespaces and never returns.
pub(super) fn run(socket: &UnixStream, ground: &BaseMounts, launcher: UnixStream, groups: &Cgroup) -> ! {
    let (job, held) = match build(socket, ground, launcher, groups) {
        Ok(done) => done,
        Err(refusal) => {
            let _ = wire::send(socket, &InitMessage::Refused(refusal));
            sys::exit_now(1)
        }
    };
    let Ok(children) = sys::child_events() else { sys::exit_now(1) };
    let own = match open_terminal(socket, job.streams) {
        Ok(own) => own,
        Err(refusal) => {
            let _ = wire::send(socket, &InitMessage::Refused(refusal));
            sys::exit_now(1)
        }
    };
    if wire::send(socket, &InitMessage::Ready(held)).is_err() {
        sys::exit_now(1);
    }
    if job.argv.is_empty() {
        let _ = wire::send(socket, &InitMessage::Exited(0));
        sys::exit_now(0);
    }
    match start(&job, own.as_ref()) {
        Ok(pid) => attend(socket, children.as_fd(), pid, own.as_ref()),
        Err(refusal) => {
            let _ = wire::send(socket, &InitMessage::Refused(refusal));
            sys::exit_now(127)
        }
    }
}

/// Everything from entering the namespaces to the last wall: first what needs no job, then the rest.
fn build(
    socket: &UnixStream,
    ground: &BaseMounts,
    mut launcher: UnixStream,
    groups: &Cgroup,
) -> Result<(SandboxJob, SandboxEnforcement), LaunchRefusal> {
    if launcher.read_exact(&mut [0]).is_err() {
        // No maps; the launcher reports why.
        sys::exit_now(1)
    }
    let mut held = SandboxEnforcement {
        user_ns: true,
        mount_ns: true,
        pid_ns: true,
        ipc_ns: true,
        uts_ns: true,
        cgroup_ns: true,
        net_ns: ground.network.is_private(),
        memory: groups.memory.clone(),
        files: Some("rlimit".into()),
        ..SandboxEnforcement::default()
    };
    become_payload_user(&ground.identity)?;
    launcher::stop_propagation()?;
    if ground.network.is_private() {
        sys::loopback_up().map_err(|e| LaunchRefusal::new(LaunchStep::Loopback, e, ""))?;
    }
    for port in ground.network.ports() {
        hand_out_listener(socket, *port)
            .map_err(|e| LaunchRefusal::new(LaunchStep::Loopback, e, "a listener of the host"))?;
    }
    rustix::system::sethostname(b"holon")
        .map_err(|e| LaunchRefusal::new(LaunchStep::Root, e, "host name"))?;
    let mut root = PrivateRoot::new()?;
    root.mount_proc()?;
    let counted = root.write_sysctl("kernel/pid_max", ground.limits.processes + 300);
    let mut ways = vec!["rlimit"];
    ways.extend(counted.then_some("pid_max"));
    ways.extend(groups.pids.as_deref());
    held.processes = Some(ways.join(" + "));
    // Room for exactly one more user namespace: the one that locks the mounts, made below.
    root.write_sysctl("user/max_user_namespaces", 1);
    // Counted against the user outside as well, who needs some too.
    root.write_sysctl("user/max_inotify_instances", 64);
    root.cover_proc()?;
    held.masked_proc = true;
    root.mount_terminals();

    let mut maker = DetachedMounts::new(ground.identity);
    let base = views_for(ground.mounts.clone(), &mut maker, ground, &launcher)?;
    let mut writable = writable_paths(&base, &[]);
    root.attach_all(base)?;

    let from = if ground.identity.by_root { &launcher } else { socket };
    let Ok(mut job) = wire::receive::<SandboxJob>(from) else {
        // No job: nothing to do, and nobody to tell.
        sys::exit_now(1)
    };
    let views = views_for(std::mem::take(&mut job.mounts), &mut maker, ground, &launcher)?;
    writable.extend(writable_paths(&views, &job.writable_below));
    root.attach_all(views)?;
    if !job.writable_below.is_empty() {
        root.reopen(Path::new(WORKSPACE), &job.writable_below)?;
    }
    root.enter()?;
    held.private_root = true;
    lock_mounts(&ground.identity)?;
    held.locked_mounts = true;
    confine::limit(&ground.limits)?;
    held.landlock = confine::landlock(&writable)?;
    confine::drop_capabilities()?;
    held.capabilities_dropped = true;
    held.no_new_privs = true;
    // An ordinary user of the kernel may have number 0 where the launcher lives, as in a container.
    held.unprivileged_payload = ground.identity.uid != 0 || !ground.identity.by_root;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|e| LaunchRefusal::new(LaunchStep::Identity, e, "dumpable"))?;
    confine::seccomp()?;
    held.seccomp = true;
    Ok((job, held))
}

/// The mounts of a plan: made here for an ordinary user, handed over by the launcher for root.
fn views_for(
    mounts: Vec<Mount>,
    maker: &mut DetachedMounts,
    ground: &BaseMounts,
    launcher: &UnixStream,
) -> Result<Vec<DetachedMount>, LaunchRefusal> {
    if !ground.identity.by_root {
        return maker.make(mounts);
    }
    let count = mounts.iter().filter(|m| DetachedMount::needs_fd(&m.source)).count();
    let Ok(fds) = wire::take_fds(launcher, count) else {
        // The launcher reports why there are none.
        sys::exit_now(1)
    };
    let mut fds = fds.into_iter();
    let with_fd = |mount: Mount| {
        let fd = if DetachedMount::needs_fd(&mount.source) { fds.next() } else { None };
        DetachedMount { mount, fd }
    };
    Ok(mounts.into_iter().map(with_fd).collect())
}

/// From root to the payload's uid; capabilities inside the namespace survive until they are dropped on purpose.
fn become_payload_user(identity: &PayloadIdentity) -> Result<(), LaunchRefusal> {
    if !identity.by_root {
        return Ok(());
    }
    let refuse = |e: rustix::io::Errno| LaunchRefusal::new(LaunchStep::Identity, e, "");
    let (uid, gid) = (Uid::from_raw(identity.inside_uid), Gid::from_raw(identity.inside_gid));
    rustix::thread::set_keep_capabilities(true).map_err(refuse)?;
    rustix::thread::set_thread_groups(&[]).map_err(refuse)?;
    rustix::thread::set_thread_res_gid(gid, gid, gid).map_err(refuse)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid).map_err(refuse)?;
    // Changing the uid made this process undumpable, which would hide its own /proc entries from it.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable).map_err(refuse)?;
    let mut sets = rustix::thread::capabilities(None).map_err(refuse)?;
    sets.effective = sets.permitted;
    rustix::thread::set_capabilities(None, sets).map_err(refuse)
}

/// What Landlock leaves writable: the writable mounts, or, for a scoped workspace, its open directories.
fn writable_paths(views: &[DetachedMount], below: &[PathBuf]) -> Vec<PathBuf> {
    let (workspace, devices) = (Path::new(WORKSPACE), Path::new("/dev"));
    let is_bind = |v: &DetachedMount| matches!(v.mount.source, MountSource::Bind(_));
    let mut paths: Vec<PathBuf> = views
        .iter()
        .filter(|v| v.mount.writable && (below.is_empty() || v.mount.at != workspace))
        .map(|v| {
            if v.mount.at.parent() == Some(devices) && is_bind(v) {
                devices.to_owned()
            } else {
                v.mount.at.clone()
            }
        })
        .collect();
    // One rule for all devices.
    paths.dedup();
    paths.extend(below.iter().map(|p| workspace.join(p)));
    paths
}

/// Moves into a second user and mount namespace: mounts inherited from the first can no longer be changed or uncovered
/// by anyone inside, capabilities or not.
fn lock_mounts(identity: &PayloadIdentity) -> Result<(), LaunchRefusal> {
    // SAFETY: init has one thread and shares its descriptors with nobody.
    unsafe { sys::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) }
        .map_err(|e| LaunchRefusal::new(LaunchStep::Lock, e, ""))?;
    let write = |file: &str, text: String| {
        fs::write(Path::new("/proc/self").join(file), text)
            .map_err(|e| LaunchRefusal::new(LaunchStep::Lock, e, file))
    };
    let (uid, gid) = (identity.inside_uid, identity.inside_gid);
    write("setgroups", "deny".into())?;
    write("gid_map", format!("{gid} {gid} 1"))?;
    write("uid_map", format!("{uid} {uid} 1"))
}

/// A socket belongs to the namespace it was made in, whoever holds it: the host answers what the payload sends here.
fn hand_out_listener(socket: &UnixStream, port: u16) -> std::io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    wire::give_fds(socket, &[listener.as_fd()])
}

/// A terminal of the payload's own, if its job asks for one: opened inside, so that it has a name there. The host gets the
/// other end.
fn open_terminal(socket: &UnixStream, streams: PayloadStreams) -> Result<Option<OwnedFd>, LaunchRefusal> {
    let PayloadStreams::Terminal(size) = streams else { return Ok(None) };
    let refuse = |e| LaunchRefusal::new(LaunchStep::Exec, e, "a terminal inside");
    let PseudoTerminal { outside, inside } = PseudoTerminal::open(size).map_err(refuse)?;
    wire::give_fds(socket, &[outside.as_fd()]).map_err(refuse)?;
    Ok(Some(inside))
}

/// Starts the command with a clean slate: no terminal but its own, default signals, none of them blocked. Init waits with SIGCHLD
/// blocked, and a command inherits what its starter blocks; whoever waits for its own children by signal would wait for ever.
fn start(job: &SandboxJob, own: Option<&OwnedFd>) -> Result<i32, LaunchRefusal> {
    let _ = rustix::process::setsid();
    sys::default_signals();
    let mut command = Command::new(&job.argv[0]);
    command.args(&job.argv[1..]).env_clear().envs(job.env.iter().map(|(k, v)| (k, v))).current_dir(&job.cwd);
    if job.streams == PayloadStreams::Channel {
        let refuse = |e| LaunchRefusal::new(LaunchStep::Exec, e, "standard input");
        command.stdin(std::io::stdout().as_fd().try_clone_to_owned().map_err(refuse)?);
    }
    if let Some(own) = own {
        let refuse = |e| LaunchRefusal::new(LaunchStep::Exec, e, "its terminal");
        terminal::start_on(&mut command, own).map_err(refuse)?;
    }
    let refuse = |e| LaunchRefusal::new(LaunchStep::Exec, e, "signals");
    sys::unblock_signals().map_err(refuse)?;
    let started = command.spawn();
    // A child that ends in between is found all the same: waiting starts with a look.
    sys::block_child_signal().map_err(refuse)?;
    match started {
        Ok(child) => Ok(child.id() as i32),
        Err(e) => Err(LaunchRefusal::new(LaunchStep::Exec, e, job.argv[0].to_string_lossy())),
    }
}

/// Reaps everything until the payload itself ends. Returning from pid 1 ends every process inside.
fn attend(
    socket: &UnixStream,
    children: std::os::fd::BorrowedFd<'_>,
    payload: i32,
    own: Option<&OwnedFd>,
) -> ! {
    // Without a terminal nobody could let a stopped payload go on.
    let stops = if own.is_some() { WaitOptions::UNTRACED } else { WaitOptions::empty() };
    loop {
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG | stops) {
            if Some(pid) == Pid::from_raw(payload) {
                if status.stopped() {
                    let _ = wire::send(socket, &InitMessage::Stopped);
                    continue;
                }
                let message = match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => InitMessage::Exited(code),
                    (_, Some(signal)) => InitMessage::Signalled(signal),
                    _ => InitMessage::Exited(1),
                };
                let _ = wire::send(socket, &message);
                sys::exit_now(0);
            }
        }
        let mut fds = [PollFd::new(socket, PollFlags::IN), PollFd::new(&children, PollFlags::IN)];
        if poll(&mut fds, None).is_err() {
            continue;
        }
        if !fds[0].revents().is_empty() {
            let mut byte = [0];
            match (&mut &*socket).read(&mut byte) {
                // SAFETY: this is init of its pid namespace.
                Ok(1) if byte[0] == TERMINATE => unsafe { sys::signal_all(libc::SIGTERM) },
                Ok(1) if byte[0] == GO_ON => {
                    own.iter().for_each(|own| terminal::go_on(own, payload));
                }
                // The host is gone or wants an end: so does everything here.
                _ => sys::exit_now(0),
            }
        }
        if !fds[1].revents().is_empty() {
            let _ = rustix::io::read(children, &mut [0; 512]);
        }
    }
}
