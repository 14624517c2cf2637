//! Whether a client could read a key, or a large piece of one, out of what it was sent: it decodes whatever it knows.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde_json::Value;

use super::forms::KEY;

/// Pieces this long count.
const PIECE: usize = 12;
/// So many letters of base64 say that many bytes.
const PACKED: usize = PIECE / 3 * 4;
/// How often what was decoded is decoded again.
const DEPTH: usize = 3;

/// The piece of the key that can be read from these bytes, and how.
pub(super) fn readable(raw: &[u8], body: &str) -> Option<String> {
    let mut views = vec![("raw", raw.to_vec()), ("body", body.as_bytes().to_vec())];
    views.extend(said(body).into_iter().map(|text| ("said", text.into_bytes())));
    // Many ways lead to the same bytes, and once is enough for each.
    let mut seen = HashSet::new();
    for depth in 0..=DEPTH {
        if depth > 0 {
            views = views
                .iter()
                .flat_map(|(how, bytes)| decoded(bytes).into_iter().map(|text| (*how, text)))
                .collect();
        }
        views.retain(|(_, bytes)| seen.insert(bytes.clone()));
        let found = views.iter().find_map(|(how, bytes)| Some(format!("{} ({how})", piece(bytes)?)));
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Every piece of the key.
static PIECES: LazyLock<HashSet<Vec<u8>>> =
    LazyLock::new(|| KEY.to_ascii_lowercase().as_bytes().windows(PIECE).map(<[u8]>::to_vec).collect());

fn piece(bytes: &[u8]) -> Option<String> {
    let text = bytes.to_ascii_lowercase();
    let found = text.windows(PIECE).find(|window| PIECES.contains(*window))?;
    Some(String::from_utf8_lossy(found).into_owned())
}

/// Everything that JSON strings say: each path's over all events, one after the other, and all names.
fn said(body: &str) -> Vec<String> {
    let mut paths = std::collections::BTreeMap::<String, String>::new();
    let mut note = |value: &Value| walk(value, "", &mut paths);
    for frame in body.split("\n\n") {
        let data: Vec<&str> = frame.lines().filter_map(|line| line.strip_prefix("data:")).collect();
        if let Ok(value) = serde_json::from_str::<Value>(&data.join("\n")) {
            note(&value);
        }
    }
    if let Ok(value) = serde_json::from_str::<Value>(body) {
        note(&value);
    }
    paths.into_values().collect()
}

fn walk(value: &Value, path: &str, into: &mut std::collections::BTreeMap<String, String>) {
    match value {
        Value::String(text) => into.entry(path.to_owned()).or_default().push_str(text),
        Value::Array(all) => all.iter().for_each(|one| walk(one, &format!("{path}/"), into)),
        Value::Object(all) => all.iter().for_each(|(name, one)| {
            into.entry("names".to_owned()).or_default().push_str(&format!("\n{name}"));
            walk(one, &format!("{path}/{name}"), into);
        }),
        _ => {}
    }
}

/// What the same bytes say to whoever takes off one layer.
fn decoded(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    let holds = |mark: &[u8]| bytes.windows(mark.len()).any(|window| window == mark);
    for (mark, digits) in [(&b"%"[..], 2), (b"\\u", 4)] {
        out.extend(holds(mark).then(|| marked(bytes, mark, digits)));
    }
    out.extend(holds(b"&#").then(|| entities(bytes)));
    for run in bytes.split(|b| !b.is_ascii_hexdigit()).filter(|run| run.len() >= 2 * PIECE) {
        out.push(run.chunks_exact(2).filter_map(hex).collect());
    }
    let letter = |b: &u8| b.is_ascii_alphanumeric() || b"+/-_".contains(b);
    for run in bytes.split(|b| !letter(b)).filter(|run| run.len() >= PACKED) {
        out.extend((0..4).map(|from| unbase64(&run[from.min(run.len())..])));
    }
    out.retain(|view| view.len() >= PIECE && view != bytes);
    out
}

fn hex(digits: &[u8]) -> Option<u8> {
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok().and_then(|code| u8::try_from(code).ok())
}

fn marked(bytes: &[u8], mark: &[u8], digits: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let from = at + mark.len();
        let code =
            bytes[at..].starts_with(mark).then(|| bytes.get(from..from + digits).and_then(hex)).flatten();
        match code {
            Some(byte) => {
                out.push(byte);
                at = from + digits;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}

fn entities(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.split("&#");
    let mut out = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.split_once(';').and_then(|(code, rest)| Some((code.parse::<u8>().ok()?, rest))) {
            Some((byte, rest)) => {
                out.push(byte);
                out.extend(rest.bytes());
            }
            None => out.extend(part.bytes()),
        }
    }
    out
}

fn unbase64(run: &[u8]) -> Vec<u8> {
    let value = |byte: &u8| match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' | b'-' => 62,
        _ => 63,
    };
    let mut out = Vec::new();
    for four in run.chunks(4) {
        let number = (0..4).fold(0, |sum, at| sum << 6 | four.get(at).map_or(0, value));
        out.extend(&number.to_be_bytes()[1..four.len().max(1)]);
    }
    out
}

#[test]
fn the_judge_reads_what_a_client_could() {
    for text in
        [KEY, "c2stYW50LWFwaTAzLVpxNy94SzI", "736b2d616e742d61706930332d5a71372f", "%73%6B%2Dant-api03"]
    {
        assert!(readable(text.as_bytes(), "").is_some(), "{text}");
    }
    let parts = "data: {\"a\":\"sk-ant-\"}\n\ndata: {\"a\":\"api03-Zq7\"}\n\n";
    assert!(readable(b"", parts).is_some());
    assert!(readable(b"sk-ant-api0 and Zq7/xK2", "nothing").is_none());
}
