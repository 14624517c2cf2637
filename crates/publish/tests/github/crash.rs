//! A crash at every step, and the same command again: one pull request, one review, one comment, nothing twice.

use std::path::PathBuf;

use holon_testkit::github::{FaultSchedule, ForgeFault};

use crate::stage::{PublishStage, finding};

/// Publishes with a crash at every request, before and after it takes effect, each time followed by another try.
fn crash_everywhere(
    faults: &[ForgeFault],
    arrange: impl Fn(&PublishStage) -> (PathBuf, u64),
    check: impl Fn(&PublishStage, u64),
) {
    let calm = PublishStage::new();
    let (output, number) = arrange(&calm);
    calm.published(&output, Some(number), |_| {});
    let total = calm.hub.count();
    assert!(total > 3, "there is something to break");
    check(&calm, number);
    for fault in faults {
        for at in 1..=total {
            let stage = PublishStage::new();
            let (output, number) = arrange(&stage);
            stage.hub.faults(FaultSchedule::crash_at(at, fault.clone()));
            let crashed = stage.publish(&output, Some(number), |_| {});
            let ended = crashed.as_ref().map_or(true, |report| report.failed());
            assert!(ended || at == total, "{fault:?} at {at} was not noticed: {crashed:?}");
            stage.hub.faults(FaultSchedule::default());
            stage.published(&output, Some(number), |_| {});
            check(&stage, number);
            let report = stage.published(&output, Some(number), |_| {});
            assert!(report.parts.iter().all(|part| part.steps.is_empty()), "{fault:?} at {at}: {report:#?}");
        }
    }
}

#[test]
fn a_review_is_posted_once_whatever_breaks() {
    crash_everywhere(
        &[ForgeFault::CutBefore, ForgeFault::CutAfter],
        |stage| {
            let pull = stage.pull_request();
            (stage.review_output(vec![finding(0, 10, "line ten"), finding(1, 25, "x")]), pull)
        },
        |stage, pull| {
            assert_eq!((stage.repo.reviews(pull).len(), stage.repo.line_comments(pull).len()), (1, 1));
        },
    );
}

#[test]
fn a_plan_is_commented_once_whatever_breaks() {
    crash_everywhere(
        &[ForgeFault::CutBefore, ForgeFault::CutAfter],
        |stage| {
            let issue = stage.repo.issue("someone", "x", "y");
            (stage.output("plan").file("plan.md", "# Plan\n").finish(), issue)
        },
        |stage, issue| assert_eq!(stage.repo.comments(issue).len(), 1),
    );
}

#[test]
fn a_pull_request_is_opened_once_whatever_breaks_before_a_request() {
    crash_while_opening(ForgeFault::CutBefore);
}

#[test]
fn a_pull_request_is_opened_once_whatever_breaks_after_a_request() {
    crash_while_opening(ForgeFault::CutAfter);
}

fn crash_while_opening(fault: ForgeFault) {
    crash_everywhere(
        &[fault],
        |stage| {
            let issue = stage.repo.issue("someone", "x", "y");
            (stage.simple_patch(), issue)
        },
        |stage, _| {
            let pulls = stage.repo.pulls();
            assert_eq!((pulls.len(), pulls[0].1.as_str()), (1, "holon/issue-1"));
            assert_eq!(stage.repo.git(&["rev-list", "--count", "main..holon/issue-1"]).trim(), "1");
        },
    );
}

#[test]
fn an_answer_that_is_lost_is_found_again_in_the_same_run() {
    // The first request that changes something gets no answer, or a gateway's.
    for fault in [ForgeFault::CutAfter, ForgeFault::BadGateway] {
        let stage = PublishStage::new();
        let pull = stage.pull_request();
        let output = stage.review_output(vec![finding(0, 10, "line ten")]);
        let calm = PublishStage::new();
        let calm_pull = calm.pull_request();
        calm.published(&calm.review_output(vec![finding(0, 10, "line ten")]), Some(calm_pull), |_| {});
        stage.hub.faults(FaultSchedule::at(calm.hub.count(), fault));
        let report = stage.published(&output, Some(pull), |_| {});
        assert_eq!(stage.repo.reviews(pull).len(), 1, "{report:?}");
    }
}
