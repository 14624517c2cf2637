//! The report for people.

use std::fmt::Write as _;

use holon_core::artifact::ethics::{CheckStatus, Ethics};

use crate::gate::{Gate, gate};

/// `ethics.md`: the verdict first, then what it rests on.
pub fn render_markdown(report: &Ethics) -> String {
    let mut text = String::from("# Ethics report\n\n");
    let verdict = match gate(report) {
        Gate::Approved => "Approved",
        Gate::Blocked { .. } => "Blocked",
    };
    let _ = writeln!(text, "**{verdict}**, risk {}.\n", report.risk_level.name());
    let _ = writeln!(text, "{}", flat(&report.approval_justification));
    let ids = [
        ("request", &report.request_id),
        ("goal", &report.goal_id),
        ("earlier assessments", &report.history),
    ];
    for (name, id) in ids.into_iter().filter_map(|(name, id)| Some((name, id.as_ref()?))) {
        let _ = write!(text, "\n- {name}: {}", code(id));
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text += "\n## Checks\n\n| check | result | severity | detail |\n|---|---|---|---|\n";
    for check in &report.checks {
        let severity = check.severity.map_or("", |severity| severity.name());
        let mark = if check.status == CheckStatus::Fail { "**fail**" } else { check.status.name() };
        let _ = writeln!(text, "| {} | {mark} | {severity} | {} |", cell(&check.id), cell(&check.detail));
    }
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = write!(text, "\n## {title}\n\n{}\n", lines.join("\n"));
        }
    };
    let impacts = report.principle_impacts.iter();
    section(
        "Principles",
        impacts
            .map(|i| format!("- **{}** ({}): {}", flat(&i.principle), flat(&i.impact), flat(&i.rationale)))
            .collect(),
    );
    section(
        "Mitigations",
        report.mitigations.iter().map(|mitigation| format!("- {}", flat(mitigation))).collect(),
    );
    let evidence = report.evidence.iter().map(|evidence| {
        let excerpt =
            evidence.excerpt.as_ref().map(|excerpt| format!(": {}", code(excerpt))).unwrap_or_default();
        format!("- {} {}{excerpt}", flat(&evidence.kind), code(&evidence.reference))
    });
    section("Evidence", evidence.collect());
    text
}

/// One line; what came from a file or a model must not become a heading or a list of its own.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('<', "&lt;")
}

fn cell(text: &str) -> String {
    flat(text).replace('|', "\\|")
}

fn code(text: &str) -> String {
    format!("`{}`", text.split_whitespace().collect::<Vec<_>>().join(" ").replace('`', "'"))
}
