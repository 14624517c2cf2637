//! Listing, globbing and searching.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use crate::support::ExecutorWorld;
use holon_hands::{EntryKind, ExecutorErrorKind, SearchMatches, SearchRequest, ToolRequest};
use proptest::prelude::*;

fn list(path: &str, depth: u32, limit: u64, all: bool) -> ToolRequest {
    ToolRequest::List { path: path.to_owned(), depth, limit, all }
}

fn glob(pattern: &str, path: &str, limit: u64, all: bool) -> ToolRequest {
    ToolRequest::Glob { pattern: pattern.to_owned(), path: path.to_owned(), limit, all }
}

fn search(pattern: &str) -> SearchRequest {
    SearchRequest { pattern: pattern.to_owned(), limit: 100, ..SearchRequest::default() }
}

fn paths(world: &ExecutorWorld, deed: ToolRequest) -> Vec<String> {
    world.listing(deed).entries.into_iter().map(|entry| entry.path).collect()
}

fn lines(found: &SearchMatches) -> Vec<String> {
    let shown = |hit: &holon_hands::SearchHit| {
        format!("{}{}{}: {}", hit.path, if hit.around { '-' } else { ':' }, hit.line, hit.text)
    };
    found.hits.iter().map(shown).collect()
}

fn project() -> ExecutorWorld {
    let world = ExecutorWorld::new();
    world
        .write(".gitignore", "target/\n*.log\n!keep.log\n")
        .write(".env", "SECRET=needle\n")
        .write("a-b.rs", "needle in a-b\n")
        .write("a/b.rs", "first\nneedle in b\nlast\n")
        .write("a/sub/.gitignore", "private.*\n")
        .write("a/sub/private.txt", "needle\n")
        .write("a/sub/public.txt", "Needle\n")
        .write("build.log", "needle\n")
        .write("keep.log", "needle kept\n")
        .write("target/out.rs", "needle\n")
        .write(".git/config", "needle\n")
        .write("binary", b"needle\n\0");
    world
}

#[test]
fn folders_are_listed_in_order() {
    let world = project();
    assert_eq!(paths(&world, list("", 1, 100, false)), ["a-b.rs", "a", "binary", "keep.log"]);
    assert_eq!(
        paths(&world, list(".", 3, 100, false)),
        ["a-b.rs", "a", "a/b.rs", "a/sub", "a/sub/public.txt", "binary", "keep.log"]
    );
    let all = paths(&world, list("", 2, 100, true));
    for path in [".env", ".git", "target", "target/out.rs", "build.log"] {
        assert!(all.iter().any(|found| found == path), "{path} is missing in {all:?}");
    }
    assert!(!all.contains(&".git/config".to_owned()));
    assert_eq!(paths(&world, list(".git", 1, 100, true)), [".git/config"]);
    assert_eq!(paths(&world, list("a/sub", 1, 100, false)), ["a/sub/public.txt"]);
    let cut = world.listing(list("", 3, 2, false));
    assert!(cut.cut && cut.entries.len() == 2);
    assert_eq!(cut.entries[0].bytes, 14);
    assert_eq!(cut.entries[1].kind, EntryKind::Folder);
    world.refused(list("a-b.rs", 1, 1, false), ExecutorErrorKind::WrongKind, &["a-b.rs is no folder"]);
    world.refused(list("nowhere", 1, 1, false), ExecutorErrorKind::NotFound, &["nowhere"]);
}

#[test]
fn files_are_found_by_glob() {
    let world = project();
    assert_eq!(paths(&world, glob("**/*.rs", "", 100, false)), ["a-b.rs", "a/b.rs"]);
    assert_eq!(paths(&world, glob("*.rs", "", 100, false)), ["a-b.rs"]);
    assert_eq!(paths(&world, glob("./a/*.{rs,py}", "", 100, false)), ["a/b.rs"]);
    assert_eq!(paths(&world, glob("**/*.rs", "", 100, true)), ["a-b.rs", "a/b.rs", "target/out.rs"]);
    assert_eq!(paths(&world, glob("**/*", "a", 100, false)), ["a/b.rs", "a/sub/public.txt"]);
    let absolute = world.path("a/*.rs");
    assert_eq!(paths(&world, glob(absolute.to_str().unwrap(), "", 100, false)), ["a/b.rs"]);
    let cut = world.listing(glob("**/*", "", 1, false));
    assert!(cut.cut && cut.entries.len() == 1);
    world.refused(glob("[", "", 1, false), ExecutorErrorKind::Invalid, &["`[`", "makes no sense"]);
    world.refused(glob("/elsewhere/*", "", 1, false), ExecutorErrorKind::Invalid, &["absolute"]);
    world.refused(glob("", "", 1, false), ExecutorErrorKind::Invalid, &["empty"]);
}

