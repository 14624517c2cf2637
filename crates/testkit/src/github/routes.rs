//! What each request does.

use std::process::Command;

use serde_json::{Value, json};

use super::description::{self, Operation};
use super::http::{IncomingRequest, OutgoingResponse};
use super::pulls::{diff, files, head, pull_value, repo_value, tip};
use super::reviews::{self, BODY, comment_value, refused, review_value};
use super::server::GitHubState;
use super::smart;
use super::world::{
    AccessLevel, GitHubAccount, GitHubWorld, HostedComment, HostedPull, HostedRepoState, HostedThread, TIME,
    user,
};

/// What the answer is: a value with its status, or another form.
type RouteResponse = Result<(u16, Value), (u16, Value)>;

fn message(status: u16, text: &str) -> (u16, Value) {
    (status, json!({"message": text, "documentation_url": "https://docs.github.com/rest"}))
}

fn not_found() -> (u16, Value) {
    message(404, "Not Found")
}

fn forbidden() -> (u16, Value) {
    message(403, "Resource not accessible by integration")
}

fn account(world: &GitHubWorld, incoming: &IncomingRequest) -> Option<GitHubAccount> {
    let token = incoming.header("authorization")?.strip_prefix("Bearer ")?;
    world.tokens.get(token).cloned()
}

/// Answers a request of the API and notes where it, or the answer, is not as GitHub describes it.
pub(super) fn api(
    shared: &GitHubState,
    incoming: &IncomingRequest,
    violations: &mut Vec<String>,
) -> OutgoingResponse {
    let Some(operation) = description::find(&incoming.method, &incoming.path) else {
        violations.push("this operation is not described, or not known here".into());
        let (status, body) = not_found();
        return OutgoingResponse::json(status, &body);
    };
    violations.extend(description::check_request(incoming, &operation));
    let mut world = shared.world.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if incoming.header("accept").is_some_and(|accept| accept.contains("diff"))
        && operation.template == "/repos/{owner}/{repo}/pulls/{pull_number}"
    {
        return whole_diff(&world, &operation);
    }
    let (status, body) = match handle(shared, &mut world, incoming, &operation) {
        Ok(done) | Err(done) => done,
    };
    let (body, link) = paged(shared, incoming, body);
    violations.extend(
        description::check_answer(&incoming.method, &operation, status, &body)
            .into_iter()
            .map(|why| format!("the answer {status}: {why}")),
    );
    let answer = OutgoingResponse::json(status, &body).with("x-ratelimit-remaining", "4999");
    match link {
        Some(link) => answer.with("link", link),
        None => answer,
    }
}

/// One page of a list, and the header that leads to the next.
fn paged(shared: &GitHubState, incoming: &IncomingRequest, mut body: Value) -> (Value, Option<String>) {
    let number =
        |name: &str, default: usize| incoming.parameter(name).and_then(|n| n.parse().ok()).unwrap_or(default);
    let (size, page) = (number("per_page", 30).clamp(1, 100), number("page", 1).max(1));
    let list = match &mut body {
        Value::Array(list) => Some(list),
        Value::Object(fields) => ["check_runs", "statuses"]
            .into_iter()
            .find(|name| fields.contains_key(*name))
            .and_then(|name| fields[name].as_array_mut()),
        _ => None,
    };
    let Some(list) = list.filter(|_| incoming.method == "GET") else { return (body, None) };
    let more = list.len() > size * page;
    *list = list.iter().skip(size * (page - 1)).take(size).cloned().collect();
    let next = format!("{}{}?per_page={size}&page={}", shared.base, incoming.path, page + 1);
    (body, more.then(|| format!("<{next}>; rel=\"next\", <{next}>; rel=\"last\"")))
}

fn whole_diff(world: &GitHubWorld, operation: &Operation) -> OutgoingResponse {
    let name = format!("{}/{}", operation.value("owner"), operation.value("repo"));
    let found = world.repos.get(&name).and_then(|repo| {
        let number = operation.number("pull_number");
        let pull = repo.threads.get(&number)?.pull.as_ref()?;
        Some(diff(repo, &tip(&repo.dir, &pull.base_ref)?, &head(world, repo, number, pull)?))
    });
    match found {
        // As GitHub does from 300 files on.
        Some(text) if files(&text).len() > 300 => {
            let (status, body) = message(406, "Sorry, the diff exceeded the maximum number of files (300).");
            OutgoingResponse::json(status, &body)
        }
        Some(text) => OutgoingResponse { status: 200, headers: Vec::new(), body: text.into_bytes() },
        None => OutgoingResponse::json(404, &not_found().1),
    }
}

