//! What the walls mount: a plan made by the host, carried out by the launcher.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One thing the payload will find at `at` inside its private root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Absolute path inside the sandbox.
    #[serde(with = "path")]
    pub at: PathBuf,
    /// Where it comes from.
    pub source: MountSource,
    /// Whether the payload may write to it; everything else is mounted read-only.
    pub writable: bool,
}

/// The origin of a [`Mount`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MountSource {
    /// A directory or file of the host, with everything mounted below it.
    Bind(#[serde(with = "path")] PathBuf),
    /// A merged view: see [`Overlay`].
    Overlay(Overlay),
    /// Fresh memory-backed space with hard limits.
    Tmpfs {
        /// Size limit in MiB.
        mb: u64,
        /// Limit on the number of files.
        inodes: u64,
    },
    /// A small read-only file with these bytes.
    File(Vec<u8>),
    /// A symbolic link to this target.
    Symlink(#[serde(with = "path")] PathBuf),
    /// An empty read-only directory: used to cover what must not be seen.
    EmptyDir,
}

/// Layers of a merged view; the host prepares the directories, the walls mount them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlay {
    /// Read-only layers, topmost first; the last one is the real directory.
    #[serde(with = "paths")]
    pub lowers: Vec<PathBuf>,
    /// Where writes land; `None` gives a read-only view.
    #[serde(with = "optional_path")]
    pub upper: Option<PathBuf>,
    /// Scratch space of the kernel beside `upper`: same filesystem, fresh for each mount.
    #[serde(with = "optional_path")]
    pub work: Option<PathBuf>,
    /// Whether what is written is needed again after this mount: it is kept safe, and directories of lower layers are not
    /// moved by notes of where they came from, so that each layer can be read by itself.
    #[serde(default)]
    pub lasting: bool,
    /// Whether a directory of a lower layer is moved by copying what is in it, with no note of where it came from.
    #[serde(default)]
    pub moved_whole: bool,
}

impl Overlay {
    /// Replaces the kernel's scratch space, which serves for one mount only; call it before mounting once more.
    pub fn renew(&mut self, owner: Option<(u32, u32)>) -> std::io::Result<()> {
        let Some(work) = &self.work else { return Ok(()) };
        crate::snapshot::remove_tree(work)?;
        std::fs::create_dir(work)?;
        match owner {
            Some((uid, gid)) => std::os::unix::fs::lchown(work, Some(uid), Some(gid)),
            None => Ok(()),
        }
    }
}

impl Mount {
    /// A read-only view of a host path at the same path inside.
    pub fn same_path(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { at: path.clone(), source: MountSource::Bind(path), writable: false }
    }

    /// A read-only view of a host path somewhere else inside.
    pub fn read_only(source: impl Into<PathBuf>, at: impl Into<PathBuf>) -> Self {
        Self { at: at.into(), source: MountSource::Bind(source.into()), writable: false }
    }

    /// A writable view of a host directory.
    pub fn writable(source: impl Into<PathBuf>, at: impl Into<PathBuf>) -> Self {
        Self { at: at.into(), source: MountSource::Bind(source.into()), writable: true }
    }
}

/// Stores any path, also one that is not UTF-8: text when it can be, bytes when it must.
pub mod path {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::{Path, PathBuf};

    use schemars::JsonSchema;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// A path as it is written down.
    #[derive(Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(untagged)]
    pub enum StoredPath {
        /// One that is text.
        Text(String),
        /// The bytes of one that is not.
        Bytes(Vec<u8>),
    }

    impl From<&std::ffi::OsStr> for StoredPath {
        fn from(value: &std::ffi::OsStr) -> Self {
            match value.to_str() {
                Some(text) => StoredPath::Text(text.to_owned()),
                None => StoredPath::Bytes(value.as_bytes().to_vec()),
            }
        }
    }

    impl From<StoredPath> for OsString {
        fn from(value: StoredPath) -> Self {
            match value {
                StoredPath::Text(text) => text.into(),
                StoredPath::Bytes(bytes) => OsString::from_vec(bytes),
            }
        }
    }

    /// For `#[serde(with)]`.
    pub fn serialize<S: Serializer>(value: &Path, to: S) -> Result<S::Ok, S::Error> {
        StoredPath::from(value.as_os_str()).serialize(to)
    }

    /// For `#[serde(with)]`.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        StoredPath::deserialize(from).map(|stored| PathBuf::from(OsString::from(stored)))
    }
}

/// Like [`path`], for a path that may be absent.
pub mod optional_path {
    use std::ffi::OsString;
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::path::StoredPath;

    /// For `#[serde(with)]`.
    pub fn serialize<S: Serializer>(value: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
        value.as_ref().map(|p| StoredPath::from(p.as_os_str())).serialize(to)
    }

    /// For `#[serde(with)]`.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<StoredPath>::deserialize(from)?.map(|s| PathBuf::from(OsString::from(s))))
    }
}

/// Like [`path`], for a list of paths.
pub mod paths {
    use std::ffi::OsString;
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::path::StoredPath;

    /// For `#[serde(with)]`.
    pub fn serialize<S: Serializer>(value: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(value.iter().map(|p| StoredPath::from(p.as_os_str())))
    }

    /// For `#[serde(with)]`.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PathBuf>, D::Error> {
        Ok(Vec::<StoredPath>::deserialize(from)?
            .into_iter()
            .map(|s| PathBuf::from(OsString::from(s)))
            .collect())
    }
}

/// Like [`path`], for a command line.
pub mod strings {
    use std::ffi::OsString;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::path::StoredPath;

    /// For `#[serde(with)]`.
    pub fn serialize<S: Serializer>(value: &[OsString], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(value.iter().map(|s| StoredPath::from(s.as_os_str())))
    }

    /// For `#[serde(with)]`.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<OsString>, D::Error> {
        Ok(Vec::<StoredPath>::deserialize(from)?.into_iter().map(OsString::from).collect())
    }
}
