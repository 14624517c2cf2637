//! What became of a file, as a patch for people: bounded, and quick also for files that have nothing in common.

use std::fmt::Write as _;

use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

/// Lines around a change.
const AROUND: usize = 3;
/// Most bytes of a patch.
const MOST: usize = 48 << 10;
/// Most lines on both sides that are compared one by one, after what is equal at both ends.
const MOST_COMPARED: usize = 4_000;

/// A patch in git's form; nothing where nothing changed. `None` on a side means that there is no file there.
pub(crate) fn file_diff(path: &str, before: Option<&str>, after: Option<&str>) -> Option<String> {
    if before == after {
        return None;
    }
    let (old, new) = (lines(before), lines(after));
    let mut patch = format!("diff --git {} {}\n", name("a/", path), name("b/", path));
    match (before, after) {
        (None, _) => patch.push_str("new file mode 100644\n"),
        (_, None) => patch.push_str("deleted file mode 100644\n"),
        _ => {}
    }
    let side = |there: bool, of: &str| if there { name(of, path) } else { "/dev/null".to_owned() };
    let _ = writeln!(patch, "--- {}\n+++ {}", side(before.is_some(), "a/"), side(after.is_some(), "b/"));
    for group in group_diff_ops(ops(&old, &new), AROUND) {
        hunk(&mut patch, &group, &old, &new);
        if patch.len() >= MOST {
            break;
        }
    }
    Some(patch)
}

/// The lines with what ends them.
fn lines(text: Option<&str>) -> Vec<&str> {
    text.map(|text| text.split_inclusive('\n').collect()).unwrap_or_default()
}

/// A path as git writes it: quoted where it would be misread.
fn name(side: &str, path: &str) -> String {
    let odd = |c: char| c.is_control() || matches!(c, '"' | '\\');
    match path.contains(odd) {
        true => format!("\"{side}{}\"", path.escape_default()),
        false => format!("{side}{path}"),
    }
}

/// What is equal at both ends is not compared; a middle that is too long is exchanged as a whole.
fn ops(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let front = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let ends = old[front..].iter().rev().zip(new[front..].iter().rev());
    let back = ends.take_while(|(old, new)| old == new).count();
    let (old_middle, new_middle) = (&old[front..old.len() - back], &new[front..new.len() - back]);
    let mut ops = Vec::new();
    let equal = |old_index, new_index, len| DiffOp::Equal { old_index, new_index, len };
    ops.extend((front > 0).then(|| equal(0, 0, front)));
    let (old_len, new_len) = (old_middle.len(), new_middle.len());
    if old_len + new_len > MOST_COMPARED {
        let whole = match (old_len, new_len) {
            (0, _) => DiffOp::Insert { old_index: front, new_index: front, new_len },
            (_, 0) => DiffOp::Delete { old_index: front, old_len, new_index: front },
            _ => DiffOp::Replace { old_index: front, old_len, new_index: front, new_len },
        };
        ops.push(whole);
    } else {
        let found = capture_diff_slices(Algorithm::Myers, old_middle, new_middle);
        ops.extend(found.into_iter().map(|op| moved(op, front)));
    }
    ops.extend((back > 0).then(|| equal(old.len() - back, new.len() - back, back)));
    ops
}

fn moved(op: DiffOp, by: usize) -> DiffOp {
    match op {
        DiffOp::Equal { old_index, new_index, len } => {
            DiffOp::Equal { old_index: old_index + by, new_index: new_index + by, len }
        }
        DiffOp::Delete { old_index, old_len, new_index } => {
            DiffOp::Delete { old_index: old_index + by, old_len, new_index: new_index + by }
        }
        DiffOp::Insert { old_index, new_index, new_len } => {
            DiffOp::Insert { old_index: old_index + by, new_index: new_index + by, new_len }
        }
        DiffOp::Replace { old_index, old_len, new_index, new_len } => {
            DiffOp::Replace { old_index: old_index + by, old_len, new_index: new_index + by, new_len }
        }
    }
}

