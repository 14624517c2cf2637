//! Which package an address is the download of, by its shape alone.

use super::package::PackageVersion;
use crate::outside::decoded;
use crate::permit::PackageFamily;

/// The package that a path downloads; `None` is anything else, such as an index.
pub fn recognise(family: PackageFamily, path: &str) -> Option<PackageVersion> {
    let path = String::from_utf8(decoded(path)).ok()?;
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let (name, version, file) = match family {
        PackageFamily::Npm => npm(&segments),
        PackageFamily::Python => python(segments.last()?),
        PackageFamily::Cargo => cargo(&segments),
        PackageFamily::Go => go(&path),
        PackageFamily::Maven => maven(&segments),
        PackageFamily::Git => None,
    }?;
    let plain =
        |text: &str| (1..=300).contains(&text.len()) && text.chars().all(|c| !c.is_control() && c != ' ');
    (plain(&name) && plain(&version)).then_some(PackageVersion { family, name, version, file })
}

type Parts = Option<(String, String, Option<String>)>;

/// `[@scope/]name/-/name-1.2.3.tgz`.
fn npm(segments: &[&str]) -> Parts {
    let [front @ .., name, "-", file] = segments else { return None };
    // Some registries repeat the scope before the file.
    let version = file.strip_suffix(".tgz")?.strip_prefix(name)?.strip_prefix('-')?;
    let scope = front.last().filter(|scope| scope.starts_with('@'));
    let full = scope.map_or_else(|| (*name).to_owned(), |scope| format!("{scope}/{name}"));
    Some((full, version.to_owned(), None))
}

/// `name-1.2.3-py3-none-any.whl` or `name-1.2.3.tar.gz`, in any folder.
fn python(file: &str) -> Parts {
    let (name, version) = if let Some(wheel) = file.strip_suffix(".whl") {
        let parts: Vec<&str> = wheel.split('-').collect();
        let ([name, version, _, _, _] | [name, version, _, _, _, _]) = parts[..] else { return None };
        (name, version)
    } else {
        let source = [".tar.gz", ".zip", ".tar.bz2", ".tgz"].iter().find_map(|end| file.strip_suffix(end))?;
        // A name may hold dashes, a version begins with a number.
        let at =
            source.rmatch_indices('-').map(|(at, _)| at).find(|at| begins_with_number(source, at + 1))?;
        (source.get(..at)?, source.get(at + 1..)?)
    };
    begins_with_number(version, 0).then(|| (normalised(name), version.to_owned(), Some(file.to_owned())))
}

fn begins_with_number(text: &str, at: usize) -> bool {
    text.as_bytes().get(at).is_some_and(u8::is_ascii_digit)
}

/// As indexes compare names: lower case, with single dashes.
fn normalised(name: &str) -> String {
    let parts: Vec<&str> = name.split(['-', '_', '.']).filter(|part| !part.is_empty()).collect();
    parts.join("-").to_lowercase()
}

/// `…/name/1.2.3/download` or `…/name-1.2.3.crate`.
fn cargo(segments: &[&str]) -> Parts {
    if let [.., name, version, "download"] = segments {
        return begins_with_number(version, 0).then(|| ((*name).to_owned(), (*version).to_owned(), None));
    }
    let file = segments.last()?.strip_suffix(".crate")?;
    let at = file.match_indices('-').map(|(at, _)| at).find(|at| begins_with_number(file, at + 1))?;
    Some((file.get(..at)?.to_owned(), file.get(at + 1..)?.to_owned(), None))
}

/// `/example.org/module/@v/v1.2.3.zip`, where `!a` stands for `A`.
fn go(path: &str) -> Parts {
    let (module, file) = path.trim_start_matches('/').split_once("/@v/")?;
    let version = file.strip_suffix(".zip").filter(|version| !version.contains('/'))?;
    Some((unescaped(module), unescaped(version), None))
}

fn unescaped(text: &str) -> String {
    let mut upper = false;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '!' if !upper => upper = true,
            c => {
                out.push(if upper { c.to_ascii_uppercase() } else { c });
                upper = false;
            }
        }
    }
    out
}

