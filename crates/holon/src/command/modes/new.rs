//! `holon modes new`: a commented mode file to start from.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use holon_core::mode::builtin::TEMPLATE;
use holon_core::mode::{ModeCatalog, ModeSource};
use holon_host::HostError;

use super::ModesWorkspaceArgs;
use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;

/// Write a new mode file from a commented template
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  holon modes new docs --extends architect && holon modes check")]
pub(crate) struct ModesNewArgs {
    /// The new mode's name
    name: String,
    /// The mode it narrows
    #[arg(long, value_name = "MODE", default_value = "plan")]
    extends: String,
    /// Write it to your own configuration instead of the project's .holon/modes
    #[arg(long)]
    user: bool,
    #[command(flatten)]
    whose: ModesWorkspaceArgs,
}

/// Writes the file, never over another.
pub(crate) fn run(args: &ModesNewArgs, session: &Session) -> CommandExit {
    let mut catalog = args.whose.catalog_with_warnings(session)?;
    if let Some(mode) = catalog.canonical(&args.name) {
        let message = format!("`{}` already names the mode `{mode}`", args.name);
        return Err(CliFailure::user(message, "choose another name"));
    }
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    if !args.name.chars().all(fits) {
        let message = format!("`{}` is no name for a mode", args.name);
        return Err(CliFailure::user(message, "use small letters, digits and dashes, such as plan-strict"));
    }
    let parent = catalog.resolve(&args.extends).map_err(HostError::from)?.name;
    let text = TEMPLATE
        .replace("NAME", &args.name)
        .replace("extends = \"plan\"", &format!("extends = \"{parent}\""));
    let places = session.places()?;
    let workspace = session.workspace(args.whose.workspace.as_deref())?;
    let (source, folder) = match args.user {
        true => (ModeSource::User, places.config.join("modes")),
        false => (ModeSource::Project, workspace.join(".holon/modes")),
    };
    let path = folder.join(format!("{}.toml", args.name));
    check(&mut catalog, source, &path.to_string_lossy(), &text, &args.name)?;
    fs::create_dir_all(&folder).map_err(CliFailure::io("create", &folder))?;
    let written = File::create_new(&path).and_then(|mut file| file.write_all(text.as_bytes()));
    match written {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {
            return Err(CliFailure::user(
                format!("{} already exists", path.display()),
                "edit it, or choose another name",
            ));
        }
        other => other.map_err(CliFailure::io("write", &path))?,
    }
    let next = format!("holon modes check, then holon run --mode {}", args.name);
    session.terminal.print(format!("wrote {}\nnext: edit it, then {next}\n", path.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// The template under this name must be a mode before it is written: the name may not be fit for one.
fn check(
    catalog: &mut ModeCatalog,
    source: ModeSource,
    path: &str,
    text: &str,
    name: &str,
) -> Result<(), CliFailure> {
    let added = catalog.add(source, path, text).and_then(|()| catalog.resolve(name));
    added.map(drop).map_err(|e| HostError::from(e).into())
}
