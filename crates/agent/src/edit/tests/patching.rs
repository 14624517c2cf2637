//! Reading and planning patches.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;

use proptest::prelude::*;
use similar::{ChangeTag, TextDiff};

use crate::edit::patch::{FilePatch, PatchError, PatchProblem, PatchedFileChange, parse, plan};
use crate::edit::{Mismatch, Tolerance};

fn planned(files: &[(&str, &str)], patch: &str) -> Result<Vec<PatchedFileChange>, PatchError> {
    let files: BTreeMap<&str, &str> = files.iter().copied().collect();
    plan(&parse(patch)?, |path| files.get(path).map(|text| (*text).to_owned()))
}

fn update(text: &str, hunks: &str) -> Result<String, PatchError> {
    let changes =
        planned(&[("f", text)], &format!("*** Begin Patch\n*** Update File: f\n{hunks}*** End Patch\n"))?;
    match changes.as_slice() {
        [PatchedFileChange::Update { text, .. }] => Ok(text.clone()),
        other => panic!("{other:?}"),
    }
}

fn check(text: &str, hunks: &str, expect: &str) {
    match update(text, hunks) {
        Ok(text) => assert_eq!(text, expect, "{hunks}"),
        Err(error) => panic!("{hunks}\n{error}"),
    }
}

#[test]
fn files_come_go_change_and_move() {
    let patch = "*** Begin Patch\n*** Add File: new.txt\n+one\n+\n+two\n*** Delete File: old.txt\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-x\n+y\n*** Update File: c.txt\n@@\n c\n+d\n*** End Patch\n";
    let changes = planned(&[("old.txt", "gone\n"), ("a.txt", "x\n"), ("c.txt", "c\n")], patch).unwrap();
    assert_eq!(
        changes,
        [
            PatchedFileChange::Create { path: "new.txt".into(), text: "one\n\ntwo\n".into() },
            PatchedFileChange::Delete { path: "old.txt".into() },
            PatchedFileChange::Move {
                from: "a.txt".into(),
                to: "b.txt".into(),
                text: "y\n".into(),
                tolerances: vec![]
            },
            PatchedFileChange::Update { path: "c.txt".into(), text: "c\nd\n".into(), tolerances: vec![] },
        ]
    );
    assert_eq!(parse(patch).unwrap().paths(), ["new.txt", "old.txt", "a.txt", "b.txt", "c.txt"]);
}

#[test]
fn hunks_find_their_place() {
    check("a\nb\nc\n", "@@\n a\n-b\n+x\n c\n", "a\nx\nc\n");
    check("a\nb\nc\n", " a\n-b\n+x\n", "a\nx\nc\n");
    check("a\nb\nc\nd\n", "@@\n-a\n+A\n@@\n-d\n+D\n", "A\nb\nc\nD\n");
    check("a\nb\nc\nd\n", "@@\n-d\n+D\n@@\n-a\n+A\n", "A\nb\nc\nD\n");
    check("f:\n  x\ng:\n  x\n", "@@ g:\n-  x\n+  y\n", "f:\n  x\ng:\n  y\n");
    check("A:\n f:\n  x\nB:\n f:\n  x\n", "@@ B:\n@@  f:\n-  x\n+  y\n", "A:\n f:\n  x\nB:\n f:\n  y\n");
    check("x\na\nx\n", "@@\n-x\n+y\n*** End of File\n", "x\na\ny\n");
    check("x\na\nx\n", "@@ -3,1 +3,1 @@\n-x\n+y\n", "x\na\ny\n");
    check("a\nx\nb\nx\n", "@@\n-b\n+B\n@@\n-x\n+y\n", "a\nx\nB\ny\n");
    check("a\nb\n", "@@ not there\n-b\n+c\n", "a\nc\n");
}

#[test]
fn lines_can_come_in_alone() {
    check("a\nb\n", "@@\n+c\n", "a\nb\nc\n");
    check("a\nb", "@@\n+c\n", "a\nb\nc");
    check("f:\n  x\n", "@@ f:\n+  w\n", "f:\n  w\n  x\n");
    check("a\nb\n", "@@ -1,0 +2,1 @@\n+x\n", "a\nx\nb\n");
    check("", "@@\n+a\n", "a\n");
}

