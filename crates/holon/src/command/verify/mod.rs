//! `holon verify`: does a signed statement satisfy a policy, and do its checks end as it says?

mod rerun;
mod statement_source;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holon_attest::{
    AttestationPolicy, PresentedChange, PublicKey, Signer, Violation, builtin_policies, judge,
};
use holon_core::digest::sha256;
use serde_json::json;

use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::terminal::{TextStyle, visible};

/// The exit code when a rule is broken, or a check ends otherwise than stated.
const NOT_SATISFIED: u8 = 2;

/// Decide whether a signed statement satisfies a policy, and run its checks once more
///
/// Everything is decided from the files that are given: no network, no service. A policy is a TOML file or one of the names
/// signed, standard and strict; whose signatures count is in the file's [[signer]] tables or given with --signer.
///
/// With --rerun the checks that are stated run once more, behind walls, on trees made anew from the base commit and the
/// patch alone; for each it is said whether it ended the same way. Nothing runs when a policy is not satisfied.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 it does and checks end as stated, 2 not (every broken rule and every difference is told), 1 it cannot be read or run.\n\nExamples:\n  holon verify ./out --policy standard --signer ci.pub\n  holon verify attestation.json --policy team.toml --patch change.patch --base \"$(git merge-base main HEAD)\"\n  gh pr view 12 --json body --jq .body | holon verify - --policy team.toml\n  holon verify last --rerun                            the checks of the last run once more"
)]
pub(crate) struct VerifyArgs {
    /// The statement: attestation.json, the folder it is in, or any text that holds one; `-` reads standard input. With --rerun also a run, or a folder that --out wrote
    #[arg(value_name = "STATEMENT")]
    statement: PathBuf,
    /// The policy: a file, or signed, standard, strict
    #[arg(long, value_name = "NAME|FILE", required_unless_present = "rerun")]
    policy: Option<String>,
    /// A public key whose signature counts: a file, or the key itself
    #[arg(long, value_name = "FILE|KEY", requires = "policy")]
    signer: Vec<String>,
    /// The patch it has to be about [default: diff.patch beside the statement, when it is there]
    #[arg(long, value_name = "FILE")]
    patch: Option<PathBuf>,
    /// The commit the change has to be made on
    #[arg(long, value_name = "COMMIT", requires = "policy")]
    base: Option<String>,
    /// Run the stated checks once more, from base and patch
    #[arg(long)]
    rerun: bool,
    /// A folder of the repository that has the base, for --rerun [default: the run's, else the current one]
    #[arg(long, value_name = "DIR", requires = "rerun")]
    workspace: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Decides and tells.
pub(crate) fn run(args: &VerifyArgs, session: &Session) -> CommandExit {
    let policy = args.policy.as_deref().map(|name| policy(name, &args.signer)).transpose()?;
    let presented =
        statement_source::find(args.statement.as_path(), args.rerun, args.workspace.as_deref(), session)?;
    let patch = args.patch.clone().or(presented.patch.clone());
    let patch = patch.map(|path| fs::read(&path).map_err(CliFailure::io("read", &path))).transpose()?;
    let mut told = json!({});
    let mut text = String::new();
    let mut good = true;
    if let (Some(name), Some(policy)) = (&args.policy, &policy) {
        let about =
            PresentedChange { patch_sha256: patch.as_deref().map(sha256), base_commit: args.base.clone() };
        let (signed_by, against) = judge(presented.envelope()?, policy, &about)?;
        good = against.is_empty();
        told = json!({ "satisfied": good, "policy": name, "signed_by": signed_by, "against": against });
        text = judged(name, &signed_by, &against, session);
    }
    if args.rerun && good {
        let patch = patch.ok_or_else(|| {
            CliFailure::config("there is no patch to run the checks on").hint("give it with --patch FILE")
        })?;
        let workspace = args.workspace.clone().or(presented.workspace.clone());
        let reran = rerun::run(&presented.statement()?, patch, workspace.as_deref(), session)?;
        good = reran.is_same();
        told["rerun"] = reran.as_json();
        text.push_str(&reran.page(session));
    } else if args.rerun {
        text.push_str("its checks were not run again, because the policy is not satisfied\n");
    }
    session.terminal.print(if args.json { format!("{told}\n") } else { text })?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::from(NOT_SATISFIED) })
}

/// What a policy said, for people.
fn judged(policy: &str, signed_by: &[String], against: &[Violation], session: &Session) -> String {
    let out = session.terminal.stdout;
    if against.is_empty() {
        let good = out.paint(TextStyle::Green, "satisfied");
        return format!("{good}: {policy}, signed by {}\n", visible(&signed_by.join(", ")));
    }
    let bad = out.paint(TextStyle::Red, "not satisfied");
    let rules: String = against.iter().map(|rule| format!("  {}\n", visible(&rule.sentence))).collect();
    format!("{bad}: {policy}\n{rules}")
}

/// A policy by its name or file, and who may sign besides those it names.
pub(crate) fn policy(name: &str, signers: &[String]) -> Result<AttestationPolicy, CliFailure> {
    let mut policy = match AttestationPolicy::builtin(name)? {
        Some(policy) => policy,
        None => written(name)?,
    };
    for given in signers {
        policy.signer.push(signer(given)?);
    }
    Ok(policy)
}

fn written(name: &str) -> Result<AttestationPolicy, CliFailure> {
    let text = fs::read_to_string(name).map_err(|e| {
        let known: Vec<&str> = builtin_policies().collect();
        CliFailure::user(
            format!("policy {name}: {e}"),
            format!("give a file, or one of {}", known.join(", ")),
        )
    })?;
    Ok(AttestationPolicy::parse(name, &text)?)
}

/// A signer given on the command line.
fn signer(given: &str) -> Result<Signer, CliFailure> {
    let text = if PublicKey::parse(given).is_some() {
        given.to_owned()
    } else {
        fs::read_to_string(given).map_err(CliFailure::io("read", Path::new(given)))?
    };
    let key = PublicKey::parse(&text).ok_or_else(|| {
        CliFailure::user(
            format!("{given} holds no public key"),
            "give a .pub file, a PEM block or 32 bytes in base64",
        )
    })?;
    Ok(Signer { name: key.id(), key: key.to_text() })
}
