//! Variables that look like ours and say nothing: misspelt ones would be silently without effect.

use holon_core::suggest;
use holon_host::config;

use crate::session::variable;
use crate::terminal::{Terminal, visible};

/// What `HOLON_LOG` can be.
const FORMATS: [&str; 2] = ["text", "json"];

/// Says which variables of the environment nobody reads; nothing fails for it, as for an unknown key of a file.
pub(crate) fn warn(terminal: &Terminal) {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let log = variable("HOLON_LOG").map(|value| value.to_string_lossy().into_owned());
    for message in wrong(names, log.as_deref()) {
        terminal.say(&format!("warning: {}", visible(&message)));
    }
}

fn wrong(names: impl Iterator<Item = String>, log: Option<&str>) -> Vec<String> {
    let mut told = Vec::new();
    if let Some(log) = log.map(str::trim).filter(|log| !log.is_empty() && !FORMATS.contains(log)) {
        let meant = suggest::hint(log, FORMATS);
        told.push(format!("HOLON_LOG is `{log}`, which is not used{meant}: it is one of text, json"));
    }
    let known: Vec<String> = config::variables().collect();
    // Two underscores divide sections, which is how a key of the configuration is spelled as a variable.
    let ours = |name: &String| name.strip_prefix("HOLON_").is_some_and(|rest| rest.contains("__"));
    let mut unread: Vec<String> = names.filter(ours).filter(|name| !known.contains(name)).collect();
    unread.sort();
    for name in unread {
        let meant = suggest::hint(&name, known.iter().map(String::as_str));
        let own_mode = name.starts_with("HOLON_MODES__");
        let more = if own_mode { "; modes of your own are set in config.toml" } else { "" };
        told.push(format!("${name}: no key of the configuration is spelled like this{meant}{more}"));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_reads_is_named_with_what_was_meant() {
        let check = |names: &[&str], log: Option<&str>, expect: &[&str]| {
            let told = wrong(names.iter().map(ToString::to_string), log);
            assert_eq!(told.len(), expect.len(), "{told:?}");
            for (told, expect) in told.iter().zip(expect) {
                assert!(told.contains(expect), "{told}");
            }
        };
        check(&["HOLON_MODELS__SELECTION", "HOLON_MODES__CODE__MODEL", "HOLON_MODEL", "PATH"], None, &[]);
        check(&["HOLON_MODELS__SELECTOIN"], None, &["(did you mean `HOLON_MODELS__SELECTION`?)"]);
        check(&["HOLON_MODES__MINE__MODEL"], None, &["config.toml"]);
        check(&["OTHER__X", "HOLON_B__X", "HOLON_A__X"], None, &["$HOLON_A__X", "$HOLON_B__X"]);
        check(&[], Some("xml"), &["HOLON_LOG is `xml`"]);
        check(&[], Some("jsno"), &["(did you mean `json`?)"]);
        for fine in ["", " ", "json", "text", " json "] {
            check(&[], Some(fine), &[]);
        }
    }
}
