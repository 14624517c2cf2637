//! Build files of which only some parts may change: dependencies, and nothing that steers tests.

use crate::definition::{PartSelection, PartStyle};

use super::{by_line, scan};

/// The base with the named parts of the result; nothing when one of them has become something that steers tests.
pub(super) fn merged(wanted: &PartSelection, base: &str, result: &str) -> Option<String> {
    let steers = by_line(&wanted.unless)?;
    let mut text = base.to_owned();
    for name in &wanted.names {
        let (old, new) = (find(wanted.style, name, &text), find(wanted.style, name, result));
        let part = |range: &Option<std::ops::Range<usize>>, of: &str| {
            range.clone().map(|range| of[range].to_owned()).unwrap_or_default()
        };
        let (before, after) = (part(&old, &text), part(&new, result));
        let marks = |part: &str| -> Vec<String> {
            steers.find_iter(part).map(|found| found.as_str().to_owned()).collect()
        };
        if before == after || marks(&before) != marks(&after) {
            continue;
        }
        match old {
            Some(range) => text.replace_range(range, &after),
            None => insert(wanted.style, &mut text, &after),
        }
    }
    // Formatting is all that is left when nothing of it differs.
    Some(text)
}

fn insert(style: PartStyle, text: &mut String, part: &str) {
    let at = match style {
        PartStyle::Braces => text.len(),
        PartStyle::Xml => text.rfind("</").unwrap_or(text.len()),
    };
    text.insert_str(at, &format!("{part}\n"));
}

/// Where a part is: `name { … }` at the outermost level, or `<name>…</name>` right below the root.
fn find(style: PartStyle, name: &str, text: &str) -> Option<std::ops::Range<usize>> {
    match style {
        PartStyle::Braces => {
            let starts = by_line(&format!(r"^[ \t]*{name}[ \t]*\{{"))?;
            let found =
                starts.find_iter(text).find(|found| scan::depth_at(text, found.start(), false) == 0)?;
            Some(found.start()..scan::end_of_item(text, found.start(), false))
        }
        PartStyle::Xml => element(name, text),
    }
}

/// An element one level below the root. Comments are not looked into.
fn element(name: &str, text: &str) -> Option<std::ops::Range<usize>> {
    let mut depth = 0usize;
    let mut at = 0;
    let mut start = None;
    while let Some(open) = text[at..].find('<').map(|found| at + found) {
        let rest = &text[open..];
        if rest.starts_with("<!--") {
            at = rest.find("-->").map_or(text.len(), |end| open + end + 3);
            continue;
        }
        let end = rest.find('>').map_or(text.len(), |end| open + end + 1);
        let tag = &text[open..end];
        at = end;
        if tag.starts_with("<?") || tag.starts_with("<!") {
            continue;
        }
        let label =
            tag.trim_start_matches(['<', '/']).split(|c: char| c.is_whitespace() || "/>".contains(c)).next();
        if tag.starts_with("</") {
            depth = depth.saturating_sub(1);
            if let (Some(start), 1, Some(label)) = (start, depth, label)
                && label == name
            {
                return Some(start..end);
            }
        } else if depth == 1 && label == Some(name) {
            if tag.ends_with("/>") {
                return Some(open..end);
            }
            start = Some(open);
            depth += 1;
        } else if !tag.ends_with("/>") {
            depth += 1;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(style: PartStyle, name: &str) -> PartSelection {
        PartSelection { names: vec![name.into()], style, unless: "(?i)skip|enabled".into() }
    }

    #[test]
    fn parts_come_from_the_result_and_the_rest_from_the_base() {
        let gradle = parts(PartStyle::Braces, "dependencies");
        let merge = |base: &str, result: &str| merged(&gradle, base, result);
        let expect = Some("dependencies { a 'y' }\ntest { }\n".to_owned());
        assert_eq!(
            merge("dependencies { a 'x' }\ntest { }\n", "dependencies { a 'y' }\ntest { ignore }\n"),
            expect
        );
        let expect = Some("dependencies { a 'x' }\n".to_owned());
        assert_eq!(merge("dependencies { a 'x' }\n", "dependencies { test.enabled = false }\n"), expect);
        let maven = parts(PartStyle::Xml, "dependencies");
        let (base, result) =
            ("<p><b><dependencies/></b>\n</p>", "<p><b/><dependencies><d/></dependencies></p>");
        let expect = Some("<p><b><dependencies/></b>\n<dependencies><d/></dependencies>\n</p>".to_owned());
        assert_eq!(merged(&maven, base, result), expect);
    }
}
