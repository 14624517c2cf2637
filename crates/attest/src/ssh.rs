//! SSH signatures by `ssh-keygen -Y`: agents, hardware tokens and every kind of key, without a line of cryptography here.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use base64::Engine;
use base64::prelude::BASE64_STANDARD as STANDARD;
use base64::prelude::BASE64_STANDARD_NO_PAD as STANDARD_NO_PAD;

use crate::error::AttestError;

/// What signatures are made for; one made for files or commits is worth nothing here.
pub const NAMESPACE: &str = "attestation@holon";
/// The name a key goes by while it is checked.
const PRINCIPAL: &str = "signer";
const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";

/// Signs a message; gives the SSHSIG structure without its armour.
pub(crate) fn sign(key: &Path, message: &[u8]) -> Result<Vec<u8>, AttestError> {
    let mut call = Command::new("ssh-keygen");
    call.args(["-Y", "sign", "-q", "-n", NAMESPACE, "-f"]).arg(key);
    let out = run("sign", &mut call, message)?;
    if !out.status.success() {
        return Err(refused("sign", &out));
    }
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let body = text.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).map(|(body, _)| body);
    let bytes = body.and_then(|body| STANDARD.decode(body.split_whitespace().collect::<String>()).ok());
    bytes.ok_or_else(|| AttestError::Ssh { doing: "sign", why: "it gave no signature".into() })
}

/// Whether a signature over a message is this key's, made for this purpose.
pub(crate) fn verify(public: &str, message: &[u8], sig: &[u8]) -> Result<bool, AttestError> {
    if !sig.starts_with(b"SSHSIG") {
        return Ok(false);
    }
    let failed = |e: std::io::Error| AttestError::Ssh { doing: "verify", why: e.to_string() };
    let folder = tempfile::tempdir().map_err(failed)?;
    let (signers, signature) = (folder.path().join("signers"), folder.path().join("signature"));
    fs::write(&signers, format!("{PRINCIPAL} namespaces=\"{NAMESPACE}\" {public}\n")).map_err(failed)?;
    fs::write(&signature, armoured(sig)).map_err(failed)?;
    let mut call = Command::new("ssh-keygen");
    call.args(["-Y", "verify", "-q", "-n", NAMESPACE, "-I", PRINCIPAL, "-f"])
        .arg(&signers)
        .arg("-s")
        .arg(&signature);
    Ok(run("verify", &mut call, message)?.status.success())
}

/// The public half of a private key's file.
pub(crate) fn public_of(key: &Path) -> Result<String, AttestError> {
    let beside = key.with_file_name(format!("{}.pub", key.file_name().unwrap_or_default().to_string_lossy()));
    if let Ok(text) = fs::read_to_string(beside) {
        return Ok(text);
    }
    let mut call = Command::new("ssh-keygen");
    // Without a passphrase to give, one that is needed is a refusal and not a question.
    call.args(["-y", "-P", "", "-f"]).arg(key);
    let out = run("read the key", &mut call, b"")?;
    if !out.status.success() {
        return Err(refused("read the key", &out));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// The fingerprint as OpenSSH shows it.
pub(crate) fn fingerprint(public: &str) -> Option<String> {
    let key = STANDARD.decode(public.split_whitespace().nth(1)?).ok()?;
    let digest = ring::digest::digest(&ring::digest::SHA256, &key);
    Some(format!("SHA256:{}", STANDARD_NO_PAD.encode(digest.as_ref())))
}

/// A signature as `ssh-keygen` reads it.
pub(crate) fn armoured(sig: &[u8]) -> String {
    let text = STANDARD.encode(sig);
    let lines: Vec<&str> = (0..text.len()).step_by(70).map(|at| &text[at..text.len().min(at + 70)]).collect();
    format!("{BEGIN}\n{}\n{END}\n", lines.join("\n"))
}

fn run(doing: &'static str, call: &mut Command, input: &[u8]) -> Result<Output, AttestError> {
    let failed = |e: std::io::Error| {
        let why = match e.kind() {
            std::io::ErrorKind::NotFound => "it is not installed".to_owned(),
            _ => e.to_string(),
        };
        AttestError::Ssh { doing, why }
    };
    let mut child =
        call.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that ends before it has read everything has its reasons, which it gives.
        let _ = stdin.write_all(input);
    }
    child.wait_with_output().map_err(failed)
}

fn refused(doing: &'static str, out: &Output) -> AttestError {
    let said = String::from_utf8_lossy(&out.stderr);
    let why = said.lines().next().unwrap_or("it gave no reason").to_owned();
    AttestError::Ssh { doing, why }
}
