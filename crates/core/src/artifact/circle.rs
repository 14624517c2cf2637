//! Things that wait for each other: whether there is an order in which all of them get their turn.

use std::collections::{BTreeMap, BTreeSet};

/// One that can never start, because it waits for itself, directly or through others; `None` when there is an order.
pub(super) fn waits_for_itself<'a>(all: impl Iterator<Item = (&'a str, &'a [String])>) -> Option<&'a str> {
    let mut waiting: BTreeMap<&str, BTreeSet<&str>> =
        all.map(|(id, on)| (id, on.iter().map(String::as_str).collect())).collect();
    loop {
        let ready: Vec<&str> = waiting.iter().filter(|(_, on)| on.is_empty()).map(|(id, _)| *id).collect();
        if ready.is_empty() {
            return waiting.keys().next().copied();
        }
        for id in ready {
            waiting.remove(id);
            waiting.values_mut().for_each(|on| {
                on.remove(id);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_waits_for_itself_is_named() {
        let check = |edges: &[(&'static str, &[&str])], expected: Option<&str>| {
            let owned: Vec<(&str, Vec<String>)> =
                edges.iter().map(|(id, on)| (*id, on.iter().map(|id| (*id).to_owned()).collect())).collect();
            assert_eq!(waits_for_itself(owned.iter().map(|(id, on)| (*id, on.as_slice()))), expected);
        };
        check(&[], None);
        check(&[("a", &[]), ("b", &["a"]), ("c", &["a", "b"])], None);
        check(&[("a", &["a"])], Some("a"));
        check(&[("a", &[]), ("b", &["c"]), ("c", &["b"])], Some("b"));
    }
}
