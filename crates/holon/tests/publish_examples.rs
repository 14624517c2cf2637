//! The pipelines in `examples/` and the actions are linted: they parse, give no more rights than needed, let no text become
//! code, and call commands that exist.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use holon_testkit::TestEnv;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn yaml(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn workflows() -> Vec<(PathBuf, Value)> {
    let folder = root().join("examples/github");
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    assert!(found.len() >= 2);
    found.into_iter().map(|path| (path.clone(), yaml(&path))).collect()
}

/// The workflows of this repository itself.
fn own_workflows() -> Vec<(PathBuf, Value)> {
    ["ci", "release"]
        .map(|name| root().join(format!(".github/workflows/{name}.yml")))
        .map(|path| (path.clone(), yaml(&path)))
        .to_vec()
}

fn actions() -> Vec<(PathBuf, Value)> {
    ["action.yml", "actions/publish/action.yml"]
        .map(|name| root().join(name))
        .map(|path| (path.clone(), yaml(&path)))
        .to_vec()
}

fn jobs(workflow: &Value) -> BTreeMap<String, Value> {
    workflow["jobs"].as_object().unwrap().iter().map(|(name, job)| (name.clone(), job.clone())).collect()
}

fn steps(job: &Value) -> Vec<Value> {
    job["steps"].as_array().unwrap().clone()
}

fn writes(job: &Value) -> bool {
    job["permissions"].as_object().unwrap().values().any(|level| level == "write")
}

fn holds_a_key(job: &Value) -> bool {
    job.to_string().contains("secrets.")
}

/// Every script of a document.
fn scripts(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match (name.as_str(), field) {
                    ("run", Value::String(text)) => found.push(text.clone()),
                    ("script", Value::Array(lines)) => {
                        found.extend(lines.iter().map(|l| l.as_str().unwrap().to_owned()))
                    }
                    _ => found.extend(scripts(field)),
                }
            }
        }
        Value::Array(entries) => entries.iter().for_each(|entry| found.extend(scripts(entry))),
        _ => {}
    }
    found
}

#[test]
fn no_text_of_others_becomes_code() {
    for (path, document) in workflows().into_iter().chain(own_workflows()).chain(actions()) {
        for script in scripts(&document) {
            assert!(!script.contains("${{"), "{}: an expression in a script: {script}", path.display());
        }
        // What people write freely must not even be passed on as the goal.
        let text = document.to_string();
        for free in [
            "event.issue.title",
            "event.issue.body",
            "pull_request.title",
            "pull_request.body",
            "head.ref",
            "head_ref",
        ] {
            assert!(!text.contains(free), "{}: uses {free}", path.display());
        }
        let bodies = text.matches("event.comment.body").count();
        let compared = text.matches("startsWith(github.event.comment.body").count();
        assert_eq!(bodies, compared, "{}: a comment is compared, nothing else", path.display());
    }
}

#[test]
fn rights_are_few_and_apart_from_the_agent() {
    for (path, workflow) in workflows() {
        let place = path.display();
        assert_eq!(workflow["permissions"], serde_json::json!({}), "{place}: nothing is allowed by default");
        for (name, job) in jobs(&workflow) {
            assert!(job["permissions"].is_object(), "{place}: {name} names its permissions");
            assert!(
                job["timeout-minutes"].as_u64().is_some_and(|minutes| minutes <= 60),
                "{place}: {name} has a time limit"
            );
            assert!(!(writes(&job) && holds_a_key(&job)), "{place}: {name} can write and holds a key");
            let uses: Vec<String> =
                steps(&job).iter().filter_map(|s| s["uses"].as_str().map(str::to_owned)).collect();
            let runs_agent = uses.iter().any(|name| name.starts_with("holon-run/holon@"));
            let publishes = uses.iter().any(|name| name.starts_with("holon-run/holon/actions/publish@"));
            assert!(!(runs_agent && publishes), "{place}: {name} runs an agent and publishes");
            assert_eq!(publishes, writes(&job), "{place}: {name} writes if and only if it publishes");
            if publishes {
                let digest = steps(&job)
                    .iter()
                    .any(|s| s["with"]["manifest-sha256"].as_str().is_some_and(|d| d.contains("needs.")));
                assert!(digest, "{place}: {name} checks the digest that the other job told");
                assert!(job["needs"].is_string(), "{place}: {name} waits for the run");
            } else {
                assert!(job["if"].is_string(), "{place}: {name} has a gate");
            }
        }
    }
}

