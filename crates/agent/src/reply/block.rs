//! A text as its lines and its fenced blocks.

/// A fenced block, or the text between two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplySection<'a> {
    Text(&'a str),
    Block(FencedBlock<'a>),
}

/// A fenced block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FencedBlock<'a> {
    /// What stands behind the opening fence.
    pub(super) info: &'a str,
    /// Everything between the fences, with its last line end.
    pub(super) body: &'a str,
    /// Whether there is a closing fence.
    pub(super) closed: bool,
}

impl<'a> FencedBlock<'a> {
    /// The first word behind the fence, in lower case.
    pub(super) fn label(&self) -> String {
        let word = self.info.split([' ', ':', '{', ',']).next().unwrap_or_default();
        word.trim().to_ascii_lowercase()
    }
}

/// A fence at the beginning of a line: its sign, its length, and what stands behind it.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let here = line.trim_start_matches([' ', '\t', '>']);
    let sign = here.chars().next().filter(|sign| "`~".contains(*sign))?;
    let rest = here.trim_start_matches(sign);
    let length = here.len() - rest.len();
    let info = rest.trim();
    // Back-ticks behind back-ticks are code within a line.
    (length >= 3 && !(sign == '`' && info.contains('`'))).then_some((sign, length, info))
}

/// The pieces of a text. A fence with a word behind it opens another block inside of a block; a bare one closes.
pub(super) fn pieces(text: &str) -> Vec<ReplySection<'_>> {
    let mut all = Vec::new();
    let mut from = 0;
    let mut lines = lines_at(text).peekable();
    while let Some((at, line)) = lines.next() {
        let Some((sign, length, info)) = fence(line) else { continue };
        if from < at {
            all.push(ReplySection::Text(&text[from..at]));
        }
        let start = at + line.len();
        let (mut end, mut after, mut closed, mut depth) = (text.len(), text.len(), false, 0usize);
        let nests =
            matches!(info.split([' ', ':']).next(), Some("markdown" | "md" | "mdx")) || info.ends_with(".md");
        for (inner, line) in lines.by_ref() {
            let Some((other, long, info)) = fence(line) else { continue };
            if other != sign {
                continue;
            }
            if !info.is_empty() {
                depth += usize::from(long >= length && nests);
            } else if depth > 0 {
                depth -= 1;
            } else if long >= length {
                (end, after, closed) = (inner, inner + line.len(), true);
                break;
            }
        }
        let body = text.get(start..end).unwrap_or_default();
        all.push(ReplySection::Block(FencedBlock { info, body, closed }));
        from = after;
    }
    if from < text.len() {
        all.push(ReplySection::Text(&text[from..]));
    }
    all
}

/// Each line with its end, and where it begins.
fn lines_at(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (start, line)
    })
}
