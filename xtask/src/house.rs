//! `cargo xtask house`: figures about the source tree for whoever reviews it, beside those of other projects.
//!
//! Nothing here passes or fails. What is compared and listed is data in `xtask/house.toml`.

mod cycles;
mod functions;
mod sizes;
mod type_names;

use serde::Deserialize;

use crate::XtaskFailure;
use crate::tidy::SourceTree;

const DATA: &str = include_str!("../house.toml");
/// So many rows of a list are shown.
const LISTED: usize = 8;

/// `cargo xtask house`.
pub(crate) fn run() -> Result<(), XtaskFailure> {
    let compared: HouseData =
        toml::from_str(DATA).map_err(|error| format!("cannot read xtask/house.toml: {error}"))?;
    print!("{}", report(&SourceTree::read()?, &compared));
    Ok(())
}

/// What the tree is compared with.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HouseData {
    #[serde(rename = "anchor")]
    anchors: Vec<ProjectFigures>,
    names: NameData,
    diffs: DiffData,
    #[serde(rename = "change")]
    changes: Vec<ChangeExample>,
}

/// One project in the table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProjectFigures {
    name: String,
    lines: usize,
    median_file: usize,
    largest_file: usize,
    one_word_percent: usize,
    shared_percent: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NameData {
    empty: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DiffData {
    markers: Vec<String>,
}

/// A kind of change, and a word that stands in every file one such change touched.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeExample {
    kind: String,
    example: String,
}

fn report(tree: &SourceTree, compared: &HouseData) -> String {
    let files = sizes::file_sizes(tree);
    let types = type_names::declared_types(tree);
    let own = ProjectFigures {
        name: "here".into(),
        lines: files.source_lines(),
        median_file: files.median(),
        largest_file: files.largest.first().map_or(0, |(lines, _)| *lines),
        one_word_percent: type_names::one_word_percent(&types),
        shared_percent: type_names::shared_percent(&types),
    };
    let mut text = table(&own, &compared.anchors);
    text.push_str(&format!(
        "\nlines of Rust: {} product, {} tests; {} types in crates/*/src\n",
        files.product,
        files.tests,
        types.len()
    ));
    let rows =
        |list: &[(usize, String)]| list.iter().map(|(count, what)| format!("{count:6}  {what}")).collect();
    section(&mut text, "longest files", rows(&files.largest));
    section(&mut text, "longest functions", rows(&functions::longest(tree)));
    section(&mut text, "names that many types have", rows(&type_names::most_shared(&types)));
    let empty = type_names::empty_names(&types, &compared.names.empty);
    let total: usize = empty.iter().map(|(count, _)| count).sum();
    section(&mut text, &format!("types with an empty name: {total}"), rows(&empty));
    let cycles = cycles::import_cycles(tree);
    let heading = format!("modules that import each other in a circle: {} circles", cycles.len());
    section(
        &mut text,
        &heading,
        cycles.iter().map(|circle| format!("{:6}  {}", circle.len(), circle.join(" "))).collect(),
    );
    let readers = sizes::diff_readers(tree, &compared.diffs.markers);
    // One reader is what it takes; only more are worth naming.
    let named = if readers.len() > 1 {
        readers.iter().map(|path| format!("        {path}")).collect()
    } else {
        vec![]
    };
    section(&mut text, &format!("files that know the lines of unified diffs: {}", readers.len()), named);
    let touched = compared.changes.iter().map(|change| {
        let count = sizes::files_naming(tree, &change.example);
        format!("{count:6}  {} (as `{}`)", change.kind, change.example)
    });
    section(&mut text, "files touched by one more of a kind", touched.collect());
    text
}

/// A heading, and at most so many rows; a list of circles or readers says how many more there are.
fn section(text: &mut String, heading: &str, rows: Vec<String>) {
    text.push_str(&format!("\n{heading}\n"));
    for row in rows.iter().take(LISTED) {
        text.push_str(&format!("  {row}\n"));
    }
    if rows.len() > LISTED {
        text.push_str(&format!("          and {} more\n", rows.len() - LISTED));
    }
}

fn table(own: &ProjectFigures, anchors: &[ProjectFigures]) -> String {
    let all: Vec<&ProjectFigures> = [own].into_iter().chain(anchors).collect();
    let row = |label: &str, cell: &dyn Fn(&ProjectFigures) -> String| {
        let cells: String = all.iter().map(|project| format!(" {:>14}", cell(project))).collect();
        format!("{label:<34}{cells}\n")
    };
    [
        row("", &|project| project.name.clone()),
        row("lines of Rust", &|project| format!("{}k", project.lines / 1000)),
        row("median / largest file", &|project| {
            format!("{} / {}", project.median_file, project.largest_file)
        }),
        row("types whose name is one word", &|project| format!("{} %", project.one_word_percent)),
        row("types that share their name", &|project| format!("{} %", project.shared_percent)),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_report_has_the_figures_beside_the_anchors() {
        let compared: HouseData = toml::from_str(DATA).unwrap();
        let tree = SourceTree::of(&[
            ("crates/a/src/lib.rs", "mod b;\nmod c;\n"),
            ("crates/a/src/c.rs", "use crate::b::Wanted;\nstruct SnapshotLayer;\n"),
            (
                "crates/a/src/b.rs",
                "use super::c::SnapshotLayer;\npub struct Wanted;\nconst HUNK: &str = \"@@ -\";\n",
            ),
            ("modes/x.toml", "name = \"architect\"\n"),
        ]);
        let text = report(&tree, &compared);
        let words = |label: &str| -> Vec<String> {
            let line = text.lines().find(|line| line.starts_with(label)).unwrap();
            line[label.len()..].split_whitespace().map(str::to_owned).collect()
        };
        assert_eq!(words("types whose name is one word")[..4], ["50", "%", "7", "%"]);
        assert!(text.contains("types with an empty name: 1\n       1  Wanted"), "{text}");
        assert!(text.contains("2  a::b a::c\n"), "{text}");
        assert!(text.contains("unified diffs: 1\n"), "{text}");
        assert!(text.contains("1  a built-in mode"), "{text}");
    }

    #[test]
    fn long_lists_say_how_much_is_left_out() {
        let mut text = String::new();
        section(&mut text, "rows", vec!["x".into(); LISTED + 2]);
        // A blank line and the heading come before the rows, what is left out after them.
        assert_eq!(text.lines().count(), LISTED + 3);
        assert!(text.ends_with("and 2 more\n"));
    }
}
