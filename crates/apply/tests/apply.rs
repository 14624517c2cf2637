//! Applying to real folders, with people at work in them.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use holon_apply::{
    ApplyOutcome, ApplyPurpose, ApplyRequest, ApplyStore, ChangeEntry, ChangeSet, ConflictReason, Recovery,
    apply, recover, undo_of,
};
use holon_git::{FileMode, Git, PathDigest};

struct ApplyScene {
    temp: tempfile::TempDir,
    /// Where the record is kept, if that is another file system than the workspace's.
    apart: Option<tempfile::TempDir>,
    contents: HashMap<String, Vec<u8>>,
    changes: ChangeSet,
}

impl ApplyScene {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("w")).unwrap();
        Self { temp, apart: None, contents: HashMap::new(), changes: ChangeSet::default() }
    }

    fn workspace(&self) -> PathBuf {
        self.temp.path().join("w")
    }

    fn at(&self, path: &str) -> PathBuf {
        self.workspace().join(path)
    }

    fn store(&self) -> ApplyStore {
        ApplyStore::new(self.applies())
    }

    fn applies(&self) -> PathBuf {
        self.apart.as_ref().unwrap_or(&self.temp).path().join("applies")
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.at(path)).ok()
    }

    /// Adds a path to the change; its base is not written anywhere.
    fn change(mut self, path: &str, base: Option<&str>, result: Option<&str>) -> Self {
        let mut digest = |text: Option<&str>| {
            text.map(|text| {
                let digest = PathDigest::of_bytes(FileMode::Regular, text.as_bytes());
                self.contents.insert(digest.sha256.clone(), text.as_bytes().to_vec());
                digest
            })
        };
        let (base, result) = (digest(base), digest(result));
        self.changes.entries.push(ChangeEntry { path: path.into(), base, result, permissions: None });
        self
    }

    fn apply_with(&self, has_writer: &(dyn Fn(&File) -> Option<bool> + Sync)) -> ApplyOutcome {
        let conflicts = self.temp.path().join("conflicts");
        apply(&ApplyRequest {
            changes: &self.changes,
            contents: &|sha256| Ok(self.contents.get(sha256).cloned()),
            workspace: &self.workspace(),
            store: &self.store(),
            purpose: ApplyPurpose::Apply,
            label: Some("run"),
            git: &Git::find,
            conflicts: Some(&conflicts),
            has_writer,
        })
        .unwrap()
    }

    fn apply(&self) -> ApplyOutcome {
        self.apply_with(&|_| None)
    }

    fn undo(&self) -> Option<ApplyOutcome> {
        let undoable = undo_of(&self.store(), "run").unwrap()?;
        let read = |sha256: &str| Ok(undoable.read(sha256)?.or_else(|| self.contents.get(sha256).cloned()));
        let outcome = apply(&ApplyRequest {
            changes: &undoable.changes,
            contents: &read,
            workspace: &undoable.workspace,
            store: &self.store(),
            purpose: ApplyPurpose::Undo,
            label: Some("run"),
            git: &Git::find,
            conflicts: None,
            has_writer: &|_| None,
        })
        .unwrap();
        if !matches!(outcome, ApplyOutcome::Refused { .. }) {
            undoable.mark_undone().unwrap();
        }
        Some(outcome)
    }
}

fn conflicts(outcome: &ApplyOutcome) -> Vec<(String, ConflictReason)> {
    let ApplyOutcome::Refused { conflicts } = outcome else { panic!("{outcome:?}") };
    conflicts.iter().map(|c| (c.path.display().to_string(), c.why)).collect()
}

/// Every file below a folder with its text and permissions.
fn tree(dir: &Path) -> Vec<(PathBuf, String, u32)> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let text = match () {
                () if meta.is_dir() => {
                    folders.push(path.clone());
                    "folder".to_owned()
                }
                () if meta.is_symlink() => fs::read_link(&path).unwrap().display().to_string(),
                () => fs::read_to_string(&path).unwrap(),
            };
            let mode = if meta.is_symlink() { 0 } else { meta.permissions().mode() & 0o777 };
            found.push((path.strip_prefix(dir).unwrap().to_owned(), text, mode));
        }
    }
    found.sort();
    found
}

