//! What a patch does, counted as git counts.

use std::collections::BTreeSet;

use holon_core::patch::{PatchedFile, patched_files};

/// What a patch does, counted as git counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PatchSummary<'a> {
    /// Its files; one that changes its type is in it twice.
    pub(super) sections: Vec<PatchedFile<'a>>,
    /// Lines added.
    pub(super) insertions: u64,
    /// Lines removed.
    pub(super) deletions: u64,
}

impl<'a> PatchSummary<'a> {
    /// Reads a patch.
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        let sections = patched_files(bytes);
        let counts = sections.iter().map(PatchedFile::counts);
        let (insertions, deletions) =
            counts.fold((0, 0), |(added, removed), (more, less)| (added + more, removed + less));
        Self { sections, insertions, deletions }
    }

    /// How many files it changes; a rename counts once, and so does a file that becomes a link.
    pub(super) fn files(&self) -> u64 {
        self.sections.iter().map(PatchedFile::path).collect::<BTreeSet<_>>().len() as u64
    }

    /// Every path it touches.
    pub(super) fn paths(&self) -> BTreeSet<String> {
        self.sections.iter().flat_map(|file| [file.old.clone(), file.new.clone()]).flatten().collect()
    }
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
        assert_eq!(summary.sections[0].old_id, Some(&b"1111"[..]));
        assert_eq!(summary.paths().len(), 6);
    }
}
