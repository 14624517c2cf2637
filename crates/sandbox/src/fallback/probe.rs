//! What this machine can have, found out by doing: every rung builds its walls once around nothing.

use std::path::Path;
use std::time::Duration;

use holon_core::sandbox::IsolationLevel;

use super::bubblewrap::Bubblewrap;
use super::landlock_only::LandlockOnly;
use super::oci::OciSandbox;
use super::trial::try_rung;
use crate::backend::{NativeSandbox, SandboxBackend};
use crate::isolation::layout::system_root;
use crate::isolation::{
    LaunchRefusal, LaunchStep, Launcher, PayloadEnding, PayloadIdentity, PayloadLimits, PayloadNetwork,
    PayloadStreams, SandboxEnforcement, SandboxJob,
};

const PATIENCE: Duration = Duration::from_secs(30);

/// The answer of every rung.
#[derive(Debug, Clone)]
pub struct IsolationProbes {
    /// Native walls, and their level.
    pub native: Result<IsolationLevel, LaunchRefusal>,
    /// A container engine.
    pub oci: Result<(), LaunchRefusal>,
    /// Bubblewrap.
    pub bubblewrap: Result<(), LaunchRefusal>,
    /// Landlock, and its version.
    pub landlock: Result<u32, LaunchRefusal>,
}

/// Tries every rung; `env` and `image` are as for [`OciSandbox::detect`]. Rungs that see the host's folders where they are make a
/// short run in one below `below`, where those of runs are: a folder the payload cannot get to is a rung that does not start.
/// Takes some tens of milliseconds without an engine and some hundred with one, so a caller that only needs one rung asks that
/// rung.
pub fn probe_all(
    launcher: &Launcher,
    env: &dyn Fn(&str) -> Option<String>,
    image: Option<&str>,
    below: &Path,
) -> IsolationProbes {
    let native = NativeSandbox::new(launcher.clone());
    let landlock = LandlockOnly { launcher: launcher.clone() };
    let bubblewrap = Bubblewrap { launcher: launcher.clone(), ..Bubblewrap::default() };
    IsolationProbes {
        native: try_out(&native, &[]).map(|_| native.level()),
        // Without an image no container can be had, and an engine that is asked leaves things behind.
        oci: match image {
            Some(_) => OciSandbox::detect(env, image, launcher.clone()).map(|_| ()),
            None => Err(LaunchRefusal {
                step: LaunchStep::Exec,
                errno: 0,
                message: "there is no image to run the agent in (--image)".into(),
                detail: String::new(),
            }),
        },
        bubblewrap: try_rung(&bubblewrap, below).map(|_| ()),
        landlock: try_rung(&landlock, below).map(|trial| trial.held.landlock.unwrap_or_default()),
    }
}

/// Builds the walls of `backend` around a command that does nothing.
pub fn try_out(backend: &dyn SandboxBackend, argv: &[&str]) -> Result<SandboxEnforcement, LaunchRefusal> {
    let name = format!("probe-{}-{}", backend.name(), std::process::id());
    let identity = PayloadIdentity::for_run(&name);
    let job = SandboxJob {
        mounts: system_root(&identity),
        name,
        identity,
        writable_below: Vec::new(),
        argv: argv.iter().map(Into::into).collect(),
        env: Vec::new(),
        cwd: "/".into(),
        limits: PayloadLimits { processes: 64, files: 256, file_mb: 64, memory_mb: 256 },
        network: PayloadNetwork::None,
        streams: PayloadStreams::Watched,
    };
    let mut payload = backend.start(&job)?;
    let held = payload.held().clone();
    match payload.wait(PATIENCE)? {
        Some(PayloadEnding::Code(0)) => Ok(held),
        ending => {
            let message = format!("a command that does nothing ended with {ending:?}");
            Err(LaunchRefusal {
                step: LaunchStep::Exec,
                errno: 0,
                message,
                detail: backend.name().to_owned(),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::testing::as_every_user;
    use super::*;

    #[test]
    fn every_rung_answers() {
        as_every_user("fallback::probe::tests::every_rung_answers", || {
            let below = tempfile::Builder::new().prefix("holon-probes-").tempdir_in("/tmp").unwrap();
            let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(below.path(), open).unwrap();
            let probes = probe_all(&Launcher::default(), &|_| None, None, below.path());
            let root = rustix::process::geteuid().is_root();
            assert_eq!(probes.native, Ok(if root { IsolationLevel::L1 } else { IsolationLevel::L0 }));
            assert!(probes.oci.unwrap_err().message.contains("--image"));
            assert_eq!(probes.bubblewrap, Ok(()));
            assert!(probes.landlock.unwrap() >= 3);
        });
    }
}