#[test]
fn a_new_file_has_the_attributes_of_the_one_it_replaces() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    // Few files and many take different ways.
    for count in [1, 200] {
        let mut scene = ApplyScene::new();
        for number in 0..count {
            let path = format!("folder/file{number}");
            scene.write(&path, "old\n");
            scene = scene.change(&path, Some("old\n"), Some("new\n"));
        }
        let (with, without) = (format!("folder/file{}", count - 1), "folder/file0");
        if setxattr(scene.at(&with), "user.origin", b"here", XattrFlags::empty()).is_err() {
            // The temporary folder's file system knows no such attributes.
            return;
        }
        assert!(matches!(scene.apply(), ApplyOutcome::Applied { .. }));
        assert_eq!(scene.read(&with).as_deref(), Some("new\n"));
        let mut value = [0; 16];
        assert_eq!(getxattr(scene.at(&with), "user.origin", &mut value[..]), Ok(4));
        assert_eq!(&value[..4], b"here");
        if count > 1 {
            assert!(getxattr(scene.at(without), "user.origin", &mut value[..]).is_err());
        }
    }
}

#[test]
fn files_are_changed_added_and_removed_and_all_comes_back() {
    let scene = ApplyScene::new()
        .change("a", Some("a\n"), Some("A\n"))
        .change("sub/gone", Some("g\n"), None)
        .change("made/deep/new", None, Some("n\n"))
        .change("x", Some("x\n"), None)
        .change("x/inside", None, Some("i\n"))
        .change("dir/one", Some("1\n"), None)
        .change("dir", None, Some("a file now\n"));
    for (path, text) in
        [("a", "a\n"), ("sub/gone", "g\n"), ("x", "x\n"), ("dir/one", "1\n"), ("other", "o\n")]
    {
        scene.write(path, text);
    }
    fs::set_permissions(scene.at("sub/gone"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(scene.at("a"), fs::Permissions::from_mode(0o640)).unwrap();
    let before = tree(&scene.workspace());
    let outcome = scene.apply();
    assert!(matches!(&outcome, ApplyOutcome::Applied { paths, .. } if paths.len() == 7), "{outcome:?}");
    assert_eq!(scene.read("a").as_deref(), Some("A\n"));
    assert_eq!(fs::metadata(scene.at("a")).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(!scene.at("sub").exists(), "an emptied folder goes");
    assert_eq!(scene.read("made/deep/new").as_deref(), Some("n\n"));
    assert_eq!(scene.read("x/inside").as_deref(), Some("i\n"));
    assert_eq!(scene.read("dir").as_deref(), Some("a file now\n"));
    assert_eq!(scene.apply(), ApplyOutcome::AlreadyThere);
    assert!(matches!(scene.undo(), Some(ApplyOutcome::Applied { .. })));
    assert_eq!(tree(&scene.workspace()), before);
    assert!(scene.undo().is_none(), "once");
    assert!(matches!(scene.apply(), ApplyOutcome::Applied { .. }), "and in again");
}

#[test]
fn what_a_person_did_since_is_merged_or_kept() {
    const OLD: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let new = OLD.replace("9\n", "nine\n");
    let scene = ApplyScene::new().change("f", Some(OLD), Some(&new)).change("new", None, Some("n\n"));
    scene.write("f", &OLD.replace("1\n", "one\n"));
    let outcome = scene.apply();
    assert!(
        matches!(&outcome, ApplyOutcome::Merged { merged, .. } if merged == &[PathBuf::from("f")]),
        "{outcome:?}"
    );
    assert_eq!(scene.read("f").unwrap(), new.replace("1\n", "one\n"));
    // And the way back keeps what came later, too.
    scene.write("f", &new.replace("1\n", "one\n").replace("5\n", "five\n"));
    assert!(matches!(scene.undo(), Some(ApplyOutcome::Merged { .. })));
    assert_eq!(scene.read("f").unwrap(), OLD.replace("1\n", "one\n").replace("5\n", "five\n"));
}

#[test]
fn where_both_meet_nothing_is_touched_and_both_versions_are_there() {
    let check = |now: Option<&str>, base: Option<&str>, result: Option<&str>, why: ConflictReason| {
        let scene = ApplyScene::new().change("free", None, Some("n\n")).change("f", base, result);
        if let Some(now) = now {
            scene.write("f", now);
        }
        let before = tree(&scene.workspace());
        let outcome = scene.apply();
        assert_eq!(conflicts(&outcome), [("f".to_owned(), why)]);
        assert_eq!(tree(&scene.workspace()), before);
        if let Some(result) = result {
            let ApplyOutcome::Refused { conflicts } = outcome else { unreachable!() };
            assert_eq!(fs::read_to_string(conflicts[0].kept.as_ref().unwrap()).unwrap(), result);
        }
    };
    check(Some("mine\n"), Some("1\n"), Some("theirs\n"), ConflictReason::Overlap);
    check(Some("mine\n"), Some("1\n"), None, ConflictReason::ChangedHere);
    check(None, Some("1\n"), Some("theirs\n"), ConflictReason::RemovedHere);
    check(Some("mine\n"), None, Some("theirs\n"), ConflictReason::BothAdded);
    check(Some("\0mine"), Some("\0old"), Some("\0theirs"), ConflictReason::NotText);
}

#[test]
fn a_file_in_the_way_of_a_folder_and_a_link_in_the_way_of_a_path_are_conflicts() {
    let scene = ApplyScene::new().change("x/new", None, Some("n\n"));
    scene.write("x", "in the way\n");
    assert_eq!(conflicts(&scene.apply()), [("x/new".to_owned(), ConflictReason::InTheWay)]);
    let scene = ApplyScene::new().change("link/new", None, Some("n\n"));
    fs::create_dir(scene.at("real")).unwrap();
    symlink("real", scene.at("link")).unwrap();
    assert_eq!(conflicts(&scene.apply()), [("link/new".to_owned(), ConflictReason::InTheWay)]);
    assert!(!scene.at("real/new").exists());
    let scene = ApplyScene::new().change("d", None, Some("n\n"));
    scene.write("d/mine", "m\n");
    assert_eq!(conflicts(&scene.apply()), [("d".to_owned(), ConflictReason::InTheWay)]);
}

#[test]
fn an_edit_saved_in_the_moment_of_the_swap_is_noticed_and_merged() {
    const OLD: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let new = OLD.replace("9\n", "nine\n");
    let scene = ApplyScene::new().change("f", Some(OLD), Some(&new)).change("g", Some("g\n"), Some("G\n"));
    scene.write("f", OLD);
    scene.write("g", "g\n");
    // Asked between the swap and the comparison: the file that came out is still open in somebody's editor.
    let edited = AtomicBool::new(false);
    let kept = scene.temp.path().join("applies/open");
    let outcome = scene.apply_with(&|_| {
        if !edited.swap(true, Ordering::SeqCst) {
            let slots = fs::read_dir(&kept).unwrap().next().unwrap().unwrap().path().join("slots");
            fs::write(slots.join("0"), OLD.replace("1\n", "one\n")).unwrap();
        }
        Some(false)
    });
    assert!(matches!(outcome, ApplyOutcome::Merged { .. }), "{outcome:?}");
    assert_eq!(scene.read("f").unwrap(), new.replace("1\n", "one\n"));
    assert_eq!(scene.read("g").unwrap(), "G\n");
}

#[test]
fn a_file_that_somebody_keeps_open_for_writing_is_left_alone() {
    let scene =
        ApplyScene::new().change("a", Some("a\n"), Some("A\n")).change("log", Some("l\n"), Some("L\n"));
    scene.write("a", "a\n");
    scene.write("log", "l\n");
    let before = tree(&scene.workspace());
    let log = fs::metadata(scene.at("log")).unwrap();
    let outcome = scene.apply_with(&|file| {
        use std::os::unix::fs::MetadataExt;
        Some(file.metadata().unwrap().ino() == log.ino())
    });
    assert_eq!(conflicts(&outcome), [("log".to_owned(), ConflictReason::InUse)]);
    assert_eq!(tree(&scene.workspace()), before);
}

#[test]
fn a_folder_that_cannot_be_written_changes_nothing() {
    if rustix::process::geteuid().is_root() {
        // Root may write everywhere; the end-to-end tests run this as an ordinary user.
        return;
    }
    let scene = ApplyScene::new().change("a", Some("a\n"), Some("A\n")).change("shut/new", None, Some("n\n"));
    scene.write("a", "a\n");
    fs::create_dir(scene.at("shut")).unwrap();
    fs::set_permissions(scene.at("shut"), fs::Permissions::from_mode(0o555)).unwrap();
    let outcome = scene.apply();
    fs::set_permissions(scene.at("shut"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(conflicts(&outcome)[0].1, ConflictReason::Unwritten);
    assert_eq!(scene.read("a").unwrap(), "a\n");
}

#[test]
fn several_at_once_take_turns() {
    let mut scene = ApplyScene::new();
    for number in 0..40 {
        scene = scene.change(&format!("d{number}/new"), None, Some("n\n"));
    }
    let scene = &scene;
    let outcomes: Vec<ApplyOutcome> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| scene.apply())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let count =
        |wanted: &dyn Fn(&ApplyOutcome) -> bool| outcomes.iter().filter(|outcome| wanted(outcome)).count();
    assert_eq!(count(&|outcome| matches!(outcome, ApplyOutcome::Applied { .. })), 1, "{outcomes:?}");
    assert_eq!(count(&|outcome| *outcome == ApplyOutcome::AlreadyThere), 7, "{outcomes:?}");
}

/// Dies at the nth thing that is asked between a swap and its comparison, as if the process had been killed there.
#[test]
fn whatever_dies_in_the_middle_is_taken_back_by_the_next() {
    for dies_at in 0..3 {
        let scene = ApplyScene::new()
            .change("a", Some("a\n"), Some("A\n"))
            .change("b", Some("b\n"), Some("B\n"))
            .change("c", Some("c\n"), None)
            .change("deep/new", None, Some("n\n"));
        for name in ["a", "b", "c"] {
            scene.write(name, &format!("{name}\n"));
        }
        let before = tree(&scene.workspace());
        let asked = AtomicUsize::new(0);
        let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            scene.apply_with(&|_| {
                assert!(asked.fetch_add(1, Ordering::SeqCst) < dies_at, "killed here");
                None
            })
        }));
        assert!(died.is_err());
        assert_ne!(tree(&scene.workspace()), before, "it was in the middle");
        let recovered = recover(&scene.store(), &|_| None);
        assert_eq!(recovered.len(), 1);
        assert_eq!(recovered[0].recovery, Recovery::RolledBack);
        assert_eq!(tree(&scene.workspace()), before);
        assert!(recover(&scene.store(), &|_| None).is_empty());
        assert!(matches!(scene.apply(), ApplyOutcome::Applied { .. }));
    }
}

#[test]
fn an_edit_made_after_a_kill_is_left_and_what_it_replaced_is_named() {
    let scene = ApplyScene::new().change("a", Some("a\n"), Some("A\n")).change("b", Some("b\n"), Some("B\n"));
    scene.write("a", "a\n");
    scene.write("b", "b\n");
    let died =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| scene.apply_with(&|_| panic!("killed"))));
    assert!(died.is_err());
    scene.write("a", "A, and mine\n");
    let recovered = recover(&scene.store(), &|_| None);
    let Recovery::RolledBackExcept(conflicts) = &recovered[0].recovery else { panic!("{recovered:?}") };
    assert_eq!(scene.read("a").unwrap(), "A, and mine\n");
    assert_eq!(scene.read("b").unwrap(), "b\n");
    assert_eq!(conflicts[0].path, Path::new("a"));
    assert_eq!(fs::read_to_string(conflicts[0].kept.as_ref().unwrap()).unwrap(), "a\n");
}

