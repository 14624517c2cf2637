//! Renewals that are declined, unreachable or not enough, and what is said then.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use holon_login::{CredentialProvider as _, LoginError, RenewalStep};
use serde_json::json;

use crate::login_world::{LASTS, LoginWorld, RenewalInProcess};

fn words(error: &LoginError) -> String {
    let words = error.to_string();
    assert!(!words.contains("canary") && !format!("{error:?}").contains("canary"), "{words}");
    assert!(!words.contains('\n'), "{words}");
    words
}

#[test]
fn the_request_is_the_agents_and_the_file_keeps_the_rest() {
    let world = LoginWorld::new();
    let credential = world.login().credential().unwrap();
    let body = world.server.state().bodies[0].clone();
    assert_eq!(body["grant_type"], json!("refresh_token"));
    assert_eq!(body["refresh_token"], json!("sk-ant-ort01-canary-0"));
    assert_eq!(body["scope"], json!("user:inference"));
    assert!(body["client_id"].is_string());
    assert_eq!(credential.ends().unwrap().as_second(), world.now() + LASTS);
    world.assert_whole("renewed");
    world.assert_clean();
    // It is used until shortly before its end.
    world.now.fetch_add(LASTS - 301, Ordering::SeqCst);
    world.login().credential().unwrap();
    assert_eq!(world.server.state().renewed, 1);
    world.now.fetch_add(1, Ordering::SeqCst);
    world.login().credential().unwrap();
    assert_eq!(world.server.state().renewed, 2);
}

#[test]
fn a_refused_renewal_leaves_the_file_as_it_is() {
    let world = LoginWorld::new();
    world.server.state().is_closed = true;
    let before = world.login_text();
    let error = world.login().credential().unwrap_err();
    let said = words(&error);
    assert!(error.is_refusal() && said.contains("127.0.0.1 declines (status 400: invalid_grant)"), "{said}");
    assert!(said.contains("log in again with `claude auth login`"), "{said}");
    assert_eq!(std::fs::read_to_string(world.file()).unwrap(), before);
    world.assert_clean();
}

#[test]
fn a_token_that_lasts_a_little_is_used_when_nobody_renews_it() {
    let world = LoginWorld::new();
    let first = world.login().credential().unwrap();
    world.now.fetch_add(LASTS - 100, Ordering::SeqCst);
    world.server.state().is_closed = true;
    let login = world.login();
    assert_eq!(login.credential().unwrap().mark(), first.mark());
    assert!(world.server.state().refused > 0);
    world.pass();
    assert!(login.credential().is_err());
}

#[test]
fn an_endpoint_that_is_not_there_changes_nothing() {
    let world = LoginWorld::new();
    // A port that was free a moment ago, and nobody listens at.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let before = world.login_text();
    let login = world.login().with_endpoint(Some(format!("http://{free}/token")));
    let error = login.credential().unwrap_err();
    let said = words(&error);
    assert!(!error.is_refusal() && said.contains("nothing was changed, try again"), "{said}");
    let login = world.login().with_endpoint(Some("http://example.com/token".to_owned()));
    let said = words(&login.credential().unwrap_err());
    assert!(said.contains("it must be https"), "{said}");
    assert_eq!(std::fs::read_to_string(world.file()).unwrap(), before);
    world.assert_clean();
}

#[test]
fn a_refused_request_is_one_renewal_and_then_the_agents_own_command() {
    let world = LoginWorld::new();
    let login = world.login();
    let first = login.credential().unwrap();
    let second = login.after_refusal(&first).unwrap();
    assert_ne!(first.mark(), second.mark());
    assert_eq!(
        login.after_refusal(&first).unwrap().mark(),
        second.mark(),
        "another request with the old one"
    );
    assert_eq!(world.server.state().renewed, 2);
    let error = login.after_refusal(&second).unwrap_err();
    let said = words(&error);
    assert!(error.is_refusal() && said.contains("log in again with `claude auth login`"), "{said}");
    assert_eq!(world.server.state().renewed, 2);
    world.assert_whole("after a refusal");
}

#[test]
fn what_the_agent_renewed_meanwhile_is_taken() {
    let world = LoginWorld::new();
    let login = world.login();
    let first = login.credential().unwrap();
    {
        let mut state = world.server.state();
        state.made += 1;
    }
    world.pass();
    world.write(&world.login_text());
    world.now.fetch_sub(LASTS, Ordering::SeqCst);
    let second = login.after_refusal(&first).unwrap();
    assert_ne!(first.mark(), second.mark());
    assert_eq!(world.server.state().renewed, 1);
}

#[test]
fn a_login_without_a_renewal_says_what_to_do() {
    let world = LoginWorld::new();
    let mut json = world.json();
    json["claudeAiOauth"]["refreshToken"] = json!(null);
    world.write(&json.to_string());
    let said = words(&world.login().credential().unwrap_err());
    assert!(
        said.contains("has ended and cannot be renewed here: log in again with `claude auth login`"),
        "{said}"
    );
    assert_eq!(world.server.state().bodies.len(), 0);
}

#[test]
fn a_folder_that_cannot_be_written_is_noticed_before_the_token_is_used_up() {
    if rustix::process::geteuid().is_root() {
        // Root writes wherever it likes; a name that is taken stands in for that.
        let world = LoginWorld::new();
        std::fs::create_dir_all(world.file().with_file_name("..credentials.json.holon-new/x")).unwrap();
        let said = words(&world.login().credential().unwrap_err());
        assert!(said.contains("..credentials.json.holon-new"), "{said}");
        assert_eq!(world.server.state().bodies.len(), 0);
        return;
    }
    let world = LoginWorld::new();
    let folder = world.file().parent().unwrap().to_owned();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o500)).unwrap();
    let said = words(&world.login().credential().unwrap_err());
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
    assert!(said.contains("cannot create"), "{said}");
    assert_eq!(world.server.state().bodies.len(), 0);
}

#[test]
fn the_new_token_is_not_used_before_it_is_in_the_file() {
    let world = LoginWorld::new();
    let (file, seen) = (world.file(), Arc::new(AtomicBool::new(false)));
    let told = Arc::clone(&seen);
    let watch = Box::new(move |step| {
        let there = std::fs::read_to_string(&file).unwrap().contains("sk-ant-ort01-canary-1");
        assert_eq!(there, matches!(step, RenewalStep::Replaced | RenewalStep::Forgotten), "{step:?}");
        told.store(there, Ordering::SeqCst);
    });
    world.login_with(Arc::new(RenewalInProcess { clock: world.clock(), watch })).credential().unwrap();
    assert!(seen.load(Ordering::SeqCst));
}
