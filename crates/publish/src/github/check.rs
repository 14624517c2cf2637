//! Check runs beside a pull request: an ethics report, and what a team's policy says. Both fail closed.

use holon_core::artifact::ethics::EthicsReport;
use holon_core::digest::sha256;
use serde_json::{Value, json};

use super::options::PublishPolicyVerdict;
use crate::api::{ApiRequest, HttpMethod};
use crate::facts::PublicationFacts;
use crate::target::RepoName;
use crate::text::{Cleaner, cut};

const SUMMARY: usize = 65_000;

/// What a check run shall say.
pub(super) struct CheckRunContent {
    /// The name under which it stands among the checks.
    pub(super) name: &'static str,
    /// What it is called in words.
    pub(super) what: &'static str,
    /// Whether it stands in the way.
    pub(super) blocks: bool,
    pub(super) title: String,
    /// Markdown, harmless and short enough.
    pub(super) text: String,
    /// Tells one such word from the next.
    digest: String,
}

impl CheckRunContent {
    /// What an ethics report says.
    pub(super) fn of_ethics(
        ethics: &EthicsReport,
        report: &str,
        facts: &PublicationFacts,
        clean: &Cleaner,
    ) -> Self {
        let blocks = ethics.blocks() || !ethics.check().is_empty() || facts.draft;
        let risk = serde_json::to_value(ethics.risk_level).ok().and_then(|r| r.as_str().map(str::to_owned));
        let risk = risk.unwrap_or_else(|| "unknown".into());
        let word = if blocks { "Not approved" } else { "Approved" };
        Self {
            name: "holon/ethics",
            what: "ethics",
            blocks,
            title: format!("{word}, risk {risk}"),
            text: cut(&clean.markdown(report.trim()), SUMMARY - 1000, "ethics.md"),
            digest: facts.digest.clone(),
        }
    }

    /// What a policy says about the statement that goes along.
    pub(super) fn of_policy(
        verdict: &PublishPolicyVerdict,
        facts: &PublicationFacts,
        clean: &Cleaner,
    ) -> Self {
        let blocks = !verdict.satisfied() || facts.draft;
        let title = match (verdict.satisfied(), facts.draft) {
            (true, false) => "Satisfied".to_owned(),
            (true, true) => "Satisfied, but a person has to look".to_owned(),
            (false, _) => match verdict.against.len() {
                1 => "Not satisfied: 1 rule is broken".to_owned(),
                many => format!("Not satisfied: {many} rules are broken"),
            },
        };
        let mut text = format!("Policy: {}\n", verdict.policy);
        if !verdict.signed_by.is_empty() {
            text.push_str(&format!("\nSigned by: {}\n", verdict.signed_by.join(", ")));
        }
        for sentence in &verdict.against {
            text.push_str(&format!("\n- {sentence}"));
        }
        let text = cut(&clean.markdown(text.trim()), SUMMARY - 1000, "`holon verify`");
        // The same output may be judged otherwise by another policy.
        let digest = sha256(format!("{}\0{title}\0{text}", facts.digest).as_bytes());
        Self { name: "holon/policy", what: "policy", blocks, title, text, digest }
    }

    fn body(&self, facts: &PublicationFacts) -> Value {
        json!({
            "name": self.name,
            "external_id": format!("{} {}", facts.task, self.digest),
            "status": "completed",
            "conclusion": if self.blocks { "action_required" } else { "success" },
            "output": {"title": self.title, "summary": format!("{}\n{}", self.text, facts.footer())},
        })
    }

    /// The request for a new one, on a head that may not be known yet.
    pub(super) fn new_request(
        &self,
        repo: &RepoName,
        head: Option<&str>,
        facts: &PublicationFacts,
    ) -> (String, ApiRequest) {
        let mut body = self.body(facts);
        if let Some(head) = head {
            body["head_sha"] = head.into();
        }
        (
            format!("add the {} check", self.what),
            ApiRequest::send(HttpMethod::Post, repo.path("/check-runs"), body),
        )
    }
}

/// The request that brings a check run to what it should be; nothing when it already is.
pub(super) fn decide(
    repo: &RepoName,
    head: &str,
    present: &[Value],
    said: &CheckRunContent,
    facts: &PublicationFacts,
) -> Option<(String, ApiRequest)> {
    let own = |run: &&Value| {
        let id = run["external_id"].as_str().unwrap_or_default();
        run["name"] == said.name && id.split(' ').next() == Some(facts.task.as_str())
    };
    let found = present.iter().find(own);
    let body = said.body(facts);
    if found.is_some_and(|run| run["external_id"] == body["external_id"]) {
        return None;
    }
    Some(match found.and_then(|run| run["id"].as_u64()) {
        Some(id) => {
            let path = repo.path(&format!("/check-runs/{id}"));
            (format!("update the {} check", said.what), ApiRequest::send(HttpMethod::Patch, path, body))
        }
        None => said.new_request(repo, Some(head), facts),
    })
}
