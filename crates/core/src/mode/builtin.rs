//! The built-in modes and prompts, embedded from `modes/`.

macro_rules! modes {
    ($($name:literal),*) => { &[$(($name, concat!($name, ".toml"), include_str!(concat!("../../../../modes/", $name, ".toml")))),*] };
}
macro_rules! prompts {
    ($($file:literal),*) => { &[$(($file, include_str!(concat!("../../../../modes/prompts/", $file)))),*] };
}

/// Name, file name and text of each built-in mode, in the order they are listed.
pub(super) const MODES: &[(&str, &str, &str)] =
    modes!["execute", "plan", "architect", "review", "debug", "ethical", "orchestrate", "ask"];

const PROMPTS: &[(&str, &str)] = prompts![
    "common.md",
    "execute.md",
    "plan.md",
    "architect.md",
    "review.md",
    "debug.md",
    "ethical.md",
    "orchestrate.md",
    "ask.md"
];

/// The commented starting point for a new mode file; it is not a mode itself.
pub const TEMPLATE: &str = include_str!("../../../../modes/template.toml");

/// The text of an embedded prompt.
pub fn prompt(file: &str) -> Option<&'static str> {
    PROMPTS.iter().find(|(name, _)| *name == file).map(|(_, text)| *text)
}

/// The contract every agent is told first.
pub fn common_prompt() -> &'static str {
    prompt("common.md").unwrap_or_default()
}
