//! What the system reports, in words for a model: what is wrong, where, and what to do.

use std::io;

use rustix::io::Errno;

use crate::{ExecutorError, ExecutorErrorKind};

/// An error of the system while `doing` (a verb and perhaps more) something with `path`.
pub(crate) fn refused(doing: &str, path: &str, error: &io::Error) -> ExecutorError {
    let trouble = trouble(error);
    let message = match trouble {
        ExecutorErrorKind::ReadOnly => format!(
            "this mode cannot write here: {path} is read-only. Write where the mode allows it, or report what should change."
        ),
        ExecutorErrorKind::Denied => {
            format!("cannot {doing} {path}: access is denied. It is outside of what this run may touch.")
        }
        ExecutorErrorKind::Exhausted => {
            format!(
                "cannot {doing} {path}: {}. End background commands or remove files you made, then try again.",
                plain(error)
            )
        }
        _ => format!("cannot {doing} {path}: {}", plain(error)),
    };
    ExecutorError::new(trouble, message)
}

/// The kind of trouble a system error is.
pub(crate) fn trouble(error: &io::Error) -> ExecutorErrorKind {
    match Errno::from_io_error(error) {
        Some(Errno::NOENT) => ExecutorErrorKind::NotFound,
        Some(Errno::ROFS) => ExecutorErrorKind::ReadOnly,
        Some(Errno::ACCESS | Errno::PERM) => ExecutorErrorKind::Denied,
        Some(Errno::ISDIR | Errno::NOTDIR | Errno::NXIO | Errno::NODEV) => ExecutorErrorKind::WrongKind,
        Some(Errno::EXIST | Errno::NOTEMPTY) => ExecutorErrorKind::Changed,
        Some(Errno::FBIG | Errno::OVERFLOW) => ExecutorErrorKind::TooLarge,
        Some(Errno::NAMETOOLONG | Errno::LOOP | Errno::INVAL | Errno::TOOBIG) => ExecutorErrorKind::Invalid,
        Some(
            Errno::NOSPC
            | Errno::DQUOT
            | Errno::NOMEM
            | Errno::MFILE
            | Errno::NFILE
            | Errno::AGAIN
            | Errno::MLINK,
        ) => ExecutorErrorKind::Exhausted,
        _ => ExecutorErrorKind::Other,
    }
}

/// The system's own words, without the error's number.
pub(crate) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    let mut words = text[..end].to_owned();
    if let Some(first) = words.get(..1).map(str::to_lowercase) {
        words.replace_range(..1, &first);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_errors_get_words() {
        let check = |errno: Errno, trouble: ExecutorErrorKind, part: &str| {
            let error = refused("write", "src/a.rs", &errno.into());
            assert_eq!(error.trouble, trouble);
            assert!(error.message.contains(part) && error.message.contains("src/a.rs"), "{}", error.message);
            assert!(!error.message.contains("os error"), "{}", error.message);
        };
        check(Errno::ROFS, ExecutorErrorKind::ReadOnly, "this mode cannot write here");
        check(Errno::ACCESS, ExecutorErrorKind::Denied, "outside of what this run may touch");
        check(Errno::NOSPC, ExecutorErrorKind::Exhausted, "no space left");
        check(Errno::LOOP, ExecutorErrorKind::Invalid, "cannot write");
        check(Errno::IO, ExecutorErrorKind::Other, "cannot write");
    }
}
