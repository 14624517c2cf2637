//! A place to try the server in: the sample repository and a cassette, in a temporary folder.

use std::fs;
use std::path::PathBuf;

use holon_host::HolonFolders;
use tempfile::TempDir;

use crate::failure::CliFailure;
use crate::session::Session;

const SAMPLE: &[(&str, &str)] = &[
    ("README.md", include_str!("../../../demo/sample/README.md")),
    ("slug.sh", include_str!("../../../demo/sample/slug.sh")),
    ("test.sh", include_str!("../../../demo/sample/test.sh")),
];
const CHAT: &str = include_str!("../../../demo/cassettes/chat.yaml");

/// Gone when dropped.
pub(crate) struct ServeDemoStage {
    _root: TempDir,
    path: PathBuf,
}

impl ServeDemoStage {
    pub(crate) fn build() -> Result<Self, CliFailure> {
        let temp = std::env::temp_dir();
        let root = tempfile::Builder::new()
            .prefix("holon-demo-")
            .tempdir_in(&temp)
            .map_err(CliFailure::io("make a folder in", &temp))?;
        let path = root.path().canonicalize().map_err(CliFailure::io("read", root.path()))?;
        let stage = Self { _root: root, path };
        let sample = stage.sample();
        fs::create_dir(&sample).map_err(CliFailure::io("create", &sample))?;
        for (name, text) in SAMPLE {
            let file = sample.join(name);
            fs::write(&file, text).map_err(CliFailure::io("write", &file))?;
        }
        let file = stage.cassette();
        fs::write(&file, CHAT).map_err(CliFailure::io("write", &file))?;
        Ok(stage)
    }

    pub(crate) fn sample(&self) -> PathBuf {
        self.path.join("sample")
    }

    pub(crate) fn cassette(&self) -> PathBuf {
        self.path.join("chat.yaml")
    }

    pub(crate) fn places(&self, session: &Session) -> HolonFolders {
        super::beside(self.path.join("state"), session)
    }
}