/// The only file of a folder goes: across file systems it waits beside where it was, and the folder goes after it.
#[test]
fn what_is_cut_off_at_its_very_end_is_finished_also_across_file_systems() {
    for apart in [false, true] {
        let mut scene =
            ApplyScene::new().change("deep/only", Some("x\n"), None).change("a", Some("a\n"), Some("A\n"));
        scene.apart = apart.then(|| tempfile::tempdir_in("/dev/shm").unwrap());
        scene.write("deep/only", "x\n");
        scene.write("a", "a\n");
        assert!(matches!(scene.apply(), ApplyOutcome::Applied { .. }));
        let after = tree(&scene.workspace());
        assert!(!scene.at("deep").exists(), "no empty folder stays");
        // As if it had died right before it was over.
        let done = fs::read_dir(scene.applies().join("done")).unwrap().next().unwrap().unwrap();
        fs::rename(done.path(), scene.applies().join("open").join(done.file_name())).unwrap();
        let recovered = recover(&scene.store(), &|_| None);
        assert_eq!(recovered[0].recovery, Recovery::Finished, "apart: {apart}");
        assert_eq!(tree(&scene.workspace()), after);
        assert!(matches!(scene.undo(), Some(ApplyOutcome::Applied { .. })));
        assert_eq!(scene.read("deep/only").as_deref(), Some("x\n"));
    }
}

