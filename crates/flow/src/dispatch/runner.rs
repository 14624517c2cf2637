//! Runners: one per mode, and what each may do and hands over.

use holon_core::mode_run::{ModeArtifactKind, ModeEnvelope};
use holon_host::{Executor, FinishedRun, HostError, RunContext, RunPlan};

/// Carries out work in one mode. A runner is only ever started by the dispatcher.
pub trait ModeRunner: Sync {
    /// The mode, by its canonical name.
    fn name(&self) -> &str;
    /// What it does and hands over.
    fn capabilities(&self) -> ModeCapabilities;
    /// Does the work; an error means that nothing was started.
    fn run(&self, context: ModeRunContext<'_>) -> Result<FinishedRun, HostError>;
}

/// What a mode does and hands over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModeCapabilities {
    /// Whether its changes leave as a patch.
    pub delivers_changes: bool,
    /// Whether its result decides about somebody else's.
    pub decides: bool,
    /// Whether it starts others.
    pub starts_children: bool,
    /// What it hands over when it succeeds.
    pub produces: &'static [ModeArtifactKind],
}

/// Everything a runner gets.
pub struct ModeRunContext<'a> {
    /// What is asked, with the permissions that were computed for it.
    pub envelope: &'a ModeEnvelope,
    /// What is done, within those permissions.
    pub plan: RunPlan,
    /// Carries it out behind walls, with the model that fits the mode's intent.
    pub executor: &'a dyn Executor,
    /// What only this process has.
    pub run: RunContext<'a>,
}

/// A mode whose work is one run of an agent behind walls.
#[derive(Debug, Clone)]
pub struct SandboxedMode {
    name: &'static str,
    capabilities: ModeCapabilities,
}

impl ModeRunner for SandboxedMode {
    fn name(&self) -> &str {
        self.name
    }

    fn capabilities(&self) -> ModeCapabilities {
        self.capabilities.clone()
    }

    fn run(&self, context: ModeRunContext<'_>) -> Result<FinishedRun, HostError> {
        let ModeRunContext { plan, executor, run, .. } = context;
        executor.execute(plan, run)
    }
}

const fn walled(
    name: &'static str,
    delivers: bool,
    decides: bool,
    produces: &'static [ModeArtifactKind],
) -> SandboxedMode {
    let starts_children = matches!(name.as_bytes(), b"orchestrate" | b"execute");
    SandboxedMode {
        name,
        capabilities: ModeCapabilities { delivers_changes: delivers, decides, starts_children, produces },
    }
}

/// The six modes; every other one is carried out like `OTHER`.
static SIX: [SandboxedMode; 6] = [
    walled("orchestrate", false, false, &[ModeArtifactKind::Orchestration, ModeArtifactKind::Summary]),
    walled(
        "architect",
        true,
        false,
        &[ModeArtifactKind::PlanDoc, ModeArtifactKind::CodeDiff, ModeArtifactKind::Summary],
    ),
    walled("execute", true, false, &[ModeArtifactKind::CodeDiff, ModeArtifactKind::Summary]),
    walled("review", false, true, &[ModeArtifactKind::ReviewFindings, ModeArtifactKind::Summary]),
    walled("debug", false, false, &[ModeArtifactKind::DebugLog, ModeArtifactKind::Summary]),
    walled("ethical", false, true, &[ModeArtifactKind::EthicalReport]),
];

static OTHER: SandboxedMode = walled("other", false, false, &[]);

/// The runner of a mode, by its canonical name.
pub fn runner(mode: &str) -> &'static dyn ModeRunner {
    SIX.iter().find(|runner| runner.name == mode).unwrap_or(&OTHER)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use holon_core::mode::ModeCatalog;

    use super::*;

    #[test]
    fn matrix_dispatcher_routing() {
        let catalog = ModeCatalog::builtin().unwrap();
        for expected in &SIX {
            let found = runner(expected.name());
            assert_eq!(found.name(), expected.name());
            let profile = catalog.resolve(expected.name()).unwrap();
            let can = found.capabilities();
            assert_eq!(can.delivers_changes, profile.access.delivers(), "{}", found.name());
            for name in profile.artifacts.required {
                assert!(can.produces.contains(&ModeArtifactKind::of(&name)), "{}: {name}", found.name());
            }
        }
        assert_eq!(runner("ask").name(), "other");
        assert_eq!(runner("no-such-mode").name(), "other");
    }
}
