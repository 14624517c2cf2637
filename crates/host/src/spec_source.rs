//! The spec of a run, wherever it came from, and how far its paths reach.
//!
//! A spec that comes with a repository was written by whoever wrote the repository: it reaches nothing outside of the
//! workspace. What the user names on the command line is the user's own choice, and so is a spec of their own.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use holon_core::artifact::json_schema::{ArtifactSchema, MAX_SCHEMA_BYTES};
use holon_core::digest::sha256;
use holon_core::spec::{self, RequestedSchema, Spec};
use holon_sandbox::mount::{self, path::StoredPath};
use rustix::fs::{Mode, OFlags, ResolveFlags};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::HostError;
use crate::modes;
use crate::request::RunRequest;

/// A spec that was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourcedSpec {
    /// What it says.
    pub spec: Spec,
    /// What it is called in messages.
    pub name: String,
    /// Where its relative paths begin.
    pub folder: PathBuf,
    /// The folder its paths must stay in; none for a file of the user's own.
    #[serde(default)]
    pub within: Option<PathBuf>,
    /// The digest of what was read.
    #[serde(default)]
    pub sha256: String,
}

/// A file or folder that is named somewhere, with the folder it must be in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedPath {
    /// Where it is.
    #[serde(with = "mount::path")]
    #[schemars(with = "StoredPath")]
    pub path: PathBuf,
    /// The folder it must be in; none when the user named it.
    #[serde(with = "mount::optional_path", default)]
    #[schemars(with = "Option<StoredPath>")]
    pub within: Option<PathBuf>,
}

impl SourcedSpec {
    /// A spec that came without a file; its paths stay below the workspace.
    pub fn sent(spec: Spec, workspace: &Path) -> Self {
        let sha256 = sha256(&serde_json::to_vec(&spec).unwrap_or_default());
        let folder = workspace.to_owned();
        Self { spec, name: "spec".into(), within: Some(folder.clone()), folder, sha256 }
    }

    /// The spec of a request, if it has one, and what is odd about it. Its limits are found by [`SourcedSpec::settled`].
    pub fn of(request: &RunRequest) -> Result<(Option<Self>, Vec<String>), HostError> {
        if let Some(given) = &request.given_spec {
            return Ok((Some(given.clone()), Vec::new()));
        }
        let Some(path) = &request.spec else { return Ok((None, Vec::new())) };
        let text = modes::read_named(path, "--spec")?;
        let (spec, warnings) = spec::parse(&text, &path.to_string_lossy())?;
        let warnings = warnings.into_iter().map(|w| format!("{}: {}", path.display(), w.message)).collect();
        let given = Self {
            spec,
            name: path.to_string_lossy().into_owned(),
            folder: path.parent().unwrap_or(Path::new(".")).to_owned(),
            within: None,
            sha256: sha256(text.as_bytes()),
        };
        Ok((Some(given), warnings))
    }

    /// The folder to work on, which a spec of a repository names inside of that repository alone.
    pub fn workspace(&self) -> Result<Option<PathBuf>, HostError> {
        let Some(named) = &self.spec.context.workspace else { return Ok(None) };
        let path = self.folder.join(named);
        let (Some(repository), Ok(real)) = (repository_of(&self.folder), path.canonicalize()) else {
            return Ok(Some(path));
        };
        if real.starts_with(&repository) {
            return Ok(Some(path));
        }
        Err(HostError::usage(
            format!(
                "{}: `context.workspace` names {}, outside of the repository the spec comes with ({})",
                self.name,
                path.display(),
                repository.display()
            ),
            format!("if that is the folder you want, name it yourself: --workspace {}", path.display()),
        ))
    }

    /// The spec with its limits found and its schemas read; `workspace` is the real path of the folder to work on.
    pub fn settled(mut self, request: &RunRequest, workspace: &Path) -> Result<Self, HostError> {
        if self.within.is_none()
            && request.given_spec.is_none()
            && let Some(file) = &request.spec
        {
            self.within = boundary(file, workspace);
        }
        if let (Some(within), Some(agent), None) = (&self.within, &self.spec.agent.name, &request.agent)
            && agent.contains('/')
        {
            let named = NamedPath { path: agent.into(), within: Some(within.clone()) };
            named.refuse_outside(&self.name, "agent.name", "--agent")?;
        }
        for at in 0..self.spec.output.artifacts.len() {
            let file = self.spec.output.artifacts[at].schema.as_ref().and_then(RequestedSchema::file);
            if let Some(file) = file.map(str::to_owned) {
                self.spec.output.artifacts[at].schema = Some(self.schema_in(&file)?);
            }
        }
        Ok(self)
    }

