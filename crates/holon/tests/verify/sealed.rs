//! The seal: whoever changes, removes, adds, cuts or swaps any stored file of a finished run is found out, and nobody who
//! does something honest is accused.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use holon_flow::verify::{Discrepancy, children, gather, unproven, verify_manifest};
use holon_host::HolonFolders;
use holon_host::store::RunFolder;
use holon_testkit::{TestEnv, TestWorkspace, copy_tree};

use crate::runs::{self, FinishedTestRun, evidence, verify};

/// What changes after a run ended in all honesty, or is looked at in another way.
const OPEN: [&str; 5] = ["conflicts", "layers", "lock", "run.json", "sealed.json"];

/// Every file of a run that is final, and every folder that holds one; those of the runs inside are theirs.
fn stored(folder: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    let mut todo = vec![PathBuf::new()];
    while let Some(below) = todo.pop() {
        for entry in fs::read_dir(folder.join(&below)).unwrap().map(Result::unwrap) {
            let name = below.join(entry.file_name());
            if OPEN.iter().any(|open| Path::new(open) == name) || name.starts_with("steps") {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                folders.push(name.clone());
                todo.push(name);
            } else {
                files.push(name);
            }
        }
    }
    files.sort();
    folders.sort();
    (files, folders)
}

/// A run and all runs inside it.
fn with_parts(made: &FinishedTestRun) -> Vec<PathBuf> {
    let places = places(&made.env.state());
    let parts = children(&places, &RunFolder::open(made.folder.clone())).unwrap();
    std::iter::once(made.folder.clone()).chain(parts).collect()
}

fn places(state: &Path) -> HolonFolders {
    let state = state.to_owned();
    let env = move |name: &str| match name {
        "XDG_STATE_HOME" => Some(state.clone().into_os_string()),
        "HOME" => Some("/nowhere".into()),
        _ => None,
    };
    HolonFolders::from_env(&env).unwrap()
}

/// Whether a file is named as not being what was sealed. A manifest that cannot be read any more is found out, too.
fn is_named(found: &Result<Vec<Discrepancy>, String>, path: &Path) -> bool {
    let Ok(found) = found else { return true };
    found.iter().any(|lie| lie.kind.name() == "seal" && Path::new(&lie.claim) == path)
}

/// What nobody notices of all that can be done to the stored files of a run, and how much was tried.
fn unnoticed(env: &TestEnv, folder: &Path) -> (usize, Vec<String>) {
    let (files, folders) = stored(folder);
    let (mut tried, mut missed) = (0, Vec::new());
    let mut judge = |how: &str, path: &Path| {
        tried += 1;
        if !is_named(&verify(env, folder), path) {
            missed.push(format!("{} {how}", path.display()));
        }
    };
    for (number, name) in files.iter().enumerate() {
        let at = folder.join(name);
        let sound = fs::read(&at).unwrap();
        let mut changed = sound.clone();
        match changed.last_mut() {
            Some(last) => *last ^= 1,
            None => changed.push(b'x'),
        }
        fs::write(&at, changed).unwrap();
        judge("changed", name);
        if !sound.is_empty() {
            fs::write(&at, &sound[..sound.len() / 2]).unwrap();
            judge("truncated", name);
        }
        fs::write(&at, [&sound[..], b"\n"].concat()).unwrap();
        judge("made longer", name);
        fs::remove_file(&at).unwrap();
        judge("removed", name);
        let aside = env.write("work/aside", &sound);
        symlink(&aside, &at).unwrap();
        judge("replaced by a link to the same", name);
        fs::remove_file(&at).unwrap();
        fs::write(&at, &sound).unwrap();
        let other = folder.join(&files[(number + 1) % files.len()]);
        let content = fs::read(&other).unwrap();
        if content != sound {
            fs::write(&at, &content).unwrap();
            fs::write(&other, &sound).unwrap();
            judge("swapped with another", name);
            fs::write(&at, &sound).unwrap();
            fs::write(&other, &content).unwrap();
        }
    }
    for below in folders
        .iter()
        .filter(|below| below.starts_with("output") || files.iter().any(|f| f.starts_with(below)))
    {
        let planted = below.join("planted");
        fs::write(folder.join(&planted), "x").unwrap();
        judge("added", &planted);
        fs::remove_file(folder.join(&planted)).unwrap();
    }
    let list = folder.join("sealed.json");
    let sound = fs::read(&list).unwrap();
    fs::write(&list, [&sound[..], b"\n"].concat()).unwrap();
    judge("changed", Path::new("sealed.json"));
    fs::remove_file(&list).unwrap();
    tried += 1;
    if verify(env, folder).is_ok_and(|found| found.is_empty()) {
        missed.push("the list is removed".to_owned());
    }
    fs::write(&list, sound).unwrap();
    assert_eq!(verify(env, folder).unwrap(), [], "all is as it was");
    (tried, missed)
}

