//! What happened, step by step, and the closing lines.

use std::time::{Duration, Instant};

use crate::XtaskFailure;

/// How one step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
enum StepOutcome {
    Passed,
    Failed(String),
    /// It could not be done on this machine, and why.
    NotRun(String),
}

/// The steps of one command, in order.
pub(crate) struct StepReport {
    command: &'static str,
    started: Instant,
    steps: Vec<(String, StepOutcome)>,
    closing: Vec<String>,
}

impl StepReport {
    /// An empty report of a command.
    pub(crate) fn new(command: &'static str) -> Self {
        Self { command, started: Instant::now(), steps: Vec::new(), closing: Vec::new() }
    }

    /// Does one step, saying so; the following steps are done whatever comes of it.
    pub(crate) fn step(&mut self, name: &str, act: impl FnOnce() -> Result<(), XtaskFailure>) {
        eprintln!("==> {name}");
        let outcome = match act() {
            Ok(()) => StepOutcome::Passed,
            Err(failure) => {
                eprintln!("error: {name}: {failure}");
                StepOutcome::Failed(failure)
            }
        };
        self.steps.push((name.to_owned(), outcome));
    }

    /// Records a step this machine cannot do.
    pub(crate) fn not_run(&mut self, name: &str, why: &str) {
        self.steps.push((name.to_owned(), StepOutcome::NotRun(why.to_owned())));
    }

    /// Records a failure found elsewhere.
    pub(crate) fn failed(&mut self, name: &str, why: String) {
        self.steps.push((name.to_owned(), StepOutcome::Failed(why)));
    }

    /// Adds lines to be printed at the end as they are.
    pub(crate) fn close_with(&mut self, lines: impl IntoIterator<Item = String>) {
        self.closing.extend(lines);
    }

    /// Prints the closing lines; an error when any step failed.
    pub(crate) fn finish(self) -> Result<(), XtaskFailure> {
        println!("\n{}", self.text(self.started.elapsed()));
        let failed = self.names(|outcome| matches!(outcome, StepOutcome::Failed(_)));
        if failed.is_empty() {
            Ok(())
        } else {
            Err(format!("{} failed: {}", self.command, failed.join(", ")))
        }
    }

    fn names(&self, select: impl Fn(&StepOutcome) -> bool) -> Vec<&str> {
        self.steps.iter().filter(|(_, outcome)| select(outcome)).map(|(name, _)| name.as_str()).collect()
    }

    fn text(&self, elapsed: Duration) -> String {
        let mut lines = self.closing.clone();
        for (name, outcome) in &self.steps {
            match outcome {
                StepOutcome::Passed => {}
                StepOutcome::Failed(why) => lines.push(format!("FAILED {name}: {why}")),
                StepOutcome::NotRun(why) => lines.push(format!("NOT RUN {name}: {why}")),
            }
        }
        let count = |select: fn(&StepOutcome) -> bool| self.names(select).len();
        lines.push(format!(
            "cargo xtask {}: {} steps passed, {} failed, {} not run, {} s",
            self.command,
            count(|outcome| *outcome == StepOutcome::Passed),
            count(|outcome| matches!(outcome, StepOutcome::Failed(_))),
            count(|outcome| matches!(outcome, StepOutcome::NotRun(_))),
            elapsed.as_secs()
        ));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closing_lines_say_everything() {
        let mut report = StepReport::new("test");
        report.step("format", || Ok(()));
        report.step("lints", || Err("2 warnings".into()));
        report.not_run("nextest", "not installed");
        report.close_with(["     Summary [ 0.1s] 2 tests run: 2 passed, 0 skipped".into()]);
        let text = report.text(Duration::from_secs(7));
        assert_eq!(
            text,
            "     Summary [ 0.1s] 2 tests run: 2 passed, 0 skipped\n\
             FAILED lints: 2 warnings\n\
             NOT RUN nextest: not installed\n\
             cargo xtask test: 1 steps passed, 1 failed, 1 not run, 7 s"
        );
        assert_eq!(report.finish(), Err("test failed: lints".into()));
    }

    #[test]
    fn later_steps_run_after_a_failure() {
        let mut report = StepReport::new("test");
        let mut ran = false;
        report.step("first", || Err("no".into()));
        report.step("second", || {
            ran = true;
            Ok(())
        });
        assert!(ran);
    }
}
