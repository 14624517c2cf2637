//! What is told of rounds that had to go: goal, mode, to-dos, changes, failures, decisions.

use std::fmt::Write as _;

use holon_core::event::TodoStatus;

use crate::conversation::AgentConversation;
use crate::text::{head, shorten, tail};

/// How much of each kind is told.
struct SummaryBudget {
    goal: usize,
    todo: usize,
    tail: usize,
    failures: usize,
    files: usize,
    asked: usize,
    words: usize,
}

/// From generous to terse; the first that fits is taken.
const MEASURES: [SummaryBudget; 4] = [
    SummaryBudget { goal: 16_000, todo: 300, tail: 800, failures: 10, files: 200, asked: 2_000, words: 10 },
    SummaryBudget { goal: 6_000, todo: 200, tail: 500, failures: 5, files: 60, asked: 800, words: 4 },
    SummaryBudget { goal: 2_500, todo: 100, tail: 250, failures: 3, files: 20, asked: 250, words: 2 },
    SummaryBudget { goal: 1_200, todo: 60, tail: 100, failures: 3, files: 8, asked: 120, words: 0 },
];

/// The summary, below `most` bytes if that is possible at all.
pub(crate) fn summary(conversation: &AgentConversation, mode: &str, most: u64) -> String {
    let mut told = String::new();
    for measure in &MEASURES {
        told = tell(conversation, mode, measure);
        if u64::try_from(told.len()).is_ok_and(|bytes| bytes <= most) {
            break;
        }
    }
    told
}

fn tell(conversation: &AgentConversation, mode: &str, measure: &SummaryBudget) -> String {
    let facts = &conversation.facts;
    let mut text =
        String::from("[Earlier rounds were left out to make room. This is what matters of them.]\n");
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = writeln!(text, "\n## {title}\n{}", lines.join("\n"));
        }
    };
    section("The goal", vec![shorten(conversation.goal.trim_start_matches("# Goal").trim(), measure.goal)]);
    section("Mode", vec![mode.to_owned()]);
    let newest = |list: &[String], count: usize, bytes: usize| -> Vec<String> {
        list.iter()
            .skip(list.len().saturating_sub(count))
            .map(|said| format!("- {}", head(said, bytes)))
            .collect()
    };
    section("Said by the user since", newest(&facts.asked, 10, measure.asked));
    let todos = conversation.todos.iter().map(|todo| {
        let mark = match todo.status {
            TodoStatus::Pending => "[ ]",
            TodoStatus::Doing => "[~]",
            TodoStatus::Done => "[x]",
        };
        format!("{mark} {}", head(&todo.text, measure.todo))
    });
    section("To do", todos.collect());
    let mut files: Vec<String> = facts
        .changed
        .iter()
        .map(|(path, change)| {
            let what = match (&change.before, &change.after) {
                (None, _) => "new",
                (_, None) => "removed",
                _ => "changed",
            };
            format!("- {path} ({what})")
        })
        .collect();
    if files.len() > measure.files {
        let more = files.len() - measure.files;
        files.truncate(measure.files);
        files.push(format!("- and {more} more"));
    }
    section("Files changed so far", files);
    let failures = facts.failures.iter().skip(facts.failures.len().saturating_sub(measure.failures));
    let failures = failures.map(|failure| {
        let output = tail(&failure.tail, measure.tail).replace('\n', "\n  ");
        format!("- `{}`: {}\n  {output}", failure.command, failure.how)
    });
    section("Still failing", failures.collect());
    section("Last command that passed", facts.passed.iter().map(|line| format!("`{line}`")).collect());
    section("Decided", newest(&facts.decisions, measure.words.max(3), 300));
    section("Handed over already", facts.handed.iter().map(|name| format!("- {name}")).collect());
    section("What you said last", newest(&facts.said, measure.words, 300));
    text.push_str("\nFiles can be read again and commands repeated.");
    text
}
