//! Findings are checked against the files before anyone reads them.

use holon_testkit::{TestEnv, assert_unchanged, tree_state};
use serde_json::Value;

use crate::stage::{BIN, ended, json, play};

fn finding(line: u32, snippet: &str, title: &str) -> String {
    format!(
        "\n      - {{ path: code.txt, line: {line}, severity: medium, category: style, title: {title}, \
         body: Look., confidence: 0.5, snippet: \"{snippet}\" }}"
    )
}

fn review(findings: &[String]) -> String {
    format!("- tool: read_file\n  args: {{ path: code.txt }}\n{}", unread(findings))
}

/// A review by somebody who has read nothing.
fn unread(findings: &[String]) -> String {
    format!(
        "- tool: report_findings\n  args:\n    verdict: comment\n    findings:{}\n\
         - tool: finish\n  args: {{ summary: Reviewed. }}\n",
        findings.concat()
    )
}

fn numbered(from: u32) -> String {
    (from..from + 60).map(|n| format!("line {n}\n")).collect()
}

/// The findings as (title, line, location), with their fingerprints.
fn found(env: &TestEnv) -> (Vec<(String, u64, String)>, Vec<String>) {
    let review = json(env, "review.json");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = review["findings"].as_array().unwrap();
    let told = findings
        .iter()
        .map(|f| (text(&f["title"]), f["line"].as_u64().unwrap_or_default(), text(&f["location"])));
    (told.collect(), findings.iter().map(|f| text(&f["fingerprint"])).collect())
}

#[test]
fn lines_are_verified_moved_or_demoted() {
    let env = TestEnv::new(BIN);
    let repo = env.repo().file("code.txt", numbered(1)).commit("first");
    let before = tree_state(repo.path());
    let script = review(&[
        finding(10, "line 10", "right"),
        finding(20, "line 23", "shifted"),
        finding(30, "let nowhere = 1;", "invented"),
        finding(900, "line 60", "beyond"),
    ]);
    let manifest = ended(&env, &play(&env, &repo, "review", &script, &[]), 0);
    assert!(manifest["artifacts"].to_string().contains("review.json"));
    let commit = &manifest["metadata"]["snapshot"]["base_commit"];
    assert!(commit.is_string());
    assert_eq!(&json(&env, "review.json")["head"], commit);
    let (told, prints) = found(&env);
    let told: Vec<(&str, u64, &str)> = told.iter().map(|(t, l, p)| (t.as_str(), *l, p.as_str())).collect();
    assert_eq!(told[0], ("right", 10, "verified"));
    assert_eq!(told[1], ("shifted", 23, "verified"), "found nearby, and moved");
    assert_eq!((told[2].0, told[2].2), ("invented", "file"), "demoted to the file");
    assert_eq!(told[3].0, "beyond");
    assert_ne!(told[3].1, 900, "a line that is not there is never kept: {told:?}");
    assert!(prints.iter().all(|print| print.len() >= 12), "{prints:?}");
    let mut distinct = prints.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), prints.len(), "{prints:?}");
    assert_unchanged(&before, repo.path());

    // The same finding some lines further down has the same fingerprint.
    let shifted =
        env.repo_named("shifted").file("code.txt", format!("new\nnew\n{}", numbered(1))).commit("x");
    ended(&env, &play(&env, &shifted, "review", &review(&[finding(12, "line 10", "right")]), &[]), 0);
    assert_eq!(found(&env).1[0], prints[0]);
}

/// It goes back once; what is still nowhere is left out and counted, and blocks nothing.
#[test]
fn a_finding_in_a_file_that_is_not_there_is_no_finding() {
    let ghost = || finding(1, "line 1", "ghost").replace("code.txt", "ghost.txt");
    let blocking = |findings: &[String]| review(findings).replace("verdict: comment", "verdict: block");
    let cases = [
        ("insists", blocking(&[ghost()]), (0, "comment", 1)),
        ("insists beside a real one", blocking(&[ghost(), finding(1, "line 1", "real")]), (1, "block", 1)),
        ("mends it", blocking(&[finding(1, "line 1", "real")]), (1, "block", 0)),
    ];
    for (name, second, (findings, verdict, dropped)) in cases {
        let env = TestEnv::new(BIN);
        let repo = env.repo().file("code.txt", "line 1\n").commit("first");
        let script = format!("{}{second}", blocking(&[ghost()]));
        let manifest = ended(&env, &play(&env, &repo, "review", &script, &[]), 0);
        let told = json(&env, "review.json");
        assert_eq!(told["findings"].as_array().map(Vec::len), Some(findings), "{name}: {told}");
        assert_eq!(told["verdict"], verdict, "{name}");
        assert_eq!(told["dropped"].as_u64().unwrap_or(0), dropped, "{name}");
        let warned = manifest["metadata"]["warnings"].to_string().contains("name files that are not there");
        assert_eq!(warned, dropped > 0, "{name}: {manifest:#}");
        let heard = std::fs::read_to_string(crate::stage::stored(&env).join("evidence/model.yaml")).unwrap();
        assert!(heard.contains("there is no file `ghost.txt`"), "{name}");
    }
}

/// It goes back once, and is no success without a look.
#[test]
fn a_review_without_a_look_is_no_success() {
    let blind = || unread(&[finding(1, "line 1", "guessed")]);
    for (name, second, code) in
        [("insists", blind(), 1), ("looks", review(&[finding(1, "line 1", "seen")]), 0)]
    {
        let env = TestEnv::new(BIN);
        let repo = env.repo().file("code.txt", "line 1\n").commit("first");
        let manifest = ended(&env, &play(&env, &repo, "review", &format!("{}{second}", blind()), &[]), code);
        let kind = manifest["error"]["kind"].as_str();
        assert_eq!(kind, (code != 0).then_some("nothing_read"), "{name}: {manifest:#}");
    }
    // An answer is marked, and no more.
    for (script, marked) in [("", true), ("- tool: read_file\n  args: { path: code.txt }\n", false)] {
        let env = TestEnv::new(BIN);
        let repo = env.repo().file("code.txt", "line 1\n").commit("first");
        let script = format!("{script}- tool: finish\n  args: {{ summary: One line. }}\n");
        let manifest = ended(&env, &play(&env, &repo, "ask", &script, &[]), 0);
        let told = manifest["metadata"]["warnings"].to_string();
        assert_eq!(told.contains("without having read anything"), marked, "{told}");
    }
}

#[test]
fn a_fingerprint_is_not_the_models_to_claim() {
    let env = TestEnv::new(BIN);
    let repo = env.repo().file("code.txt", "line 1\n").commit("first");
    let claim = finding(1, "line 1", "mine")
        .replace("body:", "fingerprint: \"0000000000000000\", location: verified, body:");
    let claimed = review(&[claim.replace("\"line 1\"", "\"line 7\"")]);
    ended(&env, &play(&env, &repo, "review", &claimed, &[]), 0);
    let (told, prints) = found(&env);
    assert_eq!(told[0].2, "file");
    assert_ne!(prints[0], "0000000000000000");
}
