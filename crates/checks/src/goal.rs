//! Whether a goal is about a check that fails: then failing as before is not good enough.

/// What checks are called.
const SUBJECTS: [&str; 14] = [
    "test",
    "tests",
    "testsuite",
    "suite",
    "check",
    "checks",
    "build",
    "ci",
    "lint",
    "spec",
    "specs",
    "pipeline",
    "compile",
    "unittest",
];
/// What is said of those that fail or shall pass.
const WORDS: [&str; 18] = [
    "pass", "passes", "passing", "fix", "fixes", "repair", "mend", "green", "red", "fail", "fails",
    "failing", "failed", "failure", "failures", "broken", "succeed", "succeeds",
];
/// Shorter names of cases say nothing.
const SHORTEST: usize = 5;

/// Whether a goal names a check that fails: its command, a case of it, or that tests shall pass.
pub fn names_check(goal: &str, command: &str, failing: &[String]) -> bool {
    let small = goal.to_lowercase();
    let words: Vec<&str> = small.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let says = |list: &[&str]| words.iter().any(|word| list.contains(word));
    let case = |name: &String| {
        let last = name.rsplit([':', '.', '#', '/', ' ', '>', '›']).find(|part| !part.trim().is_empty());
        last.is_some_and(|last| last.len() >= SHORTEST && small.contains(&last.trim().to_lowercase()))
    };
    (says(&SUBJECTS) && says(&WORDS)) || small.contains(&command.to_lowercase()) || failing.iter().any(case)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_that_are_about_the_check() {
        let failing = ["tests/test_parse.py::test_empty_input".to_owned()];
        for (goal, expect) in [
            ("Make the test pass", true),
            ("Fix the failing tests", true),
            ("make `make check` green", true),
            ("Why does test_empty_input break? Repair it.", true),
            ("Fix the typo in README", false),
            ("Rename the flag --foo to --bar", false),
            ("Add tests for the parser", false),
        ] {
            assert_eq!(names_check(goal, "make check", &failing), expect, "{goal}");
        }
    }
}
