//! What was enforced: a rung holds what it is made of, and no mode lets out what it promises to keep.

use holon_core::event::EventBody;
use holon_core::manifest::SandboxInfo;
use holon_core::sandbox::{EnforcementRecord, IsolationLevel};

use super::change::delivered;
use super::discrepancy::{Discrepancies, DiscrepancyKind as Kind};
use super::evidence::RunEvidence;

/// Each backend with the rungs it stands on.
const RUNGS: [(&str, &[IsolationLevel]); 5] = [
    ("native", &[IsolationLevel::L0, IsolationLevel::L1]),
    ("oci", &[IsolationLevel::L2]),
    ("bubblewrap", &[IsolationLevel::L3]),
    ("landlock", &[IsolationLevel::L4]),
    ("none", &[IsolationLevel::None]),
];
/// How limits are kept, as far as this version and older ones know ways.
const WAYS: [&str; 9] =
    ["rlimit", "pid_max", "cgroup v1", "cgroup v2", "watched", "container", "engine", "tmpfs size", "quota"];
/// The highest Landlock version there may be for some time.
const LANDLOCK: std::ops::RangeInclusive<u32> = 1..=20;
/// What a person says who accepts no isolation.
const NO_ISOLATION: &str = "no isolation (--i-accept-no-isolation)";
const PLACE: &str = "metadata.sandbox";

pub(super) fn check(run: &RunEvidence, found: &mut Discrepancies) {
    access(run, found);
    if run.is_whole() {
        return;
    }
    let sandbox = &run.manifest.metadata.sandbox;
    if sandbox.backend.is_empty() {
        nothing_stood(run, sandbox, found);
        return;
    }
    match RUNGS.iter().find(|(name, _)| *name == sandbox.backend) {
        None => found.add(
            Kind::Sandbox,
            format!("{PLACE}.backend"),
            format!("there is no backend `{}`", sandbox.backend),
        ),
        Some((_, levels)) => {
            found.expect(levels.contains(&sandbox.level), Kind::Sandbox, format!("{PLACE}.level"), || {
                format!("{} does not stand on {}", sandbox.backend, sandbox.level)
            })
        }
    }
    layers(sandbox.level, &sandbox.enforced, found);
    limits(&sandbox.enforced, found);
    // Older versions did not write it down.
    let open = &sandbox.enforced.open;
    let follows = open.is_empty() || *open == sandbox.enforced.left_open();
    found.expect(follows, Kind::Sandbox, format!("{PLACE}.enforced.open"), || {
        "what was left open does not follow from what held".to_owned()
    });
    workspace(run, sandbox, found);
    let accepted = run.manifest.metadata.accepted.iter().any(|right| right == NO_ISOLATION);
    found.expect(
        (sandbox.level == IsolationLevel::None) == accepted,
        Kind::Decision,
        "metadata.accepted",
        || {
            format!(
                "the rung is {}, and no isolation was {}accepted",
                sandbox.level,
                if accepted { "" } else { "not " }
            )
        },
    );
    if let Some(profile) = &run.profile {
        found.expect(
            sandbox.level.meets(profile.minimum) || accepted,
            Kind::Sandbox,
            format!("{PLACE}.level"),
            || {
                format!(
                    "the mode does not start below {}, and the rung is {}",
                    profile.minimum, sandbox.level
                )
            },
        );
    }
}

/// No walls without a payload, and no payload without walls.
fn nothing_stood(run: &RunEvidence, sandbox: &SandboxInfo, found: &mut Discrepancies) {
    found.expect(*sandbox == SandboxInfo::default(), Kind::Sandbox, PLACE, || {
        "it names no backend, and says that something held".to_owned()
    });
    let started =
        |body: &EventBody| matches!(body, EventBody::AgentStarted { .. } | EventBody::CheckRan { .. });
    let ran = run.events.as_ref().is_some_and(|log| log.events.iter().any(|event| started(&event.body)));
    let interrupted = run.manifest.status == holon_core::outcome::RunStatus::Interrupted;
    found.expect(!ran || interrupted, Kind::Sandbox, format!("{PLACE}.backend"), || {
        "something was started, and no backend is named".to_owned()
    });
}

