//! One text, sentence by sentence.

use super::ledger::{TruthLedger, begins};

/// How many sentences a text has, and what is wrong with them.
pub(super) fn examine(ledger: &TruthLedger, text: &str) -> (u64, Vec<String>) {
    let (mut count, mut untrue) = (0, Vec::new());
    let (mut passes, mut fails) = (Vec::new(), Vec::new());
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "Facts:") {
        count += 1;
        if let Err(why) = one(ledger, line) {
            untrue.push(format!("{why}: {line}"));
        }
        let Some(command) = line.strip_prefix("- ").and_then(quoted) else { continue };
        if line.ends_with("` passes") {
            passes.push(command);
        } else if !line.contains("(before the last change)") {
            fails.push(command);
        }
    }
    if let Some(both) = passes.iter().find(|command| fails.contains(command)) {
        untrue.push(format!("`{both}` passes and fails in one text"));
    }
    (count, untrue)
}

type SentenceResult = Result<(), String>;

fn hold(holds: bool, why: impl Into<String>) -> SentenceResult {
    if holds { Ok(()) } else { Err(why.into()) }
}

fn one(ledger: &TruthLedger, line: &str) -> SentenceResult {
    if let Some(head) = line.strip_prefix("[System Recovery] ") {
        return heading(ledger, head);
    }
    if let Some(goal) = line.strip_prefix("Goal: ") {
        return hold(goal.trim() == ledger.goal.lines().next().unwrap_or_default().trim(), "another goal");
    }
    if let Some(reasons) = line.strip_prefix("Noticed: ") {
        return noticed(ledger, reasons);
    }
    if let Some(fact) = line.strip_prefix("- ") {
        return fact_line(ledger, fact);
    }
    if let Some(step) = line.strip_prefix("Next step: ") {
        return next(ledger, step.trim_end_matches('.'));
    }
    if let Some(list) = line.strip_prefix("In vain so far: ") {
        return in_vain(ledger, list.trim_end_matches('.'));
    }
    if let Some(rest) = line.strip_prefix("Not executed: `") {
        return not_executed(ledger, rest);
    }
    if let Some(rest) = line.strip_prefix("Not verified: ") {
        return not_verified(ledger, rest);
    }
    if let Some(paths) = line.strip_prefix("only tests were changed to make the check pass: ") {
        let differing = ledger.differing();
        let wrong = paths.split(", ").find(|path| !differing.contains(path));
        return hold(wrong.is_none(), format!("{wrong:?} is as it was"));
    }
    // The host's own word for itself; the model is answered after the check.
    if line == "a check is run first" {
        return hold(!ledger.checks.is_empty(), "there is none");
    }
    // The plan: its own words, and how much of it is done.
    let plan = ["Plan, ", "[TaskGraph] Current step: ", "Progress: ", "Note: the current step is "];
    let step = line.starts_with('[') && line.get(2..4) == Some("] ");
    hold(step || plan.iter().any(|head| line.starts_with(head)), "not understood")
}

fn heading(ledger: &TruthLedger, head: &str) -> SentenceResult {
    match head {
        "The supervisor leads this run until it is back on its way." | "Advice from what is known." => Ok(()),
        "The work is not done." => hold(ledger.said_done > 0, "nobody said that it was"),
        _ => match (head.strip_prefix("Noticed: "), head.strip_prefix("Called again: `")) {
            (Some(reasons), _) => noticed(ledger, reasons),
            (None, Some(rest)) => not_executed(ledger, rest),
            (None, None) => Err("not understood".to_owned()),
        },
    }
}

fn noticed(ledger: &TruthLedger, reasons: &str) -> SentenceResult {
    reasons.trim_end_matches('.').split("; ").try_for_each(|reason| reason_holds(ledger, reason))
}

