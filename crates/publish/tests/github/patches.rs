//! diff.patch as branch and pull request.

use std::fs;

use holon_core::RunOutcome;
use holon_core::artifact::ethics::{EthicsReport, PrincipleImpact, RiskLevel};
use holon_publish::PublishError;
use holon_publish::github::{OwnAccount, PublishOutcome};
use holon_testkit::{assert_unchanged, files_containing, run_git, tree_state};

use crate::stage::{LOGIN, NAME, PublishStage, TOKEN, numbered, part};

fn text_at(stage: &PublishStage, branch: &str) -> String {
    stage.repo.git(&["show", &format!("refs/heads/{branch}:a.txt")])
}

#[test]
fn a_patch_becomes_one_branch_and_one_pull_request() {
    let stage = PublishStage::new();
    let issue = stage.repo.issue("someone", "It is wrong", "Really.");
    let report = stage.published(&stage.simple_patch(), Some(issue), |_| {});
    let pulls = stage.repo.pulls();
    let (number, branch, open, draft, title, body) = &pulls[0];
    assert_eq!(
        (pulls.len(), branch.as_str(), *open, *draft, title.as_str()),
        (1, "holon/issue-1", true, false, "Change thirty")
    );
    assert!(body.contains("\nRefs #1\n") && body.contains("Because."), "{body}");
    assert!(part(&report, "pull").url.as_ref().unwrap().ends_with(&format!("/pull/{number}")));
    assert_eq!(text_at(&stage, "holon/issue-1"), numbered(1..=60).replace("line 30\n", "thirty\n"));
    let log = stage.repo.git(&["log", "-1", "--format=%an <%ae>%n%aI%n%B", "holon/issue-1"]);
    assert!(log.starts_with("Holon (script) <2025"), "{log}");
    assert!(
        log.contains("@holon.invalid>\n2026-01-02T03:04:05Z\nChange thirty\n")
            || log.contains("+00:00\nChange thirty\n"),
        "{log}"
    );
    for trailer in
        ["Holon-Run: ", "Holon-Task: issue-1", "Holon-Manifest: sha256:", "Holon-Base: ", "Holon-Tree: "]
    {
        assert!(log.contains(trailer), "{log}");
    }
}

#[test]
fn a_second_time_changes_nothing() {
    let stage = PublishStage::new();
    let output = stage.simple_patch();
    stage.published(&output, None, |_| {});
    let before = stage.repo.git(&["for-each-ref"]);
    stage.hub.forget();
    let report = stage.published(&output, None, |_| {});
    assert_eq!(part(&report, "pull").result, PublishOutcome::Unchanged);
    assert_eq!(stage.hub.changes(), [""; 0]);
    assert_eq!(stage.repo.git(&["for-each-ref"]), before);
    assert_eq!(stage.repo.pulls().len(), 1);
}

#[test]
fn a_later_run_of_the_task_replaces_the_first_in_the_same_pull_request() {
    let stage = PublishStage::new();
    let task =
        |options: &mut holon_publish::github::PublishOptions| options.task = Some("fix-it".parse().unwrap());
    stage.published(&stage.simple_patch(), None, task);
    stage.repo.edit(1, |_, body| *body = format!("By hand above.\n\n{body}\nBy hand below.\n"));
    let other = stage.patch_output("main", "# Change forty\n", |clone| {
        let text = fs::read_to_string(clone.join("a.txt")).unwrap();
        fs::write(clone.join("a.txt"), text.replace("line 40\n", "forty\n")).unwrap();
    });
    stage.published(&other, None, task);
    let pulls = stage.repo.pulls();
    assert_eq!(pulls.len(), 1);
    assert_eq!(pulls[0].4, "Change forty", "a title nobody touched follows");
    assert!(
        pulls[0].5.starts_with("By hand above.") && pulls[0].5.ends_with("By hand below.\n"),
        "{}",
        pulls[0].5
    );
    assert_eq!(text_at(&stage, "holon/fix-it"), numbered(1..=60).replace("line 40\n", "forty\n"));
    // A title and a text that a person rewrote are theirs.
    stage.repo.edit(1, |title, body| (*title, *body) = ("Mine".into(), "All mine.".into()));
    let report = stage.published(&stage.simple_patch(), None, task);
    assert_eq!((stage.repo.pulls()[0].4.as_str(), stage.repo.pulls()[0].5.as_str()), ("Mine", "All mine."));
    assert!(part(&report, "pull").notes[0].contains("rewritten by hand"), "{report:?}");
}

