//! JUnit XML by a small scanner: tags and attributes are all that is needed.

use super::RunnerReport;

pub(super) fn read(output: &str) -> RunnerReport {
    let mut report = RunnerReport::default();
    if !output.contains("<testsuite") {
        return report;
    }
    let mut case: Option<JunitCase> = None;
    let mut rest = output;
    while let Some((tag, after)) = next_tag(rest) {
        rest = after;
        match tag.name {
            "testcase" if tag.closes => finish(&mut case, &mut report),
            "testcase" => {
                // One that was never closed ends where the next begins.
                finish(&mut case, &mut report);
                case = Some(JunitCase { name: full_name(&tag), failed: false, skipped: false });
                if tag.empty {
                    finish(&mut case, &mut report);
                }
            }
            "failure" | "error" if !tag.closes => mark(&mut case, |case| case.failed = true),
            "skipped" if !tag.closes => mark(&mut case, |case| case.skipped = true),
            _ => {}
        }
    }
    finish(&mut case, &mut report);
    report
}

struct JunitCase {
    name: String,
    failed: bool,
    skipped: bool,
}

fn mark(case: &mut Option<JunitCase>, mark: impl FnOnce(&mut JunitCase)) {
    if let Some(case) = case {
        mark(case);
    }
}

fn finish(case: &mut Option<JunitCase>, report: &mut RunnerReport) {
    let Some(case) = case.take() else { return };
    if case.failed {
        report.failed = report.failed.saturating_add(1);
        report.fail(&case.name);
    } else if case.skipped {
        report.skip(&case.name);
        report.skipped = report.skipped.saturating_add(1);
    } else {
        report.pass(&case.name);
        report.passed = report.passed.saturating_add(1);
    }
}

struct XmlTag<'a> {
    name: &'a str,
    attributes: &'a str,
    closes: bool,
    empty: bool,
}

/// The next tag; comments, declarations and CDATA are passed over.
fn next_tag(text: &str) -> Option<(XmlTag<'_>, &str)> {
    let mut rest = text;
    loop {
        let at = rest.find('<')?;
        rest = &rest[at + 1..];
        let skip = [("!--", "-->"), ("![CDATA[", "]]>"), ("!", ">"), ("?", "?>")];
        if let Some((_, end)) = skip.iter().find(|(start, _)| rest.starts_with(start)) {
            rest = rest.find(end).map_or("", |at| &rest[at + end.len()..]);
            continue;
        }
        let end = tag_end(rest)?;
        let (inside, after) = (&rest[..end], &rest[end + 1..]);
        let closes = inside.starts_with('/');
        let empty = inside.ends_with('/');
        let inside = inside.trim_matches('/').trim();
        let name_end = inside.find(char::is_whitespace).unwrap_or(inside.len());
        let (name, attributes) = inside.split_at(name_end);
        return Some((XmlTag { name, attributes, closes, empty }, after));
    }
}

/// Where the tag ends: a `>` outside of quotes.
fn tag_end(text: &str) -> Option<usize> {
    let mut quote = None;
    text.bytes().position(|b| match (quote, b) {
        (None, b'>') => true,
        (None, b'"' | b'\'') => {
            quote = Some(b);
            false
        }
        (Some(open), b) if open == b => {
            quote = None;
            false
        }
        _ => false,
    })
}

fn full_name(tag: &XmlTag<'_>) -> String {
    let name = attribute(tag.attributes, "name").unwrap_or_default();
    match attribute(tag.attributes, "classname").filter(|class| !class.is_empty()) {
        Some(class) => format!("{class}.{name}"),
        None => name,
    }
}

fn attribute(attributes: &str, wanted: &str) -> Option<String> {
    let mut rest = attributes;
    loop {
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| ['"', '\''].contains(c))?;
        let (value, left) = after[1..].split_once(quote)?;
        if name.trim() == wanted {
            return Some(unescape(value));
        }
        rest = left;
    }
}

fn unescape(text: &str) -> String {
    let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    pairs.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}
