//! Documents are clean, and what they show is tried out.

use super::{SourceTree, TidyFile, TidyFinding};

/// The test that runs the examples of documents; it names the documents it reads.
const DOCS_TEST: &str = "crates/holon/tests/docs.rs";

/// What links may lead to although it is no text, and so not in the tree that is looked at.
const NO_TEXT: &str = ".png";

/// No space at the end of a line and no tab in Markdown; every document with `console` examples is run by a test; every
/// link to a file of the tree leads to one that is there, and to a heading that is in it.
pub(super) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    let tested = tree.get(DOCS_TEST).map_or("", |file| file.text.as_str());
    for file in tree.0.iter().filter(|file| file.extension() == "md") {
        for (number, line) in file.lines() {
            if line.ends_with([' ', '\t']) {
                findings.push(TidyFinding::new(&file.path, number, "space at the end of the line"));
            } else if line.contains('\t') {
                findings.push(TidyFinding::new(&file.path, number, "tab"));
            }
        }
        let example = file.lines().find(|(_, line)| line.trim_start().starts_with("```console"));
        if let Some((number, _)) = example.filter(|_| !tested.contains(&format!("\"{}\"", file.path))) {
            let message = format!("console examples that {DOCS_TEST} does not run");
            findings.push(TidyFinding::new(&file.path, number, message));
        }
        for (number, target) in links(file) {
            if let Some(message) = dead(tree, file, &target) {
                findings.push(TidyFinding::new(&file.path, number, message));
            }
        }
    }
    findings
}

/// The links of a document to other files or headings, with their lines; examples are not looked at.
fn links(file: &TidyFile) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(file) {
        let text = without_code(line);
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        let own = targets.map(|(target, _)| target).filter(|target| !target.contains([':', ' ']));
        found.extend(own.map(|target| (number, target.to_owned())));
    }
    found
}

/// Why a link leads nowhere, if it does.
fn dead(tree: &SourceTree, file: &TidyFile, target: &str) -> Option<String> {
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() { Some(file.path.clone()) } else { resolved(&file.path, path) };
    let Some(path) = path else { return Some(format!("the link {target} leads out of the tree")) };
    let below = format!("{path}/");
    let Some(found) = tree.get(&path) else {
        let is_there = path.ends_with(NO_TEXT) || tree.0.iter().any(|file| file.path.starts_with(&below));
        return (!is_there).then(|| format!("the link {target} leads to no file"));
    };
    let mut headings = prose(found).filter(|(_, line)| line.starts_with('#')).map(|(_, line)| anchor(line));
    let is_there = heading.is_empty() || found.extension() != "md" || headings.any(|name| name == heading);
    (!is_there).then(|| format!("the link {target} leads to no heading"))
}

/// The lines of a document that are not examples.
fn prose(file: &TidyFile) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    file.lines().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence && !line.starts_with("    ")
    })
}

/// A line without what stands between backticks.
fn without_code(line: &str) -> String {
    let (mut kept, mut rest) = (String::new(), line);
    while let Some(start) = rest.find('`') {
        let (before, code) = rest.split_at(start);
        let ticks = code.len() - code.trim_start_matches('`').len();
        let (mark, inside) = code.split_at(ticks);
        kept.push_str(before);
        match inside.split_once(mark) {
            Some((_, after)) => rest = after.trim_start_matches('`'),
            None => rest = inside,
        }
    }
    kept + rest
}

/// The path of a file that a document names relative to itself.
fn resolved(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// What a heading is called in links.
fn anchor(heading: &str) -> String {
    let name = heading.trim_start_matches('#').trim().to_lowercase();
    let name = name.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    name.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::expect;

    #[test]
    fn stray_space_is_found() {
        let text = "# A\nb \nc\td\n";
        expect(check, &[("a.md", text), ("a.rs", text)], &[("a.md:2", "space"), ("a.md:3", "tab")]);
    }

    #[test]
    fn examples_are_run() {
        let document = ("README.md", "# A\n\n```console\n$ holon --version\n```\n");
        expect(check, &[document], &[("README.md:3", "does not run")]);
        expect(check, &[document, (DOCS_TEST, "for page in [\"README.md\"] {}")], &[]);
    }

    #[test]
    fn dead_links_are_found() {
        let page = "[a](b.md#two-words) [b](b.md#one) [c](../x/y) [d](z.md) [e](#here) [f](https://a.b/c)\n# `Here`\n";
        let more = "`[a](no.md)` ``[b](no.md) ` `` [i](img/x.png)\n```sh\n[a](no.md)\n```\n    [a](no.md)\n[g](../../z.md)\n";
        let files =
            [("docs/a.md", page), ("docs/b.md", "## Two words\n"), ("x/y/z.rs", ""), ("docs/c.md", more)];
        let expected =
            [("docs/a.md:1", "no heading"), ("docs/a.md:1", "no file"), ("docs/c.md:6", "out of the tree")];
        expect(check, &files, &expected);
    }
}
