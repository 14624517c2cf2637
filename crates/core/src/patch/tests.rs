#![allow(clippy::unwrap_used)]
use proptest::prelude::*;

use super::*;

#[test]
fn names_and_lines_of_both_sides() {
    let patch = b"diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\n--- a/x\n+++ b/y\n\
        @@ -1,2 +1,2 @@\n same\n--- old\n+++ new\n\
        diff --git a/z b/z\ndeleted file mode 100644\n--- a/z\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n\\ No newline at end of file\n";
    let mut seen = Vec::new();
    walk(patch, &mut |step| {
        seen.push(match step {
            PatchItem::File { old, new } => format!("{} > {}", old.unwrap_or("-"), new.unwrap_or("-")),
            PatchItem::Added { path, line, text } => {
                format!("+{path}:{line} {}", String::from_utf8_lossy(text))
            }
            PatchItem::Removed { path, text } => format!("-{path} {}", String::from_utf8_lossy(text)),
        });
    });
    assert_eq!(seen, ["x > y", "-x -- old", "+y:2 ++ new", "z > -", "-z gone"]);
}

#[test]
fn inv_17_every_path_of_a_patch_is_named() {
    let patch = "diff --git a/a b.txt b/a b.txt\nold mode 100644\nnew mode 100755\n\
        diff --git a/x b/AGENTS.md\nsimilarity index 100%\nrename from x\nrename to AGENTS.md\n\
        diff --git \"a/\\303\\244\" \"b/\\303\\244\"\nold mode 100644\nnew mode 100755\n\
        diff --git a/q b/\"odd\\\"\"\nsimilarity index 100%\nrename from q\nrename to \"odd\\\"\"\n\
        diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+rename to lies\n";
    let found: Vec<String> = named_paths(patch.as_bytes()).into_iter().collect();
    assert_eq!(found, ["AGENTS.md", "a b.txt", "new", "odd\"", "q", "x", "ä"]);
}

#[test]
fn inv_17_a_hunk_that_counts_too_much_hides_no_name() {
    let patch = b"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,9 +1,9 @@\n one\ndiff --git a/secret b/secret\nrename to more\n";
    let found: Vec<String> = named_paths(patch).into_iter().collect();
    assert_eq!(found, ["a", "more", "secret"]);
    assert!(patched_files(patch)[0].is_broken);
}

#[test]
fn files_of_every_kind_are_told_apart() {
    let patch = b"diff --git a/same b/same\nold mode 100644\nnew mode 100755\n\
        diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to \"od\\303\\244 \\\"d\\\"\"\n\
        diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+one\n\
        diff --git a/empty b/empty\ndeleted file mode 100644\nindex e69de29..0000000\n\
        diff --git a/b in b/b in\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n";
    let told: Vec<String> = patched_files(patch)
        .iter()
        .map(|file| {
            let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "-".into());
            let marks = [
                (file.has_new_mode, " mode"),
                (file.is_renamed, " renamed"),
                (file.is_binary, " binary"),
                (file.is_broken, " broken"),
            ];
            let marks: String = marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect();
            let (added, removed) = file.counts();
            format!("{} > {} +{added} -{removed}{marks}", name(&file.old), name(&file.new))
        })
        .collect();
    assert_eq!(
        told,
        [
            "same > same +0 -0 mode",
            "x > odä \"d\" +0 -0 renamed",
            "- > new +1 -0",
            "empty > - +0 -0",
            "b in > b in +0 -0 binary",
        ]
    );
    assert_eq!(patched_files(patch)[3].old_id, Some(&b"e69de29"[..]));
}

#[test]
fn lines_that_look_like_headers_are_lines() {
    let patch = b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n--- b\n+++ c\n d\n";
    let files = patched_files(patch);
    let after = files[0].after(b"a\n-- b\nd\n").unwrap();
    let told: Vec<(&[u8], Option<usize>)> = after.iter().map(|line| (line.text, line.from)).collect();
    assert_eq!(told, [(&b"a"[..], Some(0)), (b"++ c", None), (b"d", Some(2))]);
    assert_eq!(files[0].after(b"other\n"), None, "not the file the patch was made for");
    assert_eq!(files[0].after(b"a\n-- b\nd"), None, "its last line has no end");
}

#[test]
fn hunks_are_numbered_on_both_sides_and_headed() {
    let diff =
        b"@@ -3,3 +3,4 @@ fn x()\n a\n-b\n+c\n+d\n e\n\\ No newline at end of file\n@@ -9 +10,0 @@\n-z";
    let found = hunks(diff);
    let told: Vec<(Option<u64>, Option<u64>, &[u8])> =
        found[0].lines.iter().map(|line| (line.old, line.new, line.text)).collect();
    let expect: [(Option<u64>, Option<u64>, &[u8]); 5] = [
        (Some(3), Some(3), b"a"),
        (Some(4), None, b"b"),
        (None, Some(4), b"c"),
        (None, Some(5), b"d"),
        (Some(5), Some(6), b"e"),
    ];
    assert_eq!(told, expect);
    assert!(found[0].lines[4].is_endless && !found[0].lines[3].is_endless);
    assert_eq!(found[0].header(), "@@ -3,3 +3,4 @@ fn x()");
    assert_eq!((found.len(), found[1].lines[0].old, found[1].lines[0].new), (2, Some(9), None));
}

