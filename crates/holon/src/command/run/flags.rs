//! The flags of `holon run`, and the request they make.

use std::path::PathBuf;

use clap::ValueEnum;
use holon_core::HumanDuration;
use holon_core::mode::NetworkReach;
use holon_core::spec::SpecSupervision;
use holon_host::RunRequest;
use holon_network::PermitRule;
use holon_sandbox::fallback::SandboxChoice;
use holon_sandbox::snapshot::SnapshotStrategyChoice;

use crate::failure::CliFailure;

pub(crate) const EXAMPLES: &str = "\
Examples:
  # Think a change through; the workspace cannot change, whatever the agent does
  holon run --mode plan --goal \"Support IPv6\" --agent ./agent.sh

  # Make the change, test the result, get a patch
  holon run --goal \"Fix the date parser\" --agent ./agent.sh --check \"make test\"

  # Hand the plan to the agent that carries it out, and keep the artifacts beside the code
  holon run --goal \"Do it\" --agent ./agent.sh --context out/plan.md --out holon-output

  # Plan, stop for a look at the plan, then carry it out
  holon run --mode plan-then-execute --goal \"Support IPv6\" --agent ./agent.sh --gate stop
  holon run --resume last --message \"Keep the old flag working\"

  # See what would happen, and where each value comes from
  holon run --spec spec.yaml --agent ./agent.sh --dry-run

  # In a script: events as JSON lines, the result as the exit code
  holon run --spec spec.yaml --agent ./agent.sh --json > events.jsonl

Exit codes: 0 success, 1 failure, 2 needs a person, 64 the command line is wrong.";

