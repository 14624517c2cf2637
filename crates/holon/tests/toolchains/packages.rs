//! A package cache made by hand: nothing of it comes from a network.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use holon_testkit::TestEnv;

use super::machine::{rustup, rustup_home};

/// In every file that must stay out of sight.
pub(crate) const CANARY: &str = "canary-3f9d2c";

/// A home with a cargo folder whose registry holds one package, and with credentials of every kind.
pub(crate) fn home_with_packages(env: &TestEnv) {
    let cargo = "home/.cargo";
    let shelf = env.home().join(".cargo/registry/local");
    let manifest = "[package]\nname = \"tiny-dep\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    env.write("pack/tiny-dep-0.1.0/Cargo.toml", manifest);
    env.write("pack/tiny-dep-0.1.0/src/lib.rs", "pub fn seven() -> u32 { 7 }\n");
    env.write(format!("{cargo}/registry/local/placeholder"), "");
    let package = shelf.join("tiny-dep-0.1.0.crate");
    let pack = env.root().join("pack");
    run(Command::new("tar").arg("-czf").arg(&package).arg("-C").arg(pack).arg("tiny-dep-0.1.0"));
    let sum = run(Command::new("sha256sum").arg(&package));
    let sum = sum.split_whitespace().next().unwrap();
    let line = format!(
        r#"{{"name":"tiny-dep","vers":"0.1.0","deps":[],"cksum":"{sum}","features":{{}},"yanked":false}}"#
    );
    env.write(format!("{cargo}/registry/local/index/ti/ny/tiny-dep"), line + "\n");
    // Without the settings the package is not found, and with all of them the token would be.
    let settings = format!(
        "[source.crates-io]\nreplace-with = \"shelf\"\n[source.shelf]\nlocal-registry = {shelf:?}\n\
         [registries.mine]\nindex = \"https://me:{CANARY}@packages.invalid/\"\ntoken = \"{CANARY}\"\n"
    );
    env.write(format!("{cargo}/config.toml"), settings);
    for file in [
        ".cargo/credentials",
        ".cargo/credentials.toml",
        ".cargo/private-notes",
        ".config/gh/hosts.yml",
        ".config/pip/pip.conf",
        ".gradle/gradle.properties",
        ".m2/settings.xml",
        ".netrc",
        ".npmrc",
        ".pypirc",
        ".ssh/id_ed25519",
        "Documents/letter",
        "go/pkg/mod/cache/vcs/abc/config",
    ] {
        env.write(Path::new("home").join(file), format!("{CANARY}\n"));
    }
    env.write("home/go/pkg/mod/cache/download/list", "seen\n");
    if rustup_home().is_some() {
        let bin = env.home().join(".cargo/bin");
        env.write(format!("{cargo}/bin/rustup"), fs::read(rustup()).unwrap());
        run(Command::new("chmod").arg("755").arg(bin.join("rustup")));
        for name in ["cargo", "rustc", "rustdoc"] {
            symlink("rustup", bin.join(name)).unwrap();
        }
    }
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
