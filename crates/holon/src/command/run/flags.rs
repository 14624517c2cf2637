//! The flags of `holon run`, and the request they make.

use std::path::PathBuf;

use clap::ValueEnum;
use holon_core::Span;
use holon_core::mode::Network;
use holon_host::RunRequest;
use holon_sandbox::fallback::Choice;
use holon_sandbox::snapshot::StrategyChoice;

const EXAMPLES: &str = "\
Examples:
  # Think a change through; the workspace cannot change, whatever the agent does
  holon run --mode plan --goal \"Support IPv6\" --agent ./agent.sh

  # Make the change, test the result, get a patch
  holon run --goal \"Fix the date parser\" --agent ./agent.sh --check \"make test\"

  # Hand the plan to the agent that carries it out, and keep the artifacts beside the code
  holon run --goal \"Do it\" --agent ./agent.sh --context out/plan.md --out holon-output

  # See what would happen, and where each value comes from
  holon run --spec spec.yaml --agent ./agent.sh --dry-run

  # In a script: events as JSON lines, the result as the exit code
  holon run --spec spec.yaml --agent ./agent.sh --json > events.jsonl

Exit codes: 0 success, 1 failure, 2 needs a person, 64 the command line is wrong.";

/// Run an agent in a mode, behind walls, on a snapshot of the workspace
///
/// The agent sees a copy of the folder, never the original. When it is done, the host checks what it left, makes
/// the patch itself, and writes a manifest that says what happened. Nothing reaches your files without
/// `holon runs apply` or --apply.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What the agent may do: execute, plan, review, … (`holon modes list`) [default: execute]
    #[arg(long, value_name = "NAME", help_heading = "What to do")]
    mode: Option<String>,
    /// What is wanted, in words
    #[arg(long, value_name = "TEXT", help_heading = "What to do")]
    goal: Option<String>,
    /// A spec.yaml with the goal and everything else; flags beat it
    #[arg(long, value_name = "FILE", help_heading = "What to do")]
    spec: Option<PathBuf>,
    /// Files or folders the agent shall read as well
    #[arg(long, value_name = "PATH", num_args = 1.., help_heading = "What to do")]
    context: Vec<PathBuf>,

    /// The folder to work on [default: the current one]
    #[arg(long, value_name = "DIR", help_heading = "Where")]
    workspace: Option<PathBuf>,
    /// Copy the artifacts here: a new or empty folder, or one that holds an earlier run's
    #[arg(long, value_name = "DIR", help_heading = "Where")]
    out: Option<PathBuf>,

    /// The agent: a name (`holon agents list`) or the path of a command
    #[arg(long, value_name = "NAME|PATH", help_heading = "Who does it")]
    agent: Option<String>,
    /// A container image that holds the agent, or in which it runs
    #[arg(long, value_name = "IMAGE", help_heading = "Who does it")]
    image: Option<String>,
    /// Arguments for the agent
    #[arg(last = true, value_name = "ARGS", help_heading = "Who does it")]
    agent_args: Vec<String>,

    /// Which walls to build; auto takes the strongest this machine has (`holon doctor`)
    #[arg(
        long,
        value_name = "KIND",
        default_value = "auto",
        hide_default_value = true,
        help_heading = "Walls"
    )]
    sandbox: Walls,
    /// Required with --sandbox none: the agent can then change anything you can
    #[arg(long, help_heading = "Walls")]
    i_accept_no_isolation: bool,
    /// What the agent can reach; read-only modes refuse the host's network
    #[arg(long, value_name = "KIND", help_heading = "Walls")]
    network: Option<Reach>,
    /// Let a mode that throws its changes away (debug) deliver them as a patch
    #[arg(long, help_heading = "Walls")]
    allow_writes: bool,
    /// How the agent's copy of the workspace is made
    #[arg(
        long,
        value_name = "KIND",
        default_value = "auto",
        hide_default_value = true,
        help_heading = "Walls"
    )]
    snapshot: Copying,
    /// How much of the workspace is proved unchanged afterwards
    #[arg(
        long,
        value_name = "EXTENT",
        default_value = "touched",
        hide_default_value = true,
        help_heading = "Walls"
    )]
    verify: Extent,

    /// End the agent after this time, such as 20m or 1h30m
    #[arg(long, value_name = "DURATION", help_heading = "Limits")]
    timeout: Option<Span>,
    /// End it when it shows no sign of life for this long
    #[arg(long, value_name = "DURATION", help_heading = "Limits")]
    idle_timeout: Option<Span>,
    /// Most it may print or leave as artifacts, in MiB, such as 64 or 1G
    #[arg(long, value_name = "SIZE", value_parser = megabytes, help_heading = "Limits")]
    max_output: Option<u64>,

    /// A command the host runs on the result; each must succeed (can be given again)
    #[arg(long, value_name = "CMD", help_heading = "The result")]
    check: Vec<String>,
    /// Accept a patch that touches CI workflows, hooks, agent or Holon configuration
    #[arg(long, help_heading = "The result")]
    allow_sensitive: bool,
    /// Apply the patch to the workspace when the run succeeds
    #[arg(long, help_heading = "The result")]
    apply: bool,
    /// Keep the agent's copy of the workspace in the run store
    #[arg(long, help_heading = "The result")]
    keep: bool,

    /// Show every effective value with its source, the prompts and the mounts; start nothing
    #[arg(long, help_heading = "Output")]
    pub(super) dry_run: bool,
    /// Print the run's events as JSON lines on standard output, and nothing else there
    #[arg(long, conflicts_with = "quiet", help_heading = "Output")]
    pub(super) json: bool,
    /// Print the result only
    #[arg(long, help_heading = "Output")]
    pub(super) quiet: bool,
}

