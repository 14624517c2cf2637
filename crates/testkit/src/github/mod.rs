//! A GitHub on loopback: stateful, with real git repositories behind it, and as strict as the real one where it matters.
//!
//! ```no_run
//! use holon_testkit::github::GitHub;
//!
//! let hub = GitHub::start();
//! hub.user("octocat", "ghp_test");
//! hub.repository("octocat/hello");
//! let api = hub.address(); // http://127.0.0.1:PORT
//! assert_eq!(hub.requests().len(), 0);
//! ```
//!
//! Every request is held against GitHub's own OpenAPI description, and so is every answer; a difference fails the test when
//! the server is dropped. What GitHub enforces is enforced: lines of reviews must be in the diff or the whole review is
//! refused, one open pull request per branch, lists come in pages, permissions, limits. Git is spoken by `git http-backend`.

mod description;
mod fault;
mod http;
mod pulls;
mod repository;
mod reviews;
mod routes;
mod schema;
mod server;
mod smart;
mod world;

pub use fault::{FaultSchedule, ForgeFault};
pub use repository::HostedRepo;
pub use server::{ForgeRequest, GitHub};
pub use world::AccessLevel;