    /// The files it names as context, each within its limits.
    pub fn context(&self) -> Result<Vec<NamedPath>, HostError> {
        let within = self.within.clone();
        let named = |file: &String| NamedPath { path: self.folder.join(file), within: within.clone() };
        let files: Vec<NamedPath> = self.spec.context.files.iter().map(named).collect();
        for (named, written) in files.iter().zip(&self.spec.context.files) {
            if named.within.is_some() && written.starts_with('~') {
                return Err(named.outside(&self.name, "context.files", "--context"));
            }
            named.refuse_outside(&self.name, "context.files", "--context")?;
        }
        Ok(files)
    }

    fn schema_in(&self, file: &str) -> Result<RequestedSchema, HostError> {
        const KEY: &str = "output.artifacts.schema";
        let named = NamedPath { path: self.folder.join(file), within: self.within.clone() };
        named.refuse_outside(&self.name, KEY, "a copy of it inside the workspace")?;
        let wrong = |what: String| {
            HostError::usage(
                format!("{}: `{KEY}`: {}: {what}", self.name, named.path.display()),
                "give a JSON Schema with the keywords docs/run-contract.md lists",
            )
        };
        let mut text = String::new();
        let most = MAX_SCHEMA_BYTES as u64 + 1;
        let opened = named.open().map_err(|e| wrong(e.to_string()))?;
        opened.take(most).read_to_string(&mut text).map_err(|e| wrong(e.to_string()))?;
        if text.len() > MAX_SCHEMA_BYTES {
            return Err(wrong(format!("it has more than {MAX_SCHEMA_BYTES} bytes")));
        }
        let value: serde_json::Value = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
        ArtifactSchema::new(value.clone()).map_err(|e| wrong(e.to_string()))?;
        match value {
            serde_json::Value::Object(keywords) => Ok(RequestedSchema::Inline(keywords)),
            _ => Err(wrong("it is no JSON object".into())),
        }
    }
}

impl NamedPath {
    /// One that the user named, which may be anywhere.
    pub fn of_user(path: PathBuf) -> Self {
        Self { path, within: None }
    }

    /// Opens it. What must be in a folder is opened through no link on the way from there, so that nothing that is
    /// exchanged meanwhile leads out.
    pub fn open(&self) -> std::io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let Some(within) = &self.within else {
            return Ok(File::from(rustix::fs::open(&self.path, flags, Mode::empty())?));
        };
        let real = self.path.canonicalize()?;
        let below = real.strip_prefix(within).map_err(|_| std::io::Error::other("it leads out"))?;
        let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let root = File::open(within)?;
        Ok(File::from(rustix::fs::openat2(&root, below, flags, Mode::empty(), resolve)?))
    }

    /// An error when it leads out of the folder it must be in, whether it exists or not.
    fn refuse_outside(&self, spec: &str, key: &str, instead: &str) -> Result<(), HostError> {
        let Some(within) = &self.within else { return Ok(()) };
        // What does not exist is judged by its name, so that nobody learns what there is outside.
        let real = self.path.canonicalize().unwrap_or_else(|_| lexical(&self.path));
        if real.starts_with(within) { Ok(()) } else { Err(self.outside(spec, key, instead)) }
    }

    fn outside(&self, spec: &str, key: &str, instead: &str) -> HostError {
        let within = self.within.as_deref().unwrap_or(Path::new("."));
        let path = self.path.display();
        let hint = match instead.strip_prefix("--") {
            Some(_) => format!("if you want it, name it yourself on the command line: {instead} {path}"),
            None => format!("use {instead}"),
        };
        let message = format!(
            "{spec}: `{key}` names {path}, outside of {}; a spec that comes with a repository reaches nothing outside of \
             the workspace",
            within.display()
        );
        HostError::usage(message, hint)
    }
}

/// The folder a spec's paths must stay in: the workspace it lies in, or its own folder in another repository. A spec
/// outside of both is the user's own.
fn boundary(spec: &Path, workspace: &Path) -> Option<PathBuf> {
    let as_named = lexical(spec);
    let real = spec.canonicalize().ok();
    let places = [Some(as_named), real];
    let mut places = places.iter().flatten();
    if places.clone().any(|place| place.starts_with(workspace)) {
        return Some(workspace.to_owned());
    }
    places.find_map(|place| {
        let folder = place.parent()?;
        repository_of(folder).and_then(|_| folder.canonicalize().ok())
    })
}

/// The nearest folder from here upwards that holds a repository.
fn repository_of(folder: &Path) -> Option<PathBuf> {
    let real = folder.canonicalize().or_else(|_| Path::new(".").join(folder).canonicalize()).ok()?;
    real.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok()).map(Path::to_owned)
}

