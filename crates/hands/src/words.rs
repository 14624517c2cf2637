//! What the system reports, in words for a model: what is wrong, where, and what to do.

use std::io;

use rustix::io::Errno;

use crate::{HandsError, Trouble};

/// An error of the system while `doing` (a verb and perhaps more) something with `path`.
pub(crate) fn refused(doing: &str, path: &str, error: &io::Error) -> HandsError {
    let trouble = trouble(error);
    let message = match trouble {
        Trouble::ReadOnly => format!(
            "this mode cannot write here: {path} is read-only. Write where the mode allows it, or report what should change."
        ),
        Trouble::Denied => {
            format!("cannot {doing} {path}: access is denied. It is outside of what this run may touch.")
        }
        Trouble::Exhausted => {
            format!(
                "cannot {doing} {path}: {}. End background commands or remove files you made, then try again.",
                plain(error)
            )
        }
        _ => format!("cannot {doing} {path}: {}", plain(error)),
    };
    HandsError::new(trouble, message)
}

/// The kind of trouble a system error is.
pub(crate) fn trouble(error: &io::Error) -> Trouble {
    match Errno::from_io_error(error) {
        Some(Errno::NOENT) => Trouble::NotFound,
        Some(Errno::ROFS) => Trouble::ReadOnly,
        Some(Errno::ACCESS | Errno::PERM) => Trouble::Denied,
        Some(Errno::ISDIR | Errno::NOTDIR | Errno::NXIO | Errno::NODEV) => Trouble::WrongKind,
        Some(Errno::EXIST | Errno::NOTEMPTY) => Trouble::Changed,
        Some(Errno::FBIG | Errno::OVERFLOW) => Trouble::TooLarge,
        Some(Errno::NAMETOOLONG | Errno::LOOP | Errno::INVAL | Errno::TOOBIG) => Trouble::Invalid,
        Some(
            Errno::NOSPC
            | Errno::DQUOT
            | Errno::NOMEM
            | Errno::MFILE
            | Errno::NFILE
            | Errno::AGAIN
            | Errno::MLINK,
        ) => Trouble::Exhausted,
        _ => Trouble::Other,
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
        let check = |errno: Errno, trouble: Trouble, part: &str| {
            let error = refused("write", "src/a.rs", &errno.into());
            assert_eq!(error.trouble, trouble);
            assert!(error.message.contains(part) && error.message.contains("src/a.rs"), "{}", error.message);
            assert!(!error.message.contains("os error"), "{}", error.message);
        };
        check(Errno::ROFS, Trouble::ReadOnly, "this mode cannot write here");
        check(Errno::ACCESS, Trouble::Denied, "outside of what this run may touch");
        check(Errno::NOSPC, Trouble::Exhausted, "no space left");
        check(Errno::LOOP, Trouble::Invalid, "cannot write");
        check(Errno::IO, Trouble::Other, "cannot write");
    }
}