/// A change of so many files, all of them there.
fn many(count: usize) -> ApplyScene {
    let names: Vec<String> = (0..count).map(|number| format!("d{}/f{number}", number % 7)).collect();
    let scene =
        names.iter().fold(ApplyScene::new(), |scene, name| scene.change(name, Some("old\n"), Some("new\n")));
    names.iter().for_each(|name| scene.write(name, "old\n"));
    scene
}

#[test]
fn many_files_are_all_there_or_all_as_before_wherever_it_dies() {
    let scene = many(300);
    let before = tree(&scene.workspace());
    for dies_at in [0, 1, 150, 299] {
        let asked = AtomicUsize::new(0);
        let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            scene.apply_with(&|_| {
                assert!(asked.fetch_add(1, Ordering::SeqCst) != dies_at, "killed here");
                None
            })
        }));
        assert!(died.is_err());
        let recovered = recover(&scene.store(), &|_| None);
        assert!(matches!(recovered[0].recovery, Recovery::RolledBack | Recovery::Finished), "{recovered:?}");
        if recovered[0].recovery == Recovery::Finished {
            assert!(matches!(scene.undo(), Some(ApplyOutcome::Applied { .. })));
        }
        assert_eq!(tree(&scene.workspace()), before);
    }
    assert!(matches!(scene.apply(), ApplyOutcome::Applied { .. }));
    assert!(
        scene
            .changes
            .entries
            .iter()
            .all(|entry| fs::read(scene.workspace().join(&entry.path)).unwrap() == b"new\n")
    );
}

