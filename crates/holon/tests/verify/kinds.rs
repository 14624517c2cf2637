//! A run of every kind that there is: what its manifest says is true, in the store and in every honest copy.

use holon_testkit::copy_tree;

use crate::runs::{all, change, copied_wholes, evidence, verify};

#[test]
fn runs_of_every_kind_are_sound() {
    for make in all() {
        let made = make();
        assert_eq!(made.verify(), [], "{}", made.name);
        assert!(made.manifest()["run_id"].is_string(), "{}", made.name);
    }
}

#[test]
fn copies_of_flows_and_orchestrations_are_sound() {
    for (out, made) in copied_wholes() {
        assert_eq!(verify(&made.env, &out).unwrap(), [], "{}", made.name);
        // The end of it is told in the copy, too.
        let told = |folder: &std::path::Path| std::fs::read(folder.join("evidence/events.jsonl")).unwrap();
        assert_eq!(told(&out), told(&made.folder), "{}", made.name);
        let text = std::fs::read_to_string(out.join("manifest.json")).unwrap();
        std::fs::write(out.join("manifest.json"), text.replacen("\"outcome\"", "\"outcome\" ", 1)).unwrap();
        let kinds: Vec<&str> = verify(&made.env, &out).unwrap().iter().map(|lie| lie.kind.name()).collect();
        assert_eq!(kinds, ["seal"], "{}", made.name);
    }
}

#[test]
fn a_folder_may_be_copied_under_any_name_but_that_of_another_run() {
    let made = change();
    let work = made.env.work();
    copy_tree(&made.folder, &work.join("the run of monday"));
    assert_eq!(verify(&made.env, &work.join("the run of monday")).unwrap(), []);
    copy_tree(&made.folder, &work.join("20200101-000000-abcdef"));
    let found = verify(&made.env, &work.join("20200101-000000-abcdef")).unwrap();
    assert!(found.iter().all(|lie| lie.kind.name() == "run_id") && !found.is_empty(), "{found:?}");
}

#[test]
fn a_commit_that_the_repository_lost_since_is_no_lie_but_nobody_vouches_for_it() {
    let made = change();
    made.lose_history();
    let seen = evidence(&made.env, &made.folder).unwrap();
    assert_eq!(seen.base.commit_is_there, Some(false));
    assert_eq!(holon_flow::verify::verify_manifest(&seen), []);
    let unproven = holon_flow::verify::unproven(&seen);
    assert!(unproven.iter().any(|told| told.contains("not in the repository any more")), "{unproven:?}");
}