#[test]
fn nobodys_commits_are_overwritten() {
    let stage = PublishStage::new();
    let output = stage.simple_patch();
    let task =
        |options: &mut holon_publish::github::PublishOptions| options.task = Some("fix-it".parse().unwrap());
    stage.published(&output, None, task);
    let theirs = stage.repo.commit("holon/fix-it", None, &[("b.txt", Some("by hand\n"))], "A person's fix");
    let next = stage.simple_patch();
    let report = stage.publish(&next, None, task).unwrap();
    let pull = part(&report, "pull");
    assert_eq!(pull.result, PublishOutcome::Failed);
    assert!(pull.error.as_ref().unwrap().contains("holds work of someone else"), "{pull:?}");
    assert!(pull.hint.as_ref().unwrap().contains("--task"), "{pull:?}");
    assert_eq!(stage.repo.tip("holon/fix-it"), Some(theirs));
    // An amended commit keeps our message, and is recognised all the same.
    let clone = stage.dir.path().join("amend");
    run_git(
        stage.dir.path(),
        ["clone", "-q", "-b", "holon/fix-it", stage.repo.dir().to_str().unwrap(), clone.to_str().unwrap()],
    );
    run_git(&clone, ["reset", "-q", "--hard", "HEAD~1"]);
    fs::write(clone.join("b.txt"), "amended\n").unwrap();
    run_git(&clone, ["commit", "-q", "-a", "--amend", "--no-edit"]);
    run_git(&clone, ["push", "-q", "--force", "origin", "HEAD"]);
    let amended = stage.repo.tip("holon/fix-it");
    let report = stage.publish(&next, None, task).unwrap();
    assert!(part(&report, "pull").error.as_ref().unwrap().contains("changed after the run"), "{report:?}");
    assert_eq!(stage.repo.tip("holon/fix-it"), amended);
}

#[test]
fn a_base_that_moved_is_merged_with() {
    let stage = PublishStage::new();
    let output = stage.simple_patch();
    // Elsewhere in the same file, and so that plain line numbers are wrong.
    let text = format!("new first line\n{}", numbered(1..=60)).replace("line 33\n", "dreiunddreissig\n");
    stage.repo.commit("main", None, &[("a.txt", Some(&text))], "moved on");
    stage.published(&output, None, |options| options.task = Some("t".parse().unwrap()));
    assert_eq!(text_at(&stage, "holon/t"), text.replace("line 30\n", "thirty\n"));
    assert_eq!(stage.repo.git(&["rev-parse", "holon/t~1"]).trim(), stage.repo.tip("main").unwrap());
}

#[test]
fn a_patch_that_does_not_apply_changes_nothing_and_names_the_hunks() {
    let stage = PublishStage::new();
    let output = stage.patch_output("main", "Two hunks.\n", |clone| {
        let text = fs::read_to_string(clone.join("a.txt")).unwrap();
        let text = text.replace("line 5\n", "five\n").replace("line 30\n", "thirty\n");
        fs::write(clone.join("a.txt"), text).unwrap();
        fs::write(clone.join("new.txt"), "new\n").unwrap();
    });
    let text = numbered(1..=60).replace("line 30\n", "something else\n");
    stage.repo.commit("main", None, &[("a.txt", Some(&text)), ("new.txt", Some("other\n"))], "in the way");
    let refs = stage.repo.git(&["for-each-ref"]);
    let tree = tree_state(&output);
    let report = stage.publish(&output, None, |_| {}).unwrap();
    let pull = part(&report, "pull");
    let error = pull.error.as_ref().unwrap();
    assert_eq!(pull.result, PublishOutcome::Failed);
    assert!(error.contains("a.txt: @@ -27,7 +27,7 @@"), "{error}");
    assert!(!error.contains("@@ -2,7"), "only the hunk that does not fit: {error}");
    assert!(error.contains("new.txt: the patch creates it, but it is already there"), "{error}");
    assert_eq!(stage.repo.git(&["for-each-ref"]), refs);
    assert_eq!(stage.repo.pulls().len(), 0);
    assert_unchanged(&tree, &output);
}

