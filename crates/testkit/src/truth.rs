//! Every run a test makes is verified when the test is over: what its manifest says must be true.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::TestEnv;

/// A loaded machine takes its time.
const PATIENCE: Duration = Duration::from_secs(240);

/// What `holon runs verify` finds false in the finished runs of an environment; nothing when all is true.
pub(crate) fn false_claims(env: &TestEnv) -> Option<String> {
    // The kit's own tests play with other programs.
    if env.binary().file_name() != Some(OsStr::new("holon")) {
        return None;
    }
    let runs = finished(env);
    if runs.is_empty() || !env.work().is_dir() {
        return None;
    }
    let output = env.holon(["runs", "verify"]).args(&runs).timeout(PATIENCE).run();
    (output.code != 0).then(|| output.to_string())
}

/// Runs that say of themselves that they are over.
fn finished(env: &TestEnv) -> Vec<PathBuf> {
    let over = |run: &PathBuf| {
        let text = fs::read(run.join("run.json")).unwrap_or_default();
        serde_json::from_slice::<Value>(&text).is_ok_and(|record| record["finished"] == true)
    };
    env.runs().into_iter().filter(over).collect()
}
