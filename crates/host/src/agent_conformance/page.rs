//! What the breach suite found, as a page for people.

use std::fmt::Write as _;

use super::attempts;
use super::breach::{AttemptMark, BreachReport};
use super::table;
use crate::adapter::fill::PlaceholderValues;

/// How a page came to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreachPageOrigin {
    /// The command that makes it again.
    pub command: String,
    /// The day.
    pub date: String,
    /// Holon's version.
    pub holon: String,
}

/// The page for all agents that were tried.
pub fn markdown(all: &[BreachReport], made: &BreachPageOrigin) -> String {
    let mut filling = PlaceholderValues::default();
    filling.set("command", made.command.clone());
    filling.set("date", made.date.clone());
    filling.set("holon", made.holon.clone());
    filling.set("kernel", kernel());
    filling.set("ways", attempts::all().len().to_string());
    filling.set("under", table::under(all));
    filling.set("alone", table::alone(all));
    filling.set("attempts", table::attempts());
    filling.set("agents", all.iter().map(section).collect::<String>());
    let page = filling.text(include_str!("../../../../adapters/rehearsal/page.md"));
    format!("{}\n", page.trim_end())
}

/// The first two numbers of the kernel's version.
fn kernel() -> String {
    let name = rustix::system::uname();
    let release = name.release().to_string_lossy();
    release.split('.').take(2).collect::<Vec<_>>().join(".")
}

/// One agent, with the reasons for whatever was not made.
fn section(breach: &BreachReport) -> String {
    let mut text = format!("\n### {} {}\n\n", breach.agent, breach.version);
    for (index, own) in breach.alone.iter().enumerate() {
        let _ = write!(text, "- Alone, `{}` ({}): ", own.name, own.about);
        let Some(tools) = &own.tools else {
            text += "it never asked the model, so that nothing was tried.\n";
            continue;
        };
        let _ = write!(text, "{} let through{}.", breach.through_alone(index), those_through(breach, index));
        if own.reads == Some(false) {
            text += " A command that only reads was not carried out either.";
        }
        if let Some(answer) = usual_answer(breach, index) {
            let _ = write!(text, " Where it declined, it mostly answered: “{answer}”");
        }
        if breach.alone_with(index, |mark| mark == AttemptMark::Absent) > 0 {
            let offered = if tools.is_empty() { "none at all".into() } else { listed(tools) };
            let _ = write!(text, " Tools it offers there: {offered}.");
        }
        text.push('\n');
    }
    let rows = || breach.rows.iter();
    let without: Vec<&str> = rows()
        .filter(|row| row.control == AttemptMark::Absent && row.lacks.is_none())
        .map(|row| row.name.as_str())
        .collect();
    if !without.is_empty() {
        let _ = writeln!(text, "- Not made, because it has no such tool: {}.", without.join(", "));
    }
    let lacking: Vec<String> =
        rows().filter_map(|row| Some(format!("{} (`{}`)", row.name, row.lacks.as_ref()?))).collect();
    if !lacking.is_empty() {
        let _ = writeln!(text, "- Not made, because a program is missing here: {}.", lacking.join(", "));
    }
    for problem in breach.problems() {
        let _ = writeln!(text, "- **Not clean**: {}", plain(&problem));
    }
    text + "\n"
        + &table::modes(breach)
        + "\n<details><summary>Every way</summary>\n\n"
        + &table::ways(breach)
        + "\n</details>\n"
}

/// Which ways a mode of its own let through, where they are few.
fn those_through(breach: &BreachReport, index: usize) -> String {
    const FEW: usize = 5;
    let through = breach
        .rows
        .iter()
        .filter(|row| row.counts() && matches!(row.alone.get(index), Some(AttemptMark::Wrote(_))));
    let names: Vec<&str> = through.map(|row| row.name.as_str()).collect();
    if (1..=FEW).contains(&names.len()) { format!(" ({})", names.join(", ")) } else { String::new() }
}

/// Names of tools, not too many.
fn listed(tools: &[String]) -> String {
    const MOST: usize = 24;
    let mut names: Vec<String> = tools.iter().take(MOST).map(|name| format!("`{}`", plain(name))).collect();
    if tools.len() > MOST {
        names.push(format!("and {} more", tools.len() - MOST));
    }
    names.join(", ")
}

