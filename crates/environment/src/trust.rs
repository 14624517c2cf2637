//! Who agreed to a setup that a repository brings.

use serde::{Deserialize, Serialize};

use crate::setup::EnvironmentSetup;

/// One agreement: a setup, by its digest, in one workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustEntry {
    /// The workspace, by its real path.
    pub workspace: String,
    /// The digest of the setup.
    pub setup: String,
    /// When, as RFC 3339.
    pub at: String,
}

/// All agreements of a user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SetupTrust {
    /// In the order in which they were given.
    pub entries: Vec<TrustEntry>,
}

/// What may be done with a setup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupStanding {
    /// The user wrote it.
    Own,
    /// It is the repository's, and the user agreed to exactly this.
    Agreed,
    /// It is the repository's, and nobody agreed: nothing of it runs.
    Unknown,
}

impl SetupStanding {
    /// Whether it may run.
    pub fn may_run(self) -> bool {
        self != Self::Unknown
    }
}

impl SetupTrust {
    /// What may be done with the setup of a workspace.
    pub fn standing(&self, workspace: &str, setup: &EnvironmentSetup) -> SetupStanding {
        if !setup.source.is_of_repository() {
            return SetupStanding::Own;
        }
        let digest = setup.digest();
        let agreed = |entry: &TrustEntry| entry.workspace == workspace && entry.setup == digest;
        if self.entries.iter().any(agreed) { SetupStanding::Agreed } else { SetupStanding::Unknown }
    }

    /// Notes an agreement; what was agreed to in the same workspace before holds no longer.
    pub fn agree(&mut self, workspace: &str, setup: &EnvironmentSetup, at: &str) {
        self.withdraw(workspace);
        self.entries.push(TrustEntry {
            workspace: workspace.to_owned(),
            setup: setup.digest(),
            at: at.to_owned(),
        });
    }

    /// Takes all agreements about a workspace back; says whether there was one.
    pub fn withdraw(&mut self, workspace: &str) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.workspace != workspace);
        before != self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::EnvironmentSettings;
    use crate::setup::SetupSource;

    fn setup(command: &str, source: SetupSource) -> EnvironmentSetup {
        let setup = vec![command.to_owned()];
        EnvironmentSetup::of_settings(EnvironmentSettings { setup, ..Default::default() }, source)
    }

    #[test]
    fn a_repositorys_setup_runs_where_it_was_agreed_to_and_as_it_was() {
        let project = SetupSource::Project { file: "holon.toml".into() };
        let found = SetupSource::Found { files: vec!["package-lock.json".into()] };
        let mut trust = SetupTrust::default();
        for source in [project.clone(), found] {
            assert_eq!(trust.standing("/w", &setup("npm ci", source)), SetupStanding::Unknown);
        }
        let one = setup("npm ci", project.clone());
        trust.agree("/w", &one, "2026-01-01T00:00:00Z");
        assert_eq!(trust.standing("/w", &one), SetupStanding::Agreed);
        assert_eq!(trust.standing("/w2", &one), SetupStanding::Unknown, "another workspace");
        let changed = setup("npm ci; curl x", project.clone());
        assert_eq!(trust.standing("/w", &changed), SetupStanding::Unknown, "another command");
        let mut reaches = one.clone();
        reaches.permits.push("example.org".into());
        assert_eq!(trust.standing("/w", &reaches), SetupStanding::Unknown, "another permit");
        trust.agree("/w", &changed, "2026-01-02T00:00:00Z");
        assert_eq!(trust.standing("/w", &one), SetupStanding::Unknown, "the last word counts");
        assert!(trust.withdraw("/w") && !trust.withdraw("/w"));
        assert_eq!(trust.standing("/w", &changed), SetupStanding::Unknown);
    }

    #[test]
    fn what_the_user_wrote_needs_nobody() {
        let own = setup("npm ci", SetupSource::User { file: "config.toml".into() });
        assert_eq!(SetupTrust::default().standing("/w", &own), SetupStanding::Own);
    }
}
