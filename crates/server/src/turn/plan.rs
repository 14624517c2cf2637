//! The supervisor's plan as its decisions change it, so that every `graph` event holds all of it.

use serde_json::Value;

/// The plan so far.
#[derive(Debug, Default)]
pub(crate) struct SupervisorPlan {
    graph: Option<Value>,
}

impl SupervisorPlan {
    /// Takes decisions in; the whole plan when they changed it.
    pub(crate) fn take(&mut self, decisions: &[Value]) -> Option<&Value> {
        let mut changed = false;
        for decision in decisions.iter().filter(|decision| decision["effect"] == "graph") {
            changed |= self.change(decision).is_some();
        }
        self.graph.as_ref().filter(|_| changed)
    }

    fn change(&mut self, decision: &Value) -> Option<()> {
        let kind = decision["change"].as_str()?;
        if matches!(kind, "init" | "replaced") {
            self.graph = Some(decision["graph"].clone());
            return Some(());
        }
        let graph = self.graph.as_mut()?;
        match kind {
            "node" => {
                let node = graph["nodes"].get_mut(decision["node"].as_str()?)?;
                node["status"] = decision["status"].clone();
                graph["cursor"] = decision["cursor"].clone();
                graph["progress"] = decision["progress"].clone();
            }
            "branch" => graph["cursor"]["branchId"] = decision["branch"].clone(),
            "ended" => graph["status"] = if decision["done"] == true { "done" } else { "failed" }.into(),
            "paused" => graph["status"] = "paused".into(),
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn every_change_gives_the_whole_plan() {
        let mut plan = SupervisorPlan::default();
        let node = json!({"effect": "graph", "change": "node", "node": "node-01", "status": "done",
            "cursor": {"branchId": "main", "nodeId": "node-02"}, "progress": 50});
        assert_eq!(plan.take(std::slice::from_ref(&node)), None, "there is no plan yet");
        let graph = json!({"graphId": "graph-1", "status": "running", "nodes": {"node-01": {"status": "running"}},
            "cursor": {"branchId": "main", "nodeId": "node-01"}});
        let init = json!({"effect": "graph", "change": "init", "graph": graph});
        assert_eq!(plan.take(&[json!({"effect": "gate"}), init]), Some(&graph));
        let moved = plan.take(&[node]).unwrap();
        assert_eq!(moved["nodes"]["node-01"]["status"], "done");
        assert_eq!((&moved["cursor"]["nodeId"], &moved["progress"]), (&json!("node-02"), &json!(50)));
        let branch = json!({"effect": "graph", "change": "branch", "branch": "fallback-1", "reason": "x"});
        assert_eq!(plan.take(&[branch]).unwrap()["cursor"]["branchId"], "fallback-1");
        let end = |done: bool| json!({"effect": "graph", "change": "ended", "done": done});
        assert_eq!(plan.take(&[end(false)]).unwrap()["status"], "failed");
        assert_eq!(plan.take(&[end(true)]).unwrap()["status"], "done");
        assert_eq!(plan.take(&[json!({"effect": "graph", "change": "paused"})]).unwrap()["status"], "paused");
        assert_eq!(plan.take(&[]), None);
        assert_eq!(plan.take(&[json!({"effect": "graph", "change": "unheard of"})]), None);
    }
}
