//! What a pull request and its commit say.

use crate::branch::CommitStamp;
use crate::facts::PublicationFacts;
use crate::marker::Marker;
use crate::text::{BODY_LIMIT, Cleaner, cut};

/// GitHub cuts longer titles.
const TITLE: usize = 200;
const SUBJECT: usize = 72;
const END: &str = "<!-- holon:end -->";

/// The title: given, or the first words of the summary.
pub(super) fn title(given: Option<&str>, summary: Option<&str>, mode: &str, clean: &Cleaner) -> String {
    let first = summary.and_then(|text| {
        text.lines()
            .map(|line| line.trim_start_matches(['#', ' ', '*', '-', '>']).trim())
            .find(|l| !l.is_empty())
    });
    let fallback = format!("Change by a Holon run in mode {mode}");
    let text = given.or(first).unwrap_or(&fallback);
    clean.line(text, TITLE)
}

/// The commit's message: subject, one sentence, trailers.
pub(super) fn message(title: &str, facts: &PublicationFacts, stamp: &CommitStamp) -> String {
    let mut subject: String = title.chars().filter(|c| !c.is_control()).collect();
    if subject.chars().count() > SUBJECT {
        subject = subject.chars().take(SUBJECT - 1).collect::<String>() + "…";
    }
    format!(
        "{subject}\n\nMade by Holon run {} ({}).\n\n{}",
        facts.run,
        facts.made.replace('`', ""),
        stamp.trailers()
    )
}

/// The part of a pull request's text that belongs to the publisher.
pub(super) fn region(
    summary: Option<&str>,
    about: Option<u64>,
    title: &str,
    facts: &PublicationFacts,
    clean: &Cleaner,
    statement: Option<&str>,
) -> String {
    let marker = facts.mark(Marker::new("pull")).with("title", &PublicationFacts::text_digest(title));
    let mut out = format!("{marker}\n");
    if facts.draft {
        out.push_str("> A person has to look at this: the run did not end as a success.\n\n");
    }
    for word in &facts.overrides {
        out.push_str(&format!("> Override: {word}\n\n"));
    }
    if !facts.not_run.is_empty() {
        out.push_str("> Changed lines that no test ran:\n");
        facts.not_run.iter().for_each(|file| out.push_str(&format!("> - {file}\n")));
        out.push('\n');
    }
    let text = summary.map(|text| clean.markdown(text.trim())).unwrap_or_default();
    let attached = statement.map(attached).unwrap_or_default();
    out.push_str(&cut(
        &text,
        BODY_LIMIT - 5_000 - attached.len(),
        &format!("summary.md of run {}", facts.run),
    ));
    out.push('\n');
    if let Some(number) = about {
        out.push_str(&format!("\nRefs #{number}\n"));
    }
    out.push_str(&attached);
    out.push_str(&facts.footer());
    out.push_str(END);
    out.push('\n');
    out
}

/// A signed statement as `holon verify` finds it in a text; one that leaves no room for words is left out, and said so.
fn attached(statement: &str) -> String {
    if statement.len() > BODY_LIMIT / 2 || statement.contains("```") {
        return "\nIts signed statement is too long to stand here.\n".to_owned();
    }
    let statement = statement.trim();
    format!("\n<details><summary>Signed statement</summary>\n\n```json\n{statement}\n```\n\n</details>\n")
}

/// A pull request's text with the publisher's part replaced; nothing when it holds none.
pub(super) fn with_region(body: &str, region: &str) -> Option<String> {
    let start = body.find("<!-- holon:pull ")?;
    let end = start + body[start..].find(END)? + END.len();
    Some(format!("{}{}{}", &body[..start], region.trim_end(), &body[end..]))
}

/// An RFC 3339 time as git takes it; a time that is none becomes a fixed one.
pub(super) fn date(text: &str) -> String {
    let shape = |c: char| if c.is_ascii_digit() { '0' } else { c };
    match text.get(..19) {
        Some(time) if time.chars().map(shape).eq("0000-00-00T00:00:00".chars()) => format!("{time}Z"),
        _ => "2000-01-01T00:00:00Z".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn facts() -> PublicationFacts {
        PublicationFacts {
            run: "r1".into(),
            digest: "d1".into(),
            task: "issue-1".parse().unwrap(),
            draft: false,
            made: "mode `execute`".into(),
            overrides: Vec::new(),
            not_run: Vec::new(),
        }
    }

    #[test]
    fn a_title_is_one_harmless_line() {
        let check = |summary: &str, expect: &str| {
            assert_eq!(
                title(None, Some(summary), "execute", &Cleaner::default()).replace('\u{200b}', "¦"),
                expect
            );
        };
        check("# Fix the parser\n\nMore.", "Fix the parser");
        check("\n\n- fixes #12 for @bob", "fixes #¦12 for @¦bob");
        check(" \n", "Change by a Holon run in mode execute");
        assert_eq!(title(Some("Given"), Some("x"), "", &Cleaner::default()), "Given");
        assert_eq!(title(None, Some(&"x".repeat(300)), "", &Cleaner::default()).chars().count(), 200);
    }

    #[test]
    fn what_people_wrote_around_our_part_stays() {
        let clean = Cleaner::default();
        let first = region(Some("One."), Some(3), "T", &facts(), &clean, None);
        assert!(first.contains("\nRefs #3\n"), "{first}");
        let later = PublicationFacts { digest: "d2".into(), ..facts() };
        let second =
            region(Some("Two. <!-- holon:end -->"), None, "T", &later, &clean, Some("{\"payload\": \"x\"}"));
        let body = format!("Before.\n{first}After.\n");
        let new = with_region(&body, &second).unwrap();
        assert!(new.starts_with("Before.\n<!-- holon:pull ") && new.ends_with("\nAfter.\n"), "{new}");
        assert!(new.contains("Two.") && !new.contains("One."), "{new}");
        assert!(new.contains("\n```json\n{\"payload\": \"x\"}\n```\n") && !first.contains("Signed"), "{new}");
        assert_eq!(with_region("Rewritten by hand.", &second), None);
    }

    #[test]
    fn inv_17_an_override_is_named_where_the_change_goes() {
        let overrides = vec!["ada let it pass (sensitive, to publish): read it".to_owned()];
        let text = region(
            Some("One."),
            None,
            "T",
            &PublicationFacts { overrides, ..facts() },
            &Cleaner::default(),
            None,
        );
        assert!(text.contains("> Override: ada let it pass (sensitive, to publish): read it\n"), "{text}");
    }

    #[test]
    fn dates_are_made_fit() {
        assert_eq!(date("2026-01-31T23:59:59.123Z"), "2026-01-31T23:59:59Z");
        assert_eq!(date("yesterday"), "2000-01-01T00:00:00Z");
    }
}
