//! Rate limits.

use std::time::Duration;

use holon_publish::Error;
use holon_testkit::github::{Fault, Faults};

use crate::stage::Stage;

#[test]
fn limits_are_waited_out() {
    let stage = Stage::new();
    let issue = stage.repo.issue("someone", "x", "y");
    let output = stage.output("plan").file("plan.md", "# Plan\n").finish();
    let reset = 1_700_000_000 + 30;
    stage.hub.faults(Faults::at(1, Fault::Primary(reset)).and(6, Fault::Secondary(7)));
    stage.published(&output, Some(issue), |_| {});
    assert_eq!(*stage.clock.0.lock().unwrap(), [31_000, 7_000]);
    assert_eq!(stage.repo.comments(issue).len(), 1);
}

#[test]
fn more_patience_than_allowed_is_not_spent() {
    let mut stage = Stage::new();
    stage.patience = Duration::from_secs(10);
    let issue = stage.repo.issue("someone", "x", "y");
    let output = stage.output("plan").file("plan.md", "# Plan\n").finish();
    stage.hub.faults(Faults::at(1, Fault::Secondary(3600)));
    let error = stage.publish(&output, Some(issue), |_| {}).unwrap_err();
    assert!(matches!(error, Error::RateLimited { wait, .. } if wait.as_secs() == 3600), "{error}");
    assert!(error.hint().unwrap().contains("--max-wait"));
    assert!(stage.clock.0.lock().unwrap().is_empty());
    stage.hub.faults(Faults::default());
    stage.published(&output, Some(issue), |_| {});
    assert_eq!(stage.repo.comments(issue).len(), 1);
}
