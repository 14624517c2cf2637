//! The results of a suite as a JSON file.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::BenchFailure;
use crate::machine::Machine;
use crate::report::SuiteReport;

/// The variable that names the folder for results; the current folder without it.
const FOLDER: &str = "HOLON_BENCH_DIR";

/// One file in the making.
pub(crate) struct SuiteRecord {
    suite: &'static str,
    content: Value,
    users: Vec<Value>,
}

impl SuiteRecord {
    /// Begins the file of one suite.
    pub(crate) fn new(suite: &'static str, quick: bool, machine: &Machine) -> Self {
        let date = jiff::Timestamp::now().to_string();
        let content = json!({ "suite": suite, "date": date, "quick": quick, "machine": machine });
        Self { suite, content, users: Vec::new() }
    }

    /// Adds what was measured as one user, and the load right after it.
    pub(crate) fn add(&mut self, who: &str, load: &str, report: SuiteReport) {
        self.users.push(json!({ "user": who, "load": load, "rows": report.rows, "notes": report.notes }));
    }

    /// Adds why nothing was measured as one user.
    pub(crate) fn add_failure(&mut self, who: &str, failure: &str) {
        self.users.push(json!({ "user": who, "failure": failure }));
    }

    /// Writes the file.
    pub(crate) fn write(mut self) -> Result<(), BenchFailure> {
        self.content["users"] = Value::Array(self.users);
        write(self.suite, &self.content)
    }
}

/// Writes a file of results.
pub(crate) fn write(name: &str, content: &Value) -> Result<(), BenchFailure> {
    let folder = std::env::var_os(FOLDER).map_or_else(|| PathBuf::from("."), PathBuf::from);
    let path = folder.join(format!("{name}.json"));
    let text = serde_json::to_string_pretty(content).map_err(|e| e.to_string())?;
    std::fs::write(&path, text + "\n").map_err(|e| format!("cannot write {}: {e}", path.display()))
}
