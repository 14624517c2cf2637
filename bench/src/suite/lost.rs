//! Scripted agents that get lost, and healthy ones, at every level of supervision.

use std::path::{Path, PathBuf};

use holon_testkit::lost::{Hearing, Level, Outcome, Script, grammar, play};

use crate::Failure;
use crate::report::{Limit, Report, Row};
use crate::scratch::Bench;

/// Where the scripts are, from the root of the project, unless others are given.
const SCRIPTS: &str = "bench/supervisor";

/// Everything that became of one script.
struct Played {
    script: Script,
    reacting: Vec<(Level, Outcome)>,
    deaf: Option<Outcome>,
    blanked: Option<Outcome>,
}

impl Played {
    fn at(&self, level: Level) -> Option<&Outcome> {
        self.reacting.iter().find(|(own, _)| *own == level).map(|(_, outcome)| outcome)
    }
}

/// What others may run is read from another folder.
pub(super) fn measure(bench: &Bench) -> Result<Report, Failure> {
    let folder = bench.scripts.clone().unwrap_or_else(|| PathBuf::from(SCRIPTS));
    let mut scripts = Script::load(&folder)?;
    for seed in &bench.seeds {
        scripts.extend(grammar::scripts(*seed).into_iter().map(|script| {
            let name = format!("{}-{seed}", script.name);
            Script { name, ..script }
        }));
    }
    if scripts.is_empty() {
        return Err(format!("there are no scripts in {}", folder.display()));
    }
    let played: Vec<Played> = scripts.into_iter().map(|script| go(&bench.holon, script)).collect();
    for line in std::iter::once(HEAD.to_owned()).chain(played.iter().flat_map(lines)) {
        println!("  {line}");
    }
    Ok(Report { rows: rows(&played), notes: Vec::new() })
}

fn go(holon: &Path, script: Script) -> Played {
    let lost = script.is_lost();
    let reacting = Level::OF_RUNS.map(|level| (level, play(holon, &script, level, Hearing::Reacts))).into();
    let alone = |hearing| lost.then(|| play(holon, &script, Level::Adaptive, hearing));
    let (deaf, blanked) = (alone(Hearing::Deaf), alone(Hearing::Blanked));
    Played { script, reacting, deaf, blanked }
}

const HEAD: &str = "script                              level     hears    exit  check  rounds  put right  wasted  tokens  takeovers  denied";

fn lines(played: &Played) -> Vec<String> {
    let line = |level: &str, hears: &str, outcome: &Outcome| {
        let Outcome { code, rounds, wasted, tokens, takeovers, denied, .. } = outcome;
        let check = if outcome.good { "good" } else { "bad" };
        let heeded = outcome.heeded.map_or_else(|| "-".to_owned(), |round| round.to_string());
        format!(
            "{:<34}  {level:<8}  {hears:<7}  {code:>4}  {check:<5}  {rounds:>6}  {heeded:>9}  {wasted:>6}  {tokens:>6}  {takeovers:>9}  {denied:>6}",
            played.script.name
        )
    };
    let hears = if played.script.is_lost() { "yes" } else { "-" };
    let mut lines: Vec<String> =
        played.reacting.iter().map(|(level, outcome)| line(level.name(), hears, outcome)).collect();
    lines.extend(played.deaf.as_ref().map(|outcome| line("adaptive", "no", outcome)));
    lines.extend(played.blanked.as_ref().map(|outcome| line("adaptive", "blanked", outcome)));
    lines
}

fn rows(played: &[Played]) -> Vec<Row> {
    let (lost, healthy): (Vec<&Played>, Vec<&Played>) = played.iter().partition(|one| one.script.is_lost());
    let share = |part: usize, whole: usize| part as f64 * 100.0 / whole.max(1) as f64;
    let good = |one: &&&Played, level| one.at(level).is_some_and(Outcome::recovered);
    let failing: Vec<&Played> =
        lost.iter().copied().filter(|one| one.at(Level::Off).is_some_and(|outcome| !outcome.good)).collect();
    let mut rows = Vec::new();
    let mut row = |what: &str, unit: &str, value: f64, limit: Option<Limit>| {
        let row = Row::samples(what, unit, &[value]);
        rows.push(match limit {
            Some(limit) => row.median_target(limit),
            None => row,
        });
    };
    if !lost.is_empty() {
        row("lost, failing with off", "agents", failing.len() as f64, None);
        for level in [Level::Adaptive, Level::Strict] {
            let recovered = failing.iter().filter(|one| good(one, level)).count();
            let what = format!("of those, {} recovers", level.name());
            row(&what, "%", share(recovered, failing.len()), Some(Limit::AtLeast(85.0)));
        }
        let acts = [Level::Adaptive, Level::Strict];
        let bad =
            |one: &&Played| acts.iter().filter_map(|level| one.at(*level)).any(|o| o.code == 0 && !o.good);
        let bad = played.iter().filter(bad).count();
        row("exit 0 with a bad result", "agents", bad as f64, Some(Limit::AtMost(0.0)));
        let stopped = |one: &&&Played| {
            let within = |outcome: &Outcome| outcome.stopped_usefully() && outcome.rounds < one.script.rounds;
            one.deaf.as_ref().is_some_and(within)
        };
        let stopped = lost.iter().filter(stopped).count();
        row(
            "who does not listen is stopped, exit 2, with a report",
            "%",
            share(stopped, lost.len()),
            Some(Limit::AtLeast(100.0)),
        );
        let blanked =
            lost.iter().filter(|one| one.blanked.as_ref().is_some_and(|outcome| outcome.good)).count();
        row("recovers with the texts blanked", "agents", blanked as f64, Some(Limit::AtMost(0.0)));
    }
    let same = |one: &&Played| match (one.at(Level::Off), one.at(Level::Shadow)) {
        (Some(off), Some(shadow)) => {
            (off.tokens, off.rounds, off.code) == (shadow.tokens, shadow.rounds, shadow.code)
        }
        _ => false,
    };
    let differ = played.len() - played.iter().filter(same).count();
    row("a shadow changes something", "agents", differ as f64, Some(Limit::AtMost(0.0)));
    if !healthy.is_empty() {
        for level in [Level::Adaptive, Level::Strict] {
            let name = level.name();
            let count = |holds: &dyn Fn(&Outcome) -> bool| {
                healthy.iter().filter_map(|one| one.at(level)).filter(|outcome| holds(outcome)).count() as f64
            };
            let none = Some(Limit::AtMost(0.0));
            row(&format!("healthy, taken over at {name}"), "agents", count(&|o| o.takeovers > 0), none);
            row(&format!("healthy, denied something at {name}"), "agents", count(&|o| o.denied > 0), none);
            row(&format!("healthy, work lost at {name}"), "agents", count(&|o| !o.recovered()), none);
        }
        let sum = |level: Level| -> u64 {
            healthy.iter().filter_map(|one| one.at(level)).map(|outcome| outcome.tokens).sum()
        };
        let more = (sum(Level::Adaptive) as f64 / sum(Level::Off).max(1) as f64 - 1.0) * 100.0;
        row("healthy, tokens more than with off", "%", more, Some(Limit::AtMost(1.0)));
    }
    rows
}
