//! The table in `docs/supervisor.md`: which rule is shown by which test.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const BEGIN: &str = "<!-- begin: rules and tests -->\n";
const END: &str = "<!-- end: rules and tests -->\n";

/// Rules of the design that must be shown by a run with real walls.
const RULES: &str = include_str!("rules.txt");

/// The tests that show each rule, from the `shows:` comments beside them.
fn shown() -> BTreeMap<String, Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/supervisor");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut shown: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "rs")) {
        let module = file.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(file).unwrap();
        let mut rules: Vec<&str> = Vec::new();
        for line in text.lines() {
            if let Some(list) = line.strip_prefix("/// shows: ") {
                rules = list.split(", ").collect();
            } else if let Some(name) = line.strip_prefix("fn ").and_then(|rest| rest.split('(').next()) {
                for rule in rules.drain(..) {
                    shown.entry(rule.to_owned()).or_default().push(format!("`{module}::{name}`"));
                }
            }
        }
    }
    shown
}

fn table(shown: &BTreeMap<String, Vec<String>>) -> String {
    let mut text = String::from("| rule | what it is | shown by |\n|---|---|---|\n");
    for line in RULES.lines().filter(|line| !line.is_empty()) {
        let (rule, what) = line.split_once(": ").expect("rule: what it is");
        let tests = shown.get(rule).map(|tests| tests.join(", ")).unwrap_or_default();
        text.push_str(&format!("| {rule} | {what} | {tests} |\n"));
    }
    text
}

/// With `HOLON_UPDATE` set the table is written instead of compared.
#[test]
fn the_documents_table_is_what_the_tests_say() {
    let shown = shown();
    let rules: Vec<&str> =
        RULES.lines().filter_map(|line| line.split_once(": ").map(|(rule, _)| rule)).collect();
    let unshown: Vec<&&str> = rules.iter().filter(|rule| !shown.contains_key(**rule)).collect();
    assert!(unshown.is_empty(), "no test shows {unshown:?}");
    let unknown: Vec<&String> = shown.keys().filter(|rule| !rules.contains(&rule.as_str())).collect();
    assert!(unknown.is_empty(), "rules.txt does not know {unknown:?}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/supervisor.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the table's beginning");
    let (stored, after) = rest.split_once(END).expect("the table's end");
    let table = table(&shown);
    if std::env::var_os("HOLON_UPDATE").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        assert_eq!(stored, table, "run it once with HOLON_UPDATE=1");
    }
}
