//! Runners: one per mode, and what each may do and hands over.

use holon_core::mode_run::{Envelope, Kind};
use holon_host::{Executor, Finished, HostError, RunContext, RunPlan};

/// Carries out work in one mode. A runner is only ever started by the dispatcher.
pub trait ModeRunner: Sync {
    /// The mode, by its canonical name.
    fn name(&self) -> &str;
    /// What it does and hands over.
    fn capabilities(&self) -> Capabilities;
    /// Does the work; an error means that nothing was started.
    fn run(&self, context: ModeContext<'_>) -> Result<Finished, HostError>;
}

/// What a mode does and hands over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether its changes leave as a patch.
    pub delivers_changes: bool,
    /// Whether its result decides about somebody else's.
    pub decides: bool,
    /// Whether it starts others.
    pub starts_children: bool,
    /// What it hands over when it succeeds.
    pub produces: &'static [Kind],
}

/// Everything a runner gets.
pub struct ModeContext<'a> {
    /// What is asked, with the permissions that were computed for it.
    pub envelope: &'a Envelope,
    /// What is done, within those permissions.
    pub plan: RunPlan,
    /// Carries it out behind walls, with the model that fits the mode's intent.
    pub executor: &'a dyn Executor,
    /// What only this process has.
    pub run: RunContext<'a>,
}

/// A mode whose work is one run of an agent behind walls.
#[derive(Debug, Clone)]
pub struct Walled {
    name: &'static str,
    capabilities: Capabilities,
}

impl ModeRunner for Walled {
    fn name(&self) -> &str {
        self.name
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities.clone()
    }

    fn run(&self, context: ModeContext<'_>) -> Result<Finished, HostError> {
        let ModeContext { plan, executor, run, .. } = context;
        executor.execute(plan, run)
    }
}

const fn walled(name: &'static str, delivers: bool, decides: bool, produces: &'static [Kind]) -> Walled {
    let starts_children = matches!(name.as_bytes(), b"orchestrate" | b"execute");
    Walled {
        name,
        capabilities: Capabilities { delivers_changes: delivers, decides, starts_children, produces },
    }
}

/// The six modes; every other one is carried out like `OTHER`.
static SIX: [Walled; 6] = [
    walled("orchestrate", false, false, &[Kind::Orchestration, Kind::Summary]),
    walled("architect", true, false, &[Kind::PlanDoc, Kind::CodeDiff, Kind::Summary]),
    walled("execute", true, false, &[Kind::CodeDiff, Kind::Summary]),
    walled("review", false, true, &[Kind::ReviewFindings, Kind::Summary]),
    walled("debug", false, false, &[Kind::DebugLog, Kind::Summary]),
    walled("ethical", false, true, &[Kind::EthicalReport]),
];

static OTHER: Walled = walled("other", false, false, &[]);

/// The runner of a mode, by its canonical name.
pub fn runner(mode: &str) -> &'static dyn ModeRunner {
    SIX.iter().find(|runner| runner.name == mode).unwrap_or(&OTHER)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use holon_core::mode::Catalog;

    use super::*;

    #[test]
    fn matrix_dispatcher_routing() {
        let catalog = Catalog::builtin().unwrap();
        for expected in &SIX {
            let found = runner(expected.name());
            assert_eq!(found.name(), expected.name());
            let profile = catalog.resolve(expected.name()).unwrap();
            let can = found.capabilities();
            assert_eq!(can.delivers_changes, profile.access.delivers(), "{}", found.name());
            for name in profile.artifacts.required {
                assert!(can.produces.contains(&Kind::of(&name)), "{}: {name}", found.name());
            }
        }
        assert_eq!(runner("ask").name(), "other");
        assert_eq!(runner("no-such-mode").name(), "other");
    }
}
