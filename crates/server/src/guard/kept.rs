//! The owner's token: made by the first start, kept in the server's folder for its owner alone, and made anew when asked for.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

const NAME: &str = "token";
/// A file that is larger holds something else.
const MOST: u64 = 4096;

/// Why the token cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    /// The system refused something.
    #[error("cannot use the token in {}: {source}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Others than its owner can read or write it.
    #[error("{} can be read or changed by others than you (mode {mode:04o}, owner {owner})", path.display())]
    Shared {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
        /// Its owner.
        owner: u32,
    },
    /// What it holds is no token.
    #[error("{} does not hold a token", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

impl TokenFileError {
    /// What a person can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::System { .. } => {
                "check the file and its folder; `holon serve --new-token` makes another token"
            }
            Self::Shared { .. } => {
                "who could read it may know the tokens in it: make new ones (`holon serve --new-token` for the server's own) and give the file mode 0600 (chmod 600)"
            }
            Self::Empty { .. } => "make another one with `holon serve --new-token`",
        }
    }
}

/// The token in this folder; `renew` makes another one, and the one before it is worth nothing from then on.
pub(crate) fn kept(folder: &Path, renew: bool) -> Result<String, TokenFileError> {
    let path = folder.join(NAME);
    let failed = |source| TokenFileError::System { path: path.clone(), source };
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    match OpenOptions::new().read(true).custom_flags(flags).open(&path) {
        Ok(file) if !renew => return read(file, &path),
        Err(e) if e.kind() != io::ErrorKind::NotFound && !renew => return Err(failed(e)),
        Ok(_) | Err(_) => {}
    }
    let token = random().map_err(failed)?;
    let fresh = folder.join(format!("{NAME}.new"));
    match std::fs::remove_file(&fresh) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(failed(e)),
        _ => {}
    }
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh).map_err(failed)?;
    let written = file.write_all(format!("{token}\n").as_bytes()).and_then(|()| file.sync_all());
    written.and_then(|()| std::fs::rename(&fresh, &path)).map_err(failed)?;
    Ok(token)
}

fn read(file: File, path: &Path) -> Result<String, TokenFileError> {
    let failed = |source| TokenFileError::System { path: path.to_owned(), source };
    only_its_owners(&file, path)?;
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text).map_err(failed)?;
    let token = text.trim();
    if token.len() < 32 || !token.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(TokenFileError::Empty { path: path.to_owned() });
    }
    Ok(token.to_owned())
}

/// Refuses a file with tokens that others than its owner could read or change. Pipes have no such mode.
pub fn only_its_owners(file: &File, path: &Path) -> Result<(), TokenFileError> {
    let meta = file.metadata().map_err(|source| TokenFileError::System { path: path.to_owned(), source })?;
    let own = rustix::process::geteuid().as_raw();
    let (mode, owner) = (meta.mode() & 0o7777, meta.uid());
    // What the system hands to a service belongs to root, and the service's group may read it.
    let others = if owner == 0 && own != 0 { 0o027 } else { 0o077 };
    if meta.is_file() && (mode & others != 0 || (owner != own && owner != 0)) {
        return Err(TokenFileError::Shared { path: path.to_owned(), mode, owner });
    }
    Ok(())
}

/// Something nobody can guess.
pub(crate) fn random() -> io::Result<String> {
    use std::fmt::Write as _;
    let mut random = [0_u8; 24];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    let mut text = String::new();
    for byte in random {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn it_is_made_once_kept_for_its_owner_and_made_anew_when_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let first = kept(folder.path(), false).unwrap();
        assert_eq!(first.len(), 48);
        assert_eq!(kept(folder.path(), false).unwrap(), first);
        let path = folder.path().join(NAME);
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        let other = kept(folder.path(), true).unwrap();
        assert_ne!(other, first);
        assert_eq!(kept(folder.path(), false).unwrap(), other);
    }

    #[test]
    fn one_that_others_can_read_is_refused_and_none_is_followed_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        kept(folder.path(), false).unwrap();
        let path = folder.path().join(NAME);
        for mode in [0o640, 0o604, 0o620, 0o602] {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            assert!(matches!(kept(folder.path(), false), Err(TokenFileError::Shared { .. })), "{mode:o}");
        }
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", &path).unwrap();
        assert!(matches!(kept(folder.path(), false), Err(TokenFileError::System { .. })));
        assert!(kept(folder.path(), true).is_ok(), "a new one takes its place");
        std::fs::write(&path, "short\n").unwrap();
        assert!(matches!(kept(folder.path(), false), Err(TokenFileError::Empty { .. })));
    }
}
