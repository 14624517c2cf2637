//! Checks that can be trusted: end to end, with the real binary, the real walls and real runners.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::time::Duration;

use holon_testkit::{CommandEnd, TestEnv, TestWorkspace, for_each_identity, wait_until};
use serde_json::Value;

const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// A project, what an agent does to it, and the check.
struct CheckedChangeCase {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    agent: &'static str,
    check: &'static str,
    /// The file the manifest must name.
    names: &'static str,
}

fn repo(env: &TestEnv, files: &[(&str, &str)]) -> TestWorkspace {
    let all = files
        .iter()
        .fold(env.repo().file("README.md", "Helo\n"), |repo, (path, text)| repo.file(*path, *text));
    all.commit("first")
}

fn run(env: &TestEnv, repo: &TestWorkspace, goal: &str, agent: &str, more: &[&str]) -> (CommandEnd, Value) {
    let script = format!("#!/bin/sh\n{agent}\necho done > \"$HOLON_OUTPUT_DIR/summary.md\"\n");
    let agent = env.agent("agent.sh", &script);
    let out = env.work().join("out");
    let call =
        env.holon(["run", "--mode", "execute", "--goal", goal, "--agent"]).arg(&agent).cwd(repo.path());
    let output = call.arg("--out").arg(&out).args(more).run();
    let manifest = output.manifest(&out);
    (output, manifest)
}

fn known(manifest: &Value) -> &Value {
    &manifest["metadata"]["verification"]
}

fn names(manifest: &Value) -> Vec<String> {
    let list = known(manifest)["definitions"].as_array().cloned().unwrap_or_default();
    list.iter().map(|one| one["path"].as_str().unwrap_or_default().to_owned()).collect()
}

const CALC_SH: (&str, &str) = ("calc.sh", "add() { echo $(($1 - $2)); }\n");
const RUN_TESTS: (&str, &str) = ("run-tests", "#!/bin/sh\n. ./calc.sh\n[ \"$(add 2 2)\" = 4 ]\n");
const TALKING: (&str, &str) = (
    "run-tests",
    "#!/bin/sh\nbad=0\nsame() { if [ $1 = $2 ]; then echo ok $3; else echo FAILED $3; bad=1; fi; }\n. ./calc.sh\nsame \"$(add 2 2)\" 4 sum\nsame \"$(add 0 0)\" 0 zero\nexit $bad\n",
);
const MAKEFILE: (&str, &str) = ("Makefile", "test:\n\tsh ./run-tests\n");
const CALC_PY: (&str, &str) = ("calc.py", "def add(a, b):\n    return a - b\n");
const TEST_PY: (&str, &str) = (
    "test_calc.py",
    "import unittest\nfrom calc import add\n\n\nclass T(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 2), 4)\n\n    def test_zero(self):\n        self.assertEqual(add(0, 0), 0)\n",
);
const CALC_JS: (&str, &str) = ("calc.mjs", "export const add = (a, b) => a - b\n");
const TEST_JS: (&str, &str) = (
    "calc.test.mjs",
    "import { test } from 'node:test'\nimport assert from 'node:assert'\nimport { add } from './calc.mjs'\ntest('adds', () => assert.equal(add(2, 2), 4))\ntest('zero', () => assert.equal(add(0, 0), 0))\n",
);
const PACKAGE: (&str, &str) =
    ("package.json", "{\"name\": \"x\", \"scripts\": {\"test\": \"node --test\"}}\n");
const UNITTEST: &str = "python3 -m unittest";

