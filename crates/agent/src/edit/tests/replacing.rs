//! Replacing passages.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;

use crate::edit::lines::split;
use crate::edit::{EditedLineRange, Mismatch, Tolerance, replace};

fn check(text: &str, old: &str, new: &str, how: Option<Tolerance>, expect: &str) {
    match replace(text, old, new, false) {
        Ok(replaced) => {
            assert_eq!(replaced.text, expect, "{old:?} in {text:?}");
            assert_eq!(replaced.tolerance, how, "{old:?} in {text:?}");
        }
        Err(mismatch) => panic!("{old:?} in {text:?}: {mismatch}"),
    }
}

#[test]
fn exact_passages() {
    let check = |text, old, new, expect| check(text, old, new, None, expect);
    check("a b c", "b", "x", "a x c");
    check("a\nb\nc\n", "b\n", "", "a\nc\n");
    check("a\nb\nc\n", "a\nb", "x\ny\nz", "x\ny\nz\nc\n");
    check("é“ü”\n", "“ü”", "x", "éx\n");
}

#[test]
fn line_ends_stay_as_the_file_has_them() {
    use Tolerance::*;
    check("a\r\nb\r\nc\r\n", "b", "x\ny", None, "a\r\nx\r\ny\r\nc\r\n");
    check("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n", Some(LineEndings), "x\r\ny\r\nc\r\n");
    check("a\r\nb\r\nc", "b\nc", "x", Some(LineEndings), "a\r\nx");
    check("a\nb\n", "a\r\nb\r\n", "c\r\nd\r\n", Some(LineEndings), "c\nd\n");
    check("a\r\nb\nc\n", "a\r\nb", "x\ny", None, "x\r\ny\nc\n");
    check("a\r\nb\r\n", "\nb", "\nc", Some(LineEndings), "a\r\nc\r\n");
}

#[test]
fn the_end_of_the_file_stays_unless_it_is_the_point() {
    check("a\nb\n", "b\n", "c", None, "a\nc\n");
    check("a\nb", "b", "c\n", None, "a\nc");
    check("a\nb", "b", "b\n", None, "a\nb\n");
    check("a\nb\n", "b\n", "b", None, "a\nb");
    check("a\nb\n", "b\n", "", None, "a\n");
    check("a\r\nb\r\n", "b\r\n", "c", None, "a\r\nc\r\n");
    check("a\nb", "b\n", "c\n", Some(Tolerance::LineEndings), "a\nc");
}

#[test]
fn whitespace_at_line_ends_is_forgiven_and_kept() {
    let how = Some(Tolerance::TrailingWhitespace);
    check("a  \nb\t\nc\n", "a\nb", "a\nx", how, "a  \nx\nc\n");
    check("a\nb\nc\n", "a \nb  \n", "a \nb  \nnew\n", how, "a\nb\nnew\nc\n");
}

#[test]
fn indentation_is_forgiven_and_applied() {
    let how = Some(Tolerance::Indentation);
    check(
        "{\n    if a {\n        b();\n    }\n}\n",
        "if a {\n    b();\n}",
        "if a {\n    c();\n    d();\n}",
        how,
        "{\n    if a {\n        c();\n        d();\n    }\n}\n",
    );
    check(
        "a:\n\tb\n\t\tc\n",
        "    b\n        c",
        "    b\n        d\n            e",
        how,
        "a:\n\tb\n\t\td\n\t\t\te\n",
    );
    check("b\n  c\n", "    b\n      c\n", "    x\n      c\n", how, "x\n  c\n");
}

#[test]
fn typographic_characters_are_forgiven() {
    let how = Some(Tolerance::Typography);
    check("He said “hi” and don’t.\n", "said \"hi\"", "said \"bye\"", how, "He said “bye” and don’t.\n");
    check("print(\"a\")\n", "print(“a”)", "print(“b”)", how, "print(\"b\")\n");
    check("  x — “y”  \n  z\n", "x - \"y\"\nz", "x - \"y\"\nw", how, "  x — “y”  \n  w\n");
    check("a…b\r\nc\r\n", "a...b\nc", "a...b\nd", how, "a…b\r\nd\r\n");
}

