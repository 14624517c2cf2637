//! Google's `generateContent`.

mod read;
mod schema;
mod tell;
#[cfg(test)]
mod tests;

pub(super) use read::read;
pub(super) use tell::{Form, whole};