const CHEATS: &[CheckedChangeCase] = &[
    CheckedChangeCase {
        name: "make target",
        files: &[CALC_SH, RUN_TESTS, MAKEFILE],
        agent: "printf 'test:\\n\\ttrue\\n' > Makefile",
        check: "make test",
        names: "Makefile",
    },
    CheckedChangeCase {
        name: "check script",
        files: &[CALC_SH, RUN_TESTS],
        agent: "echo 'exit 0' > run-tests",
        check: "sh ./run-tests",
        names: "run-tests",
    },
    CheckedChangeCase {
        name: "stronger makefile",
        files: &[CALC_SH, RUN_TESTS, MAKEFILE],
        agent: "printf 'test:\\n\\t@:\\n' > GNUmakefile",
        check: "make test",
        names: "GNUmakefile",
    },
    CheckedChangeCase {
        name: "npm script",
        files: &[CALC_JS, TEST_JS, PACKAGE],
        agent: "echo '{\"scripts\": {\"test\": \"exit 0\"}}' > package.json",
        check: "npm test",
        names: "package.json",
    },
    CheckedChangeCase {
        name: "npm shell",
        files: &[CALC_JS, TEST_JS, PACKAGE],
        agent: "echo script-shell=/bin/true > .npmrc",
        check: "npm test",
        names: ".npmrc",
    },
    CheckedChangeCase {
        name: "node test skipped",
        files: &[CALC_JS, TEST_JS],
        agent: "sed -i \"s/test('adds'/test.skip('adds'/\" calc.test.mjs",
        check: "node --test",
        names: "calc.test.mjs",
    },
    CheckedChangeCase {
        name: "node test deleted",
        files: &[CALC_JS, TEST_JS],
        agent: "rm calc.test.mjs; echo \"import 'node:test'\" > other.test.mjs",
        check: "node --test",
        names: "calc.test.mjs",
    },
    CheckedChangeCase {
        name: "python exits",
        files: &[CALC_PY, TEST_PY],
        agent: "printf 'import os\\nos._exit(0)\\n' > test_calc.py",
        check: UNITTEST,
        names: "test_calc.py",
    },
    CheckedChangeCase {
        name: "python assertion",
        files: &[CALC_PY, TEST_PY],
        agent: "sed -i 's/add(2, 2), 4/add(2, 2), 0/' test_calc.py",
        check: UNITTEST,
        names: "test_calc.py",
    },
    CheckedChangeCase {
        name: "python shadow",
        files: &[CALC_PY, TEST_PY],
        agent: "echo 'raise SystemExit(0)' > unittest.py",
        check: UNITTEST,
        names: "unittest.py",
    },
    CheckedChangeCase {
        name: "python under test",
        files: &[CALC_PY, TEST_PY],
        agent: "printf \"import sys\\ndef add(a, b):\\n    return a + b if 'unittest' in sys.modules else a - b\\n\" > calc.py",
        check: UNITTEST,
        names: "calc.py",
    },
    CheckedChangeCase {
        name: "python code exits",
        files: &[CALC_PY, TEST_PY],
        agent: "printf 'import os\\nos._exit(0)\\n' >> calc.py",
        check: UNITTEST,
        names: "calc.py",
    },
    CheckedChangeCase {
        name: "doctest",
        files: &[(
            "calc.py",
            "def add(a, b):\n    '''\n    >>> add(2, 2)\n    4\n    '''\n    return a - b\n",
        )],
        agent: "printf 'def add(a, b):\\n    return a - b\\n' > calc.py",
        check: "python3 -m doctest calc.py",
        names: "calc.py",
    },
    CheckedChangeCase {
        name: "expected output",
        files: &[
            ("check.sh", "sh greet.sh | diff - want.txt\n"),
            ("want.txt", "hello\n"),
            ("greet.sh", "echo hullo\n"),
        ],
        agent: "echo hullo > want.txt",
        check: "sh check.sh",
        names: "want.txt",
    },
    CheckedChangeCase {
        name: "the product ends a silent check",
        files: &[CALC_SH, RUN_TESTS],
        agent: "echo 'exit 0' >> calc.sh",
        check: "sh ./run-tests",
        names: "calc.sh",
    },
    CheckedChangeCase {
        name: "the product ends a check that talks",
        files: &[CALC_SH, TALKING],
        agent: "echo 'exit $(( 1 - 1 ))' >> calc.sh",
        check: "sh ./run-tests",
        names: "calc.sh",
    },
    CheckedChangeCase {
        name: "the product takes the place of a function of the tests",
        files: &[CALC_SH, TALKING],
        agent: "echo 'same() { :; }' >> calc.sh",
        check: "sh ./run-tests",
        names: "calc.sh",
    },
    CheckedChangeCase {
        name: "the product asks who calls",
        files: &[CALC_PY, TEST_PY],
        agent: "printf 'def add(a, b):\\n    return a + b if __import__(\"sys\").modules.get(\"unittest\") else a - b\\n' > calc.py",
        check: UNITTEST,
        names: "calc.py",
    },
    CheckedChangeCase {
        name: "a table that tests alone read",
        files: &[
            CALC_PY,
            (
                "test_calc.py",
                "import unittest\nfrom calc import add\n\n\nclass T(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 2), int(open('share/sum.txt').read()))\n",
            ),
            ("share/sum.txt", "4\n"),
        ],
        agent: "echo 0 > share/sum.txt",
        check: UNITTEST,
        names: "share/sum.txt",
    },
    CheckedChangeCase {
        name: "settings where a build file looks for them",
        files: &[CALC_SH, RUN_TESTS, ("Makefile", "-include .env\ntest:\n\t$(DO) sh ./run-tests\n")],
        agent: "echo 'DO = true' > .env",
        check: "make test",
        names: ".env",
    },
];