#[test]
fn one_layer_of_escapes_is_forgiven() {
    let how = Some(Tolerance::Escapes);
    check("a\nb\nc\n", "a\\nb", "a\\nx", how, "a\nx\nc\n");
    check("print(\"a\\n\")\n", "print(\\\"a\\\\n\\\")", "print(\\\"b\\\\n\\\")", how, "print(\"b\\n\")\n");
}

#[test]
fn similar_lines_between_anchors_are_forgiven() {
    let text = "fn f() {\n    let total = price * count;\n    // sums up\n    total\n}\n";
    let old = "fn f() {\n    let total = price * counts;\n    // sums up\n    total\n}\n";
    check(
        text,
        old,
        &old.replace("sums up", "adds"),
        Some(Tolerance::Anchors),
        &text.replace("sums up", "adds"),
    );
}

#[test]
fn refusals_say_why() {
    let check = |text: &str, old: &str, new: &str, expect: &str| {
        let said = replace(text, old, new, false).unwrap_err().to_string();
        assert_eq!(said, expect, "{old:?} in {text:?}");
    };
    check("a", "a", "a", "the text to replace and its replacement are the same: nothing to change");
    check(
        "a",
        "",
        "b",
        "the text to replace is empty, but the file is not: give the lines to replace, or write the whole file",
    );
    check(
        "x\ny\nx\n",
        "x",
        "z",
        "the text to replace is there more than once, at lines 1, 3: add lines around it that are only at the place you mean, or set `all` to replace every one",
    );
    check(
        "aaa",
        "aa",
        "b",
        "the text to replace is there more than once, at line 1, several times: add lines around it that are only at the place you mean, or set `all` to replace every one",
    );
    check(
        "\tx\n  x\n",
        "x \n",
        "y\n",
        "the text to replace is there more than once, at lines 1, 2 (indentation differs): add lines around it that are only at the place you mean, or set `all` to replace every one",
    );
    check(
        "a \nb\n",
        "a\nb",
        "a \nb",
        "line 1 and what follows already reads as asked for: nothing to change",
    );
}

#[test]
fn many_places_are_listed_up_to_a_limit() {
    let Err(Mismatch::Ambiguous { lines, more, .. }) = replace(&"x\n".repeat(50), "x", "y", false) else {
        panic!("ambiguous")
    };
    assert_eq!((lines.len(), more), (20, true));
}

#[test]
fn every_place_on_request() {
    let replaced = replace("x\ny\nx x\n", "x", "z\nz", true).unwrap();
    assert_eq!(replaced.text, "z\nz\ny\nz\nz z\nz\n");
    assert_eq!(replaced.places[0], EditedLineRange { first: 1, last: 2 });
    assert_eq!(replaced.places[1], EditedLineRange { first: 4, last: 5 });
    let replaced = replace("\tx\n  x\ny\n", "x \n", "z\n", true).unwrap();
    assert_eq!((replaced.text.as_str(), replaced.tolerance), ("\tz\n  z\ny\n", Some(Tolerance::Indentation)));
}

#[test]
fn an_empty_file_is_filled() {
    assert_eq!(replace("", "", "a\r\nb", false).unwrap().text, "a\r\nb");
    assert!(matches!(replace("", "a", "b", false), Err(Mismatch::NotFound(_))));
}

/// Lines of code-like text with a given end.
fn text(end: &'static str) -> impl Strategy<Value = String> {
    let line = "[ \t]{0,6}[a-f(){};=“’ ]{0,12}";
    prop::collection::vec(line, 0..12)
        .prop_map(move |lines| lines.iter().map(|line| format!("{line}{end}")).collect())
}

