#![allow(clippy::expect_used, clippy::unwrap_used)]

use proptest::prelude::*;

use super::{CaseState, FORMS, RunnerReport, TestRunner, read, recognise, unstopped};

macro_rules! sample {
    ($name:literal) => {
        include_str!(concat!("../../tests/data/runners/", $name))
    };
}

/// passed, failed, skipped, diagnostics
#[track_caller]
fn check(runner: TestRunner, output: &str, counts: [u32; 4], failing: &[&str]) -> RunnerReport {
    let report = read(runner, output);
    let found = [report.passed, report.failed, report.skipped, report.diagnostics];
    assert_eq!(
        (found, &report.failing[..]),
        (counts, &failing.iter().map(|s| s.to_string()).collect::<Vec<_>>()[..])
    );
    report
}

#[test]
fn cargo() {
    let failing = ["parse::tests::empty", "parse::tests::panics"];
    let report = check(TestRunner::Cargo, sample!("cargo.txt"), [2, 2, 1, 0], &failing);
    assert_eq!(report.cases.get("parse::tests::one"), Some(&CaseState::Passed));
    assert_eq!(report.cases.get("parse::tests::slow"), Some(&CaseState::Skipped));
    check(TestRunner::Cargo, sample!("cargo_broken.txt"), [0, 0, 0, 2], &[]);
}

#[test]
fn nextest() {
    check(
        TestRunner::Nextest,
        sample!("nextest.txt"),
        [3, 2, 1, 0],
        &["demo parse::empty", "demo::it slow_one"],
    );
}

#[test]
fn pytest() {
    let failing =
        ["tests/test_parse.py::test_empty", "tests/test_load.py::test_fixture", "tests/test_new.py"];
    check(TestRunner::Pytest, sample!("pytest.txt"), [3, 3, 1, 0], &failing);
    check(TestRunner::Pytest, sample!("pytest_quiet.txt"), [5, 0, 0, 0], &[]);
}

#[test]
fn go() {
    check(
        TestRunner::Go,
        sample!("go.txt"),
        [2, 3, 1, 0],
        &["example.com/demo.TestParse", "example.com/demo.TestParse/empty", "example.com/demo/broken"],
    );
    check(
        TestRunner::Go,
        sample!("go.json.txt"),
        [1, 2, 1, 0],
        &["example.com/demo.TestParse", "example.com/broken"],
    );
    check(TestRunner::Go, "ok  \texample.com/demo\t0.002s\n", [1, 0, 0, 0], &[]);
}

#[test]
fn junit() {
    let failing = ["com.example.ParseTest.empty", "com.example.ParseTest.crash"];
    check(TestRunner::Junit, sample!("junit.xml"), [2, 2, 1, 0], &failing);
}

#[test]
fn tap() {
    check(TestRunner::Tap, sample!("tap.txt"), [3, 2, 1, 0], &["empty input", "5"]);
    check(TestRunner::Tap, "ok then\n", [0, 0, 0, 0], &[]);
}

#[test]
fn jest_and_vitest() {
    check(TestRunner::Jest, sample!("jest.txt"), [7, 1, 3, 0], &["src/parse.test.ts › parse › empty input"]);
    check(
        TestRunner::Jest,
        sample!("vitest.txt"),
        [2, 1, 0, 0],
        &["src/parse.test.ts > parse > empty input"],
    );
}

#[test]
fn make_ctest_and_compilers() {
    check(TestRunner::Make, sample!("make.txt"), [0, 0, 0, 2], &[]);
    check(TestRunner::Make, sample!("ctest.txt"), [1, 1, 0, 0], &["parse"]);
    check(TestRunner::Other, sample!("tsc.txt"), [0, 0, 0, 2], &[]);
}

#[test]
fn unittest() {
    let output = "F.s\n======\nFAIL: test_add (test_calc.T.test_add)\n------\nTraceback\nAssertionError: 0 != 4\n\n------\nRan 3 tests in 0.001s\n\nFAILED (failures=1, skipped=1)\n";
    check(TestRunner::Unittest, output, [1, 1, 1, 0], &["test_add (test_calc.T.test_add)"]);
    let output = "test_add (test_calc.T.test_add) ... ok\n\n------\nRan 1 test in 0.000s\n\nOK\n";
    assert!(check(TestRunner::Unittest, output, [1, 0, 0, 0], &[]).names_all());
}

