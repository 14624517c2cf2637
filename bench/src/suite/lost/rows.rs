//! What all of them come to, and each set of seeds.

use std::collections::BTreeSet;

use holon_testkit::lost::{PlayLevel, PlayOutcome};

use super::PlayedScript;
use crate::report::{ReportRow, TargetBound};

/// The levels that act.
const ACTS: [PlayLevel; 2] = [PlayLevel::Adaptive, PlayLevel::Strict];
/// What has to be there of each side: scripts, families, languages.
const ENOUGH: [(&str, f64); 3] = [("scripts", 40.0), ("families", 12.0), ("languages", 8.0)];

const NONE: Option<TargetBound> = Some(TargetBound::AtMost(0.0));

/// All rows; how many there are is only judged where the scripts are the project's own.
pub(super) fn all(played: &[PlayedScript], seeds: &[u64], own: bool) -> Vec<ReportRow> {
    let played: Vec<&PlayedScript> = played.iter().collect();
    let mut rows = LostRows(Vec::new());
    rows.counts(&played, own);
    rows.lost(&played);
    rows.sentences(&played);
    rows.shadow(&played);
    rows.healthy(&played);
    rows.chat(&played);
    let sets = std::iter::once(None).chain(seeds.iter().copied().map(Some));
    for set in sets.filter(|_| !seeds.is_empty()) {
        let part: Vec<&PlayedScript> = played.iter().copied().filter(|one| one.seed == set).collect();
        rows.set(&set.map_or_else(|| "written".to_owned(), |seed| format!("seed {seed}")), &part);
    }
    rows.0
}

struct LostRows(Vec<ReportRow>);

impl LostRows {
    fn add(&mut self, what: impl Into<String>, unit: &str, value: f64, limit: Option<TargetBound>) {
        let row = ReportRow::samples(what, unit, &[value]);
        self.0.push(match limit {
            Some(limit) => row.median_target(limit),
            None => row,
        });
    }

    fn counts(&mut self, played: &[&PlayedScript], own: bool) {
        for (side, lost) in [("lost", true), ("healthy", false)] {
            let part: Vec<&&PlayedScript> =
                played.iter().filter(|one| one.script.is_lost() == lost).collect();
            let kinds =
                |of: fn(&PlayedScript) -> &str| part.iter().map(|one| of(one)).collect::<BTreeSet<_>>().len();
            let counts = [part.len(), kinds(|one| &one.script.family), kinds(|one| &one.script.language)];
            for ((what, least), count) in ENOUGH.into_iter().zip(counts) {
                self.add(
                    format!("{side}, {what}"),
                    "",
                    count as f64,
                    own.then_some(TargetBound::AtLeast(least)),
                );
            }
        }
    }

    fn lost(&mut self, played: &[&PlayedScript]) {
        let lost: Vec<&&PlayedScript> = played.iter().filter(|one| one.script.is_lost()).collect();
        if lost.is_empty() {
            return;
        }
        let failing = failing(played);
        self.add("lost, failing with off", "agents", failing.len() as f64, None);
        for level in ACTS {
            let what = format!("of those, {} recovers", level.name());
            self.add(what, "%", recovered(&failing, level), Some(TargetBound::AtLeast(85.0)));
        }
        let bad = |one: &&&PlayedScript| {
            ACTS.iter().filter_map(|level| one.at(*level)).any(|o| o.code == 0 && !o.good)
        };
        self.add("exit 0 with a bad result", "agents", played.iter().filter(bad).count() as f64, NONE);
        let stopped = lost.iter().filter(|one| stopped(one)).count();
        self.add(
            "who does not listen is stopped, exit 2, with a report",
            "%",
            share(stopped, lost.len()),
            Some(TargetBound::AtLeast(100.0)),
        );
        let blanked =
            lost.iter().filter(|one| one.blanked.as_ref().is_some_and(|outcome| outcome.good)).count();
        self.add("recovers with the texts blanked", "agents", blanked as f64, NONE);
    }

    /// Everything that was said to a model, held against the facts.
    fn sentences(&mut self, played: &[&PlayedScript]) {
        let every = || played.iter().flat_map(|one| one.reacting.iter().map(|(_, o)| o).chain(&one.deaf));
        let said: u64 = every().map(|outcome| outcome.told.sentences).sum();
        let untrue: usize = every().map(|outcome| outcome.told.untrue.len()).sum();
        self.add("sentences said to models", "", said as f64, None);
        self.add("of those, untrue", "", untrue as f64, NONE);
    }

