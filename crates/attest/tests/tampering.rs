//! Every way to tamper with a signed statement, generated: what was not signed again fails for its signature, what was
//! signed again by somebody trusted fails for the rule it breaks, and each says why.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use holon_attest::{
    AttestationPolicy, DsseEnvelope, NAMESPACE, PAYLOAD_TYPE, PresentedChange, RunStatement, Signature,
    Signer, SigningKey, ViolationKind, judge,
};
use serde_json::{Value, json};

/// A manifest that satisfies the strictest policy.
fn manifest() -> Value {
    let digest = "a".repeat(64);
    json!({
        "schema_version": "1", "run_id": "20260102-030405-abcdef", "status": "completed", "outcome": "success",
        "exit_code": 0, "mode": "plan-then-execute", "started_at": "2026-01-02T03:04:05.000Z", "duration_ms": 7,
        "artifacts": [
            {"path": "summary.md", "sha256": "b".repeat(64), "bytes": 3, "required": true, "valid": true},
            {"path": "diff.patch", "sha256": digest, "bytes": 9, "required": true, "valid": true},
            {"path": "plan.json", "bytes": 0, "required": false, "valid": false}
        ],
        "metadata": {
            "mode": "plan-then-execute", "workspace_access": "rw", "agent": {"name": "native"}, "adapter": "native",
            "model": {"provider": "anthropic", "id": "claude", "why": "asked"},
            "sandbox": {"backend": "native", "level": "L1", "enforced": {"seccomp": true, "tools": true}},
            "snapshot": {"strategy": "overlay", "base_commit": "c".repeat(40), "touched": {"a.txt": "d".repeat(64)}},
            "changes": {"files": 1, "insertions": 2, "deletions": 3},
            "verification": {"state": "verified", "checks": [{"command": "make test", "origin": "asked", "exit_code": 0, "duration_ms": 5}]},
            "flow": {"steps": [
                {"name": "plan", "mode": "plan", "state": "done", "outcome": "success"},
                {"name": "execute", "mode": "execute", "state": "done", "outcome": "success",
                 "gate": {"decision": "approved", "by": "person", "seen": {"plan/plan.md": "e".repeat(64)}}}
            ]},
            "audit": {"length": 3, "head": "f".repeat(64)}
        }
    })
}

fn statement() -> RunStatement {
    RunStatement::about(manifest().to_string().as_bytes()).unwrap()
}

/// Keys of both kinds, made here.
struct TamperingKeys {
    folder: tempfile::TempDir,
}

impl TamperingKeys {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn ssh(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"])
            .arg(&path)
            .status();
        assert!(made.unwrap().success());
        path
    }

