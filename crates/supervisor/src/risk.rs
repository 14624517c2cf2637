//! Risk from facts, of 1000: how bad it would be to let the model go on.

use crate::known::Known;

/// What each part can add.
const FAILING: u32 = 400;
const BLAST: u32 = 200;
const IRREVERSIBLE: u32 = 200;
const TREND: u32 = 200;

/// Files times folders from which on the blast radius is as large as it gets.
const LARGE: u32 = 40;

/// The risk now.
pub(crate) fn risk(known: &Known) -> u32 {
    failing_share(known) * FAILING / 1000
        + blast_radius(known) * BLAST / 1000
        + known.irreversible.min(1) * IRREVERSIBLE
        + known.failure_trend() * TREND / 1000
}

/// Whether a risk reaches a threshold written as 0..1.
pub(crate) fn reaches(risk: u32, threshold: f64) -> bool {
    f64::from(risk) >= threshold * 1000.0 - 1e-6
}

fn failing_share(known: &Known) -> u32 {
    let all = u32::try_from(known.checks().len()).unwrap_or(u32::MAX);
    let failing = u32::try_from(known.checks().iter().filter(|check| !check.ok).count()).unwrap_or(u32::MAX);
    (failing * 1000).checked_div(all).unwrap_or(0)
}

fn blast_radius(known: &Known) -> u32 {
    let mut folders: Vec<&str> = known
        .changed()
        .iter()
        .map(|file| file.path.rsplit_once('/').map_or("", |(folder, _)| folder))
        .collect();
    folders.sort_unstable();
    folders.dedup();
    let product = known.changed_count().saturating_mul(u32::try_from(folders.len()).unwrap_or(u32::MAX));
    product.min(LARGE) * 1000 / LARGE
}

/// Whether a command line cannot be undone.
pub(crate) fn is_irreversible(command: &str) -> bool {
    let mut words =
        command.split(|c: char| c.is_whitespace() || ";|&()'\"".contains(c)).filter(|word| !word.is_empty());
    let mut before = "";
    let mut second = "";
    words.any(|word| {
        let flags = |letter: char| word.starts_with('-') && !word.starts_with("--") && word.contains(letter);
        let found = match (before, second) {
            ("rm", _) | (_, "rm") => flags('r') || flags('R') || word == "--recursive",
            (_, "reset") => word == "--hard",
            (_, "clean") => before == "git" && flags('f'),
            (_, "push") | ("push", _) => word == "--force" || word == "-f" || word == "--force-with-lease",
            (_, "branch") => word == "-D",
            _ => matches!(word, "mkfs" | "shred" | "truncate" | "dd") || word.starts_with("mkfs."),
        };
        let sql = matches!(
            (second.to_ascii_lowercase().as_str(), word.to_ascii_lowercase().as_str()),
            ("drop", "table" | "database") | ("truncate", "table")
        );
        before = second;
        second = word;
        found || sql
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{check_ran, write};

    fn known(facts: &[crate::event::Fact]) -> Known {
        let mut known = Known::default();
        facts.iter().for_each(|fact| {
            known.absorb(fact, 1, &[]);
        });
        known
    }

    #[test]
    fn each_part_adds_its_share() {
        assert_eq!(risk(&Known::default()), 0);
        assert_eq!(risk(&known(&[check_ran("t", 1, &["a"])])), 400);
        assert_eq!(risk(&known(&[check_ran("t", 1, &["a"]), check_ran("u", 0, &[])])), 200);
        let mut asked = Known::default();
        asked.irreversible = 1;
        assert_eq!(risk(&asked), 200);
        asked.irreversible = 5;
        assert_eq!(risk(&asked), 200);
        let mut failing = Known::default();
        (0..8).for_each(|_| failing.outcome(false));
        assert_eq!(risk(&failing), 200);
    }

    #[test]
    fn the_blast_grows_with_files_and_folders() {
        let change = |path: &str| write("c", path, "1", "2");
        assert_eq!(risk(&known(&[change("a/1"), change("a/2")])), 10);
        assert_eq!(risk(&known(&[change("a/1"), change("b/2")])), 20);
        let many: Vec<_> = (0..20).map(|i| change(&format!("{}/{i}", i % 5))).collect();
        assert_eq!(risk(&known(&many)), 200);
    }

    #[test]
    fn a_threshold_is_reached_at_itself() {
        assert!(reaches(500, 0.5) && !reaches(499, 0.5) && reaches(700, 0.7) && reaches(0, 0.0));
    }

    #[test]
    fn what_cannot_be_undone_is_recognised() {
        for command in [
            "rm -rf build",
            "sudo rm -fr x",
            "git reset --hard HEAD~1",
            "git clean -xdf",
            "git push --force",
            "git push origin -f",
            "psql -c 'DROP TABLE x'",
            "dd if=/dev/zero of=x",
            "cd a && rm -r b",
            "git branch -D x",
        ] {
            assert!(is_irreversible(command), "{command}");
        }
        for command in [
            "rm a.txt",
            "git reset a",
            "cargo clean",
            "git push",
            "ls -r",
            "cargo test --force",
            "git clean -n",
        ] {
            assert!(!is_irreversible(command), "{command}");
        }
    }
}
