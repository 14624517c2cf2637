//! What of a Python has to be visible for a program that is installed into an environment of its own.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The folders of the Python that runs a program, beside the program's own environment; none for the system's Python.
pub(super) fn homes(program: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let Some(interpreter) = interpreter_of(program) else { return Vec::new() };
    let mut found: Vec<PathBuf> = Vec::new();
    let real = interpreter.canonicalize().ok();
    for end in [Some(&interpreter), real.as_ref()].into_iter().flatten() {
        // A link alone is of no use: what it leads to counts.
        let folder = home_of(end, home).filter(|folder| folder != end || Some(end) == real.as_ref());
        if let Some(folder) = folder.filter(|folder| !found.contains(folder)) {
            found.push(folder);
        }
    }
    found
}

/// The Python in the first line of a script.
fn interpreter_of(program: &Path) -> Option<PathBuf> {
    let mut first = [0; 512];
    let read = fs::File::open(program).ok()?.read(&mut first).ok()?;
    let line = first[..read].split(|byte| *byte == b'\n').next()?.strip_prefix(b"#!")?;
    let line = String::from_utf8_lossy(line).into_owned();
    let path = PathBuf::from(line.split_whitespace().next()?);
    let named = path.file_name()?.to_string_lossy().starts_with("python");
    (named && path.is_absolute()).then_some(path)
}

/// The installation around an interpreter, if it is one by itself; else the interpreter alone.
fn home_of(interpreter: &Path, home: Option<&Path>) -> Option<PathBuf> {
    if !interpreter.exists() || ["/usr", "/bin"].iter().any(|system| interpreter.starts_with(system)) {
        return None;
    }
    let root = interpreter.parent()?.parent()?;
    let is_python = |name: &str| name.starts_with("python3");
    let has_library = fs::read_dir(root.join("lib"))
        .is_ok_and(|entries| entries.flatten().any(|entry| is_python(&entry.file_name().to_string_lossy())));
    // A home, or what is above it, is never shown as a whole.
    let private = root.components().count() < 3 || home.is_some_and(|home| home.starts_with(root));
    Some(if has_library && !private { root.to_owned() } else { interpreter.to_owned() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn an_environment_and_the_python_behind_it_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for part in ["venv/bin", "venv/lib/python3.12", "python/bin", "python/lib/python3.12"] {
            fs::create_dir_all(root.join(part)).unwrap();
        }
        fs::write(root.join("python/bin/python3.12"), "ELF").unwrap();
        symlink(root.join("python/bin/python3.12"), root.join("venv/bin/python")).unwrap();
        let script = root.join("venv/bin/agent");
        fs::write(&script, format!("#!{}/venv/bin/python -u\n", root.display())).unwrap();
        assert_eq!(homes(&script, None), [root.join("venv"), root.join("python")]);

        // Who keeps a Python in the home itself shows that one file.
        let end = root.join("python/bin/python3.12");
        assert_eq!(homes(&script, Some(&root.join("python/u"))), [root.join("venv"), end]);
        for text in ["#!/usr/bin/python3\n", "#!/usr/bin/env python3\n", "#!/no/such/python\n", "ELF", ""] {
            fs::write(&script, text).unwrap();
            assert!(homes(&script, None).is_empty(), "{text}");
        }
    }
}
