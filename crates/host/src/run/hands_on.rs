//! A run with a person at the agent's own screen.
//!
//! The walls, the door to the model, the patch and the checks are those of every run. What is different: the agent has a
//! terminal instead of pipes, nobody is in a hurry, and what the mode asks for in writing is welcome and not required, since a
//! person has seen it.

use std::fs::File;
use std::io::{self, Write};
use std::time::Duration;

use holon_core::HumanDuration;
use holon_core::mode::{Profile, ValueOrigin};
use holon_core::redact::RedactStream;
use holon_sandbox::backend::RunningPayload;
use holon_sandbox::fallback::SandboxChoice;
use holon_sandbox::isolation::PayloadStreams;

use super::ActiveRun;
use crate::adapter::ScreenUse;
use crate::error::HostError;
use crate::request::RunRequest;

/// What stands for a goal where nobody gave one.
pub(super) const AT_THE_SCREEN: &str = "What the person at the screen asks for.";
/// How long a session may take that nobody bounds, and how long nobody has to touch a key.
const PATIENCE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Requests to a model in a session that nobody bounds.
const ROUNDS: u64 = 100_000;
/// Variables that tell a program what its terminal can do.
const ABOUT_TERMINALS: [&str; 4] = ["TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION"];

/// Nobody is there who could look at a screen.
pub(super) fn no_terminal() -> HostError {
    HostError::usage(
        "an interactive run needs a terminal, and there is none here",
        "start it in a terminal, or leave --interactive out",
    )
}

/// The walls of an interactive run: the only ones that have terminals.
pub(super) fn walls(request: &RunRequest) -> Result<SandboxChoice, HostError> {
    match request.sandbox {
        SandboxChoice::Auto | SandboxChoice::Native => Ok(SandboxChoice::Native),
        other => Err(HostError::usage(
            format!(
                "an interactive run cannot use --sandbox {}: only native walls have terminals",
                other.name()
            ),
            "leave --sandbox out",
        )),
    }
}

/// The mode as it holds for a session: the same rights, without haste, and with nothing required but the patch. Limits that
/// somebody set stay.
pub(super) fn narrowed(mut profile: Profile) -> Result<Profile, HostError> {
    if profile.name == "orchestrate" {
        return Err(HostError::usage(
            "mode orchestrate splits a goal into tasks of their own, which have no screen",
            "choose another --mode, such as execute",
        ));
    }
    let set = |key: &str| {
        matches!(profile.origins.get(key), Some(ValueOrigin::Flag { .. } | ValueOrigin::Spec { .. }))
    };
    let (timeout, idle, rounds) = (set("limits.timeout"), set("limits.idle_timeout"), set("limits.rounds"));
    let here = || ValueOrigin::Flag { flag: "--interactive".into() };
    for (key, keep, limit) in [
        ("limits.timeout", timeout, &mut profile.limits.timeout),
        ("limits.idle_timeout", idle, &mut profile.limits.idle_timeout),
    ] {
        if !keep {
            *limit = HumanDuration::from(PATIENCE);
            profile.origins.insert(key.into(), here());
        }
    }
    if !rounds {
        profile.limits.rounds = ROUNDS;
        profile.origins.insert("limits.rounds".into(), here());
    }
    require_only_patch(&mut profile);
    Ok(profile)
}

/// What a mode wants in writing is checked where it is there, and not required of somebody who works at a screen.
pub fn require_only_patch(profile: &mut Profile) {
    let required = std::mem::take(&mut profile.artifacts.required);
    let (patch, written): (Vec<_>, Vec<_>) = required.into_iter().partition(|name| name == "diff.patch");
    profile.artifacts.required = patch;
    profile.artifacts.optional.extend(written);
}

