//! What is wrong with an adapter file, in words that name the place and the nearest thing that would be right.

use holon_core::suggest;

use super::file::Adapter;

/// What may stand in braces in a command, a variable or a file.
const NAMES: [&str; 17] = [
    "program",
    "client",
    "agent",
    "prompt",
    "goal",
    "system",
    "model",
    "gateway",
    "token",
    "token_end",
    "workspace",
    "input",
    "output",
    "home",
    "rounds",
    "mode",
    "args",
];

/// A parser's complaint as `line N: …`, with what was probably meant.
pub(super) fn in_words(error: &toml::de::Error, text: &str) -> String {
    let line =
        error.span().and_then(|span| text.get(..span.start)).map(|before| before.matches('\n').count() + 1);
    let message = error.message().trim().replace('\n', ", ");
    let place = line.map(|line| format!("line {line}: ")).unwrap_or_default();
    format!("{place}{}", meant(&message).unwrap_or(message))
}

/// An unknown key or word with its nearest neighbour among those that were expected.
fn meant(message: &str) -> Option<String> {
    let (what, rest) = [("unknown field `", "unknown key"), ("unknown variant `", "unknown word")]
        .into_iter()
        .find_map(|(start, what)| Some((what, message.strip_prefix(start)?)))?;
    let (wrong, expected) = rest.split_once("`, expected ")?;
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    let hint = suggest::hint(wrong, known.iter().copied());
    Some(format!("{what} `{wrong}`{hint}; known here: {}", known.join(", ")))
}

/// A word in braces that is nothing, but nearly something: it would reach the agent as it stands.
pub(super) fn braces(adapter: &Adapter) -> Option<String> {
    let modes = || adapter.modes.iter();
    let mut places: Vec<(String, &str)> = Vec::new();
    places.extend(adapter.command.iter().map(|word| ("command".to_owned(), word.as_str())));
    places.extend(adapter.env.iter().map(|(name, value)| (format!("env.{name}"), value.as_str())));
    places.extend(adapter.files.iter().map(|(name, text)| (format!("files.{name}"), text.as_str())));
    if let Some(screen) = &adapter.interactive {
        places.extend(screen.command.iter().map(|word| ("interactive.command".to_owned(), word.as_str())));
        places.extend(
            screen.env.iter().map(|(name, value)| (format!("interactive.env.{name}"), value.as_str())),
        );
        places.extend(
            screen.files.iter().map(|(name, text)| (format!("interactive.files.{name}"), text.as_str())),
        );
    }
    for (mode, own) in modes() {
        places.extend(own.args.iter().map(|word| (format!("modes.{mode}.args"), word.as_str())));
        places
            .extend(own.env.iter().map(|(name, value)| (format!("modes.{mode}.env.{name}"), value.as_str())));
        places.extend(
            own.files.iter().map(|(name, text)| (format!("modes.{mode}.files.{name}"), text.as_str())),
        );
    }
    let nearly = |(place, text): &(String, &str)| {
        let wrong =
            in_braces(text).find(|name| !NAMES.contains(name) && suggest::closest(name, NAMES).is_some())?;
        let right = suggest::closest(wrong, NAMES)?;
        Some(format!("`{place}`: unknown `{{{wrong}}}` (did you mean `{{{right}}}`?)"))
    };
    let glued = |word: &&String| ["{mode}", "{args}"].iter().any(|list| word.contains(list) && word != list);
    let screen = adapter.interactive.iter().flat_map(|screen| &screen.command);
    let glued = adapter.command.iter().chain(screen).find(glued);
    let glued = glued.map(|word| {
        format!("`command`: `{{mode}}` and `{{args}}` must be words of their own, not part of `{word}`")
    });
    places.iter().find_map(nearly).or(glued)
}

/// Words in braces; those of a shell's or another language's own are none.
fn in_braces(text: &str) -> impl Iterator<Item = &str> {
    let plain =
        |name: &&str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    text.match_indices('{')
        .filter(|(at, _)| !text[..*at].ends_with('$'))
        .filter_map(|(at, _)| text[at + 1..].split_once('}').map(|(name, _)| name))
        .filter(plain)
}

