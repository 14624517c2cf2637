//! One report from two halves, which fails closed.

use std::collections::BTreeSet;

use holon_core::artifact::ethics::{CheckStatus, EthicsCheck, EthicsReport, RiskLevel};
use holon_core::artifact::{self, ArtifactProblem};

use crate::assess::Assessment;
use crate::redactor;

/// The check under which the model's half is reported.
const MODEL: &str = "model-assessment";

/// The most characters taken over from one of the model's texts.
const LONGEST: usize = 4000;

/// A model's report as it came: read, or with what is wrong with it.
pub type ModelReport = Result<EthicsReport, Vec<ArtifactProblem>>;

/// Puts the checks and the model's report together.
///
/// `model` is `None` when there is no report and `Some(Err(…))` when it could not be read, as
/// [`holon_core::artifact::read`] says it. With `strict`, only a sound report that approves lets anything pass; without,
/// the checks decide when the model's half is missing or unusable, and the report says so. A model can always block, and
/// never lower what the checks found.
pub fn combine(assessment: &Assessment, model: Option<ModelReport>, strict: bool) -> EthicsReport {
    let half = ReportSoundness::of(model, assessment);
    let mut ethics = EthicsReport {
        request_id: assessment.request_id.clone(),
        goal_id: assessment.goal_id.clone(),
        risk_level: assessment.risk_level,
        is_approved: !assessment.risk_level.blocks(),
        approval_justification: String::new(),
        principle_impacts: assessment.principle_impacts.clone(),
        mitigations: assessment.mitigations.clone(),
        evidence: assessment.evidence.clone(),
        checks: assessment.checks.clone(),
        history: assessment.history.clone(),
    };
    let checks = checks_say(assessment);
    let (status, detail) = match half {
        ReportSoundness::Sound(report) => {
            let detail =
                format!("the model says {}: {}", said(&report), report.approval_justification.trim());
            let status = if report.blocks() { CheckStatus::Fail } else { CheckStatus::Pass };
            ethics.risk_level = ethics.risk_level.worse(report.risk_level);
            ethics.is_approved = ethics.is_approved && !report.blocks();
            take_over(&mut ethics, report);
            (status, detail)
        }
        ReportSoundness::Contradicts(report, why) => {
            let detail = format!("the model's report does not hold: {why}");
            // Whoever says less than what was found is not believed in anything, whether strict or not.
            ethics.risk_level = ethics.risk_level.worse(RiskLevel::Unknown).worse(report.risk_level);
            ethics.is_approved = false;
            take_over(&mut ethics, report);
            (CheckStatus::Fail, detail)
        }
        ReportSoundness::Unusable(why) if strict => {
            ethics.risk_level = ethics.risk_level.worse(RiskLevel::Unknown);
            ethics.is_approved = false;
            (CheckStatus::Fail, format!("{why}, and without a sound report nothing is approved"))
        }
        ReportSoundness::Unusable(why) => {
            (CheckStatus::Unverified, format!("{why}; strict is off, so the checks decide alone"))
        }
    };
    let severity = match status {
        CheckStatus::Pass => None,
        CheckStatus::Unverified => Some(RiskLevel::Medium),
        _ => Some(ethics.risk_level),
    };
    ethics.checks.push(EthicsCheck { id: MODEL.into(), status, detail: short(&detail), severity });
    let verdict = if ethics.is_approved { "Approved" } else { "Not approved" };
    ethics.approval_justification = short(&format!("{verdict}. {checks} {detail}."));
    ethics
}

/// What the model's half is worth.
enum ReportSoundness {
    /// It can be used.
    Sound(EthicsReport),
    /// It approves what must not be approved, or contradicts itself.
    Contradicts(EthicsReport, String),
    /// There is nothing to use.
    Unusable(String),
}