fn handle(
    shared: &GitHubState,
    world: &mut GitHubWorld,
    incoming: &IncomingRequest,
    operation: &Operation,
) -> RouteResponse {
    let base = &shared.base;
    if operation.template.starts_with("/app") || operation.template.ends_with("/installation") {
        return app(world, incoming, operation, base);
    }
    let account = account(world, incoming).ok_or_else(|| message(401, "Bad credentials"))?;
    if operation.template == "/user" {
        if account.bot {
            return Err(forbidden());
        }
        return Ok((200, account.user(base)));
    }
    let name = format!("{}/{}", operation.value("owner"), operation.value("repo"));
    let repo = world.repos.get(&name).ok_or_else(not_found)?;
    let member = repo.members.is_empty() || repo.members.contains(&account.login);
    if repo.private && !member {
        return Err(not_found());
    }
    let kind = if operation.template.contains("check-runs") {
        "checks"
    } else if operation.template.contains("/pulls") {
        "pull_requests"
    } else if operation.template.contains("/issues") {
        "issues"
    } else {
        "metadata"
    };
    let needed = if incoming.method == "GET" { AccessLevel::Read } else { AccessLevel::Write };
    if account.may(kind) < needed {
        return Err(forbidden());
    }
    if kind == "checks" && needed == AccessLevel::Write && !account.bot {
        return Err(message(403, "You must authenticate via a GitHub App."));
    }
    let place = RequestScope { base, name, account, member };
    let body = incoming.json();
    if body["body"].as_str().is_some_and(|text| text.chars().count() > BODY) {
        return Err((422, refused(&[format!("body is too long (maximum is {BODY} characters)")])));
    }
    match incoming.method.as_str() {
        "GET" => place.read(world, incoming, operation),
        _ => place.change(world, operation, &body),
    }
}

/// A repository, and who asks.
struct RequestScope<'a> {
    base: &'a str,
    name: String,
    account: GitHubAccount,
    member: bool,
}