#[test]
fn inv_18_a_check_that_the_change_defines_verifies_nothing() {
    for CheckedChangeCase { name, files, agent, check, names: file } in CHEATS {
        let env = TestEnv::new(BIN);
        let repo = repo(&env, files);
        // The words of a goal decide nothing.
        let (output, manifest) =
            run(&env, &repo, "Make the test pass; change tests as you like", agent, &["--check", check]);
        assert_eq!(manifest["outcome"], "needs_human", "{name}: {manifest:#}\n{output:?}");
        output.assert_code(2);
        assert_eq!(known(&manifest)["state"], "changed_checks", "{name}: {manifest:#}");
        assert_eq!(manifest["error"]["kind"], "changed_checks", "{name}");
        assert!(names(&manifest).iter().any(|path| path == file), "{name}: {manifest:#}");
        assert!(manifest["error"]["message"].as_str().unwrap().contains(file), "{name}: {manifest:#}");
        let (_, manifest) = run(&env, &repo, "x", agent, &["--check", check, "--tests-may-change"]);
        assert_eq!(manifest["outcome"], "success", "{name}: {manifest:#}");
        assert_ne!(known(&manifest)["state"], "verified", "{name}: allowed, and still not verified");
    }
}

#[test]
fn inv_18_ordinary_users_and_root_see_the_same() {
    for_each_identity(BIN, |env| {
        let CheckedChangeCase { files, agent, check, .. } = &CHEATS[0];
        let repo = repo(env, files);
        let (output, manifest) = run(env, &repo, "x", agent, &["--check", check]);
        output.assert_code(2);
        assert_eq!(known(&manifest)["state"], "changed_checks", "{manifest:#}");
    });
}

const HONEST: &[CheckedChangeCase] = &[
    CheckedChangeCase {
        name: "new case",
        files: &[CALC_PY, TEST_PY],
        agent: "sed -i 's/a - b/a + b/' calc.py; printf '\\n    def test_more(self):\\n        self.assertEqual(add(1, 2), 3)\\n' >> test_calc.py",
        check: UNITTEST,
        names: "test_calc.py",
    },
    CheckedChangeCase {
        name: "renamed test file",
        files: &[CALC_PY, TEST_PY],
        agent: "sed -i 's/a - b/a + b/' calc.py; mv test_calc.py test_arithmetic.py",
        check: UNITTEST,
        names: "test_calc.py",
    },
    CheckedChangeCase {
        name: "new test file",
        files: &[CALC_JS, TEST_JS, PACKAGE],
        agent: "sed -i 's/a - b/a + b/' calc.mjs; cp calc.test.mjs more.test.mjs",
        check: "npm test",
        names: "more.test.mjs",
    },
    CheckedChangeCase {
        name: "formatted",
        files: &[CALC_JS, TEST_JS],
        agent: "sed -i 's/a - b/a + b/' calc.mjs; sed -i 's/$/;/' calc.test.mjs",
        check: "node --test",
        names: "calc.test.mjs",
    },
    CheckedChangeCase {
        name: "a command line that ends",
        files: &[CALC_SH, TALKING],
        agent: "sed -i 's/- $2/+ $2/' calc.sh; printf '. ./calc.sh\\n[ $# = 2 ] || exit 2\\nadd $1 $2\\nexit 0\\n' > tool.sh; echo >> run-tests",
        check: "sh ./run-tests",
        names: "run-tests",
    },
    CheckedChangeCase {
        name: "make target beside",
        files: &[CALC_SH, RUN_TESTS, MAKEFILE],
        agent: "sed -i 's/- $2/+ $2/' calc.sh; printf 'clean:\\n\\trm -f x\\n' >> Makefile",
        check: "make test",
        names: "Makefile",
    },
];

