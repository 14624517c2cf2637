//! Uniform differences in indentation between a file and what a model remembers of it.

/// How a model's indentation becomes the file's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum IndentShift {
    /// They are the same.
    None,
    /// The file has this in front of the model's.
    Deeper(String),
    /// The model has this in front of the file's.
    Shallower(String),
    /// Each level is written otherwise, and there may be more or fewer of them.
    Rewritten {
        /// The model's level.
        from: &'static str,
        /// The file's level.
        to: &'static str,
        /// How many levels deeper the file is.
        by: isize,
    },
}

/// Ways to write a level, the model's and the file's, the usual ones first.
const LEVELS: [(&str, &str); 10] = [
    ("    ", "\t"),
    ("  ", "\t"),
    ("\t", "    "),
    ("\t", "  "),
    ("  ", "    "),
    ("    ", "  "),
    ("        ", "\t"),
    ("\t", "        "),
    ("   ", "\t"),
    ("\t", "   "),
];

impl IndentShift {
    /// The one difference that explains all pairs of lines (the file's, the model's), if there is one. Blank lines say nothing.
    pub(super) fn between<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Option<Self> {
        let pairs: Vec<_> = pairs
            .filter(|(file, model)| !file.trim().is_empty() && !model.trim().is_empty())
            .map(|(file, model)| (indentation(file), indentation(model)))
            .collect();
        let Some((file, model)) = pairs.first() else { return Some(Self::None) };
        if pairs.iter().all(|(file, model)| file == model) {
            return Some(Self::None);
        }
        if let Some(more) = file.strip_suffix(model)
            && pairs.iter().all(|(file, model)| file.strip_prefix(more) == Some(model))
        {
            return Some(Self::Deeper(more.to_owned()));
        }
        if let Some(more) = model.strip_suffix(file)
            && pairs.iter().all(|(file, model)| model.strip_prefix(more) == Some(file))
        {
            return Some(Self::Shallower(more.to_owned()));
        }
        let rewritten = || LEVELS.iter().filter_map(|(from, to)| rewritten(&pairs, from, to));
        rewritten()
            .find(|shift| matches!(shift, Self::Rewritten { by: 0, .. }))
            .or_else(|| rewritten().next())
    }

    /// A model's line, indented as the file would have it.
    pub(super) fn apply(&self, line: &str) -> String {
        if line.trim().is_empty() && *self != Self::None {
            return String::new();
        }
        match self {
            Self::None => line.to_owned(),
            Self::Deeper(more) => format!("{more}{line}"),
            Self::Shallower(more) => match line.strip_prefix(more.as_str()) {
                Some(rest) => rest.to_owned(),
                None => line.trim_start_matches([' ', '\t']).to_owned(),
            },
            Self::Rewritten { from, to, by } => {
                let mut rest = line;
                let mut levels = *by;
                while let Some(after) = rest.strip_prefix(from) {
                    rest = after;
                    levels += 1;
                }
                format!("{}{rest}", to.repeat(usize::try_from(levels).unwrap_or(0)))
            }
        }
    }
}

fn rewritten(pairs: &[(&str, &str)], from: &'static str, to: &'static str) -> Option<IndentShift> {
    let mut difference = None;
    for (file, model) in pairs {
        let by = levels(file, to)? - levels(model, from)?;
        if *difference.get_or_insert(by) != by {
            return None;
        }
    }
    Some(IndentShift::Rewritten { from, to, by: difference? })
}

fn levels(indentation: &str, unit: &str) -> Option<isize> {
    let count = indentation.len() / unit.len();
    (unit.repeat(count) == indentation).then(|| isize::try_from(count).ok()).flatten()
}

/// The spaces and tabs a line begins with.
pub(super) fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    fn check(file: &str, model: &str, new: &str, expect: Option<&str>) {
        let shift = IndentShift::between(file.lines().zip(model.lines()));
        let new = shift.map(|shift| new.lines().map(|line| shift.apply(line)).collect::<Vec<_>>().join("\n"));
        assert_eq!(new.as_deref(), expect, "{file:?} {model:?}");
    }

    #[test]
    fn a_uniform_shift_is_found_and_applied() {
        check("a\n  b", "a\n  b", "  c", Some("  c"));
        check("    a\n      b", "a\n  b", "c\n  d\n\ne", Some("    c\n      d\n\n    e"));
        check("a\n  b", "  a\n    b", "  c\n    d\ne", Some("c\n  d\ne"));
        check("\ta\n\t\tb", "    a\n        b", "    c\n            d", Some("\tc\n\t\t\td"));
        check("    a\n        b", "\ta\n\t\tb", "\t\t\td", Some("            d"));
        check("    a\n        b", "  a\n    b", "      d", Some("            d"));
        check("\t\ta\n\t\t\tb", "a\n    b", "c\n    d", Some("\t\tc\n\t\t\td"));
        check("\ta\n\n\tb", "a\n\nb", "c", Some("\tc"));
    }

    #[test]
    fn other_differences_are_none() {
        check("  a\n  b", "a\n  b", "c", None);
        check(" a\n   b", "  a\n      b", "c", None);
    }
}
