#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::{Report, Runner, read, recognise};

const ALL: [Runner; 9] = [
    Runner::Cargo,
    Runner::Nextest,
    Runner::Pytest,
    Runner::Go,
    Runner::Junit,
    Runner::Tap,
    Runner::Jest,
    Runner::Make,
    Runner::Other,
];

macro_rules! sample {
    ($name:literal) => {
        include_str!(concat!("../../tests/data/checks/", $name))
    };
}

/// passed, failed, skipped, diagnostics
#[track_caller]
fn check(runner: Runner, output: &str, counts: [u32; 4], failing: &[&str]) -> Report {
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
    let report = check(Runner::Cargo, sample!("cargo.txt"), [2, 2, 1, 0], &failing);
    assert_eq!(report.signature, "test parse::tests::empty ... FAILED");
    let broken = check(Runner::Cargo, sample!("cargo_broken.txt"), [0, 0, 0, 2], &[]);
    assert_eq!(broken.signature, "error[E0308]: mismatched types");
}

#[test]
fn nextest() {
    check(Runner::Nextest, sample!("nextest.txt"), [3, 2, 1, 0], &["demo parse::empty", "demo::it slow_one"]);
}

#[test]
fn pytest() {
    let failing =
        ["tests/test_parse.py::test_empty", "tests/test_load.py::test_fixture", "tests/test_new.py"];
    check(Runner::Pytest, sample!("pytest.txt"), [3, 3, 1, 0], &failing);
    check(Runner::Pytest, sample!("pytest_quiet.txt"), [5, 0, 0, 0], &[]);
}

#[test]
fn go() {
    check(
        Runner::Go,
        sample!("go.txt"),
        [2, 3, 1, 0],
        &["TestParse", "TestParse/empty", "example.com/demo/broken"],
    );
    check(
        Runner::Go,
        sample!("go.json.txt"),
        [1, 2, 1, 0],
        &["example.com/demo.TestParse", "example.com/broken"],
    );
    check(Runner::Go, "ok  \texample.com/demo\t0.002s\n", [1, 0, 0, 0], &[]);
}

#[test]
fn junit() {
    let failing = ["com.example.ParseTest.empty", "com.example.ParseTest.crash"];
    check(Runner::Junit, sample!("junit.xml"), [2, 2, 1, 0], &failing);
}

#[test]
fn tap() {
    check(Runner::Tap, sample!("tap.txt"), [3, 2, 1, 0], &["empty input", "5"]);
    check(Runner::Tap, "ok then\n", [0, 0, 0, 0], &[]);
}

#[test]
fn jest_and_vitest() {
    check(Runner::Jest, sample!("jest.txt"), [7, 1, 3, 0], &["src/parse.test.ts › parse › empty input"]);
    check(Runner::Jest, sample!("vitest.txt"), [2, 1, 0, 0], &["src/parse.test.ts > parse > empty input"]);
}

#[test]
fn make_ctest_and_compilers() {
    check(Runner::Make, sample!("make.txt"), [0, 2, 0, 2], &["parse.o", "all"]);
    check(Runner::Make, sample!("ctest.txt"), [1, 1, 0, 0], &["parse"]);
    check(Runner::Other, sample!("tsc.txt"), [0, 0, 0, 2], &[]);
}

#[test]
fn a_runner_inside_of_another_is_understood() {
    check(
        Runner::Other,
        sample!("pytest.txt"),
        [3, 3, 1, 0],
        &["tests/test_parse.py::test_empty", "tests/test_load.py::test_fixture", "tests/test_new.py"],
    );
    check(Runner::Jest, sample!("cargo.txt"), [2, 2, 1, 0], &["parse::tests::empty", "parse::tests::panics"]);
    check(
        Runner::Pytest,
        sample!("junit.xml"),
        [2, 2, 1, 0],
        &["com.example.ParseTest.empty", "com.example.ParseTest.crash"],
    );
}

#[test]
fn commands_are_recognised() {
    for (command, expect) in [
        ("cargo test", Some(Runner::Cargo)),
        ("cargo +nightly test -p x", Some(Runner::Cargo)),
        ("cd x && RUST_BACKTRACE=1 cargo test --lib", Some(Runner::Cargo)),
        ("cargo nextest run", Some(Runner::Nextest)),
        ("cargo clippy", Some(Runner::Other)),
        ("cargo run", None),
        ("timeout 60s pytest -x", Some(Runner::Pytest)),
        ("python -m pytest", Some(Runner::Pytest)),
        ("python script.py", None),
        ("uv run pytest", Some(Runner::Pytest)),
        ("uv run --frozen python -m pytest", Some(Runner::Pytest)),
        ("poetry run python x.py", None),
        ("go test ./...", Some(Runner::Go)),
        ("go run .", None),
        ("npm test", Some(Runner::Jest)),
        ("npm run test:unit", Some(Runner::Jest)),
        ("npm run lint", Some(Runner::Other)),
        ("npm install", None),
        ("npx vitest run", Some(Runner::Jest)),
        ("./gradlew test", Some(Runner::Junit)),
        ("mvn -q test", Some(Runner::Junit)),
        ("mvn clean", None),
        ("make check", Some(Runner::Make)),
        ("ctest --test-dir build", Some(Runner::Make)),
        ("prove -r t", Some(Runner::Tap)),
        ("npx tsc --noEmit", Some(Runner::Other)),
        ("cargo test 2>&1 | tail -5", Some(Runner::Cargo)),
        ("ls -la", None),
        ("echo cargo test", None),
        ("", None),
    ] {
        assert_eq!(recognise(command), expect, "{command}");
    }
}

#[test]
fn a_report_becomes_a_fact() {
    let fact = read(Runner::Cargo, sample!("cargo.txt")).into_fact("cargo test", Some(101), 9);
    assert_eq!((fact.passed, fact.failed, fact.failing.len(), fact.exit), (2, 2, 2, Some(101)));
    assert!(!fact.passed_whole());
}

#[test]
fn very_many_failures_stay_bounded() {
    let output: String = (0..5000).map(|i| format!("test t{i} ... FAILED\n")).collect();
    assert_eq!(read(Runner::Cargo, &output).failing.len(), super::FAILING);
}

/// Pieces that lead parsers astray when put together.
const PIECES: &str = "(test |FAILED|ok|not ok| \\.\\.\\. |test result:|<testcase |name=|\"|'|<failure|/>|>|<|<!--|]]>|\
    --- FAIL: |FAIL\t|\\{\"Action\":|Tests:|● |1\\.\\.3|#|error\\[|: error|make: \\*\\*\\* \\[|\\]|\u{1b}\\[|é|\n| |[0-9]{1,12}|=|passed|failed){0,40}";

proptest! {
    #[test]
    fn no_output_makes_a_parser_panic(output in PIECES) {
        for runner in ALL {
            let report = read(runner, &output);
            prop_assert!(report.failed as usize >= report.failing.len());
        }
        let _ = recognise(&output);
    }

    #[test]
    fn no_cut_sample_makes_a_parser_panic(at in 0usize..2000, runner in 0usize..9) {
        for sample in [sample!("junit.xml"), sample!("vitest.txt"), sample!("nextest.txt"), sample!("go.json.txt")] {
            let mut at = at.min(sample.len());
            while !sample.is_char_boundary(at) {
                at -= 1;
            }
            let _ = read(ALL[runner], &sample[..at]);
            let _ = read(ALL[runner], &sample[at..]);
        }
    }
}
