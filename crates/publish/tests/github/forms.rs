//! SARIF, JUnit, Markdown and the job summary.

use holon_core::artifact::review::{DiffSide, ReviewFinding, ReviewReport, ReviewVerdict, Severity};
use holon_core::redact::Redactor;
use holon_publish::VerifiedOutput;
use holon_publish::report::{STEP_SUMMARY_LIMIT, append_step_summary, junit, page, sarif};
use holon_publish::text::Cleaner;

use crate::stage::{PublishStage, TOKEN, finding};

fn review() -> ReviewReport {
    let mut odd = finding(1, 7, "x");
    odd.path = "dir with space/ü<&>\".rs".into();
    odd.title = "<script>alert(\"1\")</script> & \u{1} \u{fffe}".into();
    odd.body = format!("]]> {TOKEN}");
    odd.category = "Security: injection!".into();
    odd.end_line = Some(9);
    let old = ReviewFinding { side: DiffSide::Old, ..finding(3, 2, "y") };
    let whole = ReviewFinding { line: None, severity: Severity::Nit, ..finding(4, 1, "") };
    let head = Some("0123456789012345678901234567890123456789".into());
    ReviewReport {
        version: 1,
        base: None,
        head,
        verdict: ReviewVerdict::Block,
        findings: vec![old, whole, odd],
        dropped: 0,
    }
}

fn clean() -> Cleaner {
    Cleaner::new(Redactor::new([("token", TOKEN)]))
}

#[test]
fn sarif_is_what_code_scanning_expects() {
    let value = sarif(&review(), "run-1", &clean());
    assert_eq!(value["version"], "2.1.0");
    let run = &value["runs"][0];
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "Holon");
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    for result in results {
        let rule = &driver["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()));
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        assert_eq!(result["partialFingerprints"]["holonFingerprint/v1"].as_str().unwrap().len(), 32);
    }
    let odd = &results[0];
    assert_eq!(odd["ruleId"], "holon/security--injection");
    let place = &odd["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "dir%20with%20space/%C3%BC%3C%26%3E%22.rs");
    assert_eq!(
        (place["region"]["startLine"].as_u64(), place["region"]["endLine"].as_u64()),
        (Some(7), Some(9))
    );
    assert_eq!(driver["rules"][1]["properties"]["security-severity"], "8.0");
    // A line of the old version is none of the scanned file.
    assert!(results[1]["locations"][0]["physicalLocation"]["region"].is_null());
    assert!(!value.to_string().contains(TOKEN));
}

#[test]
fn junit_is_well_formed_and_fails_for_what_matters() {
    let text = junit(&review(), "run-1", &clean());
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("junit.xml");
    std::fs::write(&file, &text).unwrap();
    let script = "import sys, xml.etree.ElementTree as e; r = e.parse(sys.argv[1]).getroot(); print(r.get('tests'), r.get('failures'), len(r.findall('.//testcase')), len(r.findall('.//failure')), r.find('.//failure').get('message')[:8])";
    let seen = std::process::Command::new("python3").args(["-c", script]).arg(&file).output().unwrap();
    assert!(seen.status.success(), "{text}\n{}", String::from_utf8_lossy(&seen.stderr));
    assert_eq!(String::from_utf8_lossy(&seen.stdout).trim(), "3 1 3 1 <script>");
    assert!(!text.contains(TOKEN));
    let none = junit(&ReviewReport { findings: Vec::new(), ..review() }, "r", &clean());
    assert!(none.contains("tests=\"1\" failures=\"0\"") && none.contains("no findings"), "{none}");
}

#[test]
fn the_page_and_the_job_summary_hold_everything_once() {
    let stage = PublishStage::new();
    let text = serde_json::to_string(&review()).unwrap();
    let output = stage
        .output("review")
        .file("review.json", &text)
        .file("summary.md", "Ask @octocat.\n")
        .file("diff.patch", "diff --git a/x b/x\n+<!-- holon:x -->\n")
        .finish();
    let output = VerifiedOutput::open(&output, None).unwrap();
    let text = page(&output, &clean()).unwrap();
    assert!(
        text.starts_with("## Holon review: success\n") && text.contains("### Review: 1 high, 1 low, 1 nit"),
        "{text}"
    );
    assert!(!text.contains("@octocat") && !text.contains("<!-- holon") && !text.contains(TOKEN), "{text}");
    let file = stage.dir.path().join("summary");
    std::fs::write(&file, "from an earlier step\n").unwrap();
    assert!(append_step_summary(&file, &output, &text).unwrap());
    assert!(!append_step_summary(&file, &output, &text).unwrap());
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.starts_with("from an earlier step\n## Holon review"), "{written}");
    assert_eq!(written.matches("## Holon review").count(), 1);
    // The limit counts for the whole file.
    std::fs::write(&file, "x".repeat(STEP_SUMMARY_LIMIT - 2000)).unwrap();
    let long = format!("{text}\n{}", "more\n".repeat(1000));
    append_step_summary(&file, &output, &long).unwrap();
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.len() <= STEP_SUMMARY_LIMIT && written.contains("has all of it"), "{}", written.len());
}
