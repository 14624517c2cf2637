//! JUnit XML: every finding a test that failed, so that any CI can show it.

use std::collections::BTreeMap;

use holon_core::artifact::review::{ReviewFinding, ReviewReport, Severity};

use crate::review::severity;
use crate::text::Cleaner;

/// A review as JUnit XML: files are suites; a nit or low finding is told but does not fail.
pub fn junit(review: &ReviewReport, run: &str, clean: &Cleaner) -> String {
    let mut suites: BTreeMap<&str, Vec<&ReviewFinding>> = BTreeMap::new();
    for finding in &review.findings {
        suites.entry(&finding.path).or_default().push(finding);
    }
    let failed = |findings: &[&ReviewFinding]| findings.iter().filter(|finding| fails(finding)).count();
    let all: Vec<&ReviewFinding> = review.findings.iter().collect();
    // Without a finding there is one test that passed: an empty report looks like one that was not made.
    let tests = all.len().max(1);
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"holon review {}\" tests=\"{tests}\" failures=\"{}\" errors=\"0\">\n",
        escaped(run),
        failed(&all)
    );
    if all.is_empty() {
        out.push_str("  <testsuite name=\"review\" tests=\"1\" failures=\"0\" errors=\"0\">\n    <testcase classname=\"review\" name=\"no findings\"/>\n  </testsuite>\n");
    }
    for (path, findings) in &suites {
        let name = escaped(&clean.redacted(path));
        out.push_str(&format!(
            "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"0\">\n",
            findings.len(),
            failed(findings)
        ));
        findings.iter().for_each(|finding| out.push_str(&case(finding, &name, clean)));
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn fails(finding: &ReviewFinding) -> bool {
    finding.severity <= Severity::Medium
}

fn case(finding: &ReviewFinding, file: &str, clean: &Cleaner) -> String {
    let line = finding.line.map(|line| format!(" line=\"{line}\"")).unwrap_or_default();
    let place = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
    let title = escaped(&clean.redacted(&finding.title));
    let kind = format!("{}/{}", severity(finding.severity), escaped(&clean.redacted(&finding.category)));
    let text = escaped(&clean.redacted(&finding.body));
    let open = format!("    <testcase classname=\"{file}\" name=\"{title}\" file=\"{file}\"{line}>\n");
    let inner = if fails(finding) {
        format!("      <failure message=\"{title}\" type=\"{kind}\">{file}{place}\n{text}</failure>\n")
    } else {
        format!("      <system-out>{kind} {file}{place}\n{text}</system-out>\n")
    };
    format!("{open}{inner}    </testcase>\n")
}

/// Text for XML: markup escaped, characters that XML cannot hold replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
