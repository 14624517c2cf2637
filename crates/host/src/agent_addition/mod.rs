//! Adding an agent that the project does not know: it is installed, asked how it is called, and described in a file of
//! the user's.

mod called;
mod description;
mod install;
mod source;

use std::fs;
use std::path::PathBuf;

use crate::adapter::{self, Adapter, AgentLookup, LocatedAgent};
use crate::error::HostError;
use crate::holon_folders::HolonFolders;
use crate::run::HostEnvironment;
use crate::store::write_atomic;

pub use called::CallForm;
pub use source::AgentSource;

use description::AgentFacts;

/// What is wished for.
#[derive(Debug, Clone)]
pub struct AgentWish {
    /// Where it comes from.
    pub source: AgentSource,
    /// What it shall be called; made of the source where not given.
    pub name: Option<String>,
    /// Which of its programs is meant.
    pub program: Option<String>,
    /// The wire it speaks to a model.
    pub wire: String,
    /// Its arguments; guessed from its help where not given.
    pub args: Vec<String>,
    /// Whether a description of that name is written over.
    pub replace: bool,
}

/// An agent that was added.
#[derive(Debug, Clone)]
pub struct AddedAgent {
    /// What `--agent` takes.
    pub name: String,
    /// Its program and what is shown of it inside.
    pub located: LocatedAgent,
    /// Its version, as it says.
    pub version: Option<String>,
    /// How it is called.
    pub call: CallForm,
    /// The file that describes it.
    pub file: PathBuf,
}

/// Installs an agent, asks it how it is called, and writes its description.
pub fn add(
    wish: &AgentWish,
    places: &HolonFolders,
    env: &HostEnvironment,
    told: &dyn Fn(&str),
) -> Result<AddedAgent, HostError> {
    let name = wish.name.clone().unwrap_or_else(|| wish.source.name());
    let known = adapter::list(places, None)?;
    let file = places.config.join("agents").join(format!("{name}.toml"));
    if known.named(&name).is_some() && !(wish.replace && file.exists()) {
        let own = file.exists();
        let hint = if own {
            "choose another with --name, or write over it with --replace"
        } else {
            "choose another with --name"
        };
        return Err(HostError::usage(format!("agent `{name}` is already described"), hint));
    }
    let ways = known.named("acp").cloned().ok_or_else(|| {
        HostError::usage("the built-in description `acp` is missing", "this is a bug in Holon")
    })?;
    let folder = places.cache.join("agents").join(&name);
    told(&format!("{}: installing into {}", wish.source, folder.display()));
    let new = !folder.exists();
    let programs = install::install(&wish.source, &folder).inspect_err(|_| {
        // Nothing is left of what could not be installed.
        if new {
            let _ = fs::remove_dir_all(&folder);
        }
    })?;
    let program = chosen(wish, programs)?;
    let find = AgentLookup {
        program: program.clone(),
        install: format!("holon agents add {}", wish.source),
        tested: None,
        version: vec!["--version".into()],
        binary: None,
        node: None,
    };
    let located = adapter::locate(&find, places, env).map_err(|absent| {
        HostError::usage(
            format!("`{program}` {absent} in {}", folder.display()),
            "name its program with --program",
        )
    })?;
    let version = located.version.clone().or_else(|| adapter::ask_version(&find, &located));
    let call = match wish.args.is_empty() {
        true => CallForm::of_help(&adapter::ask_help(&located).unwrap_or_default()),
        false => CallForm::given(&wish.args),
    };
    let source = wish.source.to_string();
    let facts = AgentFacts {
        name: &name,
        source: &source,
        program: &program,
        call: &call,
        wire: &wish.wire,
        ways: &ways,
    };
    let text = description::text(&facts);
    Adapter::parse(&text, &file.to_string_lossy())?;
    let own = places.config.join("agents");
    fs::create_dir_all(&own).map_err(HostError::io("create", &own))?;
    write_atomic(&file, text.as_bytes())?;
    Ok(AddedAgent { name, located, version, call, file })
}

/// The program that is meant.
fn chosen(wish: &AgentWish, programs: Vec<String>) -> Result<String, HostError> {
    if let Some(program) = &wish.program {
        return Ok(program.clone());
    }
    match <[String; 1]>::try_from(programs) {
        Ok([program]) => Ok(program),
        Err(programs) if programs.is_empty() => Err(HostError::usage(
            format!("{} brings no program", wish.source),
            "check that it is an agent with a command line, or name its program with --program",
        )),
        Err(programs) => Err(HostError::usage(
            format!("{} brings several programs: {}", wish.source, programs.join(", ")),
            "name the one that is meant with --program",
        )),
    }
}
