//! diff.patch as a branch and one pull request.

use std::rc::Rc;

use serde_json::{Value, json};

use super::execute::{PartDecision, PublishAction};
use super::hub::{self, PullFacts, RepoFacts};
use super::{PublishTools, words};
use crate::api::{ApiRequest, HttpMethod, PageBound, pages};
use crate::branch::{BranchStatus, CommitDraft, CommitStamp, GitRemote, GitWorkbench, standing};
use crate::error::PublishError;
use crate::facts::PublicationFacts;
use crate::folder::VerifiedOutput;
use crate::github::options::PublishOptions;
use crate::marker::Marker;
use crate::target::RepoName;
use crate::text::Cleaner;

/// Everything the decision needs that does not change while it is made.
#[derive(Debug)]
pub(super) struct PullContext<'a> {
    pub output: &'a VerifiedOutput,
    pub options: &'a PublishOptions,
    pub facts: &'a PublicationFacts,
    pub clean: &'a Cleaner,
    pub repo: &'a RepoFacts,
    /// The target, when it is a pull request.
    pub pull: Option<&'a PullFacts>,
    pub patch: &'a [u8],
}

/// Where the change goes.
struct PullRoute {
    /// The repository that is pushed to.
    repo: RepoName,
    clone_url: String,
    branch: String,
    /// The branch the change is put on.
    onto: String,
    /// The repository that `onto` is in.
    onto_url: String,
    /// Whether a pull request is opened for it.
    opens: bool,
}

pub(super) fn decide(
    ask: &PullContext<'_>,
    tools: &mut PublishTools<'_>,
) -> Result<PartDecision, PublishError> {
    let way = way(ask, tools)?;
    let title = words::title(
        ask.options.title.as_deref(),
        ask.output.text("summary.md").as_deref(),
        &ask.output.manifest().mode,
        ask.clean,
    );
    let mut decision = PartDecision::default();
    decision.actions.extend(push(ask, tools, &way, &title)?);
    if way.opens {
        open(ask, tools, &way, &title, &mut decision)?;
    } else {
        decision.url = ask.pull.map(|pull| pull.url.clone());
    }
    Ok(decision)
}

fn way(ask: &PullContext<'_>, tools: &mut PublishTools<'_>) -> Result<PullRoute, PublishError> {
    let target = &ask.options.target;
    let branch = format!("holon/{}", ask.facts.task);
    if ask.options.into_pull {
        let pull = ask.pull.ok_or_else(|| {
            PublishError::usage(
                "there is no pull request to add the change to",
                "name it as OWNER/REPO#NUMBER",
            )
        })?;
        let (Some(repo), Some(url)) = (pull.head_repo.clone(), pull.head_clone_url.clone()) else {
            return Err(PublishError::usage(
                "the repository of the pull request is gone",
                "open a new one, without --into-pull",
            ));
        };
        return Ok(PullRoute {
            repo,
            onto: pull.head_ref.clone(),
            onto_url: url.clone(),
            clone_url: url,
            branch: pull.head_ref.clone(),
            opens: false,
        });
    }
    let base = match (&ask.options.base, ask.pull) {
        (Some(base), _) => base.clone(),
        (None, Some(pull)) if pull.head_repo.as_ref() == Some(&target.repo) => pull.head_ref.clone(),
        (None, Some(_)) => {
            return Err(PublishError::usage(
                "the pull request comes from another repository, so no pull request can be opened onto its branch",
                "add the change to it with --into-pull, or choose a branch with --base",
            ));
        }
        (None, None) => ask.repo.default_branch.clone(),
    };
    let (repo, clone_url) = match &ask.options.push_to {
        Some(fork) if *fork != target.repo => (fork.clone(), hub::repo(tools.api, fork)?.clone_url),
        _ if ask.repo.may_push == Some(false) => {
            return Err(PublishError::usage(
                format!("the token may not push to {}", target.repo),
                "push to a fork with --push-to OWNER/REPO, or use a token that may write contents",
            ));
        }
        _ => (target.repo.clone(), ask.repo.clone_url.clone()),
    };
    if branch == base {
        return Err(PublishError::usage(
            format!("{branch} cannot be put onto itself"),
            "choose another --task or --base",
        ));
    }
    Ok(PullRoute { repo, clone_url, branch, onto: base, onto_url: ask.repo.clone_url.clone(), opens: true })
}

