//! What a command prints, on its way from the pipe to the answer, the kept file and whoever watches.

use super::ends::HeadAndTail;
use super::fold::ProgressFold;
use super::legible::LegibleText;
use super::output_store::{OutputStore, StoredOutput};

/// Most bytes of one command that a watcher hears.
const MOST_WATCHED: u64 = 256 << 10;
/// Most bytes of output in one answer, whatever was asked for.
pub(super) const MOST_SHOWN: u64 = 16 << 20;

/// The output of one command.
pub(super) struct CommandOutput {
    legible: LegibleText,
    fold: ProgressFold,
    ends: HeadAndTail,
    kept: StoredOutput,
    total_bytes: u64,
    watched: u64,
}

impl CommandOutput {
    /// Shows up to this many bytes; the rest goes to a file that is made when it is needed.
    pub(super) fn new(max_bytes: u64, keep: OutputStore) -> Self {
        let most = max_bytes.min(MOST_SHOWN) as usize;
        Self {
            legible: LegibleText::default(),
            fold: ProgressFold::default(),
            ends: HeadAndTail::new(most),
            kept: StoredOutput::new(keep),
            total_bytes: 0,
            watched: 0,
        }
    }

    /// Keeps everything in a file from the beginning.
    pub(super) fn keep_all(mut self) -> Self {
        self.kept.start();
        self
    }

    /// Takes what came out of the pipe.
    pub(super) fn take(&mut self, bytes: &[u8], watch: &mut dyn FnMut(&str)) {
        self.total_bytes += bytes.len() as u64;
        let mut text = String::with_capacity(bytes.len());
        self.legible.push(bytes, &mut text);
        self.tell(&text, watch);
        let mut folded = String::with_capacity(text.len());
        self.fold.push(&text, &mut folded);
        self.put(&folded);
    }

    /// Takes the line that has no end yet, because somebody looks or nothing more comes.
    pub(super) fn flush(&mut self, ended: bool, watch: &mut dyn FnMut(&str)) {
        let mut text = String::new();
        if ended {
            self.legible.finish(&mut text);
            self.tell(&text, watch);
        }
        let mut folded = String::new();
        self.fold.push(&text, &mut folded);
        self.fold.flush(&mut folded);
        self.put(&folded);
    }

    fn put(&mut self, text: &str) {
        if self.kept.path().is_none() && !self.ends.holds(text.len()) {
            self.kept.start();
            for part in self.ends.parts() {
                self.kept.write(part);
            }
        }
        self.kept.write(text);
        self.ends.push(text);
    }

    fn tell(&mut self, text: &str, watch: &mut dyn FnMut(&str)) {
        if text.is_empty() || self.watched > MOST_WATCHED {
            return;
        }
        self.watched += text.len() as u64;
        watch(text);
        if self.watched > MOST_WATCHED {
            watch("\n[… more than can be watched; the result has the end of it …]\n");
        }
    }

    /// What is shown of it.
    pub(super) fn shown(&self, most: u64) -> String {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        self.ends.show(most, |left_out| self.kept.note(left_out))
    }

    /// Whether everything is shown.
    pub(super) fn complete(&self) -> bool {
        self.ends.holds(0)
    }

    /// From now on only what comes from now on is shown.
    pub(super) fn forget(&mut self, most: usize) {
        self.ends = HeadAndTail::new(most);
    }

    pub(super) fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Where all of it is kept.
    pub(super) fn kept(&self) -> Option<String> {
        self.kept.path().map(|path| path.to_string_lossy().into_owned())
    }
}
