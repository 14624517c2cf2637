//! The forms in which an upstream can say a key again: how it is written, where it stands, how it is cut.
//!
//! Written from the wires alone, before the filter that has to cut them. Reversed keys, and ciphers of an upstream that works
//! together with the agent, are out of scope: no filter can know them all.

use holon_model::WireFormat;
use serde_json::{Value, json};

/// What must not get inside; it has every kind of character that one of the encodings changes.
pub(super) const KEY: &str = "sk-ant-api03-Zq7/xK2+mV9_bT4-wR8yLc5NdJ3f";

/// One answer of an upstream.
pub(super) struct EchoCase {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) trailers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// One way to echo, with all its cuts.
pub(super) struct EchoForm {
    pub(super) name: String,
    pub(super) cases: Vec<EchoCase>,
}

/// A key in another alphabet, as the text that a JSON string would hold.
fn encodings() -> Vec<(&'static str, String)> {
    let each = |write: fn(u8) -> String| KEY.bytes().map(write).collect::<String>();
    vec![
        ("plain", KEY.to_owned()),
        ("upper", KEY.to_uppercase()),
        ("first half", KEY[..20].to_owned()),
        ("last half", KEY[KEY.len() - 20..].to_owned()),
        ("twelve in the middle", KEY[14..26].to_owned()),
        ("base64", base64(KEY.as_bytes(), STANDARD)),
        ("base64 shifted once", base64(format!("x{KEY}").as_bytes(), STANDARD)),
        ("base64 shifted twice", base64(format!("xy{KEY}").as_bytes(), STANDARD)),
        ("base64 for addresses", base64(format!("Bearer {KEY}").as_bytes(), ADDRESS)),
        ("hex", each(|byte| format!("{byte:02x}"))),
        ("upper hex", each(|byte| format!("{byte:02X}"))),
        ("percent", each(|byte| format!("%{byte:02X}"))),
        ("percent where needed", KEY.replace('/', "%2F").replace('+', "%2b")),
        ("escaped twice", each(|byte| format!("\\u{byte:04x}"))),
        ("entities", each(|byte| format!("&#{byte};"))),
    ]
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const ADDRESS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn base64(bytes: &[u8], letters: &[u8; 64]) -> String {
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let number = (0..3).fold(0_u32, |sum, at| sum << 8 | u32::from(*three.get(at).unwrap_or(&0)));
        for at in 0..=three.len() {
            out.push(char::from(letters[(number >> (18 - 6 * at)) as usize & 63]));
        }
    }
    out
}

/// Where a key can stand in a stream.
#[derive(Debug, Clone, Copy, PartialEq)]
enum SpokenPart {
    Text,
    Thought,
    Arguments,
}

const PARTS: [SpokenPart; 3] = [SpokenPart::Text, SpokenPart::Thought, SpokenPart::Arguments];

fn literal(text: &str) -> String {
    Value::from(text).to_string()
}

/// The same string with every character escaped.
fn escaped(text: &str) -> String {
    let all: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
    format!("\"{all}\"")
}

/// A whole stream of a wire; each piece is a JSON string as it is written.
fn stream(wire: WireFormat, part: SpokenPart, pieces: &[String]) -> Vec<u8> {
    let mut out = String::new();
    let mut say = |kind: &str, data: String| match wire {
        WireFormat::Chat => out += &format!("data: {data}\n\n"),
        _ => out += &format!("event: {kind}\ndata: {data}\n\n"),
    };
    match wire {
        WireFormat::Chat => {
            let chunk = |delta: &str, end: &str| {
                format!(
                    "{{\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{end}}}]}}"
                )
            };
            if part == SpokenPart::Arguments {
                say(
                    "",
                    chunk(
                        "{\"role\":\"assistant\",\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",\"type\":\"function\",\"function\":{\"name\":\"ls\",\"arguments\":\"\"}}]}",
                        "null",
                    ),
                );
            }
            for piece in pieces {
                let delta = match part {
                    SpokenPart::Text => format!("{{\"content\":{piece}}}"),
                    SpokenPart::Thought => format!("{{\"reasoning_content\":{piece}}}"),
                    SpokenPart::Arguments => {
                        format!("{{\"tool_calls\":[{{\"index\":0,\"function\":{{\"arguments\":{piece}}}}}]}}")
                    }
                };
                say("", chunk(&delta, "null"));
            }
            say("", chunk("{}", if part == SpokenPart::Arguments { "\"tool_calls\"" } else { "\"stop\"" }));
            say("", "[DONE]".to_owned());
        }
        WireFormat::Messages => {
            say("message_start", "{\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}".to_owned());
            let (block, kind, field) = match part {
                SpokenPart::Text => ("{\"type\":\"text\",\"text\":\"\"}", "text_delta", "text"),
                SpokenPart::Thought => (
                    "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}",
                    "thinking_delta",
                    "thinking",
                ),
                SpokenPart::Arguments => (
                    "{\"type\":\"tool_use\",\"id\":\"call_1\",\"name\":\"ls\",\"input\":{}}",
                    "input_json_delta",
                    "partial_json",
                ),
            };
            say(
                "content_block_start",
                format!("{{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{block}}}"),
            );
            for piece in pieces {
                say(
                    "content_block_delta",
                    format!(
                        "{{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"{kind}\",\"{field}\":{piece}}}}}"
                    ),
                );
            }
            say("content_block_stop", "{\"type\":\"content_block_stop\",\"index\":0}".to_owned());
            let reason = if part == SpokenPart::Arguments { "tool_use" } else { "end_turn" };
            say(
                "message_delta",
                format!(
                    "{{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"{reason}\"}},\"usage\":{{\"output_tokens\":5}}}}"
                ),
            );
            say("message_stop", "{\"type\":\"message_stop\"}".to_owned());
        }
        WireFormat::Responses => responses(&mut say, part, pieces),
    }
    out.into_bytes()
}

