//! A patch as git writes it, file by file: names, object ids, kinds of change; and the lines it counts.

use std::collections::BTreeSet;

use holon_core::patch::{self, PatchItem};

/// One file of a patch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PatchSection {
    /// Its name before; `None` when it is new.
    pub(super) old: Option<String>,
    /// Its name after; `None` when it is gone.
    pub(super) new: Option<String>,
    /// The id of its content before.
    pub(super) old_id: Option<String>,
}

/// What a patch does, counted as git counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PatchSummary {
    /// Its files; one that changes its type is in it twice.
    pub(super) sections: Vec<PatchSection>,
    /// Lines added.
    pub(super) insertions: u64,
    /// Lines removed.
    pub(super) deletions: u64,
}

impl PatchSummary {
    /// Reads a patch.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut summary = Self { sections: sections(bytes), ..Self::default() };
        patch::walk(bytes, &mut |step| match step {
            PatchItem::Added { .. } => summary.insertions += 1,
            PatchItem::Removed { .. } => summary.deletions += 1,
            PatchItem::File { .. } => {}
        });
        summary
    }

    /// How many files it changes; a rename counts once, and so does a file that becomes a link.
    pub(super) fn files(&self) -> u64 {
        let name = |file: &PatchSection| file.new.clone().or_else(|| file.old.clone());
        self.sections.iter().map(name).collect::<BTreeSet<_>>().len() as u64
    }

    /// Every path it touches.
    pub(super) fn paths(&self) -> BTreeSet<String> {
        self.sections.iter().flat_map(|file| [file.old.clone(), file.new.clone()]).flatten().collect()
    }
}

/// The files of a patch, from its headers; lines of hunks are passed over by their counts.
fn sections(bytes: &[u8]) -> Vec<PatchSection> {
    let mut files: Vec<PatchSection> = Vec::new();
    let mut left = (0_u64, 0_u64);
    for line in bytes.split(|b| *b == b'\n') {
        if left != (0, 0) {
            match line.first() {
                Some(b'+') => left.1 = left.1.saturating_sub(1),
                Some(b'-') => left.0 = left.0.saturating_sub(1),
                Some(b'\\') => {}
                _ => left = (left.0.saturating_sub(1), left.1.saturating_sub(1)),
            }
            continue;
        }
        let text = String::from_utf8_lossy(line);
        if let Some(names) = text.strip_prefix("diff --git ") {
            let (old, new) = both_names(names);
            files.push(PatchSection { old, new, old_id: None });
            continue;
        }
        let Some(file) = files.last_mut() else { continue };
        let name = |rest: &str| Some(patch::plain_name(rest));
        if let Some(rest) = text.strip_prefix("@@ ") {
            left = counts(rest).unwrap_or_default();
        } else if text.starts_with("new file mode ") {
            file.old = None;
        } else if text.starts_with("deleted file mode ") {
            file.new = None;
        } else if let Some(rest) = text.strip_prefix("rename from ") {
            file.old = name(rest);
        } else if let Some(rest) = text.strip_prefix("rename to ") {
            file.new = name(rest);
        } else if let Some(rest) = text.strip_prefix("index ") {
            file.old_id = rest.split("..").next().map(str::to_owned);
        }
    }
    files
}

/// The two names behind `diff --git`: equal but for a rename, which names them again.
fn both_names(names: &str) -> (Option<String>, Option<String>) {
    let without = |name: &str, side: &str| {
        let plain = patch::plain_name(name);
        plain.strip_prefix(side).map(str::to_owned)
    };
    if names.starts_with('"')
        && let Some((old, new)) = names.split_once("\" ")
    {
        return (without(&format!("{old}\""), "a/"), without(new, "b/"));
    }
    // `a/NAME b/NAME`: the names have the same length unless it is a rename.
    let half = names.len() / 2;
    match (names.get(..half), names.get(half..).and_then(|rest| rest.strip_prefix(' '))) {
        (Some(old), Some(new)) => (without(old, "a/"), without(new, "b/")),
        _ => (None, None),
    }
}

/// The two counts of `-a,b +c,d @@`.
fn counts(rest: &str) -> Option<(u64, u64)> {
    let mut fields = rest.split(' ');
    let mut count = |sign: char| -> Option<u64> {
        let range = fields.next()?.strip_prefix(sign)?;
        range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok())
    };
    Some((count('-')?, count('+')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_change_is_told_apart() {
        let patch = "diff --git a/a.txt b/a.txt\nindex 1111..2222 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n same\n--- x\n+diff --git a/no b/no\n\
            diff --git a/old name b/new name\nsimilarity index 100%\nrename from old name\nrename to new name\n\
            diff --git a/gone b/gone\ndeleted file mode 100644\nindex 3333..0000\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
            diff --git \"a/tab\\there\" \"b/tab\\there\"\nnew file mode 100755\nindex 0000..4444\n\
            diff --git a/bin b/bin\nindex 5555..6666 100644\nGIT binary patch\nliteral 3\nKcmb-\n\nliteral 0\nHcmV\n\n";
        let summary = PatchSummary::of(patch.as_bytes());
        let told: Vec<(Option<&str>, Option<&str>)> =
            summary.sections.iter().map(|file| (file.old.as_deref(), file.new.as_deref())).collect();
        assert_eq!(
            told,
            [
                (Some("a.txt"), Some("a.txt")),
                (Some("old name"), Some("new name")),
                (Some("gone"), None),
                (None, Some("tab\there")),
                (Some("bin"), Some("bin")),
            ]
        );
        assert_eq!((summary.files(), summary.insertions, summary.deletions), (5, 1, 2));
        assert_eq!(summary.sections[0].old_id.as_deref(), Some("1111"));
        assert_eq!(summary.paths().len(), 6);
    }
}
