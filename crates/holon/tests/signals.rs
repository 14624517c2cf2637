//! What a payload starts with: nothing of the launcher's own state may reach it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;

use holon_testkit::for_each_identity;

const BIN: &str = env!("CARGO_BIN_EXE_holon");

#[test]
fn payloads_start_with_a_clean_slate() {
    for_each_identity(BIN, |env| {
        let repo = env.repo().file("a", "1\n").commit("first");
        // Blocked and ignored signals, descriptors, working directory, and a shell that waits for its own child.
        let script = "#!/bin/sh\ngrep -E '^Sig(Blk|Ign)' /proc/self/status > /holon/output/summary.md\nls /proc/self/fd | tr '\\n' ' ' >> /holon/output/summary.md\npwd >> /holon/output/summary.md\ntrue & wait\n";
        let agent = env.agent("looks.sh", script);
        let out = env.work().join("out");
        let call = env.holon(["run", "--goal", "x", "--agent"]).arg(agent).arg("--out").arg(&out);
        call.cwd(repo.path()).run().assert_code(0);
        let seen = fs::read_to_string(out.join("summary.md")).unwrap();
        // The C library itself ignores its two internal signals when it starts a command.
        let seen = seen.replace("SigIgn:\t0000000180000000", "SigIgn:\t0000000000000000");
        assert!(seen.contains("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000"), "{seen}");
        assert!(
            seen.contains("\n0 1 2 3 /holon/workspace"),
            "only standard descriptors (and ls's own): {seen}"
        );
    });
}
