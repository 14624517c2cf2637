//! What takes long to show about the server: kills at many points, breach attempts through chat, fuzzing of every endpoint, a
//! real collector of spans.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod breach;
mod collected;
mod fuzzed;
#[allow(dead_code)]
#[path = "../serve/http.rs"]
mod http;
mod kills;
#[allow(dead_code)]
#[path = "../serve/stage.rs"]
mod stage;
