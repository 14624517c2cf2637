//! What a reply holds that is not said to anybody: thoughts, and the turns of others that it makes up.

/// Marks around thoughts.
const MARKS: [(&str, &str); 4] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
];

/// Thoughts at the beginning of a text, between their marks, and the rest. Thoughts without an end are all there is.
pub fn without_thoughts(text: &str) -> (Option<&str>, &str) {
    let start = text.trim_start();
    for (open, close) in MARKS {
        if let Some(inside) = start.strip_prefix(open) {
            let (thoughts, rest) = inside.split_once(close).unwrap_or((inside, ""));
            return (Some(thoughts.trim()), rest);
        }
    }
    (None, text)
}

/// A text up to where the model goes on with what others would say.
pub fn before_pretending(text: &str) -> &str {
    const OTHERS: [&str; 13] = [
        "\nUser:",
        "\nHuman:",
        "\nObservation:",
        "\nTool result:",
        "\nTool output:",
        "\nResult of the call:",
        "<|im_start|>user",
        "<|im_start|>tool",
        "<|start_header_id|>user",
        "\n[Tool result",
        "<tool_response>",
        "<tool_result>",
        "<function_results>",
    ];
    let end = OTHERS.iter().filter_map(|mark| text.find(mark)).min();
    &text[..end.unwrap_or(text.len())]
}