fn reason_holds(ledger: &TruthLedger, reason: &str) -> SentenceResult {
    let n = first_number(reason).unwrap_or(0);
    let last = |n: u64| ledger.rounds.iter().rev().take(usize::try_from(n).unwrap_or(usize::MAX));
    let at_least = |count: u64, what: &str| hold(count >= n, format!("{count} {what}"));
    if reason.starts_with("the same failure ") {
        return at_least(most_alike(ledger), "failures that are alike");
    }
    if reason.ends_with("brought nothing that was not known") {
        let new: u64 = last(n).map(|round| round.news).sum();
        at_least(ledger.rounds.len() as u64, "rounds in all")?;
        return hold(new == 0, format!("they brought {new} things that were not known"));
    }
    if reason.starts_with("a check failed as before ") {
        return at_least(
            ledger.checked.iter().filter(|check| !check.ok).count() as u64,
            "failures of checks",
        );
    }
    if reason.ends_with("rounds changed files and no check turned greener") {
        return at_least(ledger.rounds.iter().filter(|round| round.changed).count() as u64, "such rounds");
    }
    if reason.ends_with("rounds rewrote what a passing check had accepted") {
        let such = ledger.rounds.iter().filter(|round| round.changed && round.after_green);
        return at_least(such.count() as u64, "such rounds");
    }
    if reason.ends_with("calls could not be read") {
        return at_least(ledger.malformed, "such calls");
    }
    if reason.ends_with("replies in a row were empty") {
        let empty = ledger.rounds.iter().rev().take_while(|round| round.empty).count() as u64;
        return at_least(empty, "such replies");
    }
    if reason.ends_with("of what this run may use is used") {
        let share = |used: u64, limit: u64| used.saturating_mul(100).checked_div(limit).unwrap_or(0);
        let used = share(ledger.rounds.len() as u64 + 1, ledger.round_limit)
            .max(share(ledger.tokens, ledger.token_limit));
        return at_least(used, "% at most");
    }
    match reason {
        "a person asked for it" => hold(ledger.asked > 0, "nobody did"),
        _ => Err(format!("not understood ({reason})")),
    }
}

/// The most failures that tell the same once their numbers are left out, whatever was called.
fn most_alike(ledger: &TruthLedger) -> u64 {
    let mut counts = std::collections::BTreeMap::<String, u64>::new();
    let plain = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    for ran in ledger.ran.iter().filter(|ran| !ran.ok && !ran.check) {
        // Any line may be the one that tells.
        let lines: std::collections::BTreeSet<String> =
            ran.error.lines().map(|line| plain(line.trim())).filter(|line| !line.is_empty()).collect();
        let whole = if lines.is_empty() { [format!("exit {:?}", ran.exit)].into() } else { lines };
        whole.into_iter().for_each(|line| *counts.entry(line).or_default() += 1);
    }
    for check in ledger.checked.iter().filter(|check| !check.ok) {
        *counts.entry(format!("{} {:?}", check.command, check.failing)).or_default() += 1;
    }
    counts.into_values().max().unwrap_or(0)
}

