//! The checks of a statement once more, and how they differ from what it says.

use std::path::Path;

use holon_attest::{AttestedVerification, RerunCheck, RunStatement, compare};
use holon_core::digest::sha256;
use holon_core::sandbox::IsolationLevel;
use holon_flow::RerunRequest;
use serde_json::{Value, json};

use crate::command::run::host_in;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::show::progress::RunProgress;
use crate::stop;
use crate::terminal::{TextStyle, visible};

/// How checks ended once more.
pub(super) struct RerunComparison {
    checks: Vec<RerunCheck>,
    taken_along: Vec<String>,
    level: IsolationLevel,
}

/// Runs the checks that are stated, and compares.
pub(super) fn run(
    statement: &RunStatement,
    patch: Vec<u8>,
    workspace: Option<&Path>,
    session: &Session,
) -> Result<RerunComparison, CliFailure> {
    let digest = sha256(&patch);
    let about = |name: &str, digest: Option<&String>| name == "diff.patch" && digest == Some(&sha256(&patch));
    if !statement.subject.iter().any(|subject| about(&subject.name, subject.digest.get("sha256"))) {
        let message = format!("the patch with the digest {digest} is not the one that is stated");
        return Err(CliFailure::config(message).hint("give the one that the run delivered with --patch FILE"));
    }
    let stated = &statement.predicate.checks.ran;
    if stated.is_empty() {
        return Err(CliFailure::config("it states no check, so there is nothing to run again")
            .hint("of a flow or an orchestration, name the step that was checked: RUN/STEP"));
    }
    surroundings(&statement.predicate.checks)?;
    let base = statement.predicate.base.clone();
    let again = RerunRequest {
        workspace: session.workspace(workspace)?,
        base_commit: base.as_ref().and_then(|base| base.commit.clone()),
        touched: base.map(|base| base.touched).unwrap_or_default(),
        patch,
        commands: stated.iter().map(|check| check.command.clone()).collect(),
        baselines: stated.iter().all(|check| check.baseline.is_some()),
    };
    let cancel = stop::on_signals()?;
    let mut progress = RunProgress::new(&session.terminal, false, true);
    let reran = again.run(&session.places()?, &host_in, &mut progress, &cancel);
    drop(progress);
    let reran = reran?;
    Ok(RerunComparison {
        checks: compare(stated, &reran.checks),
        taken_along: reran.taken_along,
        level: reran.manifest.metadata.sandbox.level,
    })
}

/// Refuses checks whose surroundings cannot be had again: they would end differently for no reason of the change's.
fn surroundings(checks: &AttestedVerification) -> Result<(), CliFailure> {
    if checks.host_network {
        let message = "its checks had the host's network, and a rerun has none: they could end differently for that alone";
        return Err(
            CliFailure::config(message).hint("run it anew with `--network host` where you trust the change")
        );
    }
    if !checks.variables.is_empty() {
        let names = checks.variables.iter().map(|name| visible(name)).collect::<Vec<_>>().join(", ");
        let message = format!("its checks saw variables of a spec, whose values are not stated: {names}");
        return Err(CliFailure::config(message)
            .hint("run the spec anew, or set them in the command of the check itself"));
    }
    Ok(())
}

impl RerunComparison {
    pub(super) fn is_same(&self) -> bool {
        self.checks.iter().all(|check| check.same)
    }

    pub(super) fn as_json(&self) -> Value {
        json!({ "same": self.is_same(), "checks": self.checks, "taken_along": self.taken_along, "level": self.level })
    }

    pub(super) fn page(&self, session: &Session) -> String {
        let out = session.terminal.stdout;
        let mut text = String::new();
        for check in &self.checks {
            let head = match check.same {
                true => out.paint(TextStyle::Green, "the same"),
                false => out.paint(TextStyle::Red, "different"),
            };
            let how = check.exit_code.map_or("was ended".to_owned(), |code| format!("exited with {code}"));
            let how = if check.same { format!(" {how}") } else { String::new() };
            text.push_str(&format!("{head}: `{}`{how}\n", visible(&check.command)));
            for difference in &check.differences {
                text.push_str(&format!("  {}\n", visible(difference)));
            }
        }
        if !self.taken_along.is_empty() {
            let names = self.taken_along.join(", ");
            let note =
                format!("besides base and patch, {} was taken along from the workspace", visible(&names));
            text.push_str(&format!("{}\n", out.paint(TextStyle::Dim, &note)));
        }
        text
    }
}
