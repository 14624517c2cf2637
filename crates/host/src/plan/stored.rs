//! The plan in a run's folder: written before anything starts, without credentials, and read back to do the run again.

use std::fs;
use std::io;

use holon_core::redact::Redactor;
use serde::Deserialize;

use super::{PLAN_VERSION, RunPlan};
use crate::error::HostError;
use crate::store::{RunFolder, write_atomic};

/// The name of the plan in a run's folder.
const PLAN_FILE: &str = "run-plan.json";

/// What stands in a stored plan for a credential, before its name.
const MARK: &str = "[redacted:";

#[derive(Deserialize)]
struct VersionOnly {
    version: u32,
}

impl RunPlan {
    /// The plan as JSON.
    pub fn to_json(&self) -> Result<String, HostError> {
        serde_json::to_string_pretty(self).map(|text| text + "\n").map_err(|e| {
            HostError::usage(format!("the plan of the run cannot be written: {e}"), "this is a bug in Holon")
        })
    }

    /// Reads a plan; one of a version that is not known is refused by that.
    pub fn from_json(text: &[u8]) -> Result<Self, HostError> {
        let wrong = |e: serde_json::Error| {
            HostError::run(format!("the plan of the run cannot be read: {e}"), "start the run anew")
        };
        let VersionOnly { version } = serde_json::from_slice(text).map_err(wrong)?;
        if version == 0 || version > PLAN_VERSION {
            return Err(HostError::run(
                format!(
                    "the plan of the run has version {version}, and this Holon knows {PLAN_VERSION} at most"
                ),
                "carry it out with the Holon that made it, or start the run anew",
            ));
        }
        serde_json::from_slice(text).map_err(wrong)
    }

    /// Writes it into a run's folder; a credential in it is replaced by its name.
    pub(crate) fn save(&self, folder: &RunFolder, redactor: &Redactor) -> Result<(), HostError> {
        let value = serde_json::to_value(self).unwrap_or_default();
        let text = serde_json::to_vec_pretty(&redactor.redact_json(&value)).unwrap_or_default();
        write_atomic(&folder.path().join(PLAN_FILE), &text)
    }

    /// The plan of a stored run; nothing in the folder of a run that was made before plans were kept. `secrets` are the
    /// values that stand behind the names in it.
    pub(crate) fn load(folder: &RunFolder, secrets: &[(String, String)]) -> Result<Option<Self>, HostError> {
        let Some(mut plan) = Self::as_stored(folder)? else { return Ok(None) };
        plan.fill_in(secrets)?;
        Ok(Some(plan))
    }

    /// The plan of a stored run with names where credentials were: to tell of it, not to do it.
    pub(crate) fn as_stored(folder: &RunFolder) -> Result<Option<Self>, HostError> {
        let path = folder.path().join(PLAN_FILE);
        match fs::read(&path) {
            Ok(text) => Self::from_json(&text).map(Some),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(HostError::io("read", &path)(e)),
        }
    }

    /// Puts values where names of variables stand for them, in what is given to programs. The goal stays as it was told.
    fn fill_in(&mut self, secrets: &[(String, String)]) -> Result<(), HostError> {
        let servers = self.servers.iter_mut().flat_map(|server| &mut server.argv);
        let texts = self.agent.args.iter_mut().chain(servers);
        let texts = texts.chain(&mut self.checks).chain(self.spec.context.env.values_mut());
        for text in texts.chain(&mut self.spec.constraints.checks) {
            for (name, value) in secrets {
                *text = text.replace(&format!("{MARK}{name}]"), value);
            }
            if text.contains(MARK) {
                return Err(HostError::run(
                    "the run was given a credential that was not written down",
                    "set the variable that held it, or start the run anew with the same flags",
                ));
            }
        }
        Ok(())
    }
}
