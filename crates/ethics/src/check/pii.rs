//! Data about people: addresses, telephone numbers, payment cards, bank accounts, identity numbers.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use holon_core::artifact::ethics::RiskLevel;
use serde::Deserialize;

use super::telephone::TelephoneRules;
use crate::change::{AddedLine, FileChangeLines};
use crate::finding::{EthicsCheckId, EthicsFinding};
use crate::pattern::{RulePattern, RulePatternSet};
use crate::{checksum, entropy};

/// How far above a line the words that explain it may stand.
const ABOVE: usize = 3;

/// The most of each kind that are told of one line; nobody reads on, and excerpts end long before.
const MOST: usize = 50;

/// The longest address on the network in which a login is looked for.
const LONGEST_URL: usize = 500;

struct PersonalDataTable {
    email: RulePattern,
    reserved: RulePattern,
    role: RulePattern,
    anybody: RulePattern,
    telephone: TelephoneRules,
    card: RulePattern,
    card_context: RulePattern,
    card_examples: BTreeSet<String>,
    iban: RulePattern,
    iban_lengths: BTreeMap<String, usize>,
    iban_examples: BTreeSet<String>,
    ids: Vec<IdentityNumber>,
    id_set: RulePatternSet,
    credit_line: RulePattern,
}

struct IdentityNumber {
    id: String,
    what: String,
    regex: RulePattern,
    check: String,
    words: Option<RulePattern>,
    examples: BTreeSet<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PersonalDataFile {
    email: EmailRow,
    phone: super::telephone::TelephoneRow,
    card: PaymentCardRow,
    iban: IbanRow,
    id: Vec<IdentityNumberRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EmailRow {
    regex: String,
    reserved: String,
    role: String,
    anybody: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PaymentCardRow {
    regex: String,
    context: String,
    examples: BTreeSet<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IbanRow {
    regex: String,
    lengths: BTreeMap<String, usize>,
    examples: BTreeSet<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IdentityNumberRow {
    id: String,
    what: String,
    regex: String,
    check: String,
    #[serde(default)]
    alone: bool,
    words: Option<String>,
    #[serde(default)]
    examples: BTreeSet<String>,
}

static TABLE: LazyLock<Result<PersonalDataTable, String>> =
    LazyLock::new(|| load(include_str!("../../../../rules/ethics/pii.toml")));

fn load(text: &str) -> Result<PersonalDataTable, String> {
    let file: PersonalDataFile = toml::from_str(text).map_err(|e| e.to_string())?;
    let patterns: Vec<&str> = file.id.iter().map(|row| row.regex.as_str()).collect();
    let id_set = RulePatternSet::new(&patterns)?;
    let mut ids = Vec::new();
    for row in file.id {
        if checksum::holds(&row.check, "").is_none() || (!row.alone && row.words.is_none()) {
            return Err(format!("{}: an unknown check, or neither `alone` nor `words`", row.id));
        }
        let words = row.words.as_deref().map(RulePattern::new).transpose()?;
        let regex = RulePattern::new(&row.regex)?;
        ids.push(IdentityNumber {
            id: row.id,
            what: row.what,
            regex,
            check: row.check,
            words,
            examples: row.examples,
        });
    }
    Ok(PersonalDataTable {
        email: RulePattern::new(&file.email.regex)?,
        reserved: RulePattern::new(&file.email.reserved)?,
        role: RulePattern::new(&file.email.role)?,
        anybody: RulePattern::new(&file.email.anybody)?,
        telephone: TelephoneRules::load(file.phone)?,
        card: RulePattern::new(&file.card.regex)?,
        card_context: RulePattern::new(&file.card.context)?,
        card_examples: file.card.examples,
        iban: RulePattern::new(&file.iban.regex)?,
        iban_lengths: file.iban.lengths,
        iban_examples: file.iban.examples,
        ids,
        id_set,
        credit_line: RulePattern::new(
            r"(?i)copyright|©|(?:\b|_)(?:authors?|credits?)(?:\b|_)|\b(?-i:[Bb]y [A-Z][\w.'-]+(?: [A-Z][\w.'-]*){0,3},? ?[<(])|contributed by|maintain|signed-off-by|co-authored-by|reviewed-by|@author|SPDX|licen[sc]ed|git@|ssh://|\bmodified by\b|\bwritten by\b",
        )?,
    })
}

/// Everything in the added lines that is about a person.
pub(crate) fn check(files: &[FileChangeLines]) -> Result<Vec<EthicsFinding>, String> {
    let table = TABLE.as_ref().map_err(Clone::clone)?;
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !file.place.lock) {
        for (index, line) in file.added.iter().enumerate() {
            for (rule, what, value, severity) in table.line(file, index, line) {
                // Tests make numbers up, manuals show some; both deserve a look, not more.
                let usual = file.place.test_code || file.place.docs || (line.comment && rule == "email");
                let severity =
                    if usual && severity == RiskLevel::High { RiskLevel::Medium } else { severity };
                let finding = EthicsFinding::new(EthicsCheckId::PersonalData, rule, severity, what);
                found.push(finding.at(&file.path, line.number).hiding(&value));
            }
        }
    }
    Ok(found)
}

/// The words around a line, put together when somebody asks for them.
pub(super) type LineContext<'f> = LazyCell<String, Box<dyn Fn() -> String + 'f>>;

type PersonalDataHit<'a> = (&'a str, String, String, RiskLevel);

impl PersonalDataTable {
    fn line<'a>(
        &'a self,
        file: &FileChangeLines,
        index: usize,
        line: &AddedLine,
    ) -> Vec<PersonalDataHit<'a>> {
        let text = line.text.as_str();
        if !text.bytes().any(|b| b.is_ascii_digit() || b == b'@') {
            return Vec::new();
        }
        let mut hits = Vec::new();
        let around: Box<dyn Fn() -> String + '_> = Box::new(|| context(file, index));
        let context = LineContext::new(around);
        self.emails(file, text, &mut hits);
        self.accounts(text, &mut hits);
        self.cards(file, text, &context, &mut hits);
        self.identities(text, &context, &mut hits);
        let taken: Vec<String> = hits.iter().map(|(_, _, value, _)| value.clone()).collect();
        for value in self.telephone.find(text, &context, MOST) {
            if !taken.iter().any(|other| other.contains(&value) || value.contains(other.as_str())) {
                hits.push(("telephone", "a telephone number".into(), value, RiskLevel::High));
            }
        }
        hits
    }

    fn emails<'a>(&'a self, file: &FileChangeLines, text: &str, hits: &mut Vec<PersonalDataHit<'a>>) {
        if !text.contains('@') || file.place.credits || self.credit_line.is_match(text) {
            return;
        }
        let before = hits.len();
        for hit in self.email.captures_iter(text).filter_map(|hit| hit.name("value")) {
            if hits.len() - before >= MOST {
                break;
            }
            let Some((local, domain)) = hit.as_str().split_once('@') else { continue };
            // `user:secret@host` in a URL is no address.
            let from = text.floor_char_boundary(hit.start().saturating_sub(LONGEST_URL));
            let ahead = text.get(from..hit.start()).unwrap_or_default();
            let in_url = ahead.rsplit([' ', '"', '\'']).next().is_some_and(|word| word.contains("://"));
            if in_url || self.reserved.is_match(domain) || self.role.is_match(local) {
                continue;
            }
            let severity = if self.anybody.is_match(local) { RiskLevel::Medium } else { RiskLevel::High };
            hits.push(("email", "a person's e-mail address".into(), hit.as_str().into(), severity));
        }
    }

