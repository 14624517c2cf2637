//! Honest runs with a history: what people did with them later makes no lie of what they say.

use holon_testkit::{Output, run_git};

use crate::runs::{Made, evidence, made, orchestration, verify};

const REASON: &str = "a person looked at every line of it";

fn holon(made: &Made, args: &[&str]) -> Output {
    made.env.holon(args).cwd(made.env.work().join("repo")).run()
}

fn id(made: &Made) -> String {
    made.folder.file_name().unwrap().to_str().unwrap().to_owned()
}

/// Takes every commit that there was from the repository.
fn lose_history(made: &Made) {
    let repo = made.env.work().join("repo");
    for args in [
        &["checkout", "-q", "--orphan", "anew"][..],
        &["commit", "-qam", "anew"],
        &["branch", "-D", "main"],
        &["reflog", "expire", "--expire=now", "--all"],
        &["gc", "-q", "--prune=now"],
    ] {
        run_git(&repo, args);
    }
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
    lose_history(&made);
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