/// The layers a rung is made of, and those it cannot have.
fn layers(level: IsolationLevel, enforced: &EnforcementRecord, found: &mut Discrepancies) {
    let EnforcementRecord {
        user_ns,
        mount_ns,
        pid_ns,
        net_ns,
        ipc_ns,
        uts_ns,
        cgroup_ns,
        private_root,
        masked_proc,
        landlock,
        seccomp,
        no_new_privs,
        capabilities_dropped,
        unprivileged_payload,
        ..
    } = enforced;
    let namespaces = [
        ("user_ns", *user_ns),
        ("mount_ns", *mount_ns),
        ("pid_ns", *pid_ns),
        ("ipc_ns", *ipc_ns),
        ("uts_ns", *uts_ns),
        ("cgroup_ns", *cgroup_ns),
        ("private_root", *private_root),
        ("masked_proc", *masked_proc),
    ];
    let confined = [
        ("seccomp", *seccomp),
        ("no_new_privs", *no_new_privs),
        ("capabilities_dropped", *capabilities_dropped),
    ];
    let mut expect = |name: &str, holds: bool, wanted: bool| {
        found.expect(holds == wanted, Kind::Sandbox, format!("{PLACE}.enforced.{name}"), || {
            format!("{level} {} without it", if wanted { "does not stand" } else { "only stands" })
        });
    };
    match level {
        IsolationLevel::L0 | IsolationLevel::L1 => {
            namespaces.iter().chain(&confined).for_each(|(name, holds)| expect(name, *holds, true));
            expect("unprivileged_payload", *unprivileged_payload, true);
        }
        // What an engine or the system's bubblewrap makes is measured, and may hold less than was asked for.
        IsolationLevel::L2 | IsolationLevel::L3 => {
            expect("mount_ns", *mount_ns, true);
            expect("pid_ns", *pid_ns, true);
            expect("landlock", landlock.is_some(), false);
        }
        IsolationLevel::L4 => {
            namespaces.iter().for_each(|(name, holds)| expect(name, *holds, false));
            expect("net_ns", *net_ns, false);
            expect("landlock", landlock.is_some(), true);
            expect("seccomp", *seccomp, true);
            expect("no_new_privs", *no_new_privs, true);
        }
        IsolationLevel::None => {
            namespaces.iter().chain(&confined).for_each(|(name, holds)| expect(name, *holds, false));
            expect("net_ns", *net_ns, false);
            expect("landlock", landlock.is_some(), false);
        }
    }
    found.expect(
        landlock.is_none_or(|version| LANDLOCK.contains(&version)),
        Kind::Sandbox,
        format!("{PLACE}.enforced.landlock"),
        || "there is no such version".to_owned(),
    );
}

fn limits(enforced: &EnforcementRecord, found: &mut Discrepancies) {
    let limits = &enforced.limits;
    for (name, way) in [
        ("processes", &limits.processes),
        ("memory", &limits.memory),
        ("disk", &limits.disk),
        ("files", &limits.files),
    ] {
        let unknown = way.iter().flat_map(|way| way.split(" + ")).find(|way| !WAYS.contains(way));
        if let Some(unknown) = unknown {
            let sentence = format!("nothing is limited by `{unknown}`");
            found.add(Kind::Sandbox, format!("{PLACE}.enforced.limits.{name}"), sentence);
        }
    }
    // Watched by the host itself, whatever the walls are made of.
    found.expect(limits.disk.is_some(), Kind::Sandbox, format!("{PLACE}.enforced.limits.disk"), || {
        "the disk is watched in every run".to_owned()
    });
}

/// How the workspace was given: by the snapshot, or read-only where the mode writes nothing and the root is private.
fn workspace(run: &RunEvidence, sandbox: &SandboxInfo, found: &mut Discrepancies) {
    let metadata = &run.manifest.metadata;
    let Some(snapshot) = &metadata.snapshot else {
        found.add(Kind::Snapshot, "metadata.snapshot", "walls stood, and no snapshot is named");
        return;
    };
    let private = matches!(sandbox.backend.as_str(), "native" | "oci" | "bubblewrap");
    let given = match metadata.workspace_access.as_str() {
        "read-only" if private => "read-only mount",
        _ => snapshot.strategy.as_str(),
    };
    found.same(
        Kind::Sandbox,
        format!("{PLACE}.enforced.workspace"),
        &sandbox.enforced.workspace.as_deref(),
        &Some(given),
        "the mode and the snapshot",
    );
    if let Some(started) = started(run) {
        found.same(
            Kind::Sandbox,
            format!("{PLACE}.enforced.tools"),
            &sandbox.enforced.tools,
            &(metadata.adapter == "native"),
            &format!("the adapter of {started}"),
        );
    }
}

/// The agent that was started, if any was.
fn started(run: &RunEvidence) -> Option<&str> {
    let log = run.events.as_ref()?;
    log.events
        .iter()
        .any(|event| matches!(event.body, EventBody::AgentStarted { .. }))
        .then_some(&run.manifest.metadata.agent.name)
}

/// What the mode may do to the workspace, and that it did no more.
fn access(run: &RunEvidence, found: &mut Discrepancies) {
    let (manifest, metadata) = (&run.manifest, &run.manifest.metadata);
    let access = metadata.workspace_access.as_str();
    let begun = metadata.sandbox.backend.is_empty() && access.is_empty();
    found.expect(
        begun || matches!(access, "read-only" | "scoped" | "scratch" | "rw"),
        Kind::Mode,
        "metadata.workspace_access",
        || format!("`{access}` is no access"),
    );
    if let Some(profile) = run.profile.as_ref().filter(|_| !begun && manifest.mode != "check") {
        let own = profile.access.label();
        found.expect(
            access == own || (profile.writes_on_request && access == "rw"),
            Kind::Mode,
            "metadata.workspace_access",
            || format!("it says {access}, and {} is {own}", manifest.mode),
        );
    }
    // The whole of an orchestration plans without writing, and hands over what its tasks made.
    let promises_nothing_leaves = matches!(access, "read-only" | "scratch") && !run.is_whole();
    found.expect(!promises_nothing_leaves || delivered(run).is_none(), Kind::Mode, "diff.patch", || {
        format!("a mode whose access is {access} delivers no patch")
    });
}
