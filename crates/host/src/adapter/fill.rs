//! What stands in braces in an adapter's command, environment and files.
//!
//! | words | stand for |
//! |---|---|
//! | `{program}` | the agent's program, as it was found |
//! | `{client}` | our own program, which speaks the Agent Client Protocol to the agent named next |
//! | `{agent}` | the file given with `--agent` |
//! | `{prompt}` `{system}` | the goal with what to hand over; the rules of the run |
//! | `{goal}` | the same as `{prompt}`, with a person at the screen: a word that has it is left out when nobody gave a goal |
//! | `{model}` | the model that the gateway asks |
//! | `{gateway}` `{token}` `{token_end}` | the address of the only door to a model, what opens it, and its last 20 letters |
//! | `{workspace}` `{input}` `{output}` `{home}` | the folders, as seen inside |
//! | `{rounds}` | how many times the model may be asked |
//! | `{mode}` `{args}` | alone in a word: what the mode adds, and what was given after `--` |

use std::collections::BTreeMap;
use std::ffi::OsString;

/// The longest text that is passed as one argument; the kernel takes no more than 128 KiB.
const MAX_ARGUMENT: usize = 120 * 1024;

/// What each name stands for.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlaceholderValues {
    values: BTreeMap<&'static str, String>,
    /// What `{mode}` stands for.
    mode: Vec<String>,
    /// What `{args}` stands for.
    args: Vec<String>,
}

impl PlaceholderValues {
    /// With these for `{mode}` and `{args}`.
    pub(crate) fn new(mode: Vec<String>, args: Vec<String>) -> Self {
        Self { mode, args, values: BTreeMap::new() }
    }

    /// Sets what a name stands for.
    pub(crate) fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.values.insert(name, value.into());
    }

    /// A text of any length for the command line: a longer one is left in its file, with a word about where that is.
    pub(crate) fn set_text(&mut self, name: &'static str, text: String, file: &str) {
        let fits = text.len() <= MAX_ARGUMENT;
        self.set(name, if fits { text } else { format!("Read {file} first: it is your task, in full.") });
    }

    /// A command line.
    pub(crate) fn words(&self, command: &[String]) -> Vec<OsString> {
        let mut all = Vec::new();
        for word in command {
            match word.as_str() {
                "{mode}" => all.extend(self.mode.iter().map(|word| self.text(word).into())),
                "{args}" => all.extend(self.args.iter().map(OsString::from)),
                word if word.contains("{goal}") && !self.values.contains_key("goal") => {}
                word => all.push(self.text(word).into()),
            }
        }
        all
    }

    /// A text, in one pass: what is filled in is never looked at again.
    pub(crate) fn text(&self, template: &str) -> String {
        self.replace(template, |value| value.to_owned())
    }

    /// The content of a file: values are escaped as inside a JSON string, which TOML and YAML read the same way.
    pub(crate) fn file(&self, template: &str) -> String {
        self.replace(template, |value| {
            let quoted = serde_json::Value::from(value).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        })
    }

    fn replace(&self, template: &str, form: impl Fn(&str) -> String) -> String {
        let mut out = String::new();
        let mut rest = template;
        while let Some(at) = rest.find('{') {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let name = rest[1..].split_once('}').map(|(name, _)| name);
            match name.and_then(|name| Some((name, self.values.get(name)?))) {
                Some((name, value)) => {
                    out.push_str(&form(value));
                    rest = &rest[name.len() + 2..];
                }
                None => {
                    out.push('{');
                    rest = &rest[1..];
                }
            }
        }
        out.push_str(rest);
        out
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filling() -> PlaceholderValues {
        let mut filling = PlaceholderValues {
            mode: vec!["--plan".into()],
            args: vec!["{token}".into()],
            ..PlaceholderValues::default()
        };
        filling.set("prompt", "say {token} \"twice\"\n");
        filling.set("token", "t0");
        filling
    }

    #[test]
    fn names_in_braces_are_filled_in_once() {
        let words = |list: &[&str]| {
            let list: Vec<String> = list.iter().map(|word| (*word).to_owned()).collect();
            filling().words(&list)
        };
        assert_eq!(words(&["{prompt}"]), ["say {token} \"twice\"\n"]);
        assert_eq!(words(&["a", "{mode}", "{args}"]), ["a", "--plan", "{token}"]);
        assert_eq!(words(&["k={token},{unknown} {\"a\":{}}"]), ["k=t0,{unknown} {\"a\":{}}"]);
    }

    #[test]
    fn values_in_files_stay_inside_their_quotes() {
        assert_eq!(filling().file("{\"p\":\"{prompt}\"}"), r#"{"p":"say {token} \"twice\"\n"}"#);
    }

    #[test]
    fn a_text_that_is_too_long_stays_in_its_file() {
        let mut filling = PlaceholderValues::default();
        filling.set_text("prompt", "x".repeat(MAX_ARGUMENT + 1), "/holon/input/prompts/user.md");
        assert!(filling.text("{prompt}").contains("/holon/input/prompts/user.md"));
    }

    proptest! {
        #[test]
        fn any_template_is_taken(template in ".{0,60}") {
            let (text, plain) = (filling().text(&template), !template.contains('{'));
            prop_assert!(!plain || text == template, "a text without braces changed");
        }
    }
}