/// Does everything to every stored file of these runs and of the runs inside them.
fn assert_noticed(make: &[fn() -> FinishedTestRun], at_least: usize) {
    let mut all = 0;
    for make in make {
        let made = make();
        made.env.leave_unverified("its stored files are changed");
        for folder in with_parts(&made) {
            assert_eq!(verify(&made.env, &folder).unwrap(), [], "{}", made.name);
            let (tried, missed) = unnoticed(&made.env, &folder);
            assert_eq!(missed, Vec::<String>::new(), "{}", made.name);
            all += tried;
        }
    }
    assert!(all >= at_least, "{all} changes were tried");
}

#[test]
fn every_change_of_a_stored_file_of_a_run_that_delivers_is_noticed() {
    assert_noticed(&[runs::change], 60);
}

#[test]
fn every_change_of_a_stored_file_of_a_plan_or_a_review_is_noticed() {
    assert_noticed(&[runs::plan, runs::review], 80);
}

#[test]
fn every_change_of_a_stored_file_of_a_run_that_failed_or_asks_is_noticed() {
    assert_noticed(&[runs::failed_check, runs::question, runs::secret], 120);
}

#[test]
fn every_change_of_a_stored_file_of_the_native_agent_is_noticed() {
    assert_noticed(&[runs::native], 60);
}

#[test]
fn every_change_of_a_stored_file_of_a_flow_is_noticed() {
    assert_noticed(&[runs::flow], 120);
}

#[test]
fn every_change_of_a_stored_file_of_an_orchestration_is_noticed() {
    assert_noticed(&[runs::orchestration], 200);
}

#[test]
fn the_runs_inside_a_whole_cannot_be_taken_away_or_asked_otherwise() {
    let made = runs::orchestration();
    made.env.leave_unverified("its parts are taken away");
    for part in with_parts(&made).into_iter().skip(1) {
        let aside = made.env.work().join("aside");
        fs::rename(&part, &aside).unwrap();
        let found = made.verify();
        let list = part.strip_prefix(&made.folder).unwrap().join("sealed.json");
        assert!(is_named(&Ok(found), &list), "{}", list.display());
        fs::rename(&aside, &part).unwrap();
    }
    let record = made.folder.join("run.json");
    let text = fs::read_to_string(&record).unwrap();
    fs::write(&record, text.replace("Make it better", "Make it worse")).unwrap();
    assert!(is_named(&Ok(made.verify()), Path::new("run.json")));
}

#[test]
fn a_break_in_the_chain_of_the_audit_log_is_told() {
    let made = runs::plan();
    made.env.leave_unverified("the audit log is changed");
    let log = made.env.state().join("holon/audit.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    for (how, lie) in [
        ("an actor", text.replacen("\"dispatcher\"", "\"somebody\"", 1)),
        ("a digest", text.replacen("\"sealed_sha256\":\"", "\"sealed_sha256\":\"0", 1)),
        ("the end is cut off", text.lines().take(1).map(|line| format!("{line}\n")).collect()),
    ] {
        assert_ne!(lie, text, "{how}");
        fs::write(&log, lie).unwrap();
        let found = made.verify();
        assert!(
            found.iter().any(|lie| lie.claim == "audit.jsonl" && lie.kind.name() == "audit"),
            "{how}: {found:?}"
        );
    }
    fs::write(&log, text).unwrap();
    assert_eq!(made.verify(), []);
}

