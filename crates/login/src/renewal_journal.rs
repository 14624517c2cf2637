//! What a token endpoint answered, on the disk before anything else is done with it.
//!
//! A token for renewals can be used once. Between the answer and the agent's file there must be no moment at which the only
//! copy of its successor is in memory: it is written here, synced and named, then put into the agent's file, and then
//! forgotten. Whoever finds a journal finishes what its writer began.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::error::LoginError;
use crate::held_lock::with_suffix;
use crate::login_file::{reserve, sync_folder_of};
use crate::login_text::LoginTokens;
use crate::secret::{Secret, SecretMark};
use crate::token_answer::TokenAnswer;

/// The form of a journal that is written and read.
const VERSION: u32 = 1;
/// The most bytes of a journal that are read.
const MOST_BYTES: u64 = 1 << 20;

/// An answer, and the token it was given for.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct JournalEntry {
    version: u32,
    /// The token that was posted, and is worth nothing since.
    pub(crate) posted: SecretMark,
    /// What came for it.
    pub(crate) answer: TokenAnswer,
}

/// Whether an answer belongs into a file as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JournalFate {
    /// The file has the token that was posted, or was blanked since: the answer is all there is.
    Write,
    /// The file has a later login, or nobody is logged in any more.
    Forget,
    /// The file cannot be read now: somebody may be writing it.
    Keep,
}

impl JournalEntry {
    pub(crate) fn new(posted: &Secret, answer: TokenAnswer) -> Self {
        Self { version: VERSION, posted: posted.mark(), answer }
    }

    /// What becomes of it; pure. Agents blank their tokens when the one they post was used up by somebody else, so what is
    /// blank is filled; a file that is gone was logged out of.
    pub(crate) fn fate(&self, file: &Result<LoginTokens, LoginError>) -> JournalFate {
        let posted =
            |refresh: &Option<Secret>| refresh.as_ref().is_some_and(|token| token.mark() == self.posted);
        match file {
            Ok(tokens) if posted(&tokens.refresh) => JournalFate::Write,
            Err(LoginError::LoggedOut { .. }) => JournalFate::Write,
            Ok(_) | Err(LoginError::Missing { .. }) => JournalFate::Forget,
            Err(_) => JournalFate::Keep,
        }
    }
}

/// The journal of one login.
pub(crate) struct RenewalJournal {
    path: PathBuf,
}

/// A place for an answer, on a disk that has room for it.
pub(crate) struct JournalPage {
    file: File,
    draft: PathBuf,
}

impl RenewalJournal {
    /// The one at a path, whose folder is made if need be.
    pub(crate) fn at(path: PathBuf) -> Result<Self, LoginError> {
        if let Some(folder) = path.parent() {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            made.map_err(LoginError::io("create", folder))?;
        }
        Ok(Self { path })
    }

    /// Makes a place for an answer before it is asked for.
    pub(crate) fn page(&self) -> Result<JournalPage, LoginError> {
        let draft = self.path.with_extension("new");
        match std::fs::remove_file(&draft) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(LoginError::io("remove", &draft)(error));
            }
            _ => {}
        }
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft);
        let file = file.map_err(LoginError::io("create", &draft))?;
        reserve(&file, &draft)?;
        Ok(JournalPage { file, draft })
    }

    /// Writes an answer down so that it outlives this process and the machine's power.
    pub(crate) fn write(&self, mut page: JournalPage, entry: &JournalEntry) -> Result<(), LoginError> {
        let text = serde_json::to_vec(entry).map_err(|error| LoginError::Rules(error.to_string()))?;
        let written = page.file.write_all(&text).and_then(|()| page.file.sync_all());
        written.map_err(LoginError::io("write", &page.draft))?;
        std::fs::rename(&page.draft, &self.path).map_err(LoginError::io("write", &self.path))?;
        sync_folder_of(&self.path)
    }

    /// What is written in it.
    pub(crate) fn read(&self) -> Result<Option<JournalEntry>, LoginError> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(&self.path);
        let file = match file {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(LoginError::io("open", &self.path)(error)),
        };
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(LoginError::io("read", &self.path))?;
        let entry: JournalEntry = serde_json::from_slice(&bytes).map_err(|_| self.unreadable())?;
        if entry.version == VERSION { Ok(Some(entry)) } else { Err(self.unreadable()) }
    }

    /// Forgets what is written in it.
    pub(crate) fn forget(&self) -> Result<(), LoginError> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(LoginError::io("remove", &self.path)(error))
            }
            _ => Ok(()),
        }
    }

    /// It is never thrown away unread: there may be the only copy of a token in it.
    fn unreadable(&self) -> LoginError {
        let why = "it is no journal that this version of Holon knows; use the version that wrote it, or remove it and log in again";
        LoginError::io("understand", &self.path)(std::io::Error::other(why))
    }
}