#[test]
fn honest_changes_of_tests_are_verified() {
    for CheckedChangeCase { name, files, agent, check, names: file } in HONEST {
        let env = TestEnv::new(BIN);
        let repo = repo(&env, files);
        let (output, manifest) = run(&env, &repo, "x", agent, &["--check", check]);
        output.assert_code(0);
        assert_eq!(known(&manifest)["state"], "verified", "{name}: {manifest:#}");
        assert!(names(&manifest).iter().any(|path| path == file), "{name}: {manifest:#}");
    }
}

/// The folder of a run.
fn folder(env: &TestEnv, manifest: &Value) -> std::path::PathBuf {
    let id = manifest["run_id"].as_str().unwrap();
    env.runs().into_iter().find(|run| run.ends_with(id)).unwrap()
}

/// What the checks of a run printed, by the names of their logs: one for each time a check was run.
fn logs(env: &TestEnv, manifest: &Value) -> Vec<String> {
    let entries = fs::read_dir(folder(env, manifest).join("evidence")).unwrap().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.retain(|name| name.starts_with("check-") && name.ends_with(".log"));
    names.sort();
    names
}

const CURES: &str = "sed -i 's/a - b/a + b/' calc.py";

/// Whether baselines are made beside the agent here.
fn many_cores() -> bool {
    std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1)
}

#[test]
fn with_no_definition_touched_there_is_one_run_and_one_baseline_that_is_made_once() {
    if !many_cores() {
        return;
    }
    let env = TestEnv::new(BIN);
    let repo = repo(&env, &[CALC_PY, TEST_PY]);
    for cached in [false, true] {
        let (output, manifest) = run(&env, &repo, "x", CURES, &["--check", UNITTEST]);
        output.assert_code(0);
        let check = &known(&manifest)["checks"][0];
        assert_eq!(
            (&check["verdict"], &check["cases"]["passed"]),
            (&"passed".into(), &2.into()),
            "{manifest:#}"
        );
        assert_eq!(check["baseline"]["cases"]["failed"], 1, "{manifest:#}");
        assert_eq!(check["baseline"].get("cached").is_some(), cached, "{manifest:#}");
        assert!(check["differences"]["fixed"][0].as_str().unwrap().contains("test_add"), "{manifest:#}");
        assert!(check.get("as_it_was").is_none(), "{manifest:#}");
        let ran: &[&str] = if cached { &["check-1.log"] } else { &["check-1-baseline.log", "check-1.log"] };
        assert_eq!(logs(&env, &manifest), ran);
        assert!(!folder(&env, &manifest).join("beside").exists());
    }
}

