//! The file that describes an agent that was added.

use std::fmt::Write as _;

use super::called::CallForm;
use crate::adapter::Adapter;

/// What is known of an agent.
pub(super) struct AgentFacts<'a> {
    pub name: &'a str,
    /// What was given to `holon agents add`.
    pub source: &'a str,
    pub program: &'a str,
    pub call: &'a CallForm,
    /// `messages`, `responses`, `chat` or `gemini`.
    pub wire: &'a str,
    /// Whose variables and files lead any agent to the gateway.
    pub ways: &'a Adapter,
}

/// The text of the file.
pub(super) fn text(facts: &AgentFacts<'_>) -> String {
    let AgentFacts { name, source, program, call, wire, ways } = facts;
    let mut words = Vec::new();
    if call.acp {
        words.extend(["{client}", "{system}\n\n{prompt}"]);
    }
    words.push("{program}");
    words.extend(call.args.iter().map(String::as_str));
    words.extend(["{mode}", "{args}"]);
    let words: Vec<String> = words.into_iter().map(quoted).collect();
    let mut text = format!(
        "# Written by `holon agents add {}`. Change what is wrong; `holon agents check {name}` tries it.\n\
         # docs/agents.md says what each key means.\n\
         name = {}\nkind = \"exec\"\ndescription = {}\n",
        source.replace(['\n', '\r'], " "),
        quoted(name),
        quoted(&format!("Added from {source}")),
    );
    let events = if call.acp { "acp" } else { "text" };
    let _ = write!(
        text,
        "# How it tells what it does; what an agent with \"text\" prints becomes the artifacts it writes no file for.\n\
         events = \"{events}\"\n\
         # {}\ncommand = [{}]\n\n\
         [find]\nprogram = {}\ninstall = {}\nversion = [\"--version\"]\n\n\
         [model]\nwire = {}\n\n\
         # Agents look in different places for their model; all of these lead to the gateway.\n[env]\n",
        call.why.replace('\n', " "),
        words.join(", "),
        quoted(program),
        quoted(&format!("holon agents add {source}")),
        quoted(wire),
    );
    for (name, value) in &ways.env {
        let _ = writeln!(text, "{} = {}", key(name), quoted(value));
    }
    if !ways.files.is_empty() {
        text += "\n[files]\n";
        for (name, content) in &ways.files {
            let _ = writeln!(text, "{} = {}", key(name), quoted(content));
        }
    }
    text
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn key(name: &str) -> String {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    if plain { name.to_owned() } else { quoted(name) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::adapter::events::AgentEventFormat;

    #[test]
    fn what_is_written_can_be_read() {
        let ways = crate::adapter::builtin("acp").unwrap();
        for (call, events) in [
            (CallForm::of_help("  --acp  speak"), AgentEventFormat::Acp),
            (CallForm::of_help("  --task TEXT  what\n"), AgentEventFormat::Text),
            (CallForm::given(&["-x".into(), "it's \"{prompt}\"\n".into()]), AgentEventFormat::Text),
        ] {
            let facts = AgentFacts {
                name: "mine",
                source: "npm:a",
                program: "my-agent",
                call: &call,
                wire: "chat",
                ways: &ways,
            };
            let read = Adapter::parse(&text(&facts), "mine.toml").unwrap();
            assert_eq!((read.events, &read.env, &read.files), (Some(events), &ways.env, &ways.files));
            let program = read.command.iter().position(|word| word == "{program}").unwrap();
            assert_eq!(read.command[program + 1..program + 1 + call.args.len()], call.args);
            assert_eq!(read.find.unwrap().program, "my-agent");
        }
    }
}
