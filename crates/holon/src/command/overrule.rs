//! `--override` and `--reason`: a person's word against the release gate, wherever something leaves.

use std::io::{BufRead, IsTerminal};

use holon_core::release::{
    ReleaseDecision, ReleaseOverride, ReleaseReason, ReleaseTarget, SHORTEST_REASON, is_a_reason,
};
use holon_flow::audit::AuditTrail;
use holon_host::record::now;
use holon_host::store::RunFolder;

use crate::commander::Commander;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::terminal::{TextStyle, visible};

/// What a person lets pass, and why.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct OverrideArgs {
    /// Let it out although this holds it, as named when it was refused; needs --reason (can be given again)
    #[arg(long = "override", value_name = "WHAT", value_delimiter = ',', requires = "reason",
        value_parser = clap::builder::PossibleValuesParser::new(ReleaseReason::OVERRIDABLE))]
    of: Vec<String>,
    /// Why; written to the audit log with who and where, before anything leaves
    #[arg(long, value_name = "TEXT", requires = "of")]
    reason: Option<String>,
}

impl OverrideArgs {
    /// Asks the gate about a stored run, and the person where their word is enough. Comes back with what it says when it
    /// may leave; a word that was needed is in the audit log and in the run's record by then.
    pub(crate) fn settle(
        &self,
        folder: &RunFolder,
        target: ReleaseTarget,
        command: &str,
        session: &Session,
    ) -> Result<ReleaseDecision, CliFailure> {
        let decision = holon_host::release::decision(folder, target)?;
        let Some(word) = self.word(&decision, command, session)? else { return Ok(decision) };
        holon_flow::release::overrule(&audit(session)?, folder, word)?;
        Ok(holon_host::release::decision(folder, target)?)
    }

    /// The word that lets it out; nothing when none is needed.
    pub(crate) fn word(
        &self,
        decision: &ReleaseDecision,
        command: &str,
        session: &Session,
    ) -> Result<Option<ReleaseOverride>, CliFailure> {
        let reason = self.checked_reason()?;
        let held: Vec<&str> = decision.held.iter().map(ReleaseReason::code).collect();
        for code in self.of.iter().filter(|code| !held.contains(&code.as_str())) {
            session.terminal.say(&format!("warning: --override {code} has nothing to override"));
        }
        if decision.is_released() {
            return Ok(None);
        }
        let refused = || {
            if let Ok(audit) = audit(session) {
                holon_flow::release::note_refusal(&audit, &Commander::of_process().name, decision);
            }
            CliFailure::held(decision, command)
        };
        let named = held.iter().all(|code| self.of.iter().any(|of| of == code));
        let reason = match (decision.can_be_overridden(), reason) {
            (false, _) => return Err(refused()),
            (true, Some(reason)) if named => reason,
            (true, Some(_)) => return Err(refused()),
            (true, None) => asked_at_terminal(decision, session).ok_or_else(refused)?,
        };
        let redactor = holon_core::redact::Redactor::new(crate::session::secrets());
        let who = Commander::of_process();
        Ok(Some(ReleaseOverride {
            of: held.into_iter().map(str::to_owned).collect(),
            to: decision.target,
            run: decision.run.clone(),
            person: who.name,
            uid: Some(who.uid),
            terminal: who.terminal,
            reason: redactor.redact_str(reason.trim()),
            at: now(),
            audit: None,
        }))
    }

    fn checked_reason(&self) -> Result<Option<String>, CliFailure> {
        match &self.reason {
            Some(reason) if !is_a_reason(reason) => Err(CliFailure::user(
                format!("--reason needs at least {SHORTEST_REASON} characters"),
                "say in a sentence why it may leave; it is written to the audit log",
            )),
            reason => Ok(reason.clone()),
        }
    }
}

/// The audit log of this state folder.
pub(crate) fn audit(session: &Session) -> Result<AuditTrail, CliFailure> {
    Ok(AuditTrail::of(&session.places()?.state))
}

/// The person at the terminal says why; nothing said, or nobody there, is a no.
fn asked_at_terminal(decision: &ReleaseDecision, session: &Session) -> Option<String> {
    let terminal = &session.terminal;
    if !terminal.stderr.tty || !std::io::stdin().is_terminal() {
        return None;
    }
    terminal.say(&visible(&decision.message()));
    let question = "Let it out all the same? Say why (it goes to the audit log), or press Enter for no:";
    terminal.say(&terminal.stderr.paint(TextStyle::Bold, question));
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).ok()?;
    let reason = line.trim().to_owned();
    if reason.is_empty() {
        return None;
    }
    if !is_a_reason(&reason) {
        terminal.say(&format!("a reason has at least {SHORTEST_REASON} characters"));
        return None;
    }
    Some(reason)
}
