//! What the checks of a commit say.

use serde_json::Value;

use super::untrusted::wrapped;

/// The most characters of one check's own words.
const WORDS: usize = 8_000;

/// Check runs and statuses, failed ones with what they say.
pub(super) fn checks(runs: &[Value], statuses: &[Value]) -> Vec<String> {
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let word = |text: String| -> String {
        text.chars().filter(|c| c.is_alphanumeric() || " ._-/()".contains(*c)).take(120).collect()
    };
    let mut out = Vec::new();
    for run in runs {
        let conclusion = text(run, "conclusion");
        let state = if conclusion.is_empty() { text(run, "status") } else { conclusion };
        let mut told = format!("- {}: {}\n", word(text(run, "name")), word(state.clone()));
        let said: String =
            [text(&run["output"], "title"), text(&run["output"], "summary"), text(&run["output"], "text")]
                .join("\n\n")
                .trim()
                .chars()
                .take(WORDS)
                .collect();
        if !said.is_empty() && !["success", "skipped", "neutral"].contains(&state.as_str()) {
            told.push_str(&format!("\n{}\n", wrapped("check", &text(&run["app"], "slug"), "APP", &said)));
        }
        out.push(told);
    }
    for status in statuses {
        out.push(format!("- {}: {}\n", word(text(status, "context")), word(text(status, "state"))));
    }
    out
}
