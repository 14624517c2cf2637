//! The last steps before the payload's first instruction: limits, Landlock, capabilities, seccomp.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::job::PayloadLimits;
use super::step::{LaunchRefusal, LaunchStep};
use super::sys;

/// The compiled filter: see `policies/seccomp.json`.
static SECCOMP: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/seccomp.bpf"));

/// Per-process limits, inherited by everything the payload starts.
pub(super) fn limit(limits: &PayloadLimits) -> Result<(), LaunchRefusal> {
    let set = |resource, value: u64| {
        let limit = Rlimit { current: Some(value), maximum: Some(value) };
        setrlimit(resource, limit)
    };
    let refuse =
        |what: &'static str| move |e: rustix::io::Errno| LaunchRefusal::new(LaunchStep::Limits, e, what);
    // One byte is too little for any core file, and the only value that keeps a core handler of the host from starting.
    set(Resource::Core, 1).map_err(refuse("core"))?;
    lower(Resource::Nofile, limits.files).map_err(refuse("files"))?;
    lower(Resource::Fsize, limits.file_mb.saturating_mul(1 << 20)).map_err(refuse("file size"))?;
    lower(Resource::Nproc, limits.processes).map_err(refuse("processes"))?;
    lower(Resource::Memlock, 64 << 20).map_err(refuse("locked memory"))
}

/// Sets both limits to `value`, or to the present hard limit where that is lower already.
fn lower(resource: Resource, value: u64) -> Result<(), rustix::io::Errno> {
    let hard = rustix::process::getrlimit(resource).maximum.map_or(value, |hard| hard.min(value));
    setrlimit(resource, Rlimit { current: Some(hard), maximum: Some(hard) })
}

/// Everything visible may be read and executed; only `writable` may be changed. Returns the Landlock version held.
pub(super) fn landlock(writable: &[PathBuf]) -> Result<Option<u32>, LaunchRefusal> {
    let abi = ABI::V6;
    let read = AccessFs::from_read(abi) | AccessFs::IoctlDev;
    let refuse = |e: &dyn std::fmt::Display| LaunchRefusal {
        step: LaunchStep::Landlock,
        errno: 0,
        message: e.to_string(),
        detail: String::new(),
    };
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))
        .and_then(|r| r.scope(Scope::from_all(abi)))
        .and_then(Ruleset::create)
        .map_err(|e| refuse(&e))?;
    let rule = |path: &std::path::Path, access: BitFlags<AccessFs>| {
        PathFd::new(path).map(|fd| PathBeneath::new(fd, access)).map_err(|e| refuse(&e))
    };
    let mut ruleset = ruleset.add_rule(rule("/".as_ref(), read)?).map_err(|e| refuse(&e))?;
    for path in writable {
        // /dev stands for its devices, which can be written to but not replaced.
        let folder = path.is_dir() && path != Path::new("/dev");
        let access = if folder { AccessFs::from_all(abi) } else { AccessFs::from_file(abi) };
        ruleset = ruleset.add_rule(rule(path, access)?).map_err(|e| refuse(&e))?;
    }
    let status = ruleset.restrict_self().map_err(|e| refuse(&e))?;
    Ok(match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _) => None,
        (_, landlock::LandlockStatus::Available { effective_abi, .. }) => Some(effective_abi as u32),
        _ => None,
    })
}

/// Empties every capability set and forbids gaining any. After the last user namespace, which would fill them again.
pub(super) fn drop_capabilities() -> Result<(), LaunchRefusal> {
    let refuse = |e: rustix::io::Errno| LaunchRefusal::new(LaunchStep::Capabilities, e, "");
    rustix::thread::clear_ambient_capability_set().map_err(refuse)?;
    for number in 0..64 {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // Past the last capability this kernel knows.
            Err(rustix::io::Errno::INVAL) => break,
            Err(e) => return Err(refuse(e)),
        }
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets).map_err(refuse)?;
    rustix::thread::set_no_new_privs(true).map_err(refuse)
}

/// The filter as the kernel's instructions, for programs that load it themselves.
pub(crate) fn seccomp_bytes() -> &'static [u8] {
    SECCOMP
}

/// Loads the filter; only what it allows may follow.
pub(super) fn seccomp() -> Result<(), LaunchRefusal> {
    let program: Vec<libc::sock_filter> = SECCOMP
        .chunks_exact(8)
        .map(|c| libc::sock_filter {
            code: u16::from_le_bytes([c[0], c[1]]),
            jt: c[2],
            jf: c[3],
            k: u32::from_le_bytes([c[4], c[5], c[6], c[7]]),
        })
        .collect();
    sys::load_seccomp(&program).map_err(|e| LaunchRefusal::new(LaunchStep::Seccomp, e, ""))
}