/// The machine went down before a new file was on the disk: nobody is told that all is well.
#[test]
fn a_new_file_that_did_not_reach_the_disk_is_told() {
    for went_down in [true, false] {
        let scene =
            ApplyScene::new().change("a", Some("a\n"), Some("A\n")).change("b", Some("b\n"), Some("B\n"));
        scene.write("a", "a\n");
        scene.write("b", "b\n");
        // Both are swapped when the last one is looked at.
        let asked = AtomicUsize::new(0);
        let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            scene.apply_with(&|_| {
                assert!(asked.fetch_add(1, Ordering::SeqCst) == 0, "killed here");
                None
            })
        }));
        assert!(died.is_err());
        let open = fs::read_dir(scene.temp.path().join("applies/open")).unwrap().next().unwrap().unwrap();
        let journal = open.path().join("journal.json");
        if went_down {
            let text = fs::read_to_string(&journal).unwrap();
            let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert!(value["boot"].is_string());
            value["boot"] = "another start".into();
            fs::write(&journal, value.to_string()).unwrap();
        }
        File::create(scene.at("a")).unwrap();
        let recovered = recover(&scene.store(), &|_| None);
        if !went_down {
            // Whoever emptied it did so on purpose.
            assert_eq!(recovered[0].recovery, Recovery::Finished);
            continue;
        }
        let Recovery::RolledBackExcept(conflicts) = &recovered[0].recovery else { panic!("{recovered:?}") };
        assert_eq!(conflicts[0].path, Path::new("a"));
        assert_eq!(fs::read_to_string(conflicts[0].kept.as_ref().unwrap()).unwrap(), "a\n");
        assert_eq!(scene.read("b").unwrap(), "b\n");
    }
}

/// Says that one file, and no other, is being written.
fn only(writer: &File) -> impl Fn(&File) -> Option<bool> + use<> {
    use std::os::unix::fs::MetadataExt;
    let inode = writer.metadata().unwrap().ino();
    move |file| Some(file.metadata().unwrap().ino() == inode)
}

