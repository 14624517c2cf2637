//! The headings above a case, by how far they are indented: `suite`, below it `case`.

/// Headings that are open at the line that was read last.
#[derive(Debug, Default)]
pub(super) struct Headings(Vec<(usize, String)>);

impl Headings {
    /// Begins anew.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Opens a heading, which closes those that are not further out.
    pub(super) fn open(&mut self, indent: usize, name: &str) {
        self.leave(indent);
        // Whoever nests deeper than this prints something else.
        if self.0.len() < 32 {
            self.0.push((indent, name.to_owned()));
        }
    }

    /// Closes the heading of this name at this indentation, if it is open.
    pub(super) fn close(&mut self, indent: usize, name: &str) -> bool {
        let open = self.0.iter().any(|(at, known)| *at == indent && known == name);
        if open {
            self.leave(indent);
        }
        open
    }

    fn leave(&mut self, indent: usize) {
        self.0.retain(|(at, _)| *at < indent);
    }

    /// The whole name of a case at this indentation.
    pub(super) fn whole(&self, indent: usize, between: &str, case: &str) -> String {
        let above = self.0.iter().filter(|(at, _)| *at < indent).map(|(_, name)| name.as_str());
        above.chain([case]).collect::<Vec<_>>().join(between)
    }
}

/// How far a line is indented.
pub(super) fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}
