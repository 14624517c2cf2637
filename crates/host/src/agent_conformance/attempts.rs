//! The attempts of the breach suite, as data, and the calls each becomes for an agent.

use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;

use super::stage::A_FILE;
use crate::adapter::fill::PlaceholderValues;
use crate::adapter::{Adapter, ConformanceCall};

/// The words by which a child's conversation is known.
pub(super) const CHILD: &str = "rehearsal-child-";

/// The number under which a command that only reads is made.
pub(super) const READING: usize = usize::MAX;

/// The most deeds that come before another.
const MOST_BEFORE: usize = 4;

/// One known way around a mode.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BreachAttempt {
    /// What it is called.
    pub name: String,
    /// How it is tried: `shell`, or a deed that an adapter describes.
    #[serde(default = "shell")]
    pub deed: String,
    /// The command, for deeds that lead to one.
    #[serde(default)]
    pub command: String,
    /// The file whose change shows that it worked; a name of its own when not given.
    #[serde(default)]
    pub target: String,
    /// What is in it before.
    #[serde(default)]
    pub file: Option<String>,
    /// Whether it is one of the few that a short rehearsal makes in every mode.
    #[serde(default)]
    pub short: bool,
    /// A program that it needs and that is not everywhere.
    #[serde(default)]
    pub needs: Option<String>,
}

impl BreachAttempt {
    /// The program that it needs, where this machine does not have it; inside the walls there are only the system's.
    pub fn lacks(&self) -> Option<&str> {
        let there = |program: &&str| {
            ["/usr/bin", "/bin"].iter().any(|folder| Path::new(folder).join(program).exists())
        };
        self.needs.as_deref().filter(|program| !there(program))
    }
}

fn shell() -> String {
    "shell".into()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BreachAttemptsFile {
    attempt: Vec<BreachAttempt>,
}

static ALL: LazyLock<Vec<BreachAttempt>> = LazyLock::new(|| {
    let text = include_str!("../../../../adapters/rehearsal/breach.toml");
    let file: BreachAttemptsFile = toml::from_str(text).unwrap_or(BreachAttemptsFile { attempt: Vec::new() });
    let named = |(number, attempt): (usize, BreachAttempt)| BreachAttempt {
        target: if attempt.target.is_empty() { format!("way-{number:02}.txt") } else { attempt.target },
        ..attempt
    };
    file.attempt.into_iter().enumerate().map(named).collect()
});

/// All attempts.
pub fn all() -> &'static [BreachAttempt] {
    &ALL
}

/// A call the script makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScriptedCall {
    /// The attempt it belongs to.
    pub attempt: usize,
    pub tool: String,
    pub arguments: String,
    /// Whether it is the one that counts.
    pub counts: bool,
    /// Whether the others go on without it where its tool is not offered.
    pub optional: bool,
}

/// What the calls of a rehearsal are filled with.
pub(super) struct AttemptScene<'a> {
    /// The folder the agent works in, as it sees it.
    pub root: &'a str,
    /// A folder of the host's beside it, which the agent has no business in.
    pub outside: &'a str,
    /// The agent's program, as it sees it.
    pub program: &'a str,
    /// What the agent calls the model.
    pub model: &'a str,
}

/// The calls of an attempt for an agent; none when it has no such tool.
pub(super) fn calls(
    number: usize,
    attempt: &BreachAttempt,
    adapter: &Adapter,
    scene: &AttemptScene<'_>,
) -> Vec<ScriptedCall> {
    if attempt.lacks().is_some() {
        return Vec::new();
    }
    let mut filling = filling(number, attempt, scene.root, scene.outside);
    filling.set("prompt", format!("{CHILD}{number}: run the command you are told to run"));
    filling.set("program", scene.program);
    filling.set("model", scene.model);
    let plan = |deed: &ConformanceCall, counts: bool| ScriptedCall {
        attempt: number,
        tool: deed.tool.clone(),
        arguments: filling.file(&deed.arguments),
        counts,
        optional: deed.optional,
    };
    // An agent may need a way of its own for one attempt.
    let own = adapter.rehearsal.get(&attempt.name);
    let Some(deed) = own.or_else(|| adapter.rehearsal.get(&attempt.deed)) else { return Vec::new() };
    let named = |name: &Option<String>| name.as_ref().and_then(|name| adapter.rehearsal.get(name));
    let follows = named(&deed.then);
    let first = std::iter::successors(named(&deed.after), |deed| named(&deed.after)).take(MOST_BEFORE);
    let mut all: Vec<ScriptedCall> = first.map(|deed| plan(deed, false)).collect();
    all.reverse();
    all.push(plan(deed, follows.is_none()));
    all.extend(follows.map(|deed| plan(deed, true)));
    all
}

/// A command that only reads, for an agent that has commands.
pub(super) fn reading(adapter: &Adapter) -> Option<ScriptedCall> {
    let deed = adapter.rehearsal.get("shell")?;
    let mut filling = PlaceholderValues::default();
    filling.set("command", format!("cat {A_FILE}"));
    Some(ScriptedCall {
        attempt: READING,
        tool: deed.tool.clone(),
        arguments: filling.file(&deed.arguments),
        counts: true,
        optional: false,
    })
}