    fn shadow(&mut self, played: &[&PlayedScript]) {
        let same = |one: &&&PlayedScript| match (one.at(PlayLevel::Off), one.at(PlayLevel::Shadow)) {
            (Some(off), Some(shadow)) => {
                (off.tokens, off.rounds, off.code) == (shadow.tokens, shadow.rounds, shadow.code)
            }
            _ => false,
        };
        let differ = played.len() - played.iter().filter(same).count();
        self.add("a shadow changes something", "agents", differ as f64, NONE);
    }

    fn healthy(&mut self, played: &[&PlayedScript]) {
        for level in ACTS {
            let outcomes = healthy(played).filter_map(|one| one.at(level));
            self.left_alone("healthy", level, outcomes.collect());
        }
        let pairs =
            healthy(played).filter_map(|one| Some((one.at(PlayLevel::Off)?, one.at(PlayLevel::Adaptive)?)));
        self.tokens("healthy, tokens more than with off", pairs.collect());
    }

    fn chat(&mut self, played: &[&PlayedScript]) {
        for level in [PlayLevel::Advise, PlayLevel::Adaptive] {
            let outcomes = healthy(played).filter_map(|one| one.in_chat(level));
            self.left_alone("healthy in chat", level, outcomes.collect());
            let pairs =
                healthy(played).filter_map(|one| Some((one.in_chat(PlayLevel::Off)?, one.in_chat(level)?)));
            let what = format!("healthy in chat, tokens more at {} than with off", level.name());
            self.tokens(&what, pairs.collect());
        }
    }

    fn left_alone(&mut self, who: &str, level: PlayLevel, outcomes: Vec<&PlayOutcome>) {
        if outcomes.is_empty() {
            return;
        }
        let name = level.name();
        let count = |holds: fn(&PlayOutcome) -> bool| outcomes.iter().filter(|o| holds(o)).count() as f64;
        self.add(format!("{who}, taken over at {name}"), "agents", count(|o| o.takeovers > 0), NONE);
        self.add(format!("{who}, denied something at {name}"), "agents", count(|o| o.denied > 0), NONE);
        self.add(format!("{who}, work lost at {name}"), "agents", count(|o| !o.recovered()), NONE);
    }

    fn tokens(&mut self, what: &str, pairs: Vec<(&PlayOutcome, &PlayOutcome)>) {
        if pairs.is_empty() {
            return;
        }
        let off: u64 = pairs.iter().map(|(off, _)| off.tokens).sum();
        let with: u64 = pairs.iter().map(|(_, with)| with.tokens).sum();
        let more = (with as f64 / off.max(1) as f64 - 1.0) * 100.0;
        self.add(what, "%", more, Some(TargetBound::AtMost(1.0)));
    }

    /// One set of seeds for itself: so that a good sum hides no bad part.
    fn set(&mut self, name: &str, part: &[&PlayedScript]) {
        let failing = failing(part);
        for level in ACTS {
            let what = format!("{name}: {} recovers", level.name());
            self.add(what, "%", recovered(&failing, level), None);
        }
        let lost: Vec<&&PlayedScript> = part.iter().filter(|one| one.script.is_lost()).collect();
        let deaf = lost.iter().filter(|one| stopped(one)).count();
        self.add(format!("{name}: who does not listen is stopped"), "%", share(deaf, lost.len()), None);
        let disturbed = |one: &&&PlayedScript| {
            let runs = ACTS.iter().filter_map(|level| one.at(*level));
            let chats = one.chatting.iter().map(|(_, outcome)| outcome);
            runs.chain(chats).any(|o| o.takeovers > 0 || o.denied > 0 || !o.recovered())
        };
        let disturbed = healthy(part).filter(disturbed).count();
        self.add(format!("{name}: healthy, not left alone somewhere"), "agents", disturbed as f64, None);
    }
}

fn healthy<'a>(played: &'a [&'a PlayedScript]) -> impl Iterator<Item = &'a &'a PlayedScript> {
    played.iter().filter(|one| !one.script.is_lost())
}

/// Lost ones that nobody helped, and whose result is bad.
fn failing<'a>(played: &[&'a PlayedScript]) -> Vec<&'a PlayedScript> {
    let fails = |one: &&PlayedScript| {
        one.script.is_lost() && one.at(PlayLevel::Off).is_some_and(|outcome| !outcome.good)
    };
    played.iter().copied().filter(fails).collect()
}

fn recovered(failing: &[&PlayedScript], level: PlayLevel) -> f64 {
    let good = failing.iter().filter(|one| one.at(level).is_some_and(PlayOutcome::recovered)).count();
    share(good, failing.len())
}

fn stopped(one: &PlayedScript) -> bool {
    one.deaf.as_ref().is_some_and(|outcome| outcome.stopped_usefully() && outcome.rounds < one.script.rounds)
}

fn share(part: usize, whole: usize) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}