fn remote(tools: &PublishTools<'_>, url: &str) -> GitRemote {
    let token = tools.token.clone().filter(|_| tools.reach.owns(url));
    GitRemote { url: url.to_owned(), token, network: tools.network.clone() }
}

/// The push that brings the branch to this output; nothing when it is there.
fn push(
    ask: &PullContext<'_>,
    tools: &PublishTools<'_>,
    way: &PullRoute,
    title: &str,
) -> Result<Option<PublishAction>, PublishError> {
    let bench = GitWorkbench::new(tools.git.clone(), tools.temp)?;
    let (source, sink) = (remote(tools, &way.onto_url), remote(tools, &way.clone_url));
    let (onto, tip) = tips(&bench, &source, &sink, way)?;
    let Some(onto) = onto else {
        return Err(PublishError::usage(
            format!("there is no branch {}", way.onto),
            "choose one with --base",
        ));
    };
    if let Some(tip) = &tip {
        bench.fetch(&sink, &[tip])?;
        match standing(Some(&bench.look(tip)?), ask.facts) {
            BranchStatus::Current(_) => return Ok(None),
            BranchStatus::Foreign(commit, why) if way.opens => {
                return Err(PublishError::Foreign { branch: way.branch.clone(), commit, why });
            }
            // On someone's own branch the change goes on top of what is there.
            _ => {}
        }
    }
    fetch_all(&bench, &source, ask, &onto)?;
    let tree = match bench.apply(ask.patch, &onto, ask.options.directory.as_deref())? {
        Ok(tree) => tree,
        Err(conflicts) => {
            let onto = format!("{} ({})", way.onto, onto.chars().take(12).collect::<String>());
            return Err(PublishError::Conflicts { onto, conflicts });
        }
    };
    let stamp = CommitStamp::new(ask.facts, &onto, &tree);
    let manifest = ask.output.manifest();
    let (name, email) = ask.options.author.clone().unwrap_or_else(|| identity(ask));
    let commit = bench.commit(&CommitDraft {
        tree: &tree,
        parent: &onto,
        message: &words::message(title, ask.facts, &stamp),
        name: &name,
        email: &email,
        date: &words::date(&manifest.started_at),
    })?;
    Ok(Some(PublishAction::Push {
        bench: Rc::new(bench),
        remote: sink,
        commit,
        branch: way.branch.clone(),
        lease: tip,
    }))
}

/// Where the branch to build on and the branch to push to are now.
fn tips(
    bench: &GitWorkbench,
    source: &GitRemote,
    sink: &GitRemote,
    way: &PullRoute,
) -> Result<(Option<String>, Option<String>), PublishError> {
    if source.url == sink.url {
        let found = bench.branches(source, &[&way.onto, &way.branch])?;
        return Ok((found.get(&way.onto).cloned(), found.get(&way.branch).cloned()));
    }
    let onto = bench.branches(source, &[&way.onto])?.remove(&way.onto);
    Ok((onto, bench.branches(sink, &[&way.branch])?.remove(&way.branch)))
}

/// The run's own identity; `.invalid` is a domain nobody can have.
fn identity(ask: &PullContext<'_>) -> (String, String) {
    let agent: String = ask
        .output
        .manifest()
        .metadata
        .agent
        .name
        .chars()
        .filter(|c| c.is_alphanumeric() || " ._-".contains(*c))
        .collect();
    let name = if agent.trim().is_empty() { "Holon".to_owned() } else { format!("Holon ({})", agent.trim()) };
    (name, format!("{}@holon.invalid", ask.facts.run))
}

/// Fetches the commit to build on, and the one the run saw: merging needs its files.
fn fetch_all(
    bench: &GitWorkbench,
    source: &GitRemote,
    ask: &PullContext<'_>,
    onto: &str,
) -> Result<(), PublishError> {
    if !bench.has(onto) {
        bench.fetch(source, &[onto])?;
    }
    let saw =
        ask.output.manifest().metadata.snapshot.as_ref().and_then(|snapshot| snapshot.base_commit.clone());
    if let Some(saw) = saw.filter(|saw| saw != onto && !bench.has(saw)) {
        // Without it a patch that fits still applies, so a commit that was never pushed is no error.
        let _ = bench.fetch(source, &[&saw]);
    }
    Ok(())
}

