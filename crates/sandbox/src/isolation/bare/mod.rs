//! The launcher without namespaces of its own: it starts one command, confines it as far as the kernel lets any process
//! confine itself, and ends everything the command leaves behind. The weaker backends are made of this; see
//! `crate::fallback`.
//!
//! ```text
//! host ──spawn──▶ launcher (subreaper, outside every wall) ──fork──▶ limits, Landlock, seccomp ──exec──▶ command
//! ```
//! Because the launcher is single-threaded, descriptors can be handed to the command without racing another thread that
//! forks; because it dies with the socket, a killed host takes its payload along.

mod attend;
mod broker;
mod descendants;
mod filter;
mod rules;

use std::ffi::OsString;
use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use rustix::fs::{Access, AtFlags, CWD, Gid, MemfdFlags, Uid};
use rustix::io::FdFlags;
use serde::{Deserialize, Serialize};

use super::cgroup::Cgroup;
use super::enforcement::SandboxEnforcement;
use super::identity::is_kernel_root;
use super::job::{PayloadLimits, PayloadStreams, SandboxJob};
use super::step::{LaunchRefusal, LaunchStep};
use super::wire::{self, InitMessage};
use super::{confine, sys};
use crate::mount;
use broker::MetadataBroker;

pub(crate) use filter::MetadataPolicy;
pub(crate) use rules::LandlockReach;

/// The number of the first descriptor of [`BareCommand::handed`]; the others follow.
pub(crate) const FIRST_HANDED: i32 = 20;

/// What to do when a payload that root starts without a root of its own cannot get to its folders.
pub(crate) const UNREACHABLE: &str = "Started by root, the payload is a user of its own, and this folder is closed to \
    others: run as an ordinary user, or use --sandbox oci";

/// One command and what to confine it with.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct BareCommand {
    /// The command; empty for a probe that only confines itself.
    #[serde(with = "mount::strings")]
    pub argv: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(String, String)>,
    /// Working directory on the host.
    #[serde(with = "mount::path")]
    pub cwd: PathBuf,
    /// What its standard streams are.
    pub streams: PayloadStreams,
    /// Uid and gid to become first, when root starts it.
    pub become_user: Option<(u32, u32)>,
    /// Stay root rather than fail when that user cannot enter `cwd`.
    pub or_stay: bool,
    /// Per-process limits.
    pub limits: Option<PayloadLimits>,
    /// Landlock, no capabilities, no new privileges and the system call filter.
    pub confined: Option<SelfConfinement>,
    /// Contents the command finds behind descriptors numbered from [`FIRST_HANDED`] on.
    pub handed: Vec<HandedDescriptor>,
    /// Whether everything the command starts belongs to it, however often it forks; false for clients of a daemon.
    pub adopt: bool,
    /// The command that asks it to end, where a signal would only reach a client.
    pub to_terminate: Vec<String>,
    /// Commands that end what is no descendant of ours, such as a container.
    pub at_end: Vec<Vec<String>>,
    /// A folder that goes when everything is over: a host that was killed cannot remove it any more.
    #[serde(with = "mount::optional_path", default)]
    pub to_remove: Option<PathBuf>,
}

impl BareCommand {
    /// A job as it is, as its own user and within its limits, with everything it starts; nothing else is confined.
    pub(crate) fn of(job: &SandboxJob) -> Self {
        Self {
            argv: job.argv.clone(),
            env: job.env.clone(),
            cwd: job.cwd.clone(),
            streams: job.streams,
            become_user: job.identity.owner(),
            limits: Some(job.limits),
            adopt: true,
            ..Self::default()
        }
    }
}

/// Walls a process can put up around itself.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct SelfConfinement {
    /// What Landlock leaves open.
    pub reach: LandlockReach,
    /// Whether internet sockets may be made.
    pub internet: bool,
    /// What becomes of changes of modes, owners, times and attributes: Landlock does not know these.
    pub metadata: MetadataPolicy,
}

/// What lies behind a handed descriptor.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum HandedDescriptor {
    /// These bytes, to be read.
    Bytes(Vec<u8>),
    /// This file, to be written.
    WriteTo(#[serde(with = "mount::path")] PathBuf),
}

