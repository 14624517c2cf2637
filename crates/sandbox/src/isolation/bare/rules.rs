//! Landlock as the only wall in front of the host's files: what is not named here can be neither read nor written.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{FileType, Mode, OFlags};
use serde::{Deserialize, Serialize};

use super::super::step::{LaunchRefusal, LaunchStep};
use super::UNREACHABLE;
use crate::mount;

/// Before version 3 any file can be cut to nothing, whatever the rules say.
const OLDEST: u32 = 3;
const NEWEST: ABI = ABI::V6;

/// The files a payload may reach, by their names on the host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LandlockReach {
    /// Read and executed, with everything below.
    #[serde(with = "mount::paths")]
    pub read: Vec<PathBuf>,
    /// Only listed: folders of which some part is held back.
    #[serde(with = "mount::paths")]
    pub list: Vec<PathBuf>,
    /// Also written, with everything below.
    #[serde(with = "mount::paths")]
    pub write: Vec<PathBuf>,
}

/// Restricts this process and everything it starts; returns the version in force.
pub(super) fn apply(reach: &LandlockReach, internet: bool) -> Result<u32, LaunchRefusal> {
    let net = if internet { BitFlags::EMPTY } else { AccessNet::from_all(NEWEST) };
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))
        .and_then(|r| if net.is_empty() { Ok(r) } else { r.handle_access(net) })
        .and_then(|r| r.scope(Scope::from_all(NEWEST)))
        .and_then(Ruleset::create)
        .map_err(|e| refuse(&e))?;
    for path in &reach.list {
        ruleset = allow(ruleset, path, AccessFs::ReadDir.into())?;
    }
    for path in &reach.read {
        ruleset = allow(ruleset, path, AccessFs::from_read(NEWEST))?;
    }
    for path in &reach.write {
        ruleset = allow(ruleset, path, AccessFs::from_all(NEWEST))?;
    }
    let status = ruleset.restrict_self().map_err(|e| refuse(&e))?;
    match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _) => {
            Err(refuse(&"this kernel has no Landlock (Linux 6.2 or newer is needed)"))
        }
        (_, LandlockStatus::Available { effective_abi, .. }) if effective_abi as u32 >= OLDEST => {
            Ok(effective_abi as u32)
        }
        (_, found) => Err(refuse(&format!(
            "Landlock is too old here ({found:?}): version {OLDEST}, Linux 6.2, is needed"
        ))),
    }
}

fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, LaunchRefusal> {
    let unreachable = |e: rustix::io::Errno| {
        let mut refusal = LaunchRefusal::new(LaunchStep::Bind, e, path.display().to_string());
        if e == rustix::io::Errno::ACCESS {
            refusal.message = format!("{}. {UNREACHABLE}", refusal.message);
        }
        refusal
    };
    let fd = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(unreachable)?;
    let mode = rustix::fs::fstat(&fd).map_err(unreachable)?.st_mode;
    let access =
        if FileType::from_raw_mode(mode).is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
    ruleset.add_rule(PathBeneath::new(fd, access)).map_err(|e| refuse(&e))
}

fn refuse(e: &dyn std::fmt::Display) -> LaunchRefusal {
    LaunchRefusal { step: LaunchStep::Landlock, errno: 0, message: e.to_string(), detail: String::new() }
}
