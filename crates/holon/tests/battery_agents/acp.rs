//! Real agents that speak the Agent Client Protocol, driven by one adapter for all of them.

use holon_testkit::{assert_unchanged, tree_state};

use crate::stage::{LAST_WORDS, ModelPart, PLAN, RealAgentStage, is_installed};

/// Agents with the command that makes them speak it; opencode must be there, the others are tried where they are.
const SPEAKERS: [(&str, &[&str]); 4] = [
    ("opencode", &["--", "opencode", "acp"]),
    ("goose", &["--", "goose", "acp", "--with-builtin", "developer"]),
    ("gemini", &["--", "gemini", "--acp"]),
    ("qwen", &["--", "qwen", "--acp"]),
];

fn all() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    SPEAKERS.into_iter().filter(|(agent, _)| *agent == "opencode" || is_installed(agent))
}

fn staged(agent: &str, part: ModelPart) -> Option<RealAgentStage> {
    let mut stage = RealAgentStage::set(agent, part)?;
    stage.agent = "acp".into();
    Some(stage)
}

#[test]
fn execute_gives_a_patch_and_tells_what_was_done() {
    for (agent, command) in all() {
        let Some(stage) = staged(agent, ModelPart::new(&["echo two > b.txt"], LAST_WORDS)) else { continue };
        let before = tree_state(stage.repo.path());
        stage.run("execute", command).run().assert_code(0);
        assert_unchanged(&before, stage.repo.path());
        let patch = stage.out("diff.patch");
        assert!(patch.contains("+two"), "{agent}");
        // No state, no lock and no permission of the agent's own ends up among the changes.
        assert_eq!(
            patch.matches("diff --git ").count(),
            1,
            "{agent} left more than it was asked for:\n{patch}"
        );
        assert_eq!(stage.out("summary.md").trim(), LAST_WORDS, "{agent}");
        let events = stage.out("evidence/events.jsonl");
        for kind in ["tool_proposed", "tool_finished", "message_delta", "round_started", "usage"] {
            assert!(events.contains(&format!("\"type\":\"{kind}\"")), "{agent} tells no {kind}:\n{events}");
        }
        let manifest = stage.manifest();
        assert_eq!(manifest["metadata"]["adapter"], "acp", "{agent}");
        assert_eq!(manifest["metadata"]["sandbox"]["enforced"]["net_ns"], true, "{agent}");
        stage.env.assert_nothing_left();
    }
}

#[test]
fn inv_01_plan_changes_nothing() {
    for (agent, command) in all() {
        let part = ModelPart::new(&["echo two > b.txt; echo tried"], PLAN);
        let Some(stage) = staged(agent, part) else { continue };
        let before = tree_state(stage.repo.path());
        stage.run("plan", command).run().assert_code(0);
        assert_unchanged(&before, stage.repo.path());
        assert!(stage.out("plan.md").contains("## Verification"), "{agent}");
        assert!(stage.asked().to_lowercase().contains("read-only file system"), "{agent} did not try");
        assert!(!stage.env.work().join("out/diff.patch").exists(), "{agent}");
        stage.env.assert_nothing_left();
    }
}
