//! Names of tools: in policy, and on the wire to a model.

/// Longer names are no names.
const MOST_NAME: usize = 128;

/// Most characters of a name on the wire.
const MOST_WIRE: usize = 64;

/// The name in policy: `mcp:SERVER/TOOL`.
pub(super) fn policy_name(server: &str, tool: &str) -> String {
    format!("mcp:{server}/{tool}")
}

/// Whether a server may be called this: what it is called begins every name of its tools.
pub(super) fn is_server_name(name: &str) -> bool {
    (1..=32).contains(&name.len()) && name.chars().all(is_wire_safe)
}

/// Whether a tool may be called this; a server can choose it freely.
pub(super) fn is_tool_name(name: &str) -> bool {
    (1..=MOST_NAME).contains(&name.len()) && name.chars().all(|c| c.is_alphanumeric() || "_-./:".contains(c))
}

fn is_wire_safe(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// The name on the wire: `mcp__SERVER__TOOL` where that is possible and free, else a shorter form of it that no other tool has.
pub(super) fn wire_name(server: &str, tool: &str, taken: impl Fn(&str) -> bool) -> String {
    let full = format!("mcp__{server}__{tool}");
    let safe: String = full.chars().map(|c| if is_wire_safe(c) { c } else { '_' }).collect();
    if safe == full && safe.len() <= MOST_WIRE && !taken(&safe) {
        return safe;
    }
    let policy = policy_name(server, tool);
    // Sixteen million names per attempt; the second one is hardly ever needed.
    (0_u32..)
        .map(|attempt| {
            let mark = format!("_{:06x}", digest(policy.as_bytes(), attempt) & 0xff_ffff);
            let kept: String = safe.chars().take(MOST_WIRE - mark.len()).collect();
            kept + &mark
        })
        .find(|name| !taken(name))
        .unwrap_or(safe)
}

/// FNV-1a: the same on every machine and in every run, so that recordings stay valid.
fn digest(bytes: &[u8], attempt: u32) -> u64 {
    let seeded = attempt.to_le_bytes();
    let all = seeded.iter().chain(bytes);
    all.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_names_stay_readable() {
        assert_eq!(wire_name("forge", "list_issues", |_| false), "mcp__forge__list_issues");
        let odd = wire_name("forge", "a.b", |_| false);
        assert!(odd.starts_with("mcp__forge__a_b_"), "{odd}");
        assert_ne!(odd, wire_name("forge", "a/b", |_| false));
    }

    #[test]
    fn names_are_checked() {
        for (name, expect) in [("a", true), ("", false), ("a/b", false), ("a b", false), ("é", false)] {
            assert_eq!(is_server_name(name), expect, "{name}");
        }
        for (name, expect) in
            [("a", true), ("a/b.c", true), ("", false), ("a b", false), ("a\nb", false), ("a*", false)]
        {
            assert_eq!(is_tool_name(name), expect, "{name}");
        }
    }

    proptest! {
        #[test]
        fn wire_names_are_safe_and_never_the_same(tools in prop::collection::vec("[a-b./_-]{1,3}|[aé]{60,70}", 0..30)) {
            let mut names = BTreeSet::new();
            let tools: BTreeSet<String> = tools.into_iter().collect();
            for tool in &tools {
                let name = wire_name("s", tool, |name| names.contains(name));
                prop_assert!(name.len() <= 64 && name.chars().all(is_wire_safe), "{}", name);
                prop_assert!(names.insert(name));
            }
        }
    }
}
