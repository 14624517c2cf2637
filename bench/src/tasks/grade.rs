//! Whether an answer is right: pure functions from what was said.

use regex::Regex;
use serde_json::Value;

use super::task::{Defect, MeasuredTask, TaskKind};

/// More findings than this are guesses, and then none of them counts.
const MOST_FINDINGS: usize = 8;

/// A place a reviewer points at, and what is said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReviewPoint {
    pub(crate) path: String,
    pub(crate) line: u64,
    pub(crate) text: String,
}

/// What is wrong with an answer to a task that changes nothing; nothing when it is right.
pub(crate) fn complaint(task: &MeasuredTask, answer: &str, findings: &[ReviewPoint]) -> Option<String> {
    match task.kind {
        TaskKind::Review => reviewed(&task.defects, findings),
        TaskKind::Plan | TaskKind::Ask | TaskKind::Change => said(&task.expect, &task.refuse, answer),
    }
}

fn said(expect: &[String], refuse: &[String], answer: &str) -> Option<String> {
    let has = |expression: &String| Regex::new(expression).is_ok_and(|regex| regex.is_match(answer));
    if answer.trim().is_empty() {
        return Some("no answer".to_owned());
    }
    if let Some(missing) = expect.iter().find(|expression| !has(expression)) {
        return Some(format!("nothing in it matches {missing}"));
    }
    refuse.iter().find(|expression| has(expression)).map(|found| format!("something in it matches {found}"))
}

fn reviewed(defects: &[Defect], findings: &[ReviewPoint]) -> Option<String> {
    if findings.is_empty() {
        return Some("no finding".to_owned());
    }
    if findings.len() > MOST_FINDINGS {
        return Some(format!("{} findings, more than {MOST_FINDINGS}", findings.len()));
    }
    let missed = defects.iter().find(|defect| !findings.iter().any(|finding| anchors(defect, finding)))?;
    Some(format!("no finding at {}:{} ± {}", missed.path, missed.line, missed.within))
}

/// Whether a finding means this defect: the file, the line or nearly, and words that fit.
pub(crate) fn anchors(defect: &Defect, finding: &ReviewPoint) -> bool {
    let path = finding.path.trim_start_matches("./");
    let same = path == defect.path || path.ends_with(&format!("/{}", defect.path));
    let near = finding.line.abs_diff(defect.line) <= defect.within;
    same && near && Regex::new(&defect.words).is_ok_and(|words| words.is_match(&finding.text))
}

/// The findings of a `review.json`.
pub(crate) fn findings_of_review(text: &str) -> Vec<ReviewPoint> {
    let review: Value = serde_json::from_str(text).unwrap_or_default();
    let findings = review["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let word = |finding: &Value, name: &str| finding[name].as_str().unwrap_or_default().to_owned();
    let all = findings.iter().filter_map(|finding| {
        let text = ["title", "body", "suggestion"].map(|name| word(finding, name)).join(" ");
        Some(ReviewPoint { path: word(finding, "path"), line: finding["line"].as_u64()?, text })
    });
    all.collect()
}

/// The findings in prose: every line that names `path:line`, `path line N` or `path#LN`; what follows up to the next one belongs to it.
pub(crate) fn findings_of_prose(text: &str) -> Vec<ReviewPoint> {
    let place = r"`?([\w./-]+\.\w{1,4})`?(?::|#L|,? ?\(?lines? )(\d+)";
    let Ok(place) = Regex::new(place) else { return Vec::new() };
    let mut findings: Vec<ReviewPoint> = Vec::new();
    for line in text.lines() {
        if let Some(found) = place.captures(line) {
            let number = found[2].parse().unwrap_or(0);
            findings.push(ReviewPoint { path: found[1].to_owned(), line: number, text: line.to_owned() });
        } else if let Some(last) = findings.last_mut() {
            last.text += "\n";
            last.text += line;
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::task;
    use super::*;

    fn finding(path: &str, line: u64, text: &str) -> ReviewPoint {
        ReviewPoint { path: path.to_owned(), line, text: text.to_owned() }
    }

    #[test]
    fn a_finding_anchors_near_and_with_words() {
        let defect = Defect { path: "src/a.c".into(), line: 10, within: 2, words: "(?i)overflow".into() };
        for (path, line, text, expect) in [
            ("src/a.c", 10, "an overflow", true),
            ("./src/a.c", 12, "Overflow here", true),
            ("/holon/workspace/src/a.c", 8, "overflow", true),
            ("src/a.c", 13, "overflow", false),
            ("src/b.c", 10, "overflow", false),
            ("other-src/a.c", 10, "overflow", false),
            ("src/a.c", 10, "looks odd", false),
        ] {
            assert_eq!(anchors(&defect, &finding(path, line, text)), expect, "{path}:{line} {text}");
        }
        let guesses: Vec<ReviewPoint> = (0..20).map(|line| finding("src/a.c", line, "overflow")).collect();
        assert!(reviewed(std::slice::from_ref(&defect), &guesses).unwrap().contains("more than"));
        assert!(reviewed(&[defect], &[]).unwrap().contains("no finding"));
    }

    #[test]
    fn findings_are_read_from_json_and_prose() {
        let json = r#"{"verdict":"block","findings":[
            {"path":"a.py","line":3,"title":"Leak","body":"of data"},{"path":"b.py","line":null,"title":"whole"}]}"#;
        assert_eq!(findings_of_review(json), [finding("a.py", 3, "Leak of data ")]);
        assert_eq!(findings_of_review("nonsense"), []);
        let prose = "I looked.\n- `src/a.js:12`: injection\n  through prefix\nsrc/b.go (line 7) locks\nc.rs#L9 is odd\n";
        let found = findings_of_prose(prose);
        let places: Vec<(&str, u64)> = found.iter().map(|f| (f.path.as_str(), f.line)).collect();
        assert_eq!(places, [("src/a.js", 12), ("src/b.go", 7), ("c.rs", 9)]);
        assert!(found[0].text.contains("through prefix"));
    }

    #[test]
    fn every_question_tells_right_from_wrong() {
        for task in task::own().into_iter().filter(|task| task.kind != TaskKind::Change) {
            let read = |name: &str| std::fs::read_to_string(task.part(name)).unwrap();
            let judge = |text: String| complaint(&task, &text, &findings_of_prose(&text));
            assert_eq!(judge(read("right.md")), None, "{}", task.name);
            assert!(judge(read("wrong.md")).is_some(), "{}", task.name);
            assert!(judge(String::new()).is_some(), "{}", task.name);
        }
    }
}
