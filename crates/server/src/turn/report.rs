//! What the supervisor came to, kept after every turn and told to whoever asks with `~supervisor`.

use std::fmt::Write as _;

use holon_agent::SupervisionSession;
use serde_json::{Value, json};

use crate::words::ReplyLanguage;

/// The name under which it is kept.
pub(crate) const REPORT: &str = "supervisor";
/// Decisions told.
pub(crate) const DECISIONS: usize = 12;

/// What is kept of a turn's supervisor.
pub(crate) fn kept(supervision: &SupervisionSession, turn: u64) -> Value {
    let mut value = supervision.summary();
    let steps = supervision.state().graph().map(|graph| {
        let step =
            |node: Value| json!({"title": node["title"], "type": node["type"], "status": node["status"]});
        graph.steps().map(|node| step(json!(node))).collect::<Vec<Value>>()
    });
    value["steps"] = json!(steps);
    value["turn"] = json!(turn);
    value
}

/// In words: where the last turn stood, and what was decided, the newest first.
pub(crate) fn words(kept: &Value, records: &[Value], language: ReplyLanguage) -> String {
    let pick = |chinese: &'static str, english: &'static str| language.pick(chinese, english);
    let text = |key: &str| kept[key].as_str().unwrap_or("–").to_owned();
    let number = |key: &str| kept[key].as_u64().unwrap_or(0);
    let mut out = format!("## {} {}\n\n", pick("监督报告：第", "Supervisor, turn"), number("turn"));
    let mut line = |name: String, value: String| {
        let _ = writeln!(out, "- {name}: {value}");
    };
    line(pick("级别", "Level"), text("level"));
    if kept["mode"] == "forced" {
        line(pick("计划的步骤", "Steps of the plan"), pick("不允许步骤外的调用", "closed to other calls"));
    }
    line(pick("阶段", "Phase"), text("phase"));
    line(pick("意图", "Intent"), format!("{} ({})", text("intent"), text("domain")));
    line(pick("轮数", "Rounds"), number("rounds").to_string());
    line(pick("接管次数", "Takeovers"), number("takeovers").to_string());
    line(pick("拦下的调用", "Calls held back"), number("blocked").to_string());
    line(pick("更正", "Corrections"), number("corrections").to_string());
    for (name, key) in [(pick("信号", "Signals"), "signals"), (pick("检查", "Checks"), "checks")] {
        let all = list(&kept[key]);
        if !all.is_empty() {
            line(name, all);
        }
    }
    if let Some(reason) = kept["stop"]["reason"].as_str() {
        line(pick("停止原因", "Stopped because"), reason.to_owned());
    }
    plan(&mut out, kept, language);
    if !records.is_empty() {
        let _ = writeln!(out, "\n### {}\n", pick("最近的决定", "Last decisions"));
        for record in records {
            let round = pick("轮", "round");
            let (event, reason) = (record["event"].as_str(), record["reason"].as_str());
            let (event, reason) = (event.unwrap_or("–"), reason.unwrap_or("–"));
            let _ = writeln!(out, "- {round} {}: {event} `{}`", record["round"], reason.replace('`', "'"));
        }
    }
    out
}

fn plan(out: &mut String, kept: &Value, language: ReplyLanguage) {
    let Some(steps) = kept["steps"].as_array().filter(|steps| !steps.is_empty()) else { return };
    let progress = kept["graph"]["progress"].as_u64().unwrap_or(0);
    let _ = writeln!(out, "\n### {} ({progress} %)\n", language.pick("任务图", "The plan"));
    for step in steps {
        let (mark, how) = match step["status"].as_str() {
            Some("done") => ('x', String::new()),
            Some("skipped") => ('x', language.pick("，已跳过", ", left out")),
            Some("failed") => (' ', language.pick("，失败", ", failed")),
            Some("running") => (' ', language.pick("，进行中", ", begun")),
            _ => (' ', String::new()),
        };
        let (title, kind) = (step["title"].as_str(), step["type"].as_str());
        let _ = writeln!(out, "- [{mark}] {} ({}){how}", title.unwrap_or("–"), kind.unwrap_or("–"));
    }
}

/// A list or a table of counts, in a line.
fn list(value: &Value) -> String {
    let one = |value: &Value| value.as_str().map_or_else(|| value.to_string(), |text| format!("`{text}`"));
    match value {
        Value::Array(all) => all.iter().map(one).collect::<Vec<_>>().join(", "),
        Value::Object(all) => {
            all.iter().map(|(name, count)| format!("{name} ×{count}")).collect::<Vec<_>>().join(", ")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_says_where_things_stand() {
        let kept = json!({"turn": 3, "level": "adaptive", "mode": "forced",
            "phase": "takeover", "rounds": 7, "takeovers": 1, "blocked": 2, "corrections": 1,
            "signals": {"no_progress": 2}, "checks": ["make test"], "intent": "edit", "domain": "critical_edit",
            "stop": {"reason": "a person has to look"}, "graph": {"progress": 40},
            "steps": [{"title": "Look", "type": "inspect", "status": "done"},
                      {"title": "Change", "type": "edit", "status": "running"},
                      {"title": "Test", "type": "verify", "status": "failed"}]});
        let records = [json!({"round": 6, "event": "recover", "reason": "takeover:no_progress"})];
        let english = words(&kept, &records, ReplyLanguage::English);
        for part in [
            "## Supervisor, turn 3",
            "Steps of the plan: closed to other calls",
            "no_progress ×2",
            "`make test`",
            "a person has to look",
            "The plan (40 %)",
            "- [x] Look (inspect)",
            "- [ ] Change (edit), begun",
            "- [ ] Test (verify), failed",
            "- round 6: recover `takeover:no_progress`",
        ] {
            assert!(english.contains(part), "{part}\n{english}");
        }
        assert!(words(&kept, &[], ReplyLanguage::Chinese).contains("计划的步骤: 不允许步骤外的调用"));
        assert!(!words(&json!({"mode": "free"}), &[], ReplyLanguage::English).contains("Steps of the plan"));
    }
}
