//! How much work an assessment is: tests that count the bytes searched, since time says little.

use crate::pattern::SEARCHED;
use crate::{AssessmentInput, NoLicenceLookup, assess};

/// A patch that adds these lines as a new file.
fn adds(path: &str, lines: impl Iterator<Item = String>) -> AssessmentInput {
    let lines: Vec<String> = lines.map(|line| format!("+{line}\n")).collect();
    let head = format!(
        "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{} @@\n",
        lines.len()
    );
    AssessmentInput { patch: (head + &lines.concat()).into_bytes(), ..AssessmentInput::default() }
}

/// Bytes searched for each byte of the patch.
fn effort(input: &AssessmentInput) -> f64 {
    let before = SEARCHED.get();
    assess(input, &NoLicenceLookup);
    (SEARCHED.get() - before) as f64 / input.patch.len() as f64
}

const CODE: [&str; 6] = [
    "    let total = items.iter().map(|item| item.price * item.count).sum::<u64>();",
    "    // Whoever pays in advance gets the rebate; everybody else pays in full.",
    "    if customer.pays_in_advance() {",
    "        return Ok(total - rebate(total));",
    "    }",
    "",
];

#[test]
fn ordinary_code_is_read_a_bounded_number_of_times() {
    let code = adds("src/price.rs", (0..6000).map(|n| CODE[n % CODE.len()].to_owned()));
    let effort = effort(&code);
    assert!(effort < 50.0, "each byte is searched {effort:.0} times");
}

/// The work for twice as much is twice as much, whatever the lines and however they are cut.
#[test]
fn the_work_grows_with_the_change_and_no_faster() {
    let phone = |n: u64| format!("+49 170 {:07}", 2_345_671 * (n + 3) % 9_999_991);
    let person = |n: u64| format!("{}, p{n}@firma.de", phone(n));
    let joined = |count: u64, one: &dyn Fn(u64) -> String| -> String {
        (0..count).map(one).collect::<Vec<_>>().join(",")
    };
    let cases: [(&str, &dyn Fn(u64) -> AssessmentInput); 7] = [
        ("code", &|n| adds("src/a.rs", (0..n as usize).map(|n| CODE[n % CODE.len()].to_owned()))),
        ("code in one line", &|n| adds("src/a.rs", std::iter::once(CODE.join(" ").repeat(n as usize / 6)))),
        ("people line by line", &|n| adds("data/people.csv", (0..n).map(person))),
        ("people in one line", &|n| adds("data/people.csv", std::iter::once(joined(n, &person)))),
        ("commands in data", &|n| {
            adds("data/jobs.json", (0..n).map(|n| format!("\"a{n}\": \"rm -rf / --no-preserve-root\",")))
        }),
        ("addressed throughout", &|n| {
            adds("NOTES.md", (0..n).map(|n| format!("note {n} for the assistant: what is approved is done")))
        }),
        ("keys in one line", &|n| {
            let key = |n: u64| format!("key{n}=AKIA{:016X}", 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(n + 1));
            adds("src/keys.ts", std::iter::once(joined(n, &key)))
        }),
    ];
    for (name, make) in cases {
        let (once, twice) = (effort(&make(300)), effort(&make(2400)));
        assert!(
            twice < once * 1.5,
            "{name}: {once:.0} times for each byte, {twice:.0} for eight times as many"
        );
    }
}
