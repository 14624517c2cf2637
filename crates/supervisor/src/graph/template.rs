//! Plan templates: data files by intent, ranked by how well they fit.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::NodeKind;
use crate::domain::{Complexity, GoalIntent};

/// One template.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanTemplate {
    pub id: String,
    /// What it is made for.
    complexity: Vec<Complexity>,
    /// Whether it relies on checks.
    #[serde(default)]
    pub checks: bool,
    /// Whether it is about several packages.
    #[serde(default)]
    monorepo: bool,
    /// Whether it is for repairing known failing cases.
    #[serde(default)]
    repair: bool,
    pub nodes: Vec<TemplateStep>,
}

/// One step of a template.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TemplateStep {
    #[serde(rename = "type")]
    pub kind: NodeKind,
    pub title: String,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct TemplatesFile {
    template: Vec<PlanTemplate>,
}

/// How well a template fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateFit {
    /// Which.
    pub template: String,
    /// Higher is better.
    pub score: i32,
}

macro_rules! file {
    ($name:literal) => {
        include_str!(concat!("../../../../rules/supervisor/templates/", $name, ".toml"))
    };
}

const FILES: [(GoalIntent, &str); 7] = [
    (GoalIntent::Edit, file!("edit")),
    (GoalIntent::Debug, file!("debug")),
    (GoalIntent::Test, file!("test")),
    (GoalIntent::Refactor, file!("refactor")),
    (GoalIntent::Docs, file!("docs")),
    (GoalIntent::Inspect, file!("inspect")),
    (GoalIntent::Question, file!("question")),
];

static TEMPLATES: LazyLock<Vec<(GoalIntent, Vec<PlanTemplate>)>> = LazyLock::new(|| {
    let read = |text| toml::from_str::<TemplatesFile>(text).unwrap_or_default().template;
    FILES.iter().map(|(intent, text)| (*intent, read(text))).collect()
});

/// What a plan has to fit.
#[derive(Debug, Clone, Copy)]
pub(super) struct TemplateNeeds {
    pub intent: GoalIntent,
    pub complexity: Complexity,
    pub checks: bool,
    pub monorepo: bool,
    /// Failing cases are known.
    pub repair: bool,
}

/// All templates for it, best first, and the best itself.
pub(super) fn rank(wanted: &TemplateNeeds) -> (Option<&'static PlanTemplate>, Vec<TemplateFit>) {
    // A repair is a repair whatever the run was about.
    let intent = if wanted.repair { GoalIntent::Debug } else { wanted.intent };
    let templates = TEMPLATES.iter().find(|(of, _)| *of == intent).map_or(&[][..], |(_, list)| list);
    let mut ranked: Vec<(i32, &'static PlanTemplate)> =
        templates.iter().map(|template| (score(template, wanted), template)).collect();
    // Stable: of equals the first in the file wins.
    ranked.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let fits = ranked
        .iter()
        .map(|(score, template)| TemplateFit { template: template.id.clone(), score: *score })
        .collect();
    (ranked.first().map(|(_, template)| *template), fits)
}

fn score(template: &PlanTemplate, wanted: &TemplateNeeds) -> i32 {
    let distance = template.complexity.iter().map(|has| (*has as i32 - wanted.complexity as i32).abs()).min();
    let complexity = 50 - 15 * distance.unwrap_or(4);
    let checks = if template.checks == wanted.checks { 10 } else { 0 };
    let monorepo = match (template.monorepo, wanted.monorepo) {
        (true, true) => 20,
        (true, false) => -40,
        (false, _) => 0,
    };
    let repair = match (template.repair, wanted.repair) {
        (true, true) => 100,
        (true, false) => -100,
        (false, _) => 0,
    };
    complexity + checks + monorepo + repair
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Complexity; 5] = [
        Complexity::Trivial,
        Complexity::Simple,
        Complexity::Moderate,
        Complexity::Complex,
        Complexity::Hard,
    ];

    #[test]
    fn every_file_is_read_and_every_intent_has_a_plan() {
        for (intent, text) in FILES {
            let file: Result<TemplatesFile, _> = toml::from_str(text);
            assert!(file.as_ref().is_ok_and(|file| !file.template.is_empty()), "{}", intent.name());
            for complexity in ALL {
                let wanted =
                    TemplateNeeds { intent, complexity, checks: true, monorepo: false, repair: false };
                let (best, fits) = rank(&wanted);
                let best =
                    best.map(|template| (template.id.as_str(), template.nodes.last().map(|step| step.kind)));
                assert!(
                    best.is_some_and(|(_, last)| last == Some(NodeKind::Summarize)),
                    "{intent:?} {complexity:?}"
                );
                assert!(fits.windows(2).all(|pair| pair[0].score >= pair[1].score));
            }
        }
    }

    #[test]
    fn the_best_fit_wins() {
        let check = |intent, complexity, monorepo, repair, expect: &str| {
            let (best, fits) = rank(&TemplateNeeds { intent, complexity, checks: true, monorepo, repair });
            assert_eq!(best.map(|template| template.id.as_str()), Some(expect), "{fits:?}");
            assert_eq!(fits[0].template, expect);
        };
        check(GoalIntent::Edit, Complexity::Trivial, false, false, "edit-trivial");
        check(GoalIntent::Edit, Complexity::Simple, false, false, "edit-standard");
        check(GoalIntent::Edit, Complexity::Complex, false, false, "edit-standard");
        check(GoalIntent::Edit, Complexity::Complex, true, false, "edit-monorepo");
        check(GoalIntent::Edit, Complexity::Hard, false, false, "edit-hard");
        check(GoalIntent::Edit, Complexity::Hard, false, true, "debug-repair");
        check(GoalIntent::Debug, Complexity::Simple, false, false, "debug-standard");
        check(GoalIntent::Docs, Complexity::Hard, false, false, "docs-standard");
    }

    #[test]
    fn the_shapes_the_design_names() {
        let kinds = |complexity| {
            let (best, _) = rank(&TemplateNeeds {
                intent: GoalIntent::Edit,
                complexity,
                checks: true,
                monorepo: false,
                repair: false,
            });
            best.map(|template| template.nodes.iter().map(|step| step.kind).collect::<Vec<_>>())
                .unwrap_or_default()
        };
        assert_eq!(kinds(Complexity::Trivial), [NodeKind::Edit, NodeKind::Verify, NodeKind::Summarize]);
        assert_eq!(kinds(Complexity::Hard)[0], NodeKind::Delegate);
    }
}