impl RequestScope<'_> {
    fn read(&self, world: &GitHubWorld, incoming: &IncomingRequest, operation: &Operation) -> RouteResponse {
        let repo = &world.repos[&self.name];
        let thread = |name: &str| repo.threads.get(&operation.number(name)).ok_or_else(not_found);
        let pull = || {
            let thread = thread("pull_number")?;
            Ok((thread, thread.pull.as_ref().ok_or_else(not_found)?))
        };
        let rest = operation.template.strip_prefix("/repos/{owner}/{repo}").unwrap_or_default();
        let value = match rest {
            "" => {
                let push = self.member && self.account.may("contents") == AccessLevel::Write;
                repo_value(repo, self.base, Some(push))
            }
            "/issues/{issue_number}" => self.issue(repo, thread("issue_number")?),
            "/issues/{issue_number}/comments" => {
                thread("issue_number")?.comments.iter().map(|comment| self.comment(comment)).collect()
            }
            "/pulls" => self.pulls(world, repo, incoming),
            "/pulls/{pull_number}" => {
                pull()?;
                pull_value(world, repo, thread("pull_number")?, self.base).ok_or_else(not_found)?
            }
            "/pulls/{pull_number}/files" => {
                let (thread, pull) = pull()?;
                let head = head(world, repo, thread.number, pull).ok_or_else(not_found)?;
                let base = tip(&repo.dir, &pull.base_ref).ok_or_else(not_found)?;
                files(&diff(repo, &base, &head)).iter().take(3000).map(|file| self.file(file)).collect()
            }
            "/pulls/{pull_number}/reviews" => {
                pull()?.1.reviews.iter().map(|r| review_value(r, self.base)).collect()
            }
            "/pulls/{pull_number}/comments" => {
                let (thread, pull) = pull()?;
                let head = head(world, repo, thread.number, pull).unwrap_or_default();
                pull.comments.iter().map(|comment| comment_value(comment, &head, self.base)).collect()
            }
            "/commits/{ref}/check-runs" => {
                let name = incoming.parameter("check_name");
                let fits = |run: &&Value| {
                    run["head_sha"] == operation.value("ref")
                        && name.as_ref().is_none_or(|name| run["name"] == name.as_str())
                };
                let runs: Vec<&Value> = repo.checks.iter().filter(fits).collect();
                json!({"total_count": runs.len(), "check_runs": runs})
            }
            "/commits/{ref}/status" => {
                json!({"state": "success", "sha": operation.value("ref"), "total_count": repo.statuses.len(), "statuses": repo.statuses})
            }
            _ => return Err(not_found()),
        };
        Ok((200, value))
    }

    fn pulls(&self, world: &GitHubWorld, repo: &HostedRepoState, incoming: &IncomingRequest) -> Value {
        let state = incoming.parameter("state").unwrap_or_else(|| "open".into());
        let wanted = incoming.parameter("head");
        let fits = |thread: &&HostedThread| {
            let Some(pull) = &thread.pull else { return false };
            let owner = pull.head_repo.split('/').next().unwrap_or_default();
            let head = format!("{owner}:{}", pull.head_ref);
            let state = match state.as_str() {
                "all" => true,
                "closed" => !thread.open,
                _ => thread.open,
            };
            state && wanted.as_ref().is_none_or(|wanted| *wanted == head)
        };
        repo.threads
            .values()
            .rev()
            .filter(fits)
            .filter_map(|thread| pull_value(world, repo, thread, self.base))
            .collect()
    }

    fn issue(&self, repo: &HostedRepoState, thread: &HostedThread) -> Value {
        let kind = if thread.pull.is_some() { "pull" } else { "issues" };
        let mut value = json!({
            "id": thread.number, "number": thread.number, "title": thread.title, "body": thread.body,
            "state": if thread.open { "open" } else { "closed" }, "user": user(&thread.author, false, self.base),
            "labels": thread.labels.iter().map(|label| json!({"id": 1, "name": label, "color": "ff0000"})).collect::<Vec<_>>(),
            "html_url": format!("{}/{}/{kind}/{}", self.base, repo.name, thread.number), "created_at": TIME,
            "author_association": "NONE", "comments": thread.comments.len(),
        });
        if thread.pull.is_some() {
            let url = format!("{}/repos/{}/pulls/{}", self.base, repo.name, thread.number);
            value["pull_request"] = json!({"url": url, "html_url": url, "diff_url": url, "patch_url": url});
        }
        value
    }

    fn comment(&self, comment: &HostedComment) -> Value {
        json!({
            "id": comment.id, "body": comment.body, "user": user(&comment.author, comment.bot, self.base),
            "html_url": format!("{}/{}/comment/{}", self.base, self.name, comment.id), "created_at": TIME,
            "updated_at": TIME, "author_association": "NONE",
        })
    }

    fn file(&self, file: &super::pulls::PullDiffFile) -> Value {
        let patch = file.patch.as_deref().unwrap_or_default();
        let lines = |sign: char| patch.lines().filter(|line| line.starts_with(sign)).count();
        let mut value = json!({
            "sha": "0".repeat(40), "filename": file.path, "status": file.status, "additions": lines('+'),
            "deletions": lines('-'), "changes": lines('+') + lines('-'),
        });
        if let Some(previous) = &file.previous {
            value["previous_filename"] = previous.as_str().into();
        }
        // GitHub leaves large diffs out.
        if let Some(patch) = file.patch.as_ref().filter(|patch| patch.len() < 500_000) {
            value["patch"] = patch.as_str().into();
        }
        value
    }

    fn change(&self, world: &mut GitHubWorld, operation: &Operation, body: &Value) -> RouteResponse {
        let text = |name: &str| body[name].as_str().map(str::to_owned);
        let rest = operation.template.strip_prefix("/repos/{owner}/{repo}").unwrap_or_default();
        match rest {
            "/issues/{issue_number}/comments" => {
                let id = world.id();
                let repo = world.repos.get_mut(&self.name).ok_or_else(not_found)?;
                let thread = repo.threads.get_mut(&operation.number("issue_number")).ok_or_else(not_found)?;
                let (author, bot) = (self.account.login.clone(), self.account.bot);
                let comment = HostedComment { id, author, bot, body: text("body").unwrap_or_default() };
                let value = self.comment(&comment);
                thread.comments.push(comment);
                Ok((201, value))
            }
            "/issues/comments/{comment_id}" => {
                let id = operation.number("comment_id");
                let repo = world.repos.get_mut(&self.name).ok_or_else(not_found)?;
                let mut all = repo.threads.values_mut().flat_map(|thread| &mut thread.comments);
                let comment = all.find(|comment| comment.id == id).ok_or_else(not_found)?;
                if comment.author != self.account.login {
                    return Err(forbidden());
                }
                comment.body = text("body").unwrap_or_default();
                let comment = comment.clone();
                Ok((200, self.comment(&comment)))
            }
            "/pulls" => self.open(world, body),
            "/pulls/{pull_number}" => {
                let repo = world.repos.get_mut(&self.name).ok_or_else(not_found)?;
                let number = operation.number("pull_number");
                let thread =
                    repo.threads.get_mut(&number).filter(|t| t.pull.is_some()).ok_or_else(not_found)?;
                thread.title = text("title").unwrap_or_else(|| thread.title.clone());
                thread.body = text("body").unwrap_or_else(|| thread.body.clone());
                let repo = &world.repos[&self.name];
                Ok((200, pull_value(world, repo, &repo.threads[&number], self.base).ok_or_else(not_found)?))
            }
            "/pulls/{pull_number}/reviews" => {
                let number = operation.number("pull_number");
                if world.repos[&self.name].threads.get(&number).is_none_or(|thread| thread.pull.is_none()) {
                    return Err(not_found());
                }
                let id = reviews::create(world, &self.name, number, &self.account, body)
                    .map_err(|errors| (422, refused(&errors)))?;
                let pull = world.repos[&self.name].threads[&number].pull.as_ref().ok_or_else(not_found)?;
                let review = pull.reviews.iter().find(|review| review.id == id).ok_or_else(not_found)?;
                Ok((200, review_value(review, self.base)))
            }
            "/pulls/{pull_number}/reviews/{review_id}" => {
                let pull = self.pull_mut(world, |thread| thread.number == operation.number("pull_number"))?;
                let review = pull
                    .reviews
                    .iter_mut()
                    .find(|r| r.id == operation.number("review_id"))
                    .ok_or_else(not_found)?;
                if review.author != self.account.login {
                    return Err(forbidden());
                }
                review.body = text("body").unwrap_or_default();
                Ok((200, review_value(review, self.base)))
            }
            "/pulls/comments/{comment_id}" => {
                let id = operation.number("comment_id");
                let holds =
                    |t: &HostedThread| t.pull.as_ref().is_some_and(|p| p.comments.iter().any(|c| c.id == id));
                let pull = self.pull_mut(world, holds)?;
                let comment = pull.comments.iter_mut().find(|c| c.id == id).ok_or_else(not_found)?;
                if comment.author != self.account.login {
                    return Err(forbidden());
                }
                comment.body = text("body").unwrap_or_default();
                Ok((200, comment_value(comment, &comment.commit.clone(), self.base)))
            }
            "/check-runs" | "/check-runs/{check_run_id}" => self.check(world, operation, body),
            _ => Err(not_found()),
        }
    }

    fn pull_mut<'w>(
        &self,
        world: &'w mut GitHubWorld,
        wanted: impl Fn(&HostedThread) -> bool,
    ) -> Result<&'w mut HostedPull, (u16, Value)> {
        let repo = world.repos.get_mut(&self.name).ok_or_else(not_found)?;
        let thread = repo.threads.values_mut().find(|thread| wanted(thread)).ok_or_else(not_found)?;
        thread.pull.as_mut().ok_or_else(not_found)
    }

    fn check(&self, world: &mut GitHubWorld, operation: &Operation, body: &Value) -> RouteResponse {
        let id = world.id();
        let repo = world.repos.get_mut(&self.name).ok_or_else(not_found)?;
        let run = match operation.number("check_run_id") {
            0 => {
                let url = format!("{}/{}/check/{id}", self.base, self.name);
                let started = json!({"id": id, "html_url": url, "started_at": TIME, "completed_at": TIME, "external_id": "", "status": "queued", "conclusion": null});
                repo.checks.push(started);
                repo.checks.last_mut()
            }
            id => repo.checks.iter_mut().find(|run| run["id"] == id),
        };
        let run = run.ok_or_else(not_found)?;
        for (name, value) in body.as_object().into_iter().flatten() {
            run[name] = match name.as_str() {
                "output" => {
                    json!({"title": value["title"], "summary": value["summary"], "text": value["text"], "annotations_count": 0})
                }
                _ => value.clone(),
            };
        }
        Ok((if operation.number("check_run_id") == 0 { 201 } else { 200 }, run.clone()))
    }

    /// Opens a pull request, one per branch.
    fn open(&self, world: &mut GitHubWorld, body: &Value) -> RouteResponse {
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let wrong = |why: String| {
            Err((
                422,
                json!({"message": "Validation Failed", "errors": [{"resource": "PullRequest", "code": "custom", "message": why}]}),
            ))
        };
        let repo = &world.repos[&self.name];
        let own = self.name.split('/').next().unwrap_or_default();
        let (head, base) = (text("head"), text("base"));
        let (owner, branch) = head.split_once(':').unwrap_or((own, &head));
        let short = self.name.split('/').nth(1).unwrap_or_default();
        let head_repo = body["head_repo"].as_str().map_or_else(|| format!("{owner}/{short}"), str::to_owned);
        let Some(source) = world.repos.get(&head_repo).and_then(|from| tip(&from.dir, branch)) else {
            return wrong(format!("head {head} is invalid"));
        };
        let Some(target) = tip(&repo.dir, &base) else { return wrong(format!("base {base} is invalid")) };
        if source == target {
            return wrong(format!("No commits between {base} and {branch}"));
        }
        let same = |thread: &HostedThread| {
            let pull = thread.pull.as_ref();
            thread.open
                && pull
                    .is_some_and(|p| p.head_repo == head_repo && p.head_ref == branch && p.base_ref == base)
        };
        if repo.threads.values().any(same) {
            return wrong(format!("A pull request already exists for {owner}:{branch}."));
        }
        if text("title").is_empty() || text("title").chars().count() > 256 {
            return wrong("title is missing or too long (maximum is 256 characters)".into());
        }
        let number = repo.threads.len() as u64 + 1;
        let pull = HostedPull {
            head_repo: head_repo.clone(),
            head_ref: branch.to_owned(),
            base_ref: base,
            draft: body["draft"].as_bool().unwrap_or(false),
            reviews: Vec::new(),
            comments: Vec::new(),
        };
        let thread = HostedThread {
            number,
            title: text("title"),
            body: text("body"),
            author: self.account.login.clone(),
            open: true,
            labels: Vec::new(),
            comments: Vec::new(),
            pull: Some(pull),
        };
        let repo = world.repos.get_mut(&self.name).ok_or_else(not_found)?;
        repo.threads.insert(number, thread);
        let repo = &world.repos[&self.name];
        Ok((201, pull_value(world, repo, &repo.threads[&number], self.base).ok_or_else(not_found)?))
    }
}

