//! Saying loudly that a test of a promise could not be arranged on this machine.

use std::fs::OpenOptions;
use std::io::Write;

/// The variable naming the file that collects skipped security tests, one `test<TAB>reason` per line.
pub const SKIPPED_TESTS: &str = "HOLON_SKIPPED_TESTS";

/// Records that `test` could not check what it promises to check, and why; the caller then returns.
///
/// `cargo xtask test` counts these in its closing lines, and treats any of them as a failure when `CI=true`.
pub fn skip_security(test: &str, reason: &str) {
    let reason = one_line(reason);
    eprintln!("SKIPPED SECURITY TEST {test}: {reason}");
    let Some(path) = std::env::var_os(SKIPPED_TESTS) else { return };
    let line = format!("{}\t{reason}\n", one_line(test));
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .unwrap_or_else(|error| panic!("cannot record a skipped test in {}: {error}", path.display()));
    // One write, so that lines of tests running side by side never mix.
    file.write_all(line.as_bytes()).expect("recording a skipped test");
}

/// The name of the running test, as the test harness gave it to this thread.
pub fn current_test() -> String {
    std::thread::current().name().unwrap_or("unnamed test").to_owned()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_reason_is_recorded_on_one_line() {
        assert_eq!(super::one_line("no\nuser\t namespaces "), "no user namespaces");
    }

    #[test]
    fn the_harness_names_the_thread() {
        assert!(super::current_test().ends_with("the_harness_names_the_thread"));
    }
}