#[test]
fn own_workflows_have_few_rights_and_a_time_limit() {
    for (path, workflow) in own_workflows() {
        let place = path.display();
        assert_eq!(workflow["permissions"], serde_json::json!({}), "{place}: nothing is allowed by default");
        for (name, job) in jobs(&workflow) {
            assert!(job["timeout-minutes"].as_u64().is_some_and(|minutes| minutes <= 120), "{place}: {name}");
            assert!(!holds_a_key(&job), "{place}: {name} needs no key");
            // What is checked out and built runs code of a change; what publishes runs none of it.
            let builds =
                scripts(&job).iter().any(|script| script.contains("cargo") || script.contains(".ci/"));
            assert!(!(builds && writes(&job)), "{place}: {name} builds and can write");
        }
    }
}

#[test]
fn gates_are_held_by_people_with_rights() {
    for (path, workflow) in workflows() {
        for (name, job) in jobs(&workflow) {
            let Some(gate) = job["if"].as_str() else { continue };
            let label = gate.contains("event.label.name == 'holon:");
            let member = gate.contains("author_association")
                && gate.contains("MEMBER")
                && !gate.contains("CONTRIBUTOR");
            assert!(label || member, "{}: anyone can start {name}: {gate}", path.display());
            assert!(
                !gate.contains("comment.body") || member,
                "{}: {name} trusts any comment",
                path.display()
            );
        }
    }
}

#[test]
fn actions_are_pinned_and_checkouts_keep_no_credentials() {
    for (path, workflow) in workflows().into_iter().chain(own_workflows()) {
        for (name, job) in jobs(&workflow) {
            for step in steps(&job) {
                let Some(uses) = step["uses"].as_str() else { continue };
                let version = uses.split('@').nth(1).unwrap_or_default();
                let major =
                    version.strip_prefix('v').is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()));
                assert!(major || version.len() == 40, "{}: {uses} is not pinned", path.display());
                if uses.starts_with("actions/checkout@") {
                    assert_eq!(step["with"]["persist-credentials"], false, "{}: {name}", path.display());
                    assert!(!writes(&job), "{}: {name} checks code out and can write", path.display());
                }
            }
        }
    }
}

#[test]
fn inputs_and_outputs_fit_together() {
    let known: BTreeMap<&str, Value> = [
        ("holon-run/holon", actions()[0].1.clone()),
        ("holon-run/holon/actions/publish", actions()[1].1.clone()),
    ]
    .into();
    for (path, workflow) in workflows() {
        for (name, job) in jobs(&workflow) {
            for step in steps(&job) {
                let Some(action) = step["uses"].as_str().and_then(|uses| known.get(uses.split('@').next()?))
                else {
                    continue;
                };
                for (input, _) in step["with"].as_object().into_iter().flatten() {
                    assert!(
                        action["inputs"][input].is_object(),
                        "{}: {name} gives an unknown input {input}",
                        path.display()
                    );
                }
                let required = action["inputs"]
                    .as_object()
                    .unwrap()
                    .iter()
                    .filter(|(_, input)| input["required"] == true);
                for (input, _) in required {
                    assert!(!step["with"][input].is_null(), "{}: {name} lacks {input}", path.display());
                }
            }
        }
    }
    for (path, action) in actions() {
        assert_eq!(action["runs"]["using"], "composite", "{}", path.display());
        for step in action["runs"]["steps"].as_array().unwrap() {
            assert_eq!(step["shell"], "bash", "{}: every step names its shell", path.display());
        }
    }
}

#[test]
fn commands_and_flags_exist() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_holon"));
    let gitlab = root().join("examples/gitlab/review.gitlab-ci.yml");
    let documents = workflows().into_iter().chain(actions()).chain([(gitlab.clone(), yaml(&gitlab))]);
    let mut seen = 0;
    for (path, document) in documents {
        let mut lines: Vec<String> = scripts(&document)
            .iter()
            .flat_map(|s| s.lines().map(str::to_owned).collect::<Vec<_>>())
            .collect();
        // Arguments that a workflow passes on.
        for (_, job) in document["jobs"].as_object().into_iter().flatten() {
            for step in steps(job) {
                if let Some(more) = step["with"]["args"].as_str() {
                    lines.push(format!("holon publish github X {}", more.replace('\n', " ")));
                }
            }
        }
        for line in lines {
            let Some(command) = line.split("holon ").nth(1).filter(|_| line.contains("holon ")) else {
                continue;
            };
            let words: Vec<&str> = command.split_whitespace().collect();
            let depth = if ["publish", "context"].contains(&words[0]) { 2 } else { 1 };
            let help = env.holon(words[..depth].iter().copied()).arg("--help").run();
            help.assert_code(0);
            for flag in words.iter().filter(|word| word.starts_with("--")) {
                assert!(
                    help.stdout.contains(flag),
                    "{}: {flag} is no flag of {:?}",
                    path.display(),
                    &words[..depth]
                );
            }
            seen += 1;
        }
    }
    assert!(seen >= 8, "{seen}");
}

