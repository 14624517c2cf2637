//! Everything an output holds as one Markdown page, for any place that shows Markdown.

use holon_core::artifact::review::{ReviewFinding, ReviewReport};

use crate::error::PublishError;
use crate::folder::VerifiedOutput;
use crate::review::{severity, tally};
use crate::text::{Cleaner, block, code, cut};

/// The most characters of one artifact on the page.
const ARTIFACT: usize = 200_000;
/// The most findings on the page.
const FINDINGS: usize = 500;
const PATCH: usize = 20_000;

/// The page.
pub fn page(output: &VerifiedOutput, clean: &Cleaner) -> Result<String, PublishError> {
    let manifest = output.manifest();
    let mut out = format!("## Holon {}: {}\n\n", clean.line(&manifest.mode, 60), manifest.outcome);
    if let Some(error) = &manifest.error {
        out.push_str(&format!("> {}\n\n", clean.line(&error.message, 500)));
    }
    for name in ["plan.md", "ethics.md", "summary.md"] {
        if let Some(text) = output.text(name) {
            let text =
                cut(&clean.markdown(text.trim()), ARTIFACT, &format!("{name} of run {}", output.run()));
            out.push_str(&format!("{text}\n\n"));
        }
    }
    if let Some(review) = output.json::<ReviewReport>("review.json")? {
        out.push_str(&findings(&review, clean));
    }
    if let Some(patch) = output.text("diff.patch").filter(|patch| !patch.trim().is_empty()) {
        let changes = &manifest.metadata.changes;
        out.push_str(&format!(
            "### Change: {} {}, +{} -{}\n\n",
            changes.files,
            if changes.files == 1 { "file" } else { "files" },
            changes.insertions,
            changes.deletions
        ));
        // Cut first, so that the fence around it is whole.
        let short: String = patch.chars().take(PATCH).collect();
        let left = patch.chars().count() - short.chars().count();
        out.push_str(&clean.markdown(&block("diff", &short)));
        if left > 0 {
            out.push_str(&format!("\n*{left} more characters are in diff.patch.*\n"));
        }
        out.push('\n');
    }
    let agent = code(&clean.redacted(&manifest.metadata.agent.name));
    out.push_str(&format!(
        "<sub>Holon run {}, agent {agent}, manifest sha256 {}.</sub>\n",
        output.run(),
        output.digest()
    ));
    Ok(out)
}

fn findings(review: &ReviewReport, clean: &Cleaner) -> String {
    let total = review.findings.len();
    if total == 0 {
        return "### Review: no findings\n\n".to_owned();
    }
    let mut sorted: Vec<&ReviewFinding> = review.findings.iter().collect();
    sorted.sort_by_key(|finding| finding.severity);
    let mut out = format!("### Review: {}\n\n", tally(&review.findings));
    for finding in sorted.iter().take(FINDINGS) {
        let line = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
        let place = code(&format!("{}{line}", clean.redacted(&finding.path)));
        let title = clean.line(&finding.title, 300);
        let body = cut(&clean.markdown(finding.body.trim()), 4_000, "review.json");
        out.push_str(&format!("**{}** {place} {title}\n\n{body}\n\n", severity(finding.severity)));
    }
    if total > FINDINGS {
        out.push_str(&format!("*{} more findings are in review.json.*\n\n", total - FINDINGS));
    }
    out
}
