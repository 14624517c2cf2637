//! Plans, summaries and ethics reports.

use holon_core::RunOutcome;
use holon_publish::github::{
    EthicsAs, OwnAccount, PublishOptions, PublishOutcome, PublishPart, PublishPolicyVerdict,
};
use holon_testkit::github::AccessLevel;

use crate::stage::{NAME, PublishStage, part};

const PLAN: &str = "# Plan\n\n## Goal\nAsk @octocat to close #3.\n";
const ETHICS: &str = r#"{"risk_level":"low","is_approved":true,"approval_justification":"Fine.","principle_impacts":[{"principle":"safety","impact":"none","rationale":"x"}]}"#;
const BLOCKING: &str = r#"{"risk_level":"high","is_approved":false,"approval_justification":"No.","principle_impacts":[{"principle":"safety","impact":"bad","rationale":"x"}]}"#;

#[test]
fn a_plan_is_one_comment_per_task() {
    let stage = PublishStage::new();
    let issue = stage.repo.issue("someone", "x", "y");
    let first = stage.output("plan").file("plan.md", PLAN).finish();
    stage.published(&first, Some(issue), |_| {});
    let report = stage.published(&first, Some(issue), |_| {});
    assert_eq!(part(&report, "plan").result, PublishOutcome::Unchanged);
    let second = stage.output("plan").file("plan.md", "# Another plan\n").finish();
    let report = stage.published(&second, Some(issue), |_| {});
    assert!(part(&report, "plan").url.as_ref().unwrap().contains("/comment/"));
    let comments = stage.repo.comments(issue);
    assert_eq!(comments.len(), 1);
    assert!(
        comments[0].1.contains("# Another plan") && !comments[0].1.contains("## Goal"),
        "{}",
        comments[0].1
    );
}

#[test]
fn our_comment_is_found_among_hundreds() {
    let stage = PublishStage::new();
    let issue = stage.repo.issue("someone", "x", "y");
    (0..130).for_each(|n| stage.repo.comment(issue, "someone", &format!("comment {n}")));
    let output = stage.output("plan").file("plan.md", PLAN).finish();
    stage.published(&output, Some(issue), |_| {});
    (0..100).for_each(|n| stage.repo.comment(issue, "someone", &format!("more {n}")));
    stage.published(&output, Some(issue), |_| {});
    assert_eq!(stage.repo.comments(issue).iter().filter(|c| c.1.contains("holon:comment")).count(), 1);
}

#[test]
fn a_plan_without_a_number_has_no_place() {
    let stage = PublishStage::new();
    let output = stage.output("plan").file("plan.md", PLAN).finish();
    let report = stage.published(&output, None, |_| {});
    assert_eq!(part(&report, "plan").result, PublishOutcome::Skipped);
    assert!(part(&report, "plan").notes[0].contains("holon publish summary"));
}

#[test]
fn a_summary_is_told_where_nothing_else_is() {
    let stage = PublishStage::new();
    let issue = stage.repo.issue("someone", "x", "y");
    let output = stage.output("debug").file("summary.md", "It was the cache.").finish();
    stage.published(&output, Some(issue), |_| {});
    assert!(stage.repo.comments(issue)[0].1.contains("It was the cache."));
    let asked =
        stage.publish(&output, Some(issue), |options| options.only = vec![PublishPart::Plan]).unwrap_err();
    assert!(asked.is_usage() && asked.to_string().contains("no valid plan.md"), "{asked}");
}

fn ethics(stage: &PublishStage, text: &str) -> std::path::PathBuf {
    stage.output("ethical").file("ethics.json", text).file("ethics.md", "# Report\n\nFine.\n").finish()
}