#[test]
fn what_models_send_is_understood() {
    // A blank line that stays, without its space.
    check("a\n\nb\n", "@@\n a\n\n-b\n+c\n", "a\n\nc\n");
    // A blank line between hunks that is no line of the file.
    check("a\nb\nc\nd\n", "@@\n-a\n+A\n\n@@\n-d\n+D\n", "A\nb\nc\nD\n");
    // Lines that stay, without their space.
    check("if a:\n    b\n    c\n", "@@\nif a:\n    b\n-    c\n+    d\n", "if a:\n    b\n    d\n");
    check(
        "a\nb\n",
        "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n",
        "a\nc\n",
    );
    check("a\r\nb\r\n", "@@\n a\n-b\n+c\n", "a\r\nc\r\n");
    check("\ta\n\tb\n", "@@\n     a\n-    b\n+    c\n", "\ta\n\tc\n");
    check("a “b”\nc\n", "@@\n a \"b\"\n-c\n+d\n", "a “b”\nd\n");
    for (patch, expect) in [
        (
            "--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\n+b\n",
            PatchedFileChange::Update { path: "f".into(), text: "b\n".into(), tolerances: vec![] },
        ),
        (
            "diff --git a/n b/n\nnew file mode 100644\nindex 000..111\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n",
            PatchedFileChange::Create { path: "n".into(), text: "a\nb\n".into() },
        ),
        ("--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", PatchedFileChange::Delete { path: "f".into() }),
        (
            "*** Begin Patch\n*** Add File: n\na\nb\n*** End Patch",
            PatchedFileChange::Create { path: "n".into(), text: "a\nb\n".into() },
        ),
        (
            "*** Begin Patch\n*** Delete File: f\n-a\n*** End Patch",
            PatchedFileChange::Delete { path: "f".into() },
        ),
        (
            "*** Begin Patch\n*** Delete File: f\n*** Add File: f\n+b\n*** End Patch",
            PatchedFileChange::Update { path: "f".into(), text: "b\n".into(), tolerances: vec![] },
        ),
        (
            "*** Begin Patch\n*** Update File: f\n*** Move to: g\n*** End Patch",
            PatchedFileChange::Move {
                from: "f".into(),
                to: "g".into(),
                text: "a\n".into(),
                tolerances: vec![],
            },
        ),
    ] {
        assert_eq!(planned(&[("f", "a\n")], patch).unwrap(), [expect], "{patch}");
    }
}

#[test]
fn one_file_may_come_up_twice() {
    let patch =
        "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** Update File: f\n@@\n-b\n+c\n*** End Patch";
    let expect = PatchedFileChange::Update { path: "f".into(), text: "c\n".into(), tolerances: vec![] };
    assert_eq!(planned(&[("f", "a\n")], patch).unwrap(), [expect]);
}

#[test]
fn refusals_name_file_and_hunk() {
    let error = update(
        "fn a() {\n    one();\n}\n",
        "@@\n fn a() {\n-    two();\n+    three();\n }\n@@\n-nothing like it\n+x\n",
    )
    .unwrap_err();
    let said = error.to_string();
    assert!(said.starts_with("the patch was not applied, no file is changed\nf, hunk 1 of 2: the text to replace is not in the file\nNearest lines"), "{said}");
    assert!(said.contains("\nf, hunk 2 of 2: "), "{said}");
    let check = |patch: &str, expect: PatchProblem| {
        let found = planned(&[("f", "x\na\nx\n")], patch).unwrap_err();
        assert_eq!(found.problems, [expect], "{patch}");
    };
    check("nothing", PatchProblem::NoPatch);
    check("*** Begin Patch\n*** End Patch", PatchProblem::NoPatch);
    check("*** Update File: g\n@@\n-a\n+b\n", PatchProblem::Missing { path: "g".into() });
    check("*** Delete File: g\n", PatchProblem::Missing { path: "g".into() });
    check("*** Add File: f\n+b\n", PatchProblem::Exists { path: "f".into() });
    check("*** Update File: f\n@@\n a\n", PatchProblem::NoChange { path: "f".into() });
    check(
        "*** Update File: f\n@@\n-a\n+b\n@@\n-a\n+c\n",
        PatchProblem::Overlap { path: "f".into(), hunk: 2, of: 2 },
    );
    let mismatch = Mismatch::AmbiguousHunk { lines: vec![1, 3], more: false, tolerance: None };
    check(
        "*** Update File: f\n@@\n-x\n+y\n",
        PatchProblem::Hunk { path: "f".into(), hunk: 1, of: 1, mismatch },
    );
    let line = |line, text: &str, expected| PatchProblem::Line { line, text: text.into(), expected };
    check("*** Update File:\n@@\n", line(1, "*** Update File:", "the path is missing"));
    check(
        "*** Begin Patch\n*** Add File: n\n+a\nb\n",
        line(4, "b", "every line of a new file begins with `+`"),
    );
    check(
        "*** Begin Patch\n*** Update File: f\n*** Frobnicate\n",
        line(3, "*** Frobnicate", "expected a line that begins with a space, `-`, `+` or `@@`"),
    );
    check(
        "*** Begin Patch\nhello\n*** End Patch",
        line(2, "hello", "expected `*** Update File: PATH`, `*** Add File: PATH` or `*** Delete File: PATH`"),
    );
}

