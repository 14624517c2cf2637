//! Hands over a plan, as `plan.md` for people and `plan.json` for programs.

use std::fmt::Write as _;

use holon_core::artifact::plan::{PlanDocument, PlanStep};
use serde::Deserialize;
use serde_json::json;

use super::arguments::read;
use super::{AgentTool, CallContext, RunningToolCall, ToolArguments, ToolSpec, ToolTrouble, TurnSettings};

pub(super) struct ReportPlanTool;

#[derive(Deserialize)]
struct ReportPlanArguments {
    goal: String,
    context: String,
    steps: Vec<PlanStepArguments>,
    #[serde(default)]
    risks: Vec<String>,
    verification: String,
    #[serde(default)]
    acceptance: Vec<String>,
}

#[derive(Deserialize)]
struct PlanStepArguments {
    #[serde(flatten)]
    step: PlanStep,
    #[serde(default)]
    detail: String,
}

impl AgentTool for ReportPlanTool {
    fn name(&self) -> &str {
        "report_plan"
    }

    fn describe(&self, _settings: &TurnSettings) -> ToolSpec {
        let texts = json!({"type": "array", "items": {"type": "string"}});
        let text = json!({"type": "string"});
        let schema = json!({"type": "object", "properties": {
            "goal": text, "context": {"type": "string", "description": "what the code shows, Markdown"},
            "steps": {"type": "array", "items": {"type": "object", "properties": {
                "id": text, "title": text, "detail": text, "files": texts,
                "checks": {"type": "array", "items": text, "description": "commands"}, "depends_on": texts},
                "required": ["id", "title", "detail"]}},
            "risks": texts, "verification": text, "acceptance": texts},
            "required": ["goal", "context", "steps", "risks", "verification"]});
        ToolSpec::new("report_plan", "Hand over plan.md and plan.json.", schema)
    }

    fn target<'a>(&self, _arguments: &'a ToolArguments) -> Option<&'a str> {
        None
    }

    fn run<'a>(&'a self, arguments: ToolArguments, scene: &'a CallContext<'a>) -> RunningToolCall<'a> {
        Box::pin(async move {
            let wanted: ReportPlanArguments = read(arguments)?;
            let markdown = markdown(&wanted);
            let steps = wanted.steps.into_iter().map(|step| step.step).collect();
            let plan = PlanDocument { steps, risks: wanted.risks, acceptance: wanted.acceptance };
            let json =
                serde_json::to_string_pretty(&plan).map_err(|error| ToolTrouble::Said(error.to_string()))?;
            scene.hand_over(vec![("plan.md", markdown), ("plan.json", json + "\n")]).await
        })
    }
}

fn markdown(plan: &ReportPlanArguments) -> String {
    let mut text = format!(
        "# Plan\n\n## Goal\n\n{}\n\n## Context\n\n{}\n\n## Steps\n\n",
        inner(&plan.goal),
        inner(&plan.context)
    );
    for (number, PlanStepArguments { step, detail }) in (1..).zip(&plan.steps) {
        let _ = writeln!(text, "{number}. **{}**", step.title.trim());
        let mut line = |label: &str, items: &[String], quote: &str| {
            if !items.is_empty() {
                let items: Vec<String> = items.iter().map(|item| format!("{quote}{item}{quote}")).collect();
                let _ = writeln!(text, "   - {label}: {}", items.join(", "));
            }
        };
        line("files", &step.files, "`");
        line("check", &step.checks, "`");
        line("after", &step.depends_on, "");
        if !detail.trim().is_empty() {
            let _ = writeln!(text, "\n   {}\n", inner(detail).replace('\n', "\n   "));
        }
    }
    let _ = write!(
        text,
        "\n## Risks\n\n{}\n## Verification\n\n{}\n",
        list(&plan.risks),
        inner(&plan.verification)
    );
    if !plan.acceptance.is_empty() {
        let _ = write!(text, "\n## Acceptance\n\n{}", list(&plan.acceptance));
    }
    text
}

fn list(items: &[String]) -> String {
    items.iter().map(|item| format!("- {}\n", item.trim().replace('\n', "\n  "))).collect()
}

/// A text below a heading: headings of its own move down, so that they cannot end the section.
fn inner(text: &str) -> String {
    let lines = text
        .trim()
        .lines()
        .map(|line| if line.starts_with('#') { format!("##{line}") } else { line.to_owned() });
    lines.collect::<Vec<_>>().join("\n")
}
