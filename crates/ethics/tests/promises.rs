//! What ethical assessment promises.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use holon_core::artifact::ArtifactProblem;
use holon_core::artifact::ethics::{CheckStatus, EthicsCheck, PrincipleImpact};
use holon_ethics::{
    Assessment, AssessmentInput, EthicsDecision, EthicsReport, NoLicenceLookup, RiskLevel, assess, combine,
    gate, gate_bytes, read_model_report, unanswered,
};
use proptest::prelude::*;

fn clean() -> Assessment {
    assess(
        &AssessmentInput {
            goal: "Fix a typo".into(),
            goal_id: Some("g1".into()),
            ..AssessmentInput::default()
        },
        &NoLicenceLookup,
    )
}

fn dangerous() -> Assessment {
    let patch = "diff --git a/x.sh b/x.sh\n--- /dev/null\n+++ b/x.sh\n@@ -0,0 +1,2 @@\n+#!/bin/sh\n+rm -rf / --no-preserve-root\n";
    let assessment =
        assess(&AssessmentInput { patch: patch.into(), ..AssessmentInput::default() }, &NoLicenceLookup);
    assert!(assessment.risk_level.blocks());
    assessment
}

fn report(is_approved: bool, risk_level: RiskLevel) -> EthicsReport {
    let impact =
        PrincipleImpact { principle: "safety".into(), impact: "none".into(), rationale: "read it".into() };
    EthicsReport {
        request_id: Some("forged".into()),
        goal_id: Some("forged".into()),
        risk_level,
        is_approved,
        approval_justification: "it only fixes a typo".into(),
        principle_impacts: vec![impact],
        mitigations: vec![],
        evidence: vec![],
        checks: vec![],
        history: Some("forged".into()),
    }
}

fn passes(report: &EthicsReport) -> bool {
    gate(report) == EthicsDecision::Approved
}

#[test]
fn inv_12_ethics_fails_closed_without_a_sound_model_report() {
    let empty = EthicsReport { approval_justification: " ".into(), ..report(true, RiskLevel::Low) };
    let bare = EthicsReport { principle_impacts: vec![], ..report(true, RiskLevel::Low) };
    let own =
        EthicsCheck { id: "x".into(), status: CheckStatus::Fail, detail: String::new(), severity: None };
    let contradicts = EthicsReport { checks: vec![own], ..report(true, RiskLevel::Low) };
    let unsound = [
        None,
        Some(Err(vec![])),
        Some(Err(vec![problem()])),
        Some(Ok(empty)),
        Some(Ok(bare)),
        Some(Ok(contradicts)),
        Some(Ok(report(true, RiskLevel::High))),
        Some(Ok(report(true, RiskLevel::Critical))),
        Some(Ok(report(true, RiskLevel::Unknown))),
        Some(Ok(report(false, RiskLevel::Low))),
    ];
    for model in unsound {
        let what = format!("{model:?}");
        let combined = combine(&clean(), model, true);
        assert!(!combined.is_approved && !passes(&combined), "{what} must not approve");
    }
    // The one way through.
    assert!(passes(&combine(&clean(), Some(Ok(report(true, RiskLevel::Low))), true)));
    assert!(passes(&combine(&clean(), Some(Ok(report(true, RiskLevel::Medium))), true)));
}

fn problem() -> ArtifactProblem {
    read_model_report(b"{").unwrap_err().remove(0)
}

#[test]
fn inv_12_a_model_never_lowers_what_the_checks_found() {
    for strict in [true, false] {
        for model in [None, Some(Ok(report(true, RiskLevel::Low))), Some(Err(vec![problem()]))] {
            let combined = combine(&dangerous(), model, strict);
            assert!(!passes(&combined), "{combined:?}");
            assert!(combined.risk_level.blocks());
        }
    }
    let lie = combine(&dangerous(), Some(Ok(report(true, RiskLevel::Low))), false);
    assert!(
        lie.checks.iter().any(|check| check.id == "model-assessment" && check.status == CheckStatus::Fail)
    );
    assert!(
        lie.approval_justification.contains("although the checks found"),
        "{}",
        lie.approval_justification
    );
}

