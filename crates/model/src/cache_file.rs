//! Small files that are kept for this user alone, one value each.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The value in a file of at most so many bytes; nothing when anything is wrong with it.
pub(crate) fn read<T: DeserializeOwned>(path: &Path, most_bytes: u64) -> Option<T> {
    let mut text = Vec::new();
    File::open(path).ok()?.take(most_bytes).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Replaces the value; readers see the old one or the new one, never half of it.
pub(crate) fn replace(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let beside = folder.join(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
    // A process of the same number may have died here.
    let _ = fs::remove_file(&beside);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    let written = serde_json::to_vec(value).map_err(io::Error::other).and_then(|text| file.write_all(&text));
    written.and_then(|()| fs::rename(&beside, path)).inspect_err(|_| {
        let _ = fs::remove_file(&beside);
    })
}
