//! What a person can ask of a run that is going on.

use std::time::Duration;

use holon_testkit::wait_until;

use crate::scene::{FINISH, REPAIR, SupervisedRunScene, exec, read, turns};

const PATIENCE: Duration = Duration::from_secs(30);

/// shows: user_force_takeover
#[test]
fn a_person_can_have_the_supervisor_take_over() {
    let scene = SupervisedRunScene::new();
    let waits =
        exec("echo ready > /holon/output/ready; while test ! -e /holon/output/go; do sleep 0.05; done");
    let script = format!("{}{REPAIR}{FINISH}", turns(&[read("src/a.txt"), waits, read("src/b.txt")]));
    let file = scene.env.write("work/turns.yaml", script);
    let running = scene.call("Fix src/a.txt", &[]).arg("--replay").arg(&file).spawn();
    let run = || scene.env.runs().into_iter().next();
    let ready = || run().is_some_and(|run| run.join("layers/output/ready").exists());
    assert!(wait_until(PATIENCE, ready), "the second round is under way");
    scene.holon(&["runs", "takeover", "last"]).assert_code(0).assert_stdout("asked for");
    let folder = run().unwrap();
    assert!(wait_until(PATIENCE, || !folder.join("takeover").exists()), "the host has heard it");
    std::fs::write(folder.join("layers/output/go"), "").unwrap();
    let played = scene.last(running.wait());
    played.assert(0, &["drift:user_force_takeover", "takeover:user_force_takeover"]);
    scene.holon(&["runs", "takeover", "last"]).assert_code(1).assert_stderr("is not going on");
}