proptest! {
    #[test]
    fn a_unique_passage_is_replaced_and_nothing_else(
        before in text("\n"), after in text("\n"), needle in "[ \t]{0,4}NEEDLE[a-z \n]{0,20}", new in "[a-z\t \n]{0,20}",
    ) {
        let whole = format!("{before}{needle}{after}x\n");
        prop_assume!(needle != new);
        let replaced = replace(&whole, &needle, &new, false).unwrap();
        prop_assert_eq!(replaced.text, format!("{before}{new}{after}x\n"));
        prop_assert_eq!(replaced.tolerance, None);
    }

    #[test]
    fn line_ends_are_preserved(before in text("\r\n"), after in text("\r\n"), new in "[a-z \n]{1,20}") {
        let whole = format!("{before}NEEDLE one\r\nNEEDLE two\r\n{after}x\r\n");
        let replaced = replace(&whole, "NEEDLE one\nNEEDLE two", &new, false).unwrap();
        prop_assert_eq!(replaced.text, format!("{before}{}\r\n{after}x\r\n", new.replace('\n', "\r\n")));
    }

    #[test]
    fn no_line_end_is_torn(lines in prop::collection::vec("[ab ]{0,3}", 1..6), cut in (0..20_usize, 1..8_usize), new in "[ab\n ]{0,6}", all: bool) {
        let plain = lines.join("\n") + "\n";
        let start = cut.0.min(plain.len() - 1);
        let old = &plain[start..(start + cut.1).min(plain.len())];
        if let Ok(replaced) = replace(&plain.replace('\n', "\r\n"), old, &new, all) {
            let rest = replaced.text.replace("\r\n", "");
            prop_assert!(!rest.contains(['\r', '\n']), "{:?}", replaced);
            // The same edit of the same text with other line ends.
            prop_assert_eq!(replaced.text.replace("\r\n", "\n"), replace(&plain, old, &new, all).unwrap().text);
        }
    }

    #[test]
    fn tolerant_matches_change_nothing_outside_of_their_lines(
        before in text("\n"), after in text("\n"), indent in "[ ]{0,8}|\t{0,3}", trailing in "[ \t]{0,3}", tail in "x\n|x|",
    ) {
        let passage = |indent: &str, trailing: &str| format!("{indent}NEEDLE {{{trailing}\n{indent}    body();{trailing}\n{indent}}}");
        let whole = format!("{before}{}\n{after}{tail}", passage(&indent, &trailing));
        let old = passage("", "");
        let new = old.replace("body();", "other();\n    more();");
        let replaced = replace(&whole, &old, &new, false).unwrap();
        let middle = format!("{indent}NEEDLE {{{trailing}\n{indent}    other();\n{indent}    more();\n{indent}}}");
        let shifted = replaced.text.replace(&trailing, "") == format!("{before}{middle}\n{after}{tail}").replace(&trailing, "");
        prop_assert!(shifted || trailing.is_empty(), "{}", replaced.text);
        prop_assert!(replaced.text.starts_with(&before));
        let rest = format!("\n{}{}", after, tail);
        prop_assert!(replaced.text.ends_with(&rest));
        if trailing.is_empty() {
            prop_assert_eq!(&replaced.text, &format!("{before}{middle}\n{after}{tail}"));
        }
    }

    #[test]
    fn arbitrary_texts_never_panic_and_places_are_there(
        text in "[ab\\\\“\"…\u{200b}\r\n\t ]{0,40}", old in "[ab\\\\“\"…\u{200b}\r\n\t ]{0,8}", new in "[ab\\\\“n\"…\r\n ]{0,8}", all: bool,
    ) {
        match replace(&text, &old, &new, all) {
            Ok(replaced) => {
                let lines = split(&replaced.text).len();
                prop_assert!(!replaced.places.is_empty());
                prop_assert!(replaced.places.iter().all(|place| place.first >= 1 && place.last <= lines + 1), "{replaced:?}");
                prop_assert!(all || replaced.places.len() == 1);
            }
            Err(mismatch) => prop_assert!(!mismatch.to_string().is_empty()),
        }
    }

    #[test]
    fn whatever_is_there_twice_is_not_guessed(line in "[a-z]{1,8}", between in "[A-Z]{1,8}", indent in "[ ]{0,4}") {
        let whole = format!("{line}\n{between}\n{indent}{line}\n");
        let refused = matches!(replace(&whole, &line, "new text", false), Err(Mismatch::Ambiguous { .. }));
        prop_assert!(refused);
    }
}
