#![allow(clippy::unwrap_used)]
use super::*;
use std::sync::LazyLock;

use proptest::prelude::*;

fn check(text: &str, expect: &str) {
    assert_eq!(Redactor::default().redact_str(text), expect);
}

/// A credential-like text that is put together here, so that no scanner takes this file for a leak.
fn token(prefix: &str, length: usize) -> String {
    let body: String = "Ab3Cd4Ef5Gh6Jk7Lm8Np9Qr2".chars().cycle().take(length).collect();
    format!("{prefix}{body}")
}

#[test]
fn inv_06_shapes_are_removed() {
    check(&format!("key={} x", token("sk-ant-", 40)), "key=[redacted:anthropic-key] x");
    check(&format!("\"{}\"", token("sk-or-v1-", 64)), "\"[redacted:openrouter-key]\"");
    check(&token("sk-proj-", 60), "[redacted:openai-key]");
    check(&token("sk-", 48), "[redacted:sk-key]");
    check(&token("ghp_", 36), "[redacted:github-token]");
    check(&token("github_pat_", 82), "[redacted:github-pat]");
    check(&token("glpat-", 20), "[redacted:gitlab-token]");
    check(&token("xoxb-", 40), "[redacted:slack-token]");
    check(&format!("id {} end", "AKIA".to_owned() + "ABCDEFGHIJKLMNOP"), "id [redacted:aws-key-id] end");
    check(&format!("aws_secret_access_key = \"{}\"", token("", 40)), "[redacted:aws-secret-key]\"");
    check(&token("AIza", 35), "[redacted:google-api-key]");
    check(&token("npm_", 36), "[redacted:npm-token]");
    check(&token("pypi-", 80), "[redacted:pypi-token]");
    check(&token("sk_live_", 24), "[redacted:stripe-key]");
    check(&token("hf_", 34), "[redacted:huggingface-token]");
    check(&format!("{}.{}.{}", token("eyJ", 20), token("eyJ", 40), token("", 43)), "[redacted:jwt]");
    check(
        &format!("https://x:{}@github.com/a/b", token("ghs_", 36)),
        "https://x:[redacted:github-token]@github.com/a/b",
    );
}

#[test]
fn inv_06_armoured_keys_are_removed_whole() {
    let armour = |kind: &str, end: &str| {
        format!("a -----BEGIN {kind}-----\nMIIEabc+/=\nxyz\n-----END {kind}-----{end}")
    };
    check(&armour("RSA PRIVATE KEY", " b"), "a [redacted:private-key] b");
    check(&armour("OPENSSH PRIVATE KEY", ""), "a [redacted:private-key]");
    check(&armour("PRIVATE KEY", "\\n\" }").replace('\n', "\\n"), "a [redacted:private-key]\\n\" }");
    check("-----BEGIN PRIVATE KEY-----\nMIIEabc", "[redacted:private-key]");
    // Text about keys is not a key: it goes on after the first byte that no key contains.
    check("contains(\"-----BEGIN PRIVATE KEY-----\") {", "contains(\"[redacted:private-key]\") {");
    let public = armour("CERTIFICATE", "");
    check(&public, &public);
}

#[test]
fn ordinary_text_passes() {
    for text in [
        "task-force sk-learn ask-me risk-based-approach-to-things-that-are-long-enough-to-look-odd",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "ghp_short and AKIA and eyJ and -----BEGIN",
        "my_npm_package_with_a_rather_long_name_in_it",
        "AKIAABCDEFGHIJKLMNOPQRST",
        "日本語 – ünïcödé",
    ] {
        check(text, text);
    }
    let binary: Vec<u8> = (0..=255).cycle().take(5000).collect();
    assert_eq!(Redactor::default().redact(&binary), binary);
}

