//! What a decision may look at outside of itself.

use std::time::Duration;

use super::spelling;
use crate::catalogue::{Catalogue, ModelRow};
use crate::detect::ollama::{self, Shown};
use crate::detect::{DEFAULT_PORTS, Local, Patience, detect};
use crate::endpoint::Endpoint;

/// The environment, the servers on this machine, and the catalogue.
pub trait Surroundings {
    /// A variable of the environment.
    fn variable(&self, name: &str) -> Option<String>;

    /// The servers that answer on their usual ports.
    fn servers(&self) -> Vec<Local>;

    /// The server at an endpoint on this machine, if it answers there.
    fn server_at(&self, endpoint: &Endpoint) -> Option<Local>;

    /// What a server on this machine says about one of its models.
    fn shown(&self, endpoint: &Endpoint, model: &str) -> Option<Shown>;

    /// The models of a provider to choose from.
    fn rows(&self, provider: &str) -> Vec<ModelRow>;
}

/// The real ones.
pub struct ThisMachine<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
    rows: Rows<'a>,
}

/// The models of a provider.
type Rows<'a> = Box<dyn Fn(&str) -> Vec<ModelRow> + 'a>;

impl<'a> ThisMachine<'a> {
    /// With this way to read a variable, and the models of the built-in table.
    pub fn new(variable: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { variable, rows: Box::new(|provider| Catalogue::of_table(provider).rows) }
    }

    /// The same with models from elsewhere; asked only when one must be chosen.
    #[must_use]
    pub fn with_rows(self, rows: impl Fn(&str) -> Vec<ModelRow> + 'a) -> Self {
        Self { rows: Box::new(rows), ..self }
    }
}

/// A named server may be busy with a model; waiting a moment for it is better than saying it is not there.
const NAMED: Patience = Patience { connect: Duration::from_millis(200), answer: Duration::from_millis(1000) };

impl Surroundings for ThisMachine<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        (self.variable)(name)
    }

    fn servers(&self) -> Vec<Local> {
        let mut ports = DEFAULT_PORTS;
        let elsewhere = (self.variable)("OLLAMA_HOST").map(|host| spelling::ollama_base(&host));
        let elsewhere = elsewhere.and_then(|base| Endpoint::compatible("ollama", &base, None).local_port());
        if let Some(port) = elsewhere {
            ports[0].1 = port;
        }
        detect(&ports, Patience::default())
    }

    fn server_at(&self, endpoint: &Endpoint) -> Option<Local> {
        let port = endpoint.local_port().filter(|_| endpoint.base.ends_with("/v1"))?;
        detect(&[(&endpoint.name, port)], NAMED).pop()
    }

    fn shown(&self, endpoint: &Endpoint, model: &str) -> Option<Shown> {
        ollama::show(endpoint.local_port()?, model, NAMED)
    }

    fn rows(&self, provider: &str) -> Vec<ModelRow> {
        (self.rows)(provider)
    }
}
