//! Environments, with the real binary: what a setup leaves, who may have it run, and what later runs find.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod broken;
mod languages;
mod world;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use holon_testkit::{assert_unchanged, for_each_identity, tree_state};
use world::{LEAVES, Project};

const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// The ways to make a snapshot that stand on a layer in different ways.
const SNAPSHOTS: [&str; 2] = ["overlay", "copy"];

#[test]
fn a_setup_runs_once_and_later_runs_stand_on_what_it_left() {
    for_each_identity(BIN, |env| {
        let project = Project::new(env);
        project.user_setup(LEAVES);
        let mut first = None;
        for snapshot in SNAPSHOTS {
            for round in 0..2 {
                let run = project.run(&["--snapshot", snapshot]);
                run.end.assert_code(0);
                let id = run.said("id ");
                assert_eq!(id.len(), 36, "{id}");
                assert_eq!(
                    *first.get_or_insert(id.clone()),
                    id,
                    "{snapshot} {round}: the setup ran once more"
                );
                assert_eq!((run.said("tool "), run.said("home ")), ("tool".into(), "home".into()));
                assert_eq!(run.used()["made_now"], snapshot == "overlay" && round == 0);
                assert_eq!(run.used()["brings"], serde_json::json!(["deps"]));
                assert_eq!(run.used()["commands"], serde_json::json!([LEAVES]));
                let patch = fs::read_to_string(project.out().join("diff.patch")).unwrap();
                assert!(patch.contains("src") && !patch.contains("deps"), "{snapshot}: {patch}");
            }
        }
        // A changed lock file makes another one.
        fs::write(project.repo.join("package.json"), "{ }\n").unwrap();
        let run = project.run(&[]);
        assert_ne!(run.said("id "), first.unwrap());
        assert_eq!(run.used()["made_now"], true);
        assert_eq!(project.kept().len(), 2);
        assert!(!project.repo.join("deps").exists());
        env.assert_nothing_left();
    });
}

#[test]
fn inv_01_and_inv_16_a_setup_and_what_stands_on_it_change_no_byte_of_the_workspace() {
    for_each_identity(BIN, |env| {
        let project = Project::new(env);
        // What somebody has in an ignored folder is theirs: it stays, and is not mixed with what the environment brings.
        fs::create_dir(project.repo.join("deps")).unwrap();
        fs::write(project.repo.join("deps/own"), "a line that somebody saved").unwrap();
        env.own(&project.repo.join("deps"));
        env.own(&project.repo.join("deps/own"));
        project.user_setup(&format!(
            "ls deps/own; {LEAVES}; echo changed > src; rm package.json; echo x > stray"
        ));
        let before = tree_state(project.repo.path());
        for mode in ["plan", "execute"] {
            for snapshot in SNAPSHOTS {
                let run = project.run(&["--mode", mode, "--snapshot", snapshot]);
                assert_eq!(run.said("tool "), "tool", "{mode} {snapshot}");
                assert!(run.said("own ").contains("No such file"), "{mode} {snapshot}: {}", run.said("own "));
                assert_unchanged(&before, project.repo.path());
            }
        }
        // Only ignored paths are kept; the others are named.
        let kept = &project.kept()[0]["environment"];
        let left_out = kept["left_out"].as_array().unwrap();
        let mut left_out: Vec<&str> = left_out.iter().map(|one| one["path"].as_str().unwrap()).collect();
        left_out.sort_unstable();
        assert_eq!(left_out, ["package.json", "src", "stray"]);
        let run = project.run(&["--fresh"]);
        assert_eq!(run.said("own "), "deps/own");
        assert!(run.used().is_null());
    });
}

#[test]
fn inv_05_a_patch_made_on_an_environment_gives_the_result_on_the_base() {
    for_each_identity(BIN, |env| {
        let project = Project::new(env);
        project.user_setup("mkdir -p deps/lib/inner && echo lib > deps/lib/inner/l && echo f > deps/f");
        // What is taken out of what the environment brings is told whole.
        let agent = env.agent(
            "moves.sh",
            "#!/bin/sh\necho '# Summary\nMoved.' > /holon/output/summary.md\nmv deps/lib vendored\nmv deps/f taken\nrm -rf deps\nmkdir deps\necho d > deps/d\n",
        );
        for snapshot in SNAPSHOTS {
            let run = project.run_agent(&agent, &["--snapshot", snapshot, "--verify", "full"]);
            run.end.assert_code(0);
            let patch = project.out().join("diff.patch");
            let text = fs::read_to_string(&patch).unwrap();
            assert!(
                text.contains("+lib") && text.contains("vendored/inner/l") && text.contains("taken"),
                "{snapshot}: {text}"
            );
            assert!(!text.contains("deps/"), "{snapshot}: {text}");
            project.repo.git(["apply", "--check", patch.to_str().unwrap()]);
            assert!(!run.warned("changed while"), "{:?}", run.manifest["metadata"]["warnings"]);
        }
    });
}

