//! Honest runs with a history: what people did with them later makes no lie of what they say.

use std::fs;
use std::path::{Path, PathBuf};

use holon_flow::verify::unproven;
use holon_testkit::{CommandEnd, TestEnv};

use crate::runs::{BIN, FinishedTestRun, change, copied_wholes, evidence, flow, made, orchestration, verify};

const REASON: &str = "a person looked at every line of it";

fn holon(made: &FinishedTestRun, args: &[&str]) -> CommandEnd {
    made.env.holon(args).cwd(made.env.work().join("repo")).run()
}

fn id(made: &FinishedTestRun) -> String {
    made.folder.file_name().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn an_override_of_a_part_and_then_of_the_whole_is_sound() {
    let made = orchestration();
    let part = format!("{}/one", id(&made));
    holon(&made, &["runs", "apply", &part, "--override", "whole_blocked", "--reason", REASON]).assert_code(0);
    assert_eq!(made.verify(), []);
    holon(&made, &["run", "--resume", &id(&made), "--override-ethics", REASON]);
    assert_eq!(made.verify(), []);
}

#[test]
fn an_overridden_run_is_sound_when_the_repository_lost_its_commit() {
    let made = made("a change that runs later", 2, |env, repo| {
        let script = "#!/bin/sh\nmkdir -p .github/workflows\necho 'on: push' > .github/workflows/ci.yml\n\
                      printf '[submodule \"x\"]\\n\\tpath = x\\n\\turl = ../x\\n' > .gitmodules\n\
                      echo '# Done' > /holon/output/summary.md\n";
        let agent = env.agent("agent.sh", script);
        let call = env.holon(["run", "--mode", "execute", "--goal", "Add a submodule", "--agent"]).arg(agent);
        call.cwd(repo.path()).run()
    });
    let words = ["--override", "sensitive", "--reason", REASON];
    holon(&made, &[&["runs", "apply", &id(&made)][..], &words].concat()).assert_code(0);
    assert!(made.manifest()["metadata"]["overrides"].is_array());
    assert_eq!(made.verify(), []);
    made.lose_history();
    assert_eq!(made.verify(), []);
    let seen = evidence(&made.env, &made.folder).unwrap();
    assert_eq!(seen.base.commit_is_there, Some(false));
}

#[test]
fn a_copy_of_a_run_that_missed_its_specs_own_form_is_sound() {
    let made = made("a form of the spec's own", 1, |env, repo| {
        let spec = "goal: x\noutput:\n  artifacts:\n    - path: report.json\n      schema: {type: object, required: [id]}\n";
        let spec = env.write("work/spec.yaml", spec);
        let script =
            "#!/bin/sh\necho '# Done' > /holon/output/summary.md\necho '{}' > /holon/output/report.json\n";
        let agent = env.agent("agent.sh", script);
        let call = env.holon(["run", "--mode", "execute", "--spec"]).arg(spec).arg("--agent").arg(agent);
        call.arg("--out").arg(env.work().join("out")).cwd(repo.path()).run()
    });
    assert_eq!(made.verify(), []);
    assert_eq!(verify(&made.env, &made.env.work().join("out")).unwrap(), []);
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut files, mut todo) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => todo.push(entry.path()),
                false => files.push(entry.path()),
            }
        }
    }
    files.sort();
    files
}

#[test]
fn a_copy_is_held_against_the_run_in_the_store() {
    for (out, made) in copied_wholes() {
        let is_noticed = || verify(&made.env, &out).map_or(true, |found| !found.is_empty());
        assert!(!is_noticed(), "{}", made.name);
        for path in files(&out) {
            let sound = fs::read(&path).unwrap();
            fs::write(&path, [&sound[..], b"\n"].concat()).unwrap();
            assert!(is_noticed(), "{}: {} changed", made.name, path.display());
            fs::remove_file(&path).unwrap();
            assert!(is_noticed(), "{}: {} removed", made.name, path.display());
            fs::write(&path, sound).unwrap();
        }
        let step = fs::read_dir(out.join("evidence/steps")).unwrap().next().unwrap().unwrap().path();
        fs::rename(&step, made.env.work().join("step")).unwrap();
        assert!(is_noticed(), "{}: {} is gone", made.name, step.display());
        fs::rename(made.env.work().join("step"), &step).unwrap();
        let planted = out.join("evidence/planted.log");
        fs::write(&planted, "all tests pass\n").unwrap();
        assert!(is_noticed(), "{}: a file added", made.name);
        fs::remove_file(planted).unwrap();
        assert!(!is_noticed(), "{}", made.name);
    }
}

