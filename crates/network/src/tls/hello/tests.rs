#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;

use super::*;

fn list(body: &[u8]) -> Vec<u8> {
    [&u16::try_from(body.len()).unwrap().to_be_bytes()[..], body].concat()
}

fn extension(kind: u16, body: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &list(body)].concat()
}

fn name(text: &[u8]) -> Vec<u8> {
    extension(0, &list(&[&[0][..], &list(text)].concat()))
}

fn hello(extensions: &[u8]) -> Vec<u8> {
    let body = [&[3, 3][..], &[7; 32], &[0], &list(&[0x13, 1]), &[1, 0], &list(extensions)].concat();
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    [&[CLIENT_HELLO][..], &length[1..], &body].concat()
}

fn records(message: &[u8], size: usize) -> Vec<u8> {
    message.chunks(size).flat_map(|part| [&[HANDSHAKE, 3, 1][..], &list(part)].concat()).collect()
}

#[test]
fn a_name_is_found_however_the_message_is_cut() {
    let message =
        hello(&[extension(10, &[0; 4]), name(b"example.org"), extension(16, b"\0\x03\x02h2")].concat());
    for size in [1, 2, 3, 7, 50, 4000] {
        let bytes = records(&message, size);
        for end in 0..bytes.len() {
            assert_eq!(ClientHello::read(&bytes[..end]), HelloProgress::Incomplete, "{size} {end}");
        }
        let expect = ClientHello { server_name: Some("example.org".into()), hidden: false };
        assert_eq!(ClientHello::read(&bytes), HelloProgress::Whole(expect), "{size}");
    }
}

#[test]
fn a_hidden_name_is_seen() {
    for kind in [ENCRYPTED_HELLO, ENCRYPTED_NAME] {
        let bytes = records(&hello(&[name(b"front.example"), extension(kind, &[0; 9])].concat()), 4000);
        let expect = ClientHello { server_name: Some("front.example".into()), hidden: true };
        assert_eq!(ClientHello::read(&bytes), HelloProgress::Whole(expect));
    }
}

#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    let two_names = extension(0, &list(&[&[0][..], &list(b"a.test"), &[0], &list(b"b.test")].concat()));
    let behind_list = extension(0, &[&list(&[&[0][..], &list(b"a.test")].concat())[..], b"x"].concat());
    let other_kind = extension(0, &list(&[&[1][..], &list(b"a.test")].concat()));
    let mut longer = hello(&name(b"a.test"));
    longer.push(0);
    let mut behind = records(&hello(&name(b"a.test")), 4000);
    behind.extend_from_slice(&[20, 3, 3, 0, 1, 1]);
    for (what, bytes) in [
        ("two extensions", records(&hello(&[name(b"a.test"), name(b"b.test")].concat()), 4000)),
        ("two names", records(&hello(&two_names), 4000)),
        ("bytes behind the list", records(&hello(&behind_list), 4000)),
        ("another kind of name", records(&hello(&other_kind), 4000)),
        ("an empty name", records(&hello(&name(b"")), 4000)),
        ("a NUL in the name", records(&hello(&name(b"a.test\0.evil.test")), 4000)),
        ("a blank in the name", records(&hello(&name(b"a.test b.test")), 4000)),
        ("bytes behind the message", records(&longer, 4000)),
        ("a record behind the message", behind),
        ("an alert first", [&[21, 3, 1, 0, 2, 1, 0][..], &records(&hello(&name(b"a.test")), 4000)].concat()),
        (
            "an empty record",
            [&[HANDSHAKE, 3, 1, 0, 0][..], &records(&hello(&name(b"a.test")), 4000)].concat(),
        ),
        ("SSL 2", vec![0x80, 0x2e, 1, 3, 1]),
        ("HTTP", b"GET / HTTP/1.1\r\n\r\n".to_vec()),
        ("another version", vec![HANDSHAKE, 4, 0, 0, 5, 1]),
        ("too large", vec![HANDSHAKE, 3, 1, 0, 4, 1, 1, 0, 0]),
    ] {
        assert!(matches!(ClientHello::read(&bytes), HelloProgress::Malformed(_)), "{what}");
    }
}

proptest! {
    #[test]
    fn reading_never_fails_badly(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = ClientHello::read(&bytes);
        let _ = ClientHello::read(&[&[HANDSHAKE, 3, 1][..], &list(&bytes)].concat());
        let _ = ClientHello::read(&records(&hello(&bytes), 4000));
    }

    #[test]
    fn a_changed_byte_never_changes_the_name_unseen(at in 0_usize..80, byte in any::<u8>()) {
        let message = records(&hello(&name(b"example.org")), 4000);
        let mut other = message.clone();
        if let Some(place) = other.get_mut(at) {
            *place = byte;
        }
        if let HelloProgress::Whole(hello) = ClientHello::read(&other) {
            let named = hello.server_name.unwrap_or_default();
            prop_assert!(named == "example.org" || named.is_empty() || other.windows(named.len()).any(|w| w == named.as_bytes()));
        }
    }
}

/// What a client says first is somebody else's bytes; how far it has come does not change what was read.
#[test]
fn fuzz_tls_hello() {
    let words = &["\u{16}\u{3}\u{1}", "\0\0", "\u{1}\0", "example.org", "\u{3}\u{3}"];
    holon_testkit::fuzz::fuzz(env!("CARGO_MANIFEST_DIR"), "tls_hello", words, |bytes| {
        let whole = ClientHello::read(bytes);
        for end in [bytes.len() / 3, bytes.len() / 2] {
            if let HelloProgress::Whole(early) = ClientHello::read(&bytes[..end]) {
                assert_eq!(
                    format!("{early:?}"),
                    format!("{whole:?}").replacen("Whole(", "", 1).trim_end_matches(')')
                );
            }
        }
        format!("{whole:?}").chars().filter(char::is_ascii_alphabetic).take(80).collect()
    });
}
