//! The commands of a `devcontainer.json`, which is JSON with comments and commas at the end of lists.

use serde_json::Value;

/// Where it is, in the order in which it is looked for.
pub(crate) const FILES: [&str; 2] = [".devcontainer/devcontainer.json", ".devcontainer.json"];

/// Its keys that set a container up, in the order in which they are carried out.
const KEYS: [&str; 3] = ["onCreateCommand", "updateContentCommand", "postCreateCommand"];

/// The commands, each for a shell; the error is a sentence for a person.
pub(crate) fn commands(text: &str) -> Result<Vec<String>, String> {
    let value: Value = serde_json::from_str(&plain(text)).map_err(|e| e.to_string())?;
    let mut commands = Vec::new();
    for key in KEYS {
        match &value[key] {
            Value::Null => {}
            // Those of a table are independent of each other, so any order is right.
            Value::Object(named) => {
                for one in named.values() {
                    commands.push(command(one).ok_or_else(|| format!("`{key}` is no command"))?);
                }
            }
            one => commands.push(command(one).ok_or_else(|| format!("`{key}` is no command"))?),
        }
    }
    commands.retain(|command| !command.trim().is_empty());
    Ok(commands)
}

/// A text is for a shell; a list is a program and its arguments.
fn command(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words = words.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?;
            Some(words.into_iter().map(quoted).collect::<Vec<_>>().join(" "))
        }
        _ => None,
    }
}

/// A word that a shell takes as it is.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Takes comments out, and commas before the end of a list or table.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.trim_start_matches('\u{feff}').chars().peekable();
    let mut in_text = false;
    while let Some(c) = chars.next() {
        if in_text {
            out.push(c);
            match c {
                '\\' => out.extend(chars.next()),
                '"' => in_text = false,
                _ => {}
            }
            continue;
        }
        match (c, chars.peek()) {
            ('/', Some('/')) => while chars.next_if(|&c| c != '\n').is_some() {},
            ('/', Some('*')) => {
                chars.next();
                let mut last = ' ';
                for c in chars.by_ref() {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
            }
            (']' | '}', _) => {
                let end = out.trim_end().len();
                if out[..end].ends_with(',') {
                    out.truncate(end - 1);
                }
                out.push(c);
            }
            _ => {
                in_text = c == '"';
                out.push(c);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn each_form_of_a_command_is_read() {
        let text = r#"{
            // a comment with "quotes"
            "image": "x", /* another
            one */
            "onCreateCommand": ["npm", "ci", "--prefix", "a b", "it's"],
            "updateContentCommand": { "one": "make deps", "two": ["true"], },
            "postCreateCommand": "echo \"// not a comment\" , ]",
            "list": [1, 2, ],
        }"#;
        let expected =
            ["npm ci --prefix 'a b' 'it'\\''s'", "make deps", "true", "echo \"// not a comment\" , ]"];
        assert_eq!(commands(text).unwrap(), expected);
    }

    #[test]
    fn what_is_no_command_is_said_and_nothing_panics() {
        assert_eq!(commands("{}").unwrap(), Vec::<String>::new());
        assert_eq!(commands(r#"{"postCreateCommand": ""}"#).unwrap(), Vec::<String>::new());
        for text in
            [r#"{"postCreateCommand": 3}"#, r#"{"onCreateCommand": ["a", 1]}"#, "", "{", "/*", "\"\\", "]"]
        {
            assert!(commands(text).is_err(), "{text}");
        }
    }
}