/// What an App may ask with its signed claim.
fn app(
    world: &mut GitHubWorld,
    incoming: &IncomingRequest,
    operation: &Operation,
    base: &str,
) -> RouteResponse {
    let claim = incoming.header("authorization").and_then(|h| h.strip_prefix("Bearer ")).unwrap_or_default();
    let app = world
        .app
        .clone()
        .filter(|app| is_signed(claim, app))
        .ok_or_else(|| message(401, "A JSON web token could not be decoded"))?;
    if operation.template == "/app" {
        let value = json!({"id": 1, "slug": app.slug, "node_id": "A", "name": app.slug, "owner": user("octo-org", false, base), "html_url": format!("{base}/apps/x"), "external_url": base, "created_at": TIME, "updated_at": TIME, "permissions": {}, "events": [], "description": null});
        return Ok((200, value));
    }
    if operation.template.ends_with("/installation") {
        let permissions = json!({"contents": "write"});
        return Ok((200, json!({"id": 77, "app_id": 1, "app_slug": app.slug, "permissions": permissions})));
    }
    if operation.number("installation_id") != 77 {
        return Err(not_found());
    }
    let given = incoming.json();
    let level = |kind: &str| match given["permissions"][kind].as_str() {
        Some("write") => AccessLevel::Write,
        Some("read") => AccessLevel::Read,
        _ => AccessLevel::None,
    };
    let levels = ["contents", "issues", "pull_requests", "checks", "metadata"]
        .map(|kind| (kind.to_owned(), level(kind)));
    let token = format!("ghs_installation{}", world.id());
    let account = GitHubAccount {
        login: format!("{}[bot]", app.slug),
        bot: true,
        levels: levels.into_iter().collect(),
    };
    world.tokens.insert(token.clone(), account);
    Ok((201, json!({"token": token, "expires_at": TIME, "permissions": given["permissions"]})))
}