#[test]
fn a_patch_on_commits_that_were_never_pushed_says_where_it_does_not_fit() {
    let stage = PublishStage::new();
    let clone = stage.dir.path().join("mine");
    run_git(stage.dir.path(), ["clone", "-q", stage.repo.dir().to_str().unwrap(), clone.to_str().unwrap()]);
    let mine = numbered(1..=60).replace("line 31\n", "mine\n");
    fs::write(clone.join("a.txt"), &mine).unwrap();
    run_git(&clone, ["commit", "-q", "-a", "-m", "not pushed"]);
    fs::write(clone.join("a.txt"), mine.replace("line 32\n", "zwei\n").replace("line 5\n", "five\n"))
        .unwrap();
    let patch = run_git(&clone, ["diff", "--binary", "--full-index"]);
    let base = run_git(&clone, ["rev-parse", "HEAD"]).trim().to_owned();
    let mut making = stage.output("execute").file("diff.patch", &patch).file("summary.md", "x");
    making.manifest.metadata.snapshot.as_mut().unwrap().base_commit = Some(base);
    let report = stage.publish(&making.finish(), None, |_| {}).unwrap();
    let error = part(&report, "pull").error.clone().unwrap();
    assert!(error.contains("a.txt: @@ -29,7 +29,7 @@") && !error.contains("@@ -2,7"), "{error}");
}

#[test]
fn five_thousand_files_go_in_one_commit() {
    let stage = PublishStage::new();
    let output = stage.patch_output("main", "Many files.\n", |clone| {
        for n in 0..5000 {
            let folder = clone.join(format!("many/{:02}", n % 50));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(format!("{n}.txt")), format!("file {n}\n")).unwrap();
        }
    });
    stage.published(&output, None, |options| options.task = Some("many".parse().unwrap()));
    let listed = stage.repo.git(&["ls-tree", "-r", "--name-only", "holon/many"]);
    assert_eq!(listed.lines().filter(|name| name.starts_with("many/")).count(), 5000);
    assert_eq!(stage.repo.git(&["rev-list", "--count", "main..holon/many"]).trim(), "1");
}

#[test]
fn real_git_over_file_addresses_works_as_well() {
    let stage = PublishStage::new();
    stage.repo.over_file();
    let output = stage.simple_patch();
    stage.published(&output, None, |options| options.task = Some("t".parse().unwrap()));
    assert!(stage.repo.tip("holon/t").is_some());
    let report = stage.published(&output, None, |options| options.task = Some("t".parse().unwrap()));
    assert_eq!(part(&report, "pull").result, PublishOutcome::Unchanged);
}

