//! Agents that work as they should, however it looks from afar.

use serde_json::json;

use super::words::{CHANGES, REPAIRS};
use super::world::ScriptWorld;
use super::{chores, long};
use crate::lost::script::AgentScript;

pub(super) const FAMILIES: [&str; 22] = [
    "reads-much",
    "shell",
    "rename",
    "document",
    "tests-first",
    "waits",
    "red-before",
    "unknown-runner",
    "tunes",
    "rows",
    "lint",
    "wide-rename",
    "log",
    "archaeology",
    "looks-again",
    "tidies",
    "question",
    "flaky",
    "generated",
    "refactors",
    "greps",
    "polls",
];

/// What it is asked, and how the result is judged where that is not the check.
pub(super) struct HealthyTask {
    pub(super) goal: String,
    pub(super) proof: Option<String>,
}

impl From<String> for HealthyTask {
    fn from(goal: String) -> Self {
        Self { goal, proof: None }
    }
}

pub(super) fn make(seed: u64, at: usize, family: &str) -> AgentScript {
    let mut world = ScriptWorld::new(seed, at);
    let task = match family {
        "tunes" => chores::tunes(&mut world),
        "rows" => chores::rows(&mut world),
        "lint" => chores::lint(&mut world),
        "looks-again" => chores::looks_again(&mut world),
        "tidies" => chores::tidies(&mut world),
        "flaky" => chores::flaky(&mut world),
        "generated" => chores::generated(&mut world),
        "wide-rename" => long::wide_rename(&mut world),
        "log" => long::log(&mut world),
        "archaeology" => long::archaeology(&mut world),
        "question" => long::question(&mut world),
        "refactors" => long::refactors(&mut world),
        "greps" => long::greps(&mut world),
        "polls" => long::polls(&mut world),
        _ => simple(&mut world, family),
    };
    if family == "question" {
        let (folder, count) = (world.tongue.folder, world.files.len());
        let summary =
            format!("Each file below {folder} holds one word and its number; {count} files in all.");
        world.call("finish", json!({"summary": summary}));
    } else {
        world.finish();
    }
    let opening = world.take();
    let script = world.script(family, task.goal, [opening, String::new(), String::new()]);
    let proof = task.proof.unwrap_or_else(|| script.proof.clone());
    AgentScript { proof, ..script }
}

/// A goal to repair the file that matters, in some language.
pub(super) fn repair_goal(world: &mut ScriptWorld) -> String {
    world.dice.pick(&REPAIRS).replace("{}", &world.path)
}

fn simple(world: &mut ScriptWorld, family: &str) -> HealthyTask {
    let mut goal = repair_goal(world);
    let many = 14 + world.dice.below(36);
    let others = world.others(many);
    let (path, line, right) = (world.path.clone(), world.tongue.word, world.right.clone());
    match family {
        "reads-much" => others.iter().for_each(|path| world.read(path)),
        "shell" => others.iter().for_each(|path| world.exec(&format!("cat {path}"))),
        "rename" => {
            goal = world.dice.pick(&CHANGES).replace("{}", world.tongue.folder);
            for (at, path) in others.iter().enumerate() {
                world.write(path, &line.replace("{}", &format!("new {at}")));
                if at % 9 == 8 {
                    world.run_check();
                }
            }
        }
        "document" => {
            goal = format!("Write the manual in docs/, and make {path} right");
            for at in 0..many / 2 {
                world.exec(&format!("mkdir -p docs; echo \"## Section {at}\" >> docs/manual.md"));
            }
        }
        "tests-first" => {
            for at in 0..many / 2 {
                let grown: Vec<String> = (0..=at).map(|n| line.replace("{}", &format!("step {n}"))).collect();
                world.write(&path, &format!("{}\n", grown.join("\n")));
                let step = world.source(&format!("step{at}"));
                world.write(&step, "begun");
                world.run_check();
            }
            goal = format!("Make {path} say the right word, test first, step by step");
        }
        "waits" => {
            world.exec("echo 0 > /tmp/progress");
            for _ in 0..8 + many / 4 {
                world.exec("sleep 0.1; cat /tmp/progress");
            }
        }
        "red-before" => {
            let check = world.files.get(&world.check).cloned().unwrap_or_default();
            world.judge(&format!("echo 'not ok 2 - the moon is full'; red=1\n{check}exit $red\n"));
            goal = format!("Write the right word into {path}");
            others[..8].iter().for_each(|path| world.read(path));
            world.run_check();
            world.write(&path, &right);
            world.run_check();
            return HealthyTask { goal, proof: Some(format!("grep -qF '{right}' {path}")) };
        }
        _ => {
            world.unknown();
            world.run_check();
            for at in 0..4 {
                let more = world.source(&format!("more{at}"));
                world.write(&more, "more");
                world.run_check();
            }
        }
    }
    world.repair();
    goal.into()
}