impl ReportSoundness {
    fn of(model: Option<ModelReport>, assessment: &Assessment) -> Self {
        let found = assessment.risk_level;
        let report = match model {
            None => return Self::Unusable("the model's report is missing".into()),
            Some(Err(problems)) => {
                return Self::Unusable(format!("the model's report cannot be read ({})", listed(&problems)));
            }
            Some(Ok(report)) => report,
        };
        let problems = report.check();
        // A refusal stands, however clumsily it is written.
        if report.blocks() && problems.iter().all(|problem| problem.place != "is_approved") {
            return Self::Sound(report);
        }
        if found.blocks() {
            let why = format!("it says {} although the checks found {} risk", said(&report), found.name());
            return Self::Contradicts(report, why);
        }
        if report.is_approved && report.risk_level.blocks() {
            return Self::Contradicts(report, "it approves a risk that blocks".into());
        }
        if let Some(check) = report.checks.iter().find(|check| check.status == CheckStatus::Fail) {
            let why = format!("it approves although its own check `{}` failed", check.id);
            return Self::Contradicts(report, why);
        }
        if !problems.is_empty() {
            return Self::Unusable(format!("the model's report is not valid ({})", listed(&problems)));
        }
        let open = unanswered(assessment, &report);
        if !open.is_empty() {
            return Self::Unusable(format!("the model's report is not whole: {}", left_open(&open)));
        }
        Self::Sound(report)
    }
}

/// The guidelines, by number, to which a report that approves says nothing; whoever refuses need not go on to the end.
pub fn unanswered(assessment: &Assessment, report: &EthicsReport) -> Vec<usize> {
    if report.blocks() {
        return Vec::new();
    }
    let answered: BTreeSet<usize> = report.checks.iter().filter_map(|check| guideline(&check.id)).collect();
    (1..=assessment.guidelines.len()).filter(|number| !answered.contains(number)).collect()
}

/// Which guideline a check is about: `guideline-3`, also as models spell it.
fn guideline(id: &str) -> Option<usize> {
    let rest = id.trim().to_ascii_lowercase();
    let rest = rest.strip_prefix("guidelines").or_else(|| rest.strip_prefix("guideline"))?;
    let rest = rest.trim_start_matches(['-', '_', ' ', '#', ':']);
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

/// What is missing, in words for whoever writes the report again.
pub fn left_open(open: &[usize]) -> String {
    let mut names: Vec<String> = open.iter().take(10).map(|number| format!("guideline-{number}")).collect();
    if open.len() > names.len() {
        names.push(format!("{} more", open.len() - names.len()));
    }
    format!("it does not answer {}", names.join(", "))
}

fn said(report: &EthicsReport) -> String {
    let verdict = if report.is_approved { "approved" } else { "not approved" };
    format!("{verdict}, risk {}", report.risk_level.name())
}

fn listed(problems: &[ArtifactProblem]) -> String {
    problems.iter().take(3).map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn checks_say(assessment: &Assessment) -> String {
    let failed: Vec<&str> = assessment
        .checks
        .iter()
        .filter(|check| check.severity.is_some_and(RiskLevel::blocks))
        .map(|check| check.id.as_str())
        .collect();
    if failed.is_empty() {
        format!("The checks found {} risk;", assessment.risk_level.name())
    } else {
        format!("The checks found {} risk ({});", assessment.risk_level.name(), failed.join(", "))
    }
}

/// Adds what the model wrote, as text that anybody may read.
fn take_over(ethics: &mut EthicsReport, report: EthicsReport) {
    for mut impact in report.principle_impacts {
        impact.principle = short(&impact.principle);
        impact.impact = short(&impact.impact);
        impact.rationale = short(&impact.rationale);
        ethics.principle_impacts.push(impact);
    }
    ethics.mitigations.extend(report.mitigations.iter().map(|mitigation| short(mitigation)));
    for mut evidence in report.evidence {
        evidence.kind = format!("model: {}", short(&evidence.kind));
        evidence.reference = short(&evidence.reference);
        // The host computed no digest of it.
        evidence.sha256 = None;
        evidence.excerpt = evidence.excerpt.map(|excerpt| short(&excerpt));
        ethics.evidence.push(evidence);
    }
    for mut check in report.checks {
        check.id = format!("model: {}", short(&check.id));
        check.detail = short(&check.detail);
        ethics.checks.push(check);
    }
}

fn short(text: &str) -> String {
    let text = redactor().redact_str(text.trim());
    text.chars().take(LONGEST).collect()
}

/// Reads a model's report from its bytes, ready for [`combine`].
pub fn read_model_report(bytes: &[u8]) -> ModelReport {
    artifact::read(bytes)
}
