//! `holon runs verify`: is what a manifest says true?

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holon_core::digest::sha256;
use holon_flow::sealed::SEALED;
use holon_flow::verify::{self, AuditLog, Discrepancy};
use holon_host::HolonFolders;
use holon_host::store::{RunFolder, RunStore};
use serde_json::{Value, json};

use super::{RunsWorkspaceArgs, find};
use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::terminal::{TextStyle, visible};

/// The exit code when something is false.
const FALSE: u8 = 2;

/// Compute everything a run's manifest claims once more, and say what is false
///
/// Digests, sizes and forms of the artifacts; the patch, what it touches and whether it leads from the base to the result;
/// outcome, exit code and reason; what was enforced; checks, events, tokens, prompts, decisions and the audit log; every
/// stored file, as it was sealed when the run ended. The steps of a flow and the tasks of an orchestration are looked at,
/// too.
///
/// It finds what does not fit together. Whoever can write to all of a run's folder and to the audit log can make it fit:
/// what proves who wrote it is a signature.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes:\n  0  everything that can be looked at is true\n  2  something is false\n  1  it cannot be read\n\nExamples:\n  holon runs verify last\n  holon runs verify ./out               the folder that --out wrote\n  holon runs verify change.patch        which run made it, and is that run sound?\n  holon runs verify --all --json"
)]
pub(crate) struct RunsVerifyArgs {
    /// Runs (an id, the beginning or end of it, `last`, FLOW/STEP), folders, or patches
    #[arg(value_name = "RUN|FOLDER|PATCH", required_unless_present = "all")]
    what: Vec<String>,
    /// Every finished run of the workspace
    #[arg(long, conflicts_with = "what")]
    all: bool,
    #[command(flatten)]
    whose: RunsWorkspaceArgs,
    /// As JSON: one object per run and line
    #[arg(long)]
    json: bool,
}

/// What was looked at, and what is false about it.
struct VerifiedRun {
    run: String,
    folder: PathBuf,
    false_claims: Vec<Discrepancy>,
    unproven: Vec<String>,
}

/// Verifies and tells.
pub(crate) fn run(args: &RunsVerifyArgs, session: &Session) -> CommandExit {
    let places = session.places()?;
    let mut folders = Vec::new();
    if args.all {
        let store = session.store(args.whose.workspace.as_deref())?;
        for id in store.ids()? {
            let folder = store.open(&id);
            if folder.record().is_ok_and(|record| record.finished) {
                folders.push(folder.path().to_owned());
            }
        }
    }
    for name in &args.what {
        folders.push(place_of(name, &args.whose, session, &places)?);
    }
    let log = AuditLog::of(&places);
    let mut looked = Vec::new();
    for folder in folders {
        look(&places, log.as_ref(), &folder, &mut looked)?;
    }
    let sound = looked.iter().all(|looked| looked.false_claims.is_empty());
    let text: String = looked
        .iter()
        .map(|looked| if args.json { format!("{}\n", as_json(looked)) } else { page(looked, session) })
        .collect();
    session.terminal.print(text)?;
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::from(FALSE) })
}

/// The folder that is meant by a name.
pub(crate) fn place_of(
    name: &str,
    whose: &RunsWorkspaceArgs,
    session: &Session,
    places: &HolonFolders,
) -> Result<PathBuf, CliFailure> {
    let path = Path::new(name);
    if path.is_dir() {
        return path.canonicalize().map_err(CliFailure::io("open", path));
    }
    let store = session.store(whose.workspace.as_deref())?;
    if path.is_file() {
        return made_by(path, &store);
    }
    let found = match find(&store, name) {
        Err(failure) => holon_flow::find_step(places, &store, name).ok_or(failure)?,
        Ok(found) => found,
    };
    let record = found.record()?;
    if !record.finished {
        return Err(CliFailure::config(format!("run {} is not over yet", record.id))
            .hint("wait for it, then verify it"));
    }
    Ok(found.path().to_owned())
}

/// The run a patch comes from: the folder it lies in, or the run that delivered these bytes.
fn made_by(patch: &Path, store: &RunStore) -> Result<PathBuf, CliFailure> {
    let bytes = fs::read(patch).map_err(CliFailure::io("read", patch))?;
    let folder = patch.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let beside =
        patch.file_name().is_some_and(|name| name == "diff.patch") && folder.join("manifest.json").is_file();
    if beside {
        let folder = folder.canonicalize().map_err(CliFailure::io("open", folder))?;
        let run = folder.parent().filter(|run| folder.ends_with("output") && run.join("run.json").is_file());
        return Ok(run.map_or_else(|| folder.clone(), Path::to_owned));
    }
    let digest = sha256(&bytes);
    for id in store.ids()?.iter().rev() {
        let run = store.open(id);
        let rows = run.manifest().map(|manifest| manifest.artifacts).unwrap_or_default();
        if rows.iter().any(|row| row.path == "diff.patch" && row.sha256.as_deref() == Some(&digest)) {
            return Ok(run.path().to_owned());
        }
    }
    Err(CliFailure::config(format!("no run of this workspace delivered {}", patch.display())).hint(
        "name the workspace it was made for with --workspace; what was edited by hand is nobody's patch",
    ))
}

/// Looks at a run and at those inside it.
fn look(
    places: &HolonFolders,
    log: Option<&AuditLog>,
    folder: &Path,
    looked: &mut Vec<VerifiedRun>,
) -> Result<(), CliFailure> {
    let evidence = verify::gather_with(places, log, folder)?;
    looked.push(VerifiedRun {
        run: evidence.manifest.run_id.to_string(),
        folder: folder.to_owned(),
        false_claims: verify::verify_manifest(&evidence),
        unproven: verify::unproven(&evidence),
    });
    if evidence.record.is_some() {
        for child in verify::children(places, &RunFolder::open(folder.to_owned()))? {
            // One that was under way when its process died and was begun anew never got a manifest; one that was sealed did.
            let finished = RunFolder::open(child.clone()).record().is_ok_and(|record| record.finished);
            if finished || child.join(SEALED).exists() {
                look(places, log, &child, looked)?;
            }
        }
    }
    Ok(())
}

fn as_json(looked: &VerifiedRun) -> Value {
    json!({
        "run": looked.run,
        "folder": looked.folder.display().to_string(),
        "sound": looked.false_claims.is_empty(),
        "false": looked.false_claims,
        "unproven": looked.unproven,
    })
}

fn page(looked: &VerifiedRun, session: &Session) -> String {
    let out = session.terminal.stdout;
    let head = match looked.false_claims.len() {
        0 => out.paint(TextStyle::Green, "sound"),
        1 => out.paint(TextStyle::Red, "1 claim is false"),
        many => out.paint(TextStyle::Red, &format!("{many} claims are false")),
    };
    let mut text = format!("{}: {head}\n", looked.run);
    for claim in &looked.false_claims {
        text.push_str(&format!("  {}: {}\n", visible(&claim.claim), visible(&claim.sentence)));
    }
    for note in &looked.unproven {
        text.push_str(&format!(
            "  {}\n",
            out.paint(TextStyle::Dim, &format!("not looked at: {}", visible(note)))
        ));
    }
    text
}
