//! `review.json`: findings, each tied to a place the host has checked.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest;
use crate::scope;

use super::{ArtifactProblem, need_text, read};

/// How far from its line a snippet is looked for before the whole file is.
const NEARBY: usize = 50;

/// A review of a change or a tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewReport {
    /// Version of this form.
    #[serde(default = "one")]
    pub version: u32,
    /// What the change starts from; set by the host when it knows.
    #[serde(default)]
    pub base: Option<String>,
    /// What was reviewed; set by the host when it knows.
    #[serde(default)]
    pub head: Option<String>,
    /// The judgement as a whole.
    pub verdict: ReviewVerdict,
    /// What was found, most important first.
    pub findings: Vec<ReviewFinding>,
    /// Set by the host: findings that were left out because there is no such file.
    #[serde(default, skip_serializing_if = "none_dropped")]
    pub dropped: usize,
}

fn none_dropped(count: &usize) -> bool {
    *count == 0
}

fn one() -> u32 {
    1
}

/// The judgement as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewVerdict {
    /// Good as it is.
    Approve,
    /// Must not go in like this.
    Block,
    /// Neither.
    Comment,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewFinding {
    /// Workspace-relative path.
    pub path: String,
    /// First line, counted from 1; null when it concerns the file as a whole.
    #[serde(default)]
    pub line: Option<u64>,
    /// Last line, when there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u64>,
    /// Which version of the file the line is in.
    #[serde(default)]
    pub side: DiffSide,
    /// How bad it is.
    pub severity: Severity,
    /// A short word, e.g. `correctness`, `security`, `style`.
    pub category: String,
    /// One sentence.
    pub title: String,
    /// What is wrong and why it matters.
    pub body: String,
    /// What to write instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// How sure the reviewer is, 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: f64,
    /// The text at `line`, copied exactly; it is how the host finds the place again.
    pub snippet: String,
    /// Set by the host: the same finding keeps it when lines move.
    #[serde(default)]
    pub fingerprint: String,
    /// Set by the host: how far the place could be checked.
    #[serde(default)]
    pub location: LocationCheck,
}

/// Which version of a file a line is in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiffSide {
    /// After the change.
    #[default]
    #[serde(alias = "RIGHT", alias = "right")]
    New,
    /// Before the change.
    #[serde(alias = "LEFT", alias = "left")]
    Old,
}

/// How bad a finding is, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Data loss, a hole, or nothing works.
    Critical,
    /// Wrong in cases that will happen.
    High,
    /// Wrong in rare cases, or costly later.
    Medium,
    /// Could be better.
    Low,
    /// A matter of taste.
    Nit,
}

/// How far the host could check a finding's place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LocationCheck {
    /// The snippet stands at the line.
    Verified,
    /// The line exists; the review gave no text of it, so nothing confirms that it is the one that was meant.
    Line,
    /// The file exists, the line could not be confirmed.
    File,
    /// There is no such file.
    #[default]
    None,
}

/// What a finding is about when its review does not say.
const GENERAL: &str = "general";
/// Longest title the host makes.
const LONGEST_TITLE: usize = 120;

/// A review as it was read, and what was missing in it.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedReview {
    /// The review, with what can be filled in filled in.
    pub review: ReviewReport,
    /// Findings that name a line and give no text of it.
    pub by_line: Vec<usize>,
}

impl ParsedReview {
    /// Reads a review. The five fields path, line, body, severity and fingerprint are enough for a finding: the host fills
    /// in category, title, confidence and verdict. A list of findings alone is a review too, and severities may be called by
    /// the words linters use. What is there must be right.
    pub fn parse(bytes: &[u8]) -> Result<Self, Vec<ArtifactProblem>> {
        let mut value: Value = read(bytes)?;
        if value.is_array() {
            value = serde_json::json!({ "findings": value });
        }
        let by_line = fill(&mut value);
        let filled = serde_json::to_vec(&value).unwrap_or_default();
        let review: ReviewReport =
            read(&filled).map_err(|found: Vec<ArtifactProblem>| match read::<ReviewReport>(bytes) {
                // Told with its line in the file, unless what is told there was filled in.
                Err(first) if !first.iter().any(|problem| problem.message.contains("missing field")) => first,
                _ => found,
            })?;
        let excused: Vec<String> = by_line.iter().map(|i| format!("findings[{i}].snippet")).collect();
        let problems: Vec<ArtifactProblem> =
            review.check().into_iter().filter(|problem| !excused.contains(&problem.place)).collect();
        if problems.is_empty() { Ok(Self { review, by_line }) } else { Err(problems) }
    }