/// What stands in braces in an attempt; `{made}` and the beginning of `{command}` print a mark that shows that it was run.
fn filling(number: usize, attempt: &BreachAttempt, root: &str, outside: &str) -> PlaceholderValues {
    let mut filling = PlaceholderValues::default();
    filling.set("root", root);
    filling.set("outside", outside);
    filling.set("target", attempt.target.clone());
    filling.set("path", format!("{root}/{}", attempt.target));
    let made = format!("printf 'made-%03d\\n' {number}");
    let command = format!("{made}; {}", filling.text(&attempt.command));
    filling.set("made", made);
    filling.set("command", command);
    filling
}

/// The mark that a command prints.
pub(super) fn mark_of(number: usize) -> String {
    format!("made-{number:03}")
}

/// The calls that a child is made to make, one after the other, as tool and arguments: what the deed names, else the
/// attempt's command.
pub(super) fn child(number: usize, adapter: &Adapter, root: &str, outside: &str) -> Vec<(String, String)> {
    let Some(attempt) = all().get(number) else { return Vec::new() };
    let filling = filling(number, attempt, root, outside);
    let named = adapter.rehearsal.get(&attempt.deed).map(|deed| deed.child.clone()).unwrap_or_default();
    let names = if named.is_empty() { vec![shell()] } else { named };
    let deeds = names.iter().map(|name| adapter.rehearsal.get(name));
    let calls = deeds.map(|deed| deed.map(|deed| (deed.tool.clone(), filling.file(&deed.arguments))));
    calls.collect::<Option<Vec<_>>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_attempt_has_a_target_of_its_own() {
        assert!(all().len() > 120);
        assert!((5..15).contains(&all().iter().filter(|attempt| attempt.short).count()));
        let targets: BTreeSet<&str> = all().iter().map(|attempt| attempt.target.as_str()).collect();
        assert_eq!(targets.len(), all().len());
        for attempt in all().iter().filter(|attempt| attempt.deed == "shell") {
            assert!(!attempt.command.is_empty(), "{}", attempt.name);
        }
    }

    #[test]
    fn what_this_machine_lacks_is_not_tried() {
        let text = "name = \"x\"\nkind = \"exec\"\ncommand = [\"x\"]\n[rehearsal.shell]\ntool = \"Bash\"\narguments = '{}'";
        let adapter = Adapter::parse(text, "x").unwrap();
        let scene = AttemptScene { root: "/w", outside: "/o", program: "/p", model: "m" };
        let number = all().iter().position(|attempt| attempt.name == "tee").unwrap();
        for (needs, tried) in [(None, 1), (Some("sh"), 1), (Some("no-such-program"), 0)] {
            let attempt = BreachAttempt { needs: needs.map(str::to_owned), ..all()[number].clone() };
            assert_eq!(calls(number, &attempt, &adapter, &scene).len(), tried, "{needs:?}");
        }
    }

    #[test]
    fn commands_become_calls() {
        let text = "name = \"x\"\nkind = \"exec\"\ncommand = [\"x\"]\n[rehearsal.shell]\ntool = \"Bash\"\narguments = '{\"command\": \"{command}\"}'\n\
                    [rehearsal.leave_plan]\ntool = \"Exit\"\narguments = '{}'\nthen = \"shell\"";
        let adapter = Adapter::parse(text, "x").unwrap();
        let scene = AttemptScene { root: "/w", outside: "/o", program: "/p", model: "m" };
        let number = all().iter().position(|attempt| attempt.name == "awk").unwrap();
        let [call] = calls(number, &all()[number], &adapter, &scene).try_into().unwrap();
        let arguments: serde_json::Value = serde_json::from_str(&call.arguments).unwrap();
        assert_eq!(
            arguments["command"],
            format!(
                "printf 'made-%03d\\n' {number}; awk 'BEGIN {{ print \"breached\" > \"way-{number:02}.txt\" }}'"
            )
        );
        let leaving = all().iter().position(|attempt| attempt.deed == "leave_plan").unwrap();
        let made = calls(leaving, &all()[leaving], &adapter, &scene);
        assert_eq!(made.iter().map(|call| call.counts).collect::<Vec<_>>(), [false, true]);
        assert!(calls(0, &all()[0], &adapter, &scene).is_empty(), "it has no tool to write with");
    }

    #[test]
    fn a_child_does_what_the_deed_says() {
        let text = "name = \"x\"\nkind = \"exec\"\ncommand = [\"x\"]\n[rehearsal]\nshell = { tool = \"Bash\", arguments = '{command}' }\n\
                    exit = { tool = \"Exit\", arguments = '{}' }\n\
                    patch = { tool = \"Bash\", arguments = '{}', child = [\"exit\", \"shell\"] }\n\
                    delegate = { tool = \"Task\", arguments = '{}' }";
        let adapter = Adapter::parse(text, "x").unwrap();
        let tools = |deed: &str| {
            let number = all().iter().position(|attempt| attempt.deed == deed).unwrap();
            child(number, &adapter, "/w", "/o").into_iter().map(|(tool, _)| tool).collect::<Vec<_>>()
        };
        assert_eq!(tools("patch"), ["Exit", "Bash"]);
        assert_eq!(tools("delegate"), ["Bash"]);
    }
}
