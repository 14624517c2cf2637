//! Setups that come to nothing: what is half made is never used.

use std::fs;

use holon_testkit::{TestEnv, for_each_identity};

use crate::BIN;
use crate::world::{LEAVES, Project};

#[test]
fn a_setup_that_is_killed_leaves_nothing_that_is_used() {
    for_each_identity(BIN, |env| {
        let project = Project::new(env);
        project.user_setup(
            "mkdir deps; echo half > deps/tool; echo begun; test -e package-lock.json || exec sleep 600",
        );
        let mut build = env.holon(["environment", "build"]).cwd(project.repo.path()).spawn();
        build.wait_for_text("begun");
        build.kill();
        assert_eq!(project.kept().len(), 0);
        // The lock file is one more input, so what was half made would have another name; the same name is tried first.
        let mut again = env.holon(["environment", "build"]).cwd(project.repo.path()).spawn();
        again.wait_for_text("begun");
        again.kill();
        fs::write(project.repo.join("package-lock.json"), "{}").unwrap();
        let run = project.run(&[]);
        run.end.assert_code(0);
        assert_eq!((run.said("tool "), project.kept().len()), ("half".into(), 1));
        project.environment(&["gc", "--unused-for", "1d"]).assert_code(0);
        assert!(fs::read_dir(env.cache().join("holon/environments")).unwrap().flatten().all(|entry| {
            entry.file_name() != "unfinished" || fs::read_dir(entry.path()).unwrap().next().is_none()
        }));
        env.assert_nothing_left();
    });
}

#[test]
fn a_setup_that_fails_says_which_command_and_what_it_printed() {
    for_each_identity(BIN, |env| {
        let project = Project::new(env);
        project.user_says(
            "setup = [\"mkdir -p deps && echo x > deps/tool\", \"echo no such package >&2; exit 3\"]",
        );
        let run = project.run(&[]);
        run.end.assert_code(1);
        let error = &run.manifest["error"];
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("ended with 3") && message.contains("no such package"), "{message}");
        assert!(error["hint"].as_str().unwrap().contains("--fresh"), "{error}");
        assert_eq!(project.kept().len(), 0);
        project.run(&["--fresh"]).end.assert_code(0);
    });
}

#[test]
fn wrong_settings_are_named_with_their_file() {
    for_each_identity(BIN, |env| {
        let project = Project::new(env);
        for (section, words) in [
            ("setup = \"npm ci\"", "setup"),
            ("setups = [\"npm ci\"]", "setups"),
            ("setup = [\" \"]", "empty"),
            ("allow = [\"npm\"]", "no `setup`"),
            ("setup = [\"x\"]\ninputs = [\"../x\"]", "../x"),
            ("setup = [\"x\"]\nallow = [\"nmp nmp\"]", "nmp nmp"),
        ] {
            project.user_says(section);
            let run = project.run(&[]);
            run.end.assert_code(64).assert_stderr("config.toml").assert_stderr(words);
        }
    });
}

#[test]
fn what_became_a_file_since_is_told_and_not_hidden() {
    for_each_identity(BIN, |env| {
        let project = Project::new(env);
        project.user_setup("mkdir -p part/deps && echo d > part/deps/d");
        fs::create_dir(project.repo.join("part")).unwrap();
        fs::write(project.repo.join("part/x"), "x").unwrap();
        env.own(&project.repo.join("part"));
        env.own(&project.repo.join("part/x"));
        project.environment(&["build"]).assert_code(0);
        fs::remove_dir_all(project.repo.join("part")).unwrap();
        fs::write(project.repo.join("part"), "a line that somebody saved").unwrap();
        env.own(&project.repo.join("part"));
        let run = project.run(&[]);
        run.end.assert_code(1);
        assert!(
            run.manifest["error"]["message"].as_str().unwrap().contains("part/deps"),
            "{}",
            run.manifest["error"]
        );
        assert!(run.manifest["error"]["hint"].as_str().unwrap().contains("--again"));
        project.run(&["--fresh"]).end.assert_code(0);
    });
}

#[test]
fn two_runs_at_once_make_it_once() {
    for_each_identity(BIN, |env| {
        let project = Project::new(env);
        project.user_setup(LEAVES);
        let build = || env.holon(["environment", "build", "--json"]).cwd(project.repo.path()).spawn();
        let both = [build(), build()].map(|one| {
            let end = one.wait();
            end.assert_code(0);
            end.json()["made_now"].as_bool().unwrap()
        });
        assert_eq!(both.iter().filter(|made| **made).count(), 1, "{both:?}");
    });
}

#[test]
fn a_full_disk_leaves_no_half_of_a_layer() {
    // Whoever is root among themselves only has no overlay of root's, so this is for the real one.
    let Some(env) = TestEnv::as_root(BIN) else { return };
    let project = Project::new(&env);
    project.user_setup("mkdir deps && head -c 20000000 /dev/urandom > deps/tool");
    let script = "mount -t tmpfs -o size=4m none \"$XDG_CACHE_HOME\" && \"$@\" environment build; code=$?; \
                  \"$@\" environment list --json; find \"$XDG_CACHE_HOME/holon/environments\" -size +1000k; exit $code";
    let call = env.program("unshare").args(["--mount", "sh", "-c", script, "sh"]).arg(env.binary());
    let end = call.cwd(project.repo.path()).run();
    end.assert_code(1).assert_stderr("space");
    assert_eq!(end.stdout.trim(), "[]", "{end}");
}
