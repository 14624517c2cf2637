//! Long ways: many files, long logs, old commits, searches, waiting.

use std::collections::BTreeMap;

use serde_json::json;

use super::healthy::{HealthyTask, repair_goal};
use super::words::{NAMES, QUESTIONS, WORDS};
use super::world::ScriptWorld;
use crate::lost::script::ScriptCommit;

/// One name becomes another in every file.
pub(super) fn wide_rename(world: &mut ScriptWorld) -> HealthyTask {
    let count = 12 + world.dice.below(20);
    let (old, new) = ("fetchAll", "loadEvery");
    let paths: Vec<String> = (0..count).map(|at| world.source(&format!("{}{at}", NAMES[at % 24]))).collect();
    for (at, path) in paths.iter().enumerate() {
        let comment = world.tongue.comment;
        let text = format!("{comment} {old} for {at}\n{}", world.function(&format!("{old}{at}"), at));
        world.file(path, text);
    }
    let folder = world.tongue.folder;
    let said = *world.dice.pick(&["files left", "Dateien übrig", "个文件未改", "ファイル残り"]);
    world.judge(&format!(
        "n=$(grep -rl {old} {folder} | wc -l)\necho \"$n {said}\"\n\
         [ $n -eq 0 ] && [ $(grep -rl {new} {folder} | wc -l) -eq {count} ]\n"
    ));
    world.call("grep", json!({"pattern": old}));
    for (at, path) in paths.iter().enumerate() {
        world.exec(&format!("sed -i 's/{old}/{new}/g' {path}"));
        match at % 5 {
            2 => world.exec(&format!("grep -n {new} {path}")),
            4 => world.run_check(),
            _ => {}
        }
    }
    world.run_check();
    format!("Rename {old} to {new} everywhere below {folder}").into()
}

/// A log, part by part.
pub(super) fn log(world: &mut ScriptWorld) -> HealthyTask {
    let parts = 9 + world.dice.below(9);
    let lines = parts * 80;
    let cause = lines - 20 - world.dice.below(40);
    let (right, path) = (world.right.clone(), world.path.clone());
    let text: String = (1..=lines)
        .map(|n| {
            let (minute, second) = (n / 60 % 60, n % 60);
            if n == cause {
                format!("09:{minute:02}:{second:02} ERROR {path} does not say: {right}\n")
            } else {
                format!(
                    "09:{minute:02}:{second:02} INFO worker-{} did job {} in {} ms\n",
                    n % 7,
                    n * 13,
                    n * 31 % 97
                )
            }
        })
        .collect();
    world.file("logs/run.log", text);
    world.exec("wc -l logs/run.log");
    let shell = world.dice.below(2) == 0;
    for part in 0..parts {
        let first = part * 80 + 1;
        if shell {
            world.exec(&format!("sed -n '{first},{}p' logs/run.log", first + 79));
        } else {
            world.read_part("logs/run.log", first, 80);
        }
    }
    world.repair();
    let goal = world.dice.pick(&[
        "Read logs/run.log, find out what is wrong and repair it",
        "Lies logs/run.log, finde die Ursache und behebe sie",
        "看 logs/run.log,找出原因并修复",
        "logs/run.log を読んで原因を直してください",
    ]);
    (*goal).to_owned().into()
}

/// What was when, commit by commit.
pub(super) fn archaeology(world: &mut ScriptWorld) -> HealthyTask {
    let count = 10 + world.dice.below(12);
    let (path, line) = (world.path.clone(), world.tongue.word);
    let turned = world.dice.below(count / 2);
    for n in 0..count {
        let text = match n {
            _ if n < turned => line.replace("{}", WORDS[n % 12]),
            _ if n == turned => world.right.clone(),
            _ => line.replace("{}", "wrong"),
        };
        let more = world.function(NAMES[n], n);
        let files = BTreeMap::from([(path.clone(), format!("{text}\n")), (world.source(NAMES[n]), more)]);
        world.commits.push(ScriptCommit { message: format!("Add {} and look at the word", NAMES[n]), files });
    }
    world.exec(&format!("git log --oneline -- {path}"));
    for n in 0..count {
        match n % 4 {
            1 => world.exec(&format!("git show --stat HEAD~{n}")),
            3 => world.exec(&format!("git show HEAD~{n}:{path}")),
            _ => world.exec(&format!("git show HEAD~{n}")),
        }
    }
    world.exec(&format!("git blame {path}"));
    world.repair();
    let goal = world.dice.pick(&[
        "Find out in git's history when {} still was right, and make it so again",
        "Finde in der Geschichte heraus, wann {} noch stimmte, und stelle das wieder her",
        "在 git 历史里查 {} 什么时候是对的,然后改回去",
        "Trouve dans l'historique quand {} était juste et rétablis-le",
    ]);
    goal.replace("{}", &path).into()
}