// No documentation of its own: other commands have these flags too, and what is said here would take the place of
// what they say.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct RunArgs {
    /// What the agent may do: execute, plan, review, … (`holon modes list`) [default: execute]
    #[arg(long, value_name = "NAME", help_heading = "What to do")]
    pub(super) mode: Option<String>,
    /// A goal that was given without a command: whether it is split is for the configuration to say
    #[arg(long, hide = true)]
    pub(super) goal_alone: bool,
    /// What is wanted, in words
    #[arg(long, value_name = "TEXT", help_heading = "What to do")]
    goal: Option<String>,
    /// A spec.yaml with the goal and everything else; flags beat it
    #[arg(long, value_name = "FILE", help_heading = "What to do")]
    pub(super) spec: Option<PathBuf>,
    /// Files or folders the agent shall read as well
    #[arg(long, value_name = "PATH", num_args = 1.., help_heading = "What to do")]
    context: Vec<PathBuf>,

    /// The folder to work on [default: the current one]
    #[arg(long, value_name = "DIR", help_heading = "Where")]
    pub(super) workspace: Option<PathBuf>,
    /// Copy the artifacts here: a new or empty folder, or one that holds an earlier run's
    #[arg(long, value_name = "DIR", help_heading = "Where")]
    out: Option<PathBuf>,

    /// The agent: a name (`holon agents list`) or the path of a command
    #[arg(long, value_name = "NAME|PATH", help_heading = "Who does it")]
    agent: Option<String>,
    /// A container image that holds the agent, or in which it runs
    #[arg(long, value_name = "IMAGE", help_heading = "Who does it")]
    image: Option<String>,
    /// The model, such as anthropic/claude-sonnet-4.5 [default: chosen by the mode (`holon models select`)]
    #[arg(long, value_name = "ID", help_heading = "Who does it")]
    model: Option<String>,
    /// Who serves it: openrouter, anthropic, openai, or any name with HOLON_BASE_URL set [default: whoever has a key]
    #[arg(long, value_name = "NAME", help_heading = "Who does it")]
    provider: Option<String>,
    /// A tool server (MCP) for the native agent, started inside the walls (can be given again)
    #[arg(long, value_name = "NAME=COMMAND", help_heading = "Who does it")]
    mcp: Vec<String>,
    /// How closely the agent is watched; a lost one is advised, taken over or stopped [default: adaptive]
    #[arg(long, value_name = "LEVEL", help_heading = "Who does it")]
    supervisor: Option<SupervisorFlag>,
    /// Let the supervisor decide and log without acting
    #[arg(long, help_heading = "Who does it")]
    shadow: bool,
    /// Answer from this cassette instead of a model: offline, and the same every time
    #[arg(long, value_name = "FILE", conflicts_with_all = ["provider", "record"], help_heading = "Who does it")]
    replay: Option<PathBuf>,
    /// Write the conversation with the model to this cassette, redacted
    #[arg(long, value_name = "FILE", help_heading = "Who does it")]
    record: Option<PathBuf>,
    /// Arguments for the agent
    #[arg(last = true, value_name = "ARGS", help_heading = "Who does it")]
    agent_args: Vec<String>,

    /// Which walls to build; auto takes the strongest this machine has (`holon doctor`)
    #[arg(
        long,
        value_name = "KIND",
        default_value = "auto",
        hide_default_value = true,
        help_heading = "Sandbox"
    )]
    sandbox: SandboxFlag,
    /// Required with --sandbox none: the agent can then change anything you can
    #[arg(long, help_heading = "Sandbox")]
    i_accept_no_isolation: bool,
    /// What the agent can reach; read-only modes refuse the host's network
    #[arg(long, value_name = "KIND", help_heading = "Sandbox")]
    network: Option<NetworkFlag>,
    /// Let it reach a host (HOST[:PORT], *.HOST) or what a client is configured for (npm, pip, cargo, …; `holon network show`),
    /// through a proxy that writes everything down (can be given again)
    #[arg(long, value_name = "HOST|CLIENT", value_parser = permit, conflicts_with = "network", help_heading = "Sandbox")]
    allow_net: Vec<String>,
    /// Stand on no environment, whatever the project says about its setup (`holon environment show`)
    #[arg(long, help_heading = "Sandbox")]
    fresh: bool,
    /// Let a mode that throws its changes away (debug) deliver them as a patch
    #[arg(long, help_heading = "Sandbox")]
    allow_writes: bool,
    /// How the agent's copy of the workspace is made
    #[arg(
        long,
        value_name = "KIND",
        default_value = "auto",
        hide_default_value = true,
        help_heading = "Sandbox"
    )]
    snapshot: SnapshotFlag,
    /// How much of the workspace is proved unchanged afterwards
    #[arg(
        long,
        value_name = "EXTENT",
        default_value = "touched",
        hide_default_value = true,
        help_heading = "Sandbox"
    )]
    verify: VerifyFlag,

    /// End the agent after this time, such as 20m or 1h30m
    #[arg(long, value_name = "DURATION", help_heading = "Limits")]
    timeout: Option<HumanDuration>,
    /// End it when it shows no sign of life for this long
    #[arg(long, value_name = "DURATION", help_heading = "Limits")]
    idle_timeout: Option<HumanDuration>,
    /// Most it may print or leave as artifacts, in MiB, such as 64 or 1G
    #[arg(long, value_name = "SIZE", value_parser = megabytes, help_heading = "Limits")]
    max_output: Option<u64>,

    /// End the native agent after this many rounds with the model
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_rounds: Option<u64>,
    /// End the run when the model has cost this much, in US dollars
    #[arg(long, value_name = "USD", value_parser = dollars, help_heading = "Limits")]
    max_cost: Option<f64>,

    /// How gates between the steps of a flow are decided [default: ask on a terminal, else stop]
    #[arg(long, value_name = "HOW", help_heading = "Flows")]
    pub(super) gate: Option<GateFlag>,
    /// Go on with a flow or a run of the native agent that was stopped, cut short or killed; nothing finished is done again
    #[arg(
        long,
        value_name = "RUN",
        conflicts_with_all = [
            "mode", "goal", "spec", "context", "out", "agent", "image", "model", "provider", "replay", "record",
            "agent_args", "mcp", "sandbox", "i_accept_no_isolation", "network", "allow_net", "fresh", "allow_writes", "snapshot", "verify",
            "supervisor", "shadow", "idle_timeout", "max_output", "check", "check_report", "no_auto_checks",
            "tests_may_change", "allow_sensitive", "keep", "dry_run",
        ],
        help_heading = "Flows"
    )]
    pub(super) resume: Option<String>,
    /// With --resume: something the agent shall know
    #[arg(long, value_name = "TEXT", help_heading = "Flows")]
    pub(super) message: Option<String>,

    /// A command the host runs on the result; each must succeed (can be given again)
    #[arg(long, value_name = "CMD", help_heading = "The result")]
    check: Vec<String>,
    /// Files in which the checks' runners write down what they did, besides the usual places: JUnit XML, coverage (can be given again)
    #[arg(long, value_name = "GLOB", help_heading = "The result")]
    check_report: Vec<String>,
    /// Run only the checks asked for, not those that fit the repository's shape (cargo test, npm test, …)
    #[arg(long, help_heading = "The result")]
    no_auto_checks: bool,
    /// Tests and what else defines checks are meant to change; without this, a check that passes only as changed needs a person
    #[arg(long, help_heading = "The result")]
    tests_may_change: bool,
    /// Accept a patch that touches CI workflows, hooks, agent or Holon configuration
    #[arg(long, help_heading = "The result")]
    allow_sensitive: bool,
    /// Apply the patch to the workspace when the run succeeds
    #[arg(long, help_heading = "The result")]
    pub(super) apply: bool,
    /// Let the result of an orchestration out although its assessment blocks; written to the audit log, with who and where
    #[arg(long, value_name = "REASON", help_heading = "The result")]
    pub(super) override_ethics: Option<String>,
    /// Then bring the result to GitHub, as `holon publish github` does: OWNER/REPO or OWNER/REPO#NUMBER
    /// [default: from the environment of a workflow]
    #[arg(long, value_name = "TARGET", num_args = 0..=1, require_equals = true, conflicts_with = "dry_run", help_heading = "The result")]
    pub(super) publish: Option<Option<String>>,
    /// Keep the agent's copy of the workspace in the run store
    #[arg(long, help_heading = "The result")]
    keep: bool,

    /// Show every effective value with its source, the prompts and the mounts; start nothing
    #[arg(long, help_heading = "Output")]
    pub(super) dry_run: bool,
    /// Print the run's events as JSON lines on standard output, and nothing else there
    #[arg(long, conflicts_with = "quiet", help_heading = "Output")]
    pub(super) json: bool,
    /// Print the result and warnings only
    #[arg(long, help_heading = "Output")]
    pub(super) quiet: bool,
}

