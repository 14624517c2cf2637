//! What a container's command line refers to: its variables and the files made for it.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::isolation::{LaunchRefusal, LaunchStep};

/// The file of variables, below the folder of generated files.
pub(super) const ENV_FILE: &str = "env";

/// Values go through a file, because a command line can be read by everybody on the machine.
pub(super) fn env_file(env: &[(String, String)]) -> Result<String, LaunchRefusal> {
    let mut text = String::new();
    for (name, value) in env {
        if value.contains(['\n', '\r', '\0'])
            || name.is_empty()
            || name.contains(|c: char| c == '=' || c.is_whitespace())
        {
            let message = format!(
                "the variable {name:?} cannot be given to a container: its name or value has more than one line"
            );
            return Err(LaunchRefusal { step: LaunchStep::Job, errno: 0, message, detail: String::new() });
        }
        text += &format!("{name}={value}\n");
    }
    Ok(text)
}

/// A command line and the files it needs.
#[derive(Debug, Default)]
pub(super) struct EngineCommandLine {
    pub argv: Vec<OsString>,
    pub env: String,
    pub files: Vec<StagedFile>,
}

/// A file, folder or link made for one container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StagedFile {
    File(Vec<u8>),
    Folder,
    Link(PathBuf),
    /// A copy that belongs to this user and group.
    Copy(PathBuf, (u32, u32)),
}

impl EngineCommandLine {
    pub(super) fn words<S: AsRef<str>>(&mut self, words: impl IntoIterator<Item = S>) {
        self.argv.extend(words.into_iter().map(|word| word.as_ref().into()));
    }

    pub(super) fn option(&mut self, name: &str, value: impl Into<OsString>) {
        self.argv.extend([name.into(), value.into()]);
    }

    pub(super) fn staged(&mut self, stage: &Path, what: StagedFile) -> PathBuf {
        self.files.push(what);
        stage.join((self.files.len() - 1).to_string())
    }

    pub(super) fn stage(&self, folder: &Path) -> std::io::Result<()> {
        let mut env =
            fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(folder.join(ENV_FILE))?;
        env.write_all(self.env.as_bytes())?;
        for (number, what) in self.files.iter().enumerate() {
            let path = folder.join(number.to_string());
            match what {
                StagedFile::File(bytes) => {
                    fs::write(&path, bytes)?;
                    fs::set_permissions(&path, Permissions::from_mode(0o444))?;
                }
                StagedFile::Folder => {
                    fs::create_dir(&path)?;
                    fs::set_permissions(&path, Permissions::from_mode(0o555))?;
                }
                StagedFile::Link(target) => std::os::unix::fs::symlink(target, &path)?,
                StagedFile::Copy(from, owner) => copy_for(from, &path, *owner)?,
            }
        }
        Ok(())
    }
}

/// Copies files, folders and links; anything else has no business in what is only read.
fn copy_for(from: &Path, to: &Path, owner: (u32, u32)) -> std::io::Result<()> {
    let kind = fs::symlink_metadata(from)?.file_type();
    if kind.is_symlink() {
        std::os::unix::fs::symlink(fs::read_link(from)?, to)?;
    } else if kind.is_dir() {
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy_for(&entry.path(), &to.join(entry.file_name()), owner)?;
        }
    } else if kind.is_file() {
        fs::copy(from, to)?;
    } else {
        return Ok(());
    }
    std::os::unix::fs::lchown(to, Some(owner.0), Some(owner.1))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn variables_go_through_a_private_file() {
        let pair = |name: &str, value: &str| [(name.to_owned(), value.to_owned())];
        let env = env_file(&pair("TOKEN", "s3cret # = '\"")).unwrap();
        assert_eq!(env, "TOKEN=s3cret # = '\"\n");
        let dir = tempfile::tempdir().unwrap();
        EngineCommandLine { env: env.clone(), ..EngineCommandLine::default() }.stage(dir.path()).unwrap();
        let file = dir.path().join(ENV_FILE);
        assert_eq!(fs::read_to_string(&file).unwrap(), env);
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        for (name, value) in
            [("A", "two\nlines"), ("A", "nul\0"), ("", "x"), ("A B", "x"), ("A=B", "x"), ("A\nB", "x")]
        {
            assert!(env_file(&pair(name, value)).is_err(), "{name:?}={value:?}");
        }
    }

    #[test]
    fn generated_files_are_made_as_named() {
        let dir = tempfile::tempdir().unwrap();
        let mut made = EngineCommandLine::default();
        let source = tempfile::tempdir().unwrap();
        fs::create_dir(source.path().join("d")).unwrap();
        fs::write(source.path().join("d/f"), "deep").unwrap();
        std::os::unix::fs::symlink("/etc/shadow", source.path().join("link")).unwrap();
        let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let copy = StagedFile::Copy(source.path().into(), own);
        let paths =
            [StagedFile::File(b"x".to_vec()), StagedFile::Folder, StagedFile::Link("/etc".into()), copy]
                .map(|what| made.staged(dir.path(), what));
        made.stage(dir.path()).unwrap();
        assert_eq!(fs::read(&paths[0]).unwrap(), b"x");
        assert_eq!(fs::read_dir(&paths[1]).unwrap().count(), 0);
        assert_eq!(fs::read_link(&paths[2]).unwrap(), Path::new("/etc"));
        assert_eq!(fs::read_to_string(paths[3].join("d/f")).unwrap(), "deep");
        assert_eq!(
            fs::read_link(paths[3].join("link")).unwrap(),
            Path::new("/etc/shadow"),
            "a link stays a link"
        );
    }
}
