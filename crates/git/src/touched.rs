//! What a patch touches, and what was there before and after: enough to know later whether it still fits.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::read::open_regular;

/// The kinds of entries git knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileMode {
    /// A file.
    #[serde(rename = "100644")]
    Regular,
    /// A file its owner may execute.
    #[serde(rename = "100755")]
    Executable,
    /// A symbolic link.
    #[serde(rename = "120000")]
    Symlink,
    /// A pointer to a commit of a submodule.
    #[serde(rename = "160000")]
    Gitlink,
}

impl FileMode {
    /// As git writes it.
    pub fn octal(self) -> &'static str {
        match self {
            Self::Regular => "100644",
            Self::Executable => "100755",
            Self::Symlink => "120000",
            Self::Gitlink => "160000",
        }
    }
}

/// One state of one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathDigest {
    /// What it is.
    pub mode: FileMode,
    /// Hex SHA-256 of the content: bytes of a file, target of a link, id of a submodule pointer.
    pub sha256: String,
}

/// One path of a patch; `None` means it is not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TouchedPath {
    /// Relative to the workspace.
    #[serde(with = "any_path")]
    pub path: PathBuf,
    /// What the patch was made against.
    pub base: Option<PathDigest>,
    /// What it leads to.
    pub result: Option<PathDigest>,
}

impl PathDigest {
    /// The digest of content held in memory.
    pub fn of_bytes(mode: FileMode, bytes: &[u8]) -> Self {
        Self { mode, sha256: hex(&Sha256::digest(bytes)) }
    }

    /// The digest of everything `content` gives, and how much that was.
    pub fn of_reader(mode: FileMode, content: &mut dyn Read) -> io::Result<(Self, u64)> {
        let mut hash = Sha256::new();
        // Most files are small, and there may be thousands of them.
        let mut buffer = [0; 1 << 14];
        let mut total = 0;
        loop {
            match content.read(&mut buffer) {
                Ok(0) => return Ok((Self { mode, sha256: hex(&hash.finalize()) }, total)),
                Ok(n) => {
                    hash.update(&buffer[..n]);
                    total += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// The digest of a regular file that was `size` long when it was opened. A read that gives less than it could is its
    /// end, so that a small file is read once.
    pub fn of_file(mode: FileMode, file: &mut File, size: u64) -> io::Result<Self> {
        let mut whole = SizedFileReader { file, size, read: 0, over: false };
        Self::of_reader(mode, &mut whole).map(|(digest, _)| digest)
    }

    /// What is at `path` now, links not followed; a directory counts as nothing there.
    pub fn of_path(path: &Path) -> io::Result<Option<Self>> {
        let meta = match fs::symlink_metadata(path) {
            Ok(meta) => meta,
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(e) => return Err(e),
        };
        if meta.is_dir() {
            return Ok(None);
        }
        if meta.is_symlink() {
            return Ok(Some(Self::of_bytes(FileMode::Symlink, fs::read_link(path)?.as_os_str().as_bytes())));
        }
        let exec = meta.permissions().mode() & 0o100 != 0;
        let mode = if exec { FileMode::Executable } else { FileMode::Regular };
        let mut file: File = open_regular(path)?;
        Ok(Some(Self::of_reader(mode, &mut file)?.0))
    }
}

/// Reads a regular file without asking once more for what follows its end.
struct SizedFileReader<'f> {
    file: &'f mut File,
    size: u64,
    read: u64,
    over: bool,
}

impl Read for SizedFileReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.over {
            return Ok(0);
        }
        let count = self.file.read(buffer)?;
        self.read += count as u64;
        self.over = count < buffer.len() && self.read >= self.size;
        Ok(count)
    }
}

/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

/// Stores any path: text when it can be, bytes when it must.
pub mod any_path {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::{Path, PathBuf};

    use serde::de::{SeqAccess, Visitor};
    use serde::{Deserializer, Serialize, Serializer};

    /// For `#[serde(with)]`.
    pub fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => to.serialize_str(text),
            None => path.as_os_str().as_bytes().serialize(to),
        }
    }

    /// For `#[serde(with)]`.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        from.deserialize_any(AnyPath)
    }

    struct AnyPath;

    impl<'de> Visitor<'de> for AnyPath {
        type Value = PathBuf;

        fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            to.write_str("a path, as text or as bytes")
        }

        fn visit_str<E>(self, text: &str) -> Result<PathBuf, E> {
            Ok(text.into())
        }

        fn visit_string<E>(self, text: String) -> Result<PathBuf, E> {
            Ok(text.into())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<PathBuf, A::Error> {
            let mut bytes = Vec::new();
            while let Some(byte) = from.next_element()? {
                bytes.push(byte);
            }
            Ok(OsString::from_vec(bytes).into())
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn stored_and_read_back() {
        for name in [b"plain".as_slice(), b"latin\xe9"] {
            let path = PathBuf::from(std::ffi::OsStr::from_bytes(name));
            let base = Some(PathDigest::of_bytes(FileMode::Executable, b"x"));
            let touched = TouchedPath { path, base, result: None };
            let text = serde_json::to_string(&touched).unwrap();
            assert!(text.contains("100755"), "{text}");
            assert_eq!(serde_json::from_str::<TouchedPath>(&text).unwrap(), touched);
        }
    }

    #[test]
    fn digest_of_a_path_is_of_what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("file"), "x").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        let of = |name: &str| PathDigest::of_path(&at(name)).unwrap();
        assert_eq!(of("file"), Some(PathDigest::of_bytes(FileMode::Regular, b"x")));
        assert_eq!(of("link"), Some(PathDigest::of_bytes(FileMode::Symlink, b"file")));
        assert_eq!(of("."), None);
        assert_eq!(of("absent"), None);
        assert_eq!(of("file/below"), None);
    }
}
