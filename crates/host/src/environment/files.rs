//! Files of a workspace that decide about its environment.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use holon_core::digest::sha256;
use holon_environment::ProjectFiles;

/// Lock files grow large; nothing larger is one.
const LARGEST: u64 = 64 << 20;

/// The files of a workspace; links are not followed.
pub(super) struct WorkspaceFiles<'a>(pub(super) &'a Path);

impl WorkspaceFiles<'_> {
    fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let file = File::options().read(true).custom_flags(flags.bits() as i32).open(self.at(path)?).ok()?;
        let meta = file.metadata().ok()?;
        let mut bytes = Vec::new();
        let fits = meta.is_file() && meta.len() <= LARGEST;
        (fits && file.take(LARGEST).read_to_end(&mut bytes).is_ok()).then_some(bytes)
    }

    /// A path below the workspace with no link above its end.
    fn at(&self, path: &str) -> Option<PathBuf> {
        let mut at = self.0.to_owned();
        for name in Path::new(path).parent()?.components() {
            at.push(name);
            at.symlink_metadata().ok().filter(std::fs::Metadata::is_dir)?;
        }
        Some(self.0.join(path))
    }

    /// The digest of a file.
    pub(super) fn digest(&self, path: &str) -> Option<String> {
        self.bytes(path).map(|bytes| sha256(&bytes))
    }
}

impl ProjectFiles for WorkspaceFiles<'_> {
    fn text(&self, path: &str) -> Option<String> {
        String::from_utf8(self.bytes(path)?).ok()
    }

    fn is_file(&self, path: &str) -> bool {
        self.at(path).is_some_and(|at| at.symlink_metadata().is_ok_and(|meta| meta.is_file()))
    }
}
