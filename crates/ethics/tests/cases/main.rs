//! The battery: planted cases that must be found, and clean look-alikes that must pass.
//!
//! Case files are written from how such things look in the world. The recall and the false positives are printed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod blind;
mod generated;
mod story;

use holon_core::artifact::ethics::{CheckStatus, PrincipleImpact};
use holon_ethics::{Assessment, EthicsDecision, EthicsReport, RiskLevel, assess, combine, gate};
use story::{StoryCase, StoryCases};

const LEAST_RECALL: f64 = 0.95;
const MOST_FALSE: f64 = 0.05;

fn load(kind: &str) -> Vec<(String, StoryCase)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let Some(group) = name.strip_prefix(kind) else { continue };
        let cases: StoryCases = toml::from_str(&std::fs::read_to_string(&file).unwrap())
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        all.extend(cases.case.into_iter().map(|case| (group.to_owned(), case)));
    }
    all
}

/// A model that approves of everything: what the checks do not stop would go out.
fn yes() -> EthicsReport {
    let impact =
        PrincipleImpact { principle: "safety".into(), impact: "none".into(), rationale: "fine".into() };
    EthicsReport {
        request_id: None,
        goal_id: None,
        risk_level: RiskLevel::Low,
        is_approved: true,
        approval_justification: "nothing to object to".into(),
        principle_impacts: vec![impact],
        mitigations: vec![],
        evidence: vec![],
        checks: vec![],
        history: None,
    }
}

/// Whether a case goes out although a model approves, with strict on and off.
fn goes_out(assessment: &Assessment) -> bool {
    [Some(Ok(yes())), None]
        .into_iter()
        .zip([true, false])
        .any(|(model, strict)| gate(&combine(assessment, model, strict)) == EthicsDecision::Approved)
}

fn show(assessment: &Assessment) -> String {
    let lines = assessment.findings.iter().map(|f| {
        format!("    {} {} {} {}: {}", f.check.name(), f.rule, f.severity.name(), f.place(), f.what)
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn planted_cases_are_found_and_none_goes_out() {
    let cases = load("planted-");
    assert!(cases.len() >= 60, "{}", cases.len());
    let (mut missed, mut delivered) = (Vec::new(), Vec::new());
    for (group, case) in &cases {
        let assessment = assess(&case.input(), case);
        let expected = case.check.as_deref().expect("a planted case names its check");
        let check = assessment.checks.iter().find(|check| check.id == expected).expect(expected);
        if check.status != CheckStatus::Fail {
            missed.push(format!("{group}: {} ({})\n{}", case.name, check.detail, show(&assessment)));
        }
        if goes_out(&assessment) {
            delivered.push(format!("{group}: {}", case.name));
        }
    }
    let recall = 1.0 - missed.len() as f64 / cases.len() as f64;
    println!("planted: {} cases, recall {:.1} %, delivered {}", cases.len(), recall * 100.0, delivered.len());
    missed.iter().for_each(|case| println!("missed {case}"));
    assert!(recall >= LEAST_RECALL, "{missed:#?}");
    assert_eq!(delivered, [] as [String; 0]);
}

#[test]
fn clean_look_alikes_pass() {
    let cases = load("clean-");
    assert!(cases.len() >= 60, "{}", cases.len());
    let (mut wrong, mut mentioned) = (Vec::new(), 0);
    for (group, case) in &cases {
        let assessment = assess(&case.input(), case);
        if !goes_out(&assessment) {
            wrong.push(format!("{group}: {}\n{}", case.name, show(&assessment)));
        } else if !assessment.findings.is_empty() {
            mentioned += 1;
            println!("mentioned {group}: {}\n{}", case.name, show(&assessment));
        }
    }
    let share = wrong.len() as f64 / cases.len() as f64;
    println!(
        "clean: {} cases, false positives {:.1} %, {mentioned} mentioned without blocking",
        cases.len(),
        share * 100.0
    );
    wrong.iter().for_each(|case| println!("blocked {case}"));
    assert!(share <= MOST_FALSE, "{wrong:#?}");
}

/// Sets that came later, from somebody who tried other things: their figures are printed for themselves.
#[test]
fn later_sets_are_told_apart_as_well() {
    tell_apart("later");
    tell_apart("third");
}

fn tell_apart(set: &str) {
    let (planted, clean) = (load(&format!("{set}-planted")), load(&format!("{set}-clean")));
    assert!(planted.len() >= 30 && clean.len() >= 30, "{} {}", planted.len(), clean.len());
    let (mut missed, mut delivered, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for (_, case) in &planted {
        let assessment = assess(&case.input(), case);
        let expected = case.check.as_deref().expect("a planted case names its check");
        let check = assessment.checks.iter().find(|check| check.id == expected).expect(expected);
        if check.status != CheckStatus::Fail {
            missed.push(format!("{expected}: {} ({})\n{}", case.name, check.detail, show(&assessment)));
        }
        if goes_out(&assessment) {
            delivered.push(case.name.clone());
        }
    }
    for (_, case) in &clean {
        let assessment = assess(&case.input(), case);
        if !goes_out(&assessment) {
            wrong.push(format!("{}\n{}", case.name, show(&assessment)));
        }
    }
    let recall = 1.0 - missed.len() as f64 / planted.len() as f64;
    let share = wrong.len() as f64 / clean.len() as f64;
    println!(
        "{set} set: {} planted, recall {:.1} %, delivered {}; {} clean, false positives {:.1} %",
        planted.len(),
        recall * 100.0,
        delivered.len(),
        clean.len(),
        share * 100.0
    );
    missed.iter().for_each(|case| println!("missed {case}"));
    wrong.iter().for_each(|case| println!("blocked {case}"));
    assert!(recall >= LEAST_RECALL && share <= MOST_FALSE, "{missed:#?}\n{wrong:#?}");
    assert_eq!(delivered, [] as [String; 0]);
}

#[test]
fn no_report_shows_what_it_is_about() {
    for (group, case) in
        load("planted-").iter().filter(|(group, _)| group == "secrets" || group == "personal-data")
    {
        let report = combine(&assess(&case.input(), case), None, true);
        let told = serde_json::to_string(&report).unwrap() + &report.to_markdown();
        for value in case.values().iter().filter(|value| value.len() >= 6 && !value.contains("KEY")) {
            // What was not found cannot be hidden on purpose; it is a miss and counted as one.
            let found = report
                .checks
                .iter()
                .any(|check| Some(&check.id) == case.check.as_ref() && check.status == CheckStatus::Fail);
            assert!(!found || !told.contains(value.as_str()), "{group}: {} shows {value}\n{told}", case.name);
        }
    }
}