#[test]
fn scripts_are_valid_shell() {
    let env = TestEnv::new("/bin/sh");
    for (path, document) in workflows().into_iter().chain(own_workflows()).chain(actions()) {
        for script in scripts(&document) {
            let file = env.write("work/script.sh", &script);
            let checked = env.program("bash").arg("-n").arg(&file).run();
            assert_eq!(checked.code, 0, "{}: {script}\n{}", path.display(), checked.stderr);
        }
    }
}

/// Runs the script of the action with these further arguments for `holon run`, and gives what it told.
fn act(
    env: &TestEnv,
    repo: &holon_testkit::TestWorkspace,
    agent: &str,
    more: &str,
    code: i32,
) -> (String, String) {
    let action = actions().remove(0).1;
    let step =
        action["runs"]["steps"].as_array().unwrap().iter().find(|step| step["id"] == "run").unwrap().clone();
    let script = env.write("work/step.sh", step["run"].as_str().unwrap());
    let agent = env.agent("agent", agent);
    let (outputs, summary) = (env.write("work/outputs", ""), env.write("work/summary", ""));
    let path = format!("{}:{}", env.binary().parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut call =
        env.program("bash").args(["--noprofile", "--norc", "-eo", "pipefail"]).arg(&script).cwd(repo.path());
    for (name, value) in [
        ("MODE", "execute"),
        ("GOAL", "$(touch injected) `touch injected`"),
        ("SPEC", ""),
        ("AGENT", agent.to_str().unwrap()),
        ("CONTEXT", ""),
        ("COLLECTED", ""),
        ("WORKSPACE", "."),
        ("OUT", "../out"),
        ("MORE", more),
        ("PATH", &path),
        ("GITHUB_OUTPUT", outputs.to_str().unwrap()),
        ("GITHUB_STEP_SUMMARY", summary.to_str().unwrap()),
    ] {
        call = call.env(name, value);
    }
    call.run().assert_code(code);
    (std::fs::read_to_string(&outputs).unwrap(), std::fs::read_to_string(&summary).unwrap())
}

/// Changes a file, and leaves evidence of its own, as the contract allows.
const AGENT: &str = "#!/bin/sh\necho two >> a.txt\ncd \"$HOLON_OUTPUT_DIR\"\necho done > summary.md\nmkdir evidence\necho x > evidence/x.txt\n";

#[test]
fn the_action_installs_a_package_whose_digest_is_right() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_holon"));
    let action = actions().remove(0).1;
    let all = action["runs"]["steps"].as_array().unwrap();
    let step = all.iter().find(|step| step["name"] == "Install a package").unwrap();
    let script = env.write("work/install.sh", step["run"].as_str().unwrap());
    let name = "holon-9.9.9-x86_64-linux";
    env.write(format!("work/{name}/holon"), "#!/bin/sh\necho holon 9.9.9\n");
    let pack = format!(
        "chmod +x {name}/holon && tar -czf {name}.tar.gz {name} && sha256sum {name}.tar.gz > SHA256SUMS"
    );
    env.program("sh").args(["-c", &pack]).cwd(env.work()).run().assert_code(0);
    let path = env.write("work/path", "");
    let install = |package: &str, digest: &str| {
        let call = env.program("bash").args(["--noprofile", "--norc", "-eo", "pipefail"]).arg(&script);
        let call = call.env("PACKAGE", package).env("DIGEST", digest).env("RELEASES", "/nowhere");
        call.env("RUNNER_TEMP", env.work()).env("GITHUB_PATH", &path).cwd(env.work()).run()
    };
    let package = format!("{name}.tar.gz");
    install(&package, "").assert_code(0).assert_stdout("holon 9.9.9");
    install(&format!("{}/{package}", env.work().display()), "").assert_code(0);
    let added = std::fs::read_to_string(&path).unwrap();
    assert_eq!(
        added.lines().filter(|folder| Path::new(folder).join("holon").is_file()).count(),
        2,
        "{added}"
    );
    assert_ne!(install(&package, &"0".repeat(64)).code, 0, "another digest is demanded");
    env.write("work/SHA256SUMS", "");
    assert_ne!(install(&package, "").code, 0, "no digest is known");
    assert_ne!(install("9.9.8", "").code, 0, "a version that was never released");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), added);
}