#[test]
fn tolerances_are_told() {
    let patch = "*** Begin Patch\n*** Update File: f\n@@\n a\n-b\n+c\n*** End Patch";
    let changes = planned(&[("f", "a \n  z\nb\n  a\n  b\n")], patch).unwrap();
    let expect = PatchedFileChange::Update {
        path: "f".into(),
        text: "a \n  z\nb\n  a\n  c\n".into(),
        tolerances: vec![Tolerance::Indentation],
    };
    assert_eq!(changes, [expect]);
}

/// A patch from one text to another with this much context.
fn diff(old: &str, new: &str, context: usize, numbers: bool) -> String {
    let mut patch = String::from("*** Begin Patch\n*** Update File: f\n");
    let diff = TextDiff::from_lines(old, new);
    for group in diff.grouped_ops(context) {
        let start = group.first().map_or(0, |op| op.old_range().start);
        let count = group.iter().map(|op| op.old_range().len()).sum::<usize>();
        let line = if count == 0 { start } else { start + 1 };
        patch.push_str(&if numbers { format!("@@ -{line},{count} +1,1 @@\n") } else { "@@\n".to_owned() });
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            patch.push(match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            });
            patch.push_str(change.value().trim_end_matches(['\r', '\n']));
            patch.push('\n');
        }
    }
    patch + "*** End Patch\n"
}

fn lines(most: usize) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[ \t]{0,2}[abc]{0,2}", 1..most)
}

proptest! {
    #[test]
    fn a_patch_leads_from_one_text_to_the_other(old in lines(20), new in lines(20), end in "\n|\r\n", context in 0..4_usize) {
        let text = |lines: &[String]| lines.iter().map(|line| format!("{line}{end}")).collect::<String>();
        let (old, new) = (text(&old), text(&new));
        prop_assume!(old != new);
        // Numbers say where a hunk is that would fit elsewhere too.
        let patch = diff(&old, &new, context, true);
        let changes = planned(&[("f", &old)], &patch).map_err(|error| TestCaseError::fail(format!("{patch}\n{error}")))?;
        prop_assert_eq!(changes, [PatchedFileChange::Update { path: "f".into(), text: new, tolerances: vec![] }], "{}", patch);
    }

    #[test]
    fn unique_lines_need_no_numbers(count in 1..40_usize, changed in prop::collection::vec((0..40_usize, 0..3_u8), 1..6)) {
        let old: Vec<String> = (0..count).map(|n| format!("line {n}")).collect();
        let mut new = old.clone();
        for (at, kind) in changed {
            match kind {
                0 => new.insert(at.min(new.len()), format!("new {at}")),
                1 if at < new.len() => drop(new.remove(at)),
                _ => if let Some(line) = new.get_mut(at) { line.push('!') },
            }
        }
        let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        prop_assume!(old != new && !new.is_empty());
        let patch = diff(&text(&old), &text(&new), 3, false);
        let changes = planned(&[("f", &text(&old))], &patch).map_err(|error| TestCaseError::fail(format!("{patch}\n{error}")))?;
        prop_assert_eq!(changes, [PatchedFileChange::Update { path: "f".into(), text: text(&new), tolerances: vec![] }], "{}", patch);
    }

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,200}", file in "\\PC{0,60}") {
        let _ = parse(&text).map(|patch| plan(&patch, |_| Some(file.clone())));
    }

    #[test]
    fn patch_like_text_never_panics(
        parts in prop::collection::vec(prop::sample::select(vec![
            "*** Begin Patch", "*** End Patch", "*** Add File: f", "*** Update File: f", "*** Delete File: f", "*** Move to: g", "***",
            "*** Update File:", "*** End of File", "@@", "@@ a", "@@ -1,2 +1,2 @@", "@@ -0,0 +99999999999999999999 @@", "@@ -7 +7 @@ a",
            "--- a/f", "+++ b/f", "--- /dev/null", "+++ /dev/null", "diff --git a/f b/f", " a", "-a", "+b", "+", "-", " ", "", "a", "\ta", " “a”",
            "```", "EOF", "\\ No newline at end of file", "+é",
        ]), 0..14),
        end in "\n|\r\n", file in prop::sample::select(vec!["", "a", "a\n", "a\r\nb\r\na\r\n", "\n\na\n\"a\"\n"]),
    ) {
        if let Ok(patch) = parse(&parts.join(&end)) {
            prop_assert!(patch.paths().iter().all(|path| !path.is_empty()));
            if let Err(error) = plan(&patch, |_| Some(file.to_owned())) {
                prop_assert!(!error.problems.is_empty());
            }
        }
    }

    #[test]
    fn new_files_are_what_was_written(lines in prop::collection::vec("[ -~é]{0,10}", 0..10)) {
        let body: String = lines.iter().map(|line| format!("+{line}\n")).collect();
        let patch = parse(&format!("*** Begin Patch\n*** Add File: n\n{body}*** End Patch")).unwrap();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        prop_assert_eq!(patch.files, [FilePatch::Add { path: "n".into(), text }]);
    }
}
