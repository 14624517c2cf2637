//! A patch as line movements: which lines of a file stayed, which went, which came.
//!
//! This is not for applying patches (git does that, and the host has proved that it works) but for telling where a
//! line of the old file is in the new one.

/// What a patch does to one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileLineMoves {
    /// Its name before; `None` when it is new.
    pub old: Option<String>,
    /// Its name after; `None` when it is gone.
    pub new: Option<String>,
    /// The changed places, in order.
    pub hunks: Vec<LineMoveHunk>,
    /// Whether its content is not told line by line.
    pub opaque: bool,
}

/// One changed place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineMoveHunk {
    /// First line in the old file, counted from 0.
    pub start: usize,
    /// The lines, in order.
    pub lines: Vec<LineMove>,
}

/// One line of a hunk, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineMove {
    /// It stays.
    Kept(Vec<u8>),
    /// It goes.
    Gone(Vec<u8>),
    /// It comes.
    New(Vec<u8>),
}

/// A line of the new file, and the line of the old one it was, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultLine<'a> {
    /// Its bytes.
    pub text: &'a [u8],
    /// Where it comes from; `None` when it is new.
    pub from: Option<usize>,
}

/// Reads a patch as git writes it; what cannot be understood makes its file `opaque`, never an error.
pub fn parse(patch: &[u8]) -> Vec<FileLineMoves> {
    let mut files: Vec<FileLineMoves> = Vec::new();
    let mut lines = patch.split(|b| *b == b'\n').peekable();
    while let Some(line) = lines.next() {
        if let Some(names) = line.strip_prefix(b"diff --git ") {
            let name = header_name(names);
            files.push(FileLineMoves { old: name.clone(), new: name, ..FileLineMoves::default() });
            continue;
        }
        let Some(file) = files.last_mut() else { continue };
        let starts = |prefix: &str| line.strip_prefix(prefix.as_bytes());
        if let Some(name) = starts("rename from ") {
            file.old = Some(plain(name));
        } else if let Some(name) = starts("rename to ").or_else(|| starts("copy to ")) {
            file.new = Some(plain(name));
        } else if starts("new file mode ").is_some() || starts("copy from ").is_some() {
            file.old = None;
        } else if starts("deleted file mode ").is_some() {
            file.new = None;
        } else if starts("GIT binary patch").is_some() || starts("Binary files ").is_some() {
            file.opaque = true;
        } else if let Some(name) = starts("--- ").filter(|_| file.hunks.is_empty()) {
            file.old = sided(name, "a/");
        } else if let Some(name) = starts("+++ ").filter(|_| file.hunks.is_empty()) {
            file.new = sided(name, "b/");
        } else if let Some(range) = starts("@@ ") {
            match hunk(range, &mut lines) {
                Some(hunk) => file.hunks.push(hunk),
                None => file.opaque = true,
            }
        }
    }
    files
}

fn hunk<'a>(
    range: &[u8],
    lines: &mut std::iter::Peekable<impl Iterator<Item = &'a [u8]>>,
) -> Option<LineMoveHunk> {
    let text = String::from_utf8_lossy(range);
    let mut fields = text.split(' ');
    let (start, mut old) = numbers(fields.next()?, '-')?;
    let (_, mut new) = numbers(fields.next()?, '+')?;
    // A hunk that takes nothing away names the line before the place.
    let start = if old == 0 { start } else { start.checked_sub(1)? };
    let mut found = LineMoveHunk { start, lines: Vec::new() };
    while old > 0 || new > 0 {
        let line = lines.next()?;
        match line.split_first() {
            Some((b'+', text)) => {
                new = new.checked_sub(1)?;
                found.lines.push(LineMove::New(text.to_vec()));
            }
            Some((b'-', text)) => {
                old = old.checked_sub(1)?;
                found.lines.push(LineMove::Gone(text.to_vec()));
            }
            Some((b'\\', _)) => {}
            Some((b' ', text)) => {
                (old, new) = (old.checked_sub(1)?, new.checked_sub(1)?);
                found.lines.push(LineMove::Kept(text.to_vec()));
            }
            _ => return None,
        }
    }
    Some(found)
}

fn numbers(field: &str, sign: char) -> Option<(usize, usize)> {
    let body = field.strip_prefix(sign)?;
    let (start, count) = body.split_once(',').unwrap_or((body, "1"));
    Some((start.parse().ok()?, count.parse().ok()?))
}

/// `a/NAME b/NAME`: only used where both names are the same, for nothing else can be told apart.
fn header_name(names: &[u8]) -> Option<String> {
    let half = names.len().checked_sub(1)? / 2;
    let (first, second) = (names.get(..half)?, names.get(half + 1..)?);
    let (first, second) = (sided(first, "a/")?, sided(second, "b/")?);
    (first == second).then_some(first)
}

fn sided(name: &[u8], side: &str) -> Option<String> {
    let name = plain(name.strip_suffix(b"\t").unwrap_or(name));
    (name != "/dev/null").then(|| name.strip_prefix(side).map(str::to_owned).unwrap_or(name))
}

/// A file name without git's C-style quoting.
fn plain(name: &[u8]) -> String {
    let Some(quoted) = name.strip_prefix(b"\"").and_then(|n| n.strip_suffix(b"\"")) else {
        return String::from_utf8_lossy(name).into_owned();
    };
    let mut out = Vec::with_capacity(quoted.len());
    let mut rest = quoted;
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'\\' {
            out.push(*first);
            continue;
        }
        let octal = tail.get(..3).filter(|d| d.iter().all(|b| (b'0'..=b'7').contains(b)));
        if let Some(digits) = octal {
            out.push(digits.iter().fold(0u8, |n, d| n.wrapping_mul(8).wrapping_add(d - b'0')));
            rest = &tail[3..];
        } else if let Some((escaped, tail)) = tail.split_first() {
            out.push(match escaped {
                b'a' => 7,
                b'b' => 8,
                b't' => b'\t',
                b'n' => b'\n',
                b'v' => 11,
                b'f' => 12,
                b'r' => b'\r',
                other => *other,
            });
            rest = tail;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

impl FileLineMoves {
    /// The new file's lines with where they come from; `None` when the old lines are not those the patch was made for.
    pub fn after<'a>(&'a self, old: &[&'a [u8]]) -> Option<Vec<ResultLine<'a>>> {
        if self.opaque {
            return None;
        }
        let mut result = Vec::with_capacity(old.len());
        let mut at = 0;
        let keep = |at: usize| old.get(at).map(|text| ResultLine { text, from: Some(at) });
        for hunk in &self.hunks {
            while at < hunk.start {
                result.push(keep(at)?);
                at += 1;
            }
            for line in &hunk.lines {
                match line {
                    LineMove::New(text) => result.push(ResultLine { text, from: None }),
                    LineMove::Kept(text) => {
                        result.push(keep(at).filter(|line| line.text == text.as_slice())?);
                        at += 1;
                    }
                    LineMove::Gone(text) => {
                        old.get(at).filter(|line| **line == text.as_slice())?;
                        at += 1;
                    }
                }
            }
        }
        while let Some(line) = keep(at) {
            result.push(line);
            at += 1;
        }
        Some(result)
    }
}

#[cfg(test)]
mod tests;