#[test]
fn what_a_repository_brings_runs_only_after_somebody_agreed_to_it() {
    for_each_identity(BIN, |env| {
        let project = Project::new(env);
        let says = |command: &str| {
            fs::write(project.repo.join("holon.toml"), format!("[environment]\nsetup = [{command:?}]\n"))
                .unwrap();
            env.own(&project.repo.join("holon.toml"));
        };
        says(LEAVES);
        let run = project.run(&[]);
        run.end.assert_code(0);
        assert!(run.warned("have not agreed to") && run.used().is_null());
        assert!(run.said("tool ").contains("No such file"));
        project.environment(&["build"]).assert_code(64).assert_stderr("not agreed");
        assert_eq!(project.kept(), Vec::<serde_json::Value>::new());
        // Nobody is asked where there is nobody, and another digest is no agreement.
        project.environment(&["trust"]).assert_code(64);
        project.environment(&["trust", "0123456789ab"]).assert_code(64);
        let digest = project.setup_digest();
        project.environment(&["trust", &digest[..12]]).assert_code(0);
        assert_eq!(project.run(&[]).said("tool "), "tool");
        // Another command is another setup.
        says(&format!("{LEAVES} && true"));
        let run = project.run(&[]);
        assert!(run.warned("have not agreed to") && run.used().is_null());
        says(LEAVES);
        assert_eq!(project.run(&[]).said("tool "), "tool");
        project.environment(&["trust", "--withdraw"]).assert_code(0);
        assert!(project.run(&[]).used().is_null());
    });
}

#[test]
fn what_files_suggest_is_shown_and_not_run() {
    for_each_identity(BIN, |env| {
        let project = Project::new(env);
        fs::write(project.repo.join("requirements.txt"), "").unwrap();
        let shown = project.environment(&["show", "--json"]).json();
        assert_eq!(shown["standing"], "unknown");
        assert_eq!(shown["setup"]["permits"], serde_json::json!(["pip"]));
        let run = project.run(&[]);
        run.end.assert_code(0);
        assert!(run.used().is_null() && !run.warned("agreed"));
    });
}

#[test]
fn a_setup_reaches_what_it_may_and_runs_on_it_are_offline() {
    for_each_identity(BIN, |env| {
        let listener = TcpListener::bind("127.0.0.2:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                while lines.next().and_then(Result::ok).is_some_and(|line| !line.is_empty()) {}
                count.fetch_add(1, Ordering::SeqCst);
                let _ = stream
                    .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\nconnection: close\r\n\r\npackage");
            }
        });
        let project = Project::new(env);
        let fetch =
            format!("mkdir deps && curl --fail --silent --show-error --output deps/tool http://{address}/p");
        project.user_setup(&fetch);
        let run = project.run(&[]);
        run.end.assert_code(1);
        let error = &run.manifest["error"];
        assert!(error["hint"].as_str().unwrap().contains("allow"), "{error}");
        assert_eq!(asked.load(Ordering::SeqCst), 0);
        assert_eq!(project.kept().len(), 0, "what failed is not kept");
        project.user_says(&format!("setup = [{fetch:?}]\nallow = [\"{address}\"]"));
        for _ in 0..2 {
            let run = project.run(&[]);
            run.end.assert_code(0);
            assert_eq!(run.said("tool "), "package");
            assert!(run.manifest["metadata"]["network"].is_null(), "the run itself has no network");
        }
        assert_eq!(asked.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn checks_and_baselines_run_on_the_same_environment() {
    for_each_identity(BIN, |env| {
        let project = Project::new(env);
        project.user_setup(LEAVES);
        for snapshot in SNAPSHOTS {
            // The agent takes the tool away and writes at home: its checks see neither.
            let check =
                "test \"$(cat deps/tool ~/.tool/h)\" = \"$(printf 'tool\\nhome')\" && test ! -e deps/new";
            let run = project.run(&["--snapshot", snapshot, "--check", check, "--check", "grep 1 src"]);
            let checks = run.manifest["metadata"]["verification"]["checks"].as_array().unwrap().clone();
            assert_eq!(checks[0]["exit_code"], 0, "{snapshot}: {checks:#?}");
            assert_eq!(checks[0]["verdict"], "passed", "{snapshot}: {checks:#?}");
            // The other one is judged against the base, on the same layer.
            assert_eq!(checks[1]["verdict"], "broken", "{snapshot}: {checks:#?}");
        }
    });
}

#[test]
fn walls_that_cannot_show_it_are_refused_by_name() {
    for_each_identity(BIN, |env| {
        let project = Project::new(env);
        project.user_setup(LEAVES);
        for kind in ["landlock", "bubblewrap"] {
            let run = project.run(&["--sandbox", kind]);
            run.end.assert_code(64).assert_stderr(kind).assert_stderr("--fresh");
        }
        assert_eq!(project.kept().len(), 0, "nothing was made for a run that was refused");
    });
}

#[test]
fn what_nobody_uses_goes_and_frees_what_it_held() {
    for_each_identity(BIN, |env| {
        let project = Project::new(env);
        project.user_setup("mkdir -p deps && seq 200000 > deps/same && cat package.json > deps/tool");
        let mut ids = Vec::new();
        for version in 0..4 {
            fs::write(project.repo.join("package.json"), format!("{version}\n")).unwrap();
            project.environment(&["build"]).assert_code(0);
            ids.push(project.environment(&["show", "--json"]).json()["digest"].as_str().unwrap().to_owned());
        }
        assert_eq!(project.kept().len(), 4);
        let files = env.cache().join("holon/environments/files");
        let large = |folder: &std::path::Path| {
            let shelves = fs::read_dir(folder).unwrap().flatten();
            let all = shelves.flat_map(|shelf| fs::read_dir(shelf.path()).unwrap().flatten());
            all.filter(|file| file.metadata().unwrap().len() > 1_000_000).count()
        };
        project.environment(&["gc", "--unused-for", "1d"]).assert_code(0);
        assert_eq!(project.kept().len(), 4, "all were used today");
        let gone = project.environment(&["gc", "--unused-for", "1ms", "--json"]);
        gone.assert_code(0);
        assert_eq!(gone.json()["removed"].as_array().unwrap().len(), 4);
        assert!(gone.json()["bytes"].as_u64().unwrap() > 1_000_000);
        assert_eq!((project.kept().len(), large(&files)), (0, 0));
        ids.dedup();
        assert_eq!(ids.len(), 4);
    });
}