/// `…/org/example/artifact/1.2.3/artifact-1.2.3.jar`; what stands before the group cannot be told from it.
fn maven(segments: &[&str]) -> Parts {
    let [front @ .., artifact, version, file] = segments else { return None };
    let rest = file.strip_prefix(artifact)?.strip_prefix('-')?;
    // Snapshots carry a time in place of the word.
    let numbered = rest.starts_with(version.trim_end_matches("-SNAPSHOT"));
    let kind = [".jar", ".war", ".aar", ".pom", ".klib", ".zip"].iter().any(|end| rest.ends_with(end));
    let roots =
        ["maven2", "maven", "public", "releases", "snapshots", "central", "repository", "m2", "artifactory"];
    let from = front.iter().rposition(|segment| roots.contains(segment) || segment.starts_with("maven-"));
    let group = front.get(from.map_or(0, |at| at + 1)..).unwrap_or_default().join(".");
    let name = if group.is_empty() { (*artifact).to_owned() } else { format!("{group}:{artifact}") };
    (numbered && kind).then(|| (name, (*version).to_owned(), Some((*file).to_owned())))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn downloads_are_known_by_their_shape() {
        use PackageFamily::*;
        let check = |family, path: &str, expect: &str| {
            let found = recognise(family, path).map(|package| package.to_string()).unwrap_or_default();
            assert_eq!(found, expect, "{path}");
        };
        check(Npm, "/left-pad/-/left-pad-1.3.0.tgz", "left-pad 1.3.0");
        check(Npm, "/mirror/npm/@types/node/-/node-20.1.0-beta.1.tgz", "@types/node 20.1.0-beta.1");
        check(Npm, "/@types%2fnode/-/node-20.1.0.tgz", "@types/node 20.1.0");
        check(Npm, "/left-pad", "");
        check(Npm, "/left-pad/-/other-1.0.0.tgz", "");
        check(Npm, "/-/v1/search", "");
        check(Python, "/packages/ab/cd/Flask_Login-0.6.3-py3-none-any.whl", "flask-login 0.6.3");
        check(Python, "/packages/x/numpy-2.1.0-1-cp312-cp312-manylinux_2_17_x86_64.whl", "numpy 2.1.0");
        check(Python, "/packages/ruamel.yaml-0.18.6.tar.gz", "ruamel-yaml 0.18.6");
        check(Python, "/packages/my-tool-2-1.0.zip", "my-tool-2 1.0");
        check(Python, "/packages/numpy-2.1.0-cp312-cp312-any.whl.metadata", "");
        check(Python, "/simple/flask/", "");
        check(Cargo, "/crates/itoa/1.0.9/download", "itoa 1.0.9");
        check(Cargo, "/files/itoa/itoa-1.0.9.crate", "itoa 1.0.9");
        check(Cargo, "/files/sha2-asm/sha2-asm-0.6.4.crate", "sha2-asm 0.6.4");
        check(Cargo, "/it/oa/itoa", "");
        check(Cargo, "/config.json", "");
        check(Go, "/git.test/!some!one/toml/@v/v1.4.0.zip", "git.test/SomeOne/toml v1.4.0");
        check(Go, "/git.test/x/net/@v/v0.30.0.info", "");
        check(Maven, "/maven2/org/slf4j/slf4j-api/2.0.9/slf4j-api-2.0.9.jar", "org.slf4j:slf4j-api 2.0.9");
        check(
            Maven,
            "/repository/maven-public/a/b/1.0-SNAPSHOT/b-1.0-20240101.120000-1.jar",
            "a:b 1.0-SNAPSHOT",
        );
        check(Maven, "/maven2/org/slf4j/slf4j-api/maven-metadata.xml", "");
        check(Git, "/a/b.git/info/refs", "");
    }

    proptest! {
        #[test]
        fn any_path_is_taken(path in any::<String>()) {
            for family in [PackageFamily::Npm, PackageFamily::Python, PackageFamily::Cargo, PackageFamily::Go, PackageFamily::Maven] {
                let _ = recognise(family, &path);
                let _ = recognise(family, &format!("/a/1/{path}.crate"));
                let _ = recognise(family, &format!("/{path}-1.whl"));
                let _ = recognise(family, &format!("/{path}-1.tar.gz"));
            }
        }
    }
}
