#![allow(clippy::unwrap_used, clippy::panic)]
use holon_core::mode::{ModeCatalog, ModeSource};
use proptest::prelude::*;

use super::*;

const FIRST: &str = "name = \"f\"\ndescription = \"x\"\n[[step]]\nname = \"a\"\nmode = \"plan\"\n";

/// A flow whose steps follow after a review named `look`.
const LOOK: &str = "description = \"x\"\n\n[[step]]\nname = \"look\"\nmode = \"review\"\n";

/// A step that mends, with these keys.
fn mend(keys: &str) -> String {
    format!("\n[[step]]\nname = \"mend\"\nmode = \"execute\"\n{keys}\n")
}

fn read(text: &str, source: ModeSource) -> Result<FlowDefinition, crate::FlowFileError> {
    let mut modes = ModeCatalog::builtin().unwrap();
    modes
        .add(ModeSource::User, "/h/modes/mine.toml", "extends = \"execute\"\ndescription = \"x\"\n")
        .unwrap();
    modes
        .add(ModeSource::Project, "/w/modes/theirs.toml", "extends = \"plan\"\ndescription = \"x\"\n")
        .unwrap();
    let among = FlowSurroundings { modes: &modes, flows: &["taken".to_owned()] };
    let named = text.lines().find_map(|line| line.strip_prefix("#file "));
    FlowDefinition::read(text, &format!("/d/{}.toml", named.unwrap_or("f")), source, &among)
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let check = |more: &str, expected: &str| {
        let error = FlowDefinition::parse(&format!("{FIRST}{more}"), "f.toml").unwrap_err();
        let told = format!("{error}; {}", error.remedy);
        assert!(told.starts_with("f.toml:") && told.contains(expected), "{more}: {told}");
    };
    check(
        "[[step]]\nname = \"b\"\n",
        "f.toml:6: step `b`: `mode` is missing; give either `mode` or `findings`",
    );
    check("[[step]]\nname = \"b\"\nmode = \"x\"\nfindings = \"a\"\n", "f.toml:9: step `b`: `findings`");
    check(
        "[[step]]\nname = \"a\"\nmode = \"x\"\n",
        "f.toml:7: step `a`: `name` stands before: there are two",
    );
    check(
        "[[step]]\nname = \"b\"\nmode = \"x\"\ncontext = [\"c/plan.md\"]\n",
        "`c`, which is no run before it",
    );
    check(
        "[[step]]\nname = \"b\"\nmode = \"x\"\ncontext = [\"b/plan.md\"]\n",
        "`b`, which is this step itself",
    );
    check(
        "[[step]]\nname = \"b\"\nmode = \"x\"\ncontext = [\"plan.md\"]\n",
        "f.toml:9: step `b`: `context` has `plan.md`",
    );
    check("[[step]]\nname = \"b\"\nmode = \"x\"\ncontext = [\"a/../x\"]\n", "look like `step/file`");
    check("[[step]]\nname = \"b\"\nmode = \"x\"\ndeliver = [\"manifest.json\"]\n", "names of artifacts");
    check("[[step]]\nname = \"b\"\nmode = \"x\"\nwhen = \"rain\"\n", "unknown variant `rain`");
    check("[[step]]\nname = \"b\"\nmode = \"x\"\ngaet = true\n", "f.toml:9: TOML parse error");
    check("[[step]]\nname = \"b\"\nmode = \"x\"\ngaet = true\n", "unknown field `gaet`");
    check("[[step]]\nname = \"B\"\nmode = \"x\"\n", "lower-case");
    check("[[step]]\nname = \"b\"\nfindings = \"a\"\n", "`result` must name");
    check(
        "[[step]]\nname = \"b\"\nfindings = \"a\"\nresult = \"a\"\ngate = true\n",
        "`gate` is set, but the host takes",
    );
    let gated = FIRST.replace("mode = \"plan\"", "mode = \"plan\"\ngate = true");
    let error = FlowDefinition::parse(&gated, "f").unwrap_err();
    assert_eq!(error.to_string(), "f:6: step `a`: `gate` cannot stand before the first step");
    assert!(FlowDefinition::parse("name = \"f\"\ndescription = \"x\"\n", "f").is_err());
    assert!(FlowDefinition::parse(FIRST, "f").is_ok());
}