    /// The review with every place checked against the files; `lookup` is that of [`ReviewReport::verify`].
    pub fn verified(mut self, lookup: impl Fn(&str, DiffSide) -> Option<Vec<u8>>) -> ReviewReport {
        for at in &self.by_line {
            let Some(finding) = self.review.findings.get_mut(*at) else { continue };
            finding.snippet = line_of(finding, &lookup).unwrap_or_default();
        }
        self.review.verify(lookup);
        for at in self.by_line {
            if let Some(finding) = self.review.findings.get_mut(at)
                && finding.location == LocationCheck::Verified
            {
                finding.location = LocationCheck::Line;
            }
        }
        self.review
    }
}

/// The text of the line a finding names, if there is one that is not blank.
fn line_of(finding: &ReviewFinding, lookup: &impl Fn(&str, DiffSide) -> Option<Vec<u8>>) -> Option<String> {
    let path = String::from_utf8(scope::normalise(finding.path.as_bytes()).ok()?).ok()?;
    let bytes = lookup(&path, finding.side)?;
    let at = usize::try_from(finding.line?).ok()?.checked_sub(1)?;
    let text = String::from_utf8_lossy(&bytes);
    text.lines().nth(at).filter(|line| !line.trim().is_empty()).map(str::to_owned)
}

/// Fills in what a review leaves out, and tells which findings name a line without its text.
fn fill(review: &mut Value) -> Vec<usize> {
    let mut by_line = Vec::new();
    let Some(review) = review.as_object_mut() else { return by_line };
    let mut severe = false;
    let findings = review.get_mut("findings").and_then(Value::as_array_mut);
    for (at, finding) in findings.into_iter().flatten().enumerate() {
        let Some(finding) = finding.as_object_mut() else { continue };
        if let Some(Value::String(word)) = finding.get_mut("severity")
            && let Some(meant) = severity_of(word)
        {
            *word = meant.to_owned();
        }
        severe |= matches!(finding.get("severity").and_then(Value::as_str), Some("critical" | "high"));
        if !finding.contains_key("snippet") {
            if finding.get("line").is_some_and(Value::is_number) {
                by_line.push(at);
            }
            finding.insert("snippet".into(), Value::String(String::new()));
        }
        let title = title_of(finding.get("body").and_then(Value::as_str).unwrap_or_default());
        for (field, value) in [
            ("category", Value::String(GENERAL.into())),
            ("title", Value::String(title)),
            ("confidence", Value::from(0.5)),
        ] {
            finding.entry(field).or_insert(value);
        }
    }
    // Nobody approves by saying nothing.
    let verdict = if severe { "block" } else { "comment" };
    review.entry("verdict").or_insert_with(|| Value::String(verdict.into()));
    by_line
}

/// What a word for a severity means here, where another tool's word was used.
fn severity_of(word: &str) -> Option<&'static str> {
    Some(match word.to_ascii_lowercase().as_str() {
        "critical" | "blocker" | "fatal" | "p0" => "critical",
        "high" | "error" | "major" | "p1" => "high",
        "medium" | "moderate" | "warning" | "warn" | "p2" => "medium",
        "low" | "minor" | "p3" => "low",
        "nit" | "info" | "note" | "hint" | "trivial" | "style" => "nit",
        _ => return None,
    })
}

/// The first sentence of a text, or as much of it as a title bears.
fn title_of(body: &str) -> String {
    let line = body.trim().lines().next().unwrap_or_default().trim();
    let sentence = line.split_once(". ").map_or(line, |(first, _)| first);
    let cut: String = sentence.chars().take(LONGEST_TITLE).collect();
    if cut.len() < sentence.len() { format!("{cut}…") } else { cut }
}

impl ReviewReport {
    /// Problems that the types alone do not show.
    pub fn check(&self) -> Vec<ArtifactProblem> {
        let mut problems = Vec::new();
        if self.version != 1 {
            problems.push(ArtifactProblem::new("version", format!("is {}, expected 1", self.version)));
        }
        for (i, finding) in self.findings.iter().enumerate() {
            let place = |field: &str| format!("findings[{i}].{field}");
            for (field, text) in [
                ("path", &finding.path),
                ("category", &finding.category),
                ("title", &finding.title),
                ("body", &finding.body),
            ] {
                need_text(text, place(field), &mut problems);
            }
            if !finding.path.is_empty() && scope::normalise(finding.path.as_bytes()).is_err() {
                problems.push(ArtifactProblem::new(
                    place("path"),
                    "must be relative to the workspace, without `..`",
                ));
            }
            if !(0.0..=1.0).contains(&finding.confidence) {
                problems.push(ArtifactProblem::new(place("confidence"), "must be between 0 and 1"));
            }
            match (finding.line, finding.end_line) {
                (Some(0), _) => {
                    problems.push(ArtifactProblem::new(place("line"), "lines are counted from 1"))
                }
                (Some(line), Some(end)) if end < line => {
                    problems.push(ArtifactProblem::new(place("end_line"), "must not be before `line`"));
                }
                (Some(_), _) if finding.snippet.trim().is_empty() => {
                    problems.push(ArtifactProblem::new(
                        place("snippet"),
                        "is empty; copy the text of the line exactly",
                    ));
                }
                _ => {}
            }
        }
        problems
    }