#[test]
fn node() {
    let output = "✔ adds (0.5ms)\n✖ parses (1.2ms)\n﹣ later (0.1ms) # SKIP\nℹ tests 3\nℹ suites 0\nℹ pass 1\nℹ fail 1\nℹ cancelled 0\nℹ skipped 1\nℹ todo 0\nℹ duration_ms 50\n\n✖ failing tests:\n\n✖ parses (1.2ms)\n";
    assert!(check(TestRunner::Node, output, [1, 1, 1, 0], &["parses"]).names_all());
}

#[test]
fn mocha() {
    let output = "\n  parse\n    ✔ reads one\n    1) empty input\n    - later\n\n  1 passing (5ms)\n  1 pending\n  1 failing\n\n  1) parse\n       empty input:\n\n      AssertionError: 1 == 2\n";
    check(TestRunner::Mocha, output, [1, 1, 1, 0], &["parse empty input"]);
}

#[test]
fn jvm() {
    let output = "[INFO] Running com.x.ParseTest\n[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1, Time elapsed: 0.05 s <<< FAILURE! -- in com.x.ParseTest\n[ERROR] com.x.ParseTest.empty -- Time elapsed: 0.01 s <<< FAILURE!\n[INFO] Results:\n[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1\n";
    check(TestRunner::Maven, output, [1, 1, 1, 0], &["com.x.ParseTest.empty"]);
    let output = "> Task :test FAILED\n\nParseTest > empty() FAILED\n    org.opentest4j.AssertionFailedError at ParseTest.java:9\n\n3 tests completed, 1 failed\n";
    check(TestRunner::Gradle, output, [2, 1, 0, 0], &["ParseTest > empty()"]);
}

#[test]
fn dotnet_ruby_and_php() {
    let output = "  Failed Calc.Tests.Adds [3 ms]\n  Error Message:\nFailed!  - Failed:     1, Passed:     2, Skipped:     0, Total:     3, Duration: 4 ms - Calc.Tests.dll (net8.0)\n";
    check(TestRunner::Dotnet, output, [2, 1, 0, 0], &["Calc.Tests.Adds"]);
    let output = "F.*\n\nFinished in 0.1 seconds\n3 examples, 1 failure, 1 pending\n\nFailed examples:\n\nrspec ./spec/calc_spec.rb:3 # add adds two numbers\n";
    check(TestRunner::Rspec, output, [1, 1, 1, 0], &["add adds two numbers"]);
    let output = "  1) Failure:\nCalcTest#test_adds [test/calc_test.rb:5]:\nExpected: 4\n\n3 runs, 3 assertions, 1 failures, 0 errors, 0 skips\n";
    check(TestRunner::Minitest, output, [2, 1, 0, 0], &["CalcTest#test_adds"]);
    let output = "There was 1 failure:\n\n1) CalcTest::testAdds\nFailed asserting that 0 is identical to 4.\n\nFAILURES!\nTests: 3, Assertions: 3, Failures: 1.\n";
    check(TestRunner::Phpunit, output, [2, 1, 0, 0], &["CalcTest::testAdds"]);
    check(TestRunner::Phpunit, "OK (2 tests, 4 assertions)\n", [2, 0, 0, 0], &[]);
}

#[test]
fn bats() {
    let output = "calc.bats\n ✓ adds\n ✗ parses\n   (in test file calc.bats, line 5)\n - later (skipped: soon)\n\n3 tests, 1 failure, 1 skipped\n";
    check(TestRunner::Bats, output, [1, 1, 1, 0], &["parses"]);
}

