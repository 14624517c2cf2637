//! Whether the tasks can be trusted: each fails as it is given, and passes as it is solved.

use std::path::Path;

use super::grade;
use super::task::{MeasuredTask, TaskKind};
use super::workspace::{self, GradingHome, gist};
use crate::BenchFailure;

/// What is wrong with one task; nothing when it is sound.
pub(crate) fn complaints(task: &MeasuredTask, judge: &GradingHome) -> Result<Vec<String>, BenchFailure> {
    if task.kind == TaskKind::Change { changes(task, judge) } else { answers(task) }
}

/// The check and the hidden tests fail on the repository, and both pass with the solution.
fn changes(task: &MeasuredTask, judge: &GradingHome) -> Result<Vec<String>, BenchFailure> {
    let mut found = Vec::new();
    for (parts, line, expected) in [
        (&["repo"][..], &task.check, false),
        (&["repo", "solution"], &task.check, true),
        (&["repo", "hidden"], &task.hidden, false),
        (&["repo", "solution", "hidden"], &task.hidden, true),
    ] {
        let place = tempfile::tempdir().map_err(|e| format!("cannot make a temporary folder: {e}"))?;
        for part in parts {
            workspace::lay(&task.part(part), place.path())?;
        }
        let ended = judge.run(task, line, place.path())?;
        if ended.good() != expected {
            let should = if expected { "should pass" } else { "should fail" };
            found.push(format!(
                "{}: `{line}` on {} {should}: {}",
                task.name,
                parts.join(" + "),
                gist(&ended)
            ));
        }
    }
    Ok(found)
}

/// The right answer is right, the wrong one is not, and what is pointed at is there.
fn answers(task: &MeasuredTask) -> Result<Vec<String>, BenchFailure> {
    let read = |path: &Path| {
        std::fs::read_to_string(path)
            .map_err(|e| format!("{}: cannot read {}: {e}", task.name, path.display()))
    };
    let mut found = Vec::new();
    for (name, good) in [("right.md", true), ("wrong.md", false)] {
        let text = read(&task.part(name))?;
        let complaint = grade::complaint(task, &text, &grade::findings_of_prose(&text));
        if complaint.is_none() != good {
            found.push(format!("{}: {name} is judged wrongly: {complaint:?}", task.name));
        }
    }
    for defect in &task.defects {
        let text = read(&task.part("repo").join(&defect.path))?;
        let base = read(&task.part("base").join(&defect.path))?;
        let line = usize::try_from(defect.line).ok().and_then(|line| text.lines().nth(line.checked_sub(1)?));
        if line.is_none_or(|line| base.lines().any(|old| old == line) && defect.within == 0) {
            found.push(format!("{}: nothing new at {}:{}", task.name, defect.path, defect.line));
        }
    }
    Ok(found)
}

/// Checks all of them and says so; true when every task that could be checked is sound.
pub(crate) fn run(tasks: &[MeasuredTask], home: &Path) -> Result<bool, BenchFailure> {
    let judge = GradingHome::new(home)?;
    let (mut sound, mut skipped, mut bad) = (0, 0, 0);
    for task in tasks {
        if let Some(program) = task.lacks() {
            println!("  skipped   {}: there is no {program} here", task.name);
            skipped += 1;
            continue;
        }
        let complaints = complaints(task, &judge)?;
        let word = if complaints.is_empty() { "sound" } else { "NOT SOUND" };
        println!("  {word:<9} {}", task.name);
        for complaint in &complaints {
            println!("            {complaint}");
        }
        if complaints.is_empty() { sound += 1 } else { bad += 1 }
    }
    println!(
        "{sound} tasks are sound, {bad} are not, {skipped} were skipped because their language is missing here"
    );
    Ok(bad == 0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::task;
    use super::*;

    /// Compilers take long; `bench tasks --selfcheck` asks them too.
    const QUICK: [&str; 5] = ["javascript", "perl", "python", "ruby", "shell"];

    #[test]
    fn tasks_fail_as_given_and_pass_as_solved() {
        let home = tempfile::tempdir().unwrap();
        let judge = GradingHome::new(home.path()).unwrap();
        let mut found = Vec::new();
        for task in task::own() {
            if task.kind == TaskKind::Change && !QUICK.contains(&task.language.as_str()) {
                continue;
            }
            match task.lacks() {
                Some(program) => println!("SKIPPED {}: there is no {program} here", task.name),
                None => found.extend(complaints(&task, &judge).unwrap()),
            }
        }
        assert!(found.is_empty(), "{found:?}");
    }
}