#[test]
fn a_baseline_is_made_while_the_agent_works() {
    if !many_cores() {
        return;
    }
    let env = TestEnv::new(BIN);
    let repo = repo(&env, &[CALC_PY, TEST_PY]);
    // The agent goes on when the baseline has said what it has to say.
    let script = format!(
        "#!/bin/sh\nuntil test -e \"$HOLON_INPUT_DIR/go\"; do sleep 0.05; done\n{CURES}\necho done > \"$HOLON_OUTPUT_DIR/summary.md\"\n"
    );
    let agent = env.agent("agent.sh", &script);
    let call = env.holon(["run", "--mode", "execute", "--goal", "x", "--check", UNITTEST, "--agent"]);
    let running = call.arg(&agent).cwd(repo.path()).spawn();
    let told = |run: &std::path::PathBuf| {
        let log = fs::read_to_string(run.join("evidence/check-1-baseline.log")).unwrap_or_default();
        log.contains("FAILED (failures=1)")
    };
    assert!(wait_until(Duration::from_secs(60), || env.runs().last().is_some_and(told)));
    let last = env.runs().pop().unwrap();
    fs::write(last.join("input/go"), "").unwrap();
    let output = running.wait();
    output.assert_code(0);
    let manifest: Value =
        serde_json::from_str(&fs::read_to_string(last.join("output/manifest.json")).unwrap()).unwrap();
    assert_eq!(known(&manifest)["checks"][0]["baseline"]["exit_code"], 1, "{manifest:#}");
}

#[test]
fn a_baseline_that_nobody_needs_keeps_nobody_waiting() {
    let env = TestEnv::new(BIN);
    // It never ends, and there is nothing to be checked.
    let repo = repo(&env, &[("Makefile", "test:\n\ttail -f /dev/null\n")]);
    let (output, manifest) = run(&env, &repo, "x", ":", &[]);
    assert!(!output.timed_out, "{manifest:#}");
    assert!(known(&manifest).get("checks").is_none(), "{manifest:#}");
}

#[test]
fn a_killed_run_leaves_nothing_of_its_baseline() {
    if !many_cores() {
        return;
    }
    let env = TestEnv::new(BIN);
    let repo = repo(&env, &[("Makefile", "test:\n\ttail -f /dev/null\n")]);
    let agent = env.agent("agent.sh", "#!/bin/sh\ntail -f /dev/null\n");
    let call = env.holon(["run", "--mode", "execute", "--goal", "x", "--check", "make test", "--agent"]);
    let running = call.arg(&agent).cwd(repo.path()).spawn();
    let begun = |run: &std::path::PathBuf| run.join("evidence/check-1-baseline.log").exists();
    assert!(wait_until(Duration::from_secs(60), || env.runs().last().is_some_and(begun)));
    let last = env.runs().pop().unwrap();
    assert!(last.join("beside").exists());
    drop(running.kill());
    assert!(wait_until(Duration::from_secs(60), || env.leftover_processes().is_empty()));
    env.holon(["runs", "list"]).cwd(repo.path()).run().assert_code(0);
    assert!(!last.join("beside").exists() && !last.join("layers").exists());
}

#[test]
fn on_one_core_a_baseline_is_made_when_a_check_cannot_be_judged_without() {
    let mut one = rustix::thread::CpuSet::new();
    let all = rustix::thread::sched_getaffinity(None).unwrap();
    one.set((0..rustix::thread::CpuSet::MAX_CPU).find(|core| all.is_set(*core)).unwrap());
    // What this thread starts inherits it.
    rustix::thread::sched_setaffinity(None, &one).unwrap();
    let env = TestEnv::new(BIN);
    let repo = repo(&env, &[CALC_PY, TEST_PY]);
    let (output, manifest) = run(&env, &repo, "x", CURES, &["--check", UNITTEST]);
    output.assert_code(0);
    assert_eq!(logs(&env, &manifest), ["check-1.log"], "{manifest:#}");
    // What the checks before it leave is there on the untouched tree, too.
    let checks = ["--check", "echo 4 > expected", "--check", "test -e expected && exit 3"];
    let (_, manifest) = run(&env, &repo, "x", "echo x >> README.md", &checks);
    let check = &known(&manifest)["checks"][1];
    assert_eq!(
        (&check["verdict"], &check["baseline"]["exit_code"]),
        (&"failing_as_before".into(), &3.into()),
        "{manifest:#}"
    );
    assert_eq!(
        logs(&env, &manifest),
        ["check-1-baseline.log", "check-1.log", "check-2-baseline.log", "check-2.log"]
    );
}