#[test]
fn a_loop_has_a_beginning_a_goal_and_a_bound() {
    let check = |keys: &str, expected: &str| {
        let error = read(&format!("{LOOK}{}", mend(keys)), ModeSource::User).unwrap_err();
        assert_eq!(format!("{error}; {}", error.remedy), format!("/d/f.toml:10: step `mend`: {expected}"));
    };
    let bound = "write how many rounds there are at most, from 1 to 10, as in `most = 3`";
    check(
        "repeat = { from = \"look\", until = \"no findings\" }",
        &format!("`repeat.most` is missing: a loop has a bound; {bound}"),
    );
    for most in ["0", "11", "-1"] {
        let keys = format!("repeat = {{ from = \"look\", until = \"no findings\", most = {most} }}");
        check(&keys, &format!("`repeat.most` is {most}; {bound}"));
    }
    check(
        "repeat = { from = \"lok\", until = \"no findings\", most = 2 }",
        "`repeat.from` is `lok`, which is no step (did you mean `look`?); name this step or one above it",
    );
    check(
        "repeat = { until = \"no findings\", most = 2 }",
        "`repeat.from` is missing; name the step to go back to, as in `from = \"review\"`",
    );
    check(
        "repeat = { from = \"look\", most = 2 }",
        "`repeat.until` is missing: nothing would end the loop; write `until = \"no findings\"` or `until = \"no changes\"`",
    );
    check(
        "repeat = { from = \"mend\", until = \"no findings\", most = 2 }",
        "`repeat.until` is `no findings`, but no step of the loop could tell; let the loop hold a step in mode `review`, or one with `findings`",
    );
    let error = read(&format!("{LOOK}{}", mend("repeat = { until = \"rain\", most = 2 }")), ModeSource::User);
    assert!(error.unwrap_err().to_string().contains("expected `no findings` or `no changes`"));
    let again = "repeat = { from = \"look\", until = \"no changes\", most = 2 }";
    let twice = format!("{LOOK}{}\n[[step]]\nname = \"more\"\nmode = \"execute\"\n{again}\n", mend(again));
    let error = read(&twice, ModeSource::User).unwrap_err().to_string();
    assert!(
        error.contains("step `more`: `repeat` goes back across the loop that ends with `mend`"),
        "{error}"
    );
    let good = read(&format!("{LOOK}{}", mend(again)), ModeSource::User).unwrap();
    let terms = StepLoop { from: "look".into(), until: LoopGoal::NoChanges, most: 2 };
    assert_eq!(good.loop_from(0), Some((1, &terms)));
    assert_eq!(good.name, "f", "the file's own name stands for one that is not written");
}