/// A deed that names another which is not described.
pub(super) fn deeds(adapter: &Adapter) -> Option<String> {
    let known = || adapter.rehearsal.keys().map(String::as_str);
    adapter.rehearsal.iter().find_map(|(name, deed)| {
        let named = [("after", &deed.after), ("then", &deed.then)].into_iter();
        let named = named.filter_map(|(key, value)| Some((key, value.as_deref()?)));
        let mut all = named.chain(deed.child.iter().map(|child| ("child", child.as_str())));
        let (key, wrong) = all.find(|(_, other)| !adapter.rehearsal.contains_key(*other))?;
        Some(format!(
            "`rehearsal.{name}.{key}` names `{wrong}`, which is not described{}",
            suggest::hint(wrong, known())
        ))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    const HEAD: &str = "name = \"x\"\nkind = \"exec\"\n";

    fn complaint(rest: &str) -> String {
        Adapter::parse(&format!("{HEAD}{rest}"), "agents/x.toml").unwrap_err().to_string()
    }

    #[test]
    fn a_mistake_is_named_with_its_file_line_key_and_what_was_meant() {
        for (rest, words) in [
            (
                "comand = [\"x\"]",
                "agents/x.toml: line 3: unknown key `comand` (did you mean `command`?); known here: name, ",
            ),
            (
                "command = [\"x\"]\n[find]\nprogam = \"x\"",
                "line 5: unknown key `progam` (did you mean `program`?)",
            ),
            (
                "command = [\"x\"]\nevents = \"claud\"",
                "line 4: unknown word `claud` (did you mean `claude`?)",
            ),
            (
                "command = [\"x\"]\nmodel = { wire = \"chatt\" }",
                "line 4: unknown word `chatt` (did you mean `chat`?)",
            ),
            ("command = \"x\"", "line 3: invalid type: string \"x\", expected a sequence"),
            ("command = [\"x\"", "line 3: unclosed array"),
            (
                "command = [\"x\"]\n[find]\nprogram = \"x\"\ninstall = \"\"\ntested = \"2.1\"",
                "line 7: `2.1` has a bound of another kind",
            ),
            ("command = [\"x\", \"{promt}\"]", "`command`: unknown `{promt}` (did you mean `{prompt}`?)"),
            (
                "command = [\"x\"]\nenv = { A = \"{gatway}/v1\" }",
                "`env.A`: unknown `{gatway}` (did you mean `{gateway}`?)",
            ),
            ("command = [\"x\"]\nmodes.plan.args = [\"{tokne}\"]", "`modes.plan.args`: unknown `{tokne}`"),
            ("command = [\"x\", \"--all={args}\"]", "words of their own, not part of `--all={args}`"),
            (
                "command = [\"x\"]\n[rehearsal.edit]\ntool = \"e\"\narguments = \"\"\nafter = \"raed\"\n[rehearsal.read]\ntool = \"r\"\narguments = \"\"",
                "`rehearsal.edit.after` names `raed`, which is not described (did you mean `read`?)",
            ),
        ] {
            let said = complaint(rest);
            assert!(said.contains(words), "{said}\nlacks: {words}");
        }
    }

    #[test]
    fn braces_of_other_languages_are_left_alone() {
        for word in ["awk '{print}'", "${home}", "{\\\"prompts\\\":{}}", "{}", "{ token }", "{x}"] {
            let text = format!("{HEAD}command = [\"{word}\"]");
            assert!(Adapter::parse(&text, "x.toml").is_ok(), "{word}");
        }
    }

    proptest! {
        #[test]
        fn any_file_is_answered(text in ".{0,80}") {
            let _ = Adapter::parse(&text, "x.toml");
            let _ = Adapter::parse(&format!("{HEAD}command = ['''{}''']", text.replace('\'', "")), "x.toml");
        }
    }
}