/// This wire says everything twice: in pieces, and as a whole.
fn responses(say: &mut impl FnMut(&str, String), part: SpokenPart, pieces: &[String]) {
    let whole: String = pieces.iter().map(|piece| &piece[1..piece.len() - 1]).collect();
    let whole = format!("\"{whole}\"");
    let (added, delta, done, field, item) = match part {
        SpokenPart::Text => (
            "{\"type\":\"message\",\"id\":\"i1\",\"status\":\"in_progress\",\"role\":\"assistant\",\"content\":[]}".to_owned(),
            "response.output_text.delta", "response.output_text.done", "text",
            format!("{{\"type\":\"message\",\"id\":\"i1\",\"status\":\"completed\",\"role\":\"assistant\",\"content\":[{{\"type\":\"output_text\",\"text\":{whole},\"annotations\":[]}}]}}"),
        ),
        SpokenPart::Thought => (
            "{\"type\":\"reasoning\",\"id\":\"i1\",\"summary\":[]}".to_owned(),
            "response.reasoning_summary_text.delta", "response.reasoning_summary_text.done", "text",
            format!("{{\"type\":\"reasoning\",\"id\":\"i1\",\"summary\":[{{\"type\":\"summary_text\",\"text\":{whole}}}]}}"),
        ),
        SpokenPart::Arguments => (
            "{\"type\":\"function_call\",\"id\":\"i1\",\"call_id\":\"call_1\",\"name\":\"ls\",\"arguments\":\"\",\"status\":\"in_progress\"}".to_owned(),
            "response.function_call_arguments.delta", "response.function_call_arguments.done", "arguments",
            format!("{{\"type\":\"function_call\",\"id\":\"i1\",\"call_id\":\"call_1\",\"name\":\"ls\",\"arguments\":{whole},\"status\":\"completed\"}}"),
        ),
    };
    say("response.created", "{\"type\":\"response.created\",\"response\":{\"id\":\"r1\",\"object\":\"response\",\"status\":\"in_progress\",\"model\":\"m\",\"output\":[]}}".to_owned());
    say(
        "response.output_item.added",
        format!("{{\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{added}}}"),
    );
    for piece in pieces {
        say(
            delta,
            format!(
                "{{\"type\":\"{delta}\",\"item_id\":\"i1\",\"output_index\":0,\"content_index\":0,\"summary_index\":0,\"delta\":{piece}}}"
            ),
        );
    }
    say(
        done,
        format!(
            "{{\"type\":\"{done}\",\"item_id\":\"i1\",\"output_index\":0,\"content_index\":0,\"summary_index\":0,\"{field}\":{whole}}}"
        ),
    );
    say(
        "response.output_item.done",
        format!("{{\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{item}}}"),
    );
    say(
        "response.completed",
        format!(
            "{{\"type\":\"response.completed\",\"response\":{{\"id\":\"r1\",\"object\":\"response\",\"status\":\"completed\",\"model\":\"m\",\"output\":[{item}],\"usage\":{{\"input_tokens\":1,\"output_tokens\":1,\"total_tokens\":2}}}}}}"
        ),
    );
}

