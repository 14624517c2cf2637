//! `bench tasks`: small repositories with a real model, Holon's own agent beside others, hidden tests deciding.

mod contender;
mod endpoint;
mod grade;
mod http;
mod interval;
mod limited;
pub(crate) mod options;
mod outcome;
mod play;
mod proxy;
mod recording;
mod selfcheck;
mod task;
mod usage;
mod workspace;

use std::process::ExitCode;

use serde_json::json;

use crate::machine::Machine;
use crate::scratch::BenchContext;
use crate::{BenchFailure, record, seclusion};
use endpoint::MeasuredEndpoint;
use options::TaskOptions;
use play::{RepliesFrom, TaskRing};
use task::MeasuredTask;

/// Plays or checks the tasks that were chosen.
pub(crate) fn run(options: &TaskOptions) -> Result<ExitCode, BenchFailure> {
    let mut tasks = task::load(&options.tasks)?;
    tasks.retain(|task| chosen(task, &options.only));
    if tasks.is_empty() {
        return Err(format!("no task is called {}", options.only.join(" or ")));
    }
    if options.selfcheck {
        let home = tempfile::tempdir().map_err(|e| format!("cannot make a temporary folder: {e}"))?;
        let sound = selfcheck::run(&tasks, home.path())?;
        return Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    // Said before anything is prepared, and before the process starts itself again.
    let (replies, model) = match &options.replay {
        Some(folder) => (RepliesFrom::Recorded(folder.clone()), recording::model(folder)?),
        None => {
            let endpoint = MeasuredEndpoint::from_environment()?;
            let model = endpoint.model()?;
            (RepliesFrom::Asked { endpoint, record: options.record.clone() }, model)
        }
    };
    seclusion::enter()?;
    measure(options, tasks, replies, model)
}

fn measure(
    options: &TaskOptions,
    mut tasks: Vec<MeasuredTask>,
    replies: RepliesFrom,
    model: String,
) -> Result<ExitCode, BenchFailure> {
    let bench = BenchContext::new(false)?;
    let machine = Machine::look(&bench.holon);
    println!("{machine}");
    let (contenders, missing) = contender::gather(&bench.holon, &options.levels, &options.agents)?;
    for agent in &missing {
        println!("left out: {agent}");
    }
    task::shuffle(&mut tasks, options.seed);
    let skipped: Vec<String> = tasks
        .iter()
        .filter_map(|task| task.lacks().map(|program| format!("{}: there is no {program} here", task.name)))
        .collect();
    for task in &skipped {
        println!("skipped: {task}");
    }
    tasks.retain(|task| task.lacks().is_none());
    if let (RepliesFrom::Asked { .. }, Some(folder)) = (&replies, &options.record) {
        recording::begin(folder, &model)?;
    }
    println!(
        "{} tasks, {} skipped, {} agents, model {model}, seed {}",
        tasks.len(),
        skipped.len(),
        contenders.len(),
        options.seed
    );
    let limit_seconds = options.limit_seconds;
    let ring = TaskRing { folder: bench.folder().to_owned(), model: model.clone(), replies, limit_seconds };
    let (outcomes, notes) = ring.play(&tasks, &contenders)?;
    println!();
    let tables = [outcome::by_task(&outcomes), outcome::by_agent(&outcomes)];
    for line in tables.join(&String::new()) {
        println!("  {line}");
    }
    let estimated: u64 = outcomes.iter().map(|outcome| outcome.tally.estimated_calls).sum();
    if estimated > 0 {
        println!(
            "  ~ {estimated} replies do not say how many tokens they are; four bytes are taken for one there"
        );
    }
    for note in &notes {
        println!("  {note}");
    }
    let mut result = outcome::to_json(&outcomes);
    let about = json!({
        "suite": "tasks", "date": jiff::Timestamp::now().to_string(), "machine": machine, "model": model,
        "seed": options.seed, "limit_seconds": limit_seconds, "replayed": options.replay.is_some(),
        "skipped": skipped, "left_out": missing, "notes": notes,
    });
    if let (Some(result), Some(about)) = (result.as_object_mut(), about.as_object()) {
        result.extend(about.clone());
    }
    record::write("tasks", &result)?;
    Ok(ExitCode::SUCCESS)
}

fn chosen(task: &MeasuredTask, only: &[String]) -> bool {
    let fits = |word: &String| {
        task.name.starts_with(word.as_str()) || task.kind.name() == word || task.language == *word
    };
    only.is_empty() || only.iter().any(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_chosen_by_name_kind_and_language() {
        let count = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(|word| (*word).to_owned()).collect();
            task::own().iter().filter(|task| chosen(task, &only)).count()
        };
        assert_eq!(count(&["python-pager"]), 1);
        assert_eq!(count(&["ask", "plan"]), 8);
        assert!(count(&["rust"]) > count(&["rust-"]));
        assert_eq!(count(&["cobol"]), 0);
        assert_eq!(count(&[]), task::own().len());
    }
}
