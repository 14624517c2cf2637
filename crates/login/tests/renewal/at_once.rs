//! Several who want to renew at the same time: our own, and the agent outside.

use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread::{scope, yield_now};

use holon_login::CredentialProvider as _;
use serde_json::json;

use crate::login_world::{LASTS, LoginWorld};
use crate::oauth_server::post;

#[test]
fn many_at_once_renew_once() {
    let world = LoginWorld::new();
    for round in 1..=10 {
        let barrier = Barrier::new(8);
        let marks: Vec<_> = scope(|threads| {
            let started: Vec<_> = (0..8)
                .map(|_| {
                    threads.spawn(|| {
                        let login = world.login();
                        barrier.wait();
                        login.credential().unwrap().mark()
                    })
                })
                .collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(marks.windows(2).all(|two| two[0] == two[1]));
        assert_eq!(world.server.counts(), (round, 0));
        world.assert_whole("many");
        world.pass();
    }
    world.assert_clean();
}

#[test]
fn the_agent_outside_is_not_logged_out() {
    let world = LoginWorld::new();
    for round in 1..=100 {
        let barrier = Barrier::new(2);
        scope(|threads| {
            threads.spawn(|| {
                barrier.wait();
                renew_as_the_agent(&world);
            });
            threads.spawn(|| {
                let login = world.login();
                barrier.wait();
                login.credential().unwrap();
            });
        });
        assert_eq!(world.server.counts(), (round, 0));
        world.assert_whole("beside the agent");
        world.pass();
    }
    world.assert_clean();
}

/// What Claude Code does when its token has ended: two folders as locks, another look, and a new file in place of the old.
fn renew_as_the_agent(world: &LoginWorld) {
    let folder = world.file().parent().unwrap().to_owned();
    let locks = [folder.join(".oauth_refresh.lock"), PathBuf::from(format!("{}.lock", folder.display()))];
    locks.iter().for_each(|lock| take(lock));
    let mut json = world.json();
    let login = &mut json["claudeAiOauth"];
    if login["expiresAt"].as_i64().unwrap() <= world.now() * 1000 {
        match post(world.server.address, login["refreshToken"].as_str().unwrap()) {
            Some(answer) => {
                login["accessToken"] = answer["access_token"].clone();
                login["refreshToken"] = answer["refresh_token"].clone();
                login["expiresAt"] = json!((world.now() + LASTS) * 1000);
            }
            None => (login["accessToken"], login["refreshToken"]) = ("".into(), "".into()),
        }
        let new = world.folder().join(".claude/new");
        let before = std::fs::metadata(world.file()).unwrap().permissions();
        std::fs::write(&new, json.to_string()).unwrap();
        std::fs::set_permissions(&new, before).unwrap();
        std::fs::rename(new, world.file()).unwrap();
    }
    locks.iter().rev().for_each(|lock| std::fs::remove_dir(lock).unwrap());
}

fn take(lock: &Path) {
    while std::fs::create_dir(lock).is_err() {
        yield_now();
    }
}
