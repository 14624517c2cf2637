//! Error signatures: the same failure looks the same, whatever its numbers, times, addresses and lines are.

use crate::key::{FnvHash, clip};
use crate::words::OUTPUTS;

/// Longest signature kept.
const MOST: usize = 160;

/// The first telling line of a failure with numbers, times, digests and `line:column` folded into `#`.
///
/// Folding a signature again changes nothing.
pub fn signature(text: &str) -> String {
    let folded = fold(telling_line(text));
    if folded.len() <= MOST { folded } else { fold(&clip(&folded, MOST)) }
}

/// Digest of what a call printed: the same again is nothing new, whatever its times and addresses are.
///
/// What failed is the same failure whatever its numbers are; what succeeded may well tell something by a number.
/// Empty for nothing but blanks.
pub fn result_digest(text: &str, failed: bool) -> String {
    let mut hash = FnvHash::new();
    let mut any = false;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        any = true;
        hash.add(&if failed { fold(line) } else { line.split_whitespace().map(untimed).collect::<String>() });
    }
    if any { format!("{:016x}", hash.end()) } else { String::new() }
}

/// A word, or nothing for a time, a duration or an address.
fn untimed(word: &str) -> &str {
    let bare = word.trim_matches(|c: char| "()[],;.".contains(c));
    let digits = bare.chars().take_while(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | ':')).count();
    let unit = &bare[digits..];
    let duration =
        digits > 0 && ["s", "ms", "µs", "us", "ns", "sec", "secs", "seconds", "min"].contains(&unit);
    let clock = bare.matches(':').count() >= 2 && bare.starts_with(|c: char| c.is_ascii_digit());
    if duration || clock || bare.starts_with("0x") { "" } else { word }
}

fn fold(line: &str) -> String {
    let mut out = String::with_capacity(line.len().min(MOST) + 8);
    let mut rest = line;
    let mut in_word = false;
    while let Some(c) = rest.chars().next() {
        let length = if in_word { 0 } else { foldable(rest) };
        if length > 0 {
            out.push('#');
            rest = &rest[length..];
            in_word = false;
            continue;
        }
        rest = &rest[c.len_utf8()..];
        // Digits that end a word belong to it: `u8`, `test_2`; a second test is not the first one.
        in_word = c.is_alphanumeric() || c == '_';
        if !c.is_whitespace() && !c.is_control() {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with(' ') {
            out.push(' ');
        }
        if out.len() > MOST * 4 {
            break;
        }
    }
    join_numbers(out.trim_end())
}

/// The first line that says something: one about an error before any other, and one that says that all is well last.
pub fn telling_line(text: &str) -> &str {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty()).take(200);
    let tells = |line: &&str| {
        let start: String = line.chars().take(300).collect::<String>().to_lowercase();
        OUTPUTS.wrong.iter().any(|word| start.contains(word.as_str()))
    };
    let begins = |line: &str, list: &[String]| {
        let start = line.to_lowercase();
        list.iter().any(|word| start.starts_with(word.as_str()))
    };
    let ends = |line: &&str| begins(line, &OUTPUTS.ends);
    let well = |line: &&str| begins(line, &OUTPUTS.well) || line.chars().all(|c| c == '.');
    lines()
        .find(|line| tells(line) && !ends(line) && !well(line))
        .or_else(|| rarest(lines().filter(|line| !well(line) && !ends(line))))
        .or_else(|| lines().next())
        .unwrap_or("")
}

/// Where no word is known: what is said of one case and not of the others, the last of them.
fn rarest<'a>(lines: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lines: Vec<&str> = lines.collect();
    let firsts: Vec<&str> = lines.iter().filter_map(|line| line.split_whitespace().next()).collect();
    let count = |line: &str| {
        let own = line.split_whitespace().next();
        firsts.iter().filter(|first| own == Some(**first)).count()
    };
    let least = lines.iter().map(|line| count(line)).min()?;
    // One kind of line says nothing about which of them tells: then the first.
    if least == lines.len() {
        return lines.first().copied();
    }
    lines.iter().rev().find(|line| count(line) == least).copied()
}

