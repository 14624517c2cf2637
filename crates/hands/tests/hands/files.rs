//! Reading, writing, moving and removing files.

use std::os::unix::fs::{FileExt, PermissionsExt, symlink};

use crate::support::ExecutorWorld;
use holon_hands::{ExecutorErrorKind, FileExpectation, FileText, StoredFile, ToolRequest, ToolResponse};

fn read(path: &str, from_line: u64, lines: u64, max_bytes: u64) -> ToolRequest {
    ToolRequest::Read { path: path.to_owned(), from_line, lines, max_bytes }
}

fn text(world: &ExecutorWorld, deed: ToolRequest) -> FileText {
    match world.doing(deed).unwrap() {
        ToolResponse::Text(text) => text,
        other => panic!("{other:?}"),
    }
}

fn store(path: &str, content: &str) -> ToolRequest {
    store_if(path, content, FileExpectation::Any)
}

fn store_if(path: &str, content: &str, expect: FileExpectation) -> ToolRequest {
    ToolRequest::Store { path: path.to_owned(), bytes: content.into(), expect, executable: None }
}

fn stored(world: &ExecutorWorld, deed: ToolRequest) -> StoredFile {
    match world.doing(deed).unwrap() {
        ToolResponse::Stored(stored) => stored,
        other => panic!("{other:?}"),
    }
}

fn load(path: &str, max_bytes: u64) -> ToolRequest {
    ToolRequest::Load { path: path.to_owned(), max_bytes }
}

fn remove(path: &str, recursive: bool) -> ToolRequest {
    ToolRequest::Remove { path: path.to_owned(), recursive }
}

fn rename(from: &str, to: &str) -> ToolRequest {
    ToolRequest::Rename { from: from.to_owned(), to: to.to_owned() }
}

#[test]
fn lines_are_read() {
    let world = ExecutorWorld::new();
    world.write("a.txt", "one\ntwo\nthree\nfour").write("empty", "").write("crlf", "a\r\nb\r\n");
    let check = |deed: ToolRequest, expected: &str, total: u64, cut: bool| {
        let got = text(&world, deed.clone());
        assert_eq!((got.text.as_str(), got.total_lines, got.cut), (expected, Some(total), cut), "{deed:?}");
        assert!(got.sha256.is_some() && !got.binary);
    };
    check(read("a.txt", 1, 100, 1000), "one\ntwo\nthree\nfour", 4, false);
    check(read("a.txt", 0, 100, 1000), "one\ntwo\nthree\nfour", 4, false);
    check(read("a.txt", 2, 2, 1000), "two\nthree\n", 4, true);
    check(read("a.txt", 4, 2, 1000), "four", 4, false);
    check(read("a.txt", 9, 2, 1000), "", 4, false);
    check(read("a.txt", 1, 100, 5), "one\nt", 4, true);
    check(read("a.txt", 1, 0, 5), "", 4, true);
    check(read("./a.txt", 1, 1, 50), "one\n", 4, true);
    check(read("empty", 1, 10, 50), "", 0, false);
    check(read("crlf", 2, 10, 50), "b\r\n", 2, false);
    check(read(world.path("a.txt").to_str().unwrap(), 4, 1, 50), "four", 4, false);
}

#[test]
fn text_is_cut_at_characters_and_made_valid() {
    let world = ExecutorWorld::new();
    world.write("wide", "ü€🦀").write("latin", b"gr\xfcn\n").write("torn", b"\xe2\x82");
    for (most, expected) in [(0, ""), (1, ""), (2, "ü"), (4, "ü"), (5, "ü€"), (8, "ü€"), (9, "ü€🦀")]
    {
        assert_eq!(text(&world, read("wide", 1, 9, most)).text, expected);
    }
    assert_eq!(text(&world, read("latin", 1, 9, 100)).text, "gr\u{fffd}n\n");
    // A replaced byte is longer: the limit holds all the same.
    assert_eq!(text(&world, read("latin", 1, 9, 5)).text, "gr\u{fffd}");
    assert_eq!(text(&world, read("torn", 1, 9, 9)).text, "\u{fffd}");
}

#[test]
fn what_is_no_text_is_said_so() {
    let world = ExecutorWorld::new();
    world.write("image", b"\x89PNG\0\0");
    let got = text(&world, read("image", 1, 10, 100));
    assert!(got.binary && got.text.is_empty() && got.sha256.is_some());
    assert_eq!(got.bytes, 6);
}

