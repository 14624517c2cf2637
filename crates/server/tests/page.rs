//! The page that is part of the binary is the one the sources make.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

use holon_core::digest::sha256;
use holon_server::PAGE;

fn web() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web")
}

fn below(folder: &str, into: &mut Vec<String>) {
    for entry in fs::read_dir(web().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() { below(&path, into) } else { into.push(path) }
    }
}

/// One digest over everything the page is built from; `web/README.md` says how.
fn sources() -> String {
    let mut paths: Vec<String> =
        ["index.html", "package-lock.json", "package.json", "tsconfig.json", "vite.config.ts"]
            .map(String::from)
            .into();
    below("src", &mut paths);
    below("public", &mut paths);
    paths.sort();
    let line = |path: &String| format!("{}  {path}\n", sha256(&fs::read(web().join(path)).unwrap()));
    sha256(paths.iter().map(line).collect::<String>().as_bytes())
}

#[test]
fn the_built_page_is_as_new_as_its_sources() {
    let stored = fs::read_to_string(web().join("dist/sources.sha256")).unwrap();
    assert_eq!(stored.trim(), sources(), "web/dist is old: run `npm ci && npm run build` in web/");
}

#[test]
fn the_page_of_the_binary_is_the_built_one() {
    let mut built = Vec::new();
    below("dist", &mut built);
    let mut built: Vec<&str> = built.iter().map(|path| &path["dist/".len()..]).collect();
    built.retain(|path| *path != "sources.sha256");
    built.sort_unstable();
    assert_eq!(PAGE.iter().map(|(name, _)| *name).collect::<Vec<_>>(), built);
    for (name, bytes) in PAGE {
        assert!(fs::read(web().join("dist").join(name)).unwrap() == *bytes, "{name}");
    }
}

#[test]
fn the_page_needs_nothing_inline_and_nothing_from_elsewhere() {
    let find = |name: &str| PAGE.iter().find(|(known, _)| *known == name).map(|(_, bytes)| *bytes);
    let html = std::str::from_utf8(find("index.html").unwrap()).unwrap();
    assert!(!html.contains("<style") && !html.contains(" style=") && !html.contains(" onload="), "{html}");
    for script in html.split("<script").skip(1) {
        let (attributes, rest) = script.split_once('>').unwrap();
        assert!(attributes.contains(" src=") && rest.starts_with("</script>"), "{script}");
    }
    let mut named = 0;
    for attribute in [" src=\"", " href=\""] {
        for rest in html.split(attribute).skip(1) {
            let target = rest.split('"').next().unwrap();
            assert!(find(target.strip_prefix('/').unwrap()).is_some(), "{target}");
            named += 1;
        }
    }
    assert!(named >= 3, "{html}");
}
