//! Every flow that can be named: those that come with Holon, the user's, the project's. A file that is wrong keeps nobody
//! from the others: it is remembered with what is wrong.

use std::path::{Path, PathBuf};

use holon_core::mode::{ModeCatalog, ModeSource};
use holon_host::{HolonFolders, modes};

use crate::builtin;
use crate::definition::{FlowDefinition, FlowSurroundings};
use crate::error::FlowError;
use crate::file_error::FlowFileError;

/// The flows there are.
#[derive(Debug, Clone)]
pub struct FlowCatalog {
    flows: Vec<FlowDefinition>,
    refused: Vec<(String, FlowFileError)>,
    /// Whoever names a mode means it, whatever is wrong with a flow of that name; known where files were read.
    modes: Option<ModeCatalog>,
}

impl FlowCatalog {
    /// The flows that come with Holon.
    pub fn builtin() -> Result<Self, FlowError> {
        Ok(Self { flows: builtin::all()?, refused: Vec::new(), modes: None })
    }

    /// All flows that can be used in a workspace.
    pub fn of(places: &HolonFolders, workspace: Option<&Path>) -> Result<Self, FlowError> {
        let mut catalog = Self::builtin()?;
        let mut files: Vec<(ModeSource, PathBuf)> = Vec::new();
        for (source, folder) in folders(places, workspace) {
            let found = modes::toml_entries(&folder, source)?;
            files.extend(found.files.into_iter().map(|path| (source, path)));
            for path in found.passed_over {
                catalog.refuse(passed_over(&path));
            }
        }
        if files.is_empty() {
            return Ok(catalog);
        }
        let known = modes::catalog(places, workspace)?;
        for (source, path) in files {
            let file = path.to_string_lossy();
            match modes::read_of(source, &path) {
                // What is wrong is remembered.
                Ok(text) => drop(catalog.add(source, &file, &text, &known)),
                Err(error) => catalog.refuse(unreadable(&file, &error)),
            }
        }
        catalog.modes = Some(known);
        Ok(catalog)
    }

    /// The flow of a name in a workspace, if there is one; a file of that name that cannot be used is an error.
    pub fn find_in(
        places: &HolonFolders,
        workspace: Option<&Path>,
        name: &str,
    ) -> Result<Option<FlowDefinition>, FlowError> {
        match builtin::find(name)? {
            Some(flow) => Ok(Some(flow)),
            None => Ok(Self::of(places, workspace)?.find(name)?.cloned()),
        }
    }

    /// Adds a flow file. The user's files come before the project's, so that a project cannot take a name first.
    pub fn add(
        &mut self,
        source: ModeSource,
        file: &str,
        text: &str,
        modes: &ModeCatalog,
    ) -> Result<(), FlowFileError> {
        let names: Vec<String> = self.flows.iter().map(|flow| flow.name.clone()).collect();
        let among = FlowSurroundings { modes, flows: &names };
        match FlowDefinition::read(text, file, source, &among) {
            Ok(flow) => {
                self.flows.push(flow);
                Ok(())
            }
            Err(error) => {
                self.refuse(error.clone());
                Err(error)
            }
        }
    }

    fn refuse(&mut self, error: FlowFileError) {
        let path = Path::new(&error.file);
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        self.refused.push((name, error));
    }

    /// The flow of a name; the error says what is wrong with the file that would have it.
    pub fn find(&self, name: &str) -> Result<Option<&FlowDefinition>, FlowFileError> {
        if let Some(flow) = self.flows.iter().find(|flow| flow.name == name) {
            return Ok(Some(flow));
        }
        if self.modes.as_ref().is_some_and(|modes| modes.canonical(name).is_some()) {
            return Ok(None);
        }
        match self.refused.iter().find(|(refused, _)| refused == name) {
            Some((_, error)) => Err(error.clone()),
            None => Ok(None),
        }
    }

    /// All flows, those that come with Holon first.
    pub fn list(&self) -> &[FlowDefinition] {
        &self.flows
    }

    /// Files that cannot be used, by the names they would have had.
    pub fn refused(&self) -> &[(String, FlowFileError)] {
        &self.refused
    }
}

/// Where flow files are looked for.
pub fn folders(places: &HolonFolders, workspace: Option<&Path>) -> Vec<(ModeSource, PathBuf)> {
    let mut folders = vec![(ModeSource::User, places.config.join("flows"))];
    folders.extend(workspace.map(|workspace| (ModeSource::Project, workspace.join(".holon/flows"))));
    folders
}

/// A link, a pipe or a folder where a flow file would be.
fn passed_over(path: &Path) -> FlowFileError {
    let what = if path.is_symlink() { "is a link" } else { "is no file" };
    FlowFileError {
        file: path.to_string_lossy().into_owned(),
        line: None,
        step: None,
        key: "",
        problem: format!("{what}, and is not read"),
        remedy: "put the flow's text into a plain file of that name".to_owned(),
    }
}

fn unreadable(file: &str, error: &holon_host::HostError) -> FlowFileError {
    FlowFileError {
        file: file.to_owned(),
        line: None,
        step: None,
        key: "",
        problem: error.to_string(),
        remedy: error.hint().unwrap_or_else(|| "make it a readable file".to_owned()),
    }
}

#[cfg(test)]
mod tests;