impl ActiveRun<'_> {
    /// What the agent's standard streams are.
    pub(super) fn streams(&self) -> PayloadStreams {
        match &self.terminal {
            Some(terminal) if self.plan.interactive => PayloadStreams::Terminal(terminal.size()),
            _ if self.is_native() => PayloadStreams::Channel,
            _ => PayloadStreams::Watched,
        }
    }

    /// How the agent shows its screen, if it does now and its description says how.
    pub(super) fn screen(&self) -> Option<&ScreenUse> {
        self.plan.agent.adapter.interactive.as_ref().filter(|_| self.plan.interactive)
    }

    /// Whether somebody said what is wanted.
    pub(super) fn has_goal(&self) -> bool {
        self.plan.spec.goal.description != AT_THE_SCREEN
    }

    /// What the agent is told about the terminal a person sits at.
    pub(super) fn terminal_env(&self) -> Vec<(String, String)> {
        if !self.plan.interactive {
            return Vec::new();
        }
        let told = ABOUT_TERMINALS.iter().filter_map(|name| {
            let value = (self.host.env)(name)?.into_string().ok()?;
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
            (!value.is_empty() && value.len() <= 64 && value.chars().all(plain))
                .then(|| ((*name).to_owned(), value))
        });
        told.collect()
    }

    /// Hands the agent's terminal over to whoever carries it to a person.
    pub(super) fn begin_screen(&mut self, payload: &mut dyn RunningPayload) -> Result<(), HostError> {
        let Some(terminal) = self.terminal.as_mut().filter(|_| self.plan.interactive) else {
            return Ok(());
        };
        let inside = payload.take_terminal().ok_or_else(|| HostError::Walls {
            message: "these walls have no terminal for the agent".into(),
            hint: Some("`holon doctor` explains what keeps native walls from being built".into()),
        })?;
        let path = self.folder.evidence().join("screen.log");
        let file = File::create(&path).map_err(HostError::io("create", &path))?;
        let record = ScreenRecord {
            file,
            redactor: self.events.redactor().stream(),
            left: self.plan.profile.limits.output_mb << 20,
        };
        terminal.begin(self.folder.path(), inside, Box::new(record));
        Ok(())
    }

    /// Passes on that the agent was put aside, and that it is to go on.
    pub(super) fn attend_screen(&mut self, payload: &mut dyn RunningPayload) {
        let Some(terminal) = self.terminal.as_mut().filter(|_| self.plan.interactive) else { return };
        if payload.take_stop() {
            terminal.agent_stopped();
        }
        if terminal.wants_to_go_on() {
            payload.go_on();
        }
    }

    /// Everything has been drawn.
    pub(super) fn end_screen(&mut self) {
        if let Some(terminal) = self.terminal.as_mut().filter(|_| self.plan.interactive) {
            terminal.end();
        }
    }
}

/// What an agent drew, without credentials and up to the limit of the mode.
struct ScreenRecord {
    file: File,
    redactor: RedactStream,
    left: u64,
}

impl ScreenRecord {
    fn keep(&mut self, clean: &[u8]) -> io::Result<()> {
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(clean.len());
        self.left -= room as u64;
        self.file.write_all(&clean[..room])
    }
}

impl Write for ScreenRecord {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut clean = Vec::with_capacity(bytes.len());
        self.redactor.push(bytes, &mut clean);
        self.keep(&clean)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut clean = Vec::new();
        self.redactor.flush(&mut clean);
        self.keep(&clean)?;
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use holon_core::mode::ModeCatalog;

    fn mode(name: &str) -> Profile {
        ModeCatalog::builtin().unwrap().resolve(name).unwrap()
    }

    #[test]
    fn a_session_has_the_rights_of_its_mode_and_no_haste() {
        for name in ["execute", "plan", "review", "debug"] {
            let (before, after) = (mode(name), narrowed(mode(name)).unwrap());
            assert_eq!(
                (&before.access, &before.tools, before.network),
                (&after.access, &after.tools, after.network)
            );
            assert_eq!(before.limits.cost_usd, after.limits.cost_usd, "money stays bounded");
            assert!(after.limits.timeout.get() >= PATIENCE && after.limits.idle_timeout.get() >= PATIENCE);
            assert!(after.artifacts.required.iter().all(|name| name == "diff.patch"), "{name}");
            for written in before.artifacts.required {
                let known = [&after.artifacts.required, &after.artifacts.optional];
                assert!(known.iter().any(|names| names.contains(&written)), "{name}: {written}");
            }
        }
        assert!(narrowed(mode("orchestrate")).is_err());
    }

    #[test]
    fn a_limit_that_somebody_set_stays() {
        let mut profile = mode("execute");
        let timeout = profile.limits.timeout;
        profile.origins.insert("limits.timeout".into(), ValueOrigin::Flag { flag: "--timeout".into() });
        assert_eq!(narrowed(profile).unwrap().limits.timeout, timeout);
    }
}
