#![allow(clippy::unwrap_used)]

use std::path::Path;

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::known_login::{known_login, known_logins};

fn read(name: &str, text: &str) -> Result<LoginTokens, LoginError> {
    parse(known_login(name).unwrap(), Path::new("/h/login.json"), text.as_bytes())
}

fn answer() -> TokenAnswer {
    TokenAnswer {
        access: Secret::new("new-access"),
        refresh: Some(Secret::new("new-refresh")),
        id: Some(Secret::new("new-id")),
        ends: Timestamp::from_second(2_000_000_000).ok(),
        received: Timestamp::from_second(1_999_996_400).unwrap(),
    }
}

/// A file of each agent, with the account and the end that are expected of it.
fn files() -> Vec<(&'static str, Value, Option<&'static str>, Option<i64>)> {
    // {"exp":1900000000}
    let jwt = "e30.eyJleHAiOjE5MDAwMDAwMDB9.x";
    let oauth = |expires: i64| json!({"type": "oauth", "access": "a", "refresh": "r", "expires": expires, "accountId": "acc"});
    vec![
        (
            "claude",
            json!({"claudeAiOauth": {"accessToken": "a", "refreshToken": "r", "expiresAt": 1_900_000_000_000_i64, "scopes": ["x"], "subscriptionType": "max", "later": 1}, "mcpOAuth": {"k": 2}}),
            None,
            Some(1_900_000_000),
        ),
        (
            "codex",
            json!({"auth_mode": "chatgpt", "OPENAI_API_KEY": null, "tokens": {"id_token": jwt, "access_token": jwt, "refresh_token": "r", "account_id": "acc"}, "last_refresh": "2026-11-01T00:00:00Z"}),
            Some("acc"),
            Some(1_900_000_000),
        ),
        (
            "gemini",
            json!({"access_token": "a", "refresh_token": "r", "scope": "s", "id_token": jwt, "expiry_date": 1_900_000_000_000_i64}),
            None,
            Some(1_900_000_000),
        ),
        (
            "copilot",
            json!({"authTokens": {"https://github.com:me": {"token": "a"}}, "loggedInUsers": []}),
            None,
            None,
        ),
        (
            "opencode",
            json!({"openai": oauth(1_900_000_000_000), "other": {"type": "api"}}),
            Some("acc"),
            Some(1_900_000_000),
        ),
        ("pi-claude", json!({"anthropic": oauth(1_900_000_000_000)}), None, Some(1_900_000_000)),
        ("pi-chatgpt", json!({"openai-codex": oauth(1_900_000_000_000)}), Some("acc"), Some(1_900_000_000)),
        (
            "goose",
            json!({"access_token": "a", "refresh_token": "r", "expires_at": "2030-03-17T17:46:40Z", "account_id": "acc"}),
            Some("acc"),
            Some(1_900_000_000),
        ),
        (
            "cline",
            json!({"providers": {"openai-codex": {"settings": {"auth": {"accessToken": "a", "refreshToken": "r", "accountId": "acc", "expiresAt": 1_900_000_000_000_i64}}}}}),
            Some("acc"),
            Some(1_900_000_000),
        ),
        ("kilo", json!({"kilo": oauth(1_900_000_000_000)}), Some("acc"), Some(1_900_000_000)),
        (
            "qwen",
            json!({"access_token": "a", "expiry_date": 1_900_000_000_000_i64}),
            None,
            Some(1_900_000_000),
        ),
    ]
}

#[test]
fn every_agents_file_is_read() {
    let files = files();
    for login in known_logins() {
        assert!(files.iter().any(|(name, ..)| *name == login.name), "no file of {}", login.name);
    }
    for (name, file, account, ends) in files {
        let tokens = read(name, &file.to_string()).unwrap();
        assert_eq!(tokens.account.as_deref(), account, "{name}");
        assert_eq!(tokens.ends.map(Timestamp::as_second), ends, "{name}");
        assert!(!tokens.access.is_blank());
    }
    let claude = read("claude", &files_text("claude")).unwrap();
    assert_eq!((claude.scopes, claude.plan.as_deref()), (vec!["x".to_owned()], Some("max")));
}

fn files_text(name: &str) -> String {
    files().into_iter().find(|(known, ..)| *known == name).unwrap().1.to_string()
}

