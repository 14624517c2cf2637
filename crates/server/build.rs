//! Lists the files of the page, so that they become part of the library and nobody needs Node to build it.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Proves that the files are fresh; nobody needs it at run time.
const PROOF: &str = "sources.sha256";

fn main() -> Result<(), Box<dyn Error>> {
    let dist = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("../../web/dist");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", dist.display());
    let dist = dist.canonicalize().map_err(|e| {
        format!("{}: {e}; build the page with `npm ci && npm run build` in web/", dist.display())
    })?;
    let mut files = Vec::new();
    collect(&dist, "", &mut files)?;
    files.sort();
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let mut list = String::from("&[\n");
    for (number, (name, path)) in files.iter().filter(|(name, _)| name != PROOF).enumerate() {
        // A copy: whoever builds the page meanwhile takes away the files the compiler is about to read.
        let copy = out.join(format!("page-{number}"));
        fs::copy(path, &copy)?;
        let _ = writeln!(list, "    ({name:?}, include_bytes!({copy:?})),");
    }
    list.push(']');
    fs::write(out.join("page.rs"), list)?;
    Ok(())
}

/// Names below the folder with `/` between their parts, each with its path.
fn collect(folder: &Path, prefix: &str, into: &mut Vec<(String, PathBuf)>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().into_string().map_err(|name| format!("{name:?} is no text"))?;
        let name = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &name, into)?;
        } else {
            into.push((name, entry.path()));
        }
    }
    Ok(())
}
