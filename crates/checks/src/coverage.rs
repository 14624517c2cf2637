//! Which lines ran, from what coverage tools write: lcov, Cobertura XML, coverage.py JSON and profiles of Go. Never panics,
//! whatever it is given.

use std::collections::{BTreeMap, BTreeSet};

use holon_core::coverage::{ExecutedLines, FileLines, ranges};
use serde_json::Value;

/// Most lines remembered of all reports.
const LINES: usize = 2_000_000;
/// The longest stretch one entry of a profile may speak of.
const STRETCH: u64 = 100_000;

/// What reports say, by the names they use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CoverageReports {
    files: BTreeMap<String, CoveredLines>,
    count: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct CoveredLines {
    ran: BTreeSet<u64>,
    missed: BTreeSet<u64>,
}

impl CoverageReports {
    /// Takes in a report, if it is one: what any of them saw running ran.
    pub fn add(&mut self, text: &str) -> bool {
        let before = self.count;
        let start = text.trim_start();
        if start.starts_with("mode: ") {
            self.go(text);
        } else if start.starts_with('{') {
            self.json(text);
        } else if start.starts_with('<') {
            if text.contains("<coverage") {
                self.cobertura(text);
            }
        } else if text.contains("\nend_of_record") {
            self.lcov(text);
        }
        self.count > before
    }

    fn note(&mut self, file: &str, line: u64, hit: bool) {
        if self.count >= LINES || line == 0 || file.is_empty() {
            return;
        }
        self.count += 1;
        if !self.files.contains_key(file) {
            self.files.insert(file.to_owned(), CoveredLines::default());
        }
        if let Some(lines) = self.files.get_mut(file) {
            if hit { &mut lines.ran } else { &mut lines.missed }.insert(line);
        }
    }

    fn lcov(&mut self, text: &str) {
        let mut file = String::new();
        for line in text.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix("SF:") {
                name.clone_into(&mut file);
            } else if let Some(data) = line.strip_prefix("DA:") {
                let mut fields = data.split(',');
                if let (Some(Ok(number)), Some(hits)) =
                    (fields.next().map(str::parse), fields.next().and_then(hits))
                {
                    self.note(&file, number, hits);
                }
            } else if line == "end_of_record" {
                file.clear();
            }
        }
    }

    /// `path:first.column,last.column statements count`
    fn go(&mut self, text: &str) {
        for line in text.lines() {
            let mut fields = line.rsplitn(3, ' ');
            let (Some(count), Some(_), Some(place)) = (fields.next(), fields.next(), fields.next()) else {
                continue;
            };
            let Some((file, span)) = place.rsplit_once(':') else { continue };
            let number = |text: &str| text.split('.').next().and_then(|line| line.parse::<u64>().ok());
            let Some((first, last)) = span.split_once(',') else { continue };
            if let (Some(first), Some(last), Some(hit)) = (number(first), number(last), hits(count)) {
                for line in first..=last.min(first.saturating_add(STRETCH)) {
                    self.note(file, line, hit);
                }
            }
        }
    }

    /// coverage.py: `{"files": {"a.py": {"executed_lines": […], "missing_lines": […]}}}`
    fn json(&mut self, text: &str) {
        let Ok(value) = serde_json::from_str::<Value>(text) else { return };
        for (file, lines) in value["files"].as_object().into_iter().flatten() {
            for (key, hit) in [("executed_lines", true), ("missing_lines", false)] {
                for line in lines[key].as_array().into_iter().flatten().filter_map(Value::as_u64) {
                    self.note(file, line, hit);
                }
            }
        }
    }

    fn cobertura(&mut self, text: &str) {
        let mut file = String::new();
        for tag in text.split('<').skip(1) {
            let tag = tag.split('>').next().unwrap_or_default();
            let name = tag.split([' ', '\n', '\t', '/']).next().unwrap_or_default();
            match name {
                "class" => file = attribute(tag, "filename").unwrap_or_default().to_owned(),
                "line" => {
                    let number = attribute(tag, "number").and_then(|number| number.parse().ok());
                    if let (Some(number), Some(hit)) = (number, attribute(tag, "hits").and_then(hits)) {
                        self.note(&file, number, hit);
                    }
                }
                _ => {}
            }
        }
    }

    /// What is known about files of the workspace. Reports name files by absolute paths, from a folder inside, or by the
    /// path of a package: the longest common end counts, where only one file has it.
    pub fn about<'p>(&self, paths: impl IntoIterator<Item = &'p str>) -> ExecutedLines {
        let paths: Vec<&str> = paths.into_iter().collect();
        let mut found: BTreeMap<&str, CoveredLines> = BTreeMap::new();
        for (name, lines) in &self.files {
            let name = name.replace('\\', "/");
            let Some(path) = meant(&name, &paths) else { continue };
            let known = found.entry(path).or_default();
            known.ran.extend(&lines.ran);
            known.missed.extend(&lines.missed);
        }
        let as_ranges = |(path, lines): (&str, CoveredLines)| {
            let missed = ranges(lines.missed.difference(&lines.ran).copied());
            (path.to_owned(), FileLines { ran: ranges(lines.ran), missed })
        };
        ExecutedLines(found.into_iter().map(as_ranges).collect())
    }
}

