//! Text that others wrote, on its way into Markdown on a forge.
//!
//! What an agent writes may have been dictated by whoever wrote the code it read. So nobody is notified, nothing is closed,
//! no image is fetched and no marker is forged by it, and its length is bounded.

mod cut;
mod fence;
mod harmless;
mod lines;

pub use cut::{cut, fits};
pub use fence::{block, code};
pub use harmless::{harmless, is_harmless};

use holon_core::redact::Redactor;
use lines::Fences;

/// The most characters GitHub takes as the body of a comment, review or pull request.
pub const BODY_LIMIT: usize = 65_536;

/// Makes text fit to be published: no credential, nothing that acts.
#[derive(Debug, Clone, Default)]
pub struct Cleaner {
    redactor: Redactor,
}

impl Cleaner {
    /// A cleaner that also removes what this redactor knows.
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor }
    }

    /// Markdown of several lines; a block of code that is left open is closed, so that it swallows nothing after it.
    pub fn markdown(&self, text: &str) -> String {
        let mut out = harmless(&self.redactor.redact_str(text));
        let mut fences = Fences::default();
        for line in out.split('\n') {
            fences.step(line);
        }
        if let Some(fence) = fences.closing() {
            out.push('\n');
            out.push_str(&fence);
        }
        out
    }

    /// Text for one line of at most `longest` characters.
    pub fn line(&self, text: &str, longest: usize) -> String {
        let flat = self.redactor.redact_str(text).split_whitespace().collect::<Vec<_>>().join(" ");
        let mut clean: String = harmless(&flat);
        if clean.chars().count() > longest {
            clean = clean.chars().take(longest.saturating_sub(1)).collect();
            clean.push('…');
        }
        clean
    }

    /// Text that must stay exactly as it is, or nothing when it cannot.
    pub fn exact<'t>(&self, text: &'t str) -> Option<&'t str> {
        (self.redactor.redact_str(text) == text && is_harmless(text)).then_some(text)
    }

    /// The same text without credentials.
    pub fn redacted(&self, text: &str) -> String {
        self.redactor.redact_str(text)
    }
}
