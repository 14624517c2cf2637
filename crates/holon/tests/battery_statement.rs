//! A signed statement, verified by an implementation of DSSE and in-toto that is not ours.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use holon_testkit::{TestEnv, current_test, skip_security};

/// Where a Python with both packages is; the battery's set-up puts it there.
const PYTHON: &str = "HOLON_IN_TOTO";

/// Reads an envelope and a public key in PEM; ends with 0 when the signature is the key's and the statement is sound.
const VERIFY: &str = r#"
import json, sys
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key
from google.protobuf import json_format
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

data = json.load(open(sys.argv[1]))
public = load_pem_public_key(open(sys.argv[2], "rb").read())
raw = public.public_bytes(Encoding.Raw, PublicFormat.Raw)
key = SSlibKey(data["signatures"][0]["keyid"], "ed25519", "ed25519", {"public": raw.hex()})
envelope = Envelope.from_dict(data)
envelope.verify([key], 1)
assert envelope.payload_type == "application/vnd.in-toto+json", envelope.payload_type
statement = json_format.Parse(envelope.payload, statement_pb2.Statement())
Statement.copy_from_pb(statement).validate()
print(statement.subject[0].name, statement.subject[0].digest["sha256"], statement.predicate_type)
"#;

#[test]
fn another_implementation_takes_the_statement_and_no_other() {
    let Some(python) = std::env::var_os(PYTHON).map(PathBuf::from).filter(|path| path.is_file()) else {
        let why = "there is no in-toto-attestation: `cargo xtask battery statement` installs it";
        return skip_security(&current_test(), why);
    };
    let env = TestEnv::new(env!("CARGO_BIN_EXE_holon"));
    let repo = env.repo().file("a.txt", "one\n").commit("first");
    let agent =
        env.agent("agent.sh", "#!/bin/sh\necho two >> a.txt\necho '# Done' > /holon/output/summary.md\n");
    let out = env.work().join("out");
    let call = env
        .holon(["run", "--mode", "execute", "--goal", "Add two", "--agent"])
        .arg(agent)
        .arg("--out")
        .arg(&out);
    call.cwd(repo.path()).timeout(Duration::from_secs(60)).run().assert_code(0);

    let make = "from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey as K\n\
        from cryptography.hazmat.primitives.serialization import *\nimport sys\nk = K.generate()\n\
        open(sys.argv[1], 'wb').write(k.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))\n\
        open(sys.argv[2], 'wb').write(k.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))\n";
    let (key, public) = (env.work().join("key.pem"), env.work().join("key.pub.pem"));
    assert!(Command::new(&python).args(["-c", make]).arg(&key).arg(&public).status().unwrap().success());
    env.holon(["attest"]).arg(&out).arg("--key").arg(&key).run().assert_code(0);
    env.holon(["verify", "--policy", "signed"]).arg(&out).arg("--signer").arg(&public).run().assert_code(0);

    let verify =
        |file: &PathBuf| Command::new(&python).args(["-c", VERIFY]).arg(file).arg(&public).output().unwrap();
    let envelope = out.join("attestation.json");
    let said = verify(&envelope);
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.status.success(), "{text}{}", String::from_utf8_lossy(&said.stderr));
    let patch = holon_core::digest::sha256(&std::fs::read(out.join("diff.patch")).unwrap());
    assert!(text.starts_with(&format!("diff.patch {patch} https://")), "{text}");
    let other =
        std::fs::read_to_string(&envelope).unwrap().replacen("\"payload\": \"ey", "\"payload\": \"eY", 1);
    assert!(!verify(&env.write("work/other.json", other)).status.success());
}
