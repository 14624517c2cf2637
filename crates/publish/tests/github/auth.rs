//! An App that gets itself a token.

use std::fs;
use std::process::Command;

use holon_publish::api::ApiBase;
use holon_publish::auth::{GitHubApp, installation_token};
use holon_publish::github::{OwnAccount, PublishOptions};

use crate::stage::{NAME, PublishStage};

fn openssl(args: &[&str], dir: &std::path::Path) {
    let done = Command::new("openssl").args(args).current_dir(dir).output().expect("openssl starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn an_app_signs_gets_a_token_and_publishes_as_itself() {
    let stage = PublishStage::new();
    let dir = stage.dir.path();
    openssl(&["genrsa", "-traditional", "-out", "key.pem", "2048"], dir);
    openssl(&["rsa", "-in", "key.pem", "-pubout", "-out", "public.pem"], dir);
    stage.hub.app("Iv1.abc", "holon-app", &dir.join("public.pem"));
    let app = GitHubApp { id: "Iv1.abc".into(), key: fs::read(dir.join("key.pem")).unwrap() };
    assert!(!format!("{app:?}").contains("PRIVATE"));
    let reach = ApiBase::new(&stage.hub.address()).unwrap();
    let repo = NAME.parse().unwrap();
    let (token, login) = installation_token(&app, &reach, &repo, 1_700_000_000).unwrap();
    assert_eq!(login, "holon-app[bot]");
    let asked = stage.hub.requests().into_iter().find(|r| r.method == "POST").unwrap();
    assert_eq!(asked.body["repositories"], serde_json::json!(["hello"]));
    assert_eq!(asked.body["permissions"]["metadata"], "read");

    let issue = stage.repo.issue("someone", "x", "y");
    let output = stage.output("plan").file("plan.md", "# Plan\n").finish();
    let mut options = PublishOptions::new(format!("{NAME}#{issue}").parse().unwrap());
    options.own = OwnAccount::Login(login);
    for _ in 0..2 {
        assert!(!stage.publish_as(&output, &options, token.reveal()).unwrap().failed());
    }
    assert_eq!(stage.repo.comments(issue).len(), 1);
    assert_eq!(stage.repo.comments(issue)[0].0, "holon-app[bot]");

    let other = GitHubApp { id: "Iv1.other".into(), ..app };
    let refused = installation_token(&other, &reach, &repo, 1_700_000_000).unwrap_err();
    assert_eq!(refused.status(), Some(401));
}

#[test]
fn a_token_of_an_app_that_cannot_say_who_it_is_still_finds_its_own() {
    let stage = PublishStage::new();
    stage.hub.bot("github-actions[bot]", "actions-token-0123456789", &[]);
    let issue = stage.repo.issue("someone", "x", "y");
    let output = stage.output("plan").file("plan.md", "# Plan\n").finish();
    let options = PublishOptions::new(format!("{NAME}#{issue}").parse().unwrap());
    for _ in 0..2 {
        assert!(!stage.publish_as(&output, &options, "actions-token-0123456789").unwrap().failed());
    }
    assert_eq!(stage.repo.comments(issue).len(), 1);
}
