//! What `HOLON_TRACE` asks for.

use std::str::FromStr;

use holon_core::suggest;
use tracing::Metadata;
use tracing::level_filters::LevelFilter;

/// The parts that can be named: the crates, without their common beginning.
const PARTS: [&str; 22] = [
    "agent",
    "apply",
    "attest",
    "checks",
    "core",
    "ethics",
    "flow",
    "gateway",
    "git",
    "hands",
    "holon",
    "host",
    "http",
    "login",
    "model",
    "network",
    "publish",
    "sandbox",
    "server",
    "store",
    "supervisor",
    "telemetry",
];

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Which lines are wanted: a level for everything, and other levels for single parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceFilter {
    rest: LevelFilter,
    parts: Vec<(String, LevelFilter)>,
}

/// Why a filter cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceFilterError {
    /// No such level.
    #[error("`{level}` is no level{meant}: it is one of off, error, warn, info, debug, trace")]
    Level {
        /// What was written.
        level: String,
        /// What may have been meant.
        meant: String,
    },
    /// No such part.
    #[error("`{part}` is no part of holon{meant}: the parts are {all}")]
    Part {
        /// What was written.
        part: String,
        /// What may have been meant.
        meant: String,
        /// All there are.
        all: String,
    },
}

impl TraceFilter {
    /// Whether a line of this level from this target is wanted.
    pub fn wants(&self, metadata: &Metadata<'_>) -> bool {
        let Some(part) = part_of(metadata.target()) else { return false };
        let own = self.parts.iter().rev().find(|(name, _)| name == part);
        *metadata.level() <= own.map_or(self.rest, |(_, level)| *level)
    }

    /// The loudest level anything is wanted at.
    pub fn loudest(&self) -> LevelFilter {
        self.parts.iter().map(|(_, level)| *level).fold(self.rest, Ord::max)
    }
}

/// The part a target belongs to; nothing for the libraries that are used.
fn part_of(target: &str) -> Option<&str> {
    let first = target.split("::").next().unwrap_or(target);
    first.strip_prefix("holon_").or((first == "holon").then_some("holon"))
}

fn level(word: &str) -> Result<LevelFilter, TraceFilterError> {
    let lower = word.to_ascii_lowercase();
    // The library also takes numbers, which say nothing to a reader.
    let known = LEVELS.contains(&lower.as_str()).then(|| LevelFilter::from_str(&lower).ok()).flatten();
    known
        .ok_or_else(|| TraceFilterError::Level { level: word.to_owned(), meant: suggest::hint(word, LEVELS) })
}

impl FromStr for TraceFilter {
    type Err = TraceFilterError;

    /// `debug`, or `host=debug,model=trace`, or both: `info,host=debug`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut filter = Self { rest: LevelFilter::OFF, parts: Vec::new() };
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let Some((part, wanted)) = word.split_once('=') else {
                filter.rest = level(word)?;
                continue;
            };
            let part = part.trim();
            if !PARTS.contains(&part) {
                let all = PARTS.join(", ");
                let meant = suggest::hint(part, PARTS);
                return Err(TraceFilterError::Part { part: part.to_owned(), meant, all });
            }
            filter.parts.push((part.to_owned(), level(wanted.trim())?));
        }
        Ok(filter)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_level_holds_for_all_and_a_part_for_itself() {
        let filter: TraceFilter = " info, host=debug ,model=trace,git=off".parse().unwrap();
        assert_eq!(filter.rest, LevelFilter::INFO);
        let parts: Vec<_> = filter.parts.iter().map(|(part, level)| (part.as_str(), *level)).collect();
        let expect = [("host", LevelFilter::DEBUG), ("model", LevelFilter::TRACE), ("git", LevelFilter::OFF)];
        assert_eq!(parts, expect);
        assert_eq!(filter.loudest(), LevelFilter::TRACE);
        assert_eq!("".parse::<TraceFilter>().unwrap().loudest(), LevelFilter::OFF);
    }

    #[test]
    fn what_is_misspelt_is_named_with_what_was_meant() {
        let wrong = |text: &str| text.parse::<TraceFilter>().unwrap_err().to_string();
        assert!(wrong("debgu").contains("(did you mean `debug`?)"), "{}", wrong("debgu"));
        assert!(wrong("hots=debug").contains("(did you mean `host`?)"), "{}", wrong("hots=debug"));
        assert!(wrong("host=5").contains("`5` is no level"), "{}", wrong("host=5"));
    }

    #[test]
    fn libraries_are_no_part() {
        assert_eq!(part_of("holon_host::run::execute"), Some("host"));
        assert_eq!(part_of("holon"), Some("holon"));
        assert_eq!(part_of("holon::command"), Some("holon"));
        assert_eq!(part_of("hyper::client"), None);
        assert_eq!(part_of("holonic"), None);
    }

    #[test]
    fn every_crate_can_be_named() {
        let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for entry in crates.read_dir().unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name != "testkit" {
                assert!(PARTS.contains(&name.as_str()), "{name} cannot be traced");
            }
        }
    }
}
