//! What a command prints, on its way from the pipe to the answer, the kept file and whoever watches.

use super::ends::HeadAndTail;
use super::fold::ProgressFold;
use super::legible::LegibleText;
use super::output_store::{OutputStore, StoredOutput};

/// Most bytes of one command that a watcher hears as they come.
const MOST_WATCHED: u64 = 8 << 20;
/// Of what comes after them, the end that is heard when the command is over.
const WATCHED_END: usize = 64 << 10;
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
    /// The end of what is too much to be heard as it comes.
    unheard: UnheardEnd,
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
            unheard: UnheardEnd::default(),
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
            if let Some(words) = self.unheard.take() {
                watch(&words);
            }
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
        if text.is_empty() {
            return;
        }
        if self.watched >= MOST_WATCHED {
            self.unheard.push(text);
            return;
        }
        self.watched += text.len() as u64;
        watch(text);
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

/// What a watcher did not hear: counted, and its end kept.
#[derive(Default)]
struct UnheardEnd {
    total: u64,
    end: String,
}

impl UnheardEnd {
    fn push(&mut self, text: &str) {
        self.total += text.len() as u64;
        self.end.push_str(text);
        // Now and then, so that every byte is moved a bounded number of times.
        if self.end.len() > 4 * WATCHED_END {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        let from = self.end.ceil_char_boundary(self.end.len().saturating_sub(WATCHED_END));
        self.end.drain(..from);
    }

    /// The mark for what is left out, and the end.
    fn take(&mut self) -> Option<String> {
        if self.total == 0 {
            return None;
        }
        self.shorten();
        let Self { total, end } = std::mem::take(self);
        let left_out = total - end.len() as u64;
        Some(match left_out {
            0 => end,
            _ => format!("\n[… {left_out} bytes left out …]\n{end}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watcher_hears_the_beginning_and_the_end_and_how_much_is_between() {
        let folder = std::env::temp_dir().join("nothing-is-written-here");
        let mut output = CommandOutput::new(1 << 30, OutputStore::in_folder(folder));
        let mut heard = String::new();
        let line = format!("{}\n", "x".repeat(1023));
        for _ in 0..9 << 10 {
            output.take(line.as_bytes(), &mut |text| heard.push_str(text));
        }
        output.take(b"error: the last line\n", &mut |text| heard.push_str(text));
        assert_eq!(heard.len() as u64, MOST_WATCHED, "as it comes");
        output.flush(true, &mut |text| heard.push_str(text));
        assert!(heard.ends_with("\nerror: the last line\n"), "the end is heard");
        let mark = heard.lines().find(|line| line.starts_with('[')).unwrap_or_default();
        let left_out: u64 = mark.split(' ').nth(1).and_then(|count| count.parse().ok()).unwrap_or(0);
        let around = mark.len() as u64 + 2;
        assert_eq!(heard.len() as u64 - around + left_out, output.total_bytes(), "{mark}");
        let before = heard.len();
        output.flush(true, &mut |text| heard.push_str(text));
        assert_eq!(heard.len(), before, "nothing is told twice");
    }
}
