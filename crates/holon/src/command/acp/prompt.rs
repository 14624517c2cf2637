//! What a person says in an editor: text, and things that come along.

use std::path::Path;

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine, alphabet};
use serde_json::Value;

use super::wire::RpcRefusal;

/// Editors pad or do not.
const PADDED_OR_NOT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, PADDED_OR_NOT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, PADDED_OR_NOT);

/// Texts up to this size go into the message itself.
const MOST_INLINE: usize = 24 << 10;
/// All of them together.
const MOST_TOGETHER: usize = 128 << 10;

/// A message, and files to hand over with it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct EditorPrompt {
    pub(super) text: String,
    pub(super) files: Vec<(String, Vec<u8>)>,
}

/// Reads the blocks of a prompt; paths in the folder are named as the agent sees them.
pub(super) fn read(blocks: &Value, folder: &str) -> Result<EditorPrompt, RpcRefusal> {
    let Some(blocks) = blocks.as_array() else { return Err(RpcRefusal::params("`prompt` must be a list")) };
    let mut said = EditorPrompt::default();
    for block in blocks {
        match block["type"].as_str().unwrap_or_default() {
            "text" => said.text.push_str(block["text"].as_str().unwrap_or_default()),
            "resource_link" => {
                let uri = block["uri"].as_str().unwrap_or_default();
                said.text.push_str(&format!("`{}`", place(uri, folder)));
            }
            "resource" => said.resource(&block["resource"], folder)?,
            kind @ ("image" | "audio") => {
                return Err(RpcRefusal::params(format!(
                    "`{kind}` is not taken: the agent reads text, so say in words what is to be seen or heard"
                )));
            }
            other => {
                return Err(RpcRefusal::params(format!("a prompt cannot hold `{other}` here")));
            }
        }
    }
    if said.text.trim().is_empty() {
        return Err(RpcRefusal::params("the prompt is empty"));
    }
    Ok(said)
}

impl EditorPrompt {
    fn resource(&mut self, resource: &Value, folder: &str) -> Result<(), RpcRefusal> {
        let place = place(resource["uri"].as_str().unwrap_or_default(), folder);
        if let Some(text) = resource["text"].as_str() {
            if text.len() <= MOST_INLINE && self.text.len() + text.len() <= MOST_TOGETHER {
                let fence = "`".repeat(longest_run(text).max(2) + 1);
                self.text.push_str(&format!("\n\nFrom `{place}`:\n{fence}\n{text}\n{fence}\n"));
                return Ok(());
            }
            self.hand_over(&place, text.as_bytes().to_vec());
            return Ok(());
        }
        let blob = resource["blob"].as_str().and_then(decoded);
        let bytes =
            blob.ok_or_else(|| RpcRefusal::params(format!("the content of {place} cannot be read")))?;
        self.hand_over(&place, bytes);
        Ok(())
    }

    fn hand_over(&mut self, place: &str, bytes: Vec<u8>) {
        let name = Path::new(place).file_name().and_then(|name| name.to_str()).unwrap_or("context");
        self.text.push_str(&format!("`{place}` (handed over as {name})"));
        self.files.push((name.to_owned(), bytes));
    }
}

/// The bytes behind base64 in either alphabet, broken into lines or not.
fn decoded(blob: &str) -> Option<Vec<u8>> {
    let blob: String = blob.split_ascii_whitespace().collect();
    STANDARD.decode(&blob).or_else(|_| URL_SAFE.decode(&blob)).ok()
}

/// A file of the folder by its path there, anything else as it was named.
fn place(uri: &str, folder: &str) -> String {
    let Some(path) = uri.strip_prefix("file://") else { return uri.to_owned() };
    let path = unescaped(path);
    match Path::new(&path).strip_prefix(folder) {
        Ok(inside) => inside.to_string_lossy().into_owned(),
        Err(_) => path,
    }
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        let code = more.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => (bytes, rest) = ([bytes, vec![byte]].concat(), &more[2..]),
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn context_comes_along() {
        let blocks = json!([
            {"type": "text", "text": "Look at "},
            {"type": "resource_link", "uri": "file:///w/src/a%20b.rs", "name": "a b.rs"},
            {"type": "resource", "resource": {"uri": "file:///w/x.md", "text": "```\nhi"}},
            {"type": "resource", "resource": {"uri": "file:///elsewhere/y.bin", "blob": "aGk="}},
        ]);
        let said = read(&blocks, "/w").unwrap();
        assert_eq!(
            said.text,
            "Look at `src/a b.rs`\n\nFrom `x.md`:\n````\n```\nhi\n````\n`/elsewhere/y.bin` (handed over as y.bin)"
        );
        assert_eq!(said.files, [("y.bin".to_owned(), b"hi".to_vec())]);
        let long =
            json!([{"type": "resource", "resource": {"uri": "zed:///x", "text": "a".repeat(100_000)}}]);
        assert_eq!(read(&long, "/w").unwrap().files[0].1.len(), 100_000);
        for wrong in [json!([]), json!({}), json!([{"type": "image", "data": ""}]), json!([{"type": "text"}])]
        {
            assert!(read(&wrong, "/w").is_err(), "{wrong}");
        }
        let image = read(&json!([{"type": "text", "text": "x"}, {"type": "image", "data": ""}]), "/w");
        assert!(format!("{image:?}").contains("`image` is not taken"), "{image:?}");
    }

    proptest! {
        #[test]
        fn any_uri_is_read(uri in ".{0,40}") {
            place(&uri, "/w");
            place(&format!("file://{uri}"), "/w");
        }
    }
}