/// Values of --sandbox.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum SandboxFlag {
    /// The strongest that works
    Auto,
    /// Namespaces, private root, Landlock and seccomp
    Native,
    /// A container, by podman or docker
    Oci,
    /// The system's bubblewrap
    Bubblewrap,
    /// Landlock and seccomp only, on a copy
    Landlock,
    /// No walls at all
    None,
}

/// Values of --supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SupervisorFlag {
    /// Leave it alone
    Off,
    /// Watch and speak; deny nothing, stop nothing
    Advise,
    /// Trust, watch, speak, take over when it is lost, hand back
    Adaptive,
    /// The same with proof: a plan, checks at milestones, less patience
    Strict,
}

impl RunArgs {
    /// The orchestrated run with which an improvement is made; what the command decides itself is refused by name.
    pub(crate) fn for_improvement(
        mut self,
        goal: String,
        pull: Option<Option<String>>,
    ) -> Result<Self, CliFailure> {
        let taken = [
            ("--mode", self.mode.is_some(), "an improvement is always split into tasks"),
            ("--goal", self.goal.is_some(), "say what is wanted as `holon improve \"…\"`"),
            ("--resume", self.resume.is_some(), "go on with `holon run --resume`"),
            ("--message", self.message.is_some(), "say what is wanted as `holon improve \"…\"`"),
        ];
        if let Some((flag, _, hint)) = taken.into_iter().find(|(_, given, _)| *given) {
            return Err(CliFailure::user(format!("`holon improve` takes no {flag}"), hint));
        }
        (self.mode, self.goal, self.goal_alone) = (Some("orchestrate".into()), Some(goal), true);
        self.publish = pull.or(self.publish);
        Ok(self)
    }

    /// What is wanted, where the command line says it.
    pub(super) fn goal(&self) -> Option<&str> {
        self.goal.as_deref()
    }
}

impl SupervisorFlag {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Advise => "advise",
            Self::Adaptive => "adaptive",
            Self::Strict => "strict",
        }
    }
}

impl From<SupervisorFlag> for SpecSupervision {
    fn from(level: SupervisorFlag) -> Self {
        match level {
            SupervisorFlag::Off => Self::Off,
            SupervisorFlag::Advise => Self::Advise,
            SupervisorFlag::Adaptive => Self::Adaptive,
            SupervisorFlag::Strict => Self::Strict,
        }
    }
}

/// Values of --gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum GateFlag {
    /// Ask the person at the terminal
    Ask,
    /// Go on when the step before succeeded, else stop
    Auto,
    /// Stop there with exit code 2; --resume goes on
    Stop,
}

/// Values of --network.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum NetworkFlag {
    /// Nothing
    None,
    /// The model alone, whatever the configuration permits
    Model,
    /// The host's network; recorded in the manifest
    Host,
}

