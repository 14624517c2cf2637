//! Conversations as Markdown.

use std::collections::BTreeMap;

use serde_json::Value;

use super::untrusted::{visible, wrapped};
use crate::text::block;

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

fn said(kind: &str, entry: &Value) -> String {
    let author = text(&entry["user"], "login");
    wrapped(kind, author, text(entry, "author_association"), text(entry, "body"))
}

/// A word for a heading: one line, no markup.
fn plain(text: &str) -> String {
    let (text, _) = visible(text);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    flat.chars().filter(|c| !"`<>[]*_".contains(*c)).take(200).collect()
}

/// The issue or pull request itself.
pub(super) fn opening(issue: &Value) -> String {
    let labels: Vec<String> = issue["labels"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|label| label["name"].as_str().or(label.as_str()))
        .map(plain)
        .collect();
    let mut out =
        format!("- state: {}\n- opened: {}\n", plain(text(issue, "state")), plain(text(issue, "created_at")));
    if !labels.is_empty() {
        out.push_str(&format!("- labels: {}\n", labels.join(", ")));
    }
    out.push_str(&format!(
        "\n{}",
        wrapped(
            "title",
            text(&issue["user"], "login"),
            text(issue, "author_association"),
            text(issue, "title")
        )
    ));
    out.push_str(&format!("\n{}", said("body", issue)));
    out
}

/// Facts about a pull request.
pub(super) fn pull(pull: &Value) -> String {
    let head = &pull["head"];
    let from = text(&head["repo"], "full_name");
    format!(
        "- base: {} at {}\n- head: {} at {} (from {})\n- draft: {}\n- merged: {}\n- size: {} files, +{} -{}\n",
        plain(text(&pull["base"], "ref")),
        plain(text(&pull["base"], "sha")),
        plain(text(head, "ref")),
        plain(text(head, "sha")),
        if from.is_empty() { "a repository that is gone".to_owned() } else { plain(from) },
        pull["draft"].as_bool().unwrap_or(false),
        pull["merged"].as_bool().unwrap_or(false),
        pull["changed_files"],
        pull["additions"],
        pull["deletions"],
    )
}

/// Comments in order.
pub(super) fn comments(list: &[Value]) -> Vec<String> {
    list.iter()
        .map(|comment| format!("### {}\n\n{}", plain(text(comment, "created_at")), said("comment", comment)))
        .collect()
}

/// Reviews that say something.
pub(super) fn reviews(list: &[Value]) -> Vec<String> {
    list.iter()
        .filter(|review| !text(review, "body").trim().is_empty() || text(review, "state") != "COMMENTED")
        .map(|review| {
            let head =
                format!("### {} {}", plain(text(review, "state")), plain(text(review, "submitted_at")));
            format!("{head}\n\n{}", said("review", review))
        })
        .collect()
}

/// Comments on lines, each thread with its place and the diff around it.
pub(super) fn line_threads(list: &[Value]) -> Vec<String> {
    let mut threads: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
    for comment in list {
        let id = comment["in_reply_to_id"].as_u64().or(comment["id"].as_u64()).unwrap_or_default();
        threads.entry(id).or_default().push(comment);
    }
    let told = |comments: &Vec<&Value>| {
        let first = comments.first()?;
        let line = first["line"].as_u64().or(first["original_line"].as_u64());
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        let outdated = if first["line"].is_null() { " (outdated)" } else { "" };
        let (hunk, _) = visible(text(first, "diff_hunk"));
        let mut out =
            format!("### {}{line}{outdated}\n\n{}\n", plain(text(first, "path")), block("diff", &hunk));
        comments.iter().for_each(|comment| out.push_str(&format!("{}\n", said("line-comment", comment))));
        Some(out)
    };
    threads.values().filter_map(told).collect()
}
