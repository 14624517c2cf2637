//! Every parser that is given bytes by somebody else, tried with many: no panic, no hang, no contradiction.
//!
//! `cargo xtask fuzz` makes long runs. What lies deeper inside a crate has its target there, under the same name.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use holon_core::redact::Redactor;
use holon_model::wire::WireFormat;
use holon_testkit::fuzz::fuzz;
use serde_json::Value;

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// As whoever reads a file as text takes it.
fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// How something ended, in words short enough to be seen again.
fn told<T: std::fmt::Debug, E: std::fmt::Display>(result: &Result<T, E>) -> String {
    match result {
        Ok(value) => format!("ok {}", shape(&format!("{value:?}"))),
        Err(error) => shape(&error.to_string()),
    }
}

/// Words without what differs from input to input.
fn shape(words: &str) -> String {
    words.chars().filter(|c| c.is_ascii_alphabetic() || "{}[]:".contains(*c)).take(120).collect()
}

const SSE_WORDS: &[&str] =
    &["data: ", "event: ", "id: ", "retry: 1", ": note", "\n\n", "\r", "[DONE]", "data"];

/// A stream is the same in whichever pieces it comes, and a decoder takes whatever its events hold.
fn stream(wire: WireFormat, bytes: &[u8]) -> String {
    let read = |size: usize| {
        let mut sse = holon_model::sse::SseDecoder::default();
        let mut decoder = wire.decoder();
        let mut deltas = 0;
        for piece in bytes.chunks(size) {
            for event in sse.push(piece).unwrap_or_default() {
                deltas += decoder.push(&event).len();
            }
        }
        if let Some(event) = sse.finish() {
            deltas += decoder.push(&event).len();
        }
        (deltas, decoder.finish())
    };
    let (whole, pieces) = (read(bytes.len().max(1)), read(7));
    let words =
        |(deltas, reply): &(usize, Result<_, holon_model::ModelError>)| format!("{deltas} {}", told(reply));
    assert_eq!(words(&whole), words(&pieces), "the pieces matter");
    words(&whole)
}

const CHAT: &[&str] = &[
    "\"choices\":[",
    "\"delta\":{",
    "\"tool_calls\":[{",
    "\"index\":0",
    "\"arguments\":\"",
    "\"finish_reason\":\"stop\"",
    "\"usage\":{",
    "data: [DONE]\n\n",
    "\"content\":null",
    "\"reasoning_content\":\"x\"",
];

#[test]
fn fuzz_wire_chat() {
    fuzz(CRATE, "wire_chat", CHAT, |bytes| {
        format!("{} {}", stream(WireFormat::Chat, bytes), told(&WireFormat::Chat.decode_whole(bytes)))
    });
}

#[test]
fn fuzz_wire_messages() {
    let words = &[
        "event: content_block_start\n",
        "\"type\":\"content_block_delta\"",
        "\"input_json_delta\"",
        "\"partial_json\":\"",
        "\"index\":1",
        "\"type\":\"message_stop\"",
        "\"type\":\"error\"",
        "\"thinking\"",
        "\"signature\":\"x\"",
    ];
    fuzz(CRATE, "wire_messages", words, |bytes| {
        format!("{} {}", stream(WireFormat::Messages, bytes), told(&WireFormat::Messages.decode_whole(bytes)))
    });
}

#[test]
fn fuzz_wire_responses() {
    let words = &[
        "\"type\":\"response.output_item.added\"",
        "\"type\":\"response.completed\"",
        "\"output_index\":0",
        "\"function_call\"",
        "\"type\":\"response.failed\"",
        "\"delta\":\"",
        "\"call_id\":\"c\"",
        "\"output\":[",
    ];
    fuzz(CRATE, "wire_responses", words, |bytes| {
        format!(
            "{} {}",
            stream(WireFormat::Responses, bytes),
            told(&WireFormat::Responses.decode_whole(bytes))
        )
    });
}

#[test]
fn fuzz_sse() {
    fuzz(CRATE, "sse", SSE_WORDS, |bytes| {
        let read = |size: usize| {
            let mut decoder = holon_model::sse::SseDecoder::with_limit(4096);
            let mut events = Vec::new();
            for piece in bytes.chunks(size) {
                match decoder.push(piece) {
                    Ok(more) => events.extend(more),
                    // How much of the last piece still counted depends on how it was cut.
                    Err(_) => return None,
                }
            }
            events.extend(decoder.finish());
            Some(format!("{events:?}"))
        };
        let (whole, single) = (read(bytes.len().max(1)), read(1));
        if let (Some(whole), Some(single)) = (&whole, &single) {
            assert_eq!(whole, single, "the pieces matter");
        }
        shape(&whole.unwrap_or_default())
    });
}