#[test]
fn what_cannot_be_understood_is_broken_and_nothing_else() {
    let check = |patch: &str, broken: bool| {
        let files = patched_files(patch.as_bytes());
        assert_eq!((files.len(), files[0].is_broken), (1, broken), "{patch}");
    };
    check("diff --git a/f b/f\n@@ -1 +1 @@\n-a\n+b\n", false);
    check("diff --git a/f b/f\n@@ -1,2 +1,2 @@\n\n-a\n+b\n", false);
    check("diff --git a/f b/f\n@@ -1,2 +1,2 @@\n-a\n+b\n", true);
    check("diff --git a/f b/f\n@@ -1 +1 @@\nxyz\n", true);
    check("diff --git a/f b/f\n@@ -x,y +99999999999999999999 @@\n", true);
    check("diff --git a/f b/f\n@@ -1,1 +1,2 @@\n-a\n-b\n+c\n+d\n", true);
}

/// A file, its change, and the patch that tells it: each line is kept, added or removed.
fn change() -> impl Strategy<Value = (String, String, String)> {
    let word = prop_oneof![
        Just("a"),
        Just("b"),
        Just(""),
        Just("- x"),
        Just("++ y"),
        Just("@@ -1 +1 @@"),
        Just("é")
    ];
    let line = (word, 0..3u8);
    (prop::collection::vec(line, 1..25), any::<bool>()).prop_map(|(lines, ends)| {
        let (mut old, mut new, mut body) = (Vec::new(), Vec::new(), String::new());
        let last = lines.len() - 1;
        for (at, (word, kind)) in lines.into_iter().enumerate() {
            // The last line stands on both sides, so that both end alike.
            let kind = if at == last { 0 } else { kind };
            body += &format!("{}{word}\n", [" ", "-", "+"][usize::from(kind)]);
            if kind != 2 {
                old.push(word);
            }
            if kind != 1 {
                new.push(word);
            }
        }
        // An empty line without an end is no line.
        let endless = !ends && old.last().is_some_and(|line| !line.is_empty());
        if endless {
            body += "\\ No newline at end of file\n";
        }
        let patch =
            format!("diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,{} +1,{} @@\n{body}", old.len(), new.len());
        let text = |lines: Vec<&str>| lines.join("\n") + if endless { "" } else { "\n" };
        (text(old), text(new), patch)
    })
}

proptest! {
    #[test]
    fn a_patch_leads_from_the_old_text_to_the_new((old, new, patch) in change()) {
        let files = patched_files(patch.as_bytes());
        prop_assert_eq!(files.len(), 1);
        prop_assert!(!files[0].is_broken);
        let applied = files[0].applied(old.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap());
        prop_assert_eq!(applied, Some(new));
        let lines: Vec<&str> = old.lines().collect();
        for line in files[0].after(old.as_bytes()).unwrap() {
            prop_assert!(line.from.is_none_or(|from| lines[from].as_bytes() == line.text));
        }
    }

    #[test]
    fn a_name_comes_back_from_its_quotes(name in "[a-z \"\\\\\\n\\t\\x01é]{1,12}") {
        let quoted = quoted_name(&name);
        prop_assert!(!quoted.chars().any(char::is_control));
        prop_assert_eq!(plain_name(&quoted), name.clone());
        let header = format!("diff --git {0} {1}\n", quoted_name(&format!("a/{name}")), quoted_name(&format!("b/{name}")));
        prop_assert_eq!(named_paths(header.as_bytes()).into_iter().collect::<Vec<_>>(), [name]);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(
        patch in "(diff --git |a/x|b/x| |\"|\\\\|[0-9]|\n|\r|@@ -1,2 \\+1,3 @@|@@ |--- |\\+\\+\\+ |rename to |index |,|é|\\PC){0,60}",
        bytes in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut whole = b"diff --git a/f b/f\n@@ -1,2 +1,2 @@\n".to_vec();
        whole.extend(&bytes);
        for patch in [patch.as_bytes(), &bytes, &whole] {
            walk(patch, &mut |_| {});
            let named = named_paths(patch);
            for file in patched_files(patch) {
                let _ = (file.after(b"x\nx\nx"), file.applied(b"x\n"), file.counts());
                prop_assert!([&file.old, &file.new].into_iter().flatten().all(|name| named.contains(name)));
                prop_assert!(file.hunks.iter().flat_map(|hunk| &hunk.lines).all(|line| line.old.is_some() || line.new.is_some()));
            }
        }
    }
}
