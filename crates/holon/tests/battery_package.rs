//! What people install: the packages are made from the binary under test, linted, and tried where nothing else is.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use holon_testkit::{CommandEnd, TestEnv, TestIdentity, current_test, skip_security};

const BIN: &str = env!("CARGO_BIN_EXE_holon");
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How long making packages or a clean system may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// The packages of the binary under test, made once for all tests of this process.
fn packages(env: &TestEnv) -> PathBuf {
    let out = env.root().join("package");
    // Cargo needs the environment of whoever runs the tests.
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["xtask", "package", "--binary"])
        .arg(env.binary())
        .arg("--out")
        .arg(&out)
        .current_dir(ROOT)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "the packages are made");
    out
}

fn there(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

#[test]
fn packages_hold_what_they_should_and_lint_clean() {
    let env = TestEnv::new(BIN);
    let out = packages(&env);
    let sums = env.program("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).cwd(&out).run();
    sums.assert_code(0);
    assert_eq!(sums.stdout.lines().count(), 4, "{}", sums.stdout);
    let folder = format!("holon-{VERSION}-x86_64-linux");
    let tarball = out.join(format!("{folder}.tar.gz"));
    env.program("tar").arg("-xzf").arg(tarball).cwd(env.work()).run().assert_code(0);
    let folder = env.work().join(folder);
    for name in ["README.md", "LICENSE-MIT", "man/holon-run.1", "completions/_holon", "apparmor/holon"] {
        assert!(folder.join(name).is_file(), "{name}");
    }
    env.program(folder.join("holon")).arg("--version").run().assert_code(0).assert_stdout(VERSION);
    linked_in_is_listed(&out);
    if !there("lintian") {
        return skip_security(&current_test(), "lintian is not installed");
    }
    let lint = env.program("lintian").args(["--no-cfg", "--fail-on", "error"]).arg(debian(&out));
    let linted = lint.timeout(PATIENCE).run();
    assert_eq!(linted.code, 0, "{}{}", linted.stdout, linted.stderr);
}

fn linked_in_is_listed(out: &Path) {
    let text = fs::read(out.join(format!("holon-{VERSION}.cdx.json"))).unwrap();
    let list: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let components = list["components"].as_array().unwrap();
    let named = |name: &str| components.iter().any(|component| component["name"] == name);
    assert!(named("clap") && named("rustls") && named("holon-host"), "{} components", components.len());
    assert!(!named("proptest") && !named("holon-testkit"), "what only tests use is not linked in");
}

fn debian(out: &Path) -> PathBuf {
    out.join(format!("holon_{VERSION}_amd64.deb"))
}

/// Enters a system of its own, installs, tries as root and as an ordinary user, removes, and compares the files.
const ENTER: &str = r#"
set -eu
root=$1 archive=$2 package=$3
mount -t tmpfs -o mode=755 tmpfs "$root"
tar -xf "$archive" -C "$root"
cp "$package" "$root/mnt/holon.deb"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
mkdir "$root/outside"
cd "$root"
pivot_root . outside
umount -l /outside
rmdir /outside
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/home/root LC_ALL=C.UTF-8 sh -eu -c "$4"
"#;

const INSIDE: &str = r#"
# What dpkg writes about itself is no part of the package, nor is what people have in their homes.
files() { find / -xdev ! -path '/home/*' ! -path /var/log/dpkg.log ! -path '/var/lib/dpkg/*-old' ! -path '/mnt/*' -printf '%p %m %U\n' | sort; }
user() { (cd /home/user && HOME=/home/user setpriv --reuid 1000 --regid 1000 --clear-groups "$@"); }
try() { "$@" > /mnt/said 2>&1 && echo "ok: $*" || { echo "FAILED: $*"; cat /mnt/said; exit 1; }; }

mkdir -p /home/root /home/user
chown 1000:1000 /home/user
cd /home/root
# The first one leaves the caches that any package leaves.
try dpkg --install /mnt/holon.deb
try dpkg --purge holon
files > /mnt/before

try dpkg --install /mnt/holon.deb
try holon --version
try test -s /usr/share/man/man1/holon-run.1.gz
try test -s /usr/share/bash-completion/completions/holon
try test ! -e /etc/apparmor.d/holon
try holon doctor
try holon demo
try user holon doctor
try user holon demo
try dpkg --install /mnt/holon.deb
try dpkg --purge holon
files > /mnt/after
try diff /mnt/before /mnt/after

# Where AppArmor restricts user namespaces, a profile comes and goes with the package.
mkdir -p /etc/apparmor.d/abi
touch /etc/apparmor.d/abi/4.0
printf '#!/bin/sh\nexit 0\n' > /usr/sbin/apparmor_parser
chmod 755 /usr/sbin/apparmor_parser
try dpkg --install /mnt/holon.deb
try grep -q userns /etc/apparmor.d/holon
try dpkg --remove holon
try test ! -e /etc/apparmor.d/holon
echo all is well
"#;

#[test]
fn a_clean_system_takes_the_package_and_keeps_nothing_of_it() {
    let env = TestEnv::new(BIN);
    if env.identity() != TestIdentity::Root || !there("mmdebstrap") {
        return skip_security(&current_test(), "that needs root and mmdebstrap");
    }
    let system = match clean_system() {
        Ok(system) => system,
        Err(why) => return skip_security(&current_test(), &why),
    };
    let package = debian(&packages(&env));
    let root = env.root().join("system");
    fs::create_dir(&root).unwrap();
    let call =
        env.program("unshare").args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "sh"]);
    let call = call.arg(&root).arg(&system).arg(&package).arg(INSIDE);
    let told = call.timeout(PATIENCE).run();
    assert_eq!(told.code, 0, "{}{}", told.stdout, told.stderr);
    told.assert_stdout("ok: holon demo").assert_stdout("ok: user holon demo").assert_stdout("all is well");
    env.assert_nothing_left();
}

