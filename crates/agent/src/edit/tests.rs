//! What is promised of edits as a whole.

mod patching;
mod replacing;
mod speed;