/// One hunk, as far as there is room: its head counts the lines that are shown, so that a reader is never misled.
fn hunk(patch: &mut String, group: &[DiffOp], old: &[&str], new: &[&str]) {
    let (Some(first), room) = (group.first(), MOST.saturating_sub(patch.len())) else { return };
    let (old_from, new_from) = (first.old_range().start, first.new_range().start);
    let (mut old_count, mut new_count, mut body) = (0, 0, String::new());
    'lines: for op in group {
        let gone = match op {
            DiffOp::Equal { .. } => &[],
            _ => &old[op.old_range()],
        };
        for line in gone {
            if !fits(&mut body, '-', line, room) {
                break 'lines;
            }
            old_count += 1;
        }
        let equal = matches!(op, DiffOp::Equal { .. });
        for line in &new[op.new_range()] {
            if !fits(&mut body, if equal { ' ' } else { '+' }, line, room) {
                break 'lines;
            }
            old_count += usize::from(equal);
            new_count += 1;
        }
    }
    if old_count + new_count == 0 {
        return;
    }
    let range = |from: usize, count: usize| format!("{},{count}", if count == 0 { from } else { from + 1 });
    let _ = writeln!(patch, "@@ -{} +{} @@", range(old_from, old_count), range(new_from, new_count));
    patch.push_str(&body);
}

fn fits(body: &mut String, sign: char, line: &str, room: usize) -> bool {
    if body.len() + line.len() > room {
        return false;
    }
    body.push(sign);
    body.push_str(line);
    if !line.ends_with('\n') {
        body.push_str("\n\\ No newline at end of file\n");
    }
    true
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_change_is_a_patch() {
        let diff =
            file_diff("a b.rs", Some("1\n2\n3\n4\n5\n6\n7\n8\n9\n"), Some("1\n2\n3\n4\nfive\n6\n7\n8\n9\n"));
        let expected = "diff --git a/a b.rs b/a b.rs\n--- a/a b.rs\n+++ b/a b.rs\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n";
        assert_eq!(diff.as_deref(), Some(expected));
    }

    #[test]
    fn files_that_come_and_go_say_so() {
        let new = file_diff("x", None, Some("a\nb")).unwrap();
        assert!(
            new.contains(
                "new file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline"
            ),
            "{new}"
        );
        let gone = file_diff("x", Some("a\n"), None).unwrap();
        assert!(
            gone.contains("deleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n"),
            "{gone}"
        );
        assert_eq!(file_diff("x", Some("a\n"), Some("a\n")), None);
        assert!(file_diff("a\"\n", None, Some("")).unwrap().starts_with("diff --git \"a/a\\\"\\n\" "));
    }

    #[test]
    fn no_patch_is_longer_than_it_may_be() {
        let side = |word: &str| (0..100_000).map(|n| format!("{word} {n}\n")).collect::<String>();
        let diff = file_diff("x", Some(&side("a")), Some(&side("b"))).unwrap();
        assert!(diff.len() <= MOST + 200, "{}", diff.len());
        let head = diff.lines().find(|line| line.starts_with("@@")).unwrap();
        let gone = diff.lines().filter(|line| line.starts_with("-a ")).count();
        assert_eq!(head, format!("@@ -1,{gone} +0,0 @@"), "the head counts what is shown");
    }

    proptest! {
        #[test]
        fn a_patch_says_what_both_sides_are(old in "([abc]\n){0,30}", new in "([abc]\n){0,30}") {
            let Some(patch) = file_diff("x", Some(&old), Some(&new)) else {
                prop_assert_eq!(old, new);
                return Ok(());
            };
            // Carried out by hand: lines before, between and after the hunks stay as they are.
            let (old_lines, mut at, mut made) = (lines(Some(&old)), 0, String::new());
            for line in patch.lines().skip(3) {
                if let Some(range) = line.strip_prefix("@@ -") {
                    let (from, count) = range.split(' ').next().unwrap().split_once(',').unwrap();
                    let from = from.parse::<usize>().unwrap() - usize::from(count != "0");
                    made.extend(old_lines[at..from].iter().copied());
                    at = from;
                    continue;
                }
                let (sign, text) = line.split_at(1);
                if sign != "+" {
                    prop_assert_eq!(old_lines[at].trim_end(), text);
                    at += 1;
                }
                if sign != "-" {
                    made.push_str(text);
                    made.push('\n');
                }
            }
            made.extend(old_lines[at..].iter().copied());
            prop_assert_eq!(made, new);
        }
    }
}