/// An answer that is not streamed.
fn whole(wire: WireFormat, text: &str) -> String {
    match wire {
        WireFormat::Chat => format!(
            "{{\"id\":\"c1\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"message\":{{\"role\":\"assistant\",\"content\":{text}}},\"finish_reason\":\"stop\"}}],\"usage\":{{\"prompt_tokens\":1,\"completion_tokens\":1,\"total_tokens\":2}}}}"
        ),
        WireFormat::Messages => format!(
            "{{\"id\":\"m1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[{{\"type\":\"text\",\"text\":{text}}}],\"stop_reason\":\"end_turn\",\"usage\":{{\"input_tokens\":1,\"output_tokens\":1}}}}"
        ),
        WireFormat::Responses => format!(
            "{{\"id\":\"r1\",\"object\":\"response\",\"status\":\"completed\",\"model\":\"m\",\"output\":[{{\"type\":\"message\",\"id\":\"i1\",\"status\":\"completed\",\"role\":\"assistant\",\"content\":[{{\"type\":\"output_text\",\"text\":{text},\"annotations\":[]}}]}}],\"usage\":{{\"input_tokens\":1,\"output_tokens\":1,\"total_tokens\":2}}}}"
        ),
    }
}

fn answer(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> EchoCase {
    let headers = vec![("content-type".to_owned(), kind.to_owned())];
    EchoCase { status, headers, trailers: Vec::new(), body: body.into() }
}

fn streamed(body: Vec<u8>) -> EchoCase {
    answer(200, "text/event-stream", body)
}

fn form(name: String, cases: Vec<EchoCase>) -> EchoForm {
    EchoForm { name, cases }
}

/// What stands around a key in a part.
fn around(part: SpokenPart, key: &str) -> String {
    match part {
        SpokenPart::Arguments => format!("{{\"path\":\"before {key} after\"}}"),
        _ => format!("before {key} after"),
    }
}

/// A text cut in two at every place within the key, and once in each single character.
fn cut(text: &str, key: &str) -> Vec<Vec<String>> {
    let from = text.find(key).unwrap_or(0);
    // Long ones say every character in several; a fifth of the places is enough for them.
    let step = if key.len() > 64 { 5 } else { 1 };
    let mut all: Vec<Vec<String>> = (from + 1..from + key.len())
        .step_by(step)
        .map(|at| vec![literal(&text[..at]), literal(&text[at..])])
        .collect();
    all.push(text.chars().map(|c| literal(&c.to_string())).collect());
    all
}

/// Every form on a wire.
pub(super) fn forms(wire: WireFormat) -> Vec<EchoForm> {
    let mut all = Vec::new();
    for part in PARTS {
        for (name, key) in encodings() {
            let text = around(part, &key);
            all.push(form(
                format!("{part:?}: {name}"),
                vec![streamed(stream(wire, part, &[literal(&text)]))],
            ));
            let cases = cut(&text, &key).iter().map(|pieces| streamed(stream(wire, part, pieces))).collect();
            all.push(form(format!("{part:?}: {name}, cut everywhere"), cases));
        }
        let text = escaped(&around(part, KEY));
        all.push(form(format!("{part:?}: escaped"), vec![streamed(stream(wire, part, &[text]))]));
        let halves: Vec<String> = [&KEY[..15], &KEY[15..]].iter().map(|half| escaped(half)).collect();
        all.push(form(format!("{part:?}: escaped, in halves"), vec![streamed(stream(wire, part, &halves))]));
        // Something that says nothing stands between two pieces.
        let parted = [literal(&KEY[..15]), literal(""), literal(&KEY[15..])];
        all.push(form(format!("{part:?}: parted by nothing"), vec![streamed(stream(wire, part, &parted))]));
    }
    for (name, key) in encodings() {
        let text = format!("before {key} after");
        all.push(form(
            format!("whole: {name}"),
            vec![answer(200, "application/json", whole(wire, &literal(&text)))],
        ));
        all.push(form(
            format!("error: {name}"),
            [400, 401, 403, 404, 429, 500, 529]
                .map(|status| {
                    let body = json!({"type": "error", "error": {"type": "x", "code": key, "message": text, "param": key}});
                    answer(status, "application/json", body.to_string())
                })
                .into(),
        ));
    }
    all.push(form(
        "whole: escaped".to_owned(),
        vec![answer(200, "application/json", whole(wire, &escaped(KEY)))],
    ));
    all.extend(beside(wire));
    all
}

/// A key anywhere but in what is said.
fn beside(wire: WireFormat) -> Vec<EchoForm> {
    let plain = || stream(wire, SpokenPart::Text, &[literal("hello")]);
    let with = |name: &str, value: &str| {
        let mut case = streamed(plain());
        case.headers.push((name.to_owned(), value.to_owned()));
        case
    };
    let shouted = KEY.replace(['/', '+'], "-");
    let mut all = vec![
        form("header: request id".to_owned(), vec![with("x-request-id", KEY), with("request-id", KEY)]),
        form(
            "header: limits".to_owned(),
            vec![
                with("retry-after", KEY),
                with("anthropic-ratelimit-requests-remaining", KEY),
                with("x-ratelimit-remaining-tokens", KEY),
            ],
        ),
        form(
            "header: cookie".to_owned(),
            vec![
                with("set-cookie", &format!("k={KEY}")),
                with("www-authenticate", &format!("Bearer realm={KEY}")),
            ],
        ),
        form(
            "header: echo of the request".to_owned(),
            vec![with("authorization", &format!("Bearer {KEY}")), with("x-api-key", KEY)],
        ),
        form("header: name".to_owned(), vec![with(&shouted, "1")]),
        form(
            "header: content type".to_owned(),
            vec![answer(200, &format!("text/event-stream; k=\"{KEY}\""), plain())],
        ),
        form(
            "body: text".to_owned(),
            [200, 401, 500].map(|status| answer(status, "text/plain", format!("wrong key {KEY}"))).into(),
        ),
        form(
            "body: page".to_owned(),
            [200, 502].map(|status| answer(status, "text/html", format!("<p>wrong key {KEY}</p>"))).into(),
        ),
    ];
    all.push(form(
        "redirect".to_owned(),
        [301, 302, 303, 307, 308]
            .map(|status| {
                let mut case = answer(status, "text/plain", format!("moved to /?key={KEY}"));
                case.headers.push(("location".to_owned(), format!("/elsewhere?key={KEY}")));
                case
            })
            .into(),
    ));
    let mut trailed = streamed(plain());
    trailed.trailers = vec![("x-key".to_owned(), KEY.to_owned())];
    all.push(form("trailer".to_owned(), vec![trailed]));
    for (name, line) in [
        ("comment", format!(": {KEY}\n\n")),
        ("name of an event", format!("event: {KEY}\ndata: {{\"type\":\"ping\"}}\n\n")),
        ("id of an event", format!("id: {KEY}\ndata: {{\"type\":\"ping\"}}\n\n")),
        ("unknown line", format!("{KEY}: 1\n\n")),
        ("unknown event", format!("data: {{\"type\":\"ping\",\"echo\":{{\"a\":[\"{KEY}\"]}}}}\n\n")),
        ("name of a field", format!("data: {{\"type\":\"ping\",\"{KEY}\":1}}\n\n")),
        ("no JSON", format!("data: {KEY}\n\n")),
        ("data in lines", format!("data: {{\"type\":\"ping\",\ndata: \"k\":\"{KEY}\"}}\n\n")),
        (
            "error event",
            format!(
                "event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"x\",\"message\":\"{KEY}\"}}}}\n\n"
            ),
        ),
        ("after the end", String::new()),
    ] {
        let mut body = line.clone().into_bytes();
        body.extend(plain());
        if line.is_empty() {
            body.extend(format!("data: {{\"k\":\"{KEY}\"}}\n\n: {KEY}").bytes());
        }
        all.push(form(format!("stream: {name}"), vec![streamed(body)]));
    }
    // Whoever asks for no compression may still get it.
    for kind in ["gzip", "deflate", "br"] {
        let mut case = answer(
            401,
            "application/json",
            packed(kind, &format!("{{\"error\":{{\"message\":\"{KEY}\"}}}}")),
        );
        case.headers.push(("content-encoding".to_owned(), kind.to_owned()));
        let mut stream = streamed(packed(
            kind,
            &String::from_utf8_lossy(&stream(wire, SpokenPart::Text, &[literal(KEY)])),
        ));
        stream.headers.push(("content-encoding".to_owned(), kind.to_owned()));
        all.push(form(format!("packed: {kind}"), vec![case, stream]));
    }
    all
}

/// A text in stored blocks, which every unpacker takes; for `br` the bytes as they are, since only the header lies.
fn packed(kind: &str, text: &str) -> Vec<u8> {
    let mut blocks = Vec::new();
    let all: Vec<&[u8]> = text.as_bytes().chunks(17).collect();
    for (at, part) in all.iter().enumerate() {
        let size = part.len() as u16;
        blocks.push(u8::from(at + 1 == all.len()));
        blocks.extend(size.to_le_bytes());
        blocks.extend((!size).to_le_bytes());
        blocks.extend(*part);
    }
    match kind {
        "gzip" => {
            let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
            out.extend(blocks);
            out.extend(crc(text.as_bytes()).to_le_bytes());
            out.extend((text.len() as u32).to_le_bytes());
            out
        }
        "deflate" => {
            let (mut a, mut b) = (1_u32, 0_u32);
            for byte in text.bytes() {
                a = (a + u32::from(byte)) % 65_521;
                b = (b + a) % 65_521;
            }
            let mut out = vec![0x78, 0x01];
            out.extend(blocks);
            out.extend((b << 16 | a).to_be_bytes());
            out
        }
        _ => text.as_bytes().to_vec(),
    }
}

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |mut sum, byte| {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
        }
        sum
    })
}
