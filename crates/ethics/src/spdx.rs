//! Licence expressions: identifiers joined by `AND`, `OR` and `WITH`, as SPDX defines them.

/// How deep parentheses may nest.
const DEEPEST: usize = 32;

/// A licence expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LicenceExpression {
    /// One licence, perhaps with an exception; `+` is kept as part of the name.
    Licence {
        /// The identifier as written.
        id: String,
        /// What follows `WITH`.
        exception: Option<String>,
    },
    /// All of them hold.
    And(Vec<LicenceExpression>),
    /// One may be chosen.
    Or(Vec<LicenceExpression>),
}

/// Reads an expression; `/` between identifiers means `OR`, as older manifests have it.
pub fn parse(text: &str) -> Option<LicenceExpression> {
    let spaced = text.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut parser = SpdxParser { tokens: &tokens, at: 0 };
    let expression = parser.any(0)?;
    (parser.at == tokens.len()).then_some(expression)
}

struct SpdxParser<'a> {
    tokens: &'a [&'a str],
    at: usize,
}

impl<'a> SpdxParser<'a> {
    fn next_is(&mut self, word: &str) -> bool {
        let hit = self.tokens.get(self.at).is_some_and(|token| token.eq_ignore_ascii_case(word));
        self.at += usize::from(hit);
        hit
    }

    fn any(&mut self, depth: usize) -> Option<LicenceExpression> {
        let mut parts = vec![self.all(depth)?];
        while self.next_is("OR") {
            parts.push(self.all(depth)?);
        }
        if parts.len() == 1 { parts.pop() } else { Some(LicenceExpression::Or(parts)) }
    }

    fn all(&mut self, depth: usize) -> Option<LicenceExpression> {
        let mut parts = vec![self.one(depth)?];
        while self.next_is("AND") {
            parts.push(self.one(depth)?);
        }
        if parts.len() == 1 { parts.pop() } else { Some(LicenceExpression::And(parts)) }
    }

    fn one(&mut self, depth: usize) -> Option<LicenceExpression> {
        if depth > DEEPEST {
            return None;
        }
        if self.next_is("(") {
            let inner = self.any(depth + 1)?;
            return self.next_is(")").then_some(inner);
        }
        let id = self.identifier()?.to_owned();
        let exception = if self.next_is("WITH") { Some(self.identifier()?.to_owned()) } else { None };
        Some(LicenceExpression::Licence { id, exception })
    }

    fn identifier(&mut self) -> Option<&'a str> {
        let token = *self.tokens.get(self.at)?;
        let plain = token.chars().all(|c| c.is_ascii_alphanumeric() || "-.+:_".contains(c));
        let word = ["AND", "OR", "WITH"].iter().any(|word| token.eq_ignore_ascii_case(word));
        if !plain || word {
            return None;
        }
        self.at += 1;
        Some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(expression: &LicenceExpression) -> String {
        let join = |parts: &[LicenceExpression], word: &str| {
            format!("({})", parts.iter().map(show).collect::<Vec<_>>().join(word))
        };
        match expression {
            LicenceExpression::Licence { id, exception: None } => id.clone(),
            LicenceExpression::Licence { id, exception: Some(exception) } => format!("{id}~{exception}"),
            LicenceExpression::And(parts) => join(parts, "&"),
            LicenceExpression::Or(parts) => join(parts, "|"),
        }
    }

    #[test]
    fn expressions() {
        for (text, expect) in [
            ("MIT", Some("MIT")),
            ("MIT OR Apache-2.0", Some("(MIT|Apache-2.0)")),
            ("MIT/Apache-2.0", Some("(MIT|Apache-2.0)")),
            ("MIT AND (Apache-2.0 OR GPL-2.0+)", Some("(MIT&(Apache-2.0|GPL-2.0+))")),
            ("A OR B AND C", Some("(A|(B&C))")),
            ("GPL-2.0-only WITH Classpath-exception-2.0", Some("GPL-2.0-only~Classpath-exception-2.0")),
            ("(mit or isc)", Some("(mit|isc)")),
            ("", None),
            ("MIT OR", None),
            ("MIT Apache", None),
            ("(MIT", None),
            ("MIT)", None),
            ("AND", None),
            ("the usual terms", None),
        ] {
            assert_eq!(parse(text).as_ref().map(show).as_deref(), expect, "{text}");
        }
        assert_eq!(parse(&"(".repeat(100_000)), None);
    }
}
