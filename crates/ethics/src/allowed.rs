//! Licences a person takes besides those that fit the project.

use crate::licence::{self, LicenceClass};
use crate::spdx::{self, LicenceExpression};

/// Whether a declared licence can be kept by what is allowed by name and what fits the project anyway.
///
/// Only SPDX expressions count: a text or a usual name is recognised well enough to warn of, and not to allow.
pub(crate) fn is_allowed(declared: &str, project: Option<LicenceClass>, allowed: &[String]) -> bool {
    let expression = || spdx::parse(declared.trim());
    !allowed.is_empty() && expression().is_some_and(|expression| holds(&expression, project, allowed))
}

fn holds(expression: &LicenceExpression, project: Option<LicenceClass>, allowed: &[String]) -> bool {
    match expression {
        LicenceExpression::Licence { id, exception } => {
            let whole = exception.as_ref().map_or_else(|| id.clone(), |with| format!("{id} WITH {with}"));
            let fits = |class| licence::fits(class, project, false).is_none();
            allowed.iter().any(|one| spelled(one) == spelled(&whole))
                || licence::class_of(&whole).is_some_and(fits)
        }
        LicenceExpression::And(parts) => parts.iter().all(|part| holds(part, project, allowed)),
        LicenceExpression::Or(parts) => parts.iter().any(|part| holds(part, project, allowed)),
    }
}

/// One spelling for identifiers that mean the same: letter case, and the former names of the GNU licences.
fn spelled(id: &str) -> String {
    let id = id.to_lowercase();
    let (name, exception) = id.split_once(" with ").map_or((id.as_str(), ""), |(name, with)| (name, with));
    let gnu = ["gpl-", "lgpl-", "agpl-", "gfdl-"].iter().any(|start| name.starts_with(start));
    let name = match name.strip_suffix('+') {
        Some(plain) => format!("{plain}-or-later"),
        None if gnu && !name.ends_with("-only") && !name.ends_with("-or-later") => format!("{name}-only"),
        None => name.to_owned(),
    };
    if exception.is_empty() { name } else { format!("{name} with {exception}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_allowed_and_nothing_else() {
        let check = |declared: &str, allowed: &[&str], expect: bool| {
            let allowed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
            let found = is_allowed(declared, Some(LicenceClass::Permissive), &allowed);
            assert_eq!(found, expect, "{declared} by {allowed:?}");
        };
        check("GPL-3.0-only", &["GPL-3.0-only"], true);
        check("gpl-3.0", &["GPL-3.0-only"], true);
        check("GPL-3.0+", &["GPL-3.0-or-later"], true);
        check("GPL-2.0-only", &["GPL-3.0-only"], false);
        check("GPL-3.0-or-later", &["GPL-3.0-only"], false);
        check("AGPL-3.0-only", &["GPL-3.0-only"], false);
        check("GPL-2.0-only WITH Classpath-exception-2.0", &["GPL-2.0-only"], false);
        check(
            "GPL-2.0-only WITH Classpath-exception-2.0",
            &["GPL-2.0-only WITH Classpath-exception-2.0"],
            true,
        );
        // Every part of one that asks for several must be fine, one of those to choose from is enough.
        check("MIT AND MPL-2.0", &["MPL-2.0"], true);
        check("GPL-3.0-only AND MPL-2.0", &["MPL-2.0"], false);
        check("AGPL-3.0-only OR MPL-2.0", &["MPL-2.0"], true);
        check("LicenseRef-Acme", &["LicenseRef-Acme"], true);
        // A usual name or a text is no identifier.
        check("GNU General Public License v3", &["GPL-3.0-only"], false);
        check("GPL-3.0-only", &[], false);
    }
}
