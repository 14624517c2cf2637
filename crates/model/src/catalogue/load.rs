//! Getting hold of a list of models: from the network, from the cache, or from the table.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::CatalogueError;
use super::cache::{CachedCatalogue, CatalogueCache};
use super::openrouter::{OPENROUTER, parse};
use super::plan::CataloguePlan;
use super::row::ModelRow;
use super::table::ModelRowTable;
use crate::error::ModelError;

/// Fetches OpenRouter's list.
pub trait CatalogueFetch {
    /// The URL it is fetched from; a cache remembers it.
    fn source(&self) -> String;

    /// Asks for the list, unless it is still in the state that was given this name.
    fn fetch(&self, etag: Option<&str>) -> Result<FetchedCatalogue, ModelError>;
}

/// What a server gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchedCatalogue {
    /// The list is as it was.
    Unchanged,
    /// The list.
    List {
        /// As it came.
        body: Vec<u8>,
        /// What the server calls this state of it.
        etag: Option<String>,
    },
}

/// Models, and where the figures are from.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalogue {
    /// The models of one provider, in order of ids.
    pub rows: Vec<ModelRow>,
    /// Where the figures are from.
    pub origin: CatalogueOrigin,
    /// What did not work on the way, in words.
    pub warning: Option<String>,
}

/// Where figures are from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatalogueOrigin {
    /// The network, just now.
    Fetched,
    /// The cache.
    Cached {
        /// When they were last known to be true.
        checked_at: Timestamp,
    },
    /// The table that comes with Holon.
    Table {
        /// The day they are of.
        as_of: String,
    },
    /// A server on this machine, just now.
    Local,
}

impl Catalogue {
    /// What the table knows of a provider.
    pub fn of_table(provider: &str) -> Self {
        let table = ModelRowTable::builtin();
        let origin = CatalogueOrigin::Table { as_of: table.as_of.clone() };
        Self { rows: table.rows(provider), origin, warning: None }
    }

    fn of_kept(kept: CachedCatalogue) -> Self {
        Self {
            rows: kept.rows,
            origin: CatalogueOrigin::Cached { checked_at: kept.checked_at },
            warning: None,
        }
    }
}

/// Carries out a plan for a provider; whatever fails, there is a list in the end, and a warning with it.
pub fn load(
    plan: CataloguePlan,
    provider: &str,
    fetch: &dyn CatalogueFetch,
    cache: Option<&CatalogueCache>,
    now: Timestamp,
) -> Catalogue {
    let source = fetch.source();
    let kept = || cache.and_then(|cache| cache.read(&source));
    let mut catalogue = match plan {
        CataloguePlan::Table => Catalogue::of_table(provider),
        CataloguePlan::Cache => kept().map_or_else(|| Catalogue::of_table(provider), Catalogue::of_kept),
        CataloguePlan::Fetch => {
            let kept = kept();
            match refresh(fetch, cache, kept.as_ref(), now) {
                Ok(catalogue) => catalogue,
                Err(error) => {
                    let fallback = kept.map_or_else(|| Catalogue::of_table(OPENROUTER), Catalogue::of_kept);
                    Catalogue { warning: Some(error.to_string()), ..fallback }
                }
            }
        }
    };
    if provider == OPENROUTER {
        ModelRowTable::builtin().annotate(&mut catalogue.rows);
    }
    catalogue
}

fn refresh(
    fetch: &dyn CatalogueFetch,
    cache: Option<&CatalogueCache>,
    kept: Option<&CachedCatalogue>,
    now: Timestamp,
) -> Result<Catalogue, CatalogueError> {
    let etag = kept.and_then(|kept| kept.etag.as_deref());
    let fresh = match (fetch.fetch(etag)?, kept) {
        (FetchedCatalogue::List { body, etag }, _) => {
            CachedCatalogue::new(&fetch.source(), now, etag, parse(&body)?)
        }
        (FetchedCatalogue::Unchanged, Some(kept)) => {
            let mut kept = kept.clone();
            kept.checked_at = now;
            kept
        }
        (FetchedCatalogue::Unchanged, None) => {
            return Err(CatalogueError::Malformed {
                problem: "the server says it is unchanged, but there is no earlier one".to_owned(),
                found: String::new(),
            });
        }
    };
    // A list that cannot be kept is still a list.
    let warning = cache.and_then(|cache| cache.write(&fresh).err()).map(|error| error.to_string());
    Ok(Catalogue { rows: fresh.rows, origin: CatalogueOrigin::Fetched, warning })
}