#[test]
fn a_new_file_that_somebody_writes_to_does_not_go_back() {
    for base in [Some("a\n"), None] {
        let scene = ApplyScene::new()
            .change("a", base, Some("A\n"))
            .change("b", Some("b\n"), Some("B\n"))
            .change("z", None, Some("Z\n"));
        if let Some(base) = base {
            scene.write("a", base);
        }
        scene.write("b", "b\n");
        let outcome = scene.apply_with(&|file| {
            // A person makes a file where the last one shall go, so that all others have to go back.
            scene.write("z", "mine\n");
            let mut text = [0; 2];
            std::os::unix::fs::FileExt::read_exact_at(file, &mut text, 0).unwrap();
            Some(text == *b"A\n")
        });
        let ApplyOutcome::Refused { conflicts } = outcome else { panic!("{outcome:?}") };
        assert_eq!(conflicts[0].path, Path::new("a"));
        let kept = conflicts[0].kept.as_ref().map(|kept| fs::read_to_string(kept).unwrap());
        assert_eq!(kept.as_deref(), base);
        let now = ["a", "b", "z"].map(|name| scene.read(name).unwrap());
        assert_eq!(now, ["A\n", "b\n", "mine\n"]);
    }
}

#[test]
fn an_old_file_that_is_still_being_written_goes_back_after_a_kill() {
    let scene = ApplyScene::new().change("a", Some("a\n"), Some("A\n"));
    scene.write("a", "a\n");
    let mut writer = File::options().append(true).open(scene.at("a")).unwrap();
    let died =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| scene.apply_with(&|_| panic!("killed"))));
    assert!(died.is_err());
    let recovered = recover(&scene.store(), &only(&writer));
    assert_eq!(recovered[0].recovery, Recovery::RolledBack);
    std::io::Write::write_all(&mut writer, b"mine\n").unwrap();
    assert_eq!(scene.read("a").unwrap(), "a\nmine\n");
}

#[test]
fn paths_that_lead_elsewhere_are_an_error() {
    for path in ["../out", "/etc/x", ".git/config", "a/.GIT/x"] {
        let scene = ApplyScene::new().change(path, None, Some("x"));
        let conflicts = scene.temp.path().join("conflicts");
        let done = apply(&ApplyRequest {
            changes: &scene.changes,
            contents: &|sha256| Ok(scene.contents.get(sha256).cloned()),
            workspace: &scene.workspace(),
            store: &scene.store(),
            purpose: ApplyPurpose::Apply,
            label: None,
            git: &Git::find,
            conflicts: Some(&conflicts),
            has_writer: &|_| None,
        });
        assert!(done.is_err(), "{path}");
    }
}

/// Whether this very process has a file open for writing, wherever the file is.
fn is_open_here(file: &File) -> Option<bool> {
    use std::os::unix::fs::MetadataExt;
    let id = |meta: &fs::Metadata| (meta.dev(), meta.ino());
    let own = id(&file.metadata().ok()?);
    let writes = |number: &std::ffi::OsStr| {
        let told = fs::read_to_string(Path::new("/proc/self/fdinfo").join(number)).unwrap_or_default();
        let flags = told.lines().find_map(|line| line.strip_prefix("flags:")).unwrap_or_default();
        flags.trim().chars().last().is_some_and(|mode| mode != '0')
    };
    let open = fs::read_dir("/proc/self/fd").ok()?.flatten();
    let same = |path: PathBuf| fs::metadata(path).is_ok_and(|meta| id(&meta) == own);
    Some(open.into_iter().any(|entry| writes(&entry.file_name()) && same(entry.path())))
}

fn files(count: usize) -> ApplyScene {
    let mut scene = ApplyScene::new();
    for number in 0..count {
        let path = format!("f{number:03}");
        scene.write(&path, "old\n");
        scene = scene.change(&path, Some("old\n"), Some("new\n"));
    }
    scene
}

