//! Nothing in the tree depends on one machine.

use super::{SourceTree, TidyFile, TidyFinding};

/// A line with this text may name such a path, because it has to: a test of what a sandbox hides, for example.
const ALLOWED: &str = "tidy: machine path";

/// Where cargo's own packages come from, in Cargo.lock.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Folders below the root of a filesystem that belong to a person or to one machine.
const FOLDERS: [&str; 3] = ["root", "work", "Users"];

/// People of examples, who may have a home.
const ANYONE: [&str; 10] = ["user", "USER", "me", "you", "alice", "bob", "dev", "someone", "NAME", "$USER"];

/// No absolute path of one machine and no package registry but the public one.
pub(super) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    tree.0.iter().flat_map(check_file).collect()
}

fn check_file(file: &TidyFile) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for (number, line) in file.lines().filter(|(_, line)| !line.contains(ALLOWED)) {
        if let Some(path) = machine_path(line) {
            findings.push(TidyFinding::new(&file.path, number, format!("{path} is a path of one machine")));
        }
        if let Some(what) = registry(&file.path, line) {
            findings.push(TidyFinding::new(&file.path, number, what));
        }
    }
    findings
}

/// The first absolute path on this line that exists on some machines only.
fn machine_path(line: &str) -> Option<String> {
    let starts = line.match_indices('/').filter(|(at, _)| starts_a_path(line[..*at].chars().next_back()));
    starts.map(|(at, _)| &line[at + 1..]).find_map(|rest| {
        let mut parts = rest.split('/');
        let (first, second) = (parts.next()?, parts.next()?);
        let name: String =
            second.chars().take_while(|c| c.is_alphanumeric() || "-_.$".contains(*c)).collect();
        let home =
            first == "home" && parts.next().is_some() && !name.is_empty() && !ANYONE.contains(&name.as_str());
        (FOLDERS.contains(&first) || home).then(|| format!("/{first}/{name}"))
    })
}

/// True when a slash after this character begins an absolute path instead of going on with another.
fn starts_a_path(before: Option<char>) -> bool {
    before.is_none_or(|c| !(c.is_alphanumeric() || "/._-~$*})]>".contains(c)))
}

fn registry(path: &str, line: &str) -> Option<String> {
    let line = line.trim();
    if path.ends_with("Cargo.lock") {
        let source = line.strip_prefix("source = \"")?.trim_end_matches('"');
        return (source != REGISTRY).then(|| format!("{source} is not the public registry"));
    }
    if !path.ends_with(".toml") {
        return None;
    }
    let settings = ["replace-with", "registry", "index", "registry-index"];
    let key = line.split('=').next().unwrap_or_default().trim();
    let chosen = line.contains('=') && settings.contains(&key) || line.starts_with("[source.");
    chosen
        .then(|| "a package registry is chosen here; that belongs in the user's own configuration".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::expect;

    #[test]
    fn paths_of_one_machine_are_found() {
        for (line, found) in [
            ("cd /ro@ot/.cargo", true),
            ("path = \"/wo@rk/main\"", true),
            ("(/ho@me/jane/src)", true),
            ("/ho@me/user/src", false),
            ("/ho@me/$USER/src", false),
            ("home is /ho@me/jane", false),
            ("/proc/1/ro@ot/etc", false),
            ("upper/wo@rk/x", false),
            ("./run/wo@rk/x", false),
            ("@/workspace/x", false),
            ("https://wo@rk/x", false),
            ("x = /ro@ot/.ssh // tidy: machine path", false),
        ] {
            // The marker keeps this file itself free of such paths.
            let line = line.replace('@', "");
            let findings = check(&SourceTree::of(&[("a.md", &line)]));
            assert_eq!(!findings.is_empty(), found, "{line}: {findings:?}");
        }
    }

    #[test]
    fn only_the_public_registry_is_used() {
        let lock = "source = \"registry+https://github.com/rust-lang/crates.io-index\"\nsource = \"git+https://example.com/x\"\n";
        expect(check, &[("Cargo.lock", lock)], &[("Cargo.lock:2", "not the public registry")]);
        let config = "[source.crates-io]\nreplace-with = \"x\"\n[alias]\nindexes = 1\n";
        expect(
            check,
            &[(".cargo/config.toml", config)],
            &[(".cargo/config.toml:1", "registry"), (".cargo/config.toml:2", "registry")],
        );
    }
}
