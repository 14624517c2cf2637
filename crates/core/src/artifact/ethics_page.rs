//! `ethics.md`: an assessment for people, the verdict first and then what it rests on.

use std::fmt::Write as _;

use super::ethics::{CheckStatus, EthicsReport};

impl EthicsReport {
    /// The report as Markdown. Nothing that came from a file or a model can become a heading, a row or markup in it.
    pub fn to_markdown(&self) -> String {
        let holds = !self.blocks() && self.check().is_empty();
        let verdict = if holds { "Approved" } else { "Blocked" };
        let mut text = format!("# Ethics report\n\n**{verdict}**, risk {}.\n\n", self.risk_level.name());
        let _ = writeln!(text, "{}", flat(&self.approval_justification));
        let ids =
            [("request", &self.request_id), ("goal", &self.goal_id), ("earlier assessments", &self.history)];
        for (name, id) in ids.into_iter().filter_map(|(name, id)| Some((name, id.as_ref()?))) {
            let _ = write!(text, "\n- {name}: {}", code(id));
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
        if !self.checks.is_empty() {
            text += "\n## Checks\n\n| check | result | severity | detail |\n|---|---|---|---|\n";
        }
        for check in &self.checks {
            let severity = check.severity.map_or("", |severity| severity.name());
            let mark = if check.status == CheckStatus::Fail { "**fail**" } else { check.status.name() };
            let _ = writeln!(text, "| {} | {mark} | {severity} | {} |", cell(&check.id), cell(&check.detail));
        }
        self.lists(&mut text);
        text
    }

    fn lists(&self, text: &mut String) {
        let mut section = |title: &str, lines: Vec<String>| {
            if !lines.is_empty() {
                let _ = write!(text, "\n## {title}\n\n{}\n", lines.join("\n"));
            }
        };
        let impacts = self.principle_impacts.iter();
        let impact = |i: &super::ethics::PrincipleImpact| {
            format!("- **{}** ({}): {}", flat(&i.principle), flat(&i.impact), flat(&i.rationale))
        };
        section("Principles", impacts.map(impact).collect());
        section("Mitigations", self.mitigations.iter().map(|text| format!("- {}", flat(text))).collect());
        let evidence = self.evidence.iter().map(|evidence| {
            let excerpt =
                evidence.excerpt.as_ref().map(|text| format!(": {}", code(text))).unwrap_or_default();
            format!("- {} {}{excerpt}", flat(&evidence.kind), code(&evidence.reference))
        });
        section("Evidence", evidence.collect());
    }
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