/// Values of --snapshot.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum SnapshotFlag {
    /// The cheapest that works
    Auto,
    /// A layer over the folder; costs nothing to start
    Overlay,
    /// A copy that shares blocks where the filesystem can
    Reflink,
    /// A full copy
    Copy,
}

/// Values of --verify.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum VerifyFlag {
    /// The paths the agent touched
    Touched,
    /// Every byte, before and after
    Full,
}

/// `64`, `64M` or `2G` as MiB.
fn megabytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "m" | "mb" | "mib" => 1,
        "g" | "gb" | "gib" => 1024,
        _ => 0,
    };
    let wrong = || format!("`{text}` is not a size of at most 1024G; write it like 64, 64M or 2G");
    let size = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(factor));
    size.filter(|n| (1..=1 << 20).contains(n)).ok_or_else(wrong)
}

/// Something that can be permitted; what it stands for is worked out later.
fn permit(text: &str) -> Result<String, String> {
    PermitRule::parse(text).map(|rule| rule.to_string()).map_err(|error| error.to_string())
}

/// An amount of money that is a number and not negative.
fn dollars(text: &str) -> Result<f64, String> {
    let amount = text.strip_prefix('$').unwrap_or(text).parse::<f64>().ok();
    amount
        .filter(|amount| amount.is_finite() && *amount >= 0.0)
        .ok_or_else(|| format!("`{text}` is not an amount; write it like 2 or 0.50"))
}

impl RunArgs {
    /// Money, time and rounds, as far as they are given.
    pub(super) fn limits(&self) -> (Option<f64>, Option<HumanDuration>, Option<u64>) {
        (self.max_cost, self.timeout, self.max_rounds)
    }
}

impl From<RunArgs> for RunRequest {
    fn from(args: RunArgs) -> Self {
        Self {
            mode: args.mode,
            spec: args.spec,
            given_spec: None,
            part: false,
            goal: args.goal,
            workspace: args.workspace,
            out: args.out,
            context: args.context,
            agent: args.agent,
            agent_args: args.agent_args,
            image: args.image,
            model: args.model,
            provider: args.provider,
            record: args.record,
            replay: args.replay,
            mcp: args.mcp,
            supervisor: args.supervisor.map(SpecSupervision::from),
            shadow: args.shadow,
            max_rounds: args.max_rounds,
            max_cost_usd: args.max_cost,
            sandbox: match args.sandbox {
                SandboxFlag::Auto => SandboxChoice::Auto,
                SandboxFlag::Native => SandboxChoice::Native,
                SandboxFlag::Oci => SandboxChoice::Oci,
                SandboxFlag::Bubblewrap => SandboxChoice::Bubblewrap,
                SandboxFlag::Landlock => SandboxChoice::Landlock,
                SandboxFlag::None => SandboxChoice::None,
            },
            accept_no_isolation: args.i_accept_no_isolation,
            network: args.network.map(|reach| match reach {
                NetworkFlag::None => NetworkReach::None,
                NetworkFlag::Model => NetworkReach::Gateway,
                NetworkFlag::Host => NetworkReach::Host,
            }),
            allow_net: args.allow_net,
            fresh: args.fresh,
            allow_writes: args.allow_writes,
            timeout: args.timeout,
            idle_timeout: args.idle_timeout,
            max_output_mb: args.max_output,
            checks: args.check,
            auto_checks: !args.no_auto_checks,
            check_reports: args.check_report,
            tests_may_change: args.tests_may_change,
            allow_sensitive: args.allow_sensitive,
            apply: args.apply,
            verify_full: args.verify == VerifyFlag::Full,
            snapshot: match args.snapshot {
                SnapshotFlag::Auto => SnapshotStrategyChoice::Auto,
                SnapshotFlag::Overlay => SnapshotStrategyChoice::Overlay,
                SnapshotFlag::Reflink => SnapshotStrategyChoice::Reflink,
                SnapshotFlag::Copy => SnapshotStrategyChoice::Copy,
            },
            keep: args.keep,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_in_mib() {
        assert_eq!(megabytes("64"), Ok(64));
        assert_eq!(megabytes("64MiB"), Ok(64));
        assert_eq!(megabytes("2G"), Ok(2048));
        for wrong in
            ["", "0", "M", "1T", "-1", "1.5G", "1025G", "99999999999999999999", "18446744073709551615G", "1ä"]
        {
            assert!(megabytes(wrong).is_err(), "{wrong}");
        }
    }
}
