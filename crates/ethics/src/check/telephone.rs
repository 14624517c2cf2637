//! Telephone numbers of people, told from other digits by country code, length and the words around.

use std::cell::LazyCell;

use serde::Deserialize;

use super::pii::LineContext;
use crate::entropy;
use crate::pattern::{RulePattern, RulePatternSet};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TelephoneRow {
    international: String,
    national: String,
    context: String,
    codes: Vec<(u32, usize, usize)>,
    reserved: Vec<String>,
}

pub(super) struct TelephoneRules {
    international: RulePattern,
    national: RulePattern,
    context: RulePattern,
    codes: Vec<(String, usize, usize)>,
    reserved: RulePatternSet,
}

impl TelephoneRules {
    pub(super) fn load(row: TelephoneRow) -> Result<Self, String> {
        Ok(Self {
            international: RulePattern::new(&row.international)?,
            national: RulePattern::new(&row.national)?,
            context: RulePattern::new(&row.context)?,
            codes: row.codes.into_iter().map(|(code, least, most)| (code.to_string(), least, most)).collect(),
            reserved: RulePatternSet::new(&row.reserved)?,
        })
    }

    /// The first numbers in a text, at most as many.
    pub(super) fn find(&self, text: &str, context: &LineContext<'_>, most: usize) -> Vec<String> {
        let mut found = Vec::new();
        let named = LazyCell::new(|| self.context.is_match(context));
        for hit in self.international.captures_iter(text).filter_map(|hit| hit.name("value")) {
            if found.len() >= most {
                break;
            }
            let value = hit.as_str();
            // `(0)` is the trunk prefix that is left out abroad.
            let digits = digits(&value.replace("(0)", ""));
            // A sum such as `+ 1234567890` has no groups; a number in quotes or beside a word has meaning.
            let written = value.trim_start_matches('+').contains([' ', '-', '.', '(', '/']);
            let quoted =
                text.get(..hit.start()).is_some_and(|before| before.ends_with(['"', '\'', '>', ',', '`']));
            if self.is_whole(&digits) && (written || quoted || *named) {
                found.push(value.trim().to_owned());
            }
        }
        if found.is_empty() {
            let hits = self.national.captures_iter(text).filter_map(|hit| hit.name("value"));
            let numbers: Vec<&str> =
                hits.map(|hit| hit.as_str()).filter(|value| self.is_national(value)).take(most).collect();
            if !numbers.is_empty() && *named {
                found.extend(numbers.into_iter().map(str::to_owned));
            }
        }
        found
    }

    fn is_whole(&self, digits: &str) -> bool {
        let fits = |(code, least, most): &(String, usize, usize)| {
            digits.strip_prefix(code.as_str()).is_some_and(|rest| (*least..=*most).contains(&rest.len()))
        };
        self.codes.iter().any(fits) && !self.is_reserved(digits)
    }

    fn is_national(&self, value: &str) -> bool {
        let digits = digits(value);
        let american =
            digits.len() == 10 && !digits.starts_with(['0', '1']) && !digits[3..].starts_with(['0', '1']);
        let dated = value.split(['-', '.', '/']).map(str::len).eq([4, 2, 2]);
        ((digits.starts_with('0') && (9..=12).contains(&digits.len())) || american)
            && !dated
            && !self.is_reserved(&digits)
    }

    fn is_reserved(&self, digits: &str) -> bool {
        self.reserved.is_match(digits) || entropy::distinct(digits) <= 3 || entropy::counting(digits) > 0.6
    }
}

fn digits(value: &str) -> String {
    value.chars().filter(char::is_ascii_digit).collect()
}