    fn accounts<'a>(&'a self, text: &str, hits: &mut Vec<PersonalDataHit<'a>>) {
        let before = hits.len();
        for hit in self.iban.captures_iter(text).filter_map(|hit| hit.name("value")) {
            if hits.len() - before >= MOST {
                break;
            }
            // The last group may have swallowed a following word; the country says how long it is.
            let compact: String = hit.as_str().chars().filter(|c| *c != ' ').collect();
            let length =
                compact.get(..2).and_then(|country| self.iban_lengths.get(country)).copied().unwrap_or(0);
            let Some(number) = compact.get(..length).filter(|_| length > 0) else { continue };
            if checksum::iban(number) && !self.iban_examples.contains(number) && entropy::distinct(number) > 4
            {
                hits.push(("iban", "a bank account number".into(), hit.as_str().into(), RiskLevel::High));
            }
        }
    }

    fn cards<'a>(
        &'a self,
        file: &FileChangeLines,
        text: &str,
        context: &LineContext<'_>,
        hits: &mut Vec<PersonalDataHit<'a>>,
    ) {
        let named = LazyCell::new(|| self.card_context.is_match(context));
        let before = hits.len();
        for hit in self.card.captures_iter(text).filter_map(|hit| hit.name("value")) {
            if hits.len() - before >= MOST {
                break;
            }
            let value = hit.as_str();
            let digits: Vec<u32> = value.chars().filter_map(|c| c.to_digit(10)).collect();
            let number: String = digits.iter().filter_map(|d| char::from_digit(*d, 10)).collect();
            let made_up = self.card_examples.contains(&number)
                || entropy::distinct(&number) <= 3
                || entropy::counting(&number) > 0.5;
            if !(13..=19).contains(&digits.len()) || made_up || !checksum::luhn(&digits) {
                continue;
            }
            let grouped = value.contains([' ', '-']) && groups_of_a_card(value);
            let severity = match (grouped || *named, file.place.data) {
                (true, _) => RiskLevel::High,
                (false, true) if digits.len() == 16 => RiskLevel::Medium,
                _ => continue,
            };
            hits.push(("payment-card", "a payment card number".into(), value.into(), severity));
        }
    }

    fn identities<'a>(&'a self, text: &str, context: &LineContext<'_>, hits: &mut Vec<PersonalDataHit<'a>>) {
        for number in self.id_set.matches(text) {
            let Some(rule) = self.ids.get(number) else { continue };
            if rule.words.as_ref().is_some_and(|words| !words.is_match(context)) {
                continue;
            }
            let before = hits.len();
            for value in rule.regex.captures_iter(text).filter_map(|hit| hit.name("value")) {
                if hits.len() - before >= MOST {
                    break;
                }
                let value = value.as_str();
                let plain: String = value
                    .chars()
                    .filter(|c| !" ./-".contains(*c) || (rule.check == "fi" && *c == '-'))
                    .collect();
                let plain = plain.to_uppercase();
                let known =
                    rule.examples.contains(&plain) || hits.iter().any(|(_, _, other, _)| other == value);
                let digits: String = plain.chars().filter(char::is_ascii_digit).collect();
                let made_up = entropy::distinct(&digits) <= 2 || entropy::counting(&digits) > 0.8;
                if !known && !made_up && checksum::holds(&rule.check, &plain) == Some(true) {
                    hits.push((&rule.id, rule.what.clone(), value.to_owned(), RiskLevel::High));
                }
            }
        }
    }
}

/// The line, a few above it, and the first line of a table.
fn context(file: &FileChangeLines, index: usize) -> String {
    let near = file.added.get(index.saturating_sub(ABOVE)..=index).unwrap_or_default();
    let header = file.added.first().filter(|first| file.place.data && first.number == 1);
    let lines = header.into_iter().chain(near).map(|line| line.text.get(..2000).unwrap_or(&line.text));
    lines.collect::<Vec<_>>().join("\n")
}

/// Groups as they are embossed: four by four, or 4-6-5 and 4-6-4.
fn groups_of_a_card(value: &str) -> bool {
    let sizes: Vec<usize> = value.split([' ', '-']).map(str::len).collect();
    matches!(sizes.as_slice(), [4, 4, 4, 1..=4] | [4, 4, 4, 4, 1..=3] | [4, 6, 4 | 5])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    #[test]
    fn the_table_is_sound() {
        super::load(include_str!("../../../../rules/ethics/pii.toml")).unwrap();
    }
}
