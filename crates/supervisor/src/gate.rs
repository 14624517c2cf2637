//! The contracts of steps: what ends each, and which tools are its own. They close a step only where that is asked for.

use holon_core::policy::ToolClass;

use crate::graph::{GraphNode, NodeKind};
use ToolClass::{Ask, Control, Delegate, Exec, Read, Search, Unknown, Write};

/// What a step allows, forbids, and how long it may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepContract {
    /// Let through.
    pub may: &'static [ToolClass],
    /// Not let through.
    pub may_not: &'static [ToolClass],
    /// Rounds without result before the step is given up.
    pub rounds: u32,
    /// Calls without result before the step is given up; 0 for none at all.
    pub calls: u32,
}

/// The contract of a kind of step.
pub const fn contract(kind: NodeKind) -> StepContract {
    match kind {
        NodeKind::Inspect => {
            StepContract { may: &[Read, Search], may_not: &[Write, Exec], rounds: 5, calls: 8 }
        }
        NodeKind::Search => {
            StepContract { may: &[Search, Read], may_not: &[Write, Exec], rounds: 4, calls: 6 }
        }
        NodeKind::Edit => StepContract { may: &[Read, Write, Exec], may_not: &[], rounds: 8, calls: 12 },
        NodeKind::Verify => StepContract { may: &[Exec, Read], may_not: &[Write], rounds: 5, calls: 8 },
        NodeKind::Summarize => StepContract {
            may: &[],
            may_not: &[Read, Search, Write, Exec, Ask, Delegate],
            rounds: 2,
            calls: 0,
        },
        NodeKind::Delegate => {
            StepContract { may: &[Delegate], may_not: &[Read, Search, Write, Exec, Ask], rounds: 3, calls: 4 }
        }
        NodeKind::Fallback => StepContract { may: &[Read, Write, Exec], may_not: &[], rounds: 4, calls: 6 },
    }
}

/// What a contract says about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContractRuling {
    /// It is what the step is for.
    Fits,
    /// It is not, and does no harm.
    Beside,
    /// It may not happen in this step.
    Against,
    /// The step has had its calls.
    Spent,
}

/// Decides about a class of tools in a step.
pub(crate) fn rule(node: &GraphNode, class: ToolClass) -> ContractRuling {
    let contract = contract(node.kind);
    let fits = |class: ToolClass| contract.may.contains(&class);
    let against = |class: ToolClass| contract.may_not.contains(&class);
    match class {
        Control => ContractRuling::Fits,
        // Nobody knows what it does: it must be allowed to do anything.
        Unknown if against(Write) || against(Exec) || !(fits(Write) && fits(Exec)) => ContractRuling::Against,
        class if against(class) => ContractRuling::Against,
        _ if contract.calls > 0 && node.calls >= contract.calls => ContractRuling::Spent,
        Unknown => ContractRuling::Fits,
        class if fits(class) => ContractRuling::Fits,
        _ => ContractRuling::Beside,
    }
}

/// The tools a step is for, in words.
pub(crate) fn suggested(kind: NodeKind) -> String {
    let names: Vec<String> = contract(kind).may.iter().map(ToString::to_string).collect();
    if names.is_empty() { "none, write text".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [ToolClass; 8] = [Read, Search, Write, Exec, Ask, Delegate, Control, Unknown];

    /// For each class in the order of `ALL`: y fits, n against, - beside.
    fn check(kind: NodeKind, expect: &str, rounds: u32, calls: u32) {
        let mut node = GraphNode::new("node-01", kind, "t");
        let letter = |ruling| match ruling {
            ContractRuling::Fits => 'y',
            ContractRuling::Beside => '-',
            ContractRuling::Against => 'n',
            ContractRuling::Spent => 's',
        };
        let found: String = ALL.iter().map(|class| letter(rule(&node, *class))).collect();
        assert_eq!(found, expect, "{kind:?}");
        let contract = contract(kind);
        assert_eq!((contract.rounds, contract.calls), (rounds, calls), "{kind:?}");
        node.calls = calls;
        let spent: String = ALL.iter().map(|class| letter(rule(&node, *class))).collect();
        let expect: String = match calls {
            0 => expect.to_owned(),
            _ => ALL
                .iter()
                .zip(expect.chars())
                .map(|(class, c)| if c == 'n' || *class == Control { c } else { 's' })
                .collect(),
        };
        assert_eq!(spent, expect, "{kind:?} spent");
    }

    #[test]
    fn the_table_of_contracts() {
        check(NodeKind::Inspect, "yynn--yn", 5, 8);
        check(NodeKind::Search, "yynn--yn", 4, 6);
        check(NodeKind::Edit, "y-yy--yy", 8, 12);
        check(NodeKind::Verify, "y-ny--yn", 5, 8);
        check(NodeKind::Summarize, "nnnnnnyn", 2, 0);
        check(NodeKind::Delegate, "nnnnnyyn", 3, 4);
        check(NodeKind::Fallback, "y-yy--yy", 4, 6);
    }

    #[test]
    fn tools_are_suggested_in_words() {
        assert_eq!(suggested(NodeKind::Verify), "exec, read");
        assert_eq!(suggested(NodeKind::Summarize), "none, write text");
    }
}