#[test]
fn huge_and_endless_files_are_bounded() {
    let world = ExecutorWorld::new();
    let sparse = std::fs::File::create(world.path("sparse")).unwrap();
    sparse.set_len(1 << 30).unwrap();
    let got = text(&world, read("sparse", 1, 10, 100));
    assert!(got.binary && got.sha256.is_none());
    assert_eq!((got.bytes, got.total_lines), (1 << 30, None));
    // Text first, then a gigabyte of nothing: reading stops when there is enough.
    sparse.write_all_at(&b"line\n".repeat(4000), 0).unwrap();
    let got = text(&world, read("sparse", 3, 2, 100));
    assert_eq!((got.text.as_str(), got.total_lines, got.cut), ("line\nline\n", None, true));
    world.refused(
        load("sparse", 1 << 20),
        ExecutorErrorKind::TooLarge,
        &["sparse", "1073741824", "read parts"],
    );
    // A file of the kernel says it is empty.
    let got = text(&world, read("/proc/self/status", 1, 1, 100));
    assert!(got.text.starts_with("Name:") && got.bytes > 0);
}

#[test]
fn nothing_but_plain_files_is_opened() {
    let world = ExecutorWorld::new();
    world.fifo("pipe");
    std::fs::create_dir(world.path("folder")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(world.path("socket")).unwrap();
    symlink("pipe", world.path("link-to-pipe")).unwrap();
    symlink("loop", world.path("loop")).unwrap();
    for (path, word) in [
        ("pipe", "FIFO"),
        ("link-to-pipe", "FIFO"),
        ("socket", "socket"),
        ("folder", "folder"),
        ("/dev/zero", "device"),
    ] {
        world.refused(read(path, 1, 1, 1), ExecutorErrorKind::WrongKind, &[path, word]);
        world.refused(load(path, 1), ExecutorErrorKind::WrongKind, &[path, word]);
    }
    for path in ["pipe", "socket", "folder"] {
        world.refused(store(path, "x"), ExecutorErrorKind::WrongKind, &[path]);
    }
    world.refused(read("loop", 1, 1, 1), ExecutorErrorKind::Invalid, &["loop"]);
    world.refused(
        read("folder/../pipe/x", 1, 1, 1),
        ExecutorErrorKind::WrongKind,
        &["is a file, not a folder"],
    );
    world.refused(read("a\0b", 1, 1, 1), ExecutorErrorKind::Invalid, &["NUL"]);
    world.refused(read(&"x".repeat(300), 1, 1, 1), ExecutorErrorKind::Invalid, &["too long"]);
}

#[test]
fn missing_files_come_with_near_names() {
    let world = ExecutorWorld::new();
    world.write("src/main.rs", "").write("src/lib.rs", "");
    world.refused(read("src/mian.rs", 1, 1, 1), ExecutorErrorKind::NotFound, &["src/mian.rs", "main.rs"]);
    world.refused(load("sr/main.rs", 1), ExecutorErrorKind::NotFound, &["folder does not exist"]);
    world.refused(remove("nothing", false), ExecutorErrorKind::NotFound, &["nothing"]);
    world.refused(rename("nothing", "x"), ExecutorErrorKind::NotFound, &["nothing"]);
}

#[test]
fn whole_files_are_loaded() {
    let world = ExecutorWorld::new();
    world.write("tool", b"\0\xff");
    std::fs::set_permissions(world.path("tool"), PermissionsExt::from_mode(0o755)).unwrap();
    let ToolResponse::Bytes(file) = world.doing(load("tool", 2)).unwrap() else { panic!() };
    assert!(file.bytes == b"\0\xff" && file.executable);
    world.refused(load("tool", 1), ExecutorErrorKind::TooLarge, &["tool", "2 bytes"]);
}

#[test]
fn files_are_stored_with_folders_and_digests() {
    let world = ExecutorWorld::new();
    let first = stored(&world, store("a/b/c.txt", "one"));
    assert_eq!(first.before, None);
    let second = stored(&world, store("a/b/c.txt", "two"));
    assert_eq!(second.before.as_deref(), Some(first.after.as_str()));
    assert_eq!(world.content("a/b/c.txt"), "two");
    let ToolResponse::Bytes(file) = world.doing(load("a/b/c.txt", 10)).unwrap() else { panic!() };
    assert_eq!(file.sha256, second.after);
    // Nothing else is left in the folder.
    assert_eq!(std::fs::read_dir(world.path("a/b")).unwrap().count(), 1);
    world.refused(store("a/b/c.txt/d", "x"), ExecutorErrorKind::WrongKind, &["is a file, not a folder"]);
    world.refused(store("a/b/", "x"), ExecutorErrorKind::Invalid, &["names no file"]);
    world.refused(store("", "x"), ExecutorErrorKind::WrongKind, &["folder"]);
}

#[test]
fn expectations_are_checked() {
    let world = ExecutorWorld::new();
    let first = stored(&world, store_if("f", "1", FileExpectation::Absent));
    world.refused(
        store_if("f", "2", FileExpectation::Absent),
        ExecutorErrorKind::Changed,
        &["exists already"],
    );
    stored(&world, store_if("f", "2", FileExpectation::Sha256(first.after.to_uppercase())));
    let stale = FileExpectation::Sha256(first.after);
    world.refused(
        store_if("f", "3", stale.clone()),
        ExecutorErrorKind::Changed,
        &["changed since it was read"],
    );
    world.refused(store_if("g", "3", stale), ExecutorErrorKind::Changed, &["gone"]);
    assert_eq!(world.content("f"), "2");
    assert!(!world.path("g").exists());
}

#[test]
fn mode_bits_stay_or_are_set() {
    let world = ExecutorWorld::new();
    world.write("script", "1");
    let mode = |name: &str| std::fs::metadata(world.path(name)).unwrap().permissions().mode() & 0o777;
    std::fs::set_permissions(world.path("script"), PermissionsExt::from_mode(0o750)).unwrap();
    stored(&world, store("script", "2"));
    assert_eq!(mode("script"), 0o750);
    let with = |name: &str, executable| ToolRequest::Store {
        path: name.to_owned(),
        bytes: b"3".to_vec(),
        expect: FileExpectation::Any,
        executable: Some(executable),
    };
    stored(&world, with("script", false));
    assert_eq!(mode("script"), 0o640);
    stored(&world, with("new", true));
    assert_eq!(mode("new") & 0o100, 0o100);
}

#[test]
fn links_inside_are_written_through_and_others_are_not() {
    let world = ExecutorWorld::new();
    world.write("real.txt", "1");
    std::fs::write(world.dir.path().join("outside"), "mine").unwrap();
    symlink("real.txt", world.path("link")).unwrap();
    symlink("../outside", world.path("out")).unwrap();
    symlink("nowhere", world.path("dangling")).unwrap();
    stored(&world, store("link", "2"));
    assert!(world.path("link").is_symlink());
    assert_eq!(world.content("real.txt"), "2");
    world.refused(store("out", "x"), ExecutorErrorKind::Denied, &["out of the workspace"]);
    world.refused(store("dangling", "x"), ExecutorErrorKind::NotFound, &["nowhere", "Remove the link"]);
    assert_eq!(std::fs::read_to_string(world.dir.path().join("outside")).unwrap(), "mine");
}

#[test]
fn files_and_folders_are_removed() {
    let world = ExecutorWorld::new();
    world.write("d/e/f", "1").write("g", "1");
    symlink("d", world.path("link")).unwrap();
    world.doing(remove("link/", true)).unwrap();
    assert!(world.path("d/e/f").exists() && !world.path("link").is_symlink());
    world.refused(remove("d", false), ExecutorErrorKind::WrongKind, &["folder", "recursively"]);
    world.doing(remove("d", true)).unwrap();
    world.doing(remove("g", false)).unwrap();
    assert_eq!(std::fs::read_dir(world.path("")).unwrap().count(), 0);
    for path in ["", ".", "..", "/"] {
        world.refused(remove(path, true), ExecutorErrorKind::Invalid, &["workspace itself"]);
    }
}

#[test]
fn nothing_is_replaced_by_moving() {
    let world = ExecutorWorld::new();
    world.write("a", "a").write("b", "b").write("d/x", "x");
    world.refused(rename("a", "b"), ExecutorErrorKind::Changed, &["b exists already"]);
    world.refused(rename("d", "d/e/f"), ExecutorErrorKind::Invalid, &["into itself"]);
    world.refused(rename(".", "x"), ExecutorErrorKind::Invalid, &["workspace itself"]);
    world.doing(rename("a", "new/folder/a")).unwrap();
    world.doing(rename("d", "moved")).unwrap();
    assert_eq!((world.content("new/folder/a"), world.content("moved/x")), ("a".into(), "x".into()));
    assert_eq!(world.content("b"), "b");
    // To another filesystem, if there is one.
    let shm = std::path::Path::new("/dev/shm");
    if shm.is_dir() {
        let far = tempfile::tempdir_in(shm).unwrap();
        let to = far.path().join("tree");
        world.doing(rename("moved", to.to_str().unwrap())).unwrap();
        assert_eq!(std::fs::read_to_string(to.join("x")).unwrap(), "x");
        assert!(!world.path("moved").exists());
    }
}