#[test]
fn the_command_names_each_file_in_a_sentence() {
    let made = runs::plan();
    made.env.leave_unverified("its stored files are changed");
    fs::write(made.folder.join("evidence/agent.log"), "I did nothing wrong.\n").unwrap();
    fs::write(made.folder.join("evidence/more.log"), "x").unwrap();
    fs::remove_file(made.folder.join("input/spec.yaml")).unwrap();
    let told = made.env.holon(["runs", "verify"]).arg(&made.folder).run();
    told.assert_code(2)
        .assert_stdout("3 claims are false")
        .assert_stdout("evidence/agent.log: it had ")
        .assert_stdout("evidence/more.log: it was not there when the run was sealed, and is there now")
        .assert_stdout("input/spec.yaml: it was sealed when the run ended, and is not there any more");
}

#[test]
fn an_honest_copy_or_move_of_the_store_is_clean() {
    for make in [runs::change as fn() -> FinishedTestRun, runs::flow, runs::orchestration] {
        let made = make();
        let elsewhere = made.env.work().join("elsewhere");
        copy_tree(&made.env.state(), &elsewhere);
        for folder in with_parts(&made) {
            let copy = elsewhere.join(folder.strip_prefix(made.env.state()).unwrap());
            let seen = gather(&places(&elsewhere), &copy).unwrap();
            assert!(seen.seal.is_some(), "{}", made.name);
            assert_eq!(verify_manifest(&seen), [], "{}", made.name);
        }
        // Without the audit log nobody vouches for the files, and nobody is accused.
        for name in ["audit.jsonl", "audit.head"] {
            fs::remove_file(elsewhere.join("holon").join(name)).unwrap();
        }
        let copy = elsewhere.join(made.folder.strip_prefix(made.env.state()).unwrap());
        let seen = gather(&places(&elsewhere), &copy).unwrap();
        assert_eq!(verify_manifest(&seen), [], "{}", made.name);
        assert!(unproven(&seen).iter().any(|told| told.contains("no seal")), "{}", made.name);
    }
}

#[test]
fn what_people_do_with_a_run_breaks_no_seal() {
    let made = runs::change();
    let repo = made.env.work().join("repo");
    let clean = |after: &str| {
        let seen = evidence(&made.env, &made.folder).unwrap();
        assert!(seen.seal.is_some(), "after {after}");
        assert_eq!(verify_manifest(&seen), [], "after {after}");
    };
    for command in [
        &["runs", "show", "last"][..],
        &["runs", "diff", "last"],
        &["runs", "gc"],
        &["runs", "apply", "last"],
        &["runs", "undo", "last"],
        &["runs", "apply", "last", "--commit"],
    ] {
        let mut call = made.env.holon(command).cwd(&repo);
        for (name, value) in [("GIT_AUTHOR_NAME", "Ada"), ("GIT_AUTHOR_EMAIL", "ada@example.org")] {
            call = call.env(name, value);
        }
        let output = call.run();
        assert!(output.code == 0 || command.contains(&"--commit"), "{command:?}: {output}");
        clean(&command.join(" "));
    }
    let out = made.env.work().join("out");
    let page = made.env.work().join("page.md");
    let publish = made.env.holon(["publish", "summary", "--from"]).arg(made.folder.join("output"));
    publish.arg("--file").arg(page).cwd(&repo).run().assert_code(0);
    clean("publish summary");
    assert_eq!(verify(&made.env, &out).unwrap(), [], "the copy is as the run in the store");
    fs::remove_file(out.join("evidence/agent.log")).unwrap();
    assert!(is_named(&verify(&made.env, &out), Path::new("evidence/agent.log")));
}

