//! Scripted model servers on loopback, for the three wires.
//!
//! ```no_run
//! use holon_model::WireFormat;
//! use holon_testkit::model::ModelServer;
//!
//! let server = ModelServer::play(WireFormat::Chat, "- error: { kind: rate_limit, retry_after: 1ms }\n- text: hello\n");
//! let endpoint = server.endpoint(); // http://127.0.0.1:PORT/v1
//! assert_eq!(server.requests().len(), 0);
//! ```
//!
//! Each request takes the next entry of the script. Entries are turns of a cassette, told in the server's wire, or raw
//! answers. What was asked is kept. A server that must answer clients whose requests nobody can foresee improvises
//! instead, by a function of the request.

mod connection;
mod frames;
mod script;
mod server;

pub use script::{BodyPiece, ScriptedResponse, StreamSplit};
pub use server::{ModelServer, ReceivedRequest};