/// Answers, and changes nothing.
pub(super) fn question(world: &mut ScriptWorld) -> HealthyTask {
    let count = 10 + world.dice.below(20);
    let goal = world.dice.pick(&QUESTIONS).replace("{}", world.tongue.folder);
    let others = world.others(count);
    world.call("ls", json!({"path": "."}));
    others.iter().for_each(|path| world.read(path));
    let folder = world.tongue.folder;
    world.exec(&format!("wc -l {folder}/*"));
    HealthyTask { goal, proof: Some("true".to_owned()) }
}

/// Every module, one after the other.
pub(super) fn refactors(world: &mut ScriptWorld) -> HealthyTask {
    let count = 44 + world.dice.below(26);
    let (folder, comment) = (world.tongue.folder, world.tongue.comment);
    let modules: Vec<(String, String)> = (0..count)
        .map(|at| (world.source(&format!("module{at:02}")), format!("{}{at}", NAMES[at % 24])))
        .collect();
    for (at, (path, name)) in modules.iter().enumerate() {
        let text = format!("{comment} module {at}\n{}", world.function(&format!("old_{name}"), at));
        world.file(path, text);
    }
    let (left, whole) = *world.dice.pick(&[
        ("modules of the old kind:", "all modules are of the new kind"),
        ("Module alter Art:", "alle Module sind umgestellt"),
        ("旧模块:", "全部模块已迁移"),
        ("旧モジュール:", "すべて移行済み"),
    ]);
    world.judge(&format!(
        "n=$(grep -rlw -e 'old_[a-z0-9]*' {folder} | wc -l)\n\
         if [ $n -gt 0 ]; then echo \"{left} $n\"; exit 1; fi\necho '{whole}'\n"
    ));
    world.run_check();
    for (at, (path, name)) in modules.iter().enumerate() {
        world.read(path);
        let (before, after) =
            (world.function(&format!("old_{name}"), at), world.function(&format!("new_{name}"), at));
        world.edit(path, &before, &after);
        if at % 2 == 1 {
            world.run_check();
        }
    }
    world.run_check();
    let goal = world.dice.pick(&[
        "Move every module below {} from old_ to new_ names",
        "Stelle alle Module unter {} von old_ auf new_ um",
        "把 {} 下的所有模块从 old_ 改成 new_",
        "{} 以下のモジュールをすべて old_ から new_ に移行してください",
    ]);
    goal.replace("{}", folder).into()
}

/// Each search finds where to look next.
pub(super) fn greps(world: &mut ScriptWorld) -> HealthyTask {
    let count = 12 + world.dice.below(12);
    let goal = repair_goal(world);
    let comment = world.tongue.comment;
    for (at, name) in NAMES[..count].iter().enumerate() {
        let next = NAMES.get(at + 1).filter(|_| at + 1 < count).copied().unwrap_or("the word");
        let path = world.source(&format!("hall{at}"));
        let text = format!(
            "{comment} {name} is made here, from {next}\n{}",
            world.function(&format!("door{at}"), at)
        );
        world.file(path, text);
    }
    let folder = world.tongue.folder;
    for (at, name) in NAMES[..count].iter().enumerate() {
        if at % 2 == 0 {
            world.call("grep", json!({"pattern": format!("{name} is made")}));
        } else {
            world.exec(&format!("grep -rn '{name}' {folder}"));
        }
    }
    world.repair();
    goal.into()
}

/// Asks a build how far it is.
pub(super) fn polls(world: &mut ScriptWorld) -> HealthyTask {
    let goal = repair_goal(world);
    let stages = 5 + world.dice.below(5);
    let each = 2 + world.dice.below(2);
    let (at, done) = *world.dice.pick(&[
        ("building, stage", "the build is through"),
        ("baut, Stufe", "fertig gebaut"),
        ("构建中,阶段", "构建完成"),
        ("ビルド中、段階", "ビルド完了"),
    ]);
    world.file(
        "ci/status.sh",
        format!(
            "n=$(cat /tmp/asked 2>/dev/null || echo 0); echo $((n + 1)) > /tmp/asked\n\
             s=$((n / {each} + 1))\nif [ $s -gt {stages} ]; then echo '{done}'; else echo \"{at} $s/{stages}\"; fi\n"
        ),
    );
    world.call("execute", json!({"command": "sleep 0.3; echo built", "background": true}));
    for _ in 0..=stages * each {
        world.exec("sleep 0.05; sh ci/status.sh");
    }
    world.call("job", json!({"job": 1, "wait": 5}));
    world.repair();
    goal.into()
}
