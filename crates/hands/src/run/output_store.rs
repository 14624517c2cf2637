//! All output of a command, in a file of bounded size.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::words::plain;

/// Most bytes kept of one command.
pub(crate) const MOST_KEPT: u64 = 64 << 20;
/// Most bytes kept of all commands of one run.
const MOST_KEPT_OF_ALL: u64 = 512 << 20;

/// The folder where output is kept.
#[derive(Clone)]
pub(crate) struct OutputStore {
    folder: PathBuf,
    room: Arc<AtomicU64>,
    next: Arc<AtomicU64>,
}

impl OutputStore {
    pub(crate) fn in_folder(folder: PathBuf) -> Self {
        Self { folder, room: Arc::new(AtomicU64::new(MOST_KEPT_OF_ALL)), next: Arc::default() }
    }

    fn create(&self) -> std::io::Result<(PathBuf, File)> {
        if !self.folder.is_dir() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        }
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed) + 1;
            let path = self.folder.join(format!("{}-{number}.txt", std::process::id()));
            match File::options().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => return Ok((path, file)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes up to this many bytes from what may still be kept.
    fn take(&self, wanted: u64) -> u64 {
        let taken =
            self.room.try_update(Ordering::SeqCst, Ordering::SeqCst, |room| Some(room - wanted.min(room)));
        taken.map_or(0, |room| wanted.min(room))
    }
}

/// The output of one command.
pub(crate) struct StoredOutput {
    keep: OutputStore,
    file: Option<(PathBuf, File)>,
    written: u64,
    /// Why not all of it is there.
    short: Option<String>,
}

impl StoredOutput {
    pub(crate) fn new(keep: OutputStore) -> Self {
        Self { keep, file: None, written: 0, short: None }
    }

    /// Makes the file.
    pub(crate) fn start(&mut self) {
        if self.file.is_none() && self.short.is_none() {
            match self.keep.create() {
                Ok(made) => self.file = Some(made),
                Err(error) => self.short = Some(plain(&error)),
            }
        }
    }

    pub(crate) fn write(&mut self, text: &str) {
        let Some((_, file)) = &mut self.file else { return };
        if self.short.is_some() {
            return;
        }
        let wanted = text.len() as u64;
        let room = self.keep.take(wanted.min(MOST_KEPT - self.written));
        let fits = text.floor_char_boundary(room as usize);
        match file.write_all(&text.as_bytes()[..fits]) {
            Ok(()) => self.written += fits as u64,
            Err(error) => self.short = Some(plain(&error)),
        }
        if self.short.is_none() && fits < text.len() {
            self.short = Some(format!("only its first {} bytes", self.written));
        }
    }

    /// Where it is, if anywhere.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|(path, _)| path.as_path())
    }

    /// The line that stands for what is not shown.
    pub(crate) fn note(&self, left_out: u64) -> String {
        let bytes = if left_out == 1 { "byte" } else { "bytes" };
        match (self.path(), &self.short) {
            (Some(path), None) => {
                format!("[… {left_out} {bytes} left out; all of it is in {} …]", path.display())
            }
            (Some(path), Some(short)) => {
                format!("[… {left_out} {bytes} left out; not all of it is in {}: {short} …]", path.display())
            }
            (None, Some(short)) => format!("[… {left_out} {bytes} left out and not kept: {short} …]"),
            (None, None) => format!("[… {left_out} {bytes} left out …]"),
        }
    }
}
