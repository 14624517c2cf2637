//! The page in a real Chromium, against the real server with a scripted model: `web/tests/browser` whole.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
#[path = "../serve/http.rs"]
mod http;
mod scene;
#[allow(dead_code)]
#[path = "../serve/stage.rs"]
mod stage;
mod wire;
mod words;

use std::path::{Path, PathBuf};
use std::process::Command;

use holon_testkit::{current_test, skip_security};
use serde_json::json;

use crate::scene::PageScene;

fn web() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web").canonicalize().unwrap()
}

/// What is missing here to drive a browser.
fn missing() -> Option<&'static str> {
    let there = |path: &Path| path.exists();
    if !there(Path::new("/usr/bin/chromium")) {
        return Some("there is no /usr/bin/chromium: `cargo xtask setup` installs it");
    }
    (!there(&web().join("node_modules/@playwright/test")))
        .then_some("web/node_modules is not there: `cargo xtask setup` fills it")
}

/// More arguments for the browser tests, e.g. `--grep plan`; the long threads are left out then.
const ARGUMENTS: &str = "HOLON_PAGE_ARGUMENTS";
/// A folder for pictures of everything, to be looked at by people.
const SHOTS: &str = "HOLON_PAGE_SHOTS";
/// How many questions and answers the long threads have; `stream.test.ts` looks for the last one of each.
const BIG: usize = 2500;
const SMALL: usize = 200;

#[test]
fn the_page_works_with_the_real_server() {
    if let Some(why) = missing() {
        return skip_security(&current_test(), why);
    }
    let scene = PageScene::new();
    if let Some(folder) = std::env::var_os(SHOTS) {
        scene.waiting_run();
        let url = format!("{}/", scene.url());
        let taken = Command::new("node")
            .arg("dev/shots.mjs")
            .arg(url)
            .arg(folder)
            .env("HOLON_PAGE_TOKEN", scene.token())
            .current_dir(web())
            .status();
        assert!(taken.expect("node").success());
    }
    let more = std::env::var(ARGUMENTS).unwrap_or_default();
    if !more.is_empty() {
        let threads = [5, 2].map(|turns| scene.long_thread(turns));
        return look(&scene, &threads, more.split_whitespace());
    }
    // The longest thread takes minutes to come about: at another server, while everything else is looked at.
    std::thread::scope(|scope| {
        let long = scope.spawn(|| {
            let scene = PageScene::new();
            let threads = [BIG, SMALL].map(|turns| scene.long_thread(turns));
            (scene, threads)
        });
        let small = scene.long_thread(SMALL);
        look(&scene, &[small.clone(), small], ["--grep-invert", "@long"]);
        let (scene, threads) = long.join().expect("the long threads");
        look(&scene, &threads, ["--grep", "@long"]);
    });
}

/// Runs scenes in the browser; the threads are the big one and the small one.
fn look<'a>(scene: &PageScene, [big, small]: &[String; 2], more: impl IntoIterator<Item = &'a str>) {
    let threads = json!({"big": big, "small": small});
    let results = scene.stage.env.root().join("results");
    let status = Command::new("node")
        .args(["node_modules/@playwright/test/cli.js", "test", "--reporter=list"])
        .args(more)
        .current_dir(web())
        .env("HOLON_PAGE_URL", scene.url())
        .env("HOLON_PAGE_TOKEN", scene.token())
        .env("HOLON_PAGE_SAY", words::say().to_string())
        .env("HOLON_PAGE_THREADS", threads.to_string())
        .env("HOLON_PAGE_RUN", scene.waiting_run())
        .env("HOLON_PAGE_RESULTS", &results)
        .status()
        .expect("node");
    assert!(
        status.success(),
        "some scenes went wrong; set HOLON_KEEP_TEST_ENV=1 and look into {}",
        results.display()
    );
    assert_eq!(scene.verified()["ok"], true, "the audit chain is whole after all of it");
}
