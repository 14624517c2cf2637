//! The file an agent keeps its login in: looked at before it is believed, and replaced in one step.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, FileType, OFlags};

use crate::error::LoginError;
use crate::known_login::KnownLogin;
use crate::login_text::{self, LoginTokens};
use crate::token_answer::TokenAnswer;

/// The most bytes of a login file that are read.
const MOST_BYTES: u64 = 1 << 20;
/// What is kept free on the disk before tokens are asked for that must then find a place.
const RESERVED: u64 = 64 << 10;

/// A login file that was looked at.
pub(crate) struct LoginFile {
    pub(crate) bytes: Vec<u8>,
    path: PathBuf,
    mode: u32,
    owner: u32,
    group: u32,
}

/// Where the next version of a file is written, on a disk that has room for it.
pub(crate) struct LoginDraft {
    file: File,
    path: PathBuf,
}

impl LoginFile {
    /// Reads the file, if it is one that may be believed.
    pub(crate) fn read(login: &KnownLogin, path: &Path) -> Result<Self, LoginError> {
        // Neither a link is followed nor a FIFO waited for.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
        let file = match opened {
            Ok(file) => file,
            Err(error) => return Err(unopened(login, path, error)),
        };
        let found = file.metadata().map_err(LoginError::io("look at", path))?;
        let not_regular = |what| LoginError::NotRegular { path: path.into(), what };
        match FileType::from_raw_mode(found.mode()) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(not_regular("a folder")),
            FileType::Fifo => return Err(not_regular("a FIFO")),
            _ => return Err(not_regular("a device")),
        }
        if found.uid() != rustix::process::geteuid().as_raw() {
            return Err(LoginError::Foreign { path: path.into(), owner: found.uid() });
        }
        let mode = found.mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(LoginError::Open { path: path.into(), mode });
        }
        let mut bytes = Vec::new();
        let read = file.take(MOST_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(LoginError::io("read", path))?;
        if bytes.len() as u64 > MOST_BYTES {
            let log_in = login.log_in.clone();
            return Err(LoginError::Large { path: path.into(), most: MOST_BYTES, log_in });
        }
        Ok(Self { bytes, path: path.into(), mode, owner: found.uid(), group: found.gid() })
    }

    /// What is in it.
    pub(crate) fn tokens(&self, login: &KnownLogin) -> Result<LoginTokens, LoginError> {
        login_text::parse(login, &self.path, &self.bytes)
    }

    /// Makes sure that a new version can be written, before there is one that could be lost.
    pub(crate) fn draft(&self) -> Result<LoginDraft, LoginError> {
        let path = beside(&self.path);
        // What a killed process left; nobody else uses this name while the lock is held.
        if let Err(error) = std::fs::remove_file(&path)
            && error.kind() != ErrorKind::NotFound
        {
            return Err(LoginError::io("remove", &path)(error));
        }
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let file = file.map_err(LoginError::io("create", &path))?;
        let draft = LoginDraft { file, path };
        reserve(&draft.file, &draft.path)?;
        let path = &draft.path;
        let made = draft.file.metadata().map_err(LoginError::io("look at", path))?;
        if (made.uid(), made.gid()) != (self.owner, self.group) {
            std::os::unix::fs::fchown(&draft.file, Some(self.owner), Some(self.group))
                .map_err(LoginError::io("give its owner to", path))?;
        }
        let mode = std::fs::Permissions::from_mode(self.mode);
        draft.file.set_permissions(mode).map_err(LoginError::io("set the mode of", path))?;
        Ok(draft)
    }

    /// The file as it is with new tokens in it.
    pub(crate) fn with(&self, login: &KnownLogin, answer: &TokenAnswer) -> Result<Vec<u8>, LoginError> {
        login_text::renewed(login, &self.path, &self.bytes, answer)
    }
}

impl LoginDraft {
    /// Writes the new version down.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), LoginError> {
        let written = self.file.write_all(bytes).and_then(|()| self.file.sync_all());
        written.map_err(LoginError::io("write", &self.path))
    }

    /// Puts the new version in place of the old one.
    pub(crate) fn replace(self, path: &Path) -> Result<(), LoginError> {
        std::fs::rename(&self.path, path).map_err(LoginError::io("replace", path))
    }
}

