//! What follows a single run in mode code before its changes go out: by flag, or because the configuration says so.

use holon_flow::orchestrate::CodeEdges;
use holon_host::modes;

use super::RunArgs;
use super::composite::{current_folder, mode_of, workspace_of};
use crate::failure::CliFailure;
use crate::session::Session;

/// The edges of a run; nothing where nobody wants them.
pub(super) fn wanted(args: &RunArgs, session: &Session) -> Result<Option<CodeEdges>, CliFailure> {
    let workspace = workspace_of(args, &current_folder()?);
    // Said as the run itself would: what cannot be read says nothing about edges.
    std::fs::read_dir(&workspace).map_err(|e| {
        CliFailure::user(
            format!("workspace {}: {e}", workspace.display()),
            "give an existing, readable folder with --workspace",
        )
    })?;
    let mode = mode_of(args).unwrap_or_else(|| "execute".to_owned());
    if modes::catalog(&session.places()?, Some(&workspace))?.canonical(&mode) != Some("execute") {
        refuse(args, &mode)?;
        return Ok(None);
    }
    Ok(CodeEdges::wanted(args.assess, args.review, &session.settings(&workspace)?))
}

/// Refuses the flags where they have no effect.
pub(super) fn refuse(args: &RunArgs, mode: &str) -> Result<(), CliFailure> {
    let flag = match (args.assess, args.review) {
        (true, _) => "--assess",
        (_, true) => "--review",
        _ => return Ok(()),
    };
    let hint = match mode {
        "orchestrate" => {
            "leave it out: an orchestration is always assessed, and reviewed where its plan says so"
        }
        _ => "leave it out, or use the mode code",
    };
    Err(CliFailure::user(format!("{flag} is for single runs in mode code, not for {mode}"), hint))
}