#[test]
fn an_ethics_report_is_a_check_run_for_an_app() {
    let stage = PublishStage::new();
    let pull = stage.pull_request();
    stage.hub.bot("holon-app[bot]", "app-token-0123456789", &[]);
    let options = PublishOptions::new(format!("{NAME}#{pull}").parse().unwrap());
    let output = ethics(&stage, ETHICS);
    for _ in 0..2 {
        let report = stage.publish_as(&output, &options, "app-token-0123456789").unwrap();
        assert!(!report.failed(), "{report:?}");
    }
    let checks = stage.repo.checks();
    assert_eq!(checks.len(), 1);
    assert_eq!(
        (checks[0]["name"].as_str(), checks[0]["conclusion"].as_str()),
        (Some("holon/ethics"), Some("success"))
    );
    assert_eq!(checks[0]["head_sha"].as_str(), stage.repo.tip("topic").as_deref());
    // Another run of the same task changes it, and what is not approved does not pass.
    stage.publish_as(&ethics(&stage, BLOCKING), &options, "app-token-0123456789").unwrap();
    let checks = stage.repo.checks();
    assert_eq!((checks.len(), checks[0]["conclusion"].as_str()), (1, Some("action_required")));
}

#[test]
fn everything_of_one_run_comes_together_at_its_pull_request() {
    let stage = PublishStage::new();
    stage.hub.bot("holon-app[bot]", "app-token-0123456789", &[]);
    let patch = std::fs::read_to_string(stage.simple_patch().join("diff.patch")).unwrap();
    let output = stage
        .output("orchestrate")
        .file("diff.patch", &patch)
        .file("summary.md", "All of it.")
        .file("plan.md", PLAN)
        .file("ethics.json", ETHICS)
        .file("ethics.md", "# Fine")
        .finish();
    let mut options = PublishOptions::new(NAME.parse().unwrap());
    options.task = Some("all".parse().unwrap());
    for expect in [PublishOutcome::Published, PublishOutcome::Unchanged] {
        let report = stage.publish_as(&output, &options, "app-token-0123456789").unwrap();
        assert!(
            report.parts.len() == 3 && report.parts.iter().all(|part| part.result == expect),
            "{report:#?}"
        );
    }
    assert_eq!(
        (stage.repo.pulls().len(), stage.repo.comments(1).len(), stage.repo.checks().len()),
        (1, 1, 1)
    );
    assert_eq!(stage.repo.checks()[0]["head_sha"].as_str(), stage.repo.tip("holon/all").as_deref());
}

#[test]
fn a_person_who_may_not_make_check_runs_comments() {
    let stage = PublishStage::new();
    let pull = stage.pull_request();
    let output = ethics(&stage, ETHICS);
    let report = stage.published(&output, Some(pull), |_| {});
    assert!(part(&report, "ethics").notes[0].contains("may not make check runs"), "{report:?}");
    assert_eq!(stage.repo.comments(pull).len(), 1);
    let report = stage.publish(&output, Some(pull), |options| options.ethics = EthicsAs::Check).unwrap();
    assert!(part(&report, "ethics").error.as_ref().unwrap().contains("403"), "{report:?}");
    let issue = stage.repo.issue("someone", "x", "y");
    stage.published(&output, Some(issue), |_| {});
    assert_eq!(stage.repo.comments(issue).len(), 1);
}

