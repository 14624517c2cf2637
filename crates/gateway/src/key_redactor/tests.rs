use proptest::prelude::*;
use serde_json::Value;

use super::*;

const KEY: &str = "sk-secret-1xY7/zQ+4w";

fn through(keys: &HiddenKeys, pieces: &[&[u8]]) -> String {
    let mut veil = keys.redactor();
    let mut out: Vec<u8> = pieces.iter().flat_map(|piece| veil.push(piece)).collect();
    out.extend(veil.finish());
    String::from_utf8_lossy(&out).into_owned()
}

fn event(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{}}}}}]}}\n\n", Value::from(text))
}

/// What a client reads out of events.
fn said(stream: &str) -> String {
    let data = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|json| serde_json::from_str::<Value>(json).unwrap_or_default())
        .filter_map(|value| value["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
        .collect()
}

proptest! {
    #[test]
    fn no_cut_lets_a_key_through_or_changes_anything_else(
        before in "[ks é-]{0,12}", between in "[a-z]{1,3}",
        cuts in prop::collection::vec(0usize..60, 0..8), packets in prop::collection::vec(0usize..400, 0..8),
    ) {
        let keys = HiddenKeys::new([KEY, "ks-other-22"]);
        let text = format!("{before}{KEY}{between}ks-other-22 sk-sec");
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| text.is_char_boundary(*cut) && *cut <= text.len()).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let stream: String = cuts.windows(2).map(|pair| event(&text[pair[0]..pair[1]])).collect();
        let mut packets: Vec<usize> = packets.into_iter().map(|at| at.min(stream.len())).collect();
        packets.extend([0, stream.len()]);
        packets.sort_unstable();
        let pieces: Vec<&[u8]> = packets.windows(2).map(|pair| &stream.as_bytes()[pair[0]..pair[1]]).collect();
        let out = said(&through(&keys, &pieces));
        // Three characters of a key are too few to wait for the rest.
        let expect = format!("{before}[key]{between}[key] sk-sec");
        prop_assert_eq!(out.matches("[key]").count(), 2, "{}", out);
        prop_assert!(out.starts_with(&before) && out.ends_with("[key] sk-sec"), "{}", out);
        prop_assert!(out.len() <= expect.len() + 2 * 3, "{}", out);
    }

    #[test]
    fn what_holds_no_key_goes_through_byte_by_byte(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..200) {
        let keys = HiddenKeys::new([KEY]);
        let at = at.min(bytes.len());
        let mut veil = keys.redactor();
        let mut out = veil.push(&bytes[..at]);
        out.extend(veil.push(&bytes[at..]));
        out.extend(veil.finish());
        prop_assert_eq!(out, bytes);
    }
}

#[test]
fn only_what_may_be_a_key_is_waited_for() {
    let keys = HiddenKeys::new([KEY]);
    let mut veil = keys.redactor();
    let mut passes = |text: &str, expect: bool| {
        let event = event(text);
        let out = veil.push(event.as_bytes());
        assert_eq!(out.len() >= event.len(), expect, "{text}");
    };
    passes("hello s", true);
    passes("k-s", false);
    passes("ilver", true);
    passes("sk-secret-1xY", false);
    passes(" and more", true);
    // What is covered is not waited for, nor what is a piece of a key by chance.
    passes("secret", true);
}

#[test]
fn a_line_without_an_end_is_passed_on_in_bounds() {
    let keys = HiddenKeys::new([KEY]);
    let mut veil = keys.redactor();
    let (mut sent, mut out, mut most) = (0, Vec::new(), 0);
    let filler = "filling ".repeat(1000);
    for round in 0..400 {
        // A key that is cut anywhere, also where the beginning of the line is passed on.
        for piece in [filler.as_str(), &KEY[..round % KEY.len()], &KEY[round % KEY.len()..], "."] {
            sent += piece.len();
            out.extend(veil.push(piece.as_bytes()));
            most = most.max(sent - out.len());
        }
    }
    out.extend(veil.finish());
    let expect = format!("{filler}[key].").repeat(400);
    assert!(String::from_utf8_lossy(&out) == expect, "{} bytes instead of {}", out.len(), expect.len());
    assert!(most < LONGEST_LINE + 64 * 1024, "{most} bytes were held");
}

#[test]
fn what_everybodys_keys_begin_with_is_no_key() {
    let keys = HiddenKeys::new(["sk-ant-api03-Zq7/xK2+mV9_bT4-wR8yLc5NdJ3f"]);
    let text = event("match keys by `sk-ant-api03-` and sk-ant-api03-Zq7.");
    assert_eq!(through(&keys, &[text.as_bytes()]), text);
}

#[test]
fn calls_that_are_told_in_turns_are_told_apart() {
    let keys = HiddenKeys::new([KEY]);
    let call = |index: usize, text: &str| {
        format!("data: {{\"calls\":[{{\"index\":{index},\"arguments\":{}}}]}}\n\n", Value::from(text))
    };
    let stream = [call(0, &KEY[..9]), call(1, "xy"), call(0, &KEY[9..]), call(1, "z")].concat();
    let out = through(&keys, &[stream.as_bytes()]);
    assert!(out.contains("[key]") && !out.contains(&KEY[9..]), "{out}");
    assert!(out.contains("\"xy\"") && out.contains("\"z\""), "{out}");
}

#[test]
fn nothing_is_changed_without_keys() {
    assert_eq!(through(&HiddenKeys::new(["short"]), &[b"data: short"]), "data: short");
}
