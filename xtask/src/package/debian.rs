//! The Debian package: a staged tree, and `dpkg-deb`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::{XtaskFailure, process};

use super::payload::Payload;
use super::release::Release;
use super::{gzip, linked};

/// What Debian calls the processor.
const ARCHITECTURE: &str = "amd64";

const CONTROL: &str = include_str!("../../../packaging/debian/control");
const COPYRIGHT: &str = include_str!("../../../packaging/debian/copyright");
const CHANGELOG: &str = include_str!("../../../packaging/debian/changelog");
const SCRIPTS: [(&str, &str); 2] = [
    ("postinst", include_str!("../../../packaging/debian/postinst")),
    ("prerm", include_str!("../../../packaging/debian/prerm")),
];

/// Where completions go that no administrator has written.
fn completions_folder(shell: &str) -> &'static str {
    match shell {
        "bash" => "usr/share/bash-completion/completions",
        "zsh" => "usr/share/zsh/vendor-completions",
        _ => "usr/share/fish/vendor_completions.d",
    }
}

/// Writes `holon_VERSION_amd64.deb` into a folder.
pub(super) fn write(
    payload: &Payload,
    release: &Release,
    work: &Path,
    out: &Path,
) -> Result<(), XtaskFailure> {
    let tree = StagedTree { root: work.join("deb"), release };
    stage(payload, &tree)?;
    let name = format!("holon_{}_{ARCHITECTURE}.deb", release.version);
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "-Zxz", "-z2", "--build"]).arg(&tree.root).arg(out.join(name));
    build.env("SOURCE_DATE_EPOCH", release.time.to_string());
    process::capture(&mut build).map(drop)
}

fn stage(payload: &Payload, tree: &StagedTree<'_>) -> Result<(), XtaskFailure> {
    tree.add("usr/bin/holon", 0o755, &payload.binary)?;
    for page in &payload.pages {
        let path = format!("usr/share/man/man1/{}.gz", page.name);
        tree.add(&path, 0o644, &gzip::compress(&page.content)?)?;
    }
    for (shell, file) in &payload.completions {
        tree.add(&format!("{}/{}", completions_folder(shell), file.name), 0o644, &file.content)?;
    }
    for file in payload.documents.iter().filter(|file| !file.name.starts_with("LICENSE")) {
        let path = format!("usr/share/doc/holon/{}.gz", file.name);
        tree.add(&path, 0o644, &gzip::compress(&file.content)?)?;
    }
    tree.add("usr/share/holon/apparmor/holon", 0o644, &payload.apparmor.content)?;
    tree.add("usr/share/doc/holon/copyright", 0o644, copyright(payload).as_bytes())?;
    let date = tree.release.date("+%a, %d %b %Y %H:%M:%S +0000")?;
    let changelog = CHANGELOG.replace("{version}", &tree.release.version).replace("{date}", &date);
    tree.add("usr/share/doc/holon/changelog.gz", 0o644, &gzip::compress(changelog.as_bytes())?)?;
    let kilobytes = tree.kilobytes()?;
    let libraries = linked::libraries(&payload.binary_path)?;
    let libraries = linked::debian_packages(&libraries, &payload.binary)?;
    tree.add("DEBIAN/control", 0o644, control(&tree.release.version, kilobytes, &libraries).as_bytes())?;
    for (name, script) in SCRIPTS {
        tree.add(&format!("DEBIAN/{name}"), 0o755, script.as_bytes())?;
    }
    tree.settle()
}

fn control(version: &str, kilobytes: u64, libraries: &[String]) -> String {
    // A static binary needs no library at all.
    let control = match libraries {
        [] => CONTROL.replace("{libraries}, ", ""),
        libraries => CONTROL.replace("{libraries}", &libraries.join(", ")),
    };
    control
        .replace("{version}", version)
        .replace("{architecture}", ARCHITECTURE)
        .replace("{kilobytes}", &kilobytes.to_string())
}

/// The licences in the form that Debian's tools read.
fn copyright(payload: &Payload) -> String {
    let mit = payload.documents.iter().find(|file| file.name == "LICENSE-MIT");
    let text = mit.map(|file| String::from_utf8_lossy(&file.content)).unwrap_or_default();
    let indented = |line: &str| if line.trim().is_empty() { " .".to_owned() } else { format!(" {line}") };
    let lines: Vec<String> = text.trim().lines().map(indented).collect();
    COPYRIGHT.replace("{mit}", &lines.join("\n"))
}

/// The tree that becomes a package.
struct StagedTree<'a> {
    root: std::path::PathBuf,
    release: &'a Release,
}

impl StagedTree<'_> {
    fn add(&self, path: &str, mode: u32, content: &[u8]) -> Result<(), XtaskFailure> {
        let path = self.root.join(path);
        let told = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
        fs::create_dir_all(path.parent().unwrap_or(&self.root)).map_err(told)?;
        fs::write(&path, content).map_err(told)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).map_err(told)
    }

    fn kilobytes(&self) -> Result<u64, XtaskFailure> {
        let told = process::capture(Command::new("du").args(["-sk", "--apparent-size"]).arg(&self.root))?;
        let number = told.split_whitespace().next().and_then(|number| number.parse().ok());
        number.ok_or_else(|| format!("cannot read what `du` said: {told}"))
    }

    /// The same permissions and times whoever packages, whatever their umask.
    fn settle(&self) -> Result<(), XtaskFailure> {
        process::capture(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(&self.root))?;
        let mut find = Command::new("find");
        find.arg(&self.root).args(["-exec", "touch", "--no-dereference"]);
        process::capture(find.arg(format!("--date=@{}", self.release.time)).args(["{}", "+"])).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_file_is_filled_in() {
        let text = control("1.2.3", 7, &["libc6 (>= 2.34)".into(), "libgcc-s1".into()]);
        assert!(text.contains("Version: 1.2.3\nArchitecture: amd64\n"), "{text}");
        assert!(text.contains("\nDepends: libc6 (>= 2.34), libgcc-s1, git (>= "), "{text}");
        assert!(!text.contains('{'), "{text}");
        assert!(control("1", 7, &[]).contains("\nDepends: git (>= "));
    }
}
