//! A line on its way to a client, with the strings it says.

use serde_json::Value;

use super::{TextCut, spot};

/// Fields that say which of several strings of the same path a piece belongs to.
const NUMBERS: [&str; 5] = ["index", "output_index", "content_index", "summary_index", "item_id"];

/// A string in a line.
pub(super) struct SaidString {
    /// The paths it goes on: one of its own, and one that those of all numbers share.
    pub(super) paths: [String; 2],
    pub(super) text: String,
}

pub(super) struct VeiledLine {
    bytes: Vec<u8>,
    /// Where the JSON stands in the bytes, and what it says.
    json: Option<(std::ops::Range<usize>, Value)>,
    cuts: Vec<(usize, TextCut)>,
}

impl VeiledLine {
    pub(super) fn read(bytes: Vec<u8>) -> Self {
        let from = if bytes.starts_with(b"data:") { 5 } else { 0 };
        let blank = |byte: &u8| byte.is_ascii_whitespace();
        let start = from + bytes[from..].iter().take_while(|byte| blank(byte)).count();
        let end = bytes.len() - bytes.iter().rev().take_while(|byte| blank(byte)).count();
        let text =
            bytes.get(start..end).filter(|text| text.first().is_some_and(|byte| b"{[\"".contains(byte)));
        let json = text.and_then(|text| serde_json::from_slice(text).ok()).map(|value| (start..end, value));
        Self { bytes, json, cuts: Vec::new() }
    }

    pub(super) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Everything it says, in order.
    pub(super) fn strings(&self) -> Vec<SaidString> {
        let mut out = Vec::new();
        if let Some((_, value)) = &self.json {
            say(value, "", "", &mut out);
        }
        out
    }

    /// Takes something out of one of its strings.
    pub(super) fn cut(&mut self, string: usize, cut: TextCut) {
        self.cuts.push((string, cut));
    }

    /// The line as it goes on; without a cut it is the one that came.
    pub(super) fn written(self) -> Vec<u8> {
        let Some((range, mut value)) = self.json.filter(|_| !self.cuts.is_empty()) else { return self.bytes };
        let mut number = 0;
        rewrite(&mut value, &self.cuts, &mut number);
        let mut out = self.bytes[..range.start].to_vec();
        out.extend(value.to_string().bytes());
        out.extend_from_slice(&self.bytes[range.end..]);
        out
    }
}

fn say(value: &Value, own: &str, shared: &str, out: &mut Vec<SaidString>) {
    match value {
        Value::String(text) => {
            out.push(SaidString { paths: [format!("{own}!"), shared.to_owned()], text: text.clone() });
        }
        Value::Array(all) => {
            all.iter().for_each(|one| say(one, &format!("{own}/"), &format!("{shared}/"), out));
        }
        Value::Object(all) => {
            let mut own = own.to_owned();
            for name in NUMBERS {
                if let Some(number) = all.get(name).filter(|number| number.is_u64() || number.is_string()) {
                    own += &format!("#{number}");
                }
            }
            for (name, one) in all {
                say(one, &format!("{own}/{name}"), &format!("{shared}/{name}"), out);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Makes the cuts, in the order in which the strings were told. What a field is called is looked at as it is written.
fn rewrite(value: &mut Value, cuts: &[(usize, TextCut)], number: &mut usize) {
    match value {
        Value::String(text) => {
            let own: Vec<TextCut> =
                cuts.iter().filter(|(string, _)| string == number).map(|(_, cut)| cut.clone()).collect();
            *number += 1;
            if !own.is_empty() {
                // Cuts begin and end at ASCII characters, so what is left is text.
                *text = String::from_utf8_lossy(&spot::without(text.as_bytes(), &own)).into_owned();
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|one| rewrite(one, cuts, number)),
        Value::Object(all) => all.values_mut().for_each(|one| rewrite(one, cuts, number)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