#[test]
fn fuzz_calls_in_words() {
    let words = &[
        "```json\n",
        "```",
        "<tool_call>",
        "</tool_call>",
        "{\"name\":",
        "\"arguments\":{",
        "<function=",
        "<think>",
        "</think>",
    ];
    fuzz(CRATE, "calls_in_words", words, |bytes| {
        let text = text(bytes);
        let found = holon_model::fallback::find_calls(&text, &|name, _, _| name == "execute");
        let _ = holon_model::fallback::without_thoughts(&text);
        shape(&format!("{found:?}"))
    });
}

#[test]
fn fuzz_cassette() {
    let words = &[
        "- tools:\n",
        "- expect: { last: x }\n",
        "args: {",
        "turns:\n",
        "model: ",
        "error: ",
        "<<: *a",
        "&a ",
    ];
    fuzz(CRATE, "cassette", words, |bytes| told(&text(bytes).parse::<holon_model::Cassette>()));
}

#[test]
fn fuzz_catalogue() {
    let words = &[
        "\"data\":[",
        "\"pricing\":{",
        "\"context_length\":",
        "\"prompt\":\"-1\"",
        "\"supported_parameters\":[",
    ];
    fuzz(CRATE, "catalogue", words, |bytes| told(&holon_model::catalogue::parse_openrouter(bytes)));
}

const DIFF: &[&str] = &[
    "diff --git a/x b/x\n",
    "--- a/x\n",
    "+++ /dev/null\n",
    "@@ -1,2 +1,3 @@\n",
    "@@ -0,0 +1 @@",
    "GIT binary patch\n",
    "new file mode 100644\n",
    "rename from x\n",
    "\\ No newline at end of file\n",
    "literal 3\n",
    "old mode 100755\n",
    "\"a\\303\"",
];

#[test]
fn fuzz_patch() {
    fuzz(CRATE, "patch", DIFF, |bytes| {
        let files = holon_core::patch::patched_files(bytes);
        let named = holon_core::patch::named_paths(bytes);
        let counts: (u64, u64) = files.iter().fold((0, 0), |all, file| {
            let (added, removed) = file.counts();
            (all.0 + added, all.1 + removed)
        });
        let lines = bytes.split(|byte| *byte == b'\n').count() as u64;
        assert!(counts.0 + counts.1 <= lines, "{counts:?} of {lines} lines");
        for file in &files {
            let _ = file.path();
        }
        format!("{} {} {}", files.len(), named.len(), shape(&format!("{files:?}")))
    });
}

#[test]
fn fuzz_edit_patch() {
    let words = &[
        "*** Begin Patch\n",
        "*** Update File: a\n",
        "*** Add File: b\n",
        "*** Move to: c\n",
        "@@",
        "*** End Patch",
    ];
    fuzz(CRATE, "edit_patch", words, |bytes| told(&holon_agent::edit::patch::parse(&text(bytes))));
}

#[test]
fn fuzz_edit_replace() {
    fuzz(CRATE, "edit_replace", &["\u{1}", "    ", "\t", "fn x() {", "}\n", "\r\n"], |bytes| {
        let text = text(bytes);
        let mut parts = text.splitn(3, '\u{1}');
        let mut part = || parts.next().unwrap_or_default();
        let (old, new, file) = (part(), part(), part());
        let done = holon_agent::edit::replace(file, old, new, false);
        shape(&format!("{done:?}"))
    });
}

#[test]
fn fuzz_spec() {
    let words = &[
        "goal:\n",
        "  description: ",
        "output:\n",
        "artifacts:\n",
        "- name: ",
        "required: true",
        "schema: {",
        "context:\n",
        "env:\n",
        "constraints:\n",
        "&a [*a]",
        "!!binary",
        "? ",
        "%YAML 9",
        "{\"",
    ];
    fuzz(CRATE, "spec", words, |bytes| told(&holon_core::spec::parse(&text(bytes), "spec.yaml")));
}

#[test]
fn fuzz_mode() {
    let words = &[
        "[workspace]\n",
        "access = ",
        "[tools]\n",
        "\"mcp:*\" = ",
        "extends = ",
        "[limits]\n",
        "timeout = \"1h\"",
        "[[",
        "'''",
    ];
    fuzz(CRATE, "mode", words, |bytes| told(&holon_core::mode::ModeFile::parse(&text(bytes), "mode.toml")));
}

#[test]
fn fuzz_shell_words() {
    let words = &[
        "$(",
        "`",
        "<<EOF\n",
        "&&",
        "||",
        ">|",
        "2>&1",
        "${x:-",
        "((",
        "case x in",
        "$'\\x41'",
        "\\\n",
        "function f {",
    ];
    fuzz(CRATE, "shell_words", words, |bytes| {
        let split = holon_core::policy::split(&text(bytes));
        if let Ok(commands) = &split {
            let words: usize = commands.iter().map(|command| command.words.len()).sum();
            assert!(words <= bytes.len() + 1, "{words} words of {} bytes", bytes.len());
        }
        shape(&format!("{split:?}"))
    });
}