#[test]
fn an_apply_never_takes_itself_for_somebody_who_writes() {
    // Few files reach the disk one by one, many together.
    for count in [2, 16, 17, 100] {
        let scene = files(count);
        let last = format!("f{:03}", count - 1);
        let before = tree(&scene.workspace());
        let writer = File::options().append(true).open(scene.at(&last)).unwrap();
        let outcome = scene.apply_with(&is_open_here);
        assert_eq!(conflicts(&outcome), [(last, ConflictReason::InUse)], "{count} files");
        assert_eq!(tree(&scene.workspace()), before, "{count} files");
        drop(writer);
        let outcome = scene.apply_with(&is_open_here);
        assert!(matches!(&outcome, ApplyOutcome::Applied { unwatched: None, .. }), "{outcome:?}");
    }
}

#[test]
fn where_nobody_can_tell_who_writes_the_old_files_are_named() {
    let scene = files(1);
    let mut writer = File::options().append(true).open(scene.at("f000")).unwrap();
    let ApplyOutcome::Applied { unwatched: Some(folder), .. } = scene.apply_with(&|_| None) else { panic!() };
    std::io::Write::write_all(&mut writer, b"late\n").unwrap();
    assert_eq!(fs::read_to_string(folder.join("0")).unwrap(), "old\nlate\n");
}

#[test]
fn permissions_that_change_meanwhile_stay() {
    let scene = files(3);
    let outcome = apply(&ApplyRequest {
        changes: &scene.changes,
        // All was planned by now, and nothing is swapped yet.
        contents: &|sha256| {
            fs::set_permissions(scene.at("f001"), fs::Permissions::from_mode(0o600)).unwrap();
            Ok(scene.contents.get(sha256).cloned())
        },
        workspace: &scene.workspace(),
        store: &scene.store(),
        purpose: ApplyPurpose::Apply,
        label: Some("run"),
        git: &Git::find,
        conflicts: None,
        has_writer: &is_open_here,
    });
    assert!(matches!(outcome.unwrap(), ApplyOutcome::Applied { .. }));
    assert_eq!(scene.read("f001").as_deref(), Some("new\n"));
    assert_eq!(fs::metadata(scene.at("f001")).unwrap().permissions().mode() & 0o777, 0o600);
}

/// Between a swap and its way back a path has a version without what was saved since, and somebody may read it: `git stash`
/// would keep that one and throw the other away. So what was saved in time is not swapped at all.
#[test]
fn inv_16_what_was_saved_after_planning_is_not_taken_out_for_a_moment() {
    let scene = ApplyScene::new().change("a", Some("1\n2\n3\n"), Some("1\n2\n3\nagent\n"));
    scene.write("a", "1\n2\n3\n");
    let before = fs::metadata(scene.at("a")).unwrap().ino();
    let (saved, taken_out) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let outcome = apply(&ApplyRequest {
        changes: &scene.changes,
        // All was planned by now, and nothing is swapped yet.
        contents: &|sha256| {
            if saved.fetch_add(1, Ordering::SeqCst) == 0 {
                fs::write(scene.at("a"), "person\n1\n2\n3\n").unwrap();
                assert_eq!(fs::metadata(scene.at("a")).unwrap().ino(), before);
            }
            Ok(scene.contents.get(sha256).cloned())
        },
        workspace: &scene.workspace(),
        store: &scene.store(),
        purpose: ApplyPurpose::Apply,
        label: Some("run"),
        git: &Git::find,
        conflicts: None,
        // Asked once for each file that came out.
        has_writer: &|_| {
            taken_out.fetch_add(1, Ordering::SeqCst);
            Some(false)
        },
    });
    assert!(matches!(outcome.unwrap(), ApplyOutcome::Merged { .. }));
    assert_eq!(scene.read("a").as_deref(), Some("person\n1\n2\n3\nagent\n"));
    assert_eq!(taken_out.load(Ordering::SeqCst), 1);
}

