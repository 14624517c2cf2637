#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicI64, Ordering};

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// A shell script as the program.
fn script(text: &str) -> CommandCredential {
    CommandCredential::new("/bin/sh", ["-c".to_owned(), text.to_owned()], TokenHeader::Bearer)
}

fn shown(credential: &Credential) -> Vec<(String, String)> {
    credential
        .headers()
        .iter()
        .map(|header| (header.name.clone(), header.value.expose().to_owned()))
        .collect()
}

#[test]
fn what_is_printed_is_read() {
    let read = |value: Value| read(value.to_string().as_bytes(), TokenHeader::ApiKey);
    let credential =
        read(json!({"token": "t", "expires_at": "2030-03-17T17:46:40Z", "headers": {"X-A": "b"}})).unwrap();
    assert_eq!(shown(&credential), [("x-api-key".into(), "t".into()), ("x-a".into(), "b".into())]);
    assert_eq!(credential.ends().unwrap().as_second(), 1_900_000_000);
    for number in [json!(1_900_000_000), json!(1_900_000_000_000_i64), json!(1_900_000_000.5)] {
        assert_eq!(
            read(json!({"token": "t", "expires_at": number})).unwrap().ends().unwrap().as_second(),
            1_900_000_000
        );
    }
    for (value, what) in [
        (json!({}), "no JSON object with a token"),
        (json!("canary"), "no JSON object with a token"),
        (json!({"token": " "}), "no JSON object with a token"),
        (json!({"token": "canary\nx"}), "no header can hold"),
        (json!({"token": "t", "expires_at": "canary"}), "no time"),
        (json!({"token": "t", "expires_at": []}), "no time"),
        (json!({"token": "t", "headers": ["canary"]}), "no object"),
        (json!({"token": "t", "headers": {"a b": "canary"}}), "a header that is none"),
        (json!({"token": "t", "headers": {"a": "canary\r\nb: c"}}), "a header that is none"),
    ] {
        assert!(read(value).unwrap_err().contains(what));
    }
}

#[test]
fn it_is_asked_again_shortly_before_the_end() {
    let at = |second| Timestamp::from_second(second).unwrap();
    for (ends, made, now, fresh) in [
        (None, 0, 1_000_000, true),
        (Some(3600), 0, 3539, true),
        (Some(3600), 0, 3540, false),
        (Some(100), 0, 89, true),
        (Some(100), 0, 90, false),
    ] {
        assert_eq!(is_fresh(ends.map(at), at(made), at(now)), fresh, "{ends:?} {now}");
    }
}

#[test]
fn it_is_run_once_until_then_and_once_for_a_refusal() {
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count");
    let text = format!(
        "echo x >> {0}; printf '{{\"token\": \"t%s\", \"expires_at\": 1000}}' $(wc -l < {0})",
        count.display()
    );
    let now = Arc::new(AtomicI64::new(0));
    let told = Arc::clone(&now);
    let clock: Clock =
        Arc::new(move || Timestamp::from_second(told.load(Ordering::SeqCst)).unwrap_or_default());
    let command = script(&text).with_clock(clock);
    let token = |credential: &Credential| shown(credential)[0].1.clone();
    let first = command.credential().unwrap();
    assert_eq!(
        (token(&first), token(&command.credential().unwrap())),
        ("Bearer t1".into(), "Bearer t1".into())
    );
    let second = command.after_refusal(&first).unwrap();
    assert_eq!(token(&second), "Bearer t2");
    assert_eq!(
        token(&command.after_refusal(&first).unwrap()),
        "Bearer t2",
        "another request with the same old one"
    );
    let error = command.after_refusal(&second).unwrap_err();
    assert!(error.is_refusal() && error.to_string().contains("what `/bin/sh` prints"), "{error}");
    now.store(950, Ordering::SeqCst);
    assert_eq!(token(&command.credential().unwrap()), "Bearer t3");
    now.store(2000, Ordering::SeqCst);
    assert!(command.credential().unwrap_err().to_string().contains("has ended already"));
}

#[test]
fn it_is_bounded_and_its_words_are_covered() {
    for (text, what) in [
        ("exit 3", "ended with exit code 3"),
        (
            "echo 'no session for sk-ant-oat01-canary, key=canary0123456789 tok canary-canary-canary-canary' >&2; exit 1",
            "ended with exit code 1: no session for […] […] tok […]",
        ),
        ("kill -9 $$", "ended with signal 9"),
        ("echo canary", "printed no JSON object"),
        ("head -c 100000 /dev/zero", "printed more than 65536 bytes"),
        ("true", "printed no JSON object"),
    ] {
        let error = script(text).credential().unwrap_err().to_string();
        assert!(error.contains(what), "{text}: {error}");
        assert!(!error.contains("canary"), "{error}");
    }
    let patience = Duration::from_millis(50);
    for endless in ["sleep 1000", "sleep 1000 & echo '{\"token\": \"canary\"}'; wait", "yes canary"] {
        let error = script(endless).with_patience(patience).credential().unwrap_err().to_string();
        assert!(error.contains("took longer than 0.05 s"), "{endless}: {error}");
    }
    // What it leaves behind does not hold it up, and does not stay.
    let left = script("sleep 1000 & echo '{\"token\": \"t\"}'").with_patience(Duration::from_secs(20));
    assert_eq!(shown(&left.credential().unwrap())[0].1, "Bearer t");
    let error = CommandCredential::new("/no/such/program", [], TokenHeader::Bearer).credential().unwrap_err();
    assert!(error.to_string().contains("`/no/such/program` cannot be started"), "{error}");
}

proptest! {
    #[test]
    fn nothing_printed_panics(printed in prop::collection::vec(any::<u8>(), 0..80), number in any::<f64>()) {
        let _ = (read(&printed, TokenHeader::Bearer), words(&printed));
        let _ = read(json!({"token": "t", "expires_at": number}).to_string().as_bytes(), TokenHeader::Bearer);
    }

    #[test]
    fn no_token_is_repeated(token in "[A-Za-z0-9_-]{25,60}", before in "[a-z]{0,8}[ :='\"]") {
        let said = words(format!("{before}{token}").as_bytes());
        prop_assert!(!said.contains(&token));
    }
}