#[test]
fn the_action_runs_and_tells_outcome_and_digest() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_holon"));
    let repo = env.repo().file("a.txt", "one\n").commit("first");
    let (told, summary) = act(&env, &repo, AGENT, "--quiet", 0);
    let digest = env.program("sha256sum").arg(env.work().join("out/manifest.json")).run().stdout;
    assert!(told.contains("outcome=success\n") && told.contains("exit-code=0\n"), "{told}");
    assert!(told.contains(&format!("manifest-sha256={}", digest.split(' ').next().unwrap())), "{told}");
    assert!(summary.contains("## Holon execute: success"));
    assert!(!repo.join("injected").exists());
    // What an earlier run left says nothing about one that did not start.
    let (told, summary) = act(&env, &repo, AGENT, "--no-such-flag", 64);
    assert!(told.contains("exit-code=64\n") && told.contains("outcome=failure\n"), "{told}");
    assert!(!told.contains("manifest-sha256") && summary.is_empty(), "{told}{summary}");
}

/// Three changes as pull requests, each decided by the same policy file in the action that publishes.
#[test]
fn a_policy_file_decides_three_pull_requests_in_the_action_that_publishes() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_holon"));
    let hub = holon_testkit::github::GitHub::start();
    hub.bot("holon[bot]", "app-token-0123456789", &[]);
    let hosted = hub.repository("octo/hello");
    hosted.commit("main", None, &[("a.txt", Some("one\n"))], "first");
    let clone = env.folder("hello");
    holon_testkit::run_git(
        clone.path(),
        ["clone", "--quiet", "--no-hardlinks", hosted.dir().to_str().unwrap(), "."],
    );
    let key = env.work().join("key");
    let made = env.program("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).run();
    made.assert_code(0);
    let public = std::fs::read_to_string(key.with_extension("pub")).unwrap();
    let policy = format!(
        "description = \"Checked changes only\"\nverified = true\nchecks = [\"grep -q two a.txt\"]\n\
         [[signer]]\nname = \"ci\"\nkey = \"{}\"\n",
        public.trim()
    );
    let policy = env.write("work/team.toml", policy);
    let agent = env.agent("agent", AGENT);
    let (_, action) = actions().remove(1);
    let steps = action["runs"]["steps"].as_array().unwrap().clone();
    let step = steps.iter().find(|step| step["name"] == "Publish").unwrap();
    let script = env.write("work/publish.sh", step["run"].as_str().unwrap());
    let path = format!("{}:{}", env.binary().parent().unwrap().display(), std::env::var("PATH").unwrap());

    // Signed and checked; signed without the check that is asked for; checked, and nobody signed it.
    for (task, check, signed, conclusion, said) in [
        ("checked", Some("grep -q two a.txt"), true, "success", "Signed by: ci"),
        ("unchecked", None, true, "action_required", "grep -q two a.txt"),
        ("unsigned", Some("grep -q two a.txt"), false, "action_required", "no signed statement"),
    ] {
        let out = env.work().join(task);
        let run = ["run", "--goal", "x", "--quiet", "--no-auto-checks", "--out", out.to_str().unwrap()];
        let mut run = env.holon(run).arg("--agent").arg(&agent).cwd(clone.path());
        if let Some(check) = check {
            run = run.args(["--check", check]);
        }
        run.run().assert_code(0);
        if signed {
            env.holon(["attest"]).arg(&out).arg("--key").arg(&key).cwd(clone.path()).run().assert_code(0);
        }
        let digest = holon_core::digest::sha256(&std::fs::read(out.join("manifest.json")).unwrap());
        let more = format!("--task\n{task}\n--only\npull");
        let mut call = env.program("bash").args(["--noprofile", "--norc", "-eo", "pipefail"]).arg(&script);
        for (name, value) in [
            ("GITHUB_TOKEN", "app-token-0123456789"),
            ("GITHUB_API_URL", &hub.address()),
            ("TARGET", "octo/hello"),
            ("FROM", out.to_str().unwrap()),
            ("DIGEST", &digest),
            ("POLICY", policy.to_str().unwrap()),
            ("SIGNERS", ""),
            ("MORE", &more),
            ("PATH", &path),
        ] {
            call = call.env(name, value);
        }
        call.cwd(clone.path()).run().assert_code(0).assert_stdout("policy: published");
        let head = hosted.tip(&format!("holon/{task}"));
        let checks = hosted.checks();
        let check = checks.iter().find(|check| check["head_sha"].as_str() == head.as_deref()).unwrap();
        assert_eq!(
            (&check["name"], &check["conclusion"]),
            (&"holon/policy".into(), &conclusion.into()),
            "{check:#}"
        );
        let summary = check["output"]["summary"].as_str().unwrap();
        assert!(summary.contains(said) && summary.contains("Policy: team.toml"), "{task}: {summary}");
    }
    assert_eq!((hosted.pulls().len(), hosted.checks().len()), (3, 3));
}
