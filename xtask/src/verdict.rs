//! What a run of tests proves.

use crate::process::ProgramEnd;

/// What is known of one run of a test.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TestVerdict {
    Green,
    Red,
    /// Neither counts: it did not build, run or end as tests do.
    Nothing(String),
}

/// What a run of tests says, from how it ended and what was skipped in it.
pub(crate) fn judge(told: &ProgramEnd, skipped: &[String]) -> TestVerdict {
    let ran = tests_run(&told.lines);
    let failed = told.lines.iter().any(|line| line.starts_with("test result: FAILED"));
    if let Some(reason) = skipped.first() {
        return TestVerdict::Nothing(format!("skipped on this machine:{reason}"));
    }
    match told.code {
        Some(0) if ran > 0 => TestVerdict::Green,
        Some(0) => TestVerdict::Nothing("no test has that name".into()),
        Some(124 | 137) => TestVerdict::Nothing("it did not end in time".into()),
        _ if failed && ran > 0 => TestVerdict::Red,
        code => TestVerdict::Nothing(format!(
            "the test run ended with {} and no result: {}",
            code.map_or_else(|| "a signal".into(), |code| format!("code {code}")),
            told.complaint()
        )),
    }
}

/// How many tests ran, from lines such as `test result: ok. 1 passed; 0 failed; …`.
fn tests_run(lines: &[String]) -> u64 {
    let numbers = |line: &String| -> Option<u64> {
        let counts = line.strip_prefix("test result:")?.split_once(". ")?.1;
        let number = |word: &str| -> u64 {
            let part = counts.split("; ").find_map(|part| part.strip_suffix(word));
            part.and_then(|digits| digits.trim().parse().ok()).unwrap_or(0)
        };
        Some(number(" passed") + number(" failed"))
    };
    lines.iter().filter_map(numbers).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(code: i32, text: &str) -> ProgramEnd {
        ProgramEnd { code: Some(code), lines: text.lines().map(str::to_owned).collect() }
    }

    #[test]
    fn only_a_failing_test_is_red() {
        let ok = "running 1 test\ntest result: ok. 1 passed; 0 failed; 0 ignored";
        let red = "test result: FAILED. 0 passed; 1 failed; 0 ignored";
        assert_eq!(judge(&told(0, ok), &[]), TestVerdict::Green);
        assert_eq!(judge(&told(101, red), &[]), TestVerdict::Red);
        for (code, text) in [
            (0, "test result: ok. 0 passed; 0 failed"),
            (101, "error: could not compile"),
            (124, red),
            (137, ""),
        ] {
            assert!(matches!(judge(&told(code, text), &[]), TestVerdict::Nothing(_)), "{code} {text}");
        }
        assert!(matches!(judge(&told(0, ok), &["  x: no root".into()]), TestVerdict::Nothing(_)));
    }
}