impl CatalogueOrigin {
    /// Where the figures are from and how old they are, as in `the table that comes with Holon, 2026-11-15 (12 days old)`.
    pub fn describe(&self, now: Timestamp) -> String {
        match self {
            Self::Fetched => "fetched just now".to_owned(),
            Self::Local => "as the server on this machine says".to_owned(),
            Self::Cached { checked_at } => {
                let minutes = now.duration_since(*checked_at).as_mins().max(0);
                let age = match minutes {
                    0..120 => format!("{minutes} min"),
                    120..2880 => format!("{} hours", minutes / 60),
                    _ => format!("{} days", minutes / 1440),
                };
                format!("the cache, {age} old")
            }
            Self::Table { as_of } => {
                let today = now.to_zoned(TimeZone::UTC).date();
                let days = as_of
                    .parse::<Date>()
                    .ok()
                    .and_then(|day| day.until(today).ok())
                    .map(|span| span.get_days());
                let age = match days {
                    Some(days) if days > 1 => format!(" ({days} days old)"),
                    _ => String::new(),
                };
                format!("the table that comes with Holon, {as_of}{age}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::cell::RefCell;

    use super::*;
    use crate::catalogue::Tier;
    use crate::error::ModelErrorKind;

    /// Answers from a list, and remembers what it was asked.
    #[derive(Default)]
    struct ScriptedFetch {
        answers: RefCell<Vec<Result<FetchedCatalogue, ModelError>>>,
        asked: RefCell<Vec<Option<String>>>,
    }

    impl CatalogueFetch for ScriptedFetch {
        fn source(&self) -> String {
            "https://models.test".to_owned()
        }

        fn fetch(&self, etag: Option<&str>) -> Result<FetchedCatalogue, ModelError> {
            self.asked.borrow_mut().push(etag.map(str::to_owned));
            self.answers.borrow_mut().remove(0)
        }
    }

    fn list(id: &str) -> Result<FetchedCatalogue, ModelError> {
        let body = format!(r#"{{"data": [{{"id": "{id}"}}]}}"#).into_bytes();
        Ok(FetchedCatalogue::List { body, etag: Some("\"one\"".to_owned()) })
    }

    fn gone() -> Result<FetchedCatalogue, ModelError> {
        Err(ModelError::new(ModelErrorKind::Network, "no route"))
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn the_network_then_the_cache_then_the_table() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CatalogueCache::new(folder.path());
        let server = ScriptedFetch {
            answers: RefCell::new(vec![
                gone(),
                list("anthropic/claude-opus-9"),
                Ok(FetchedCatalogue::Unchanged),
                gone(),
            ]),
            ..ScriptedFetch::default()
        };
        let get = |plan, now: &str| load(plan, OPENROUTER, &server, Some(&cache), at(now));

        let offline = get(CataloguePlan::Fetch, "2026-12-01T00:00:00Z");
        assert_eq!(offline.rows, ModelRowTable::builtin().rows(OPENROUTER));
        assert!(offline.warning.unwrap().contains("no route"));
        assert!(matches!(offline.origin, CatalogueOrigin::Table { .. }));

        let fetched = get(CataloguePlan::Fetch, "2026-12-01T00:00:00Z");
        assert_eq!(
            (fetched.rows.len(), fetched.origin, fetched.warning),
            (1, CatalogueOrigin::Fetched, None)
        );

        let cached = get(CataloguePlan::Cache, "2026-12-01T03:00:00Z");
        assert_eq!(cached.origin.describe(at("2026-12-01T03:00:00Z")), "the cache, 3 hours old");

        // The same state: the rows stay, their age begins anew.
        assert_eq!(get(CataloguePlan::Fetch, "2026-12-03T00:00:00Z").origin, CatalogueOrigin::Fetched);
        let later = get(CataloguePlan::Fetch, "2026-12-07T00:00:00Z");
        assert_eq!(later.origin.describe(at("2026-12-07T00:00:00Z")), "the cache, 4 days old");
        assert_eq!(later.rows[0].id, "anthropic/claude-opus-9");
        assert!(later.warning.is_some());
        let one = Some("\"one\"".to_owned());
        assert_eq!(*server.asked.borrow(), [None, None, one.clone(), one]);
    }

    #[test]
    fn what_only_the_table_knows_is_added() {
        let server = ScriptedFetch {
            answers: RefCell::new(vec![list("anthropic/claude-opus-5.9")]),
            ..ScriptedFetch::default()
        };
        let fetched = load(CataloguePlan::Fetch, OPENROUTER, &server, None, Timestamp::UNIX_EPOCH);
        assert_eq!(fetched.rows[0].tier, Tier::Frontier);
    }

    #[test]
    fn nothing_is_asked_unless_planned() {
        let server = ScriptedFetch::default();
        let get = |plan, provider| load(plan, provider, &server, None, Timestamp::UNIX_EPOCH);
        assert!(!get(CataloguePlan::Table, "openai").rows.is_empty());
        assert!(!get(CataloguePlan::Cache, OPENROUTER).rows.is_empty());
        assert!(server.asked.borrow().is_empty());
    }

    #[test]
    fn an_answer_that_is_no_list_does_not_replace_the_one_there_is() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CatalogueCache::new(folder.path());
        let html = Ok(FetchedCatalogue::List { body: b"<html>".to_vec(), etag: None });
        let server =
            ScriptedFetch { answers: RefCell::new(vec![list("a/b"), html]), ..ScriptedFetch::default() };
        let get =
            || load(CataloguePlan::Fetch, OPENROUTER, &server, Some(&cache), at("2026-12-01T00:00:00Z"));
        get();
        let second = get();
        assert_eq!(second.rows[0].id, "a/b");
        assert!(second.warning.unwrap().contains("<html>"));
    }

    #[test]
    fn ages() {
        let table = CatalogueOrigin::Table { as_of: "2026-11-15".to_owned() };
        let expect = "the table that comes with Holon, 2026-11-15";
        assert_eq!(table.describe(at("2026-11-15T10:00:00Z")), expect);
        assert_eq!(table.describe(at("2027-03-01T10:00:00Z")), format!("{expect} (106 days old)"));
    }
}
