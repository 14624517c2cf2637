//! What work hands down to the work it starts: a share of what it has itself, and never a right.

use std::time::Duration;

use holon_core::HumanDuration;
use holon_core::mode::{NetworkReach, Profile};
use holon_core::mode_run::{MAX_CHILDREN, MAX_DEPTH, Permissions, may_start};
use holon_host::{Host, HostError, RunPlan, RunRequest, modes};

use crate::error::FlowError;

/// Work that starts other work.
#[derive(Debug, Clone, PartialEq)]
pub struct ParentWork {
    /// Its mode, by the canonical name.
    pub mode: String,
    /// How deep it is itself; 0 for what a person asked for.
    pub depth: u32,
    /// How many children it has had.
    pub children: u32,
    /// What is left of its money for this child.
    pub money: Option<f64>,
    /// What is left of its time.
    pub time: Option<Duration>,
}

impl ParentWork {
    /// Whether it may have this child.
    pub(super) fn check(&self, plan: &RunPlan) -> Result<(), FlowError> {
        if plan.writes_allowed {
            let message = "no work hands down a person's leave to write".to_owned();
            return Err(FlowError::refused(message, "ask for it yourself with `holon run --allow-writes`"));
        }
        self.check_mode(&plan.profile.name)
    }

    /// Whether it may have another child, in this mode.
    fn check_mode(&self, mode: &str) -> Result<(), FlowError> {
        let refuse = |message: String, hint: &str| Err(FlowError::refused(message, hint));
        if !may_start(&self.mode, mode) {
            let message = format!("{} may not start work in mode {mode}", self.mode);
            return refuse(message, "ask for it yourself with `holon run --mode`");
        }
        if self.depth + 1 > MAX_DEPTH {
            return refuse(
                format!("children are at most {MAX_DEPTH} deep"),
                "split the goal into fewer levels",
            );
        }
        if self.children >= MAX_CHILDREN {
            let message = format!("there were {MAX_CHILDREN} children already, retries included");
            return refuse(message, "give a smaller goal");
        }
        if self.money.is_some_and(|left| left <= 0.0) || self.time.is_some_and(|left| left.is_zero()) {
            return refuse("nothing is left of the budget".into(), "allow more with --max-cost or --timeout");
        }
        Ok(())
    }
}

/// What a request may do: what its mode allows, made smaller by what is left.
pub(super) fn permissions(profile: &Profile, parent: Option<&ParentWork>) -> Permissions {
    let own = Permissions::of(profile);
    match parent {
        None => own,
        Some(parent) => own.within(parent.money, parent.time.map(HumanDuration::from)),
    }
}

/// Plans a child within what is left for it.
pub(super) fn planned_child(
    host: &Host,
    request: RunRequest,
    parent: &ParentWork,
) -> Result<RunPlan, FlowError> {
    let catalog = modes::catalog(&host.places, request.workspace.as_deref())?;
    let name = request.mode.as_deref().unwrap_or("execute");
    let profile = catalog.resolve(name).map_err(HostError::from)?;
    parent.check_mode(&profile.name)?;
    let may = permissions(&profile, Some(parent));
    Ok(host.plan(&handed_down(request, &profile, &may))?)
}

/// A child's plan within its permissions, whoever made it.
pub(super) fn within(mut plan: RunPlan, may: &Permissions) -> RunPlan {
    let limits = &mut plan.profile.limits;
    limits.timeout = limits.timeout.min(may.timeout);
    limits.rounds = limits.rounds.min(may.rounds);
    limits.cost_usd = limits.cost_usd.min(may.cost_usd);
    // These are for people, about a whole result.
    RunPlan { part: true, apply: false, out: None, ..plan }
}

/// A child's request within its permissions; whatever it asks for beyond them is dropped.
pub(super) fn handed_down(asked: RunRequest, profile: &Profile, may: &Permissions) -> RunRequest {
    let limits = &profile.limits;
    RunRequest {
        mode: Some(profile.name.clone()),
        part: true,
        timeout: Some(asked.timeout.map_or(may.timeout, |t| t.min(may.timeout))),
        idle_timeout: asked.idle_timeout.map(|t| t.min(limits.idle_timeout)),
        max_rounds: asked.max_rounds.map(|n| n.min(may.rounds)),
        max_output_mb: asked.max_output_mb.map(|n| n.min(limits.output_mb)),
        max_cost_usd: Some(asked.max_cost_usd.map_or(may.cost_usd, |m| m.min(may.cost_usd))),
        network: asked.network.filter(|n| *n != NetworkReach::Host || !profile.promises_no_change()),
        allow_net: if profile.promises_no_change() { Vec::new() } else { asked.allow_net },
        // These are for people, about a whole result.
        allow_writes: false,
        apply: false,
        out: None,
        ..asked
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use holon_core::mode::ModeCatalog;

    use super::*;

    const SIX: [&str; 6] = ["orchestrate", "architect", "execute", "review", "debug", "ethical"];

    fn parent(mode: &str) -> ParentWork {
        ParentWork { mode: mode.into(), depth: 0, children: 0, money: None, time: None }
    }

    #[test]
    fn inv_11_a_child_that_asks_for_more_gets_what_its_mode_allows_for_each_pair() {
        let catalog = ModeCatalog::builtin().unwrap();
        for asks in SIX {
            for mode in SIX {
                let profile = catalog.resolve(mode).unwrap();
                let mut parent = parent(asks);
                parent.money = Some(1e9);
                parent.time = Some(Duration::from_secs(1 << 30));
                let greedy = RunRequest {
                    mode: Some("execute".into()),
                    allow_writes: true,
                    apply: true,
                    network: Some(NetworkReach::Host),
                    allow_net: vec!["npm".into()],
                    timeout: Some(HumanDuration::from_secs(1 << 20)),
                    max_rounds: Some(u64::MAX),
                    max_cost_usd: Some(1e9),
                    ..RunRequest::default()
                };
                let may = permissions(&profile, Some(&parent));
                let given = handed_down(greedy, &profile, &may);
                let pair = format!("{asks} asks {mode}");
                assert_eq!(given.mode.as_deref(), Some(mode), "{pair}");
                assert!(!given.allow_writes && !given.apply, "{pair}");
                assert!(given.timeout.unwrap() <= profile.limits.timeout, "{pair}");
                assert!(given.max_rounds.unwrap() <= profile.limits.rounds, "{pair}");
                assert!(given.max_cost_usd.unwrap() <= profile.limits.cost_usd, "{pair}");
                assert_eq!(given.network.is_some(), profile.access.delivers(), "{pair}");
                assert_eq!(!given.allow_net.is_empty(), profile.access.delivers(), "{pair}");
                assert_eq!(parent.check_mode(mode).is_ok(), may_start(asks, mode), "{pair}");
            }
        }
    }

    #[test]
    fn depth_children_and_budget_are_bounded() {
        let check = |parent: ParentWork, expected: &str| {
            let error = parent.check_mode("review").unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check(ParentWork { depth: 3, ..parent("orchestrate") }, "at most 3 deep");
        check(ParentWork { children: 16, ..parent("orchestrate") }, "16 children");
        check(ParentWork { money: Some(0.0), ..parent("orchestrate") }, "budget");
        check(ParentWork { time: Some(Duration::ZERO), ..parent("orchestrate") }, "budget");
        assert!(ParentWork { depth: 2, children: 15, ..parent("orchestrate") }.check_mode("review").is_ok());
    }
}
