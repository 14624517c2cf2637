//! What was found out about models, on disk: one small file for all servers.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::TestedAbilities;
use crate::cache_file;

/// Files of another version are left alone.
const VERSION: u32 = 1;
/// More models than anyone tries.
const MOST: usize = 256;
/// The most bytes that are read.
const MOST_BYTES: u64 = 1024 * 1024;

/// Keeps what was tried, by server and model. Whatever is wrong with the file counts as nothing known.
#[derive(Debug, Clone)]
pub struct AbilityCache {
    folder: PathBuf,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct AbilityCacheFile {
    version: u32,
    models: Vec<AbilityCacheEntry>,
}

#[derive(Debug, Serialize, Deserialize)]
struct AbilityCacheEntry {
    base: String,
    model: String,
    tested: TestedAbilities,
}

impl AbilityCache {
    /// A cache in this folder, which is made when something is written.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.folder.join("abilities.json")
    }

    /// What was tried with this model at this base URL.
    pub fn read(&self, base: &str, model: &str) -> Option<TestedAbilities> {
        let entry = self.all().models.into_iter().find(|entry| entry.base == base && entry.model == model)?;
        Some(entry.tested)
    }

    /// Remembers it; readers see the old file or the new one, never half of it.
    pub fn write(&self, base: &str, model: &str, tested: TestedAbilities) -> io::Result<()> {
        let mut kept = self.all();
        kept.models.retain(|entry| entry.base != base || entry.model != model);
        let excess = (kept.models.len() + 1).saturating_sub(MOST);
        kept.models.drain(..excess);
        kept.models.push(AbilityCacheEntry { base: base.to_owned(), model: model.to_owned(), tested });
        kept.version = VERSION;
        cache_file::replace(&self.path(), &kept)
    }

    fn all(&self) -> AbilityCacheFile {
        let kept: Option<AbilityCacheFile> = cache_file::read(&self.path(), MOST_BYTES);
        kept.filter(|kept| kept.version == VERSION).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use super::*;

    #[test]
    fn what_was_tried_is_found_again_by_server_and_model() {
        let folder = tempfile::tempdir().unwrap();
        let cache = AbilityCache::new(folder.path().join("deep"));
        assert_eq!(cache.read("a", "m"), None);
        let tested = |tools| TestedAbilities {
            at: "2026-01-02T00:00:00Z".parse().unwrap(),
            tools: Some(tools),
            schema: None,
            reads_per_second: Some(100.0),
            writes_per_second: None,
            window: Some(4096),
        };
        cache.write("a", "m", tested(true)).unwrap();
        cache.write("b", "m", tested(false)).unwrap();
        cache.write("a", "m", tested(false)).unwrap();
        assert_eq!((cache.read("a", "m"), cache.read("a", "n")), (Some(tested(false)), None));
        assert_eq!(fs::read_dir(folder.path().join("deep")).unwrap().count(), 1);
        for number in 0..MOST {
            cache.write("c", &number.to_string(), tested(true)).unwrap();
        }
        assert_eq!(cache.read("a", "m"), None, "the oldest go first");
        fs::write(cache.path(), "{").unwrap();
        assert_eq!(cache.read("b", "m"), None);
    }
}