#[test]
fn without_strict_the_checks_decide_and_the_report_says_so() {
    for model in [None, Some(Err(vec![problem()]))] {
        let combined = combine(&clean(), model, false);
        assert!(passes(&combined));
        let check = combined.checks.iter().find(|check| check.id == "model-assessment").unwrap();
        assert_eq!(check.status, CheckStatus::Unverified);
        assert!(
            combined.approval_justification.contains("strict is off"),
            "{}",
            combined.approval_justification
        );
    }
    // A model that refuses is heard all the same.
    assert!(!passes(&combine(&clean(), Some(Ok(report(false, RiskLevel::Medium))), false)));
}

#[test]
fn the_host_says_what_the_report_is_about() {
    let combined = combine(&clean(), Some(Ok(report(true, RiskLevel::Low))), true);
    assert_eq!(
        (combined.request_id, combined.goal_id.as_deref(), combined.history),
        (None, Some("g1"), None)
    );
}

#[test]
fn matrix_ethical_report_is_valid_and_can_be_read_again() {
    for assessment in [clean(), dangerous()] {
        for model in [None, Some(Ok(report(true, RiskLevel::Low))), Some(Ok(report(false, RiskLevel::High)))]
        {
            let combined = combine(&assessment, model, true);
            assert_eq!(combined.check(), []);
            let json = serde_json::to_vec(&combined).unwrap();
            assert_eq!(gate_bytes(Some(&json)), gate(&combined));
            let text = combined.to_markdown();
            assert!(text.starts_with("# Ethics report\n\n**"), "{text}");
            assert!(text.contains("## Checks") && text.contains("| secrets |"), "{text}");
        }
    }
}

#[test]
fn a_missing_or_unreadable_report_blocks() {
    for bytes in
        [None, Some(&b""[..]), Some(b"{}"), Some(b"null"), Some(b"\xff"), Some(b"{\"is_approved\": true}")]
    {
        assert!(matches!(gate_bytes(bytes), EthicsDecision::Blocked { .. }), "{bytes:?}");
    }
}

#[test]
fn a_report_cannot_break_out_of_its_markdown() {
    let mut sly = report(true, RiskLevel::Low);
    sly.approval_justification = "fine\n\n# Approved by everyone\n\n| a | b |\n<script>".into();
    let text = sly.to_markdown();
    assert!(!text.contains("\n# Approved") && !text.contains("<script>"), "{text}");
}

proptest! {
    /// Whatever a model writes, strict lets only a sound approval of a clean change through.
    #[test]
    fn inv_12_any_bytes_of_a_model(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let combined = combine(&clean_once(), Some(read_model_report(&bytes)), true);
        prop_assert!(!passes(&combined));
    }
}

fn clean_once() -> Assessment {
    static CLEAN: std::sync::OnceLock<Assessment> = std::sync::OnceLock::new();
    CLEAN.get_or_init(clean).clone()
}

/// Whoever approves answers each of the project's guidelines; whoever refuses need not.
#[test]
fn a_guideline_without_an_answer_is_no_approval() {
    let guidelines = vec![(".holon/guidelines.md".to_owned(), "- One.\n- Two.\n- Three.\n".to_owned())];
    let assessment = assess(&AssessmentInput { guidelines, ..AssessmentInput::default() }, &NoLicenceLookup);
    let answered = |ids: &[&str]| {
        let answer = |id: &&str| EthicsCheck {
            id: (*id).to_owned(),
            status: CheckStatus::Pass,
            detail: "Kept.".into(),
            severity: None,
        };
        let checks = ids.iter().map(answer).collect();
        EthicsReport { checks, ..report(true, RiskLevel::Low) }
    };
    for (ids, open) in [
        (&["guideline-1", "guideline-2", "guideline-3"][..], &[][..]),
        (&["Guideline 1", "guideline_3: no raw data", "GUIDELINE-2"], &[]),
        (&["guideline-1", "guideline-3"], &[2]),
        (&["guideline-11", "guideline-x", "line-2"], &[1, 2, 3]),
        (&[], &[1, 2, 3]),
    ] {
        let report = answered(ids);
        assert_eq!(unanswered(&assessment, &report), open, "{ids:?}");
        assert_eq!(passes(&combine(&assessment, Some(Ok(report.clone())), true)), open.is_empty(), "{ids:?}");
        // Without strict the checks decide alone where the report is not whole.
        assert!(passes(&combine(&assessment, Some(Ok(report)), false)), "{ids:?}");
    }
    assert!(unanswered(&assessment, &report(false, RiskLevel::Low)).is_empty());
}