/// An absolute path without `.` and `..`, by its words alone.
fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).components() {
        match part {
            Component::ParentDir => drop(clean.pop()),
            Component::CurDir => {}
            other => clean.push(other),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn context_of(spec: &Path, workspace: &Path) -> Result<Vec<NamedPath>, HostError> {
        let request = RunRequest { spec: Some(spec.to_owned()), ..RunRequest::default() };
        let (given, _) = SourcedSpec::of(&request)?;
        given.unwrap().settled(&request, &workspace.canonicalize().unwrap())?.context()
    }

    #[test]
    fn inv_19_a_spec_of_a_repository_reaches_nothing_outside_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let workspace = root.join("w");
        fs::create_dir_all(workspace.join("docs")).unwrap();
        fs::write(workspace.join("docs/a.md"), "a").unwrap();
        fs::write(root.join("secret"), "s").unwrap();
        symlink(root.join("secret"), workspace.join("link")).unwrap();
        symlink("docs", workspace.join("inside")).unwrap();
        let spec = workspace.join("spec.yaml");
        let check = |file: &str, allowed: bool| {
            fs::write(&spec, format!("goal: x\ncontext: {{files: ['{file}']}}\n")).unwrap();
            let found = context_of(&spec, &workspace);
            match found {
                Ok(files) => {
                    assert!(allowed, "{file} was let through");
                    files[0].open().unwrap();
                }
                Err(error) => {
                    assert!(!allowed, "{file}: {error}");
                    let hint = error.hint().unwrap_or_default();
                    assert!(error.is_usage() && hint.contains("--context"), "{error} ({hint})");
                }
            }
        };
        for file in ["docs/a.md", "inside/a.md", "docs", "./docs/../docs/a.md"] {
            check(file, true);
        }
        for file in ["../secret", "/etc/shadow", "link", "~/.ssh/id_ed25519", "docs/../../secret", "../none"]
        {
            check(file, false);
        }
        // The same words in a file of the user's own are the user's choice.
        fs::write(root.join("own.yaml"), "goal: x\ncontext: {files: [secret]}\n").unwrap();
        assert!(context_of(&root.join("own.yaml"), &workspace).is_ok());
        // And one that lies in another repository stays in its folder there.
        fs::create_dir_all(root.join("r/.git")).unwrap();
        fs::write(root.join("r/spec.yaml"), "goal: x\ncontext: {files: [../secret]}\n").unwrap();
        assert!(context_of(&root.join("r/spec.yaml"), &workspace).is_err());
    }

    #[test]
    fn inv_19_a_path_that_is_exchanged_for_a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let workspace = root.join("w");
        fs::create_dir_all(workspace.join("docs")).unwrap();
        fs::write(root.join("a.md"), "secret").unwrap();
        fs::write(workspace.join("docs/a.md"), "a").unwrap();
        let named = NamedPath { path: workspace.join("docs/a.md"), within: Some(workspace.clone()) };
        named.open().unwrap();
        fs::remove_dir_all(workspace.join("docs")).unwrap();
        symlink(&root, workspace.join("docs")).unwrap();
        assert!(named.open().is_err());
    }

    #[test]
    fn inv_19_a_spec_of_a_repository_names_no_workspace_outside_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("r/.git")).unwrap();
        fs::create_dir_all(root.join("r/sub")).unwrap();
        let workspace_of = |named: &str| {
            let path = root.join("r/spec.yaml");
            fs::write(&path, format!("goal: x\ncontext: {{workspace: '{named}'}}\n")).unwrap();
            let request = RunRequest { spec: Some(path), ..RunRequest::default() };
            SourcedSpec::of(&request).unwrap().0.unwrap().workspace()
        };
        assert!(workspace_of("sub").is_ok() && workspace_of(".").is_ok());
        let error = workspace_of("..").unwrap_err();
        assert!(error.hint().unwrap_or_default().contains("--workspace"), "{error}");
    }

    #[test]
    fn a_schema_is_read_where_it_may_be_and_refused_where_it_cannot_be_used() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let workspace = root.join("w");
        fs::create_dir(&workspace).unwrap();
        let settled = |schema: &str| {
            let path = workspace.join("spec.yaml");
            fs::write(
                &path,
                format!("goal: x\noutput: {{artifacts: [{{path: a.json, schema: {schema}}}]}}\n"),
            )
            .unwrap();
            let request = RunRequest { spec: Some(path), ..RunRequest::default() };
            SourcedSpec::of(&request)?.0.unwrap().settled(&request, &workspace)
        };
        fs::write(workspace.join("good.json"), r#"{"type": "object"}"#).unwrap();
        fs::write(workspace.join("odd.json"), r#"{"unevaluatedItems": false}"#).unwrap();
        fs::write(workspace.join("broken.json"), "{").unwrap();
        fs::write(root.join("out.json"), "{}").unwrap();
        let inline = settled("good.json").unwrap().spec.output.artifacts[0].schema.clone();
        assert!(matches!(inline, Some(RequestedSchema::Inline(_))), "{inline:?}");
        for (schema, word) in [
            ("odd.json", "unevaluatedItems"),
            ("broken.json", "EOF"),
            ("none.json", "No such file"),
            ("../out.json", "outside"),
        ] {
            let error = settled(schema).unwrap_err().to_string();
            assert!(error.contains(word) && error.contains("output.artifacts.schema"), "{error}");
        }
        assert!(settled("nonsense").unwrap_err().to_string().contains("`nonsense` is unknown"));
    }
}
