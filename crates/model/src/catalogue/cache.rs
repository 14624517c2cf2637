//! A fetched list on disk.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::CatalogueError;
use super::row::ModelRow;
use crate::cache_file;

/// Files of another version are left alone.
const VERSION: u32 = 1;
/// No list is longer than this.
const MOST_BYTES: u64 = 32 * 1024 * 1024;

/// Keeps one list in a folder. Whatever is wrong with the file counts as no list.
#[derive(Debug, Clone)]
pub struct CatalogueCache {
    folder: PathBuf,
}

/// A list as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CachedCatalogue {
    version: u32,
    /// The URL it is from.
    pub source: String,
    /// When it was last known to be true.
    pub checked_at: Timestamp,
    /// What the server called this state of it.
    pub etag: Option<String>,
    /// The models.
    pub rows: Vec<ModelRow>,
}

impl CachedCatalogue {
    /// A list that was just fetched.
    pub fn new(source: &str, checked_at: Timestamp, etag: Option<String>, rows: Vec<ModelRow>) -> Self {
        Self { version: VERSION, source: source.to_owned(), checked_at, etag, rows }
    }

    /// How long ago it was last known to be true; one from the future is not trusted.
    pub fn age(&self, now: Timestamp) -> Duration {
        Duration::try_from(now.duration_since(self.checked_at)).unwrap_or(Duration::MAX)
    }
}

impl CatalogueCache {
    /// A cache in this folder, which is made when something is written.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.folder.join("models.json")
    }

    /// The list from this source, if a good one is there.
    pub fn read(&self, source: &str) -> Option<CachedCatalogue> {
        let kept: CachedCatalogue = cache_file::read(&self.path(), MOST_BYTES)?;
        (kept.version == VERSION && kept.source == source && !kept.rows.is_empty()).then_some(kept)
    }

    /// Replaces the list; readers see the old one or the new one, never half of it.
    pub fn write(&self, kept: &CachedCatalogue) -> Result<(), CatalogueError> {
        let path = self.path();
        cache_file::replace(&path, kept).map_err(|source| CatalogueError::Cache { path, source })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use super::*;

    #[test]
    fn what_is_written_is_read_back_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CatalogueCache::new(folder.path().join("deep/er"));
        assert_eq!(cache.read("here"), None);
        let now: Timestamp = "2026-01-02T00:00:00Z".parse().unwrap();
        let kept =
            CachedCatalogue::new("here", now, Some("\"a\"".into()), vec![ModelRow::new("openrouter", "a/b")]);
        cache.write(&kept).unwrap();
        cache.write(&kept).unwrap();
        assert_eq!(cache.read("here"), Some(kept.clone()));
        assert_eq!(cache.read("elsewhere"), None);
        assert_eq!(fs::read_dir(folder.path().join("deep/er")).unwrap().count(), 1);
        let text = fs::read_to_string(cache.path()).unwrap();
        for broken in [text.replace("\"version\":1", "\"version\":2"), text[..40].to_owned(), String::new()] {
            fs::write(cache.path(), broken).unwrap();
            assert_eq!(cache.read("here"), None);
        }
        let hour = jiff::SignedDuration::from_hours(1);
        assert_eq!(kept.age(now + hour), Duration::from_secs(3600));
        assert_eq!(kept.age(now - hour), Duration::MAX);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let kept = CachedCatalogue::new("here", Timestamp::UNIX_EPOCH, None, Vec::new());
        let error = CatalogueCache::new(file.join("below")).write(&kept).unwrap_err().to_string();
        assert!(error.contains("file/below/models.json"), "{error}");
    }
}
