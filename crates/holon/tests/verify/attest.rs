//! Signed statements end to end: what is signed, who is believed, and what a policy says.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use holon_testkit::TestEnv;
use serde_json::Value;

use crate::runs::change;

pub(crate) fn ssh_key(env: &TestEnv, name: &str) -> PathBuf {
    let path = env.work().join(name);
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&path).status();
    assert!(made.unwrap().success());
    path
}

#[test]
fn a_statement_is_signed_believed_and_judged_offline() {
    let made = change();
    let (env, repo, out) = (&made.env, made.env.work().join("repo"), made.env.work().join("out"));
    let (key, other) = (ssh_key(env, "key"), ssh_key(env, "other"));
    let public = key.with_extension("pub");
    let signed = env.holon(["attest"]).arg(&out).arg("--key").arg(&key).cwd(&repo).run();
    signed.assert_code(0).assert_stderr("signed by SHA256:");
    env.holon(["runs", "verify"]).arg(&out).cwd(&repo).run().assert_code(0);

    let verify = |more: &[&str]| env.holon(["verify"]).arg(&out).args(more).cwd(&repo).run();
    let public = public.to_str().unwrap();
    let good = verify(&["--policy", "signed", "--signer", public]);
    assert!(
        good.assert_code(0).stdout.starts_with("satisfied: signed, signed by SHA256:"),
        "{}",
        good.stdout
    );
    let against = |more: &[&str]| -> Vec<String> {
        let output = verify(&[more, &["--json"]].concat());
        let told: Value = serde_json::from_str(output.assert_code(2).stdout.trim()).unwrap();
        told["against"]
            .as_array()
            .unwrap()
            .iter()
            .map(|rule| rule["kind"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(against(&["--policy", "signed"]), ["signature"], "the policy names nobody");
    let stranger = other.with_extension("pub");
    assert_eq!(against(&["--policy", "signed", "--signer", stranger.to_str().unwrap()]), ["signature"]);
    // The run takes a test away, and no person approved a plan.
    assert_eq!(against(&["--policy", "standard", "--signer", public]), ["weakened_tests"]);
    assert_eq!(against(&["--policy", "strict", "--signer", public]), ["weakened_tests", "approval"]);
    let base = "0".repeat(40);
    assert_eq!(against(&["--policy", "signed", "--signer", public, "--base", &base]), ["base"]);

    // In a pull request's text, with a policy of the team's own.
    let envelope = fs::read_to_string(out.join("attestation.json")).unwrap();
    let body = env.write("work/body.md", format!("# A change\n\n```json\n{envelope}```\n\nThanks.\n"));
    let key_line = fs::read_to_string(public).unwrap();
    let team = format!(
        "weakened_tests = true\nverified = true\n[[signer]]\nname = \"ci\"\nkey = \"{}\"\n",
        key_line.trim()
    );
    let team = env.write("work/team.toml", team);
    let patch = out.join("diff.patch");
    let judged = env.holon(["verify"]).arg(&body).arg("--policy").arg(&team).arg("--patch").arg(&patch).run();
    assert!(judged.assert_code(0).stdout.contains("signed by ci"), "{}", judged.stdout);

    // A patch that is not the one that was signed, and a manifest that lies.
    let text = fs::read_to_string(&patch).unwrap().replace("+new", "+evil");
    fs::write(&patch, text).unwrap();
    assert_eq!(against(&["--policy", "signed", "--signer", public]), ["subject"]);
    let refused = env.holon(["attest"]).arg(&out).arg("--key").arg(&key).cwd(&repo).run();
    refused.assert_code(2).assert_stderr("not signed").assert_stderr("artifacts[diff.patch].sha256");
    env.holon(["verify", "nothing.json", "--policy", "signed"]).run().assert_code(1);
    env.holon(["verify", "nothing.json", "--policy", "sigend"]).run().assert_code(64);
}
