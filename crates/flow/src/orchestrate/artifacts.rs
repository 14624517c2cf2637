//! Artifacts a spec asks of an orchestration: which task hands them over, and whether they came.

use holon_core::manifest::{ArtifactRecord, ErrorInfo};
use holon_core::spec::RequestedArtifact;

use super::graph::CHECK;
use super::state::OrchestrationState;

/// What an orchestration makes itself, or takes from whichever task makes it.
const OF_THE_WHOLE: [&str; 9] = [
    "orchestration.json",
    "summary.md",
    "diff.patch",
    "ethics.json",
    "ethics.md",
    "plan.md",
    "plan.json",
    "review.json",
    "debug.json",
];

/// The task that hands over what the spec asks for besides: the last one that writes code, else the last that makes
/// anything at all.
pub(super) fn handed_over_by(state: &OrchestrationState) -> Option<usize> {
    let mode = |at: &usize| state.nodes[*at].task.mode.as_str();
    let all = || (0..state.nodes.len()).rev();
    all()
        .find(|at| mode(at) == "execute")
        .or_else(|| all().find(|at| !matches!(mode(at), "review" | "ethical" | CHECK)))
        .or_else(|| all().find(|at| mode(at) != CHECK))
}

/// The artifacts of a spec that one task hands over.
pub(super) fn for_a_task(wanted: &[RequestedArtifact]) -> Vec<RequestedArtifact> {
    wanted.iter().filter(|artifact| !OF_THE_WHOLE.contains(&artifact.path.as_str())).cloned().collect()
}

/// Holds what came against what was asked for: marks what is required, and tells what is missing or wrong.
pub(super) fn judge(
    wanted: &[RequestedArtifact],
    rows: &mut Vec<ArtifactRecord>,
    bytes_of: impl Fn(&str) -> Option<Vec<u8>>,
) -> Option<ErrorInfo> {
    let mut error = None;
    for artifact in wanted {
        let path = artifact.path.as_str();
        let mut problems: Vec<String> = match (bytes_of(path), &artifact.schema) {
            (None, _) => vec!["no task handed it over".to_owned()],
            (Some(bytes), Some(schema)) => schema.problems(&bytes).iter().map(ToString::to_string).collect(),
            (Some(_), None) => Vec::new(),
        };
        match rows.iter_mut().find(|row| row.path == path) {
            Some(row) => {
                row.required |= artifact.required;
                row.valid &= problems.is_empty();
                row.problems.append(&mut problems.clone());
            }
            None if artifact.required => rows.push(ArtifactRecord {
                path: path.to_owned(),
                sha256: None,
                bytes: 0,
                required: true,
                valid: false,
                problems: problems.clone(),
            }),
            None => problems.clear(),
        }
        if artifact.required && !problems.is_empty() && error.is_none() {
            let message = format!("required artifact {path}: {}", problems.join("; "));
            let hint = "it is asked for in the spec; look at the tasks with `holon runs show`";
            error = Some(ErrorInfo::new("artifact_invalid", message).with_hint(hint));
        }
    }
    error
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn wanted(path: &str, required: bool) -> RequestedArtifact {
        RequestedArtifact { path: path.into(), required, schema: None }
    }

    #[test]
    fn inv_19_what_a_spec_asks_of_the_whole_is_there_or_told() {
        let row = ArtifactRecord {
            path: "report.json".into(),
            sha256: Some("x".into()),
            bytes: 2,
            required: false,
            valid: true,
            problems: Vec::new(),
        };
        let mut rows = vec![row];
        let there = |name: &str| (name == "report.json").then(|| b"{}".to_vec());
        assert_eq!(judge(&[wanted("report.json", true), wanted("more.md", false)], &mut rows, there), None);
        assert!(rows.len() == 1 && rows[0].required);
        let error = judge(&[wanted("other.md", true)], &mut rows, there).unwrap();
        assert!(error.message.contains("other.md") && !rows[1].valid, "{error:?}");
        let schema: RequestedArtifact = serde_json::from_value(
            serde_json::json!({"path": "report.json", "schema": {"required": ["id"]}}),
        )
        .unwrap();
        let error = judge(&[schema], &mut rows, there).unwrap();
        assert!(error.message.contains("`id` is missing") && !rows[0].valid, "{error:?}");
    }

    #[test]
    fn a_task_is_not_asked_for_what_the_whole_makes() {
        let names: Vec<String> = for_a_task(&[wanted("plan.md", true), wanted("x.json", true)])
            .into_iter()
            .map(|artifact| artifact.path)
            .collect();
        assert_eq!(names, ["x.json"]);
    }
}