#[test]
fn a_folder_gives_way_to_a_file_and_comes_back_also_across_file_systems() {
    for apart in [false, true] {
        let mut scene = ApplyScene::new().change("d/a", Some("a\n"), None).change("d/e/b", Some("b\n"), None);
        scene = scene.change("d", None, Some("file\n"));
        scene.apart = apart.then(|| tempfile::tempdir_in("/dev/shm").unwrap());
        scene.write("d/a", "a\n");
        scene.write("d/e/b", "b\n");
        let before = tree(&scene.workspace());
        let outcome = scene.apply_with(&is_open_here);
        assert!(matches!(outcome, ApplyOutcome::Applied { .. }), "apart: {apart}: {outcome:?}");
        assert_eq!(scene.read("d").as_deref(), Some("file\n"));
        assert!(matches!(scene.undo(), Some(ApplyOutcome::Applied { .. })), "apart: {apart}");
        assert_eq!(tree(&scene.workspace()), before, "apart: {apart}");
    }
}

#[test]
fn what_was_applied_twice_is_taken_back_one_after_the_other() {
    let scene = files(3);
    let before = tree(&scene.workspace());
    assert!(matches!(scene.apply(), ApplyOutcome::Applied { .. }));
    scene.write("f000", "old\n");
    assert!(matches!(scene.apply(), ApplyOutcome::Applied { .. }));
    assert!(matches!(scene.undo(), Some(ApplyOutcome::Applied { .. })));
    assert!(matches!(scene.undo(), Some(ApplyOutcome::Applied { .. })));
    assert_eq!(tree(&scene.workspace()), before);
    assert!(scene.undo().is_none());
}

#[test]
fn what_a_folder_gives_to_new_files_is_not_given_to_those_that_were_there() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    let scene = files(2);
    // Version 2, then tag, permissions and id: the owner, user 1234, the group, the mask, others.
    let entries: [(u16, u16, u32); 5] =
        [(0x01, 7, u32::MAX), (0x02, 7, 1234), (0x04, 5, u32::MAX), (0x10, 7, u32::MAX), (0x20, 4, u32::MAX)];
    let mut list = 2u32.to_le_bytes().to_vec();
    for (tag, may, id) in entries {
        list.extend(tag.to_le_bytes().into_iter().chain(may.to_le_bytes()).chain(id.to_le_bytes()));
    }
    if setxattr(scene.workspace(), "system.posix_acl_default", &list, XattrFlags::empty()).is_err() {
        // The temporary folder's file system knows no access lists.
        return;
    }
    let before = tree(&scene.workspace());
    assert!(matches!(scene.apply(), ApplyOutcome::Applied { .. }));
    let modes = |tree: Vec<(PathBuf, String, u32)>| tree.into_iter().map(|(path, _, mode)| (path, mode));
    assert!(modes(tree(&scene.workspace())).eq(modes(before)));
    let mut value = [0; 256];
    assert!(getxattr(scene.at("f000"), "system.posix_acl_access", &mut value[..]).is_err());
}

#[test]
fn a_folder_that_somebody_moves_meanwhile_is_told_and_nothing_of_it_is_lost() {
    for apart in [false, true] {
        let mut scene = ApplyScene::new().change("d/a", Some("a\n"), Some("new\n"));
        scene = scene.change("z", Some("z\n"), Some("new\n"));
        scene.apart = apart.then(|| tempfile::tempdir_in("/dev/shm").unwrap());
        scene.write("d/a", "a\n");
        scene.write("z", "z\n");
        // The first one is swapped by then; the second one is being written.
        let outcome = scene.apply_with(&|file| {
            let _ = fs::rename(scene.at("d"), scene.at("e"));
            let mut text = String::new();
            std::io::Read::read_to_string(&mut file.try_clone().unwrap(), &mut text).unwrap();
            std::io::Seek::rewind(&mut file.try_clone().unwrap()).unwrap();
            Some(text == "z\n")
        });
        let ApplyOutcome::Refused { conflicts } = &outcome else { panic!("apart: {apart}: {outcome:?}") };
        let moved = conflicts.iter().find(|conflict| conflict.path == Path::new("d/a")).unwrap();
        assert_eq!(moved.why, ConflictReason::MovedAway, "apart: {apart}");
        assert_eq!(scene.read("z").as_deref(), Some("z\n"), "apart: {apart}");
        let before = match moved.detail.as_str() {
            "" => scene.at("d/a"),
            name => scene.at("e").join(name),
        };
        assert_eq!(fs::read_to_string(before).unwrap(), "a\n", "apart: {apart}");
        assert_eq!(apart, !moved.detail.is_empty());
    }
}