fn fact_line(ledger: &TruthLedger, fact: &str) -> SentenceResult {
    if fact == "no file was changed" {
        return hold(ledger.version == 0, "files were");
    }
    if fact == "no check that is known has run" {
        return hold(ledger.checked.is_empty(), "one has");
    }
    if let Some(rest) = fact.strip_prefix("changed files (") {
        let (count, paths) = rest.split_once("): ").ok_or("not understood")?;
        let differing = ledger.differing();
        let said: u64 = count.parse().map_err(|_| "no number")?;
        hold(said > 0, "none is")?;
        changed_count(ledger, said)?;
        let wrong = paths.split(", ").find(|path| !differing.contains(path));
        return hold(wrong.is_none(), format!("{wrong:?} is as it was"));
    }
    if let Some((count, what)) = fact.split_once(" times: ") {
        let count: u64 = count.parse().map_err(|_| "no number")?;
        let folded: Vec<&str> = what.split('#').map(str::trim).filter(|part| !part.is_empty()).collect();
        let like = |text: &str| folded.iter().all(|part| squeezed(text).contains(&squeezed(part)));
        let calls =
            ledger.ran.iter().filter(|ran| !ran.ok && (like(&ran.error) || what.starts_with("exit ")));
        let checks = ledger.checked.iter().filter(|check| !check.ok && what.contains(&check.command));
        let found = (calls.count() as u64).max(checks.count() as u64);
        return hold(found >= count, format!("{found} times"));
    }
    let command = quoted(fact).ok_or("not understood")?;
    let rest = &fact[command.len() + 2..];
    if rest == " passes" {
        let check = ledger.last_check(command).ok_or("it never ran")?;
        return hold(check.ok && check.version == ledger.version, "not on the state as it is");
    }
    if let Some(said) = rest.strip_prefix(" failed when it last ran") {
        let ran = ledger.last_run(command).ok_or("it never ran")?;
        hold(!ran.ok, "it passed")?;
        return told_in(said.trim_start_matches(": "), &ran.error);
    }
    let check = ledger.last_check(command).ok_or("it never ran")?;
    hold(!check.ok, "it passed")?;
    let stale = rest.starts_with(" (before the last change)");
    hold(stale == (check.version != ledger.version), "the time is wrong")?;
    let rest = rest.trim_start_matches(" (before the last change)").trim_start_matches(": ");
    let rest = rest.trim_end_matches("; it failed before this run, too");
    let (count, cases) = rest.split_once(": ").unwrap_or((rest, ""));
    if let Some(count) = count.strip_suffix(" failing") {
        hold(count.parse() == Ok(check.failed), format!("{} failed", check.failed))?;
        return cases_hold(cases, check);
    }
    hold(count == "fails", "not understood")
}

/// Files that were changed, counted with those that are as they were again, or without.
fn changed_count(ledger: &TruthLedger, said: u64) -> SentenceResult {
    let counts = [ledger.differing().len() as u64, ledger.touched() as u64];
    hold(counts.contains(&said), format!("{counts:?} were changed"))
}

fn cases_hold(cases: &str, check: &super::ledger::CountedCheck) -> SentenceResult {
    // A name may hold a comma itself.
    let whole = check.failing.iter().all(|name| !name.contains(", "));
    let wrong = cases.split(", ").find(|case| whole && !case.is_empty() && !check.failing.contains(*case));
    hold(wrong.is_none(), format!("{wrong:?} did not fail"))
}

fn next(ledger: &TruthLedger, step: &str) -> SentenceResult {
    let words = [
        "settle the repository first",
        "repair what makes `",
        "find out why ",
        "run `",
        "answer with what you know",
        "run something that shows",
        "make the change that the goal asks for",
    ];
    if let Some(command) = quoted(step) {
        let check = ledger.last_check(command).ok_or("it never ran")?;
        hold(check.ok && check.version == ledger.version, "it does not pass on the state as it is")?;
        return hold(step.contains("finish with a summary"), "not understood");
    }
    hold(words.iter().any(|start| step.starts_with(start)), "not understood")?;
    let Some((_, after)) = step.split_once('`') else { return Ok(()) };
    let command = after.split('`').next().unwrap_or_default();
    hold(ledger.knows(command), "no such command is known")?;
    if step.starts_with("repair what makes ") {
        let check = ledger.last_check(command).map(|check| check.ok);
        let ran = ledger.last_run(command).map(|ran| ran.ok);
        return hold(check.or(ran) == Some(false), "it does not fail");
    }
    Ok(())
}

fn in_vain(ledger: &TruthLedger, list: &str) -> SentenceResult {
    for part in list.split(" times on this state)").filter(|part| !part.trim().is_empty()) {
        let (label, count) = part.rsplit_once(" (").ok_or("not understood")?;
        let label = label.trim_start_matches("; ").trim_matches('`');
        let found = ledger.vain(label);
        hold(count.parse::<u64>().is_ok_and(|count| count <= found), format!("{found} times"))?;
    }
    Ok(())
}

