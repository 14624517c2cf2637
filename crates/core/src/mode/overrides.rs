//! Values of a single run, from flags or its spec, laid over a profile.

use std::collections::BTreeMap;

use crate::access::Access;
use crate::duration::HumanDuration;

use super::apply::{ModeLayer, join};
use super::error::{ModeError, Widening};
use super::file::ModeFile;
use super::narrow::widenings;
use super::profile::{NetworkReach, Profile, ValueOrigin};

/// Values given for one run; they may only narrow the profile.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunOverrides {
    /// A shorter wall time.
    pub timeout: Option<HumanDuration>,
    /// A shorter idle time.
    pub idle_timeout: Option<HumanDuration>,
    /// Fewer rounds.
    pub rounds: Option<u64>,
    /// Less money.
    pub cost_usd: Option<f64>,
    /// Less output.
    pub output_mb: Option<u64>,
    /// Less network; the command line alone may also give `host` to a mode that delivers changes.
    pub network: Option<NetworkReach>,
    /// Further artifacts, with whether each is required.
    pub artifacts: BTreeMap<String, bool>,
}

impl Profile {
    /// The profile with values of one run laid over it; anything wider is an error naming the key.
    pub fn narrowed(&self, overrides: &RunOverrides, origin: &ValueOrigin) -> Result<Self, ModeError> {
        let mut file = ModeFile::default();
        file.limits.timeout = overrides.timeout;
        file.limits.idle_timeout = overrides.idle_timeout;
        file.limits.rounds = overrides.rounds;
        file.limits.cost_usd = overrides.cost_usd;
        file.limits.output_mb = overrides.output_mb;
        file.network.tools = overrides.network;
        let pick = |wanted: bool| -> Option<Vec<String>> {
            let names: Vec<String> =
                overrides.artifacts.iter().filter(|(_, r)| **r == wanted).map(|(n, _)| n.clone()).collect();
            (!names.is_empty()).then_some(names)
        };
        file.artifacts.required = pick(true);
        file.artifacts.optional = pick(false);

        let place = origin.to_string();
        let mut layer = ModeLayer { out: self.clone(), path: &place, origin: origin.clone() };
        layer.surroundings(&file)?;
        layer.limits(&file)?;
        layer.artifacts(&file)?;
        let child = layer.out;
        let mut found = widenings(&child, self);
        if matches!(origin, ValueOrigin::Flag { .. }) && self.access.delivers() {
            found.retain(|w: &Widening| w.key != "network.tools");
        }
        if found.is_empty() {
            return Ok(child);
        }
        Err(ModeError::Wider {
            file: place,
            mode: self.name.clone(),
            parent: "its profile".to_owned(),
            widenings: found,
        })
    }

    /// The variant behind `--allow-writes`: the same mode on a delivered snapshot, so a patch is required too.
    pub fn with_writes(&self) -> Result<Self, ModeError> {
        if !self.writes_on_request || self.access != Access::Scratch {
            return Err(ModeError::NoWritesOnRequest { mode: self.name.clone() });
        }
        let mut out = self.clone();
        let origin = ValueOrigin::Flag { flag: "--allow-writes".to_owned() };
        out.access = Access::ReadWrite;
        out.writes_on_request = false;
        join(&mut out.artifacts.required, &["diff.patch".to_owned()], false);
        out.artifacts.optional.retain(|a| a != "diff.patch");
        out.origins.insert("workspace.access".to_owned(), origin.clone());
        out.origins.insert("artifacts.required".to_owned(), origin);
        Ok(out)
    }
}