impl Drop for LoginDraft {
    fn drop(&mut self) {
        // After `replace` nothing has this name any more.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Makes the entries of a file's folder last.
pub(crate) fn sync_folder_of(path: &Path) -> Result<(), LoginError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(LoginError::io("sync", folder))
}

/// Takes room on the disk, where the file system knows how.
pub(crate) fn reserve(file: &File, path: &Path) -> Result<(), LoginError> {
    match rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, 0, RESERVED) {
        Err(error @ (rustix::io::Errno::NOSPC | rustix::io::Errno::DQUOT)) => {
            Err(LoginError::io("find room for", path)(error))
        }
        _ => Ok(()),
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".holon-new");
    path.with_file_name(name)
}

fn unopened(login: &KnownLogin, path: &Path, error: std::io::Error) -> LoginError {
    let is_link = || path.symlink_metadata().is_ok_and(|found| found.file_type().is_symlink());
    match error.kind() {
        ErrorKind::NotFound => LoginError::Missing { path: path.into(), log_in: login.log_in.clone() },
        _ if is_link() => LoginError::NotRegular { path: path.into(), what: "a link" },
        // What has no reader on the other side, such as a socket.
        _ if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
            LoginError::NotRegular { path: path.into(), what: "a socket" }
        }
        _ => LoginError::io("open", path)(error),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::symlink;

    use jiff::Timestamp;

    use super::*;
    use crate::known_login::known_login;
    use crate::secret::Secret;

    const GOOD: &str = r#"{"claudeAiOauth":{"accessToken":"canary","refreshToken":"canary-r"},"other":[1]}"#;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".credentials.json");
        std::fs::write(&path, GOOD).unwrap();
        mode(&path, 0o600);
        (folder, path)
    }

    fn mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    fn refusal(path: &Path) -> String {
        let login = known_login("claude").unwrap();
        let error = LoginFile::read(login, path).and_then(|file| file.tokens(login)).unwrap_err();
        let words = error.to_string();
        assert!(!words.contains("canary") && !format!("{error:?}").contains("canary"), "{words}");
        words
    }

    #[test]
    fn bad_files_are_refused_with_a_sentence() {
        let (folder, path) = folder();
        let other = folder.path().join("other");
        assert!(refusal(&other).contains("is not there: log in with `claude auth login`"));
        symlink(&path, &other).unwrap();
        assert!(refusal(&other).contains("is a link and no file of its own"));
        std::fs::remove_file(&other).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &other, FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(refusal(&other).contains("is a FIFO"));
        assert!(refusal(folder.path()).contains("is a folder"));
        let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
        assert!(refusal(&folder.path().join("socket")).contains("is a socket"));
        for (bits, octal) in [(0o644, "0644"), (0o640, "0640"), (0o606, "0606"), (0o620, "0620")] {
            mode(&path, bits);
            let words = refusal(&path);
            assert!(words.contains(octal) && words.contains("run `chmod 600 "), "{words}");
        }
        mode(&path, 0o600);
        std::fs::write(&path, &GOOD[..40]).unwrap();
        assert!(refusal(&path).contains("ends in the middle"));
        std::fs::write(&path, " ".repeat(usize::try_from(MOST_BYTES).unwrap() + 1)).unwrap();
        assert!(refusal(&path).contains("more than 1048576 bytes"));
    }

    #[test]
    fn a_new_version_takes_the_place_of_the_old_one_whole() {
        let (folder, path) = folder();
        mode(&path, 0o400);
        let login = known_login("claude").unwrap();
        let file = LoginFile::read(login, &path).unwrap();
        std::fs::write(folder.path().join("..credentials.json.holon-new"), "left by a killed one").unwrap();
        let answer = TokenAnswer {
            access: Secret::new("new"),
            refresh: None,
            id: None,
            ends: None,
            received: Timestamp::UNIX_EPOCH,
        };
        let mut draft = file.draft().unwrap();
        draft.write(&file.with(login, &answer).unwrap()).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), GOOD, "the old one is there until the last step");
        draft.replace(&path).unwrap();
        sync_folder_of(&path).unwrap();
        let after = LoginFile::read(login, &path).unwrap();
        assert_eq!((after.mode, after.owner, after.group), (0o400, file.owner, file.group));
        let expect = GOOD.replace("\"canary\"", "\"new\"");
        assert_eq!(String::from_utf8(after.bytes).unwrap(), expect);
        drop(file.draft().unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }
}