/// A Debian system with git and nothing else, made from where this machine gets its packages; kept between calls.
fn clean_system() -> Result<PathBuf, String> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clean-system.tar");
    if kept.is_file() {
        return Ok(kept);
    }
    fs::create_dir_all(kept.parent().unwrap()).unwrap();
    let begun = kept.with_extension("begun.tar");
    let made = Command::new("mmdebstrap")
        .args(["--quiet", "--mode=root", "--variant=essential", "--dpkgopt=force-unsafe-io"])
        .arg("--include=git,ca-certificates,mount")
        .args(settings_of_apt().into_iter().map(|file| {
            let mut option = OsString::from("--aptopt=");
            option.push(file);
            option
        }))
        .args(["", begun.to_str().unwrap()])
        .args(sources())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start mmdebstrap: {error}"))?;
    if !made.status.success() {
        let said = String::from_utf8_lossy(&made.stderr);
        return Err(format!(
            "mmdebstrap made no system: {}",
            said.lines().last().unwrap_or("it said nothing")
        ));
    }
    fs::rename(&begun, &kept).unwrap();
    Ok(kept)
}

/// The files that say where this machine gets its packages.
fn sources() -> Vec<PathBuf> {
    let mut files = files_of("/etc/apt/sources.list.d", |text| text.contains("debian-archive-keyring"));
    files.extend(files_of("/etc/apt", |text| text.lines().any(|line| line.starts_with("deb "))));
    files
}

/// The files that say how it reaches them.
fn settings_of_apt() -> Vec<PathBuf> {
    files_of("/etc/apt/apt.conf.d", |text| text.contains("Acquire") && !text.contains("Invoke"))
}

fn files_of(folder: &str, select: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.retain(|path| fs::read_to_string(path).is_ok_and(|text| select(&text)));
    files.sort();
    files
}

const TAPE: &str = "\
- tools:
    - write_file: { path: b.txt, content: \"two\\n\" }
- tool: finish
  args: { summary: \"I wrote b.txt.\", status: done }
";

#[test]
fn the_image_is_an_agent_in_a_container() {
    let env = TestEnv::new(BIN);
    if !there("podman") {
        return skip_security(&current_test(), "podman is not installed");
    }
    let out = packages(&env);
    let store = env.root().join("store");
    fs::create_dir(&store).unwrap();
    let told = agent_of_the_image(&env, &out, &store);
    env.end_podman(&store.join("t"));
    told.assert_code(0);
    let patch = fs::read_to_string(env.work().join("out/diff.patch")).unwrap();
    assert!(patch.contains("+two"), "{patch}");
}

fn agent_of_the_image(env: &TestEnv, out: &Path, store: &Path) -> CommandEnd {
    let dir = store.display();
    let arguments = format!(
        "--root {dir}/r --runroot {dir}/rr --tmpdir {dir}/t --storage-driver vfs --cgroup-manager cgroupfs"
    );
    let image = out.join(format!("holon-{VERSION}-x86_64-linux.oci.tar"));
    let load = env.program("podman").args(arguments.split(' ')).args(["load", "--input"]).arg(image);
    load.env("XDG_RUNTIME_DIR", env.home()).timeout(PATIENCE).run().assert_code(0);
    let repo = env.repo().file("a.txt", "one\n").commit("first");
    let tape = env.write("work/tape.yaml", TAPE);
    let name = format!("localhost/holon:{VERSION}");
    let call = env.holon(["run", "--mode", "execute", "--goal", "Add b.txt", "--image", &name]);
    let call = call.args(["--no-auto-checks", "--out", "../out", "--context"]).arg(&tape);
    let call = call.args(["--", "/bin/holon", "adapter", "--replay", "/holon/input/context/tape.yaml"]);
    let call = call.env("HOLON_OCI_ARGS", arguments).env("XDG_RUNTIME_DIR", env.home());
    call.cwd(repo.path()).timeout(PATIENCE).run()
}

/// A linter from the Python package index, which the battery's set-up installs.
fn linter(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_file())
}

#[test]
fn workflows_and_actions_lint_clean() {
    let (schemas, zizmor) = (linter("HOLON_CHECK_JSONSCHEMA"), linter("HOLON_ZIZMOR"));
    let (Some(schemas), Some(zizmor)) = (schemas, zizmor) else {
        let why = "there is no check-jsonschema or zizmor: `cargo xtask battery package` installs them";
        return skip_security(&current_test(), why);
    };
    let workflows = [".github/workflows/ci.yml", ".github/workflows/release.yml"];
    let examples = ["examples/github/plan-then-execute.yml", "examples/github/review-then-fix.yml"];
    let actions = ["action.yml", "actions/publish/action.yml"];
    let check = |schema: &str, files: &[&str]| {
        let call =
            Command::new(&schemas).args(["--builtin-schema", schema]).args(files).current_dir(ROOT).output();
        let told = call.unwrap();
        assert!(told.status.success(), "{schema}: {}", String::from_utf8_lossy(&told.stdout));
    };
    check("vendor.github-workflows", &workflows);
    check("vendor.github-workflows", &examples);
    check("vendor.github-actions", &actions);
    let told = Command::new(&zizmor)
        .args(["--offline", "--no-progress", "--min-severity", "medium"])
        .args(workflows)
        .arg(actions[0])
        .arg(actions[1])
        .current_dir(ROOT)
        .output()
        .unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(told.status.success(), "{}{}", said(&told.stdout), said(&told.stderr));
}