#[test]
fn what_was_red_before_is_nobodys_fault_and_asked_once() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, &[CALC_PY, TEST_PY]);
    let typo = "sed -i s/Helo/Hello/ README.md";
    for cached in [false, true] {
        let (output, manifest) = run(&env, &repo, "Fix the typo in README", typo, &["--check", UNITTEST]);
        output.assert_code(0);
        let check = &known(&manifest)["checks"][0];
        assert_eq!(known(&manifest)["state"], "failing_as_before", "{manifest:#}");
        assert_eq!(check["verdict"], "failing_as_before", "{manifest:#}");
        let failing = check["differences"]["failing_as_before"][0].as_str().unwrap();
        assert!(failing.contains("test_add"), "{manifest:#}");
        assert_eq!(check["baseline"].get("cached").is_some(), cached, "{manifest:#}");
        let warnings = manifest["metadata"]["warnings"].to_string();
        assert!(warnings.contains("as it did before"), "{warnings}");
    }
    // Where the goal is about it, or another tree is at hand, it is another matter.
    let (output, _) = run(&env, &repo, "Fix the failing test", typo, &["--check", UNITTEST]);
    output.assert_code(1);
    fs::write(repo.join("calc.py"), "def add(a, b):\n    return a * b\n").unwrap();
    let (_, manifest) = run(&env, &repo, "x", typo, &["--check", UNITTEST]);
    assert_eq!(known(&manifest)["state"], "verified", "{manifest:#}");
}

#[test]
fn what_the_change_breaks_is_said() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, &[CALC_PY, TEST_PY]);
    let breaks = "printf 'def add(a, b):\\n    return 7\\n' > calc.py";
    let (output, manifest) = run(&env, &repo, "x", breaks, &["--check", UNITTEST]);
    output.assert_code(1);
    let differences = &known(&manifest)["checks"][0]["differences"];
    assert!(differences["broken"][0].as_str().unwrap().contains("test_zero"), "{manifest:#}");
    assert!(differences["failing_as_before"][0].as_str().unwrap().contains("test_add"), "{manifest:#}");
    assert!(manifest["error"]["message"].as_str().unwrap().contains("broken by this change"), "{manifest:#}");
}

/// What the check would have come to after its stop is told all the same.
#[test]
fn what_the_change_breaks_is_said_though_the_check_stops_before_it() {
    let case = |name: &str, body: &str| {
        format!(
            "import unittest\nimport calc\n\nclass {name}(unittest.TestCase):\n    def test_it(self):\n        {body}\n"
        )
    };
    let (red, green) = (case("Red", "self.fail('red')"), case("Zero", "self.assertEqual(calc.add(0, 0), 0)"));
    let breaks = "printf 'def add(a, b):\\n    return 7\\n' > calc.py";
    for check in [
        "python3 -m unittest a_red && python3 -m unittest b_zero",
        "python3 -m pytest -q -x a_red.py b_zero.py",
    ] {
        let env = TestEnv::new(BIN);
        let repo = repo(&env, &[CALC_PY, ("a_red.py", &red), ("b_zero.py", &green)]);
        let (output, manifest) = run(&env, &repo, "x", breaks, &["--check", check]);
        output.assert_code(1);
        let told = &known(&manifest)["checks"][0];
        assert_eq!(told["verdict"], "broken", "{check}: {manifest:#}");
        assert!(told["differences"]["broken"].to_string().contains("Zero"), "{check}: {manifest:#}");
    }
}

