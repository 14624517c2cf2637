//! An ethics report as a check run, which fails closed.

use holon_core::artifact::ethics::Ethics;
use serde_json::{Value, json};

use crate::api::{Method, Request};
use crate::facts::Facts;
use crate::target::Repo;
use crate::text::{Cleaner, cut};

/// The name under which it stands among the checks.
pub(super) const NAME: &str = "holon/ethics";
const SUMMARY: usize = 65_000;

/// The request that brings the check run to what it should be; nothing when it already is.
pub(super) fn decide(
    repo: &Repo,
    head: &str,
    present: &[Value],
    ethics: &Ethics,
    report: &str,
    facts: &Facts,
    clean: &Cleaner,
) -> Option<(String, Request)> {
    let own = |run: &&Value| {
        let id = run["external_id"].as_str().unwrap_or_default();
        run["name"] == NAME && id.split(' ').next() == Some(facts.task.as_str())
    };
    let external = format!("{} {}", facts.task, facts.digest);
    let found = present.iter().find(own);
    if found.is_some_and(|run| run["external_id"] == external.as_str()) {
        return None;
    }
    let blocks = ethics.blocks() || !ethics.check().is_empty() || facts.draft;
    let risk = serde_json::to_value(ethics.risk_level).ok().and_then(|r| r.as_str().map(str::to_owned));
    let risk = risk.unwrap_or_else(|| "unknown".into());
    let title = if blocks { format!("Not approved, risk {risk}") } else { format!("Approved, risk {risk}") };
    let text =
        format!("{}\n{}", cut(&clean.markdown(report.trim()), SUMMARY - 1000, "ethics.md"), facts.footer());
    let mut body = json!({
        "name": NAME,
        "external_id": external,
        "status": "completed",
        "conclusion": if blocks { "action_required" } else { "success" },
        "output": {"title": title, "summary": text},
    });
    Some(match found.and_then(|run| run["id"].as_u64()) {
        Some(id) => {
            let path = repo.path(&format!("/check-runs/{id}"));
            ("update the ethics check".to_owned(), Request::send(Method::Patch, path, body))
        }
        None => {
            body["head_sha"] = head.into();
            ("add the ethics check".to_owned(), Request::send(Method::Post, repo.path("/check-runs"), body))
        }
    })
}
