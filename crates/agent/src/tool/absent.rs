//! Calls of tools that a turn does not have: people still want to see what was tried.

use serde_json::Value;

use super::apply_patch::ApplyPatchTool;
use super::{AgentTool, ToolArguments};

/// Arguments that say what a call is about, whatever the tool; the first one counts.
const TELLING: [&str; 9] = ["path", "file_path", "file", "command", "cmd", "pattern", "query", "url", "task"];

/// The file or command such a call is about, as far as its arguments tell.
pub(crate) fn target_of<'a>(name: &str, arguments: &'a ToolArguments) -> Option<&'a str> {
    if name == ApplyPatchTool.name() {
        return ApplyPatchTool.target(arguments);
    }
    let telling =
        |key: &&str| arguments.get(*key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    TELLING.iter().find_map(telling)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_tried_is_told_from_the_arguments() {
        let check = |name: &str, arguments: Value, expect: Option<&str>| {
            let Value::Object(arguments) = arguments else { panic!("no arguments: {arguments}") };
            assert_eq!(target_of(name, &arguments), expect, "{name}");
        };
        check("write_file", json!({"content": "x", "path": "a.txt"}), Some("a.txt"));
        check("execute", json!({"command": "rm -rf ."}), Some("rm -rf ."));
        check("apply_patch", json!({"patch": "*** Begin Patch\n*** Delete File: a.txt\n"}), Some("a.txt"));
        check("brand_new", json!({"path": " ", "url": "http://x"}), Some("http://x"));
        check("brand_new", json!({"path": 1}), None);
    }
}
