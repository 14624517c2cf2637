//! Who publishes: a token from the environment, or an App that gets itself one.

mod app;
mod jwt;

pub use app::{GitHubApp, installation_token};