/// Values of --sandbox.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Walls {
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

/// Values of --network.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Reach {
    /// Nothing
    None,
    /// The host's network; recorded in the manifest
    Host,
}

/// Values of --snapshot.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Copying {
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
enum Extent {
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
    let wrong = || format!("`{text}` is not a size; write it like 64, 64M or 2G");
    digits.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).filter(|n| *n > 0).ok_or_else(wrong)
}

impl From<Args> for RunRequest {
    fn from(args: Args) -> Self {
        Self {
            mode: args.mode,
            spec: args.spec,
            goal: args.goal,
            workspace: args.workspace,
            out: args.out,
            context: args.context,
            agent: args.agent,
            agent_args: args.agent_args,
            image: args.image,
            sandbox: match args.sandbox {
                Walls::Auto => Choice::Auto,
                Walls::Native => Choice::Native,
                Walls::Oci => Choice::Oci,
                Walls::Bubblewrap => Choice::Bubblewrap,
                Walls::Landlock => Choice::Landlock,
                Walls::None => Choice::None,
            },
            accept_no_isolation: args.i_accept_no_isolation,
            network: args.network.map(|reach| match reach {
                Reach::None => Network::None,
                Reach::Host => Network::Host,
            }),
            allow_writes: args.allow_writes,
            timeout: args.timeout,
            idle_timeout: args.idle_timeout,
            max_output_mb: args.max_output,
            checks: args.check,
            allow_sensitive: args.allow_sensitive,
            apply: args.apply,
            verify_full: args.verify == Extent::Full,
            snapshot: match args.snapshot {
                Copying::Auto => StrategyChoice::Auto,
                Copying::Overlay => StrategyChoice::Overlay,
                Copying::Reflink => StrategyChoice::Reflink,
                Copying::Copy => StrategyChoice::Copy,
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
        for wrong in ["", "0", "M", "1T", "-1", "1.5G", "99999999999999999999", "18446744073709551615G", "1ä"]
        {
            assert!(megabytes(wrong).is_err(), "{wrong}");
        }
    }
}