#[test]
fn no_case_is_invented() {
    for output in [
        "FAIL: adds two numbers\n",
        "not ok\n",
        "✗ adds\nFAILED\n",
        "checking parser ... FAILED\n",
        "make: *** [Makefile:3: check] Error 1\n",
        "error: something is wrong\n",
        "FAIL src/a.txt\n● bullet\n",
        "1) first\n2) second: thing\n",
        "Failed to open x [1]\n",
    ] {
        for runner in [
            TestRunner::Other,
            TestRunner::Make,
            TestRunner::Jest,
            TestRunner::Bats,
            TestRunner::Mocha,
            TestRunner::Node,
        ] {
            let report = read(runner, output);
            assert!(report.failing.is_empty() && report.cases.is_empty(), "{runner:?} {output} {report:?}");
        }
    }
    assert_eq!(super::last_lines("a\n\nb\n\u{1b}[31mc\u{1b}[0m\n", 2), "b\nc");
}

#[test]
fn a_runner_inside_of_another_is_understood() {
    check(
        TestRunner::Other,
        sample!("pytest.txt"),
        [3, 3, 1, 0],
        &["tests/test_parse.py::test_empty", "tests/test_load.py::test_fixture", "tests/test_new.py"],
    );
    check(
        TestRunner::Jest,
        sample!("cargo.txt"),
        [2, 2, 1, 0],
        &["parse::tests::empty", "parse::tests::panics"],
    );
    check(
        TestRunner::Pytest,
        sample!("junit.xml"),
        [2, 2, 1, 0],
        &["com.example.ParseTest.empty", "com.example.ParseTest.crash"],
    );
}

#[test]
fn a_check_goes_on_after_the_first_binary_that_fails() {
    for (command, expect) in [
        ("cargo test", "cargo test --no-fail-fast"),
        (
            "cargo +nightly --offline test -- --nocapture",
            "cargo +nightly --offline test --no-fail-fast -- --nocapture",
        ),
        (
            "cd ü && cargo test; cargo nextest run -p a",
            "cd ü && cargo test --no-fail-fast; cargo nextest run --no-fail-fast -p a",
        ),
        ("/opt/test/cargo test", "/opt/test/cargo test --no-fail-fast"),
        ("pytest -x", "pytest -x --maxfail=0"),
        ("python3 -m pytest -qx tests/ ; true", "python3 -m pytest -qx tests/ --maxfail=0 ; true"),
        ("cd a && uv run pytest -k 'x or y'", "cd a && uv run pytest -k 'x or y' --maxfail=0"),
    ] {
        assert_eq!(unstopped(command), expect);
        assert_eq!(unstopped(expect), expect, "once");
    }
    for command in [
        "cargo build",
        "cargo test --no-run",
        "cargo nextest run --max-fail=1",
        "cargo nextest run --ff",
        "cargo test a b c d e f g h i j k l m --no-fail-fast",
        "sh -c 'cargo test'",
        "echo cargo test",
        "pytest -k 'a | b'",
        "pytest -x -- tests",
        "pytest > log",
        "tox",
        "cd a && make",
        "make && echo done",
        "make && ./deploy.sh && make test",
        "make & make",
        "make || make && make",
        "",
    ] {
        assert_eq!(unstopped(command), command);
    }
}

/// What the shell makes of it: each is run, and it ends as `&&` would.
#[test]
fn checks_after_one_that_fails_are_run_too() {
    let make = |name: &str, code: i32| format!("make -C {name} N={code}");
    let both = |one: i32, two: i32, three: i32| {
        format!("cd . && {} && {} && {}", make("a", one), make("b", two), make("c", three))
    };
    let run = |line: &str| {
        let line = format!("make() {{ echo ran $2; return ${{3#N=}}; }}\n{line}");
        let done = std::process::Command::new("/bin/sh").args(["-c", &line]).output().expect("a shell");
        (done.status.code(), String::from_utf8_lossy(&done.stdout).into_owned())
    };
    for (one, two, three) in [(0, 0, 0), (3, 0, 0), (0, 4, 0), (3, 4, 5), (0, 0, 5), (0, 4, 5)] {
        let line = both(one, two, three);
        let (as_it_is, _) = run(&line);
        let (unstopped, said) = run(&unstopped(&line));
        assert_eq!(unstopped, as_it_is, "{line}");
        assert_eq!(said, "ran a\nran b\nran c\n", "{line}");
    }
}