    /// What to tell the reviewer of findings in files that are not there.
    pub fn nowhere(&self) -> Vec<String> {
        let nowhere =
            self.findings.iter().enumerate().filter(|(_, finding)| finding.location == LocationCheck::None);
        let told = nowhere.map(|(at, finding)| {
            format!(
                "findings[{at}].path: there is no file `{}`; name the file it is in, or leave the finding out",
                finding.path
            )
        });
        told.collect()
    }

    /// Leaves findings out whose file is not there, and gives their number; who blocks for nothing else only comments.
    pub fn drop_nowhere(&mut self) -> usize {
        let before = self.findings.len();
        self.findings.retain(|finding| finding.location != LocationCheck::None);
        self.dropped = before - self.findings.len();
        if self.dropped > 0 && self.findings.is_empty() && self.verdict == ReviewVerdict::Block {
            self.verdict = ReviewVerdict::Comment;
        }
        self.dropped
    }

    /// Checks every place against the files, moves or demotes lines, and sets location and fingerprint.
    ///
    /// `lookup` gives the bytes of a workspace-relative path in the version asked for.
    pub fn verify(&mut self, lookup: impl Fn(&str, DiffSide) -> Option<Vec<u8>>) {
        for finding in &mut self.findings {
            locate(finding, &lookup);
        }
        // Equal findings in one file are told apart by their order, so that each keeps a name of its own.
        let mut order: Vec<usize> = (0..self.findings.len()).collect();
        order.sort_by_key(|i| (self.findings[*i].path.clone(), self.findings[*i].line, *i));
        let mut seen: BTreeMap<String, u64> = BTreeMap::new();
        for i in order {
            let finding = &mut self.findings[i];
            let text = essence(finding);
            let count = seen.entry(text.clone()).or_default();
            let parts = [text.as_bytes(), &count.to_be_bytes()];
            finding.fingerprint = digest::sha256_parts(parts).chars().take(32).collect();
            *count += 1;
        }
    }
}

/// What makes a finding the same one after lines have moved: file, category and the text it is about.
fn essence(finding: &ReviewFinding) -> String {
    let about = match folded(&finding.snippet) {
        text if text.is_empty() => folded(&finding.title).to_lowercase(),
        text => text,
    };
    format!("{}\0{}\0{about}", finding.path, finding.category.to_lowercase())
}

fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn locate(finding: &mut ReviewFinding, lookup: &impl Fn(&str, DiffSide) -> Option<Vec<u8>>) {
    let clean = scope::normalise(finding.path.as_bytes()).ok().and_then(|p| String::from_utf8(p).ok());
    let bytes = clean.as_ref().and_then(|path| lookup(path, finding.side));
    let (Some(path), Some(bytes)) = (clean, bytes) else {
        (finding.line, finding.end_line, finding.location) = (None, None, LocationCheck::None);
        return;
    };
    finding.path = path;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<String> = text.lines().map(folded).collect();
    let wanted: Vec<String> = finding.snippet.lines().map(folded).collect();
    let first = wanted.iter().position(|l| !l.is_empty());
    let last = wanted.iter().rposition(|l| !l.is_empty());
    let place = match (finding.line, first, last) {
        (Some(line), Some(first), Some(last)) => find(&lines, &wanted[first..=last], line),
        _ => None,
    };
    match (place, finding.line) {
        (Some(at), Some(claimed)) => {
            let total = lines.len() as u64;
            finding.end_line = finding
                .end_line
                .map(|end| at.saturating_add(end.saturating_sub(claimed)).min(total))
                .filter(|end| *end > at);
            finding.line = Some(at);
            finding.location = LocationCheck::Verified;
        }
        _ => (finding.line, finding.end_line, finding.location) = (None, None, LocationCheck::File),
    }
}

/// The line where the wanted text stands: as claimed, else nearest within reach, else the only place in the file.
fn find(lines: &[String], wanted: &[String], claimed: u64) -> Option<u64> {
    let claimed = usize::try_from(claimed).ok()?.checked_sub(1)?;
    let at = |i: usize| lines.get(i..i + wanted.len()).is_some_and(|part| part == wanted);
    if claimed <= lines.len() && at(claimed) {
        return u64::try_from(claimed + 1).ok();
    }
    let places: Vec<usize> = (0..lines.len()).filter(|i| at(*i)).collect();
    let nearest = places.iter().copied().min_by_key(|i| (i.abs_diff(claimed), *i))?;
    let found = nearest.abs_diff(claimed) <= NEARBY || places.len() == 1;
    found.then(|| u64::try_from(nearest + 1).ok()).flatten()
}
