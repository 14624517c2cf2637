//! What takes long to show about the server: kills at many points, breach attempts through chat, fuzzing of every endpoint.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod breach;
mod fuzzed;
#[allow(dead_code)]
#[path = "../serve/http.rs"]
mod http;
mod kills;
#[allow(dead_code)]
#[path = "../serve/stage.rs"]
mod stage;