#[test]
fn missing_permissions_are_told_part_by_part() {
    let stage = PublishStage::new();
    let pull = stage.pull_request();
    stage.hub.bot(
        "reader[bot]",
        "reader-token-0123456789",
        &[("issues", AccessLevel::Read), ("pull_requests", AccessLevel::Write)],
    );
    let output = stage
        .output("review")
        .file("plan.md", PLAN)
        .file("review.json", r#"{"verdict":"comment","findings":[]}"#)
        .file("summary.md", "x")
        .finish();
    let options = PublishOptions::new(format!("{NAME}#{pull}").parse().unwrap());
    let report = stage.publish_as(&output, &options, "reader-token-0123456789").unwrap();
    assert!(report.failed());
    assert_eq!(part(&report, "review").result, PublishOutcome::Published, "what can be done is done");
    let plan = part(&report, "plan");
    assert!(plan.error.as_ref().unwrap().contains("(403): Resource not accessible"), "{plan:?}");
    assert!(plan.hint.as_ref().unwrap().contains("permission"), "{plan:?}");
    // Once the permission is there, the same command does the rest and nothing twice.
    stage.hub.bot("reader[bot]", "reader-token-0123456789", &[]);
    let report = stage.publish_as(&output, &options, "reader-token-0123456789").unwrap();
    assert!(!report.failed(), "{report:?}");
    assert_eq!((stage.repo.reviews(pull).len(), stage.repo.comments(pull).len()), (1, 1));
}

#[test]
fn what_cannot_be_seen_is_not_there() {
    let stage = PublishStage::new();
    stage.repo.private(&["someone-else"]);
    let output = stage.output("plan").file("plan.md", PLAN).finish();
    let error = stage.publish(&output, Some(1), |options| options.own = OwnAccount::Ask).unwrap_err();
    assert_eq!(error.status(), Some(404));
    assert!(error.hint().unwrap().contains("may not see it"), "{error}");
}

#[test]
fn a_draft_says_that_a_person_has_to_look() {
    let stage = PublishStage::new();
    let issue = stage.repo.issue("someone", "x", "y");
    let output = stage.output("plan").file("plan.md", PLAN).outcome(RunOutcome::NeedsHuman).finish();
    stage.published(&output, Some(issue), |options| options.draft_needs_human = true);
    assert!(stage.repo.comments(issue)[0].1.contains("A person has to look at this"));
}

#[test]
fn what_a_policy_says_is_a_check_run_beside_the_pull_request() {
    let stage = PublishStage::new();
    stage.hub.bot("holon[bot]", "app-token-0123456789", &[]);
    let output = stage.simple_patch();
    let mut options = PublishOptions::new(NAME.parse().unwrap());
    options.task = Some("judged".parse().unwrap());
    let verdict = |against: &[&str]| {
        Some(PublishPolicyVerdict {
            policy: "team.toml".into(),
            signed_by: vec!["ci".into()],
            against: against.iter().map(|rule| (*rule).to_owned()).collect(),
        })
    };
    options.policy = verdict(&[]);
    options.only = vec![PublishPart::Pull];
    // Before anything is there, a dry run shows the check without a commit it could stand on.
    options.dry_run = true;
    let report = stage.publish_as(&output, &options, "app-token-0123456789").unwrap();
    let planned = part(&report, "policy");
    assert_eq!(planned.result, PublishOutcome::Planned, "{report:#?}");
    let body = &planned.steps[0].call.as_ref().unwrap().body;
    assert_eq!((&body["name"], &body["conclusion"]), (&"holon/policy".into(), &"success".into()));
    assert!(body["head_sha"].is_null() && stage.repo.checks().is_empty());

    options.dry_run = false;
    for expect in [PublishOutcome::Published, PublishOutcome::Unchanged] {
        let report = stage.publish_as(&output, &options, "app-token-0123456789").unwrap();
        assert_eq!(part(&report, "policy").result, expect, "{report:#?}");
    }
    let check = stage.repo.checks().remove(0);
    assert_eq!(check["head_sha"].as_str(), stage.repo.tip("holon/judged").as_deref());
    assert_eq!((&check["conclusion"], &check["output"]["title"]), (&"success".into(), &"Satisfied".into()));
    // Another word about the same output takes its place; text of others stays text.
    options.policy = verdict(&["no person approved it", "asked by @octocat <script>"]);
    let report = stage.publish_as(&output, &options, "app-token-0123456789").unwrap();
    assert_eq!(part(&report, "policy").result, PublishOutcome::Published, "{report:#?}");
    let checks = stage.repo.checks();
    assert_eq!(checks.len(), 1);
    assert_eq!(checks[0]["conclusion"], "action_required");
    assert_eq!(checks[0]["output"]["title"], "Not satisfied: 2 rules are broken");
    let text = checks[0]["output"]["summary"].as_str().unwrap();
    assert!(text.contains("no person approved it") && !text.contains("@octocat"), "{text}");

    // A person may not make check runs, and says the same in a comment.
    let other = PublishStage::new();
    let output = other.simple_patch();
    let report = other.published(&output, None, |options| options.policy = verdict(&["too large"]));
    assert!(
        part(&report, "policy").notes.iter().any(|note| note.contains("so it is a comment")),
        "{report:#?}"
    );
    let comments = other.repo.comments(1);
    assert!(comments.iter().any(|(_, text)| text.contains("too large")), "{comments:?}");
}
