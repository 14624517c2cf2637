//! Agents that get lost: families of circles.

use serde_json::json;

use super::words::{NAMES, REPAIRS};
use super::world::ScriptWorld;
use crate::lost::script::AgentScript;

pub(super) const FAMILIES: [&str; 20] = [
    "repeats",
    "rereads",
    "alternates",
    "circles",
    "spreads",
    "wanders",
    "says-done",
    "to-and-fro",
    "searches",
    "polishes",
    "malformed",
    "empty",
    "guts",
    "wrong-file",
    "undoes",
    "longer",
    "declares",
    "parts",
    "copy",
    "installs",
];

pub(super) fn make(seed: u64, at: usize, family: &str) -> AgentScript {
    let mut world = ScriptWorld::new(seed, at);
    let goal = world.dice.pick(&REPAIRS).replace("{}", &world.path);
    let reads = 3 + world.dice.below(12);
    let others = world.others(reads);
    for path in &others[..world.dice.below(reads)] {
        world.read(path);
    }
    before(&mut world, family);
    let opening = world.take();
    circle(&mut world, family, &others);
    let circle = world.take();
    if family == "guts" {
        let check = world.check.clone();
        world.exec(&format!("git checkout {check}"));
    }
    world.repair();
    world.finish();
    let repair = world.take();
    let (path, polishes) = (world.path.clone(), family == "polishes");
    let mut script = world.script(family, goal, [opening, circle, repair]);
    if polishes {
        // What was asked for is there; what is in vain is everything after it, and it may not stay.
        script.proof = format!("make test && [ $(wc -l < {path}) -le 3 ]");
        script.names.clear();
    }
    script
}

/// What comes before the circle.
fn before(world: &mut ScriptWorld, family: &str) {
    let path = world.path.clone();
    match family {
        "polishes" => world.repair(),
        "guts" => world.run_check(),
        "wrong-file" => {
            let (twin, line) = (twin(world), world.tongue.word.replace("{}", "wrong"));
            world.file(&twin, format!("{line}\n"));
            world.run_check();
            world.read(&twin);
        }
        "undoes" | "longer" => {
            // Nobody knows how it is checked but by seeing it.
            if world.dice.below(2) == 0 {
                world.unknown();
            }
            world.run_check();
            world.read(&path);
        }
        "parts" => {
            let lines = (1..=400).map(|n| format!("{} entry {n} of the table\n", world.tongue.comment));
            let lines: String = lines.collect();
            let big = world.source("table");
            world.file(big, lines);
        }
        "copy" => world.exec("rm -rf /tmp/work && cp -r . /tmp/work && ls /tmp/work"),
        _ => {}
    }
}

/// A file that is easily taken for the one that matters.
fn twin(world: &ScriptWorld) -> String {
    world.path.replacen(world.tongue.folder, "old", 1)
}

fn circle(world: &mut ScriptWorld, family: &str, others: &[String]) {
    let (path, line, right) = (world.path.clone(), world.tongue.word, world.right.clone());
    let name = *world.dice.pick(&NAMES);
    match family {
        "repeats" => world.run_check(),
        "rereads" => others.iter().for_each(|path| world.read(path)),
        "alternates" => {
            world.read(&others[0]);
            world.exec(&format!("wc -l {path}"));
        }
        "circles" => {
            world.write(&path, &line.replace("{}", "try {n}"));
            world.run_check();
        }
        "spreads" => world.write("notes/more{n}.md", "More about it."),
        "wanders" => world.exec("cat nowhere/at-all"),
        "says-done" => {
            world.read(&path);
            world.finish();
        }
        "searches" => {
            world.call("grep", json!({"pattern": format!("{name}_{{n}}")}));
            world.exec(&format!("grep -rn 'handle_{name}_{{n}}' {}", world.tongue.folder));
            world.call("glob", json!({"pattern": format!("**/*{name}{{n}}*")}));
        }
        "polishes" => {
            let comment = world.tongue.comment;
            world.exec(&format!("echo '{comment} A remark that makes it nicer, {{n}}' >> {path}"));
            world.run_check();
        }
        "malformed" => {
            world.add(&json!({"reply": [{"tool": "write_file", "raw": format!("{{\"path\": \"{path}\", \"content\": ")}]}));
            world.call("write_file", json!({"file": [path.clone()], "text": {"lines": ["try {n}"]}}));
            world.call("str_replace_editor", json!({"command": "view", "path": path}));
        }
        "empty" => world.add(&json!({"text": ""})),
        "guts" => {
            let check = world.check.clone();
            world.write(&check, "# Simpler, {n}.\necho fine\nexit 0\n");
            world.run_check();
            world.finish();
        }
        "wrong-file" => {
            let twin = twin(world);
            world.write(&twin, &line.replace("{}", "try {n}"));
            world.run_check();
        }
        "undoes" => {
            let (wrong, other) = (line.replace("{}", "wrong"), line.replace("{}", name));
            world.edit(&path, &wrong, &other);
            world.run_check();
            world.edit(&path, &other, &wrong);
            world.run_check();
        }
        "longer" => {
            let command = world.command.clone();
            world.exec(&format!("cd . && env STEP={{n}} {command} && echo 'that was {{n}}'"));
            world.exec(&format!(
                "set -e; date > /tmp/at-{{n}}; for i in 1 2 3; do {command}; done; echo {{n}}"
            ));
        }
        "declares" => world.call("finish", json!({"summary": format!("{path} is right now ({{n}}).")})),
        "parts" => {
            let big = world.source("table");
            for part in 0..4 {
                world.read_part(&big, part * 100 + 1, 100);
            }
        }
        "copy" => {
            let command = world.command.clone();
            world.exec(&format!("printf '%s\\n' '{right}' > /tmp/work/{path} && cd /tmp/work && {command}"));
            world.finish();
        }
        "installs" => {
            world.exec(&format!("apt-get install -y {name}-tools-{{n}}"));
            world.exec(&format!("command -v {name}-tools-{{n}} || {{ echo '{name}-tools-{{n}}: not installed' >&2; exit 127; }}"));
        }
        _ => {
            world.write(&path, &line.replace("{}", "left"));
            world.write(&path, &line.replace("{}", "right"));
        }
    }
}
