//! Cuts what a server writes into messages, one per line, and gives up on servers that write anything else.

use rmcp::RoleClient;
use rmcp::model::{JsonRpcMessage, Tool};
use rmcp::service::RxJsonRpcMessage;
use serde_json::{Value, json};

/// A message of a server.
pub(super) type McpMessage = RxJsonRpcMessage<RoleClient>;

/// Longer lines are not kept.
const MOST_LINE: usize = 4 << 20;

/// Bytes without any message, after which a server is not taken for one.
const MOST_NOISE: usize = 1 << 20;

/// Requests and notifications that were not asked for, after which a server is taken for hostile.
const MOST_UNASKED: usize = 10_000;

/// Why a server is not listened to any longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ProtocolNoise {
    /// It writes what is no message.
    #[error("it writes something that is not the protocol to its standard output")]
    Noise,
    /// It wrote a line that is too long and that no call can be found for.
    #[error("it wrote a line of more than 4 MB")]
    TooLong,
    /// It sends messages nobody asked for.
    #[error("it floods its client with messages")]
    Flood,
}

/// The bytes of a line that is not complete, and what was seen so far.
#[derive(Default)]
pub(super) struct McpLineFramer {
    line: Vec<u8>,
    /// Whether the rest of this line is thrown away.
    skipping: bool,
    noise: usize,
    unasked: usize,
}

impl McpLineFramer {
    /// Takes further bytes and gives the messages that are complete with them.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<Vec<McpMessage>, ProtocolNoise> {
        let mut messages = Vec::new();
        for piece in bytes.split_inclusive(|b| *b == b'\n') {
            let ended = piece.ends_with(b"\n");
            if !self.skipping {
                self.line.extend_from_slice(piece);
                if self.line.len() > MOST_LINE {
                    messages.push(too_long(&self.line).ok_or(ProtocolNoise::TooLong)?);
                    self.line = Vec::new();
                    self.skipping = true;
                }
            }
            if !ended {
                continue;
            }
            if !std::mem::take(&mut self.skipping) {
                let line = std::mem::take(&mut self.line);
                messages.extend(self.message(&line)?);
            }
        }
        Ok(messages)
    }

    fn message(&mut self, line: &[u8]) -> Result<Option<McpMessage>, ProtocolNoise> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(None);
        }
        let Some(message) = read(line) else {
            self.noise += line.len();
            return if self.noise > MOST_NOISE { Err(ProtocolNoise::Noise) } else { Ok(None) };
        };
        if matches!(message, JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_)) {
            self.unasked += 1;
            if self.unasked > MOST_UNASKED {
                return Err(ProtocolNoise::Flood);
            }
        }
        Ok(Some(message))
    }
}

fn read(line: &[u8]) -> Option<McpMessage> {
    let mut value: Value = serde_json::from_slice(line).ok()?;
    drop_broken_tools(&mut value);
    serde_json::from_value(value).ok()
}

/// One tool that is described wrongly does not take the others with it.
fn drop_broken_tools(value: &mut Value) {
    if let Some(tools) = value.pointer_mut("/result/tools").and_then(Value::as_array_mut) {
        tools.retain(|tool| serde_json::from_value::<Tool>(tool.clone()).is_ok());
    }
}

/// The answer that is given instead of one that is too long, if its beginning says what it answers.
fn too_long(line: &[u8]) -> Option<McpMessage> {
    let head = String::from_utf8_lossy(&line[..line.len().min(256)]);
    let after = head.split_once("\"id\"")?.1.trim_start().strip_prefix(':')?.trim_start();
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    let id: u32 = digits.parse().ok()?;
    let error = json!({ "code": -32603, "message": "the answer is longer than 4 MB: ask for less" });
    serde_json::from_value(json!({ "jsonrpc": "2.0", "id": id, "error": error })).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use proptest::prelude::*;

    use super::*;

    const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;

    #[test]
    fn messages_come_line_by_line_and_noise_is_passed_over() {
        let mut frames = McpLineFramer::default();
        let text = format!("starting up\n\n{ANSWER}\r\n{{\"half\":\n[1,2]\n{ANSWER}\n{ANSWER}");
        assert_eq!(frames.take(text.as_bytes()).unwrap().len(), 2);
        assert_eq!(frames.take(b"\n").unwrap().len(), 1);
    }

    #[test]
    fn noise_and_floods_end() {
        let mut frames = McpLineFramer::default();
        let noise = "x".repeat(1000) + "\n";
        let ended = (0..2000).find_map(|_| frames.take(noise.as_bytes()).err());
        assert_eq!(ended, Some(ProtocolNoise::Noise));
        let mut frames = McpLineFramer::default();
        let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
        let ended = (0..20_000).find_map(|_| frames.take(ping.as_bytes()).err());
        assert_eq!(ended, Some(ProtocolNoise::Flood));
    }

    #[test]
    fn lines_that_are_too_long_become_errors_of_their_call() {
        let mut frames = McpLineFramer::default();
        let long = "y".repeat(MOST_LINE);
        let text = format!("{{\"jsonrpc\":\"2.0\",\"id\": 7,\"result\":\"{long}\"}}\n{ANSWER}\n");
        let found: Vec<McpMessage> =
            text.as_bytes().chunks(100_000).flat_map(|chunk| frames.take(chunk).unwrap()).collect();
        assert_eq!(found.len(), 2);
        assert!(
            matches!(&found[0], JsonRpcMessage::Error(error) if error.id.as_ref().unwrap().to_string() == "7")
        );
        assert_eq!(
            McpLineFramer::default().take(long.repeat(2).as_bytes()).err(),
            Some(ProtocolNoise::TooLong)
        );
    }

    #[test]
    fn one_broken_tool_is_left_out() {
        let line =
            r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":1},{"name":"a","inputSchema":{}},7]}}"#;
        let Some(JsonRpcMessage::Response(response)) = read(line.as_bytes()) else { panic!("no response") };
        let text = serde_json::to_string(&response.result).unwrap();
        assert!(text.contains("\"a\"") && !text.contains('7'), "{text}");
    }

    proptest! {
        #[test]
        fn chunking_does_not_matter(cuts in prop::collection::vec(1..40_usize, 0..20), noise in "[a-z{}\"\n]{0,30}") {
            let text = format!("{ANSWER}\n{noise}\n{ANSWER}\n");
            let whole = McpLineFramer::default().take(text.as_bytes()).unwrap();
            let (mut frames, mut rest, mut found) = (McpLineFramer::default(), text.as_bytes(), Vec::new());
            for cut in cuts {
                let (now, later) = rest.split_at(cut.min(rest.len()));
                found.extend(frames.take(now).unwrap());
                rest = later;
            }
            found.extend(frames.take(rest).unwrap());
            prop_assert_eq!(format!("{found:?}"), format!("{whole:?}"));
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = McpLineFramer::default().take(&bytes);
        }
    }
}