    fn ed25519(&self, name: &str) -> PathBuf {
        let pkcs8 =
            ring::signature::Ed25519KeyPair::generate_pkcs8(&ring::rand::SystemRandom::new()).unwrap();
        let path = self.folder.path().join(name);
        let text = encode(pkcs8.as_ref());
        fs::write(&path, format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n"))
            .unwrap();
        path
    }
}

fn encode(bytes: &[u8]) -> String {
    use std::io::Write;
    let mut child = Command::new("base64")
        .arg("-w0")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

fn policy(key: &SigningKey) -> AttestationPolicy {
    let mut policy = AttestationPolicy::builtin("strict").unwrap().unwrap();
    policy.signer = vec![Signer { name: "ada".into(), key: key.public().to_text() }];
    (policy.modes, policy.agents) = (vec!["plan-then-execute".into()], vec!["native".into()]);
    (policy.models, policy.checks) = (vec!["anthropic/*".into()], vec!["make test".into()]);
    (policy.max_files, policy.enforced_tools) = (Some(1), true);
    policy
}

fn presented() -> PresentedChange {
    PresentedChange { patch_sha256: Some("a".repeat(64)), base_commit: Some("c".repeat(40)) }
}

fn kinds(envelope: &DsseEnvelope, policy: &AttestationPolicy) -> BTreeSet<ViolationKind> {
    let (_, against) = judge(envelope, policy, &presented()).unwrap();
    assert!(against.iter().all(|violation| violation.sentence.len() > 10), "{against:?}");
    against.into_iter().map(|violation| violation.kind).collect()
}

/// Every leaf of a statement with another value.
fn changed(value: &Value) -> Vec<(String, Value)> {
    fn walk(value: &Value, path: &str, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => map.iter().for_each(|(key, value)| {
                walk(value, &format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")), found)
            }),
            Value::Array(list) => {
                list.iter().enumerate().for_each(|(at, value)| walk(value, &format!("{path}/{at}"), found))
            }
            _ => found.push(path.to_owned()),
        }
    }
    let mut leaves = Vec::new();
    walk(value, "", &mut leaves);
    leaves
        .into_iter()
        .map(|leaf| {
            let mut other = value.clone();
            let at = other.pointer_mut(&leaf).unwrap();
            *at = match &*at {
                Value::Bool(holds) => json!(!holds),
                Value::Number(n) => json!(n.as_i64().unwrap() + 1),
                Value::Null => json!("x"),
                text => json!(format!("{}x", text.as_str().unwrap_or_default())),
            };
            (leaf, other)
        })
        .collect()
}

#[test]
fn what_was_signed_satisfies_and_every_change_to_it_does_not() {
    let keys = TamperingKeys::new();
    let mut tried = 0;
    for path in [keys.ed25519("pair"), keys.ssh("person")] {
        let key = SigningKey::read(&path).unwrap();
        let (policy, good) = (policy(&key), DsseEnvelope::seal(&statement(), &key).unwrap());
        let (by, against) = judge(&good, &policy, &presented()).unwrap();
        assert_eq!((by, against), (vec!["ada".to_owned()], vec![]));
        let payload: Value = serde_json::from_slice(&good.payload().unwrap()).unwrap();
        let few = matches!(key, SigningKey::Ssh { .. });
        for (leaf, other) in changed(&payload).into_iter().step_by(if few { 9 } else { 1 }) {
            let bad = DsseEnvelope { payload: encode(other.to_string().as_bytes()), ..good.clone() };
            assert_eq!(kinds(&bad, &policy), BTreeSet::from([ViolationKind::Signature]), "{leaf}");
            tried += 1;
        }
        for (name, bad, kind) in envelopes(&good, &keys) {
            assert_eq!(kinds(&bad, &policy), BTreeSet::from([kind]), "{name}");
            tried += 1;
        }
    }
    assert!(tried >= 60, "{tried}");
}

/// The envelope itself made wrong.
fn envelopes(good: &DsseEnvelope, keys: &TamperingKeys) -> Vec<(&'static str, DsseEnvelope, ViolationKind)> {
    let stranger = SigningKey::read(&keys.ed25519("stranger")).unwrap();
    let foreign = DsseEnvelope::seal(&statement(), &stranger).unwrap();
    let other_person =
        SigningKey::read(&keys.ssh(&format!("other{}", fs::read_dir(keys.folder.path()).unwrap().count())))
            .unwrap();
    let with = |signatures: Vec<Signature>| DsseEnvelope { signatures, ..good.clone() };
    let sig = good.signatures[0].clone();
    let cut = Signature { sig: sig.sig[..sig.sig.len() - 8].to_owned(), ..sig.clone() };
    let flipped = {
        let mut chars: Vec<char> = sig.sig.chars().collect();
        let at = chars.len() / 2;
        chars[at] = if chars[at] == 'A' { 'B' } else { 'A' };
        Signature { sig: chars.into_iter().collect(), ..sig.clone() }
    };
    vec![
        ("no signature", with(vec![]), ViolationKind::Signature),
        ("a stranger's", foreign.clone(), ViolationKind::Signature),
        (
            "a stranger's under the signer's key id",
            with(vec![Signature { keyid: sig.keyid.clone(), ..foreign.signatures[0].clone() }]),
            ViolationKind::Signature,
        ),
        (
            "another person's",
            DsseEnvelope::seal(&statement(), &other_person).unwrap(),
            ViolationKind::Signature,
        ),
        ("a cut one", with(vec![cut]), ViolationKind::Signature),
        ("a flipped one", with(vec![flipped]), ViolationKind::Signature),
        (
            "what is no base64",
            with(vec![Signature { sig: "%".into(), ..sig.clone() }]),
            ViolationKind::Signature,
        ),
        (
            "another payload type",
            DsseEnvelope { payload_type: "text/plain".into(), ..good.clone() },
            ViolationKind::Payload,
        ),
        (
            "no payload type",
            DsseEnvelope { payload_type: String::new(), ..good.clone() },
            ViolationKind::Payload,
        ),
        (
            "a payload that is no base64",
            DsseEnvelope { payload: "{}".into(), ..good.clone() },
            ViolationKind::Payload,
        ),
        (
            "a payload in another spelling",
            DsseEnvelope { payload: format!("{}\n", good.payload), ..good.clone() },
            ViolationKind::Payload,
        ),
        (
            "an empty payload",
            DsseEnvelope { payload: String::new(), ..good.clone() },
            ViolationKind::Signature,
        ),
    ]
}

/// What somebody trusted signs can still break every rule; each is named.
#[test]
fn each_rule_is_broken_by_its_own_lie() {
    let keys = TamperingKeys::new();
    let key = SigningKey::read(&keys.ed25519("pair")).unwrap();
    let policy = policy(&key);
    let rules: BTreeMap<&str, (Value, ViolationKind)> = BTreeMap::from([
        ("/subject/0/digest/sha256", (json!("0".repeat(64)), ViolationKind::Subject)),
        ("/subject/0/name", (json!("other.patch"), ViolationKind::Subject)),
        ("/predicate/base/commit", (json!("0".repeat(40)), ViolationKind::Base)),
        ("/predicate/outcome", (json!("needs_human"), ViolationKind::Outcome)),
        ("/predicate/sandbox/level", (json!("L4"), ViolationKind::Level)),
        ("/predicate/mode", (json!("execute"), ViolationKind::Mode)),
        ("/predicate/agent/name", (json!("somebody"), ViolationKind::Agent)),
        ("/predicate/model/provider", (json!("elsewhere"), ViolationKind::Model)),
        ("/predicate/model", (Value::Null, ViolationKind::Model)),
        ("/predicate/sandbox/enforced/tools", (json!(false), ViolationKind::Tools)),
        ("/predicate/change/files", (json!(2), ViolationKind::Size)),
        ("/predicate/checks/state", (json!("unverified"), ViolationKind::Checks)),
        ("/predicate/checks/ran/0/exitCode", (json!(1), ViolationKind::Checks)),
        ("/predicate/checks/ran", (json!([]), ViolationKind::Checks)),
        ("/predicate/checks/ran/0/command", (json!("true"), ViolationKind::Checks)),
        (
            "/predicate/checks/weakened",
            (json!([{"path": "t.py", "kind": "tests_removed", "count": 1}]), ViolationKind::WeakenedTests),
        ),
        ("/predicate/steps/1/gate/by", (json!("rule"), ViolationKind::Approval)),
        ("/predicate/steps/1/gate/decision", (json!("stopped"), ViolationKind::Approval)),
        ("/predicate/steps/1/gate/seen", (json!({}), ViolationKind::Approval)),
        ("/predicate/steps", (json!([]), ViolationKind::Approval)),
        ("/predicate/accepted", (json!(["no isolation"]), ViolationKind::AcceptedRights)),
        ("/predicateType", (json!("https://example.com/other"), ViolationKind::Statement)),
        ("/_type", (json!("https://in-toto.io/Statement/v0.1"), ViolationKind::Statement)),
    ]);
    let truth = serde_json::to_value(statement()).unwrap();
    for (at, (lie, kind)) in rules {
        let mut other = truth.clone();
        *other.pointer_mut(at).unwrap_or_else(|| panic!("{at}")) = lie;
        let envelope = DsseEnvelope::seal(&serde_json::from_value(other).unwrap(), &key).unwrap();
        assert_eq!(kinds(&envelope, &policy), BTreeSet::from([kind]), "{at}");
    }
    let mut overridden = truth;
    overridden["predicate"]["override"] = json!({"reason": "we need it today", "uid": 1000});
    let envelope = DsseEnvelope::seal(&serde_json::from_value(overridden).unwrap(), &key).unwrap();
    assert_eq!(kinds(&envelope, &policy), BTreeSet::from([ViolationKind::Override]));
    // What the release gate held and somebody let pass is taken from the manifest as it is written.
    let mut manifest = manifest();
    manifest["metadata"]["overrides"] = json!([{"of": ["sensitive"], "to": "apply", "run": "20260102-030405-abcdef", "person": "ada", "reason": "I have read it", "at": "2026-01-02T03:04:05Z"}]);
    let passed = RunStatement::about(manifest.to_string().as_bytes()).unwrap();
    assert_eq!(
        kinds(&DsseEnvelope::seal(&passed, &key).unwrap(), &policy),
        BTreeSet::from([ViolationKind::Override])
    );
}

#[test]
fn two_signers_are_two_keys() {
    let keys = TamperingKeys::new();
    let (one, two) =
        (SigningKey::read(&keys.ed25519("one")).unwrap(), SigningKey::read(&keys.ssh("two")).unwrap());
    let mut policy = policy(&one);
    policy.signatures = 2;
    policy.signer.push(Signer { name: "ada again".into(), key: one.public().to_text() });
    policy.signer.push(Signer { name: "bob".into(), key: two.public().to_text() });
    let mut envelope = DsseEnvelope::seal(&statement(), &one).unwrap();
    assert_eq!(
        kinds(&envelope, &policy),
        BTreeSet::from([ViolationKind::Signature]),
        "one key under two names"
    );
    envelope.signatures.extend(DsseEnvelope::seal(&statement(), &two).unwrap().signatures);
    assert_eq!(judge(&envelope, &policy, &presented()).unwrap().0, ["ada", "bob"]);
    let _ = PAYLOAD_TYPE;
}

/// OpenSSH itself takes the signature for this purpose, and for no other.
#[test]
fn ssh_keygen_verifies_what_an_ssh_key_signed() {
    let keys = TamperingKeys::new();
    let path = keys.ssh("person");
    let key = SigningKey::read(&path).unwrap();
    let envelope = DsseEnvelope::seal(&statement(), &key).unwrap();
    let payload = envelope.payload().unwrap();
    let mut signed = format!("DSSEv1 {} {PAYLOAD_TYPE} {} ", PAYLOAD_TYPE.len(), payload.len()).into_bytes();
    signed.extend(&payload);
    let file = |name: &str, bytes: &[u8]| {
        let path = keys.folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let lines: Vec<String> = envelope.signatures[0]
        .sig
        .as_bytes()
        .chunks(70)
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect();
    let armour =
        format!("-----BEGIN SSH SIGNATURE-----\n{}\n-----END SSH SIGNATURE-----\n", lines.join("\n"));
    let signature = file("statement.sig", armour.as_bytes());
    let signers = file("signers", format!("ada {}\n", key.public().to_text()).as_bytes());
    let message = file("message", &signed);
    let verify = |namespace: &str| {
        let mut call = Command::new("ssh-keygen");
        call.args(["-Y", "verify", "-I", "ada", "-n", namespace, "-f"])
            .arg(&signers)
            .arg("-s")
            .arg(&signature);
        call.stdin(fs::File::open(&message).unwrap()).output().unwrap().status.success()
    };
    assert!(verify(NAMESPACE) && !verify("git"));
}
