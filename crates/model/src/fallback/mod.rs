//! Tool calls for models that cannot make them natively.
//!
//! The tools are described in the prompt, the model writes its calls as JSON in its text, and they are read from there
//! with patience for the ways in which small models write JSON.

mod find;
mod lenient;
mod native;
mod prompt;
mod provider;
mod say_reader;
mod speakable;
mod thoughts;

pub use find::{CallPredicate, FoundToolCalls, find_calls, write_call};
pub use lenient::parse as parse_lenient;
pub use native::NativeTools;
pub use prompt::{SAY_SCHEMA_NAME, explain_tools};
pub use provider::TextTools;
pub use thoughts::{before_pretending, without_thoughts};
