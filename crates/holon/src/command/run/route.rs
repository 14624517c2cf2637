//! Where a goal goes: split into tasks for modes or, where the user's configuration says so, as one run in mode code.

use std::path::Path;

use holon_core::config::{ConfigSource, ConfigValue};
use holon_flow::orchestrate::CodeEdges;

use super::RunArgs;
use crate::failure::CliFailure;
use crate::session::Session;

/// A goal that is to be split, or the single run it is here; that is told.
pub(super) fn routed(mut args: RunArgs, session: &Session) -> Result<RunArgs, CliFailure> {
    if args.goal_alone
        && let Some(why) = why_single(args.workspace.as_deref(), session)?
    {
        let workspace = session.workspace(args.workspace.as_deref())?;
        let edges = CodeEdges::wanted(args.assess, args.review, &session.settings(&workspace)?);
        let what = match edges {
            None => "a single run in mode code, without review and assessment",
            Some(CodeEdges { review: false }) => "a single run in mode code, with its assessment",
            Some(CodeEdges { review: true }) => "a single run in mode code, with its review and assessment",
        };
        tell(&why, what, session);
        args.mode = Some("execute".into());
    }
    Ok(args)
}

/// Why a question is a single run in mode code instead of a look by the read-only mode, if it is.
pub(crate) fn why_former(workspace: Option<&Path>, session: &Session) -> Result<Option<String>, CliFailure> {
    switched_off(&["modes.v2_enabled"], workspace, session)
}

/// Says what a command has become, and why.
pub(crate) fn tell(why: &str, what: &str, session: &Session) {
    session.terminal.say(&format!("{why}: this is {what}"));
}

/// Why nothing is split into tasks, if nothing is.
pub(crate) fn why_single(workspace: Option<&Path>, session: &Session) -> Result<Option<String>, CliFailure> {
    switched_off(&["modes.v2_enabled", "modes.orchestrate.enabled"], workspace, session)
}

/// Which of these keys is off, and who says so. A workspace has no say: what it switches off is refused, because a goal of
/// its user's must not lose its assessment by a file in the repository.
fn switched_off(
    keys: &[&str],
    workspace: Option<&Path>,
    session: &Session,
) -> Result<Option<String>, CliFailure> {
    let workspace = session.workspace(workspace)?;
    let config = session.settings(&workspace)?;
    let is_off = |found: &ConfigValue| {
        found.value.as_bool() == Some(false) && !matches!(found.source, ConfigSource::Project { .. })
    };
    let said = |key: &&str| {
        let found = config.get(key).filter(is_off)?;
        Some(format!("{key} is off ({})", found.source))
    };
    Ok(keys.iter().find_map(said))
}
