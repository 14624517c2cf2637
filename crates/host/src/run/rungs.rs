//! Which walls a run gets: the one asked for, else native, else the strongest this machine and the mode allow.

use holon_sandbox::backend::{Backend, Native};
use holon_sandbox::fallback::{Bubblewrap, Choice, LandlockOnly, Oci, Unwalled, Wanted, ladder, probe_all};
use holon_sandbox::walls::{Ground, Refusal};

use super::Host;
use super::output::not_started;
use crate::error::HostError;
use crate::plan::RunPlan;

/// The first backend to try. Nothing is probed on this path: building the walls is the probe.
pub(super) fn first(host: &Host, plan: &RunPlan, ground: Ground) -> Result<Box<dyn Backend>, HostError> {
    let level = plan.profile.minimum;
    if matches!(plan.sandbox, Choice::Auto | Choice::Native) {
        let native = Native::new(host.launcher.clone());
        // Both of its levels are the strongest there is, so no minimum refuses it.
        native.warm_up(ground);
        return Ok(Box::new(native));
    }
    let backend = build(host, plan, plan.sandbox)?;
    let accepted = plan.sandbox == Choice::None && plan.accept_no_isolation;
    if !backend.level().meets(level) && !accepted {
        return Err(HostError::Walls {
            message: format!(
                "mode {} needs walls of level {level}; {} gives only {}",
                plan.profile.name,
                backend.name(),
                backend.level()
            ),
            hint: Some("leave --sandbox out, or choose a stronger one".into()),
        });
    }
    Ok(backend)
}

/// The next best after native walls were refused, if the mode accepts it.
pub(super) fn next(host: &Host, plan: &RunPlan, refused: &Refusal) -> Result<Box<dyn Backend>, HostError> {
    let env = |name: &str| (host.env)(name).and_then(|v| v.into_string().ok());
    let mut probes = probe_all(&host.launcher, &env, plan.agent.image.as_deref());
    probes.native = Err(refused.clone());
    let wanted = Wanted {
        choice: Choice::Auto,
        minimum: plan.profile.minimum,
        image: plan.agent.image.is_some(),
        accepts_none: false,
    };
    let chosen = ladder(&wanted, &probes).map_err(|e| HostError::Walls {
        message: format!("mode {} cannot be enforced here: {e}", plan.profile.name),
        hint: Some("`holon doctor` explains what this machine can enforce".into()),
    })?;
    build(host, plan, chosen.backend)
}

fn build(host: &Host, plan: &RunPlan, choice: Choice) -> Result<Box<dyn Backend>, HostError> {
    let launcher = host.launcher.clone();
    Ok(match choice {
        Choice::Auto | Choice::Native => Box::new(Native::new(launcher)),
        Choice::Bubblewrap => Box::new(Bubblewrap { launcher, ..Bubblewrap::default() }),
        Choice::Landlock => Box::new(LandlockOnly { launcher }),
        Choice::None => Box::new(Unwalled { launcher }),
        Choice::Oci => {
            let env = |name: &str| (host.env)(name).and_then(|v| v.into_string().ok());
            Box::new(Oci::detect(&env, plan.agent.image.as_deref(), launcher).map_err(|r| not_started(&r))?)
        }
    })
}