#[test]
fn a_copy_whose_own_log_was_mended_is_found_out_by_the_audit_log() {
    let made = change();
    let out = made.env.work().join("out");
    assert_eq!(verify(&made.env, &out).unwrap(), []);
    let (manifest, events) = (out.join("manifest.json"), out.join("evidence/events.jsonl"));
    let (before, log) = (fs::read_to_string(&manifest).unwrap(), fs::read_to_string(&events).unwrap());
    let after = before.replacen("\"prompts_sha256\": \"", "\"prompts_sha256\": \"0", 1);
    assert_ne!(before, after);
    fs::write(&manifest, &after).unwrap();
    let digest = holon_core::digest::sha256;
    fs::write(&events, log.replace(&digest(before.as_bytes()), &digest(after.as_bytes()))).unwrap();
    // The run may be gone from the store: the audit log remembers.
    fs::remove_dir_all(&made.folder).unwrap();
    let found = verify(&made.env, &out).unwrap();
    assert!(found.iter().any(|lie| lie.to_string().contains("audit log tells of")), "{found:?}");
    // Somebody else's audit log knows nothing of it, and accuses nobody.
    let elsewhere = TestEnv::new(BIN);
    assert_eq!(verify(&elsewhere, &out).unwrap(), []);
    let unproven = unproven(&evidence(&elsewhere, &out).unwrap());
    assert!(unproven.iter().any(|told| told.contains("not compared")), "{unproven:?}");
}

#[test]
fn the_output_folder_of_a_run_stands_for_the_run() {
    let made = change();
    assert_eq!(verify(&made.env, &made.folder.join("output")).unwrap(), []);
}

#[test]
fn a_part_without_its_record_is_told() {
    let made = flow();
    made.env.leave_unverified("the record of a step is removed");
    let steps = made.folder.join("steps");
    let record = files(&steps).into_iter().find(|path| path.ends_with("run.json")).unwrap();
    let text = fs::read_to_string(&record).unwrap();
    for lie in [String::new(), text.replacen("\"goal\": \"", "\"goal\": \"Not that. ", 1)] {
        fs::write(&record, lie).unwrap();
        assert_ne!(holon(&made, &["runs", "verify", &id(&made)]).code, 0);
    }
    fs::remove_file(&record).unwrap();
    assert_ne!(holon(&made, &["runs", "verify", &id(&made)]).code, 0);
    fs::write(&record, text).unwrap();
    holon(&made, &["runs", "verify", &id(&made)]).assert_code(0);
}

#[test]
fn evidence_that_an_agent_left_is_in_the_copy_and_held_against_the_run() {
    let made = made("evidence of the agent's own", 0, |env, repo| {
        let script = "#!/bin/sh\nout=/holon/output\necho '# Done' > $out/summary.md\nmkdir $out/evidence\necho seen > $out/evidence/x.txt\n";
        let agent = env.agent("agent.sh", script);
        let call = env.holon(["run", "--mode", "execute", "--goal", "Look", "--agent"]).arg(agent);
        call.arg("--out").arg(env.work().join("out")).cwd(repo.path()).run()
    });
    let out = made.env.work().join("out");
    assert_eq!(verify(&made.env, &out).unwrap(), []);
    let left = files(&out).into_iter().find(|path| path.ends_with("x.txt")).expect("it is in the copy");
    fs::write(left, "not seen\n").unwrap();
    assert_ne!(verify(&made.env, &out).unwrap(), []);
}