#[test]
fn inv_06_known_values_are_removed_in_every_form() {
    let redactor = Redactor::new([("MY_KEY", "p@ss/w0rd \"quoted\" value")]);
    let check = |text: &str| {
        let got = redactor.redact_str(text);
        assert!(got.contains("[redacted:MY_KEY]"), "{text} → {got}");
    };
    check("x p@ss/w0rd \"quoted\" value y");
    check("q=p%40ss%2Fw0rd%20%22quoted%22%20value");
    check("{\"k\":\"p@ss/w0rd \\\"quoted\\\" value\"}");
    check("Basic cEBzcy93MHJkICJxdW90ZWQiIHZhbHVl");
    check("Basic dTpwQHNzL3cwcmQgInF1b3RlZCIgdmFsdWU=");
    assert_eq!(Redactor::new([("X", "short")]).redact_str("short"), "short");
    // An overlapping pair leaves nothing of either behind.
    let pair = Redactor::new([("A", "abcdefghij"), ("B", "ghijklmnop"), ("C", "abcdefghijkl")]);
    assert_eq!(pair.redact_str("-abcdefghijklmnop-"), "-[redacted:A]-");
}

#[test]
fn nothing_is_held_back_without_need() {
    let mut stream = Redactor::new([("K", "supersecretvalue")]).stream();
    let mut out = Vec::new();
    stream.push(b"all of this line\n", &mut out);
    assert_eq!(out, b"all of this line\n");
    stream.push(b"and then super", &mut out);
    assert_eq!(out, b"all of this line\nand then ");
    stream.push(b"man ", &mut out);
    assert!(out.ends_with(b"and then superman "));
}

#[test]
fn hits_are_named() {
    let redactor = Redactor::default();
    assert_eq!(redactor.first_hit(token("x=ghp_", 36).as_bytes()), Some("github-token".to_owned()));
    assert_eq!(redactor.first_hit(b"nothing here"), None);
}

/// Pieces that begin, continue and end secrets of all kinds, so that random sequences come close to matching.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(b"supersecretvalue".to_vec()),
        Just(b"supersecret".to_vec()),
        Just(b"valuesuper".to_vec()),
        Just(token("ghp_", 36).into_bytes()),
        Just(token("sk-ant-", 30).into_bytes()),
        Just(b"sk-".to_vec()),
        Just(token("", 24).into_bytes()),
        Just(b"eyJ".to_vec()),
        Just(b".".to_vec()),
        Just(b"-----BEGIN RSA PRIVATE KEY-----".to_vec()),
        Just(b"-----END RSA PRIVATE KEY-----".to_vec()),
        Just(b"-----".to_vec()),
        Just(b"\n".to_vec()),
        Just(b" ".to_vec()),
        Just(b"\"".to_vec()),
        prop::collection::vec(any::<u8>(), 0..6),
    ]
}

static REDACTOR: LazyLock<Redactor> =
    LazyLock::new(|| Redactor::new([("ONE", "supersecretvalue"), ("TWO", "valuesupersecretvalueX")]));

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]
    #[test]
    fn inv_06_chunking_changes_nothing_and_no_secret_survives(
        pieces in prop::collection::vec(piece(), 0..14),
        cuts in prop::collection::vec(1usize..40, 1..60),
    ) {
        let text = pieces.concat();
        let redactor = &*REDACTOR;
        let whole = redactor.redact(&text);
        let mut stream = redactor.stream();
        let mut out = Vec::new();
        let mut rest = &text[..];
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, tail) = rest.split_at((*cut).min(rest.len()));
            stream.push(chunk, &mut out);
            rest = tail;
        }
        stream.finish(&mut out);
        prop_assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(&whole));
        prop_assert!(shapes::find(&out, b"supersecretvalue").is_none());
    }

    #[test]
    fn bytes_without_secrets_pass_unchanged(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let redactor = &*REDACTOR;
        prop_assume!(redactor.first_hit(&bytes).is_none());
        prop_assert_eq!(redactor.redact(&bytes), bytes);
    }
}