/// How many bytes from here on are a number, a time, an address or a digest.
fn foldable(text: &str) -> usize {
    let run = |accept: fn(u8) -> bool| text.bytes().take_while(|b| accept(*b)).count();
    if let Some(address) = text.strip_prefix("0x") {
        return 2 + address.bytes().take_while(u8::is_ascii_hexdigit).count();
    }
    let hex = run(|b| b.is_ascii_hexdigit());
    let ends = |length: usize| !text[length..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
    if hex >= 7 && ends(hex) && text[..hex].bytes().any(|b| b.is_ascii_digit()) {
        return hex;
    }
    let digits = run(|b| b.is_ascii_digit());
    if digits == 0 {
        return 0;
    }
    // 12:03:04.123, 2026-01-31T12:00, 1,024, 3.5: one number to whoever reads it.
    let whole = run(|b| b.is_ascii_digit() || matches!(b, b':' | b'.' | b',' | b'-' | b'T' | b'Z' | b'+'));
    let kept = text[..whole].trim_end_matches(|c: char| !c.is_ascii_digit() && c != 'Z').len();
    // Units stay: `3ms` and `5ms` are `#ms`.
    kept.max(digits)
}

/// However many numbers stand in a row, they are one.
fn join_numbers(text: &str) -> String {
    let mut out = text.to_owned();
    while out.contains("# #") {
        out = out.replace("# #", "#");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{result_digest, signature};
    use proptest::prelude::*;

    #[track_caller]
    fn same(a: &str, b: &str) {
        assert_eq!(signature(a), signature(b));
    }

    #[test]
    fn the_line_that_tells_is_found_whatever_the_language() {
        for (output, line) in [
            ("in Ordnung a\nin Ordnung b\nFEHLGESCHLAGEN c: 3\n", "FEHLGESCHLAGEN c: 3"),
            ("合格 a\n不合格 b: 3\n合格 c\n", "不合格 b: 3"),
            ("gut a\ngut b\nübel c: 3\ngut d\n", "übel c: 3"),
            ("mkdir -p build\nda a\nda b\nniet c\nda d\nmake: *** [test] Error 1\n", "niet c"),
            ("one\none\n", "one"),
        ] {
            assert_eq!(super::telling_line(output), line);
        }
    }

    #[test]
    fn what_differs_by_chance_is_folded() {
        same("error at src/a.rs:10:5: no x", "error at src/a.rs:411:17: no x");
        same("error at src/a.rs:10: no x", "error at src/a.rs:10:5: no x");
        same("timeout after 31ms (error)", "timeout after 7ms (error)");
        same("2026-01-02T10:11:12.5Z error: x", "2025-11-30T00:00:01Z error: x");
        same("12:00:01 error: x", "23:59:59.123 error: x");
        same("error: object 0xdeadbeef leaked", "error: object 0x7f12 leaked");
        same("error: commit 3f2a9c1d not there", "error: commit 99aa00bb11cc not there");
        same("error: sizes 1 2 3", "error: sizes 4 5");
        same("error:  many   spaces", "error: many spaces");
        same("expected 1,024 got 3.5 error", "expected 7 got 99 error");
        same("compiling\nnote\nerror[E0308]: mismatched", "error[E0308]: mismatched\nlater");
    }

    #[test]
    fn what_differs_in_kind_stays_apart() {
        for (a, b) in [
            ("error in src/a.rs:1", "error in src/b.rs:1"),
            ("error: no x", "error: no y"),
            ("test_1 failed", "test_2 failed"),
            ("u8 error", "u16 error"),
            ("exit status", "signal"),
        ] {
            assert_ne!(signature(a), signature(b));
        }
        assert_eq!(signature("  \n first\nerror: second"), "error: second");
        assert_eq!(signature(""), "");
        assert_eq!(signature("error at src/a.rs:10:5"), "error at src/a.rs:#");
    }

    #[test]
    fn results_are_the_same_but_for_times() {
        let same = |a: &str, b: &str, failed: bool| result_digest(a, failed) == result_digest(b, failed);
        assert!(same("Ran 3 tests in 0.01s\n\nOK", "Ran 3 tests in 0.29s\nOK", false));
        assert!(same("at 12:01:02 object 0x7f12", "at 13:00:00 object 0x7f99", false));
        assert!(!same("Note 1.", "Note 2.", false) && same("seed 17: x", "seed 94: x", true));
        assert!(!same("12% done", "15% done", false) && !same("a fails", "b fails", true));
        assert_eq!(result_digest(" \n ", false), "");
    }

    proptest! {
        #[test]
        fn any_text_has_a_digest(text in "\\PC{0,200}|[0-9:. smµ\n]{0,80}", failed: bool) {
            prop_assert_eq!(result_digest(&text, failed).len() % 16, 0);
        }

        #[test]
        fn folding_twice_changes_nothing(text in "[a-z0-9:., #x\\-TZ\n]{0,60}|\\PC{0,300}") {
            let once = signature(&text);
            prop_assert!(once.len() <= 160);
            prop_assert_eq!(signature(&once), once);
        }
    }
}