/// Two files have a case of the same name; one was red, and the change breaks the other.
#[test]
fn what_the_change_breaks_is_said_though_another_case_of_its_name_was_red() {
    let js = |function: &str, expect: u32| {
        format!(
            "const {{ test }} = require('node:test'); const assert = require('node:assert'); const m = require('../m.js');\n\
             test('works', () => assert.equal(m.{function}(3), {expect}));\n"
        )
    };
    let (cube, twice) = (js("cube", 27), js("twice", 6));
    let node: &[(&str, &str)] = &[
        ("m.js", "exports.cube = x => x * x;\nexports.twice = x => x + x;\n"),
        ("test/cube.test.js", &cube),
        ("test/twice.test.js", &twice),
    ];
    let env = TestEnv::new(BIN);
    let repo = repo(&env, node);
    let (output, manifest) =
        run(&env, &repo, "x", "sed -i 's/x + x/x + x + x/' m.js", &["--check", "node --test"]);
    output.assert_code(1);
    let told = &known(&manifest)["checks"][0];
    assert_eq!(told["verdict"], "broken", "{manifest:#}");
    assert_eq!(told["differences"]["broken"], serde_json::json!(["works #2"]), "{manifest:#}");
    assert_eq!(told["differences"]["failing_as_before"], serde_json::json!(["works"]), "{manifest:#}");
}

#[test]
fn inv_18_checks_leave_no_byte_in_a_patch_and_see_nothing_beside_it() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, &[CALC_PY, TEST_PY, (".gitignore", "ignored/\n")]);
    // What the agent leaves outside of the patch: an ignored file, and things in its home.
    let agent = "sed -i 's/a - b/a + b/' calc.py; mkdir -p ignored \"$HOME/bin\"; echo x > ignored/x; echo x > \"$HOME/x\"";
    let check = "test ! -e ignored/x && test ! -e \"$HOME/x\" && python3 -m unittest \
                 && mkdir -p __snapshots__ && echo x > __snapshots__/a.snap && echo x > .coverage && echo x >> calc.py";
    let (output, manifest) =
        run(&env, &repo, "x", agent, &["--check", check, "--check", "grep -q x .coverage"]);
    output.assert_code(0);
    let patch = fs::read_to_string(env.work().join("out/diff.patch")).unwrap();
    assert!(patch.contains("a + b"), "{patch}");
    for left in ["pycache", "snap", "coverage", "ignored", "\n+x"] {
        assert!(!patch.contains(left), "{left}: {patch}");
    }
    assert_eq!(known(&manifest)["state"], "verified", "one check after the other in one tree: {manifest:#}");
    // Nor does what the agent itself ran, in a repository that does not ignore it.
    let agent = "sed -i 's/a - b/a + b/' calc.py; python3 -m unittest; test -d __pycache__ || exit 9; touch .coverage";
    let (output, _) = run(&env, &repo, "x", agent, &["--no-auto-checks"]);
    output.assert_code(0);
    let patch = fs::read_to_string(env.work().join("out/diff.patch")).unwrap();
    assert!(patch.contains("a + b") && !patch.contains("pycache") && !patch.contains("coverage"), "{patch}");
}

#[test]
fn in_a_repository_of_many_packages_those_that_were_touched_are_checked_first() {
    let env = TestEnv::new(BIN);
    let check = "test:\n\ttest -f a.txt\n";
    let packages = ["a", "b", "c"].map(|name| [format!("{name}/Makefile"), format!("{name}/a.txt")]);
    let files: Vec<(&str, &str)> =
        packages.iter().flat_map(|[make, text]| [(make.as_str(), check), (text.as_str(), "x\n")]).collect();
    let repo = repo(&env, &files);
    let (output, manifest) = run(&env, &repo, "x", "echo y >> b/a.txt", &[]);
    output.assert_code(0);
    let checks = known(&manifest)["checks"].as_array().unwrap();
    let ran: Vec<&str> = checks.iter().map(|check| check["command"].as_str().unwrap()).collect();
    assert_eq!(ran, ["make -C b test", "make -C a test", "make -C c test"], "{manifest:#}");
    assert_eq!(known(&manifest)["state"], "verified", "{manifest:#}");
    let based = checks.iter().filter(|check| check["baseline"]["exit_code"] == 0).count();
    assert_eq!(based, if many_cores() { 3 } else { 0 }, "{manifest:#}");
}