/// Finds, makes or updates the one pull request.
fn open(
    ask: &PullContext<'_>,
    tools: &mut PublishTools<'_>,
    way: &PullRoute,
    title: &str,
    decision: &mut PartDecision,
) -> Result<(), PublishError> {
    let target = &ask.options.target.repo;
    let head = format!("{}:{}", way.repo.owner, way.branch);
    let request = ApiRequest::get(target.path("/pulls")).query("head", head.clone()).query("state", "all");
    let found = pages(tools.api, request, None, PageBound { entries: 300 })?.entries;
    let ours = |pull: &&Value| {
        let repo = pull["head"]["repo"]["full_name"].as_str().unwrap_or_default();
        pull["head"]["ref"] == way.branch.as_str() && repo.eq_ignore_ascii_case(&way.repo.to_string())
    };
    let ours: Vec<&Value> = found.iter().filter(ours).collect();
    let url = |pull: &Value| pull["html_url"].as_str().map(str::to_owned);
    let about = ask.options.target.number;
    let summary = ask.output.text("summary.md");
    let region = words::region(
        summary.as_deref(),
        about,
        title,
        ask.facts,
        ask.clean,
        ask.options.statement.as_deref(),
    );
    if let Some(pull) = ours.iter().find(|pull| pull["state"] == "open") {
        decision.url = url(pull);
        let pushed = decision.actions.iter().find_map(PublishAction::commit);
        let head = pushed.or(pull["head"]["sha"].as_str()).unwrap_or_default().to_owned();
        decision.pull = pull["number"].as_u64().map(|number| (number, head));
        decision.actions.extend(update(target, pull, &region, title, ask.facts, &mut decision.notes));
        return Ok(());
    }
    let same = |pull: &&&Value| {
        Marker::find(pull["body"].as_str().unwrap_or_default(), "pull")
            .is_some_and(|m| m.has("digest", &ask.facts.digest))
    };
    if let Some(pull) = ours.iter().find(same) {
        decision.url = url(pull);
        decision.notes.push("its pull request was closed, and is left closed".into());
        // A branch that was deleted after merging must not come back.
        decision.actions.clear();
        return Ok(());
    }
    let mut body = json!({
        "title": title,
        "head": if way.repo == *target { way.branch.clone() } else { head },
        "base": way.onto,
        "body": region,
        "draft": ask.facts.draft || ask.options.draft,
    });
    if way.repo != *target {
        body["maintainer_can_modify"] = true.into();
        if way.repo.owner == target.owner {
            body["head_repo"] = way.repo.to_string().into();
        }
    }
    let what = format!("open a pull request from {} to {}", way.branch, way.onto);
    decision
        .actions
        .push(PublishAction::Call(what, ApiRequest::send(HttpMethod::Post, target.path("/pulls"), body)));
    Ok(())
}

/// The request that brings an open pull request up to date, if one is needed.
fn update(
    target: &RepoName,
    pull: &Value,
    region: &str,
    title: &str,
    facts: &PublicationFacts,
    notes: &mut Vec<String>,
) -> Option<PublishAction> {
    let text = pull["body"].as_str().unwrap_or_default();
    let marker = Marker::find(text, "pull");
    if marker.as_ref().is_some_and(|m| m.has("digest", &facts.digest)) {
        return None;
    }
    let Some(body) = words::with_region(text, region) else {
        notes.push("the text of the pull request was rewritten by hand, and is left as it is".into());
        return None;
    };
    let mut change = json!({"body": body});
    let current = pull["title"].as_str().unwrap_or_default();
    // A title that someone changed is theirs.
    if marker.is_some_and(|m| m.has("title", &PublicationFacts::text_digest(current))) && current != title {
        change["title"] = title.into();
    }
    let number = pull["number"].as_u64().unwrap_or_default();
    let path = target.path(&format!("/pulls/{number}"));
    Some(PublishAction::Call(
        format!("update pull request #{number}"),
        ApiRequest::send(HttpMethod::Patch, path, change),
    ))
}