#[test]
fn steps_fit_the_modes_and_flows_there_are() {
    let check = |text: &str, expected: &str| {
        let error = read(text, ModeSource::User).unwrap_err();
        let told = format!("{error}; {}", error.remedy);
        assert!(told.contains(expected), "{text}: {told}");
    };
    let first = |mode: &str| format!("description = \"x\"\n[[step]]\nname = \"a\"\nmode = \"{mode}\"\n");
    check(
        &first("exceute"),
        "f.toml:4: step `a`: `mode` names `exceute`, which is no mode (did you mean `execute`?)",
    );
    check(&first("code"), "`code`, which is another name of `execute`; write `execute`");
    check(&first("f"), "`mode` names the flow `f` itself");
    check(&first("taken"), "names `taken`, which has several steps of its own");
    check(&first("orchestrate"), "names `orchestrate`, which has several steps of its own");
    check(
        &format!("name = \"g\"\n{}", first("plan")),
        "f.toml:1: `name` is `g` but the file is called `f.toml`",
    );
    check(
        &format!("#file taken\n{}", first("plan")),
        "`name` `taken` already names a flow; give it another name",
    );
    check(&format!("#file build\n{}", first("plan")), "`name` `build` already names the mode `execute`");
    let after = |keys: &str| format!("{LOOK}{}", mend(keys));
    check(
        &after("context = [\"look/revew.json\"]"),
        "`context` has `revew.json`, which `look` does not make (did you mean `review.json`?); it makes: review.json, summary.md",
    );
    check(
        &after("context = [\"loook/review.json\"]"),
        "`loook`, which is no run before it (did you mean `look`?)",
    );
    check(&after("deliver = [\"plan.md\"]"), "`deliver` has `plan.md`, which `mend` does not make");
    let planned = "description = \"x\"\n[[step]]\nname = \"a\"\nmode = \"plan\"\n";
    check(
        &format!("{planned}{}", mend("context = [\"a/plan.json\"]")),
        "needs `plan.json`, which `a` does not always make; write `plan.json?`",
    );
    check(&format!("{planned}{}", mend("when = \"findings\"")), "no step before it looks for any");
    let looked = |of: &str, result: &str| {
        let step = format!("[[step]]\nname = \"again\"\nfindings = \"{of}\"\nresult = \"{result}\"\n");
        format!("{}\n{step}", after(""))
    };
    check(&looked("mend", "look"), "`findings` names `mend`, which makes no `review.json`");
    check(&looked("look", "look"), "`result` names `look`, which changes no files");
    assert!(read(&looked("look", "mend"), ModeSource::User).is_ok());
    let left_out = format!(
        "{}\n[[step]]\nname = \"last\"\nmode = \"execute\"\ncontext = [\"mend/summary.md\"]\n",
        after("when = \"findings\"")
    );
    check(&left_out, "needs `mend/summary.md`, but that step can be left out; write `mend/summary.md?`");
    assert!(read(&left_out.replace("summary.md", "summary.md?"), ModeSource::User).is_ok());
}

#[test]
fn inv_15_a_flow_of_a_repository_only_narrows() {
    let check = |text: &str, expected: &str| {
        let error = read(text, ModeSource::Project).unwrap_err();
        let told = format!("{error}; {}", error.remedy);
        assert!(told.contains(expected), "{text}: {told}");
        if !text.contains("#file") {
            assert!(!read(text, ModeSource::User).is_err_and(|e| e == error), "the user may: {text}");
        }
    };
    let after = |keys: &str| format!("{LOOK}{}", mend(keys));
    check(&after("gate = true\ntests_may_change = true"), "f.toml:11: step `mend`: `tests_may_change`");
    check(
        &after("gate = false"),
        "f.toml:10: step `mend`: `gate` is missing before the first step that changes files",
    );
    check(&after(""), "write `gate = true`");
    check(
        "description = \"x\"\n[[step]]\nname = \"a\"\nmode = \"execute\"\n",
        "put a step that only reads before it",
    );
    check(&format!("#file taken\n{}", after("gate = true")), "give it another name, or put it into your own");
    check(&format!("#file plan\n{}", after("gate = true")), "already names the mode `plan`");
    check(&format!("#file mine\n{}", after("gate = true")), "already names the mode `mine`");
    let sneak = "[[step]]\nname = \"sneak\"\nmode = \"execute\"\n";
    check(
        &format!("{}{sneak}", after("gate = true\nwhen = \"findings\"")),
        "step `sneak`: `gate` is missing before a step that changes files: the gate above it is left out",
    );
    let mine = after("gate = true").replace("\"execute\"", "\"mine\"");
    check(&mine, "`mode` takes over the user's own mode `mine`");
    let flow = read(&after("gate = true"), ModeSource::Project).unwrap();
    assert_eq!(flow.source(), ModeSource::Project);
    // A repository's mode keeps nobody from a flow of their own.
    assert!(read(&format!("#file theirs\n{LOOK}"), ModeSource::User).is_ok());
    check(&format!("#file theirs\n{LOOK}"), "already names the mode `theirs`");
}

proptest! {
    #[test]
    fn parsing_never_panics(text in "\\PC{0,200}", tail in "[a-z\\[\\]\"=\\n /?.{},0-9]{0,120}") {
        for text in [text.clone(), format!("{FIRST}{tail}"), format!("{LOOK}{}", mend(&tail)), format!("{LOOK}{text}")] {
            let _ = FlowDefinition::parse(&text, "f");
            let _ = read(&text, ModeSource::Project);
        }
    }
}
