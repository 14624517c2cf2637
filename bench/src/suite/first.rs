//! How much the native agent says before the model can say anything.

use std::rc::Rc;

use crate::BenchFailure;
use crate::bench_model::BenchModel;
use crate::native_run::{MODEL, NativeRun};
use crate::report::{ReportRow, SuiteReport, TargetBound};
use crate::scratch::BenchContext;

const MODES: [&str; 6] = ["execute", "plan", "architect", "review", "debug", "ethical"];
/// Provider and model: the wires and the ways to edit differ by them.
const MODELS: [(&str, &str); 3] =
    [("openrouter", MODEL), ("openrouter", "openai/gpt-5"), ("anthropic", "claude-sonnet-4-5")];
/// Kilobytes.
const MOST: f64 = 5.0;

/// The first request of each mode, as the server received it.
pub(super) fn measure(bench: &BenchContext) -> Result<SuiteReport, BenchFailure> {
    let mind = Rc::new(BenchModel::start());
    let tree = bench.tree(500)?;
    let mut report = SuiteReport::default();
    for (number, (provider, model)) in MODELS.into_iter().enumerate() {
        for mode in MODES {
            let what = format!("{mode}, {provider} {model}");
            let run = NativeRun::new(bench, &format!("first-{number}-{mode}"), &tree, &mind)?;
            match run.mode(mode).model(provider, model).first_request() {
                Ok(bytes) => report.rows.push(
                    ReportRow::samples(what, "KB", &[bytes as f64 / 1024.0])
                        .median_target(TargetBound::AtMost(MOST)),
                ),
                Err(failure) => return Err(format!("{what}: {failure}")),
            }
        }
    }
    report.notes.push("system prompt, tools and goal (one word) as JSON; no AGENTS.md".to_owned());
    Ok(report)
}
