//! The file that a block in a reply belongs to.

use super::block::FencedBlock;
use super::words::{WORDS, says};

/// Whether a word looks like the path of a file.
pub(super) fn is_path(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let plain = word.chars().all(|c| c.is_alphanumeric() || "._-/+@[]()$".contains(c));
    let extension = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        let letters = extension.chars().all(|c| c.is_ascii_alphanumeric()) && extension.len() <= 10;
        let number = extension.chars().all(|c| c.is_ascii_digit());
        letters && !extension.is_empty() && !number && (!stem.is_empty() || name.len() > 2)
    });
    let known = [
        "Makefile",
        "Dockerfile",
        "Rakefile",
        "Gemfile",
        "Procfile",
        "LICENSE",
        "Justfile",
        "CMakeLists.txt",
    ];
    plain
        && !word.is_empty()
        && !word.ends_with('/')
        && !word.contains("//")
        && !word.ends_with("()")
        && (extension || known.contains(&name))
}

/// A path without what people put around it.
fn bare(word: &str) -> &str {
    let word = word.trim().trim_matches(['`', '*', '"', '\'', '_', '(', ')', '<', '>', ',']);
    let word = word.trim_end_matches([':', '：', '.', ',', ')']).trim_matches(['`', '*', '"', '\'']);
    word.strip_prefix("./").unwrap_or(word)
}

/// The path that a line names and nothing else: a heading, bold, in back-ticks, behind `File:`.
pub(super) fn alone(line: &str) -> Option<String> {
    let line = line.trim().trim_start_matches(['#', '>', '-', '*', ' ']).trim();
    let line = line.split_once(['.', ')']).map_or(line, |(number, rest)| {
        let numbered = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
        if numbered { rest.trim() } else { line }
    });
    let word = match line.split_once([':', '：']) {
        Some((before, after))
            if !after.trim().is_empty() && before.chars().count() <= 24 && !before.contains('/') =>
        {
            after
        }
        _ => line,
    };
    let word = word.trim();
    let word = match word.split_once(" (") {
        Some((path, remark)) if remark.trim_end_matches([':', '*', '`']).ends_with(')') => path,
        _ => word,
    };
    let word = bare(word);
    is_path(word).then(|| word.to_owned())
}

/// The only path in back-ticks, or as a word of its own, in a line of prose that introduces what follows.
fn introduced(line: &str) -> Option<String> {
    let line = line.trim().trim_end_matches('*');
    if !line.ends_with([':', '：']) {
        return None;
    }
    let ticked: Vec<&str> =
        line.split('`').skip(1).step_by(2).map(bare).filter(|word| is_path(word)).collect();
    let words = || line.split_whitespace().map(bare).filter(|word| is_path(word));
    let mut paths: Vec<&str> = if ticked.is_empty() { words().collect() } else { ticked };
    paths.dedup();
    match paths.as_slice() {
        [only] if gives_the_whole(line) && !speaks_of_a_part(line) => Some((*only).to_owned()),
        _ => None,
    }
}

/// Whether a line says that what follows is the file as it shall be.
fn gives_the_whole(line: &str) -> bool {
    says(&line.to_lowercase(), &WORDS.files.whole)
}

/// The only path in a heading.
fn headed(line: &str) -> Option<String> {
    let heading =
        line.trim().starts_with('#') || (line.trim().starts_with("**") && line.trim().ends_with("**"));
    let words = line.split(['`', ' ', '*']).map(bare).filter(|word| is_path(word));
    let paths: Vec<&str> = words.filter(|_| heading).collect();
    match paths.as_slice() {
        [only] if !speaks_of_a_part(line) => Some((*only).to_owned()),
        _ => None,
    }
}

/// Whether a line says that what follows is only a part of the file.
fn speaks_of_a_part(line: &str) -> bool {
    says(&line.to_lowercase(), &WORDS.files.part)
}

/// What names the path of a block: the words behind its fence, the line above it, or its first line.
pub(super) struct NamedBlockPath {
    pub(super) path: String,
    /// How many bytes at the beginning of the body only name the path.
    pub(super) skip: usize,
}

/// The file a block is for, by the text before it.
pub(super) fn of(block: &FencedBlock<'_>, before: &str) -> Option<NamedBlockPath> {
    let here = |path: String| Some(NamedBlockPath { path, skip: 0 });
    if let Some(path) = in_info(block.info) {
        return here(path);
    }
    let above = before.trim_end().rsplit('\n').next().unwrap_or_default();
    let gap = before.len() - before.trim_end().len();
    let near = before[before.len() - gap..].matches('\n').count() <= 2;
    if let Some(path) = alone(above).or_else(|| headed(above)).or_else(|| introduced(above)).filter(|_| near)
    {
        return here(path);
    }
    let first = block.body.lines().next().unwrap_or_default();
    let path = in_comment(first)?;
    let line = block.body.split_inclusive('\n').next().unwrap_or_default();
    Some(NamedBlockPath { path, skip: line.len() })
}

/// `python src/a.py`, `python:src/a.py`, `src/a.py`, `js title="src/a.js"`.
fn in_info(info: &str) -> Option<String> {
    let words = info.split([' ', ':', '=', '"', '\'', '{', '}', ',', '(', ')']);
    let words: Vec<&str> = words.map(bare).filter(|word| is_path(word)).collect();
    match words.as_slice() {
        [only] => Some((*only).to_owned()),
        _ => None,
    }
}

/// A first line that is a comment with a path and nothing else.
fn in_comment(line: &str) -> Option<String> {
    let line = line.trim();
    let inside = ["//", "#", "--", ";", "%"].iter().find_map(|sign| line.strip_prefix(sign));
    let inside = inside
        .or_else(|| line.strip_prefix("<!--")?.strip_suffix("-->"))
        .or_else(|| line.strip_prefix("/*")?.strip_suffix("*/"))?;
    let inside =
        inside.trim().trim_start_matches("File:").trim_start_matches("file:").trim_start_matches("filename:");
    let word = bare(inside);
    is_path(word).then(|| word.to_owned())
}

/// Whether lines stand for others that were left out, so that this is no whole file.
pub(crate) fn leaves_out(body: &str) -> bool {
    body.lines().any(stands_for_others)
}

/// The line of a new content that stands for lines of the file as it was, which would be lost with it.
pub fn line_left_out<'a>(content: &'a str, before: &str) -> Option<&'a str> {
    let shorter = content.lines().count() < before.lines().count();
    let mut lines = content.lines().map(str::trim).filter(|line| stands_for_others(line));
    lines.find(|line| shorter && !before.lines().any(|known| known.trim() == *line))
}

fn stands_for_others(line: &str) -> bool {
    let line = line.trim();
    let bare =
        line.trim_matches(['#', '/', '*', '-', '<', '>', '!', ';', '%', '{', '}', ' ', '[', ']', '(', ')']);
    let comment =
        line.starts_with(['#', '/', '*', ';', '%']) || line.starts_with("<!--") || line.starts_with("--");
    let dots =
        bare.starts_with("...") || bare.starts_with('…') || bare.ends_with("...") || bare.ends_with('…');
    let words = says(&bare.to_lowercase(), &WORDS.files.left_out);
    // Dots alone are an ellipsis also in Python, where they stand for a body.
    (comment && (dots || (words && bare.len() < 60))) || (dots && words) || line == "…" || line == "[...]"
}
