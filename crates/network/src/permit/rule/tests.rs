#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;

use super::*;

#[test]
fn permits_are_read_and_written_back_in_one_form() {
    let check = |text: &str, expect: &str| {
        let rule = PermitRule::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(rule.to_string(), expect, "{text}");
        assert_eq!(PermitRule::parse(expect), Ok(rule), "{expect}");
    };
    check("example.org", "example.org");
    check(" Example.ORG. ", "example.org");
    check("example.org:8443", "example.org:8443");
    check("*.Example.org", "*.example.org");
    check("*.example.org:8443", "*.example.org:8443");
    check("192.0.2.7", "192.0.2.7");
    check("192.0.2.7:8080", "192.0.2.7:8080");
    check("[2001:DB8::7]:443", "[2001:db8::7]:443");
    check("2001:db8::7", "[2001:db8::7]");
    check("intranet:443", "intranet:443");
    check("npm", "npm");
    check("git:origin", "git:origin");
    check("git:up/stream", "git:up/stream");
    check("bücher.example", "xn--bcher-kva.example");
}

#[test]
fn what_cannot_be_permitted_says_what_to_write() {
    let check = |text: &str, expect: &str| {
        let error = PermitRule::parse(text).expect_err(text).to_string();
        assert!(error.contains(expect), "{text}: {error}");
    };
    check("", "it is empty");
    check("npn", "did you mean `npm`?");
    check("crago", "did you mean `cargo`?");
    check("nosuchclient", "`nosuchclient:443`");
    check("git", "git:origin");
    check("git:", "git:origin");
    check("git:-x", "git:origin");
    check("https://example.org/a?b", "such as `example.org`");
    check("example.org/path", "such as `example.org`");
    check("https://user:secret@example.org/", "such as `example.org`");
    check("*", "--network host");
    check("*.org", "top-level");
    check("a.*.org", "a star stands");
    check("**.example.org", "a star stands");
    check("*example.org", "a star stands");
    check("localhost", "127.0.0.1:8080");
    check("a.localhost:80", "127.0.0.1:8080");
    check("example.org:0", "no port");
    check("example.org:99999", "no port");
    check("user@example.org", "user name");
    check("0x7f000001", "four decimal numbers");
    check("127.1:80", "four decimal numbers");
    check("0177.0.0.1", "four decimal numbers");
    check("２１３０７０６４３３:80", "four decimal numbers");
    check("exa mple.org", "cannot be part");
}

#[test]
fn errors_hold_no_credential() {
    for text in
        ["https://user:hunter22@example.org/", "user:hunter22@example.org", "user:hunter22@example.org:443"]
    {
        let error = PermitRule::parse(text).expect_err(text).to_string();
        assert!(!error.contains("hunter22"), "{error}");
    }
}

#[test]
fn ports_that_are_not_named_are_the_usual_ones() {
    let rule = |text: &str| HostRule::parse(text).unwrap();
    assert!(rule("example.org").permits_port(443));
    assert!(rule("example.org").permits_port(80));
    assert!(!rule("example.org").permits_port(22));
    assert!(rule("example.org:22").permits_port(22));
    assert!(!rule("example.org:22").permits_port(443));
}

#[test]
fn the_narrowest_rule_is_one_that_permits() {
    for target in ["example.org:443", "example.org:8443", "intranet:443", "192.0.2.7:80", "[2001:db8::7]:22"]
    {
        let target = HostTarget::parse(target, None).unwrap();
        let rule = HostRule::narrowest(&target).to_string();
        let rule = HostRule::parse(&rule).unwrap();
        assert!(rule.names(&target.host) && rule.permits_port(target.port), "{target}");
    }
}

proptest! {
    #[test]
    fn reading_never_fails_badly(text in any::<String>()) {
        let _ = PermitRule::parse(&text);
        let _ = HostTarget::parse(&text, Some(443));
    }

    #[test]
    fn what_is_read_is_written_and_read_again(text in r"(\*\.)?[a-zA-Z0-9.\[\]:_*-]{1,30}") {
        if let Ok(rule) = PermitRule::parse(&text) {
            let written = rule.to_string();
            prop_assert_eq!(PermitRule::parse(&written), Ok(rule), "{}", written);
        }
    }
}