#[test]
fn binary_files_modes_links_and_deletions_arrive() {
    let stage = PublishStage::new();
    let output = stage.patch_output("main", "All kinds.\n", |clone| {
        fs::write(clone.join("bin"), [0u8, 159, 146, 150, 0, 1]).unwrap();
        fs::write(clone.join("run.sh"), "#!/bin/sh\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(clone.join("run.sh"), mode).unwrap();
        std::os::unix::fs::symlink("a.txt", clone.join("link")).unwrap();
        fs::remove_file(clone.join("b.txt")).unwrap();
        fs::write(clone.join("Grüße.txt"), "x").unwrap();
    });
    stage.published(&output, None, |options| options.task = Some("t".parse().unwrap()));
    let listed = stage.repo.git(&["-c", "core.quotePath=false", "ls-tree", "holon/t"]);
    for expect in ["100755 blob", "120000 blob", "\tbin\n", "\tGrüße.txt\n"] {
        assert!(listed.contains(expect), "{listed}");
    }
    assert!(!listed.contains("b.txt"), "{listed}");
}

#[test]
fn a_fork_is_pushed_to_and_the_pull_request_opened_in_the_original() {
    let stage = PublishStage::new();
    stage.repo.members(&["someone"]);
    let fork = stage.hub.fork(&stage.repo, "holon-publisher/hello");
    let output = stage.simple_patch();
    let report = stage.publish(&output, None, |_| {}).unwrap();
    let told = part(&report, "pull");
    assert!(told.error.as_ref().unwrap().contains("may not push to octo/hello"), "{told:?}");
    assert!(told.hint.as_ref().unwrap().contains("--push-to"), "{told:?}");
    let to_fork = |options: &mut holon_publish::github::PublishOptions| {
        options.push_to = Some("holon-publisher/hello".parse().unwrap());
        options.task = Some("t".parse().unwrap());
    };
    stage.published(&output, None, to_fork);
    assert!(fork.tip("holon/t").is_some() && stage.repo.tip("holon/t").is_none());
    let created = stage.hub.requests().into_iter().find(|r| r.method == "POST").unwrap();
    assert_eq!(created.body["head"], "holon-publisher:holon/t");
    let report = stage.published(&output, None, to_fork);
    assert_eq!(part(&report, "pull").result, PublishOutcome::Unchanged);
    assert_eq!(stage.repo.pulls().len(), 1);
}

#[test]
fn a_protected_branch_is_told_clearly() {
    let stage = PublishStage::new();
    stage.repo.protect("holon/");
    let report = stage.publish(&stage.simple_patch(), None, |_| {}).unwrap();
    let pull = part(&report, "pull");
    assert!(pull.error.as_ref().unwrap().contains("GH006: Protected branch"), "{pull:?}");
    assert!(pull.hint.as_ref().unwrap().contains("protected"), "{pull:?}");
    assert_eq!(stage.repo.pulls().len(), 0);
}

#[test]
fn a_change_can_go_into_the_pull_request_it_is_about() {
    let stage = PublishStage::new();
    let number = stage.pull_request();
    let output = stage.patch_output("topic", "Fix the review.\n", |clone| {
        let text = fs::read_to_string(clone.join("a.txt")).unwrap();
        fs::write(clone.join("a.txt"), text.replace("line 50\n", "fifty\n")).unwrap();
    });
    let before = stage.repo.tip("topic").unwrap();
    stage.published(&output, Some(number), |options| options.into_pull = true);
    assert_eq!(stage.repo.git(&["rev-parse", "topic~1"]).trim(), before, "added on top, nothing replaced");
    assert!(text_at(&stage, "topic").contains("fifty\n"));
    assert_eq!(stage.repo.pulls().len(), 1);
    let report = stage.published(&output, Some(number), |options| options.into_pull = true);
    assert_eq!(part(&report, "pull").result, PublishOutcome::Unchanged);
    // Without the flag a pull request onto its branch is opened.
    let other =
        stage.patch_output("topic", "Fix more.\n", |clone| fs::write(clone.join("c.txt"), "c\n").unwrap());
    stage.published(&other, Some(number), |_| {});
    let created = stage.hub.requests().into_iter().rfind(|r| r.method == "POST").unwrap();
    assert_eq!(
        (created.body["base"].as_str(), created.body["head"].as_str()),
        (Some("topic"), Some("holon/pr-1"))
    );
}

#[test]
fn what_needs_a_person_is_a_draft_on_request_only() {
    let stage = PublishStage::new();
    let patch = fs::read_to_string(stage.simple_patch().join("diff.patch")).unwrap();
    let output = stage
        .output("execute")
        .file("diff.patch", &patch)
        .file("summary.md", "Unsure.\n")
        .outcome(RunOutcome::NeedsHuman)
        .finish();
    let refused = stage.publish(&output, None, |_| {}).unwrap_err();
    assert!(refused.needs_human() && refused.hint().unwrap().contains("--draft-needs-human"), "{refused}");
    assert_eq!(stage.hub.count(), 0, "nothing was even asked");
    stage.published(&output, None, |options| options.draft_needs_human = true);
    let (_, _, _, draft, _, body) = stage.repo.pulls().remove(0);
    assert!(draft && body.contains("A person has to look at this"), "{body}");
    let failed = stage
        .output("execute")
        .file("diff.patch", &patch)
        .file("summary.md", "x")
        .outcome(RunOutcome::Failure)
        .finish();
    assert!(matches!(
        stage.publish(&failed, None, |o| o.draft_needs_human = true),
        Err(PublishError::Held(_))
    ));
}

#[test]
fn a_changed_artifact_is_refused_before_anything_is_asked() {
    let stage = PublishStage::new();
    let output = stage.simple_patch();
    let patch = fs::read_to_string(output.join("diff.patch")).unwrap();
    fs::write(output.join("diff.patch"), patch.replace("thirty", "evil 3")).unwrap();
    assert!(matches!(stage.publish(&output, None, |_| {}), Err(PublishError::Tampered { .. })));
    assert_eq!(stage.hub.count(), 0);
}

#[test]
fn a_credential_in_the_patch_stops_it() {
    let stage = PublishStage::new();
    let output = stage.patch_output("main", "Oops.\n", |clone| {
        fs::write(clone.join("key.txt"), "ghp_0123456789abcdefghijABCDEFGHIJ012345\n").unwrap();
    });
    let report = stage.publish(&output, None, |_| {}).unwrap();
    assert!(part(&report, "pull").error.as_ref().unwrap().contains("key.txt:1"), "{report:?}");
    assert_eq!(stage.repo.git(&["for-each-ref", "refs/heads/holon"]), "");
}

#[test]
fn a_change_that_ethics_does_not_approve_stays_here() {
    let stage = PublishStage::new();
    let patch = fs::read_to_string(stage.simple_patch().join("diff.patch")).unwrap();
    let impact =
        PrincipleImpact { principle: "safety".into(), impact: "negative".into(), rationale: "x".into() };
    let ethics = EthicsReport {
        request_id: None,
        goal_id: None,
        risk_level: RiskLevel::High,
        is_approved: false,
        approval_justification: "No.".into(),
        principle_impacts: vec![impact],
        mitigations: Vec::new(),
        evidence: Vec::new(),
        checks: Vec::new(),
        history: None,
    };
    let text = serde_json::to_string(&ethics).unwrap();
    let output = stage
        .output("orchestrate")
        .file("diff.patch", &patch)
        .file("summary.md", "x")
        .file("ethics.json", &text)
        .finish();
    let refused = stage.publish(&output, None, |_| {}).unwrap_err().to_string();
    assert!(refused.contains("does not approve"), "{refused}");
    assert_eq!(stage.repo.pulls().len(), 0);
}

#[test]
fn a_closed_pull_request_stays_closed() {
    let stage = PublishStage::new();
    let output = stage.simple_patch();
    let task =
        |options: &mut holon_publish::github::PublishOptions| options.task = Some("t".parse().unwrap());
    stage.published(&output, None, task);
    stage.repo.close(1);
    stage.repo.git(&["update-ref", "-d", "refs/heads/holon/t"]);
    let report = stage.published(&output, None, task);
    assert!(part(&report, "pull").notes[0].contains("left closed"), "{report:?}");
    assert_eq!((stage.repo.pulls().len(), stage.repo.tip("holon/t")), (1, None));
    // Another run of the task opens a new one.
    let other =
        stage.patch_output("main", "Again.\n", |clone| fs::write(clone.join("c.txt"), "c\n").unwrap());
    stage.published(&other, None, task);
    assert_eq!(stage.repo.pulls().len(), 2);
}

#[test]
fn a_dry_run_says_exactly_what_it_would_do_and_does_nothing() {
    let stage = PublishStage::new();
    let output = stage.simple_patch();
    let refs = stage.repo.git(&["for-each-ref"]);
    let task =
        |options: &mut holon_publish::github::PublishOptions| options.task = Some("t".parse().unwrap());
    let report = stage.published(&output, None, |options| {
        task(options);
        options.dry_run = true;
    });
    assert_eq!(part(&report, "pull").result, PublishOutcome::Planned);
    assert_eq!((stage.repo.git(&["for-each-ref"]), stage.hub.changes()), (refs, vec![]));
    let planned = part(&report, "pull").steps.clone();
    let done = stage.published(&output, None, task);
    assert_eq!(part(&done, "pull").steps, planned, "what was said is what is done, word for word");
    let sent = stage.hub.requests().into_iter().find(|r| r.method == "POST").unwrap();
    assert_eq!(Some(sent.body), planned[1].call.as_ref().map(|call| call.body.clone()));
}

#[test]
fn inv_06_the_publishing_token_is_nowhere() {
    let stage = PublishStage::new();
    stage.repo.private(&[LOGIN]);
    let output = stage.simple_patch();
    let report = stage.published(&output, None, |options| options.own = OwnAccount::Login(LOGIN.into()));
    // One that fails at the push as well.
    stage.repo.protect("holon/");
    let failed = stage
        .publish(&stage.simple_patch(), None, |options| options.task = Some("u".parse().unwrap()))
        .unwrap();
    let text = format!("{report:?}{failed:?}{}", serde_json::to_string(&failed).unwrap());
    assert!(!text.contains(TOKEN), "{text}");
    assert_eq!(files_containing(stage.dir.path(), TOKEN), [""; 0].map(std::path::PathBuf::from));
    assert_eq!(files_containing(stage.hub.root(), TOKEN), [""; 0].map(std::path::PathBuf::from));
    let with_wrong = stage.publish_as(
        &output,
        &holon_publish::github::PublishOptions::new(NAME.parse().unwrap()),
        "CANARY-wrong-token-000",
    );
    let error = with_wrong.unwrap_err();
    assert!(error.to_string().contains("401") && !error.to_string().contains("CANARY"), "{error}");
    assert!(error.hint().unwrap().contains("GITHUB_TOKEN"));
}
