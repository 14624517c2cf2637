//! Fenced code blocks, told line by line the way CommonMark does.

/// What a line is with regard to fences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FenceLine {
    /// Opens or closes a block.
    Fence,
    /// Inside of a block.
    Code,
    /// Everything else.
    Text,
}

/// Follows the fences of a text whose raw HTML has been disarmed, so that no HTML block can hide one.
#[derive(Debug, Default)]
pub(super) struct Fences {
    open: Option<(char, usize)>,
}

impl Fences {
    /// Takes the next line.
    pub(super) fn step(&mut self, line: &str) -> FenceLine {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let rest = &line[indent..];
        let mark = rest.chars().next().filter(|c| indent <= 3 && matches!(c, '`' | '~'));
        let run = mark.map_or(0, |mark| rest.chars().take_while(|c| *c == mark).count());
        match (self.open, mark) {
            (Some((open, length)), Some(mark)) if mark == open && run >= length => {
                if rest[run..].trim_matches([' ', '\t']).is_empty() {
                    self.open = None;
                    return FenceLine::Fence;
                }
                FenceLine::Code
            }
            (Some(_), _) => FenceLine::Code,
            // The info string of a backtick fence holds no backtick; else it is a code span.
            (None, Some(mark)) if run >= 3 && !(mark == '`' && rest[run..].contains('`')) => {
                self.open = Some((mark, run));
                FenceLine::Fence
            }
            (None, _) => FenceLine::Text,
        }
    }

    /// The fence that would close the open block.
    pub(super) fn closing(&self) -> Option<String> {
        self.open.map(|(mark, length)| mark.to_string().repeat(length))
    }
}

#[cfg(test)]
mod tests {
    use super::FenceLine::{Code, Fence, Text};
    use super::*;

    #[test]
    fn fences_open_and_close_as_in_commonmark() {
        let check = |text: &str, expect: &[FenceLine]| {
            let mut fences = Fences::default();
            let got: Vec<FenceLine> = text.split('\n').map(|line| fences.step(line)).collect();
            assert_eq!(got, expect, "{text}");
        };
        check("a\n```\nb\n```\nc", &[Text, Fence, Code, Fence, Text]);
        check("````\n```\n````", &[Fence, Code, Fence]);
        check("```\n~~~\n``` \t", &[Fence, Code, Fence]);
        check("~~~ a`b\nx\n~~~", &[Fence, Code, Fence]);
        check("``` a`b\nx", &[Text, Text]);
        check("    ```\nx", &[Text, Text]);
        check("```\n    ```\n```x\n   ```", &[Fence, Code, Code, Fence]);
        check("\t```\n``", &[Text, Text]);
    }
}
