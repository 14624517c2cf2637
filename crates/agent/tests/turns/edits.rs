//! Tools that change files, in each of the three formats.

use holon_agent::{AgentConversation, EditFormat, TurnEndReason};
use holon_hands::{FileExpectation, ToolRequest};
use holon_model::{Cassette, Normaliser, ReplayProvider, TextTools};

use crate::memory::InMemoryExecutor;
use crate::stage::{TurnStage, settings};

const MAIN: &str = "fn main() {\n    println!(\"helo\");\n}\n";

#[test]
fn a_passage_is_replaced_only_in_the_file_that_was_read() {
    let hands = InMemoryExecutor::with(&[("main.rs", MAIN)]);
    let played = TurnStage::new(settings("execute"), &hands).play(
        "
- tools:
    - edit_file: { path: main.rs, old: helo, new: hello }
    - edit_file: { path: main.rs, old: absent text here, new: x }
    - edit_file: { path: nope.rs, old: a, new: b }
    - write_file: { path: new.txt, content: \"a\\nb\\n\" }
    - delete_file: { path: new.txt }
    - delete_file: { path: new.txt }
- expect: { last: ['main.rs: changed at line 2', 'there is no such file; write_file'] }
  tool: finish
  args: { summary: Mended. }
",
    );
    assert_eq!(hands.file("main.rs").unwrap(), MAIN.replace("helo", "hello"));
    let expected = hands.deeds().into_iter().find_map(|deed| match deed {
        ToolRequest::Store { path, expect, .. } if path == "main.rs" => Some(expect),
        _ => None,
    });
    assert!(matches!(expected, Some(FileExpectation::Sha256(_))), "{expected:?}");
    let results = played.results();
    assert_eq!(results[3], "new.txt: new, 2 lines");
    assert_eq!(results[4], "new.txt: deleted");
    let changed = &played.conversation.facts.changed;
    assert!(changed["main.rs"].before.is_some() && changed["main.rs"].after.is_some());
    assert_eq!(changed["new.txt"].after, None);
}

#[test]
fn lines_that_stand_for_others_do_not_replace_them() {
    let hands = InMemoryExecutor::with(&[("main.rs", MAIN)]);
    let played = TurnStage::new(settings("execute"), &hands).play(
        "
- tools:
    - write_file: { path: main.rs, content: \"// ... rest of the file unchanged ...\\n\" }
    - write_file: { path: notes.md, content: \"# the rest of the plan\\n\" }
- expect: { last: ['nothing was written', 'edit_file'] }
  tool: finish
  args: { summary: Mended. }
",
    );
    assert_eq!(hands.file("main.rs").unwrap(), MAIN);
    assert_eq!(played.results()[1], "notes.md: new, 1 lines");
}

#[test]
fn a_patch_changes_all_its_files_or_none() {
    let hands = InMemoryExecutor::with(&[("a.txt", "one\ntwo\n"), ("b.txt", "bee\n"), ("c.txt", "sea\n")]);
    let mut settings = settings("execute");
    settings.edit_format = EditFormat::ApplyPatch;
    let played = TurnStage::new(settings, &hands).play(
        "
- expect: { tools: [ls, read_file, grep, apply_patch, execute, job, delegate, finish] }
  tools:
    - apply_patch:
        patch: |
          *** Begin Patch
          *** Update File: a.txt
          @@
           one
          -two
          +2
          *** Add File: d.txt
          +dee
          *** Delete File: c.txt
          *** Update File: b.txt
          *** Move to: e.txt
          @@
          -bee
          +be
          *** End Patch
    - apply_patch:
        patch: |
          *** Begin Patch
          *** Update File: a.txt
          @@
          -2
          +two
          *** Delete File: zzz.txt
          *** End Patch
- expect: { last: ['no file is changed', 'zzz.txt: there is no such file'] }
  tool: finish
  args: { summary: Patched. }
",
    );
    assert_eq!(hands.file("a.txt").unwrap(), "one\n2\n");
    assert_eq!((hands.file("b.txt"), hands.file("c.txt")), (None, None));
    assert_eq!((hands.file("d.txt").unwrap(), hands.file("e.txt").unwrap()), ("dee\n".into(), "be\n".into()));
    assert_eq!(played.results()[0], "applied\nM a.txt\nA d.txt\nD c.txt\nR b.txt → e.txt");
    assert_eq!(played.conversation.facts.changed.len(), 5);
}

#[test]
fn a_small_model_that_writes_fenced_json_completes_an_edit() {
    let hands = InMemoryExecutor::with(&[("main.rs", MAIN)]);
    let mut settings = settings("execute");
    settings.edit_format = EditFormat::WholeFile;
    let cassette = "
- expect: { contains: 'To call a tool, write only this' }
  text: |
    I look first.
    ```json
    {\"tool\": \"read_file\", \"arguments\": {\"path\": \"main.rs\"}}
    ```
- expect: { last: helo }
  text: |
    ```json
    {'tool': 'write_file', 'arguments': {'path': 'main.rs', 'content': 'fn main() {}\\n',}}
    ```
- text: |
    ```json
    {\"tool\": \"finish\", \"arguments\": {\"summary\": \"Made it empty.\"}}
    ```
";
    let replay = ReplayProvider::new(cassette.parse::<Cassette>().unwrap(), Normaliser::default());
    let model = TextTools::new(replay, false);
    let played = TurnStage::new(settings, &hands).with(
        &model,
        AgentConversation::default(),
        Some("Empty it."),
        Vec::new(),
    );
    assert!(matches!(played.ended.reason, TurnEndReason::Finished(_)), "{:?}", played.ended);
    assert_eq!(hands.file("main.rs").unwrap(), "fn main() {}\n");
    assert_eq!(hands.file("/holon/output/summary.md").unwrap(), "Made it empty.\n");
}