/// What an agent answered most often in a mode of its own when it declined.
fn usual_answer(breach: &BreachReport, index: usize) -> Option<String> {
    let own = breach.alone.get(index)?;
    let declined = breach.rows.iter().filter(|row| row.alone.get(index) == Some(&AttemptMark::Declined));
    let answers: Vec<&str> =
        declined.map(|row| row.said_in(&own.name)).filter(|said| !said.is_empty()).collect();
    // They differ in what they repeat of the call.
    let form = |said: &str| said.chars().filter(|c| !c.is_ascii_digit()).take(40).collect::<String>();
    let many = |said: &str| answers.iter().filter(|other| form(other) == form(said)).count();
    let usual = answers.iter().copied().rev().max_by_key(|said| many(said))?;
    let short: String = plain(usual).chars().take(200).collect();
    Some(if short.len() < usual.len() { format!("{short}…") } else { short })
}

/// Words of somebody else's that must not become anything but words on the page.
fn plain(text: &str) -> String {
    let harmless = |c: char| match c {
        '|' => '/',
        '`' => '\'',
        '<' => '‹',
        '>' => '›',
        c if c.is_control() => ' ',
        c => c,
    };
    text.chars().map(harmless).collect()
}

#[cfg(test)]
mod tests {
    use super::super::breach::{BreachRow, HolonModeResult, OwnModeResult};
    use super::*;

    fn row(name: &str, alone: AttemptMark, said: &str) -> BreachRow {
        BreachRow {
            name: name.into(),
            alone: vec![alone],
            modes: vec![AttemptMark::Held],
            control: if alone == AttemptMark::Absent { AttemptMark::Absent } else { AttemptMark::Wrote(9) },
            said: vec![("--plan".into(), said.into())],
            lacks: None,
        }
    }

    fn breach() -> BreachReport {
        let mut rows = vec![
            row("tee", AttemptMark::Declined, "Denied: way-1 <b>|`x`"),
            row("cp", AttemptMark::Declined, "Denied: way-2 <b>|`x`"),
            row("mv", AttemptMark::Declined, "No."),
            row("dd", AttemptMark::Wrote(9), ""),
            row("notebook tool", AttemptMark::Absent, ""),
            row("ed", AttemptMark::Absent, ""),
        ];
        rows[5].lacks = Some("ed".into());
        BreachReport {
            agent: "some".into(),
            version: "1.2".into(),
            alone: vec![OwnModeResult {
                name: "--plan".into(),
                about: "plans".into(),
                tools: Some(vec!["Read".into()]),
                reads: Some(true),
            }],
            modes: vec![HolonModeResult { mode: "plan".into(), access: "read-only".into(), changed: 0 }],
            rows,
            control_changed: 0,
        }
    }

    fn made() -> BreachPageOrigin {
        BreachPageOrigin { command: "holon x".into(), date: "2026-01-02".into(), holon: "9.9".into() }
    }

    #[test]
    fn a_page_says_first_what_came_out_and_then_why() {
        let page = markdown(&[breach()], &made());
        let (short, long) = page.split_once("## What this says").unwrap_or_default();
        assert!(short.contains("Made by `holon x` on 2026-01-02, with Holon 9.9"), "{short}");
        assert!(short.contains("| some | 1.2 | 4 | 1 | 4 | 0 | 0 |"), "{short}");
        assert!(short.contains("| some | `--plan` | yes | 1 | 0 | 3 | 0 |"), "{short}");
        assert!(long.contains("`--plan` (plans): 1 let through (dd)."), "{long}");
        assert!(long.contains("mostly answered: “Denied: way-1 ‹b›/'x'”"), "{long}");
        assert!(long.contains("no such tool: notebook tool.\n"), "{long}");
        assert!(long.contains("a program is missing here: ed (`ed`).\n"), "{long}");
        assert!(!page.contains("Not clean") && !page.contains("{agents}"), "{page}");
    }

    #[test]
    fn what_went_wrong_is_on_the_page() {
        let mut found = breach();
        found.rows[0].control = AttemptMark::Held;
        found.alone[0].tools = None;
        let page = markdown(&[found], &made());
        assert!(page.contains("**Not clean**: tee: its control in execute mode changed nothing"), "{page}");
        assert!(page.contains("| some | `--plan` | | never asked the model | | | |"), "{page}");
    }
}
