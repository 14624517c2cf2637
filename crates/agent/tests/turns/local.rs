//! The same turns with real hands: real files, real commands.

use std::fs;

use holon_agent::{AgentConversation, EditFormat, TurnEndReason};
use holon_hands::LocalExecutor;

use crate::stage::{TurnStage, settings};

#[test]
fn a_bug_is_found_mended_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let (work, out) = (folder.path().join("work"), folder.path().join("out"));
    fs::create_dir_all(work.join("src")).unwrap();
    fs::create_dir(&out).unwrap();
    fs::write(work.join("src/add.sh"), "add() { echo $(($1 - $2)); }\n").unwrap();
    fs::write(work.join("test.sh"), ". ./src/add.sh\n[ \"$(add 2 3)\" = 5 ] || { echo wrong; exit 1; }\n")
        .unwrap();
    let hands = LocalExecutor::new(&work).keep_output_in(folder.path().join("kept"));
    let mut settings = settings("execute");
    settings.output = out.display().to_string();
    let played = TurnStage::new(settings.clone(), &hands).play(
        "
- tools: [{ ls: { depth: 2 } }, { grep: { pattern: 'add\\(' } }, { glob: { pattern: '**/*.sh' } }, { execute: { command: sh test.sh } }]
- expect: { last: ['src/add.sh', '1:add()', 'exit code 1', wrong] }
  tools:
    - edit_file: { path: src/add.sh, old: '$1 - $2', new: '$1 + $2' }
    - execute: { command: sh test.sh && echo right }
    - execute: { command: 'cat; echo fed', background: true }
- expect: { last: ['src/add.sh: changed at line 1', 'right', 'job 1 started'] }
  tools:
    - job: { job: 1, input: \"hello\\n\" }
    - job: { job: 1, end: true }
    - delete_file: { path: test.sh }
    - write_file: { path: notes/new.md, content: '# New' }
- expect: { last: ['test.sh: deleted', 'notes/new.md: new'] }
  tool: finish
  args: { summary: Mended. }
",
    );
    assert!(matches!(played.ended.reason, TurnEndReason::Finished(_)), "{:?}", played.ended);
    assert_eq!(fs::read_to_string(work.join("src/add.sh")).unwrap(), "add() { echo $(($1 + $2)); }\n");
    assert_eq!(fs::read_to_string(out.join("summary.md")).unwrap(), "Mended.\n");
    assert!(!work.join("test.sh").exists() && work.join("notes/new.md").exists());
    // The same in one patch, in the next turn of the same conversation.
    settings.edit_format = EditFormat::ApplyPatch;
    let played = TurnStage::new(settings, &hands).go_on(
        "
- tool: apply_patch
  args:
    patch: |
      *** Begin Patch
      *** Update File: src/add.sh
      *** Move to: src/sum.sh
      @@
      -add() { echo $(($1 + $2)); }
      +sum() { echo $(($1 + $2)); }
      *** Delete File: notes/new.md
      *** End Patch
- { expect: { last: 'R src/add.sh → src/sum.sh' }, tool: finish, args: { summary: Renamed. } }
",
        AgentConversation::default(),
        Some("Rename it."),
        vec![],
    );
    assert!(matches!(played.ended.reason, TurnEndReason::Finished(_)), "{:?}", played.ended);
    assert!(fs::read_to_string(work.join("src/sum.sh")).unwrap().starts_with("sum()"));
    assert!(!work.join("notes/new.md").exists());
}