#[test]
fn comments_are_read_over() {
    let text =
        "// User settings\n{\"authTokens\": {\"https://github.com:me\": {\"token\": \"gho_x\"}}} /* end */";
    assert_eq!(read("copilot", text).unwrap().access, Secret::new("gho_x"));
}

#[test]
fn what_is_wrong_is_one_sentence() {
    for (name, text, sentence) in [
        ("claude", "", "ends in the middle"),
        ("claude", " \n\0\0", "ends in the middle"),
        ("claude", "{\"claudeAiOauth\": {\"accessToken\": \"canary", "ends in the middle"),
        ("claude", "{\n\"canary\" \"x\"}", "is no JSON (line 2)"),
        ("claude", "\u{feff}x", "is no JSON"),
        ("claude", "{}", "nobody is logged in"),
        ("claude", r#"{"mcpOAuth": {}}"#, "nobody is logged in"),
        ("claude", r#"{"mcpOAuth": {"server": {"accessToken": "a"}}}"#, "nobody is logged in"),
        ("codex", r#"{"OPENAI_API_KEY": "sk"}"#, "nobody is logged in"),
        ("pi-claude", r#"{"another": {"type": "oauth", "access": "a"}}"#, "nobody is logged in"),
        ("claude", r#"{"version": 7, "accounts": []}"#, "newer than this version"),
        ("claude", r#"{"claudeAiOauthV2": {"token": "a"}}"#, "newer than this version"),
        ("claude", r#"{"logins": {"claudeAiOauth": {"accessToken": "a"}}}"#, "newer than this version"),
        ("claude", r#"{"logins": [{"accessToken": "a"}]}"#, "newer than this version"),
        ("codex", r#"{"auth_mode": "chatgpt", "tokens_v2": {}}"#, "newer than this version"),
        ("claude", r#"{"claudeAiOauth": null}"#, "nobody is logged in"),
        ("claude", r#"{"claudeAiOauth": {}}"#, "nobody is logged in"),
        (
            "claude",
            r#"{"claudeAiOauth": {"accessToken": "", "refreshToken": ""}}"#,
            "run `claude auth login`|log in with `claude auth login`",
        ),
        (
            "claude",
            r#"{"claudeAiOauth": {"tokens": {"access": "canary"}}}"#,
            "/claudeAiOauth/accessToken is missing",
        ),
        ("claude", r#"{"claudeAiOauth": ["canary"]}"#, "/claudeAiOauth is a list"),
        ("claude", r#"{"claudeAiOauth": {"accessToken": {"v2": "canary"}}}"#, "accessToken is an object"),
        ("claude", r#"{"claudeAiOauth": {"accessToken": "a", "expiresAt": "soon"}}"#, "expiresAt is no time"),
        ("claude", r#"{"claudeAiOauth": {"accessToken": "a b\n"}}"#, "characters that no header can hold"),
        ("claude", r#"["canary"]"#, "/ is a list"),
        (
            "codex",
            r#"{"auth_mode": "apikey", "OPENAI_API_KEY": "canary", "tokens": null}"#,
            "nobody is logged in",
        ),
        ("codex", r#"{"tokens": "canary"}"#, "/tokens is a text"),
        ("copilot", r#"{"authTokens": {}}"#, "log in with `copilot login`"),
        ("gemini", r#"{"token_v2": "canary"}"#, "/access_token is missing"),
    ] {
        let error = read(name, text).unwrap_err();
        let words = error.to_string();
        assert!(sentence.split('|').any(|part| words.contains(part)), "{text}: {words}");
        assert!(!words.contains("canary") && !format!("{error:?}").contains("canary"), "{words}");
        assert!(words.contains("/h/login.json"), "{words}");
    }
}

#[test]
fn writing_back_changes_tokens_alone() {
    for (name, before, _, ends) in files() {
        let login = known_login(name).unwrap();
        if login.comments {
            continue;
        }
        let bytes = before.to_string();
        let after = renewed(login, Path::new("/x"), bytes.as_bytes(), &answer()).unwrap();
        let tokens = parse(login, Path::new("/x"), &after).unwrap();
        assert_eq!(tokens.access, answer().access, "{name}");
        let refreshed = login.fields.refresh.is_some();
        assert_eq!(tokens.refresh, answer().refresh.filter(|_| refreshed), "{name}");
        // ChatGPT's tokens say their own end, and the new one of this test does not.
        let expect = if name == "codex" { None } else { ends.map(|_| 2_000_000_000) };
        assert_eq!(tokens.ends.map(Timestamp::as_second), expect, "{name}");
        let mut left: Value = serde_json::from_slice(&after).unwrap();
        for field in [&login.fields.access].into_iter().chain(
            [&login.fields.refresh, &login.fields.id, &login.fields.expires, &login.fields.renewed]
                .into_iter()
                .flatten(),
        ) {
            match find(&before, field) {
                Some(old) => assert!(put(&mut left, field, old.clone())),
                None => {
                    let (parent, key) = field.rsplit_once('/').unwrap();
                    left.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(key);
                }
            }
        }
        assert_eq!(left, before, "{name}");
    }
}

#[test]
fn the_look_of_a_file_stays() {
    let login = known_login("codex").unwrap();
    let pretty = "{\n  \"tokens\": {\n    \"access_token\": \"a\"\n  }\n}\n";
    let short = TokenAnswer { refresh: None, id: None, ends: None, ..answer() };
    let after = renewed(login, Path::new("/x"), pretty.as_bytes(), &short).unwrap();
    let expect = "{\n  \"tokens\": {\n    \"access_token\": \"new-access\"\n  },\n  \"last_refresh\": \"2033-05-18T02:33:20Z\"\n}\n";
    assert_eq!(String::from_utf8(after).unwrap(), expect);
    let tight = r#"{"tokens":{"access_token":"a"}}"#;
    let after = renewed(login, Path::new("/x"), tight.as_bytes(), &short).unwrap();
    assert!(!after.contains(&b'\n'));
    assert!(renewed(login, Path::new("/x"), b"{}", &short).is_err());
}

#[test]
fn debug_shows_no_token() {
    let text = r#"{"claudeAiOauth": {"accessToken": "canary-a", "refreshToken": "canary-r"}}"#;
    let shown = format!("{:?}", read("claude", text).unwrap());
    assert!(!shown.contains("canary"), "{shown}");
    let shown = format!("{:?}", TokenAnswer { access: Secret::new("canary"), ..answer() });
    assert!(!shown.contains("canary") && !shown.contains("new-"), "{shown}");
}

/// JSON of any shape, with the names that are looked for.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z.]{0,6}".prop_map(Value::from),
    ];
    let key = prop_oneof![
        Just("claudeAiOauth"),
        Just("accessToken"),
        Just("refreshToken"),
        Just("expiresAt"),
        Just("scopes"),
        Just("tokens"),
        Just("access_token"),
        Just("expiry_date"),
        Just("expires_at"),
        Just("authTokens"),
        Just("token"),
        Just("openai"),
        Just("access"),
        Just("expires"),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let object = prop::collection::vec((key.clone(), inner.clone()), 0..4);
        prop_oneof![
            prop::collection::vec(inner, 0..3).prop_map(Value::from),
            object.prop_map(|pairs| pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        for login in known_logins() {
            let _ = parse(login, Path::new("/x"), &bytes);
            let _ = renewed(login, Path::new("/x"), &bytes, &answer());
        }
    }

    #[test]
    fn no_shape_panics_and_what_is_written_is_read(value in json_value()) {
        let bytes = value.to_string().into_bytes();
        for login in known_logins().iter().filter(|login| !login.comments) {
            let before = parse(login, Path::new("/x"), &bytes);
            if let Ok(after) = renewed(login, Path::new("/x"), &bytes, &answer())
                && before.is_ok()
            {
                prop_assert_eq!(parse(login, Path::new("/x"), &after).unwrap().access, answer().access);
            }
        }
    }

    #[test]
    fn no_piece_of_a_file_is_taken_for_a_login(cut in 0usize..400) {
        for (name, file, ..) in files() {
            let text = file.to_string();
            if cut < text.len() {
                let half = matches!(read(name, &text[..cut]), Err(LoginError::HalfWritten { .. }));
                prop_assert!(half, "{} {}", name, cut);
            }
        }
    }
}