/// Whether a claim is in time, of this App and signed with its key, as openssl sees it.
fn is_signed(claim: &str, app: &super::world::HostedApp) -> bool {
    let parts: Vec<&str> = claim.split('.').collect();
    let [head, body, signature] = parts.as_slice() else { return false };
    let dir = tempfile::tempdir().expect("a temporary folder");
    let (text, mark) = (dir.path().join("text"), dir.path().join("signature"));
    std::fs::write(&text, format!("{head}.{body}")).expect("writing the claim");
    std::fs::write(&mark, decode(signature)).expect("writing its signature");
    let claims: Value = serde_json::from_slice(&decode(body)).unwrap_or_default();
    let lasts = claims["exp"].as_u64().unwrap_or(0).saturating_sub(claims["iat"].as_u64().unwrap_or(0));
    let checked = Command::new("openssl")
        .args(["dgst", "-sha256", "-verify"])
        .arg(&app.public_key)
        .arg("-signature")
        .args([&mark, &text])
        .output()
        .expect("openssl starts");
    checked.status.success() && claims["iss"] == app.id.as_str() && (1..=600).contains(&lasts)
}

/// Base64 for addresses.
fn decode(text: &str) -> Vec<u8> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let (mut bits, mut count, mut out) = (0u32, 0, Vec::new());
    for value in text.chars().filter_map(|c| DIGITS.find(c)) {
        bits = bits << 6 | value as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count & 255) as u8);
        }
    }
    out
}

