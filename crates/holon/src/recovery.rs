//! What a holon that was killed while it changed files or wrote a person's word down left, put right by the next one.

use holon_apply::{ApplyPurpose, RecoveredApply, Recovery};
use holon_flow::audit::AuditTrail;
use holon_host::HolonFolders;
use holon_sandbox::writers::has_writer;

use crate::show::applied;
use crate::terminal::{Terminal, visible};

/// Finishes or takes back every apply that no living process works on, finishes an override, and says which.
pub(crate) fn recover(places: &HolonFolders, terminal: &Terminal) {
    for recovered in holon_apply::recover(&places.applies(), &has_writer) {
        holon_host::run::note_recovered(places, &recovered);
        terminal.say(&told(&recovered));
    }
    match holon_flow::release::finish_override(&AuditTrail::of(&places.state)) {
        Ok(None) => {}
        Ok(Some(run)) => terminal.say(&format!(
            "an override of run {} was cut off while it was written down: its reports name it now",
            visible(&run)
        )),
        Err(e) => terminal.say(&format!("warning: an override that was cut off cannot be finished: {e}")),
    }
}

fn told(recovered: &RecoveredApply) -> String {
    let workspace = visible(&recovered.workspace.display().to_string());
    let label = recovered.label.as_deref().map(visible).unwrap_or_default();
    let what = match recovered.purpose {
        ApplyPurpose::Apply => format!("applying {label} to {workspace}"),
        ApplyPurpose::Undo => format!("undoing {label} in {workspace}"),
    };
    match &recovered.recovery {
        Recovery::Finished => format!("{what} was cut off after its last file: it is complete now"),
        Recovery::RolledBack => format!("{what} was cut off: every file is as it was before"),
        Recovery::RolledBackExcept(conflicts) => {
            let list: Vec<String> =
                conflicts.iter().map(|conflict| format!("\n  {}", applied::left(conflict))).collect();
            format!(
                "{what} was cut off: every file is as it was before, except these, which changed since:{}",
                list.concat()
            )
        }
        Recovery::Stuck { kept, why } => {
            let kept = visible(&kept.display().to_string());
            format!(
                "{what} was cut off and could not be put right ({}); what it replaced is in {kept}",
                visible(why)
            )
        }
    }
}
