//! Which credential a run uses, and why: what is named, then keys, then logins; pure.

use serde::Serialize;

/// Everything there is to choose from.
#[derive(Debug, Clone, Default)]
pub struct CredentialOffer {
    /// What the user named: a variable, `command`, or a login by its name.
    pub named: Option<String>,
    /// Variables with a key that are set.
    pub keys: Vec<String>,
    /// Whether the configuration has a credential command.
    pub has_command: bool,
    /// Logins that are there.
    pub logins: Vec<LoginOffer>,
}

/// A login that is there.
#[derive(Debug, Clone)]
pub struct LoginOffer {
    /// Its name in the list.
    pub name: String,
    /// Whose account it is.
    pub title: String,
    /// The agent it was made for.
    pub agent: String,
    /// Why it cannot be used now, in words.
    pub problem: Option<String>,
}

/// A credential that a run uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "name")]
pub enum ChosenCredential {
    /// The key in a variable.
    Key(String),
    /// What the configured command prints.
    Command,
    /// A login by its name in the list.
    Login(String),
}

/// A choice with its reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CredentialChoice {
    /// What is used, unless there is nothing.
    pub chosen: Option<ChosenCredential>,
    /// Why, and why nothing else: one sentence each.
    pub reasons: Vec<String>,
}

/// Chooses for an agent.
pub fn choose_credential(agent: &str, offer: &CredentialOffer) -> CredentialChoice {
    let mut reasons = Vec::new();
    let chosen = match &offer.named {
        Some(name) => named(agent, name, offer, &mut reasons),
        None => unnamed(agent, offer, &mut reasons),
    };
    CredentialChoice { chosen, reasons }
}

/// What is named is used or nothing is: whoever names one login does not want to pay with another.
fn named(
    agent: &str,
    name: &str,
    offer: &CredentialOffer,
    reasons: &mut Vec<String>,
) -> Option<ChosenCredential> {
    if let Some(login) = offer.logins.iter().find(|login| login.name == name) {
        let title = &login.title;
        if login.agent != agent {
            reasons.push(format!(
                "The {title} login `{name}` was named, and it was made for {}: {agent} may not use it.",
                login.agent
            ));
            return None;
        }
        if let Some(problem) = &login.problem {
            reasons.push(format!("The {title} login `{name}` was named and cannot be used: {problem}."));
            return None;
        }
        reasons.push(format!("The {title} login `{name}` was named."));
        return Some(ChosenCredential::Login(name.to_owned()));
    }
    if name == "command" {
        let (chosen, reason) = match offer.has_command {
            true => (Some(ChosenCredential::Command), "The credential command was named."),
            false => (None, "The credential command was named, and the configuration has none."),
        };
        reasons.push(reason.to_owned());
        return chosen;
    }
    if offer.keys.iter().any(|key| key == name) {
        reasons.push(format!("The key in {name} was named."));
        return Some(ChosenCredential::Key(name.to_owned()));
    }
    reasons.push(format!("`{name}` was named, and there is neither such a variable nor such a login."));
    None
}

fn unnamed(agent: &str, offer: &CredentialOffer, reasons: &mut Vec<String>) -> Option<ChosenCredential> {
    let mut chosen = None;
    for key in &offer.keys {
        match chosen {
            None => {
                reasons.push(format!("There is a key in {key}, and a key comes before a login."));
                chosen = Some(ChosenCredential::Key(key.clone()));
            }
            Some(_) => reasons.push(format!("The key in {key} comes later.")),
        }
    }
    if chosen.is_none() {
        reasons.push("No variable holds a key.".to_owned());
    }
    if offer.has_command {
        match chosen {
            None => {
                reasons.push("The configuration has a credential command.".to_owned());
                chosen = Some(ChosenCredential::Command);
            }
            Some(_) => reasons.push("The credential command comes later.".to_owned()),
        }
    }
    for login in &offer.logins {
        let LoginOffer { name, title, .. } = login;
        if login.agent != agent {
            reasons.push(format!(
                "The {title} login `{name}` was made for {}, so {agent} may not use it.",
                login.agent
            ));
        } else if let Some(problem) = &login.problem {
            reasons.push(format!("The {title} login `{name}` cannot be used: {problem}."));
        } else if chosen.is_some() {
            reasons
                .push(format!("The {title} login `{name}` comes later: it would be used if it was named."));
        } else {
            reasons.push(format!("The {title} login `{name}` was made for {agent}."));
            chosen = Some(ChosenCredential::Login(name.clone()));
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(name: &str, agent: &str, problem: Option<&str>) -> LoginOffer {
        let problem = problem.map(str::to_owned);
        LoginOffer { name: name.into(), title: "Claude".into(), agent: agent.into(), problem }
    }

    fn offer(
        named: Option<&str>,
        keys: &[&str],
        has_command: bool,
        logins: &[LoginOffer],
    ) -> CredentialOffer {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        CredentialOffer { named: named.map(str::to_owned), keys, has_command, logins: logins.to_vec() }
    }

    #[test]
    fn named_then_keys_then_logins_and_each_for_its_agent() {
        let own = || login("claude", "claude-code", None);
        let ended = || login("claude", "claude-code", Some("it has ended"));
        let of_pi = || login("pi-claude", "pi", None);
        let key = |name: &str| Some(ChosenCredential::Key(name.into()));
        let file = || Some(ChosenCredential::Login("claude".into()));
        for (offer, chosen, reason) in [
            (offer(None, &[], false, &[]), None, "No variable holds a key."),
            (
                offer(None, &["A_API_KEY", "B_API_KEY"], true, &[own()]),
                key("A_API_KEY"),
                "B_API_KEY comes later",
            ),
            (offer(None, &[], true, &[own()]), Some(ChosenCredential::Command), "`claude` comes later"),
            (offer(None, &[], false, &[of_pi(), own()]), file(), "made for pi, so claude-code may not"),
            (offer(None, &[], false, &[of_pi()]), None, "made for pi, so claude-code may not"),
            (offer(None, &[], false, &[ended()]), None, "cannot be used: it has ended."),
            (offer(Some("claude"), &["A_API_KEY"], true, &[own()]), file(), "`claude` was named."),
            (offer(Some("claude"), &["A_API_KEY"], true, &[ended()]), None, "cannot be used: it has ended."),
            (offer(Some("pi-claude"), &["A_API_KEY"], false, &[of_pi()]), None, "claude-code may not use it"),
            (
                offer(Some("A_API_KEY"), &["B_API_KEY", "A_API_KEY"], false, &[]),
                key("A_API_KEY"),
                "was named.",
            ),
            (offer(Some("command"), &[], false, &[]), None, "has none"),
            (offer(Some("command"), &["A"], true, &[]), Some(ChosenCredential::Command), "was named"),
            (offer(Some("nobody"), &["A"], true, &[own()]), None, "neither such a variable nor such a login"),
        ] {
            let choice = choose_credential("claude-code", &offer);
            assert_eq!(choice.chosen, chosen, "{offer:?}");
            assert!(
                choice.reasons.iter().any(|told| told.contains(reason)),
                "{reason}: {:?}",
                choice.reasons
            );
            assert!(choice.reasons.iter().all(|told| told.ends_with('.') && !told.contains('\n')));
        }
    }
}
