//! Sets of holes and look-alikes by people who had not seen the rules: what was found at first sight, and what is found now.

use std::collections::BTreeMap;
use std::path::PathBuf;

use holon_ethics::{Assessment, assess};

use crate::story::{StoryCase, StoryCases};
use crate::{goes_out, show};

/// How many lines a finding may be away from the line that makes the hole.
const NEAR: u64 = 5;

/// One set, with its figures.
struct BlindSet {
    name: &'static str,
    /// Recall and false positives when the rules had not seen the set.
    first_sight: (f64, f64),
    /// What has to be kept: the least recall and the most false positives.
    kept: (f64, f64),
}

const SETS: [BlindSet; 5] = [
    BlindSet { name: "one", first_sight: (0.823, 0.031), kept: (0.97, 0.02) },
    BlindSet { name: "two", first_sight: (0.838, 0.046), kept: (0.96, 0.025) },
    BlindSet { name: "three", first_sight: (0.762, 0.023), kept: (0.96, 0.02) },
    BlindSet { name: "four", first_sight: (0.885, 0.031), kept: (0.96, 0.02) },
    // Measured once, when the rules were finished, and never read: what it says is what to expect.
    BlindSet { name: "five", first_sight: (0.923, 0.023), kept: (0.923, 0.0231) },
];

fn load(path: &PathBuf) -> Vec<StoryCase> {
    let text = std::fs::read_to_string(path).unwrap();
    let cases: StoryCases = toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    cases.case
}

/// Whether something that blocks was found where the hole is.
fn is_found(case: &StoryCase, assessment: &Assessment) -> bool {
    let (path, line) = case.place().expect("a planted case says where its hole is");
    assessment
        .findings
        .iter()
        .any(|one| one.severity.blocks() && one.path == path && one.line.abs_diff(line) <= NEAR)
}

/// Recall and false positives, and how they come about.
fn measure(planted: &[StoryCase], clean: &[StoryCase], tell: bool) -> (f64, f64) {
    let mut classes: BTreeMap<&str, (usize, usize, usize, usize)> = BTreeMap::new();
    let (mut found, mut wrong) = (0, 0);
    for case in planted {
        let assessment = assess(&case.input(), case);
        let is_found = is_found(case, &assessment);
        let entry = classes.entry(case.class.as_deref().unwrap_or_default()).or_default();
        entry.0 += 1;
        entry.1 += usize::from(is_found);
        found += usize::from(is_found);
        if tell && !is_found {
            println!(
                "missed {}: {} ({})\n{}",
                case.class.as_deref().unwrap_or_default(),
                case.name,
                case.language.as_deref().unwrap_or_default(),
                show(&assessment)
            );
        }
    }
    for case in clean {
        let assessment = assess(&case.input(), case);
        let is_wrong = !goes_out(&assessment);
        let entry = classes.entry(case.class.as_deref().unwrap_or_default()).or_default();
        entry.2 += 1;
        entry.3 += usize::from(is_wrong);
        wrong += usize::from(is_wrong);
        if tell && is_wrong {
            println!(
                "blocked {}: {} ({})\n{}",
                case.class.as_deref().unwrap_or_default(),
                case.name,
                case.language.as_deref().unwrap_or_default(),
                show(&assessment)
            );
        }
    }
    for (class, (planted, found, clean, wrong)) in classes {
        println!("  {class}: {found} of {planted} found, {wrong} of {clean} blocked wrongly");
    }
    (found as f64 / planted.len() as f64, wrong as f64 / clean.len() as f64)
}

#[test]
fn blind_sets_are_told_apart() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("cases");
    for set in &SETS {
        let file = |kind: &str| folder.join(format!("blind-{}-{kind}.toml", set.name));
        let (planted, clean) = (load(&file("planted")), load(&file("clean")));
        // The last set tells no cases, so that nobody mends the rules by it.
        let (recall, wrong) = measure(&planted, &clean, set.name != "five");
        println!(
            "blind set {}: recall {:.1} %, false positives {:.1} %; at first sight {:.1} % and {:.1} %",
            set.name,
            recall * 100.0,
            wrong * 100.0,
            set.first_sight.0 * 100.0,
            set.first_sight.1 * 100.0
        );
        assert!(recall >= set.kept.0 && wrong <= set.kept.1, "{}: {recall} {wrong}", set.name);
    }
}

/// Measures a set outside of the repository, `HOLON_BLIND_SET=…/one`; with `HOLON_BLIND_QUIET` only its figures are shown.
#[test]
fn a_set_from_elsewhere() {
    let Ok(stem) = std::env::var("HOLON_BLIND_SET") else { return };
    let (planted, clean) =
        (load(&format!("{stem}-planted.toml").into()), load(&format!("{stem}-clean.toml").into()));
    let (recall, wrong) = measure(&planted, &clean, std::env::var("HOLON_BLIND_QUIET").is_err());
    println!("set {stem}: recall {:.1} %, false positives {:.1} %", recall * 100.0, wrong * 100.0);
}

/// How many files of a tree would be blocked as new files, `HOLON_BLIND_TREE=/usr/lib/python3`; those that are, are named.
#[test]
fn a_tree_from_elsewhere() {
    let Ok(tree) = std::env::var("HOLON_BLIND_TREE") else { return };
    let (mut folders, mut all, mut blocked) = (vec![PathBuf::from(&tree)], 0, 0);
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.filter_map(|entry| entry.ok()).map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let known = path.extension().is_some_and(|ending| ending == "rs" || ending == "py");
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            if !known {
                continue;
            }
            let name = path.strip_prefix(&tree).unwrap().to_str().unwrap().to_owned();
            let assessment = assess(
                &StoryCase::of("tree", &name, &text.replace(['«', '»'], "")).input(),
                &holon_ethics::NoLicenceLookup,
            );
            let new = ["code-security", "excessive-rights", "personal-data-flow", "secrets"];
            let found: Vec<_> = assessment
                .findings
                .iter()
                .filter(|f| f.severity.blocks() && new.contains(&f.check.name()))
                .collect();
            all += 1;
            blocked += usize::from(!found.is_empty());
            for one in found {
                println!("{} {} {}", one.check.name(), one.rule, one.place());
            }
        }
    }
    println!("tree {tree}: {all} files, {blocked} blocked");
}

/// What people are told of first sight is what was seen.
#[test]
fn the_documentation_tells_the_figures_of_first_sight() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/ethics.md");
    let text = std::fs::read_to_string(path).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    for set in &SETS {
        let (recall, wrong) = (set.first_sight.0 * 100.0, set.first_sight.1 * 100.0);
        let told =
            [format!("{recall:.0} % and {wrong:.0} %"), format!("{recall:.0} % found and {wrong:.0} %")];
        assert!(told.iter().any(|words| text.contains(words)), "{}: {told:?}", set.name);
    }
}
