//! Structured artifacts: checked at once, written only when right, and asked for when missing.

use holon_agent::TurnEndReason;
use holon_core::artifact::plan::PlanDocument;
use holon_core::artifact::review::{LocationCheck, ReviewReport};
use holon_core::artifact::{read, validate};

use crate::memory::InMemoryExecutor;
use crate::stage::{TurnStage, own_profile, settings};

/// Plays a mode and gives its hands, after checking every artifact that was written.
fn play(mode: &str, cassette: &str) -> InMemoryExecutor {
    let hands = InMemoryExecutor { read_only: true, ..InMemoryExecutor::default() };
    let played = TurnStage::new(settings(mode), &hands).play(cassette);
    assert!(matches!(played.ended.reason, TurnEndReason::Finished(_)), "{:?}", played.ended);
    for name in &settings(mode).required {
        if name != "diff.patch" {
            let text =
                hands.file(&format!("/holon/output/{name}")).unwrap_or_else(|| panic!("{name} is missing"));
            assert_eq!(validate(name, text.as_bytes()), Ok(()), "{name}:\n{text}");
        }
    }
    hands
}

const PLAN: &str = "
- tools:
    - report_plan:
        goal: Accept tabs.
        context: \"The lexer is in `lex.rs`.\\n\\n# Details\\nIt skips spaces.\"
        steps:
          - { id: lex, title: Skip tabs, detail: \"In `skip`.\", files: [lex.rs], checks: [cargo test lex] }
          - { id: docs, title: Say so, detail: Readme., depends_on: [lex] }
        risks: [Columns may be off.]
        verification: Run `cargo test`.
        acceptance: [Tabs are accepted.]
";

#[test]
fn a_plan_becomes_a_text_and_a_list_of_steps() {
    let hands = play("plan", &format!("{PLAN}- tool: finish\n  args: {{ summary: Planned. }}"));
    let text = hands.file("/holon/output/plan.md").unwrap();
    for part in [
        "## Goal\n\nAccept tabs.",
        "### Details",
        "1. **Skip tabs**\n   - files: `lex.rs`\n   - check: `cargo test lex`",
        "2. **Say so**\n   - after: lex",
        "## Risks\n\n- Columns may be off.",
        "## Acceptance\n\n- Tabs are accepted.",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let plan: PlanDocument = read(hands.file("/holon/output/plan.json").unwrap().as_bytes()).unwrap();
    assert_eq!((plan.steps.len(), plan.steps[1].depends_on[0].as_str()), (2, "lex"));
    play("architect", &format!("{PLAN}- tool: finish\n  args: {{ summary: Planned. }}"));
}

#[test]
fn problems_are_named_and_nothing_is_written_until_they_are_mended() {
    let hands = InMemoryExecutor::default();
    TurnStage::new(settings("plan"), &hands).play(&format!(
        "
- tool: report_plan
  args:
    goal: ''
    context: c
    steps: [{{ id: a, title: A, detail: '', depends_on: [zzz] }}]
    risks: []
    verification: v
- expect:
    last: ['not accepted:', '## Goal: has nothing below it', '## Risks: has nothing below it', '`zzz` is not the id of a step']
  tool: report_plan
  args: {{ goal: g }}
- expect: {{ last: ['missing field `context`', 'report_plan takes {{goal: string'] }}
  tool: finish
  args: {{ summary: Too early. }}
- expect: {{ last: 'not finished yet: plan.md (call report_plan)' }}
  {}
- tool: finish
  args: {{ summary: Now. }}
",
        PLAN.trim().trim_start_matches("- ")
    ));
    assert_eq!(hands.file("/holon/output/summary.md").unwrap(), "Now.\n");
}

#[test]
fn findings_keep_their_hands_off_what_the_host_sets() {
    let hands = play(
        "review",
        "
- tools:
    - report_findings:
        verdict: block
        base: made-up
        findings:
          - { path: a.rs, line: 3, severity: high, category: correctness, title: Off by one, body: It skips., confidence: 0.9,
              snippet: 'for i in 1..n {', fingerprint: made-up, location: verified }
          - { path: b.rs, line: null, severity: nit, category: style, title: Long, body: Split it., confidence: 1, snippet: '' }
    - finish: { summary: One bug. }
",
    );
    let review: ReviewReport = read(hands.file("/holon/output/review.json").unwrap().as_bytes()).unwrap();
    assert_eq!((review.base, review.findings.len()), (None, 2));
    assert_eq!(
        (review.findings[0].fingerprint.as_str(), review.findings[0].location),
        ("", LocationCheck::None)
    );
}

#[test]
fn the_search_for_a_cause_and_an_assessment_are_handed_over() {
    play(
        "debug",
        "
- tools:
    - report_debug:
        hypotheses: [{ statement: It is the lexer, evidence: ['lex.rs:3 skips only spaces'], status: confirmed }]
        experiments: [{ change: '', command: cargo test, result: fails with a tab }]
        root_cause: Tabs are not skipped.
        fix_proposal: Skip them.
    - finish: { summary: Found. }
",
    );
    let hands = play(
        "ethical",
        "
- tools:
    - report_ethics: { risk_level: high, is_approved: true, approval_justification: x, principle_impacts: [] }
- expect: { last: ['principle_impacts: is empty', 'is_approved: approves although the risk is high'] }
  tools:
    - report_ethics:
        risk_level: low
        is_approved: true
        approval_justification: It only parses text.
        principle_impacts: [{ principle: privacy, impact: none, rationale: No data is kept. }]
        evidence: [{ kind: file, ref: 'lex.rs:3' }]
        checks: [{ id: licence, status: pass }]
    - finish: { summary: Fine. }
",
    );
    let text = hands.file("/holon/output/ethics.md").unwrap();
    assert!(text.contains("**Approved**, risk low.") && text.contains("| licence | pass |"), "{text}");
}

#[test]
fn artifacts_of_ones_own_have_a_tool_too() {
    let mut settings = settings("review");
    settings.profile =
        own_profile("name = 'own'\nextends = 'plan'\n[artifacts]\nrequired = ['report.html', 'data.json']\n");
    settings.required = settings.profile.artifacts.required.clone();
    settings.optional = Vec::new();
    let hands = InMemoryExecutor::default();
    let played = TurnStage::new(settings, &hands).play(&format!(
        "{PLAN}
- tools:
    - report: {{ name: report.html, content: <p>Fine.</p> }}
    - report: {{ name: data.json, content: not json }}
    - report: {{ name: /etc/passwd, content: x }}
- expect: {{ last: ['not accepted', 'is not asked for, only report.html, data.json'] }}
  tools: [{{ report: {{ name: data.json, content: {{ a: 1 }} }} }}, {{ finish: {{ summary: x }} }}]
"
    ));
    assert!(matches!(played.ended.reason, TurnEndReason::Finished(_)));
    assert!(hands.file("/holon/output/data.json").unwrap().contains("\"a\": 1"));
}