/// Starts the command, attends to it until it ends or the host does, and leaves nothing behind.
pub(super) fn run(socket: &UnixStream, bare: &BareCommand, groups: &Cgroup) -> Result<(), LaunchRefusal> {
    let told = |e: std::io::Error| LaunchRefusal::new(LaunchStep::Job, e, "");
    sys::close_on_exec_from(3).map_err(told)?;
    if bare.adopt {
        // Orphans of the payload become our children, so that none can get out of sight by forking twice.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(|e| told(e.into()))?;
    }
    let handed = open_handed(&bare.handed)?;
    let children = sys::child_events().map_err(told)?;
    let (asks, answers) = UnixStream::pair().map_err(told)?;
    // SAFETY: nothing in the launcher starts a thread.
    match unsafe { sys::fork() } {
        Ok(sys::ForkSide::Child) => {
            drop(answers);
            payload(socket, bare, &handed, groups, asks)
        }
        Ok(sys::ForkSide::Parent(pid)) => {
            drop((handed, asks));
            let broker = MetadataBroker::of(bare, &answers);
            attend::until_the_end(socket, children.as_fd(), pid, bare, broker.as_ref());
            if let Some(folder) = &bare.to_remove {
                let _ = std::fs::remove_dir_all(folder);
            }
            Ok(())
        }
        Err(e) => Err(LaunchRefusal::new(LaunchStep::Exec, e, "fork")),
    }
}

/// Opens what the command will find behind its numbered descriptors.
fn open_handed(handed: &[HandedDescriptor]) -> Result<Vec<OwnedFd>, LaunchRefusal> {
    let mut open = Vec::new();
    for (number, what) in (FIRST_HANDED..).zip(handed) {
        let refuse =
            |e: std::io::Error| LaunchRefusal::new(LaunchStep::Job, e, format!("descriptor {number}"));
        let file: OwnedFd = match what {
            HandedDescriptor::Bytes(bytes) => {
                let fd =
                    rustix::fs::memfd_create("holon", MemfdFlags::CLOEXEC).map_err(|e| refuse(e.into()))?;
                let mut file = File::from(fd);
                file.write_all(bytes).and_then(|()| file.rewind()).map_err(refuse)?;
                file.into()
            }
            HandedDescriptor::WriteTo(path) => File::create(path).map_err(refuse)?.into(),
        };
        let placed = rustix::io::fcntl_dupfd_cloexec(&file, number).map_err(|e| refuse(e.into()))?;
        if placed.as_raw_fd() != number {
            return Err(refuse(std::io::Error::other("the number is taken")));
        }
        open.push(placed);
    }
    Ok(open)
}

/// In the new process: confines itself, says so, becomes the command.
fn payload(
    socket: &UnixStream,
    bare: &BareCommand,
    handed: &[OwnedFd],
    groups: &Cgroup,
    broker: UnixStream,
) -> ! {
    let held = match confine_self(bare, handed, groups, broker) {
        Ok(held) => held,
        Err(refusal) => {
            let _ = wire::send(socket, &InitMessage::Refused(refusal));
            sys::exit_now(1)
        }
    };
    if wire::send(socket, &InitMessage::Ready(held)).is_err() {
        sys::exit_now(1);
    }
    let Some(program) = bare.argv.first() else { sys::exit_now(0) };
    let mut command = Command::new(program);
    command
        .args(&bare.argv[1..])
        .env_clear()
        .envs(bare.env.iter().map(|(k, v)| (k, v)))
        .current_dir(&bare.cwd);
    if bare.streams == PayloadStreams::Channel
        && let Ok(channel) = std::io::stdout().as_fd().try_clone_to_owned()
    {
        command.stdin(channel);
    }
    let _ = sys::unblock_signals();
    sys::default_signals();
    let error = command.exec();
    let detail = program.to_string_lossy().into_owned();
    let _ = wire::send(socket, &InitMessage::Refused(LaunchRefusal::new(LaunchStep::Exec, error, detail)));
    sys::exit_now(127)
}

