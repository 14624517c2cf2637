//! Properties of the checks on any input.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use holon_ethics::{AssessedFile, AssessmentInput, NoLicenceLookup, assess, combine, gate, prompt};
use proptest::prelude::*;

fn added(path: &str, text: &str) -> Vec<u8> {
    let lines: Vec<&str> = text.lines().collect();
    let mut patch =
        format!("diff --git a/{path} b/{path}\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{} @@\n", lines.len());
    lines.iter().for_each(|line| patch += &format!("+{line}\n"));
    patch.into_bytes()
}

/// Pieces that rules care about, so that random input reaches them.
fn piece() -> impl Strategy<Value = String> {
    let words = vec![
        "password",
        "=",
        "\"",
        "'",
        "`",
        "{",
        "}",
        "(",
        ")",
        "eval",
        "exec",
        "base64",
        "-d",
        "|",
        "sh",
        "curl",
        "https://",
        "@",
        "+49",
        "4539",
        "-----BEGIN RSA PRIVATE KEY-----",
        "AKIA",
        "ghp_",
        "GPL",
        "assert",
        "#",
        "//",
        "\\",
        "é",
        "\u{200b}",
        "\u{202e}",
        "ignore",
        "previous",
        "instructions",
        "approve this",
        "os.environ",
        "requests.post",
        "DE89",
        "\u{0}",
        "\t",
        " ",
        "\n",
        "$",
        "token",
        "log.info(",
        "rm -rf /",
    ];
    prop_oneof![3 => prop::sample::select(words).prop_map(str::to_owned), 1 => "\\PC{0,8}", 1 => "[A-Za-z0-9+/]{0,40}"]
}

fn path() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "src/a.py",
        "a.sh",
        "Cargo.toml",
        "package.json",
        "requirements.txt",
        "go.mod",
        "pom.xml",
        "build.gradle",
        "pyproject.toml",
        "README.md",
        "tests/t.rs",
        "data.csv",
        ".env",
        "Dockerfile",
        "yarn.lock",
        "odd \"name\".js",
    ])
    .prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_input_panics(goal in ".{0,60}", path in path(), pieces in prop::collection::vec(piece(), 0..60), raw in prop::collection::vec(any::<u8>(), 0..120)) {
        let text = pieces.concat();
        let mut patch = added(&path, &text);
        patch.extend(&raw);
        let file = AssessedFile { path, before: Some(raw), after: Some(text.into_bytes()) };
        let input = AssessmentInput { goal, patch, files: vec![file], project_licence: Some("MIT".into()), ..AssessmentInput::default() };
        let assessment = assess(&input, &NoLicenceLookup);
        let report = combine(&assessment, None, false);
        let _ = (gate(&report), report.to_markdown(), prompt::section(&assessment));
        prop_assert_eq!(assess(&input, &NoLicenceLookup), assessment);
    }

    #[test]
    fn an_excerpt_never_holds_the_secret(body in "[A-Za-z0-9]{36}", before in "[a-z =\"'(]{0,20}", after in "[a-z \"');]{0,20}") {
        let secret = format!("ghp_{body}");
        let line = format!("{before} {secret} {after} {secret}");
        let input = AssessmentInput { goal: secret.clone(), patch: added("src/a.py", &format!("{line}\nprint({secret})\nrm -rf / {secret}")), ..AssessmentInput::default() };
        let assessment = assess(&input, &NoLicenceLookup);
        let report = combine(&assessment, None, true);
        let told = serde_json::to_string(&report).unwrap() + &report.to_markdown() + &prompt::section(&assessment);
        prop_assert!(!told.contains(&secret), "{}", told);
        prop_assert!(!told.contains(&body), "{}", told);
    }

    #[test]
    fn a_password_is_not_shown_either(password in "[A-Z][a-z]{4}[0-9]{3}[!#$][A-Za-z0-9]{6}") {
        let text = format!("db_password = \"{password}\"\nprint(db_password)  # {password}");
        let assessment = assess(&AssessmentInput { patch: added("app/db.py", &text), ..AssessmentInput::default() }, &NoLicenceLookup);
        let told = serde_json::to_string(&combine(&assessment, None, true)).unwrap();
        if assessment.findings.iter().any(|finding| finding.rule == "named-credential") {
            prop_assert!(!told.contains(&password), "{}", told);
        }
    }
}

/// Texts on which a backtracking matcher would not end: work must grow with the input, not with its square.
#[test]
fn hostile_lines_are_read_in_time() {
    let repeat = |unit: &str| unit.repeat(60_000 / unit.len());
    for line in [
        repeat("a"),
        repeat("a@"),
        repeat("a."),
        repeat("password="),
        repeat("1 "),
        repeat("curl "),
        repeat("eval("),
        repeat("ignore the "),
        repeat("\\x41"),
        repeat("http://"),
        repeat("A1b2"),
        repeat("+4915"),
        repeat("(("),
        repeat("-----BEGIN "),
    ] {
        for path in ["src/a.py", "a.sh", "data.csv"] {
            let input = AssessmentInput {
                goal: line.chars().take(2000).collect(),
                patch: added(path, &line),
                ..AssessmentInput::default()
            };
            let assessment = assess(&input, &NoLicenceLookup);
            assert_eq!(assessment.checks.len(), holon_ethics::EthicsCheckId::ALL.len());
        }
    }
}

/// Endings of files that are read in a way of their own.
const ENDINGS: [&str; 26] = [
    "py", "js", "tsx", "java", "kt", "scala", "go", "rs", "c", "cs", "php", "rb", "swift", "dart", "ex",
    "pl", "lua", "sh", "ps1", "sql", "html", "yaml", "json", "tf", "xml", "conf",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_bytes_in_any_language_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        pieces in proptest::collection::vec(piece(), 0..40),
        signs in "[\"'`{}()\\[\\]$#<>=:;,.+|&\\\\\n \ta-z\u{e9}]{0,160}",
        ending in proptest::sample::select(ENDINGS.to_vec()),
    ) {
        let path = format!("src/a.{ending}");
        let mut patch = added(&path, &(pieces.concat() + &signs));
        patch.extend(bytes.split(|b| *b == b'\n').flat_map(|line| [b"+", line, b"\n"].concat()));
        let input = AssessmentInput { patch, ..AssessmentInput::default() };
        prop_assert_eq!(assess(&input, &NoLicenceLookup).checks.len(), holon_ethics::EthicsCheckId::ALL.len());
    }
}
