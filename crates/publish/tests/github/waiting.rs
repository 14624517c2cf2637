//! Rate limits.

use std::time::Duration;

use holon_publish::PublishError;
use holon_testkit::github::{FaultSchedule, ForgeFault};

use crate::stage::PublishStage;

#[test]
fn limits_are_waited_out() {
    let stage = PublishStage::new();
    let issue = stage.repo.issue("someone", "x", "y");
    let output = stage.output("plan").file("plan.md", "# Plan\n").finish();
    let reset = 1_700_000_000 + 30;
    stage.hub.faults(FaultSchedule::at(1, ForgeFault::Primary(reset)).and(6, ForgeFault::Secondary(7)));
    stage.published(&output, Some(issue), |_| {});
    assert_eq!(*stage.clock.0.lock().unwrap(), [31_000, 7_000]);
    assert_eq!(stage.repo.comments(issue).len(), 1);
}

#[test]
fn more_patience_than_allowed_is_not_spent() {
    let mut stage = PublishStage::new();
    stage.patience = Duration::from_secs(10);
    let issue = stage.repo.issue("someone", "x", "y");
    let output = stage.output("plan").file("plan.md", "# Plan\n").finish();
    stage.hub.faults(FaultSchedule::at(1, ForgeFault::Secondary(3600)));
    let error = stage.publish(&output, Some(issue), |_| {}).unwrap_err();
    assert!(matches!(error, PublishError::RateLimited { wait, .. } if wait.as_secs() == 3600), "{error}");
    assert!(error.hint().unwrap().contains("--max-wait"));
    assert!(stage.clock.0.lock().unwrap().is_empty());
    stage.hub.faults(FaultSchedule::default());
    stage.published(&output, Some(issue), |_| {});
    assert_eq!(stage.repo.comments(issue).len(), 1);
}