fn not_executed(ledger: &TruthLedger, rest: &str) -> SentenceResult {
    let (label, rest) = rest.split_once("` failed ").ok_or("not understood")?;
    let count = first_number(rest).ok_or("no number")?;
    let number = usize::try_from(count).unwrap_or(usize::MAX);
    let own: Vec<_> = ledger.ran.iter().rev().take(number).collect();
    hold(own.len() == number, "it did not run so often")?;
    hold(own.iter().all(|ran| begins(&ran.label, label) && !ran.ok), "something else ran in between")?;
    hold(own.iter().all(|ran| ran.version == ledger.version), "a file was changed in between")?;
    let Some((_, code)) = rest.split_once("with exit code ") else { return Ok(()) };
    let code = first_number(code).and_then(|code| i64::try_from(code).ok());
    hold(own.iter().all(|ran| ran.exit == code), "another exit code")
}

fn not_verified(ledger: &TruthLedger, rest: &str) -> SentenceResult {
    let (facts, step) = rest.split_once(" Next step: ").ok_or("it says no next step")?;
    if let Some((failed, tests)) = facts.split_once(" failed, and then what checks the work was changed: ") {
        let differing = ledger.differing();
        let wrong = tests.trim_end_matches('.').split(", ").find(|path| !differing.contains(path));
        hold(wrong.is_none(), format!("{wrong:?} is as it was"))?;
        let ever = match quoted(failed) {
            Some(command) => ledger.ran.iter().any(|ran| begins(&ran.label, command) && !ran.ok),
            None => ledger.checked.iter().any(|check| !check.ok),
        };
        return hold(ever, "nothing failed");
    }
    if facts == "every file is again as it was." {
        return hold(ledger.differing().is_empty() && ledger.version > 0, "not every one is");
    }
    let files =
        if facts.starts_with("no file was changed") { 0 } else { first_number(facts).ok_or("no number")? };
    changed_count(ledger, files)?;
    let command = facts.split('`').nth(1).unwrap_or_default();
    let check = ledger.last_check(command);
    let fresh = check.filter(|check| check.version == ledger.version);
    if facts.contains("has not run on the current state") {
        return hold(fresh.is_none() && ledger.knows(command), "it has");
    }
    if facts.contains("fails on the current state") {
        hold(fresh.is_some_and(|check| !check.ok), "it does not")?;
        let cases = facts.split("on the current state: ").nth(1).unwrap_or_default();
        let cases = cases.split(". ").next().unwrap_or_default().trim_end_matches('.');
        return fresh
            .filter(|check| !check.failing.is_empty())
            .map_or(Ok(()), |check| cases_hold(cases, check));
    }
    if facts.contains("that is luck") {
        return hold(fresh.is_some_and(|check| check.ok), "it did not pass");
    }
    if facts.contains("failed when it last ran") {
        return hold(ledger.last_run(command).is_some_and(|ran| !ran.ok), "it passed");
    }
    if facts.contains("and nothing has run.") {
        return hold(ledger.ran.iter().all(|ran| ran.exit.is_none()), "something has");
    }
    let shown = facts.contains("nothing has run since the last change") && step.starts_with("run something");
    let ran = ledger.ran.last().is_some_and(|ran| ran.version == ledger.version && ran.exit.is_some());
    hold(shown && !ran, "not so, or not understood")
}

/// Whether what was printed holds the line that is quoted from it.
fn told_in(line: &str, text: &str) -> SentenceResult {
    let line = line.trim_end_matches('…');
    hold(line.is_empty() || squeezed(text).contains(&squeezed(line)), "it did not say that")
}

fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !c.is_ascii_digit()).collect()
}

/// What stands between the first two backticks, at the beginning.
fn quoted(text: &str) -> Option<&str> {
    text.strip_prefix('`').and_then(|rest| rest.split('`').next())
}

fn first_number(text: &str) -> Option<u64> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let digits: String = text[start..].chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}
