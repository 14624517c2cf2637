//! `holon attest`: a signed statement about what a run made.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holon_attest::{DsseEnvelope, RunStatement, SigningKey};
use holon_core::manifest::Manifest;
use holon_flow::verify::{EvidenceLayout, RunEvidence, gather, verify_manifest};
use holon_publish::VerifiedOutput;

use super::runs::{RunsWorkspaceArgs, place_of};
use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::terminal::visible;

/// Where a statement lies beside what it is about.
pub(crate) const FILE: &str = "attestation.json";

/// Sign a statement about what a run made
///
/// The statement is an in-toto Statement v1 in a DSSE envelope: the patch and the other artifacts by digest, and of the run
/// what its manifest knows: base, mode, what was enforced, checks, agent, model, and what people decided. Before anything is
/// signed, the manifest is verified (`holon runs verify`): what is false is not signed.
///
/// The key is an SSH key (a private key's file, or a public key's whose private one ssh-agent or a hardware token holds;
/// `ssh-keygen -Y sign` makes the signature) or an Ed25519 key in PEM.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 signed, 2 the manifest says what is false, 1 it cannot be done.\n\nExamples:\n  holon attest last --key ~/.ssh/id_ed25519\n  holon attest ./out --key ~/.ssh/id_ed25519.pub       through ssh-agent\n  holon verify ./out --policy standard --signer ~/.ssh/id_ed25519.pub"
)]
pub(crate) struct AttestArgs {
    /// A run (its id, the beginning or end of it, `last`, FLOW/STEP), or a folder that --out wrote
    #[arg(value_name = "RUN|FOLDER")]
    what: String,
    /// The key to sign with
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Where to write the statement [default: attestation.json beside what it is about]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    whose: RunsWorkspaceArgs,
}

/// Verifies, signs and writes.
pub(crate) fn run(args: &AttestArgs, session: &Session) -> CommandExit {
    let places = session.places()?;
    let folder = place_of(&args.what, &args.whose, session, &places)?;
    let evidence = gather(&places, &folder)?;
    let lies = verify_manifest(&evidence);
    if !lies.is_empty() {
        session
            .terminal
            .say(&format!("not signed: the manifest of run {} says what is false", evidence.manifest.run_id));
        for lie in &lies {
            session.terminal.say(&format!("  {}: {}", visible(&lie.claim), visible(&lie.sentence)));
        }
        return Ok(ExitCode::from(2));
    }
    let target = args.out.clone().map_or_else(|| beside(&evidence, &folder), Ok)?;
    let key = SigningKey::read(&args.key)?;
    let envelope = DsseEnvelope::seal(&statement(&evidence, &folder)?, &key)?;
    fs::write(&target, envelope.to_json()).map_err(CliFailure::io("write", &target))?;
    session.terminal.say(&format!(
        "signed by {} for {}: {}",
        key.public().id(),
        evidence.manifest.run_id,
        target.display()
    ));
    Ok(ExitCode::SUCCESS)
}

fn statement(evidence: &RunEvidence, folder: &Path) -> Result<RunStatement, CliFailure> {
    let path = match evidence.layout {
        EvidenceLayout::Store => folder.join("output/manifest.json"),
        EvidenceLayout::Copy => folder.join("manifest.json"),
    };
    let bytes = fs::read(&path).map_err(CliFailure::io("read", &path))?;
    // Read once more: what is signed is what was verified.
    let manifest: Option<Manifest> = serde_json::from_slice(&bytes).ok();
    if manifest.as_ref() != Some(&evidence.manifest) {
        return Err(
            CliFailure::config(format!("{} changed while it was read", path.display())).hint("try again")
        );
    }
    Ok(RunStatement::about(&bytes)?)
}

/// The usual place, unless the agent left a file of that name.
fn beside(evidence: &RunEvidence, folder: &Path) -> Result<PathBuf, CliFailure> {
    let taken = evidence.layout == EvidenceLayout::Copy
        && evidence.manifest.artifacts.iter().any(|row| row.path == FILE);
    if taken {
        return Err(CliFailure::config(format!("the agent left a file called {FILE}"))
            .hint("say where to write with --out"));
    }
    Ok(folder.join(FILE))
}

/// The signed statement beside a finished output, when it is about exactly this one; one about another is refused.
pub(crate) fn about(output: &VerifiedOutput) -> Result<Option<String>, CliFailure> {
    let dir = output.dir();
    // In the run store it lies beside the output, not in it.
    let places = [
        Some(dir.join(FILE)),
        dir.parent().filter(|run| run.join("run.json").is_file()).map(|run| run.join(FILE)),
    ];
    let listed = output.manifest().artifacts.iter().any(|row| row.path == FILE);
    let places = places.into_iter().flatten().filter(|path| !(listed && *path == dir.join(FILE)));
    let Some(path) = places.into_iter().find(|path| path.is_file()) else { return Ok(None) };
    let bytes = fs::read(&path).map_err(CliFailure::io("read", &path))?;
    let envelope = DsseEnvelope::parse(&bytes)?;
    let statement: Option<RunStatement> =
        envelope.payload().and_then(|payload| serde_json::from_slice(&payload).ok());
    if statement.is_none_or(|statement| statement.predicate.manifest_sha256 != output.digest()) {
        let message = format!("{} is not about this output", path.display());
        return Err(CliFailure::config(message).hint("sign it anew with `holon attest`, or remove it"));
    }
    Ok(Some(envelope.to_json()))
}