impl Drop for JournalPage {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.draft);
    }
}

/// Where the journal of a login lies, by the beginning of its own files' names.
pub(crate) fn journal_path(own: &Path) -> PathBuf {
    with_suffix(own, ".journal")
}

/// The name of a login's own files in our folder: two files of the same agent have two.
pub(crate) fn own_name(login: &str, file: &Path) -> String {
    let parent = file.parent().and_then(|parent| parent.canonicalize().ok());
    let real =
        parent.zip(file.file_name()).map_or_else(|| file.to_owned(), |(parent, name)| parent.join(name));
    let mark = crate::secret::path_mark(&real);
    format!("{login}-{mark}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::PermissionsExt as _;

    use jiff::Timestamp;

    use super::*;

    fn entry() -> JournalEntry {
        let answer = TokenAnswer {
            access: Secret::new("canary-a"),
            refresh: Some(Secret::new("canary-r")),
            id: None,
            ends: None,
            received: Timestamp::UNIX_EPOCH,
        };
        JournalEntry::new(&Secret::new("old"), answer)
    }

    #[test]
    fn what_is_written_is_read_until_it_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logins/claude.journal");
        let journal = RenewalJournal::at(path.clone()).unwrap();
        assert!(journal.read().unwrap().is_none());
        std::fs::write(path.with_extension("new"), "left by a killed one").unwrap();
        journal.write(journal.page().unwrap(), &entry()).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        let read = journal.read().unwrap().unwrap();
        assert_eq!(read.answer, entry().answer);
        assert!(!format!("{read:?}").contains("canary"));
        journal.forget().unwrap();
        journal.forget().unwrap();
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
    }

    #[test]
    fn a_journal_nobody_understands_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.journal");
        let journal = RenewalJournal::at(path.clone()).unwrap();
        let later = serde_json::to_string(&entry()).unwrap().replace("\"version\":1", "\"version\":2");
        for text in ["", "{\"canary\": 1}", &later] {
            std::fs::write(&path, text).unwrap();
            let words = journal.read().unwrap_err().to_string();
            assert!(words.contains("no journal that this version") && !words.contains("canary"), "{words}");
            assert!(path.exists());
        }
    }

    #[test]
    fn an_answer_is_written_only_where_it_belongs() {
        let path = PathBuf::from("/x");
        let with = |refresh: Option<&str>| {
            Ok(LoginTokens {
                access: Secret::new("a"),
                refresh: refresh.map(Secret::new),
                ends: None,
                account: None,
                who: None,
                scopes: vec![],
                plan: None,
            })
        };
        let logged_out = LoginError::LoggedOut { path: path.clone(), log_in: String::new() };
        let gone = LoginError::Missing { path: path.clone(), log_in: String::new() };
        let half = LoginError::HalfWritten { path, log_in: String::new() };
        for (file, fate) in [
            (with(Some("old")), JournalFate::Write),
            (with(Some("canary-r")), JournalFate::Forget),
            (with(Some("of another login")), JournalFate::Forget),
            (with(None), JournalFate::Forget),
            (Err(logged_out), JournalFate::Write),
            (Err(gone), JournalFate::Forget),
            (Err(half), JournalFate::Keep),
        ] {
            assert_eq!(entry().fate(&file), fate, "{file:?}");
        }
    }
}