#[test]
fn lines_are_found_in_order() {
    let world = project();
    let found = world.grep(search("needle"));
    assert_eq!(
        lines(&found),
        ["a-b.rs:1: needle in a-b", "a/b.rs:2: needle in b", "keep.log:1: needle kept"]
    );
    assert_eq!((found.cut, found.searched), (false, 5));
    let found =
        world.grep(SearchRequest { ignore_case: true, path: "a".to_owned(), context: 1, ..search("NEEDLE") });
    assert_eq!(
        lines(&found),
        ["a/b.rs-1: first", "a/b.rs:2: needle in b", "a/b.rs-3: last", "a/sub/public.txt:1: Needle"]
    );
    let found =
        world.grep(SearchRequest { names_only: true, glob: Some("*.rs".to_owned()), ..search("needle") });
    assert_eq!(lines(&found), ["a-b.rs:0: ", "a/b.rs:0: "]);
    let found = world.grep(SearchRequest { all: true, glob: Some("a/**".to_owned()), ..search("^needle$") });
    assert_eq!(lines(&found), ["a/sub/private.txt:1: needle"]);
    let found = world.grep(SearchRequest { path: "a/b.rs".to_owned(), ..search("l.st") });
    assert_eq!(lines(&found), ["a/b.rs:3: last"]);
    let found = world.grep(SearchRequest { all: true, ..search("SECRET") });
    assert_eq!(lines(&found), [".env:1: SECRET=needle"]);
}

#[test]
fn bad_patterns_are_explained() {
    let world = project();
    world.refused(
        ToolRequest::Grep(search("foo(")),
        ExecutorErrorKind::Invalid,
        &["foo(", "unclosed group", "literal"],
    );
    world.refused(ToolRequest::Grep(search("a\nb")), ExecutorErrorKind::Invalid, &["line break"]);
    world.refused(ToolRequest::Grep(search("")), ExecutorErrorKind::Invalid, &["empty"]);
    world.refused(
        ToolRequest::Grep(SearchRequest { path: "nope".to_owned(), ..search("x") }),
        ExecutorErrorKind::NotFound,
        &["nope"],
    );
    world.write("code", "call foo(1)\n");
    let found = world.grep(SearchRequest { literal: true, ..search("foo(") });
    assert_eq!(lines(&found), ["code:1: call foo(1)"]);
}

#[test]
fn limits_keep_the_first_hits() {
    let world = ExecutorWorld::new();
    for file in 0..300 {
        world.write(&format!("{file:03}.txt"), "x hit\ny\nz hit\nw\n");
    }
    let found = world.grep(SearchRequest { limit: 3, context: 1, ..search("hit") });
    assert_eq!(
        lines(&found),
        [
            "000.txt:1: x hit",
            "000.txt-2: y",
            "000.txt:3: z hit",
            "000.txt-4: w",
            "001.txt:1: x hit",
            "001.txt-2: y"
        ]
    );
    assert_eq!((found.cut, found.searched), (true, 2));
    let found = world.grep(SearchRequest { limit: 600, ..search("hit") });
    assert_eq!((found.hits.len(), found.cut, found.searched), (600, false, 300));
    let found = world.grep(SearchRequest { limit: 0, ..search("hit") });
    assert!(found.hits.is_empty() && found.cut);
}

