//! What the host knows before the native agent has asked anything: how the check fails on the untouched code, which files
//! there are, and the sources it is likely about. Whoever has that need not ask for it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use holon_checks::{LikelySource, likely_sources};
use holon_core::manifest::CheckOrigin;
use holon_git::tracked;
use holon_git::{Git, Repository};

use super::ActiveRun;
use super::baseline::StoredBaseline;
use super::snapshot::RunStage;

/// How long an agent waits for the check before it begins without.
const PATIENCE: Duration = Duration::from_secs(20);
/// Most files that are named.
const FILES: usize = 60;
/// Most files of a project whose sources are looked for.
const PROJECT: usize = 20_000;
/// Most bytes of all sources together, and of a file that is read.
const SOURCES: usize = 8_000;
const FILE: u64 = 256 * 1024;
/// A check that takes no longer is run again after every edit.
const QUICK_MS: u64 = 10_000;
/// Lines around one that was named, where a file is too long to be shown whole.
const AROUND: usize = 25;

/// What the checks that were asked for say of the untouched code.
#[derive(Debug, Default)]
pub(super) struct FirstEvidence {
    /// What to tell the native agent with its goal; nothing where no check was done in time.
    pub text: Option<String>,
    /// The checks that are quick.
    pub quick: Vec<String>,
}

impl ActiveRun<'_> {
    /// Waits for the checks, but not for long.
    pub(super) fn first_evidence(&mut self, stage: &RunStage, window: u64) -> FirstEvidence {
        let asked = self.plan.checking().into_iter().filter(|(origin, _)| *origin == CheckOrigin::Asked);
        let commands: Vec<String> = asked.map(|(_, command)| command).collect();
        let until = stage.deadline.min(Instant::now() + PATIENCE);
        let (mut told, mut output) = (String::new(), String::new());
        let mut quick = Vec::new();
        for command in &commands {
            let cancel = self.cancel.clone();
            let beside = self.beside.as_mut();
            let answer = beside.and_then(|beside| beside.answer_until(command, &cancel, Some(until)));
            let Some((kept, _)) = answer else { break };
            tell_check(&mut told, command, &kept);
            if kept.ran.exit.is_some() && kept.duration_ms <= QUICK_MS {
                quick.push(command.clone());
            }
            if !kept.ran.is_green() {
                output.push_str(&kept.said);
            }
        }
        if told.is_empty() {
            return FirstEvidence::default();
        }
        let mut text = format!("# What the host found before you began\n{told}");
        if !output.is_empty() {
            // Half of what is read at once is enough for a small model.
            let room = usize::try_from(window / 2).unwrap_or(SOURCES).clamp(1_500, SOURCES);
            self.tell_sources(&mut text, stage, &output, room);
        }
        FirstEvidence { text: Some(text), quick }
    }

    fn tell_sources(&self, text: &mut String, stage: &RunStage, output: &str, room: usize) {
        let paths = self.project_files(stage);
        if paths.is_empty() || paths.len() > PROJECT {
            return;
        }
        if paths.len() <= FILES {
            let _ = write!(text, "\nFiles: {}\n", paths.join(", "));
        }
        let read = |path: &str| read_text(&self.plan.workspace, path);
        let mut left = room;
        for source in likely_sources(&paths, output, &self.plan.spec.goal.description, &read) {
            let Some((shown, whole)) = read(&source.path).and_then(|code| shown(&code, &source, left)) else {
                continue;
            };
            left = left.saturating_sub(shown.len());
            let part = if whole { "" } else { " (a part)" };
            let fence = fence(&shown);
            let _ = write!(text, "\n{}{part}:\n{fence}\n{}\n{fence}\n", source.path, shown.trim_end());
        }
    }

    /// The files that git knows here and the agent may see; none where there is no repository.
    fn project_files(&self, stage: &RunStage) -> Vec<String> {
        let files = || {
            let git = stage.git.clone().or_else(|| Git::find().ok())?;
            let repository = Repository::look(&self.plan.workspace).ok()?.repository?;
            let known = tracked::stamped(&git, &repository).ok()?.into_iter().map(|file| file.path);
            let all: Vec<_> = known.chain(tracked::others(&git, &repository).ok()?).collect();
            Some(all)
        };
        let hidden = |path: &Path| self.hide.iter().any(|hidden| path.starts_with(hidden));
        // A name is written by anyone: one that is more than a name is not told.
        let plain = |path: &&str| !path.contains(|c: char| c.is_control() || c == '`');
        let all = files().unwrap_or_default();
        let seen = all.iter().filter(|path| !hidden(path)).filter_map(|path| path.to_str()).filter(plain);
        let mut paths: Vec<String> = seen.map(str::to_owned).collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }
}

fn tell_check(text: &mut String, command: &str, kept: &StoredBaseline) {
    let _ = match (kept.ran.is_green(), kept.ran.exit) {
        (true, _) => writeln!(text, "\n`{command}` passes on the untouched code."),
        (false, None) => writeln!(text, "\n`{command}` did not come to its end on the untouched code."),
        (false, Some(code)) => {
            let said = &kept.said;
            let fence = fence(said);
            writeln!(
                text,
                "\n`{command}` fails on the untouched code, exit code {code}:\n{fence}\n{said}\n{fence}"
            )
        }
    };
}

/// A fence that nothing in the text ends.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// The text of a file of the workspace; nothing for what is a link, too large or no text.
fn read_text(workspace: &Path, path: &str) -> Option<String> {
    let file = workspace.join(path);
    let is_file = fs::symlink_metadata(&file).is_ok_and(|meta| meta.is_file() && meta.len() <= FILE);
    is_file.then(|| fs::read(&file).ok()).flatten().and_then(|bytes| String::from_utf8(bytes).ok())
}

/// A source as it is shown in so much room: whole, else around the lines that were named; and whether it is whole.
fn shown(code: &str, source: &LikelySource, room: usize) -> Option<(String, bool)> {
    if code.trim().is_empty() {
        return None;
    }
    if code.len() <= room {
        return Some((code.to_owned(), true));
    }
    let line = *source.lines.first()?;
    let lines: Vec<&str> = code.lines().collect();
    let from = line.saturating_sub(AROUND + 1).min(lines.len());
    let part = lines[from..].iter().take(2 * AROUND + 1).copied().collect::<Vec<_>>().join("\n");
    (!part.trim().is_empty() && part.len() <= room).then_some((part, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_shown_whole_or_around_what_was_named() {
        let code: String = (1..=200).map(|i| format!("line {i}\n")).collect();
        let source = LikelySource { path: "a.rs".into(), lines: vec![100] };
        assert_eq!(shown(&code, &source, 5_000), Some((code.clone(), true)));
        let (part, whole) = shown(&code, &source, 600).unwrap_or_default();
        assert!(part.starts_with("line 75\n") && part.ends_with("line 125") && !whole, "{part}");
        assert_eq!(shown(&code, &LikelySource::default(), 600), None, "no line is known");
        assert_eq!(shown("  \n", &source, 600), None);
        assert_eq!(shown(&code, &LikelySource { lines: vec![9_999], ..source }, 600), None);
    }

    #[test]
    fn no_text_ends_its_own_fence() {
        assert_eq!(fence("a"), "```");
        assert_eq!(fence("  ```rust\na ````\n"), "`````");
    }
}
