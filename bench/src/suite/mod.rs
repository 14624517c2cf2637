//! The suites.

mod agents;
mod apply;
mod baseline;
mod calls;
mod cold;
mod estimate;
mod first;
mod lost;
mod memory;
mod native;
mod patch;
mod reducer;
mod server;
mod start;
mod whole;

use crate::BenchFailure;
use crate::report::SuiteReport;
use crate::scratch::BenchContext;

/// One set of measurements with its targets.
#[derive(Debug)]
pub(crate) struct Suite {
    /// As given on the command line, and the name of its file.
    pub(crate) name: &'static str,
    /// In a line.
    pub(crate) about: &'static str,
    /// Whether root measures it once more as an ordinary user.
    pub(crate) depends_on_user: bool,
    /// Does it.
    pub(crate) measure: fn(&BenchContext) -> Result<SuiteReport, BenchFailure>,
}

/// All of them, in the order they are run.
pub(crate) const ALL: &[Suite] = &[
    Suite {
        name: "sandbox-start",
        about: "full walls around /bin/true, against unshare, bubblewrap and podman",
        depends_on_user: true,
        measure: start::measure,
    },
    Suite {
        name: "snapshot-patch",
        about: "snapshot, launch and patch of ten changed files among 500, 5,000 and 50,000",
        depends_on_user: true,
        measure: patch::measure,
    },
    Suite {
        name: "apply",
        about: "bringing 2,000 changed files home, against git apply, and one among 50,000",
        depends_on_user: true,
        measure: apply::measure,
    },
    Suite {
        name: "baseline",
        about: "what a check costs besides itself: its baseline known, made beside the agent, and its definition touched",
        depends_on_user: true,
        measure: baseline::measure,
    },
    Suite {
        name: "whole-run",
        about: "holon run with a trivial agent on 50,000 files",
        depends_on_user: true,
        measure: whole::measure,
    },
    Suite {
        name: "cold-start",
        about: "holon --version, and the size of the binary",
        depends_on_user: false,
        measure: cold::measure,
    },
    Suite {
        name: "memory",
        about: "peak memory of the processes that stand around a payload",
        depends_on_user: true,
        measure: memory::measure,
    },
    Suite {
        name: "native-run",
        about: "holon run with its own agent, no tool call, on 50,000 files",
        depends_on_user: true,
        measure: native::measure,
    },
    Suite {
        name: "native-calls",
        about: "what a tool call of the own agent costs, and memory with fifty of them",
        depends_on_user: true,
        measure: calls::measure,
    },
    Suite {
        name: "first-request",
        about: "bytes of the own agent's first request, by mode",
        depends_on_user: false,
        measure: first::measure,
    },
    Suite {
        name: "agents",
        about: "the own agent beside others that are installed, with the same model server",
        depends_on_user: false,
        measure: agents::measure,
    },
    Suite {
        name: "server",
        about: "holon serve with 1,000 streams open, 10,000 threads stored, and readers that do not read",
        depends_on_user: false,
        measure: server::measure,
    },
    Suite {
        name: "supervisor",
        about: "scripted lost and healthy agents, left alone, in a shadow, adaptive and strict",
        depends_on_user: false,
        measure: lost::measure,
    },
    Suite {
        name: "reducer",
        about: "what the supervisor's decisions cost, and how large its state gets",
        depends_on_user: false,
        measure: reducer::measure,
    },
    Suite {
        name: "estimate",
        about: "how far estimates of what an orchestration costs are off",
        depends_on_user: false,
        measure: estimate::measure,
    },
];

/// The suite of this name.
pub(crate) fn named(name: &str) -> Result<&'static Suite, BenchFailure> {
    ALL.iter().find(|suite| suite.name == name).ok_or_else(|| {
        let known: Vec<_> = ALL.iter().map(|suite| suite.name).collect();
        format!("unknown suite {name}; there are {}", known.join(", "))
    })
}
