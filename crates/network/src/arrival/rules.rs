//! What may not come in although its host may be read.

use super::package::PackageVersion;
use crate::permit::PackageFamily;
use crate::record::RefusalReason;

/// Rules of the user about packages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArrivalRules {
    /// How many days ago a version must have been published.
    pub min_age: u32,
    /// What never comes in.
    pub denied: Vec<DeniedPackage>,
}

/// A package that never comes in, or some versions of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeniedPackage {
    /// Its registry; any where none is named.
    pub family: Option<PackageFamily>,
    /// Its name.
    pub name: String,
    /// Its version; every one where none is named.
    pub version: Option<String>,
}

const DAY: i64 = 24 * 3600;

impl ArrivalRules {
    /// Whether a download may begin.
    pub fn judge_name(&self, package: &PackageVersion) -> Result<(), RefusalReason> {
        let denied = self.denied.iter().any(|denied| denied.is(package));
        if denied { Err(RefusalReason::DeniedPackage { package: package.to_string() }) } else { Ok(()) }
    }

    /// Whether a download may go on, given when it was published and the time, in seconds; a version of which nobody says when it
    /// was published is not old enough.
    pub fn judge_age(
        &self,
        package: &PackageVersion,
        published: Option<i64>,
        now: i64,
    ) -> Result<(), RefusalReason> {
        let old = published.is_some_and(|at| now.saturating_sub(at) >= i64::from(self.min_age) * DAY);
        if self.min_age == 0 || old {
            return Ok(());
        }
        Err(RefusalReason::YoungPackage { package: package.to_string(), days: self.min_age })
    }
}

impl DeniedPackage {
    /// Reads `[FAMILY:]NAME[@VERSION]`.
    pub fn parse(text: &str) -> Option<Self> {
        let families = [
            ("npm:", PackageFamily::Npm),
            ("pip:", PackageFamily::Python),
            ("cargo:", PackageFamily::Cargo),
            ("go:", PackageFamily::Go),
            ("maven:", PackageFamily::Maven),
        ];
        let text = text.trim();
        let named =
            families.iter().find_map(|(word, family)| Some((text.strip_prefix(word)?, Some(*family))));
        let (rest, family) = named.unwrap_or((text, None));
        // A scope begins with the sign that stands before a version.
        let (name, version) = match rest.rsplit_once('@') {
            Some((name, version)) if !name.is_empty() => (name, Some(version.to_owned())),
            _ => (rest, None),
        };
        let fine = !name.is_empty() && version.as_deref() != Some("") && !name.contains(char::is_whitespace);
        fine.then(|| Self { family, name: name.to_owned(), version })
    }

    fn is(&self, package: &PackageVersion) -> bool {
        let same = |a: &str, b: &str| match package.family {
            PackageFamily::Python => loose(a) == loose(b),
            PackageFamily::Cargo => a.replace('_', "-").eq_ignore_ascii_case(&b.replace('_', "-")),
            _ => a.eq_ignore_ascii_case(b),
        };
        self.family.is_none_or(|family| family == package.family)
            && same(&self.name, &package.name)
            && self.version.as_ref().is_none_or(|version| *version == package.version)
    }
}

fn loose(name: &str) -> String {
    name.to_lowercase().replace(['_', '.'], "-")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    fn package(family: PackageFamily, name: &str, version: &str) -> PackageVersion {
        PackageVersion { family, name: name.into(), version: version.into(), file: None }
    }

    #[test]
    fn what_is_denied_does_not_come_in() {
        let denied =
            ["npm:@evil/pad@1.0.0", "pip:Evil_Tool", "worse"].map(|text| DeniedPackage::parse(text).unwrap());
        let rules = ArrivalRules { min_age: 0, denied: denied.to_vec() };
        let check = |package: PackageVersion, fine: bool| {
            assert_eq!(rules.judge_name(&package).is_ok(), fine, "{package}");
        };
        check(package(PackageFamily::Npm, "@evil/pad", "1.0.0"), false);
        check(package(PackageFamily::Npm, "@evil/pad", "1.0.1"), true);
        check(package(PackageFamily::Python, "evil-tool", "3"), false);
        check(package(PackageFamily::Npm, "evil-tool", "3"), true);
        check(package(PackageFamily::Cargo, "worse", "3.0.0"), false);
        for wrong in ["", "npm:", "a@", "a b"] {
            assert_eq!(DeniedPackage::parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn what_is_too_young_waits() {
        let rules = ArrivalRules { min_age: 7, denied: Vec::new() };
        let one = package(PackageFamily::Npm, "a", "1.0.0");
        let now = 1_700_000_000;
        assert!(rules.judge_age(&one, Some(now - 7 * DAY), now).is_ok());
        assert!(rules.judge_age(&one, Some(now - 7 * DAY + 1), now).is_err());
        assert!(rules.judge_age(&one, Some(now + DAY), now).is_err());
        assert!(rules.judge_age(&one, Some(i64::MIN), now).is_ok());
        assert!(rules.judge_age(&one, None, now).is_err());
        assert!(ArrivalRules::default().judge_age(&one, None, now).is_ok());
    }
}
