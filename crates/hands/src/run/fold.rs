//! Progress bars folded: of a line that was written over and over only its last state stays.

/// A line that grows longer than this is given out and can no longer be taken back.
const LONGEST_LINE: usize = 8 << 10;

/// Works on text as it comes, however it is cut.
#[derive(Default)]
pub(super) struct ProgressFold {
    /// The line that may still be written over.
    line: String,
    /// Whether its beginning has been given out.
    begun: bool,
    /// Whether a carriage return came last.
    returned: bool,
}

impl ProgressFold {
    /// Adds the finished lines to `out`.
    pub(super) fn push(&mut self, text: &str, out: &mut String) {
        let mut rest = text;
        while !rest.is_empty() {
            let plain = rest.bytes().position(|byte| matches!(byte, b'\n' | b'\r' | b'\x08'));
            let (now, later) = rest.split_at(plain.unwrap_or(rest.len()));
            if !now.is_empty() {
                self.write_over(out);
                self.line.push_str(now);
                if self.line.len() > LONGEST_LINE {
                    self.give_out(out);
                }
            }
            rest = match later.as_bytes().first() {
                Some(b'\n') => {
                    self.give_out(out);
                    out.push('\n');
                    (self.begun, self.returned) = (false, false);
                    &later[1..]
                }
                Some(b'\r') => {
                    self.returned = true;
                    &later[1..]
                }
                Some(_) => {
                    self.write_over(out);
                    self.line.pop();
                    &later[1..]
                }
                None => later,
            };
        }
    }

    /// Gives out the line as far as it has come, for somebody who looks now, or at the end.
    pub(super) fn flush(&mut self, out: &mut String) {
        if !self.line.is_empty() {
            self.give_out(out);
        }
    }

    fn write_over(&mut self, out: &mut String) {
        if std::mem::take(&mut self.returned) {
            self.line.clear();
            // What was given out cannot be taken back: the new state gets a line of its own.
            if std::mem::take(&mut self.begun) {
                out.push('\n');
            }
        }
    }

    fn give_out(&mut self, out: &mut String) {
        self.begun |= !self.line.is_empty();
        out.push_str(&self.line);
        self.line.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fold<'a>(pieces: impl IntoIterator<Item = &'a str>) -> String {
        let (mut fold, mut out) = (ProgressFold::default(), String::new());
        for piece in pieces {
            fold.push(piece, &mut out);
        }
        fold.flush(&mut out);
        out
    }

    #[test]
    fn only_the_last_state_of_a_line_stays() {
        let check = |text: &str, expected: &str| assert_eq!(fold([text]), expected, "{text:?}");
        check("a\nb\n", "a\nb\n");
        check("a\r\nb\r\n", "a\nb\n");
        check("10%\r20%\r30%\ndone\n", "30%\ndone\n");
        check("10%\r20%\r", "20%");
        check("10%\r\r\n", "10%\n");
        check("\rstart", "start");
        check("spin |\x08/\x08-\x08ok", "spin ok");
        check("\x08\x08a", "a");
        check("ü\x08u", "u");
        check("no end", "no end");
    }

    #[test]
    fn a_very_long_line_is_given_out() {
        let long = "x".repeat(LONGEST_LINE + 1);
        assert_eq!(fold([long.as_str(), "y\rz\n"]), format!("{long}\nz\n"));
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same(pieces in prop::collection::vec("[ab\r\n\x08ü]{0,6}", 0..20)) {
            let whole = pieces.concat();
            prop_assert_eq!(fold(pieces.iter().map(String::as_str)), fold([whole.as_str()]));
        }

        #[test]
        fn text_without_control_is_kept(text in "[\\PC\n\t]{0,300}") {
            prop_assert_eq!(fold([text.as_str()]), text);
        }
    }
}
