//! `holon verify`: does a signed statement satisfy a policy?

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holon_attest::{Envelope, Policy, Presented, PublicKey, Signer, builtin_policies, judge};
use holon_core::digest::sha256;
use serde_json::json;

use super::attest::FILE;
use crate::Done;
use crate::failure::Failure;
use crate::session::Session;
use crate::terminal::{Style, visible};

/// The exit code when a rule is broken.
const NOT_SATISFIED: u8 = 2;

/// Decide whether a signed statement satisfies a policy
///
/// Everything is decided from the files that are given: no network, no service. A policy is a TOML file or one of the names
/// signed, standard and strict; whose signatures count is in the file's [[signer]] tables or given with --signer.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 it does, 2 it does not (every broken rule is told), 1 it cannot be read.\n\nExamples:\n  holon verify ./out --policy standard --signer ci.pub\n  holon verify attestation.json --policy team.toml --patch change.patch --base \"$(git merge-base main HEAD)\"\n  gh pr view 12 --json body --jq .body | holon verify - --policy team.toml"
)]
pub(crate) struct Args {
    /// The statement: attestation.json, the folder it is in, or any text that holds one; `-` reads standard input
    #[arg(value_name = "STATEMENT")]
    statement: PathBuf,
    /// The policy: a file, or signed, standard, strict
    #[arg(long, value_name = "NAME|FILE")]
    policy: String,
    /// A public key whose signature counts: a file, or the key itself
    #[arg(long, value_name = "FILE|KEY")]
    signer: Vec<String>,
    /// The patch it has to be about [default: diff.patch beside the statement, when it is there]
    #[arg(long, value_name = "FILE")]
    patch: Option<PathBuf>,
    /// The commit the change has to be made on
    #[arg(long, value_name = "COMMIT")]
    base: Option<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Decides and tells.
pub(crate) fn run(args: &Args, session: &Session) -> Done {
    let mut policy = policy(&args.policy)?;
    for given in &args.signer {
        policy.signer.push(signer(given)?);
    }
    let folder = args.statement.is_dir();
    let path = if folder { args.statement.join(FILE) } else { args.statement.clone() };
    let bytes = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut bytes)
            .map_err(Failure::io("read", &path))?;
        bytes
    } else {
        fs::read(&path).map_err(Failure::io("read", &path))?
    };
    let envelope = Envelope::find_in(&bytes)?;
    let beside = folder.then(|| args.statement.join("diff.patch")).filter(|patch| patch.is_file());
    let patch = args.patch.clone().or(beside);
    let patch = patch.map(|path| fs::read(&path).map_err(Failure::io("read", &path))).transpose()?;
    let presented = Presented { patch_sha256: patch.as_deref().map(sha256), base_commit: args.base.clone() };
    let (signed_by, against) = judge(&envelope, &policy, &presented)?;
    let satisfied = against.is_empty();
    let out = session.terminal.stdout;
    let text = if args.json {
        let told = json!({ "satisfied": satisfied, "policy": args.policy, "signed_by": signed_by, "against": against });
        format!("{told}\n")
    } else if satisfied {
        let good = out.paint(Style::Green, "satisfied");
        format!("{good}: {}, signed by {}\n", args.policy, visible(&signed_by.join(", ")))
    } else {
        let bad = out.paint(Style::Red, "not satisfied");
        let rules: String = against.iter().map(|rule| format!("  {}\n", visible(&rule.sentence))).collect();
        format!("{bad}: {}\n{rules}", args.policy)
    };
    session.terminal.print(text)?;
    Ok(if satisfied { ExitCode::SUCCESS } else { ExitCode::from(NOT_SATISFIED) })
}

fn policy(name: &str) -> Result<Policy, Failure> {
    if let Some(policy) = Policy::builtin(name)? {
        return Ok(policy);
    }
    let text = fs::read_to_string(name).map_err(|e| {
        let known: Vec<&str> = builtin_policies().collect();
        Failure::user(format!("policy {name}: {e}"), format!("give a file, or one of {}", known.join(", ")))
    })?;
    Ok(Policy::parse(name, &text)?)
}

/// A signer given on the command line.
fn signer(given: &str) -> Result<Signer, Failure> {
    let text = if PublicKey::parse(given).is_some() {
        given.to_owned()
    } else {
        fs::read_to_string(given).map_err(Failure::io("read", Path::new(given)))?
    };
    let key = PublicKey::parse(&text).ok_or_else(|| {
        Failure::user(
            format!("{given} holds no public key"),
            "give a .pub file, a PEM block or 32 bytes in base64",
        )
    })?;
    Ok(Signer { name: key.id(), key: key.to_text() })
}
