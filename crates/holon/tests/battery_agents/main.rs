//! Real agents behind the walls, answered by a scripted model: what they hand over, how they fail, what they can see.
//!
//! The agents come from the folder named by `HOLON_AGENTS_DIR` (`cargo xtask setup agents` fills one); an agent that is not
//! there is a skipped security test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod acp;
mod artifacts;
mod failures;
mod optional;
mod secrets;
mod stage;
mod supervised;
mod users;
