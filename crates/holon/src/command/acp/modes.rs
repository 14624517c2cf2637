//! The modes an editor can choose: the two of a chat, and those in which every prompt is a run of its own.

use serde_json::{Value, json};

use super::updates::text;
use crate::threads::ThreadsApi;

/// The modes of a chat, with what they mean.
const CHAT: [(&str, &str, &str); 2] = [
    ("plan", "Plan", "Only looks: running, writing and editing are refused by the host"),
    ("build", "Build", "Does the work in a snapshot; nothing reaches the folder before it is applied"),
];
/// The mode of a session that is new.
pub(super) const FIRST: &str = "build";
/// Splits a goal into many runs, which is more than a prompt can show.
const NOT_HERE: [&str; 1] = ["orchestrate"];

/// The modes of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionModes(Vec<SessionMode>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct SessionMode {
    id: String,
    name: String,
    description: String,
    /// Whether a prompt is a run.
    run: bool,
}

impl SessionModes {
    /// What whoever carries the threads has; a cassette knows of chats only.
    pub(super) fn of(api: &ThreadsApi) -> Self {
        if api.carrier().plays_cassette() {
            return Self::from_listed(&[]);
        }
        Self::from_listed(&api.modes().unwrap_or_default())
    }

    fn from_listed(listed: &[Value]) -> Self {
        let chat = CHAT.map(|(id, name, description)| SessionMode {
            id: id.to_owned(),
            name: name.to_owned(),
            description: description.to_owned(),
            run: false,
        });
        let mut all = chat.to_vec();
        for mode in listed {
            let (id, description) = (text(&mode["name"]), text(&mode["description"]));
            let known = all.iter().any(|mode| mode.id == id) || !mode["chat"].is_null();
            if id.is_empty() || known || NOT_HERE.contains(&id) {
                continue;
            }
            let asks = if text(&mode["access"]) == "flow" { "; you are asked at its gates" } else { "" };
            let description = format!(
                "{}. Every prompt is a run of its own on the folder as it is, and hands over what it came to{asks}",
                description.trim_end_matches('.')
            );
            all.push(SessionMode { id: id.to_owned(), name: capital(id), description, run: true });
        }
        Self(all)
    }

    /// Whether there is such a mode.
    pub(super) fn has(&self, id: &str) -> bool {
        self.0.iter().any(|mode| mode.id == id)
    }

    /// Whether a prompt in this mode is a run.
    pub(super) fn is_run(&self, id: &str) -> bool {
        self.0.iter().any(|mode| mode.id == id && mode.run)
    }

    /// Their names, for whoever named another one.
    pub(super) fn names(&self) -> String {
        self.0.iter().map(|mode| mode.id.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// The modes, as the protocol had them first.
    pub(super) fn state(&self, current: &str) -> Value {
        let available = self
            .0
            .iter()
            .map(|mode| json!({"id": mode.id, "name": mode.name, "description": mode.description}));
        json!({"currentModeId": current, "availableModes": available.collect::<Vec<_>>()})
    }

    /// The same as an option, as the protocol will have them.
    pub(super) fn options(&self, current: &str) -> Value {
        let options = self
            .0
            .iter()
            .map(|mode| json!({"value": mode.id, "name": mode.name, "description": mode.description}));
        json!([{"id": "mode", "name": "Mode", "category": "mode", "type": "select", "currentValue": current,
            "options": options.collect::<Vec<_>>()}])
    }
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chats_come_first_and_orchestrations_not_at_all() {
        let listed = [
            json!({"name": "execute", "chat": "build", "access": "rw", "description": "x"}),
            json!({"name": "plan", "chat": "plan", "access": "read-only", "description": "x"}),
            json!({"name": "review", "chat": null, "access": "read-only", "description": "Finds mistakes."}),
            json!({"name": "orchestrate", "chat": null, "access": "read-only", "description": "x"}),
            json!({"name": "build", "chat": null, "access": "rw", "description": "a mode of the user's"}),
            json!({"name": "plan-then-execute", "chat": null, "access": "flow", "description": "x"}),
        ];
        let modes = SessionModes::from_listed(&listed);
        assert_eq!(modes.names(), "plan, build, review, plan-then-execute");
        assert!(modes.is_run("review") && !modes.is_run("build") && !modes.has("orchestrate"));
        let state = modes.state("plan");
        assert_eq!(state["availableModes"][2]["name"], "Review");
        assert!(text(&state["availableModes"][2]["description"]).starts_with("Finds mistakes. Every prompt"));
        assert!(text(&state["availableModes"][3]["description"]).ends_with("you are asked at its gates"));
        assert_eq!(modes.options("plan")[0]["currentValue"], "plan");
    }
}
