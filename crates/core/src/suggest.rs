//! The closest known name to one that was mistyped.

/// The candidate closest to `wrong`, if one is close enough to be what was meant.
pub fn closest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong: Vec<char> = wrong.to_lowercase().chars().take(64).collect();
    let limit = (wrong.len() / 3).clamp(1, 3);
    known
        .into_iter()
        .map(|name| (distance(&wrong, &name.to_lowercase().chars().take(64).collect::<Vec<_>>()), name))
        .filter(|(d, _)| *d <= limit)
        .min_by_key(|(d, name)| (*d, *name))
        .map(|(_, name)| name)
}

/// `" (did you mean \`x\`?)"`, or nothing: ready to be appended to a message.
pub fn hint<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    closest(wrong, known).map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

/// Edits (insert, delete, replace, swap of neighbours) between two words.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for (j, cb) in b.iter().enumerate() {
            let replace = last[j] + usize::from(ca != cb);
            let mut best = replace.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *ca == b[j - 1] && a[i - 1] == *cb {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        let names = ["execute", "plan", "architect", "review", "debug", "ethical", "orchestrate"];
        let check = |wrong: &str, expect: Option<&str>| assert_eq!(closest(wrong, names), expect, "{wrong}");
        check("exceute", Some("execute"));
        check("Plan", Some("plan"));
        check("paln", Some("plan"));
        check("reviewer", Some("review"));
        check("orchestrat", Some("orchestrate"));
        check("zzz", None);
        check("", None);
    }
}