#[test]
fn commands_are_recognised() {
    for (command, expect) in [
        ("cargo test", Some(TestRunner::Cargo)),
        ("cargo +nightly test -p x", Some(TestRunner::Cargo)),
        ("cd x && RUST_BACKTRACE=1 cargo test --lib", Some(TestRunner::Cargo)),
        ("cargo nextest run", Some(TestRunner::Nextest)),
        ("cargo clippy", Some(TestRunner::Other)),
        ("cargo run", None),
        ("timeout 60s pytest -x", Some(TestRunner::Pytest)),
        ("python -m pytest", Some(TestRunner::Pytest)),
        ("python script.py", None),
        ("uv run pytest", Some(TestRunner::Pytest)),
        ("uv run --frozen python -m pytest", Some(TestRunner::Pytest)),
        ("poetry run python x.py", None),
        ("go test ./...", Some(TestRunner::Go)),
        ("go run .", None),
        ("npm test", Some(TestRunner::Jest)),
        ("npm run test:unit", Some(TestRunner::Jest)),
        ("npm run lint", Some(TestRunner::Other)),
        ("npm install", None),
        ("npx vitest run", Some(TestRunner::Jest)),
        ("./gradlew test", Some(TestRunner::Gradle)),
        ("mvn -q test", Some(TestRunner::Maven)),
        ("mvn clean", None),
        ("make check", Some(TestRunner::Make)),
        ("ctest --test-dir build", Some(TestRunner::Ctest)),
        ("python3 -m unittest", Some(TestRunner::Unittest)),
        ("node --test", Some(TestRunner::Node)),
        ("bundle exec rspec", Some(TestRunner::Rspec)),
        ("vendor/bin/phpunit", Some(TestRunner::Phpunit)),
        ("dotnet test", Some(TestRunner::Dotnet)),
        ("npx mocha", Some(TestRunner::Mocha)),
        ("prove -r t", Some(TestRunner::Tap)),
        ("npx tsc --noEmit", Some(TestRunner::Other)),
        ("cargo test 2>&1 | tail -5", Some(TestRunner::Cargo)),
        ("ls -la", None),
        ("echo cargo test", None),
        ("", None),
    ] {
        assert_eq!(recognise(command), expect, "{command}");
    }
}

#[test]
fn very_many_failures_stay_bounded() {
    let output: String = (0..5000).map(|i| format!("test t{i} ... FAILED\n")).collect();
    assert_eq!(read(TestRunner::Cargo, &output).failing.len(), super::FAILING);
}

/// Pieces that lead parsers astray when put together.
const PIECES: &str = "(test |FAILED|ok|not ok| \\.\\.\\. |test result:|<testcase |name=|\"|'|<failure|/>|>|<|<!--|]]>|\
    --- FAIL: |FAIL\t|\\{\"Action\":|Tests:|● |1\\.\\.3|#|error\\[|: error|make: \\*\\*\\* \\[|\\]|\u{1b}\\[|é|\n| |[0-9]{1,12}|=|passed|failed){0,40}";

proptest! {
    #[test]
    fn no_output_makes_a_parser_panic(output in PIECES) {
        for runner in FORMS {
            let report = read(runner, &output);
            prop_assert!(report.failed as usize >= report.failing.len());
        }
        let _ = recognise(&output);
        assert!(unstopped(&output).len() >= output.len());
    }

    #[test]
    fn no_cut_sample_makes_a_parser_panic(at in 0usize..2000, runner in 0usize..FORMS.len()) {
        for sample in [sample!("junit.xml"), sample!("vitest.txt"), sample!("nextest.txt"), sample!("go.json.txt")] {
            let mut at = at.min(sample.len());
            while !sample.is_char_boundary(at) {
                at -= 1;
            }
            let _ = read(FORMS[runner], &sample[..at]);
            let _ = read(FORMS[runner], &sample[at..]);
        }
    }
}