/// The one path that a report's name stands for.
fn meant<'p>(name: &str, paths: &[&'p str]) -> Option<&'p str> {
    let name = name.trim_start_matches("./");
    if let Some(path) = paths.iter().find(|path| **path == name) {
        return Some(path);
    }
    let ends = |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.ends_with('/'));
    // The report names more than the workspace does: the longest path that fits is meant.
    let inside = paths.iter().filter(|path| ends(name, path)).max_by_key(|path| path.len());
    if let Some(path) = inside {
        return Some(path);
    }
    let mut outside = paths.iter().filter(|path| ends(path, name));
    outside.next().filter(|_| outside.next().is_none()).copied()
}

/// Whether a count of hits says that a line ran; some tools write large numbers as floats.
fn hits(text: &str) -> Option<bool> {
    text.trim().parse::<f64>().ok().map(|count| count > 0.0)
}

fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    let mut rest = tag;
    loop {
        let at = rest.find(name)?;
        let whole = rest[..at].ends_with(char::is_whitespace);
        rest = &rest[at + name.len()..];
        let Some(value) = rest.trim_start().strip_prefix('=').filter(|_| whole) else { continue };
        let value = value.trim_start();
        let quote = value.chars().next().filter(|c| ['"', '\''].contains(c))?;
        return value[1..].split(quote).next();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LCOV: &str = "TN:\nSF:/holon/workspace/src/a.js\nDA:1,3\nDA:2,0\nDA:5,0,abc\nend_of_record\n";
    const GO: &str =
        "mode: set\nexample.org/mod/pkg/a.go:3.20,5.2 1 1\nexample.org/mod/pkg/a.go:7.1,8.2 2 0\n";
    const COBERTURA: &str = "<?xml version=\"1.0\"?><coverage><sources><source>/w</source></sources><packages><package>\
        <classes><class name=\"a\" filename=\"src/a.py\" line-rate=\"0.5\"><lines><line hits=\"1\" number=\"1\"/>\
        <line number='2' hits='0'/></lines></class></classes></package></packages></coverage>";
    const PYTHON: &str =
        r#"{"meta": {}, "files": {"src/a.py": {"executed_lines": [1, 2], "missing_lines": [4]}}}"#;

    fn lines(text: &str, path: &str) -> FileLines {
        let mut reports = CoverageReports::default();
        assert!(reports.add(text), "{text}");
        reports.about([path, "other/b.py"]).0.remove(path).unwrap_or_default()
    }

    #[test]
    fn each_form_is_read() {
        let expect =
            |ran: &[(u64, u64)], missed: &[(u64, u64)]| FileLines { ran: ran.into(), missed: missed.into() };
        assert_eq!(lines(LCOV, "src/a.js"), expect(&[(1, 1)], &[(2, 2), (5, 5)]));
        assert_eq!(lines(GO, "pkg/a.go"), expect(&[(3, 5)], &[(7, 8)]));
        assert_eq!(lines(COBERTURA, "src/a.py"), expect(&[(1, 1)], &[(2, 2)]));
        assert_eq!(lines(PYTHON, "src/a.py"), expect(&[(1, 2)], &[(4, 4)]));
        for other in ["", "{}", "<html>", "mode: set\n", "SF:a\n", "[1]"] {
            assert!(!CoverageReports::default().add(other), "{other}");
        }
    }

    #[test]
    fn what_any_report_saw_running_ran() {
        let mut reports = CoverageReports::default();
        assert!(reports.add(COBERTURA) && reports.add(PYTHON));
        let known = reports.about(["src/a.py"]);
        assert_eq!(known.0["src/a.py"], FileLines { ran: vec![(1, 2)], missed: vec![(4, 4)] });
    }

    #[test]
    fn a_name_stands_for_one_file_or_none() {
        assert_eq!(meant("a.py", &["x/a.py"]), Some("x/a.py"));
        assert_eq!(meant("a.py", &["x/a.py", "y/a.py"]), None);
        assert_eq!(meant("/w/x/a.py", &["a.py", "x/a.py"]), Some("x/a.py"));
        assert_eq!(meant("./x/a.py", &["x/a.py", "y/x/a.py"]), Some("x/a.py"));
        assert_eq!(meant("ba.py", &["a.py"]), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(?s).{0,200}", digits in "[0-9.,: -]{0,60}") {
            let mut reports = CoverageReports::default();
            for form in [
                text.clone(),
                format!("mode: set\n{text}\na.go:{digits}\n"),
                format!("SF:a\nDA:{digits}\nDA:{text}\nend_of_record"),
                format!("<coverage><class filename=\"a\"><line number=\"{digits}\" hits='{text}'/>{text}"),
                format!("{{\"files\": {{\"a\": {{\"executed_lines\": [{digits}]}}}}}}"),
            ] {
                let _ = reports.add(&form);
            }
            let _ = reports.about([text.as_str(), "a", ""]);
        }
    }
}
