//! An agent that somebody describes in one file.

use crate::stage::{LAST_WORDS, ModelPart, RealAgentStage};

#[test]
fn an_agent_of_the_project_needs_one_file_only() {
    let Some(mut stage) =
        RealAgentStage::set("claude-code", ModelPart::new(&["echo two > b.txt"], LAST_WORDS))
    else {
        return;
    };
    let text = r#"
name = "mine"
description = "Claude Code my way"
kind = "exec"
events = "claude"
command = ["{program}", "-p", "{system}\n{prompt}", "--output-format", "stream-json", "--verbose", "--model", "{model}", "{mode}"]
env = { ANTHROPIC_BASE_URL = "{gateway}", ANTHROPIC_AUTH_TOKEN = "{token}", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = "1" }
find = { program = "claude", install = "npm install --global @anthropic-ai/claude-code", tested = ">=1.0" }
model = { wire = "messages" }
modes.rw.args = ["--permission-mode", "acceptEdits", "--allowedTools=Bash"]
"#;
    stage.env.write("work/repo/.holon/agents/mine.toml", text);
    stage
        .env
        .holon(["agents", "list"])
        .cwd(stage.repo.path())
        .run()
        .assert_code(0)
        .assert_stdout("Claude Code my way");
    stage.agent = "mine".into();
    let output = stage.run("execute", &[]).run();
    output.assert_code(0);
    assert!(stage.out("diff.patch").contains("+two"));
    assert_eq!(stage.manifest()["metadata"]["adapter"], "mine");
}