#[test]
fn fuzz_flow_file() {
    let words = &["[[step]]\n", "id = ", "mode = ", "after = [", "[loop]\n", "max = ", "gate = ", "when = "];
    fuzz(CRATE, "flow_file", words, |bytes| {
        told(&holon_flow::FlowDefinition::parse(&text(bytes), "flow.toml"))
    });
}

#[test]
fn fuzz_agent_file() {
    let words = &["[calls]\n", "command = [", "events = ", "[[login]]\n", "wire = ", "env = {"];
    fuzz(CRATE, "agent_file", words, |bytes| {
        let read = holon_host::adapter::Adapter::parse(&text(bytes), "agent.toml");
        shape(&format!("{:?}", read.map_err(|error| error.to_string())))
    });
}

#[test]
fn fuzz_git_pointer() {
    fuzz(CRATE, "git_pointer", &["gitdir: ", "../", "\n", "//", "\0"], |bytes| {
        shape(&format!("{:?}", holon_git::pointer::parse(bytes).is_some()))
    });
}

#[test]
fn fuzz_git_config() {
    let words = &[
        "[core]\n",
        "[remote \"x\"]\n",
        "\tfsmonitor = true\n",
        "[include]\npath = x\n",
        "\\\"",
        "; note",
        "\\\n",
    ];
    fuzz(CRATE, "git_config", words, |bytes| {
        let settings = holon_git::config::parse(bytes);
        let without = holon_git::config::without(bytes, "core", "fsmonitor");
        let left = holon_git::config::parse(&without);
        assert!(holon_git::config::get(&left, "core", "fsmonitor").is_none(), "it was to be taken out");
        shape(&format!("{settings:?}"))
    });
}

#[test]
fn fuzz_git_index() {
    fuzz(CRATE, "git_index", &["DIRC", "\0\0\0\x02", "\0\0\0\x04", "TREE"], |bytes| {
        let mut names = 0;
        let read = holon_git::index::each_entry(bytes, holon_git::ObjectFormat::Sha1, |_| names += 1);
        assert!(names <= bytes.len(), "{names} entries");
        format!("{} {}", names.min(9), shape(&format!("{read:?}")))
    });
}

#[test]
fn fuzz_login_file() {
    let words = &[
        "\"accessToken\":\"",
        "\"expiresAt\":",
        "\"tokens\":{",
        "\"refresh_token\":null",
        "// note\n",
        "/* */",
    ];
    fuzz(CRATE, "login_file", words, |bytes| {
        let path = std::path::Path::new("login.json");
        let each = holon_login::known_logins().iter().map(|login| {
            let read = holon_login::parse(login, path, bytes);
            shape(&format!("{:?}", read.map(drop).map_err(|error| error.to_string())))
        });
        each.collect()
    });
}

#[test]
fn fuzz_statement() {
    let words =
        &["\"payloadType\":\"", "\"payload\":\"", "\"signatures\":[{", "\"keyid\":", "\"sig\":\"", "\n"];
    fuzz(CRATE, "statement", words, |bytes| {
        let found = holon_attest::DsseEnvelope::find_in(bytes);
        let read = holon_attest::DsseEnvelope::parse(bytes).map(|envelope| envelope.payload().is_some());
        shape(&format!("{:?} {:?}", found.is_ok(), read.map_err(|error| error.to_string())))
    });
}

#[test]
fn fuzz_policy() {
    let words = &["[[signer]]\n", "key = ", "levels = [", "checks = ", "modes = ["];
    fuzz(CRATE, "policy", words, |bytes| {
        let read = holon_attest::AttestationPolicy::parse("policy", &text(bytes));
        shape(&format!("{:?}", read.map(drop).map_err(|error| error.to_string())))
    });
}

/// What is redacted does not depend on how it is cut, and no secret is left.
#[test]
fn fuzz_redacted() {
    const SECRET: &str = "hush-hush-0123456789";
    let words = &[
        SECRET,
        "hush-hush-",
        "ghp_0123456789abcdefghijklmnopqrstuvwxyz12",
        "-----BEGIN PRIVATE KEY-----\n",
        "AKIA",
    ];
    let redactor = Redactor::new([("TOKEN", SECRET)]);
    fuzz(CRATE, "redacted", words, |bytes| {
        let whole = redactor.redact(bytes);
        assert!(!whole.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()), "a secret is left");
        let mut stream = redactor.stream();
        let mut out = Vec::new();
        for piece in bytes.chunks(11) {
            stream.push(piece, &mut out);
        }
        stream.finish(&mut out);
        assert!(
            !out.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()),
            "a secret is left in a stream"
        );
        redactor.redact_json(&Value::String(text(bytes).into_owned()));
        shape(&text(&whole))
    });
}
