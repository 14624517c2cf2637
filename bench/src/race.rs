//! Interleaved measuring: every round gives each contender a turn, so that whatever else the machine does hits all of
//! them alike.

use std::time::Duration;

use crate::BenchFailure;

/// Before each turn the machine is left alone for so long: people start things one at a time, and some of what the
/// kernel does is fast only right after it was done before (moving a process to a control group, for one).
const PAUSE: Duration = Duration::from_millis(25);

/// Something that can be measured again and again.
pub(crate) struct RaceContender<'a> {
    /// One name per number that a turn gives.
    names: Vec<String>,
    /// It gets a turn only in each so-many-th round; for the slow ones.
    every: usize,
    turn: RaceTurn<'a>,
}

/// One measurement: as many times as the contender has names.
type RaceTurn<'a> = Box<dyn FnMut() -> Result<Vec<Duration>, BenchFailure> + 'a>;

impl<'a> RaceContender<'a> {
    /// A contender that gives one time per turn.
    pub(crate) fn new(
        name: impl Into<String>,
        mut turn: impl FnMut() -> Result<Duration, BenchFailure> + 'a,
    ) -> Self {
        Self { names: vec![name.into()], every: 1, turn: Box::new(move || turn().map(|time| vec![time])) }
    }

    /// A contender that gives several times per turn.
    pub(crate) fn with_parts(
        names: Vec<String>,
        turn: impl FnMut() -> Result<Vec<Duration>, BenchFailure> + 'a,
    ) -> Self {
        Self { names, every: 1, turn: Box::new(turn) }
    }

    /// Fewer turns.
    pub(crate) fn every(mut self, rounds: usize) -> Self {
        self.every = rounds.max(1);
        self
    }
}

/// What a race found.
#[derive(Debug, Default)]
pub(crate) struct RaceStandings {
    times: Vec<(String, Vec<f64>)>,
    /// Contenders that could not take part, and why.
    pub(crate) missing: Vec<String>,
}

impl RaceStandings {
    /// Milliseconds of one contender; empty when it is not there.
    pub(crate) fn of(&self, name: &str) -> &[f64] {
        self.times.iter().find(|(known, _)| known == name).map_or(&[], |(_, times)| times)
    }
}

/// Runs all contenders for so many rounds. One that fails leaves the race, with its reason; so does one that fails the
/// trial turn before the first round, which also warms the caches.
pub(crate) fn run(contenders: Vec<RaceContender<'_>>, rounds: usize) -> RaceStandings {
    let mut standings = RaceStandings::default();
    let mut running = Vec::new();
    for mut contender in contenders {
        match (contender.turn)() {
            Ok(_) => {
                standings.times.extend(contender.names.iter().map(|name| (name.clone(), Vec::new())));
                running.push(contender);
            }
            Err(failure) => standings.missing.push(format!("{}: {failure}", contender.names.join(", "))),
        }
    }
    for round in 0..rounds {
        // Nobody always follows the same neighbour, whose remains the kernel may still be clearing away.
        let first = round % running.len().max(1);
        let mut out = Vec::new();
        for index in (first..running.len()).chain(0..first) {
            let contender = &mut running[index];
            if round % contender.every != 0 {
                continue;
            }
            std::thread::sleep(PAUSE);
            match (contender.turn)() {
                Ok(times) => standings.add(&contender.names, &times),
                Err(failure) => {
                    standings
                        .missing
                        .push(format!("{} (round {round}): {failure}", contender.names.join(", ")));
                    out.push(index);
                }
            }
        }
        out.sort_unstable();
        for index in out.into_iter().rev() {
            running.remove(index);
        }
    }
    standings
}

impl RaceStandings {
    fn add(&mut self, names: &[String], times: &[Duration]) {
        for (name, time) in names.iter().zip(times) {
            if let Some((_, known)) = self.times.iter_mut().find(|(known, _)| known == name) {
                known.push(time.as_secs_f64() * 1e3);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_gets_turns_and_failures_are_named() {
        let mut left = 3;
        let contenders = vec![
            RaceContender::new("steady", || Ok(Duration::from_millis(2))),
            RaceContender::new("rare", || Ok(Duration::from_millis(5))).every(4),
            RaceContender::new("absent", || Err("not installed".into())),
            RaceContender::new("tired", || {
                left -= 1;
                if left > 0 { Ok(Duration::ZERO) } else { Err("gave up".into()) }
            }),
            RaceContender::with_parts(vec!["a".into(), "b".into()], || {
                Ok(vec![Duration::from_millis(1), Duration::from_millis(3)])
            }),
        ];
        let standings = run(contenders, 8);
        assert_eq!(standings.of("steady"), [2.0; 8]);
        assert_eq!(standings.of("rare"), [5.0; 2]);
        assert_eq!(standings.of("tired"), [0.0]);
        assert_eq!((standings.of("a"), standings.of("b")), (&[1.0; 8][..], &[3.0; 8][..]));
        assert_eq!(standings.missing, ["absent: not installed", "tired (round 1): gave up"]);
    }
}
