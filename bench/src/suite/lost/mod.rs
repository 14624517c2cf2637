//! Scripted agents that get lost, and healthy ones, at every level of supervision; the healthy ones also as turns of a chat.

mod rows;

use std::path::{Path, PathBuf};

use holon_testkit::lost::{AgentScript, HearingMode, PlayLevel, PlayOutcome, each, grammar, play, play_chat};

use crate::BenchFailure;
use crate::report::SuiteReport;
use crate::scratch::BenchContext;

/// Where the scripts are, from the root of the project, unless others are given.
const SCRIPTS: &str = "bench/supervisor";
/// Seeds of the agents beside them, unless others are given.
const SEEDS: [u64; 2] = [18, 19];

/// Everything that became of one script.
struct PlayedScript {
    script: AgentScript,
    /// The seed it was made with, or nothing if it was written.
    seed: Option<u64>,
    reacting: Vec<(PlayLevel, PlayOutcome)>,
    deaf: Option<PlayOutcome>,
    blanked: Option<PlayOutcome>,
    /// As turns of a chat; only healthy ones.
    chatting: Vec<(PlayLevel, PlayOutcome)>,
}

impl PlayedScript {
    fn at(&self, level: PlayLevel) -> Option<&PlayOutcome> {
        self.reacting.iter().find(|(own, _)| *own == level).map(|(_, outcome)| outcome)
    }

    fn in_chat(&self, level: PlayLevel) -> Option<&PlayOutcome> {
        self.chatting.iter().find(|(own, _)| *own == level).map(|(_, outcome)| outcome)
    }
}

/// What others may run is read from another folder.
pub(super) fn measure(bench: &BenchContext) -> Result<SuiteReport, BenchFailure> {
    let folder = bench.scripts.clone().unwrap_or_else(|| PathBuf::from(SCRIPTS));
    let mut scripts: Vec<(Option<u64>, AgentScript)> =
        AgentScript::load(&folder)?.into_iter().map(|script| (None, script)).collect();
    let own = bench.scripts.is_none();
    let usual: &[u64] = if own { &SEEDS } else { &[] };
    let seeds = if bench.seeds.is_empty() { usual } else { &bench.seeds };
    for seed in seeds {
        scripts.extend(grammar::scripts(*seed).into_iter().map(|script| {
            let name = format!("{}-{seed}", script.name);
            (Some(*seed), AgentScript { name, ..script })
        }));
    }
    if scripts.is_empty() {
        return Err(format!("there are no scripts in {}", folder.display()));
    }
    let holon = bench.holon.as_path();
    let played = each(&scripts, |(seed, script)| go(holon, *seed, script));
    for line in std::iter::once(HEAD.to_owned()).chain(played.iter().flat_map(lines)) {
        println!("  {line}");
    }
    Ok(SuiteReport { rows: rows::all(&played, seeds, own), notes: Vec::new() })
}

fn go(holon: &Path, seed: Option<u64>, script: &AgentScript) -> PlayedScript {
    let lost = script.is_lost();
    let reacting =
        PlayLevel::OF_RUNS.map(|level| (level, play(holon, script, level, HearingMode::Reacts))).into();
    let alone = |hearing| lost.then(|| play(holon, script, PlayLevel::Adaptive, hearing));
    let (deaf, blanked) = (alone(HearingMode::Deaf), alone(HearingMode::Blanked));
    let levels = if lost { &[][..] } else { &PlayLevel::OF_CHATS };
    let chat = |level: &PlayLevel| (*level, play_chat(holon, script, *level, HearingMode::Reacts));
    let chatting = levels.iter().map(chat).collect();
    PlayedScript { script: script.clone(), seed, reacting, deaf, blanked, chatting }
}

const HEAD: &str = "script                              level     hears    exit  check  rounds  put right  wasted   tokens  takeovers  denied";

fn lines(played: &PlayedScript) -> Vec<String> {
    let line = |level: &str, hears: &str, outcome: &PlayOutcome| {
        let PlayOutcome { code, rounds, wasted, tokens, takeovers, denied, .. } = outcome;
        let check = if outcome.good { "good" } else { "bad" };
        let heeded = outcome.heeded.map_or_else(|| "-".to_owned(), |round| round.to_string());
        format!(
            "{:<34}  {level:<8}  {hears:<7}  {code:>4}  {check:<5}  {rounds:>6}  {heeded:>9}  {wasted:>6}  {tokens:>7}  {takeovers:>9}  {denied:>6}",
            played.script.name
        )
    };
    let hears = if played.script.is_lost() { "yes" } else { "-" };
    let mut lines: Vec<String> =
        played.reacting.iter().map(|(level, outcome)| line(level.name(), hears, outcome)).collect();
    lines.extend(played.deaf.as_ref().map(|outcome| line("adaptive", "no", outcome)));
    lines.extend(played.blanked.as_ref().map(|outcome| line("adaptive", "blanked", outcome)));
    lines.extend(played.chatting.iter().map(|(level, outcome)| line(level.name(), "in chat", outcome)));
    lines
}
