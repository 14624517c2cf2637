//! SARIF 2.1.0, which code scanning reads.

use std::collections::BTreeMap;

use holon_core::artifact::review::{DiffSide, ReviewFinding, ReviewReport, Severity};
use serde_json::{Value, json};

use crate::api::percent;
use crate::text::Cleaner;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// The most results GitHub takes from one upload.
const RESULTS: usize = 25_000;

/// A review as SARIF; findings keep their fingerprints, so that the place it is read in knows them again.
pub fn sarif(review: &ReviewReport, run: &str, clean: &Cleaner) -> Value {
    let mut rules: BTreeMap<String, Severity> = BTreeMap::new();
    for finding in &review.findings {
        let worst = rules.entry(rule_id(finding)).or_insert(finding.severity);
        *worst = (*worst).min(finding.severity);
    }
    let ids: Vec<&String> = rules.keys().collect();
    let index = |finding: &ReviewFinding| ids.iter().position(|id| **id == rule_id(finding)).unwrap_or(0);
    let mut sorted: Vec<&ReviewFinding> = review.findings.iter().collect();
    sorted.sort_by_key(|finding| finding.severity);
    let results: Vec<Value> =
        sorted.iter().take(RESULTS).map(|finding| result(finding, index(finding), clean)).collect();
    let mut sarif_run = json!({
        "tool": {"driver": {
            "name": "Holon",
            "semanticVersion": env!("CARGO_PKG_VERSION"),
            "informationUri": "https://github.com/holon-run/holon",
            "rules": rules.iter().map(|(id, worst)| rule(id, *worst)).collect::<Vec<_>>(),
        }},
        "automationDetails": {"id": format!("holon/review/{run}")},
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The root of the repository."}}},
        "results": results,
    });
    if let Some(head) = review.head.as_deref().filter(|head| head.bytes().all(|b| b.is_ascii_hexdigit())) {
        sarif_run["properties"] = json!({"reviewedCommit": head});
    }
    if review.findings.len() > RESULTS {
        sarif_run["properties"]["leftOut"] = (review.findings.len() - RESULTS).into();
    }
    json!({"$schema": SCHEMA, "version": "2.1.0", "runs": [sarif_run]})
}

fn rule_id(finding: &ReviewFinding) -> String {
    let word: String = finding
        .category
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(60)
        .collect();
    format!("holon/{}", word.trim_matches('-'))
}

fn rule(id: &str, worst: Severity) -> Value {
    let name = id.trim_start_matches("holon/").replace('-', " ");
    let mut properties = json!({"tags": ["ai-review"]});
    if id.contains("security") {
        properties["security-severity"] = score(worst).into();
        properties["tags"] = json!(["ai-review", "security"]);
    }
    json!({
        "id": id,
        "shortDescription": {"text": format!("Findings about {name}")},
        "defaultConfiguration": {"level": level(worst)},
        "properties": properties,
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Nit => "note",
    }
}

/// The middle of each band in which GitHub reads the score.
fn score(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "9.5",
        Severity::High => "8.0",
        Severity::Medium => "5.5",
        Severity::Low => "2.0",
        Severity::Nit => "0.5",
    }
}

fn result(finding: &ReviewFinding, rule: usize, clean: &Cleaner) -> Value {
    let uri = percent(&clean.redacted(&finding.path), "/");
    let mut place = json!({"artifactLocation": {"uri": uri, "uriBaseId": "SRCROOT"}});
    // A line of the version before the change is not in the files that are scanned.
    if let Some(line) = finding.line.filter(|_| finding.side == DiffSide::New) {
        place["region"] = json!({"startLine": line, "endLine": finding.end_line.unwrap_or(line)});
    }
    let title = clean.redacted(&finding.title);
    let body = clean.redacted(&finding.body);
    json!({
        "ruleId": rule_id(finding),
        "ruleIndex": rule,
        "level": level(finding.severity),
        "message": {"text": format!("{title}\n\n{body}")},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"holonFingerprint/v1": finding.fingerprint},
        "rank": (finding.confidence.clamp(0.0, 1.0) * 100.0).round(),
        "properties": {"severity": crate::review::severity(finding.severity)},
    })
}
