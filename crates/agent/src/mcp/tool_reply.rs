//! What a tool gave back, as bounded text.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

/// The answer of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpToolReply {
    /// Its text; the middle is left out of long ones.
    pub text: String,
    /// Whether the tool says that it failed.
    pub is_error: bool,
}

/// Most bytes of an answer.
const MOST_TEXT: usize = 64 * 1024;

impl McpToolReply {
    /// The text of a result; what is no text is only mentioned.
    pub(super) fn of(result: &CallToolResult) -> Self {
        let mut parts: Vec<String> = result.content.iter().map(text_of).collect();
        if let (true, Some(value)) = (parts.is_empty(), &result.structured_content) {
            parts.push(value.to_string());
        }
        Self { text: bounded(&parts.join("\n"), MOST_TEXT), is_error: result.is_error == Some(true) }
    }
}

fn text_of(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => format!("[an image, {}, not shown]", bounded(&image.mime_type, 80)),
        ContentBlock::Audio(audio) => format!("[a recording, {}, not shown]", bounded(&audio.mime_type, 80)),
        ContentBlock::ResourceLink(link) => format!("[see {}]", link.uri),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("{uri}:\n{text}"),
            ResourceContents::BlobResourceContents { uri, .. } => format!("[{uri}: no text, not shown]"),
            _ => "[something that cannot be shown]".to_owned(),
        },
        _ => "[something that cannot be shown]".to_owned(),
    }
}

/// The beginning and the end of a text that is too long.
pub(super) fn bounded(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let (mut head, mut tail) = (most / 2, text.len() - most / 2);
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    format!("{}\n[… {} bytes left out …]\n{}", &text[..head], tail - head, &text[tail..])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn all_kinds_of_content_become_text() {
        let check = |result: Value, expect: &str| {
            let answer = McpToolReply::of(&serde_json::from_value(result.clone()).unwrap());
            assert_eq!(answer.text, expect, "{result}");
        };
        check(
            json!({ "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] }),
            "a\nb",
        );
        check(
            json!({ "content": [{ "type": "image", "data": "AAAA", "mimeType": "image/png" }] }),
            "[an image, image/png, not shown]",
        );
        check(json!({ "content": [], "structuredContent": { "a": 1 } }), "{\"a\":1}");
        check(
            json!({ "content": [{ "type": "resource", "resource": { "uri": "x:y", "text": "t" } }] }),
            "x:y:\nt",
        );
        check(json!({ "content": [{ "type": "resource_link", "uri": "x:y", "name": "n" }] }), "[see x:y]");
    }

    proptest! {
        #[test]
        fn long_texts_are_cut_at_characters(text in "[aé…]{0,60}", most in 0..40_usize) {
            let cut = bounded(&text, most);
            prop_assert!(cut == text || cut.len() <= most + 40, "{}", cut);
        }
    }
}
