//! Scripted agents that get lost, or do not: what becomes of their runs at each level of supervision.
//!
//! A script is a TOML file. `files` is the repository, `opening` the agent's first turns, `circle` what it does again and again
//! (`{n}` counts its turns), `repair` what it does once it has been put right, all of them turns of a cassette. It listens to
//! one thing only: a text that says a next step and names all of `names`, as a model would have to read it to know what
//! to do. `proof` is the last word: a command that runs on the result, with `keep` put back as it was.
//!
//! ```toml
//! about = "Runs the failing check again and again"
//! goal = "Fix src/a.txt"
//! names = ["a is good"]
//! proof = "make test"
//! keep = ["Makefile"]
//! circle = "- { tool: execute, args: { command: make test } }"
//! repair = """
//! - { tool: write_file, args: { path: src/a.txt, content: good } }
//! - { tool: execute, args: { command: make test } }
//! - { tool: finish, args: { summary: Done. } }
//! """
//! [files]
//! "src/a.txt" = "bad\n"
//! "Makefile" = "test:\n\t@grep -q good src/a.txt || { echo 'not ok 1 - a is good'; exit 1; }\n"
//! ```
//!
//! A script without a `circle` is a healthy agent. `[[commits]]` with `message` and `files` are commits after the first, `language`
//! is the programming language of the repository. Healthy agents are also played as turns of a chat.

mod cast;
mod chat;
pub mod grammar;
mod many;
mod play;
mod script;
mod scripted_agent;
mod truth;

pub use cast::Cast;
pub use chat::play_chat;
pub use many::each;
pub use play::{PlayLevel, PlayOutcome, play, play_as};
pub use script::{AgentScript, ScriptCommit};
pub use scripted_agent::HearingMode;
pub use truth::TruthReport;
