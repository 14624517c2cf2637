#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;

fn rules(allow: Option<&[&str]>, deny: &[&str]) -> CommandRules {
    let own = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
    CommandRules { allow: allow.map(own).into_iter().collect(), deny: own(deny) }
}

fn runs(rules: &CommandRules, line: &str) -> bool {
    rules.check_line(line) == CommandVerdict::Allowed
}

#[test]
fn deny_sees_through_wrapping() {
    let rules = rules(None, &["git push *", "sudo *", "rm -rf *"]);
    for line in [
        "git push",
        "git push origin main",
        "/usr/bin/git push",
        "git -C x push",
        "git -c a=b --no-pager push",
        "cd x && git push",
        "true; git push",
        "(git push)",
        "{ git push; }",
        "echo $(git push)",
        "echo `git push`",
        "echo \"$(git push)\"",
        "env A=1 git push",
        "env -i -u B git push",
        "A=1 git push",
        "bash -c 'git push'",
        "sh -ec \"git push\"",
        "bash -c 'sh -c \"git push\"'",
        "timeout 5 git push",
        "nice -n 3 git push",
        "eval git push",
        "echo x | xargs git push",
        "find . -exec git push {} \\;",
        "command git push",
        "nohup git push &",
        "exec git push",
        "time git push",
        "time { git push; }",
        "! git push",
        "if true; then git push; fi",
        "git $X",
        "$X push",
        "git pu*",
        "{git,push}",
        "g\"it\" pus\\h",
        "sudo ls",
        "cat <<EOF\n$(git push)\nEOF",
        "watch 'git push'",
        "trap 'git push' EXIT",
        "busybox sh -c 'git push'",
        "rm -rf /",
        "x=$(git push)",
        "diff <(git push) y",
        "curl x | bash",
        "bash -c \"$X\"",
        "case a in a) git push;; esac",
        "git push 'unclosed",
        "ssh host git push",
    ] {
        assert!(!runs(&rules, line), "{line}");
    }
    for line in [
        "git status",
        "git commit -m 'git push'",
        "echo git push",
        "git log --grep push",
        "cargo test > out 2>&1",
        "cat <<'EOF' > f\ngit push\nEOF",
        "grep -r 'git push' .",
        "bash build.sh",
        "rm file",
        "for f in *; do cat $f; done",
        "ls *.rs",
        "",
    ] {
        assert!(runs(&rules, line), "{line}: {:?}", rules.check_line(line));
    }
}

#[test]
fn allow_lists_hold_for_every_part() {
    let rules = rules(Some(&["cargo test *", "cargo build", "ls *", "git log *"]), &[]);
    for line in [
        "cargo test",
        "cargo test -p x",
        "cargo build",
        "ls -l | ls",
        "A=1 cargo test",
        "env A=1 cargo test",
        "bash -c 'cargo test; ls'",
        "cargo test $ARGS",
        "timeout 10 cargo test",
        "ls > out",
        "X=1; ls",
    ] {
        assert!(runs(&rules, line), "{line}: {:?}", rules.check_line(line));
    }
    for line in [
        "cargo build --release",
        "cargo",
        "ls; rm x",
        "ls $(rm x)",
        "./cargo test",
        "/tmp/cargo test",
        "$CARGO test",
        "PATH=/tmp cargo test",
        "PATH=/tmp; cargo test",
        "LD_PRELOAD=x ls",
        "env GIT_SSH_COMMAND=x git log",
        "bash evil.sh",
        "find . -exec ls {} +",
        "ls 'x",
        "echo x | sh",
        "cargo te*",
        "python -c 1",
        "export PATH=/tmp",
    ] {
        assert!(!runs(&rules, line), "{line}");
    }
    assert!(runs(&rules, "bash -c 'ls'"));
    assert_eq!(rules.check_argv(&["cargo", "test", "; rm x"]), CommandVerdict::Allowed);
    assert_ne!(rules.check_argv(&["sh", "-c", "rm x"]), CommandVerdict::Allowed);
}

#[test]
fn an_empty_allow_list_runs_nothing() {
    let rules = rules(Some(&[]), &[]);
    assert!(!runs(&rules, "ls"));
    assert!(runs(&CommandRules::default(), "anything 'at all"));
}

#[test]
fn patterns_inside_patterns() {
    let check = |inner: &str, outer: &str, expect| {
        assert_eq!(pattern_within(inner, outer), expect, "{inner} in {outer}")
    };
    check("cargo test *", "cargo *", true);
    check("cargo test", "cargo test *", true);
    check("cargo test", "cargo *", true);
    check("cargo", "cargo *", true);
    check("anything *", "*", true);
    check("cargo test-unit", "cargo test-*", true);
    check("cargo *", "cargo test *", false);
    check("cargo test *", "cargo test", false);
    check("cargo test -p *", "cargo test", false);
    check("cargo test a*b", "cargo test a*", false);
    check("*", "cargo *", false);
}

fn token() -> impl Strategy<Value = String> {
    prop_oneof![2 => "[ab]{1,2}", 1 => Just("*".to_owned()), 1 => Just("a*".to_owned())]
}

fn pattern() -> impl Strategy<Value = String> {
    prop::collection::vec(token(), 1..4).prop_map(|t| t.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]
    #[test]
    fn inv_11_a_narrower_pattern_never_matches_more(
        inner in pattern(), outer in pattern(), words in prop::collection::vec("[ab]{1,3}", 1..5)
    ) {
        if pattern_within(&inner, &outer) {
            let command = SimpleCommand { assignments: vec![], words: words.into_iter().map(ShellWord::Literal).collect() };
            prop_assert!(!allows(&inner, &command) || allows(&outer, &command), "{} in {}: {}", inner, outer, command);
        }
    }

    #[test]
    fn inv_10_a_denied_command_is_denied_wherever_it_hides(
        before in "[a-z]{1,5}( [a-z]{1,5}){0,2}",
        shape in 0usize..9,
    ) {
        let rules = rules(None, &["git push *"]);
        let line = match shape {
            0 => format!("{before}; git push x"),
            1 => format!("{before} && git push"),
            2 => format!("{before} | git push"),
            3 => format!("{before} $(git push)"),
            4 => format!("{before} `git push`"),
            5 => format!("({before}; git push)"),
            6 => format!("bash -c '{before}; git push'"),
            7 => format!("{before} <<X\n$(git push)\nX"),
            _ => format!("{before}\ngit push"),
        };
        prop_assert!(!runs(&rules, &line), "{}", line);
    }

    #[test]
    fn any_text_gets_a_verdict(line in "\\PC{0,60}") {
        let _ = rules(Some(&["ls *"]), &["git push *"]).check_line(&line);
    }
}