#[test]
fn long_lines_are_cut_around_the_match() {
    let world = ExecutorWorld::new();
    world.write("min.js", format!("{}needle{}\n", "ü".repeat(50_000), "x".repeat(100_000)));
    let found = world.grep(search("needle"));
    let text = &found.hits[0].text;
    assert!(text.contains("needle") && text.chars().count() < 310, "{text}");
    assert!(text.starts_with('…') && text.ends_with('…'));
}

#[test]
fn hostile_trees_are_walked() {
    let world = ExecutorWorld::new();
    world.write("good.txt", "needle\n");
    for name in ["pipe.txt", ".gitignore", "sub/.ignore"] {
        std::fs::create_dir_all(world.path(name).parent().unwrap()).unwrap();
        world.fifo(name);
    }
    symlink("..", world.path("sub/up")).unwrap();
    symlink("nowhere", world.path("dangling")).unwrap();
    let odd = world.path("").join(OsStr::from_bytes(b"odd\xff.txt"));
    std::fs::write(odd, "needle\n").unwrap();
    world.write("new\nline.txt", "needle\n");
    std::fs::File::create(world.path("sparse")).unwrap().set_len(1 << 30).unwrap();
    let found = world.grep(search("needle"));
    assert_eq!(lines(&found), ["good.txt:1: needle", "new\nline.txt:1: needle", "odd\u{fffd}.txt:1: needle"]);
    let listed = world.listing(list("", 2, 100, true));
    let kind = |path: &str| listed.entries.iter().find(|entry| entry.path == path).unwrap().kind;
    assert_eq!(
        (kind("pipe.txt"), kind("dangling"), kind("sub/up")),
        (EntryKind::Other, EntryKind::Link, EntryKind::Link)
    );
    // A link to a folder can be named, though none is followed.
    assert!(paths(&world, list("sub/up", 1, 100, false)).contains(&"sub/up/good.txt".to_owned()));
    world.refused(
        ToolRequest::Grep(SearchRequest { path: "pipe.txt".to_owned(), ..search("x") }),
        ExecutorErrorKind::WrongKind,
        &["FIFO"],
    );
}

#[test]
fn a_very_large_folder_is_no_trouble() {
    let world = ExecutorWorld::new();
    for number in 0..10_000 {
        std::fs::File::create(world.path(&format!("{number:05}"))).unwrap();
    }
    let listing = world.listing(list("", 1, 50, false));
    assert!(listing.cut && listing.entries.len() == 50);
    assert_eq!(listing.entries[49].path, "00049");
    assert_eq!(world.listing(list("", 1, 20_000, false)).entries.len(), 10_000);
    assert_eq!(paths(&world, glob("*99", "", 3, false)), ["00099", "00199", "00299"]);
    assert_eq!(world.grep(search("x")).searched, 10_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_order_is_that_of_paths_and_the_answer_always_the_same(
        files in prop::collection::btree_set("[a-c.!-]{0,2}[a-c]/?[a-c-]{0,2}[a-c]", 1..40),
        limit in 1_u64..30,
    ) {
        let world = ExecutorWorld::new();
        let mut made = BTreeSet::new();
        for file in &files {
            let path = world.path(file);
            let made_it = std::fs::create_dir_all(path.parent().unwrap())
                .and_then(|()| if path.is_dir() { Err(std::io::ErrorKind::IsADirectory.into()) } else { std::fs::write(&path, "hit\n") });
            if made_it.is_ok() {
                made.insert(file.clone());
            }
        }
        let expected: Vec<String> = made.into_iter().collect();
        prop_assert_eq!(&paths(&world, glob("**/*", "", 1000, true)), &expected);
        let found = world.grep(SearchRequest { all: true, limit, ..search("hit") });
        let hits: Vec<String> = found.hits.iter().map(|hit| hit.path.clone()).collect();
        let first: Vec<String> = expected.iter().take(limit as usize).cloned().collect();
        prop_assert_eq!(hits, first);
        prop_assert_eq!(found.cut, expected.len() as u64 > limit);
        prop_assert_eq!(world.grep(SearchRequest { all: true, limit, ..search("hit") }), found);
        let all = paths(&world, list("", 9, 1000, true));
        prop_assert!(all.iter().zip(all.iter().skip(1)).all(|(a, b)| a != b));
    }
}
