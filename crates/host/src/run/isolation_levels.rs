//! Which walls a run gets: the one asked for, else native, else the strongest this machine and the mode allow.

use std::path::Path;

use holon_sandbox::backend::{NativeSandbox, SandboxBackend};
use holon_sandbox::fallback::{
    Bubblewrap, IsolationDemand, LandlockOnly, OciSandbox, SandboxChoice, UnsandboxedBackend, choose_backend,
    probe_all,
};
use holon_sandbox::isolation::{BaseMounts, LaunchRefusal};

use super::Host;
use super::output::not_started;
use crate::error::HostError;
use crate::plan::RunPlan;

/// The first backend to try. Nothing is probed on this path: building the walls is the probe.
pub(super) fn first(
    host: &Host,
    plan: &RunPlan,
    ground: BaseMounts,
) -> Result<Box<dyn SandboxBackend>, HostError> {
    let level = plan.profile.minimum;
    if matches!(plan.sandbox, SandboxChoice::Auto | SandboxChoice::Native) {
        let native = NativeSandbox::new(host.launcher.clone());
        // Both of its levels are the strongest there is, so no minimum refuses it.
        native.warm_up(ground);
        return Ok(Box::new(native));
    }
    let backend = build(host, plan, plan.sandbox)?;
    let accepted = plan.sandbox == SandboxChoice::None && plan.accept_no_isolation;
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
pub(super) fn next(
    host: &Host,
    plan: &RunPlan,
    refused: &LaunchRefusal,
    layers: &Path,
) -> Result<Box<dyn SandboxBackend>, HostError> {
    let env = |name: &str| (host.env)(name).and_then(|v| v.into_string().ok());
    let mut probes = probe_all(&host.launcher, &env, plan.agent.image.as_deref(), layers);
    probes.native = Err(refused.clone());
    let wanted = IsolationDemand {
        choice: SandboxChoice::Auto,
        minimum: plan.profile.minimum,
        image: plan.agent.image.is_some(),
        accepts_none: false,
    };
    let chosen = choose_backend(&wanted, &probes).map_err(|e| HostError::Walls {
        message: format!("mode {} cannot be enforced here: {e}", plan.profile.name),
        hint: Some("`holon doctor` explains what this machine can enforce".into()),
    })?;
    build(host, plan, chosen.backend)
}

fn build(host: &Host, plan: &RunPlan, choice: SandboxChoice) -> Result<Box<dyn SandboxBackend>, HostError> {
    let launcher = host.launcher.clone();
    Ok(match choice {
        SandboxChoice::Auto | SandboxChoice::Native => Box::new(NativeSandbox::new(launcher)),
        SandboxChoice::Bubblewrap => Box::new(Bubblewrap { launcher, ..Bubblewrap::default() }),
        SandboxChoice::Landlock => Box::new(LandlockOnly { launcher }),
        SandboxChoice::None => Box::new(UnsandboxedBackend { launcher }),
        SandboxChoice::Oci => {
            let env = |name: &str| (host.env)(name).and_then(|v| v.into_string().ok());
            Box::new(
                OciSandbox::detect(&env, plan.agent.image.as_deref(), launcher)
                    .map_err(|r| not_started(&r))?,
            )
        }
    })
}