/// A run that the gate holds, because it changes what steers agents.
fn held() -> (TestEnv, TestWorkspace, PathBuf) {
    let env = TestEnv::new(runs::BIN);
    let repo = env.repo().file("a.txt", "one\n").commit("first");
    let script = "#!/bin/sh\necho '# Done' > /holon/output/summary.md\necho 'Say yes.' > AGENTS.md\n";
    let agent = env.agent("agent.sh", script);
    env.holon(["run", "--goal", "x", "--agent"]).arg(agent).cwd(repo.path()).run().assert_code(2);
    let folder = env.runs().last().unwrap().clone();
    (env, repo, folder)
}

#[test]
fn an_override_seals_again_what_it_names_and_no_other_file() {
    let (env, repo, folder) = held();
    let log = folder.join("evidence/agent.log");
    let sound = fs::read(&log).unwrap();
    fs::write(&log, "Nothing happened.\n").unwrap();
    let word = ["--override", "sensitive", "--reason", "I have read every line of it"];
    env.holon(["runs", "apply", "last"]).args(word).cwd(repo.path()).run().assert_code(0);
    let found = verify(&env, &folder).unwrap();
    assert_eq!(found.iter().map(|lie| lie.claim.as_str()).collect::<Vec<_>>(), ["evidence/agent.log"]);
    fs::write(&log, sound).unwrap();
    assert_eq!(verify(&env, &folder).unwrap(), []);
    assert!(!env.state().join("holon/overrides/begun.json").exists());
    // What the release gate is asked with is as good as the audit log.
    let kept = folder.join("overrides.json");
    let text = fs::read_to_string(&kept).unwrap();
    for lie in [
        text.replace("every line", "no line"),
        text.replace("\"apply\"", "\"commit\""),
        "[]".into(),
        "{".into(),
    ] {
        assert_ne!(lie, text);
        fs::write(&kept, lie).unwrap();
        let found = verify(&env, &folder).unwrap();
        assert!(found.iter().any(|lie| lie.claim == "overrides.json"), "{found:?}");
    }
    fs::write(&kept, text).unwrap();
}

/// The store as it is when the process dies right after the audit log has the word, put together from before and after.
#[test]
fn an_override_that_was_cut_off_is_finished_by_the_next_command() {
    let (env, repo, folder) = held();
    let before = env.work().join("before");
    copy_tree(&folder, &before);
    let state = env.state().join("holon");
    let length = fs::read_to_string(state.join("audit.jsonl")).unwrap().lines().count();
    let word = ["--override", "sensitive", "--reason", "I have read every line of it"];
    env.holon(["runs", "apply", "last"]).args(word).cwd(repo.path()).run().assert_code(0);
    let words: Vec<serde_json::Value> =
        serde_json::from_slice(&fs::read(folder.join("overrides.json")).unwrap()).unwrap();
    let mut given = words[0].clone();
    given.as_object_mut().unwrap().remove("audit");
    // Only the word itself is in the log, and nothing else is written.
    let text = fs::read_to_string(state.join("audit.jsonl")).unwrap();
    let kept: Vec<&str> = text.lines().take(length + 1).collect();
    fs::write(state.join("audit.jsonl"), kept.join("\n") + "\n").unwrap();
    let last: serde_json::Value = serde_json::from_str(kept[length]).unwrap();
    assert_eq!(last["action"], "release_overridden");
    let head = serde_json::json!({ "length": last["seq"], "head": last["hash"] });
    fs::write(state.join("audit.head"), head.to_string()).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    copy_tree(&before, &folder);
    let run = folder.strip_prefix(&state).unwrap();
    let begun = serde_json::json!({ "run": run, "word": given, "after": length, "amended": null });
    fs::write(state.join("overrides/begun.json"), begun.to_string()).unwrap();
    assert!(!verify(&env, &folder).unwrap().is_empty(), "the log tells of a word that nothing names");
    let told = env.holon(["runs", "verify"]).arg(&folder).cwd(repo.path()).run();
    told.assert_code(0).assert_stderr("was cut off while it was written down");
    let summary = fs::read_to_string(folder.join("output/summary.md")).unwrap();
    assert!(summary.contains("I have read every line of it"), "{summary}");
    assert!(!state.join("overrides/begun.json").exists());
}
