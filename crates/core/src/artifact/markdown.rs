//! Markdown artifacts: there must be something to read.

use super::ArtifactProblem;

/// Problems of a Markdown file: it must be text and say something.
pub fn check(bytes: &[u8]) -> Vec<ArtifactProblem> {
    match std::str::from_utf8(bytes) {
        Err(error) => {
            vec![ArtifactProblem::new("", format!("it is not UTF-8 text (byte {})", error.valid_up_to()))]
        }
        Ok(text) if !text.chars().any(char::is_alphanumeric) => {
            vec![ArtifactProblem::new("", "it has no words in it")]
        }
        Ok(_) => Vec::new(),
    }
}

/// One heading and what stands below it, up to the next one of the same or a higher level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkdownSection {
    /// 1 to 6.
    pub level: usize,
    /// The heading's text.
    pub title: String,
    /// Whether anything but blank lines stands below.
    pub filled: bool,
}

/// The sections of a Markdown text; headings inside code fences do not count.
pub fn sections(text: &str) -> Vec<MarkdownSection> {
    let mut found: Vec<MarkdownSection> = Vec::new();
    let mut fence: Option<(char, usize)> = None;
    let mut previous = "";
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(mark) = fence_mark(line) {
            match fence {
                None => fence = Some(mark),
                Some((c, n)) if mark.0 == c && mark.1 >= n && trimmed.chars().all(|x| x == c) => fence = None,
                Some(_) => {}
            }
            fill(&mut found, usize::MAX);
        } else if fence.is_some() {
            if !trimmed.is_empty() {
                fill(&mut found, usize::MAX);
            }
        } else if let Some((level, title)) = atx(line) {
            fill(&mut found, level);
            found.push(MarkdownSection { level, title: title.to_owned(), filled: false });
        } else if let Some(level) = underline(trimmed).filter(|_| is_text(previous)) {
            found.push(MarkdownSection { level, title: previous.trim().to_owned(), filled: false });
        } else if !trimmed.is_empty() {
            fill(&mut found, usize::MAX);
        }
        previous = line;
    }
    found
}

/// Marks every open section above `level` as having something in it.
fn fill(found: &mut [MarkdownSection], level: usize) {
    let mut below = level;
    for section in found.iter_mut().rev() {
        if section.level < below {
            section.filled = true;
            below = section.level;
        }
    }
}

fn fence_mark(line: &str) -> Option<(char, usize)> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let rest = &line[indent..];
    let c = rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let count = rest.chars().take_while(|x| *x == c).count();
    (indent < 4 && count >= 3).then_some((c, count))
}

fn atx(line: &str) -> Option<(usize, &str)> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let rest = &line[indent..];
    let level = rest.chars().take_while(|c| *c == '#').count();
    let title = &rest[level..];
    let is_heading =
        indent < 4 && (1..=6).contains(&level) && (title.is_empty() || title.starts_with([' ', '\t']));
    is_heading.then(|| (level, title.trim().trim_end_matches('#').trim()))
}

/// The level of a line of `=` or `-` under a heading's text.
fn underline(trimmed: &str) -> Option<usize> {
    if trimmed.len() >= 3 && trimmed.chars().all(|c| c == '=') {
        Some(1)
    } else if trimmed.len() >= 3 && trimmed.chars().all(|c| c == '-') {
        Some(2)
    } else {
        None
    }
}

fn is_text(line: &str) -> bool {
    let trimmed = line.trim();
    !trimmed.is_empty() && atx(line).is_none() && !trimmed.starts_with(['-', '*', '>', '|', '+'])
}
