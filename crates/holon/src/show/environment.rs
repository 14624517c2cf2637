//! The environment a run stood on, for people.

use holon_core::manifest::EnvironmentUse;

use super::amount;
use super::table::TextTable;
use crate::terminal::{TerminalStream, TextStyle, visible};

/// Which one, how it came to be, and what it brought.
pub(super) fn page(used: &EnvironmentUse, stream: TerminalStream) -> String {
    let mut facts = TextTable::indented(2);
    let made = if used.made_now { "for this run, by run" } else { "before, by run" };
    facts.row(["digest", used.digest.get(..12).unwrap_or(&used.digest)]);
    facts.row(["made", &format!("{made} {}", used.run)]);
    for command in &used.commands {
        facts.row(["setup", command]);
    }
    facts.row(["said by", &used.source]);
    for root in &used.brings {
        facts.row(["brings", root]);
    }
    if !used.packages.is_empty() {
        facts.row(["brought in", &amount::count(used.packages.len() as u64, "package")]);
    }
    let mut text = facts.render(stream);
    for path in &used.left_out {
        let label = stream.paint(TextStyle::Yellow, "left out:");
        text.push_str(&format!("  {label} {}\n", visible(path)));
    }
    text
}