/// Git over HTTP: anyone may read what is public, members may push.
pub(super) fn git(shared: &GitHubState, incoming: &IncomingRequest) -> OutgoingResponse {
    let world = shared.world.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let name = incoming.path.trim_start_matches('/').split(".git/").next().unwrap_or_default().to_owned();
    let login =
        incoming.header("authorization").and_then(|header| header.strip_prefix("Basic ")).map(|text| {
            let plain = text.replace('+', "-").replace('/', "_");
            String::from_utf8_lossy(&decode(&plain)).into_owned()
        });
    let account = login
        .as_deref()
        .and_then(|login| login.strip_prefix("x-access-token:"))
        .and_then(|t| world.tokens.get(t));
    let Some(repo) = world.repos.get(&name) else { return OutgoingResponse::json(404, &not_found().1) };
    let member = account.filter(|a| repo.members.is_empty() || repo.members.contains(&a.login));
    let pushes = incoming.path.ends_with("git-receive-pack") || incoming.query.contains("git-receive-pack");
    let may = match pushes {
        true => member.is_some_and(|a| a.may("contents") == AccessLevel::Write),
        false => !repo.private || member.is_some(),
    };
    let user = member.map(|account| account.login.clone());
    drop(world);
    match (may, account_is_known(&user, &login)) {
        (true, _) => smart::answer(&shared.root, incoming, user.as_deref()),
        (false, true) => OutgoingResponse::json(403, &message(403, "Permission denied").1),
        (false, false) => OutgoingResponse::json(401, &message(401, "Bad credentials").1)
            .with("www-authenticate", "Basic realm=\"fake\""),
    }
}

fn account_is_known(user: &Option<String>, login: &Option<String>) -> bool {
    user.is_some() || login.is_some()
}