fn confine_self(
    bare: &BareCommand,
    handed: &[OwnedFd],
    groups: &Cgroup,
    broker: UnixStream,
) -> Result<SandboxEnforcement, LaunchRefusal> {
    let _ = rustix::process::setsid();
    let mut held = SandboxEnforcement { memory: groups.memory.clone(), ..SandboxEnforcement::default() };
    let other_user = bare.become_user.filter(|user| !bare.or_stay || can_enter(*user, &bare.cwd));
    let mut counted: Vec<&str> = groups.pids.as_deref().into_iter().collect();
    if let Some(mut limits) = bare.limits {
        if other_user.is_some() {
            counted.insert(0, "rlimit");
        } else {
            // The kernel counts all processes of the person here, not only the run's.
            limits.processes = u64::MAX;
        }
        confine::limit(&limits)?;
        held.files = Some("rlimit".into());
    }
    held.processes = (!counted.is_empty()).then(|| counted.join(" + "));
    if let Some((uid, gid)) = other_user {
        become_user(uid, gid, bare.confined.is_some())?;
    }
    held.unprivileged_payload = !is_kernel_root(rustix::process::geteuid().as_raw());
    for fd in handed {
        rustix::io::fcntl_setfd(fd, FdFlags::empty())
            .map_err(|e| LaunchRefusal::new(LaunchStep::Job, e, "descriptors"))?;
    }
    if let Some(confined) = &bare.confined {
        held.landlock = Some(rules::apply(&confined.reach, confined.internet)?);
        held.capabilities_dropped = drop_capabilities()?;
        held.no_new_privs = true;
        filter::load(confined.internet, confined.metadata, &broker)?;
        confine::seccomp()?;
        held.seccomp = true;
    }
    Ok(held)
}

/// Tries on the user's effective ids only, which can be taken off again.
fn can_enter((uid, gid): (u32, u32), folder: &std::path::Path) -> bool {
    let try_on = |uid: u32, gid: u32| {
        rustix::thread::set_thread_res_gid(None, Gid::from_raw(gid), None)
            .and_then(|()| rustix::thread::set_thread_res_uid(None, Uid::from_raw(uid), None))
    };
    let take_off = || {
        rustix::thread::set_thread_res_uid(None, Uid::ROOT, None)
            .and_then(|()| rustix::thread::set_thread_res_gid(None, Gid::ROOT, None))
    };
    let entered = try_on(uid, gid)
        .and_then(|()| rustix::fs::accessat(CWD, folder, Access::EXEC_OK | Access::READ_OK, AtFlags::EACCESS))
        .is_ok();
    take_off().is_ok() && entered
}

/// From root to the payload's user, for good. `keep` leaves the capabilities that are needed to empty the bounding set.
fn become_user(uid: u32, gid: u32, keep: bool) -> Result<(), LaunchRefusal> {
    let refuse = |e: rustix::io::Errno| LaunchRefusal::new(LaunchStep::Identity, e, format!("{uid}:{gid}"));
    if uid == 0 || gid == 0 {
        return Err(refuse(rustix::io::Errno::INVAL));
    }
    rustix::thread::set_keep_capabilities(keep).map_err(refuse)?;
    rustix::thread::set_thread_groups(&[]).map_err(refuse)?;
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    rustix::thread::set_thread_res_gid(gid, gid, gid).map_err(refuse)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid).map_err(refuse)?;
    if keep {
        // Only what emptying the sets takes: reading the host's files with root's capabilities would defeat the point.
        let mut sets = rustix::thread::capabilities(None).map_err(refuse)?;
        sets.effective = sets.permitted & rustix::thread::CapabilitySet::SETPCAP;
        rustix::thread::set_capabilities(None, sets).map_err(refuse)?;
    }
    Ok(())
}

/// Empties every set; an ordinary user has none to begin with and cannot empty the bounding set, which means nothing
/// once no privileges can be gained.
fn drop_capabilities() -> Result<bool, LaunchRefusal> {
    let refuse = |e: rustix::io::Errno| LaunchRefusal::new(LaunchStep::Capabilities, e, "");
    let sets = rustix::thread::capabilities(None).map_err(refuse)?;
    if !sets.permitted.is_empty() {
        confine::drop_capabilities()?;
        return Ok(true);
    }
    rustix::thread::clear_ambient_capability_set().map_err(refuse)?;
    let none = rustix::thread::CapabilitySet::empty();
    let empty = rustix::thread::CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, empty).map_err(refuse)?;
    rustix::thread::set_no_new_privs(true).map_err(refuse)?;
    Ok(true)
}
