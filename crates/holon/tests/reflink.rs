//! Copies that share blocks, on a file system that can: a small XFS in a file, mounted in a namespace of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;

use holon_testkit::{TestEnv, current_test, skip_security};

const BIN: &str = env!("CARGO_BIN_EXE_holon");

#[test]
fn a_reflinked_snapshot_shares_its_blocks() {
    let Some(env) = TestEnv::as_root(BIN) else {
        skip_security(&current_test(), "needs root to mount a file system");
        return;
    };
    let agent = env.agent("edit.sh", "#!/bin/sh\necho 2 > a\necho ok > /holon/output/summary.md\n");
    let script = r#"
set -e
cd "$ROOT"
truncate -s 600M disk
mkfs.xfs -q disk
mkdir disk-mount
mount -o loop disk disk-mount
cd disk-mount
mkdir state repo
cd repo
git init -q .
echo 1 > a
head -c 60000000 /dev/urandom > big
sync -f .
before=$(df --output=used -k . | tail -n 1)
XDG_STATE_HOME="$ROOT/disk-mount/state" "$HOLON" run --keep --snapshot reflink --goal x --agent "$AGENT" --out "$ROOT/work/out" >&2
sync -f .
after=$(df --output=used -k . | tail -n 1)
echo "grown $((after - before))"
"#;
    let call = env.program("unshare").args(["--mount", "sh", "-c", script]).env("ROOT", env.root());
    let output = call.env("HOLON", env.binary()).env("AGENT", &agent).run();
    output.assert_code(0);
    let grown: u64 = output.stdout.trim().strip_prefix("grown ").unwrap().parse().unwrap();
    assert!(grown < 30_000, "a copy of 60 MB took {grown} KiB");
    let manifest = output.manifest(env.work().join("out"));
    assert_eq!(manifest["metadata"]["snapshot"]["strategy"], "reflink");
    let patch = fs::read_to_string(env.work().join("out/diff.patch")).unwrap();
    assert!(patch.contains("+2"), "the change is found without a layer to look at");
}
