//! A hosted repository, as tests arrange and look at it.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use super::pulls::tip;
use super::server::GitHubState;
use super::world::{GitHubWorld, HostedComment, HostedPull, HostedRepoState, HostedThread};
use crate::git::{finish, git_command};

/// One repository of a [`super::GitHub`].
pub struct HostedRepo {
    pub(super) shared: Arc<GitHubState>,
    pub(super) name: String,
}

impl HostedRepo {
    fn with<T>(&self, look: impl FnOnce(&mut HostedRepoState) -> T) -> T {
        let mut world = self.shared.world.lock().unwrap_or_else(PoisonError::into_inner);
        look(world.repos.get_mut(&self.name).expect("the repository is there"))
    }

    fn with_world<T>(&self, look: impl FnOnce(&mut GitHubWorld) -> T) -> T {
        look(&mut self.shared.world.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// `owner/name`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bare repository on disk.
    pub fn dir(&self) -> PathBuf {
        self.with(|repo| repo.dir.clone())
    }

    /// Runs git in it.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        finish(git_command(&self.dir()).args(args)).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Commits files onto a branch, which is made from `from` when it is not there; `None` deletes a file.
    #[track_caller]
    pub fn commit(
        &self,
        branch: &str,
        from: Option<&str>,
        files: &[(&str, Option<&str>)],
        message: &str,
    ) -> String {
        let dir = self.dir();
        let parent = tip(&dir, branch).or_else(|| from.and_then(|from| tip(&dir, from)));
        let mut stream = String::new();
        stream.push_str(&format!(
            "commit refs/heads/{branch}\ncommitter Test <test@example.com> 1704164645 +0000\ndata {}\n{message}\n",
            message.len()
        ));
        if let Some(parent) = &parent {
            stream.push_str(&format!("from {parent}\n"));
        }
        for (path, content) in files {
            match content {
                Some(text) => {
                    stream.push_str(&format!("M 100644 inline {path}\ndata {}\n{text}\n", text.len()))
                }
                None => stream.push_str(&format!("D {path}\n")),
            }
        }
        let input = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(input.path(), stream).expect("writing it");
        let file = std::fs::File::open(input.path()).expect("reading it");
        finish(git_command(&dir).args(["fast-import", "--quiet", "--force"]).stdin(file))
            .unwrap_or_else(|error| panic!("{error}"));
        tip(&dir, branch).expect("the branch is there now")
    }

    /// The commit of a branch.
    pub fn tip(&self, branch: &str) -> Option<String> {
        tip(&self.dir(), branch)
    }

    /// Opens an issue and gives its number.
    pub fn issue(&self, author: &str, title: &str, body: &str) -> u64 {
        self.thread(author, title, body, None)
    }

    /// Opens a pull request from a branch of `head_repo` and gives its number.
    pub fn pull(&self, author: &str, head_repo: &str, head_ref: &str, base_ref: &str) -> u64 {
        let pull = HostedPull {
            head_repo: head_repo.into(),
            head_ref: head_ref.into(),
            base_ref: base_ref.into(),
            draft: false,
            reviews: Vec::new(),
            comments: Vec::new(),
        };
        self.thread(author, "A change", "What it does.", Some(pull))
    }

    fn thread(&self, author: &str, title: &str, body: &str, pull: Option<HostedPull>) -> u64 {
        self.with(|repo| {
            let number = repo.threads.len() as u64 + 1;
            let thread = HostedThread {
                number,
                title: title.into(),
                body: body.into(),
                author: author.into(),
                open: true,
                labels: vec!["bug".into()],
                comments: Vec::new(),
                pull,
            };
            repo.threads.insert(number, thread);
            number
        })
    }

    /// Adds a comment of anyone.
    pub fn comment(&self, number: u64, author: &str, body: &str) {
        let id = self.with_world(GitHubWorld::id);
        self.with(|repo| {
            let thread = repo.threads.get_mut(&number).expect("the issue is there");
            thread.comments.push(HostedComment { id, author: author.into(), bot: false, body: body.into() });
        });
    }

    /// The comments of an issue or pull request: author and text.
    pub fn comments(&self, number: u64) -> Vec<(String, String)> {
        self.with(|repo| {
            repo.threads[&number].comments.iter().map(|c| (c.author.clone(), c.body.clone())).collect()
        })
    }

    /// The reviews of a pull request: state and text.
    pub fn reviews(&self, number: u64) -> Vec<(String, String)> {
        self.with(|repo| {
            let pull = repo.threads[&number].pull.as_ref().expect("a pull request");
            pull.reviews.iter().map(|r| (r.state.clone(), r.body.clone())).collect()
        })
    }

    /// The comments on lines of a pull request: path, side, first and last line, text.
    pub fn line_comments(&self, number: u64) -> Vec<(String, String, u64, u64, String)> {
        self.with(|repo| {
            let pull = repo.threads[&number].pull.as_ref().expect("a pull request");
            let told = pull.comments.iter().map(|c| {
                (c.path.clone(), c.side.clone(), c.start_line.unwrap_or(c.line), c.line, c.body.clone())
            });
            told.collect()
        })
    }

    /// The pull requests: number, head branch, whether open, draft, title, text.
    pub fn pulls(&self) -> Vec<(u64, String, bool, bool, String, String)> {
        self.with(|repo| {
            let pulls = repo.threads.values().filter_map(|t| t.pull.as_ref().map(|p| (t, p)));
            pulls
                .map(|(t, p)| {
                    (t.number, p.head_ref.clone(), t.open, p.draft, t.title.clone(), t.body.clone())
                })
                .collect()
        })
    }

    /// Changes title and text of an issue or pull request, as a person would.
    pub fn edit(&self, number: u64, change: impl FnOnce(&mut String, &mut String)) {
        self.with(|repo| {
            let thread = repo.threads.get_mut(&number).expect("it is there");
            change(&mut thread.title, &mut thread.body);
        });
    }

    /// Closes an issue or pull request.
    pub fn close(&self, number: u64) {
        self.with(|repo| repo.threads.get_mut(&number).expect("it is there").open = false);
    }

    /// The check runs.
    pub fn checks(&self) -> Vec<serde_json::Value> {
        self.with(|repo| repo.checks.clone())
    }

    /// Adds a check run of someone else.
    pub fn check(&self, run: serde_json::Value) {
        self.with(|repo| repo.checks.push(run));
    }

    /// Hides it from everyone but these, who may also push.
    pub fn private(&self, members: &[&str]) {
        self.with(|repo| {
            repo.private = true;
            repo.members = members.iter().map(ToString::to_string).collect();
        });
    }

    /// Lets only these push; everyone may look.
    pub fn members(&self, members: &[&str]) {
        self.with(|repo| repo.members = members.iter().map(ToString::to_string).collect());
    }

    /// Gives its address as a `file://` one.
    pub fn over_file(&self) {
        self.with(|repo| repo.file_address = true);
    }

    /// Refuses pushes to branches that begin like this, as a protected branch does.
    pub fn protect(&self, prefix: &str) {
        let hook = self.dir().join("hooks/pre-receive");
        std::fs::create_dir_all(hook.parent().expect("a folder")).expect("making it");
        let script = format!(
            "#!/bin/sh\nwhile read old new ref; do case $ref in refs/heads/{prefix}*) echo 'error: GH006: Protected branch update failed for '$ref'.'; exit 1;; esac; done\n"
        );
        std::fs::write(&hook, script).expect("writing a hook");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&hook, mode).expect("making it executable");
    }
}
