//! Values that are given a secret's name: `password = "…"` in the forms of many languages.

use holon_core::artifact::ethics::RiskLevel;
use serde::Deserialize;

use crate::entropy;
use crate::pattern::RulePattern;

/// A name and the literal it is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) name: String,
    pub(super) value: String,
}

/// Where an assignment stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct AssignmentContext {
    /// Values are usually made up here.
    pub(super) invented: bool,
    pub(super) comment: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SecretNamesRow {
    secret: String,
    password: String,
    harmless: String,
}

pub(super) struct SecretNames {
    secret: RulePattern,
    password: RulePattern,
    harmless: RulePattern,
    strong: RulePattern,
    weak: RulePattern,
    reference: RulePattern,
    quoted: RulePattern,
    bare: RulePattern,
    element: RulePattern,
    pair: RulePattern,
    call: RulePattern,
    identifier: RulePattern,
    hash: RulePattern,
    called: RulePattern,
    argument: RulePattern,
    uuid: RulePattern,
    define: RulePattern,
}

impl SecretNames {
    pub(super) fn load(
        row: &SecretNamesRow,
        strong: &str,
        weak: &str,
        reference: &str,
    ) -> Result<Self, String> {
        // A name, perhaps a type, a sign, and a literal.
        const NAME: &str = r#"(?P<name>[A-Za-z_$][\w.$-]{1,60})["'`]?\]?\)?(?:\[\w*\])?"#;
        const TYPE: &str = r"(?:\s*:\s*&?(?:'static\s+)?[A-Za-z][\w<>?.\[\]]{0,30})?";
        const SIGN: &str = r"\s*(?::=|=>|->|==|=|:|\bto\b)\s*";
        const LITERAL: &str =
            r#"[bfruN]{0,2}(?:"(?P<a>[^"\n]{4,300})"|'(?P<b>[^'\n]{4,300})'|`(?P<c>[^`\n]{4,300})`)"#;
        Ok(Self {
            secret: RulePattern::new(&row.secret)?,
            password: RulePattern::new(&row.password)?,
            harmless: RulePattern::new(&row.harmless)?,
            strong: RulePattern::new(strong)?,
            weak: RulePattern::new(weak)?,
            reference: RulePattern::new(reference)?,
            quoted: RulePattern::new(&format!("{NAME}{TYPE}{SIGN}(?:[A-Za-z_.:]{{0,30}}\\()?{LITERAL}"))?,
            bare: RulePattern::new(
                r#"^\s*(?:-\s+)?(?:export\s+|set\s+|ENV\s+|ARG\s+|\$env:)?(?P<name>[A-Za-z_][\w.-]{1,60})\s*[=: ]\s*(?P<a>[^\s"'#;,][^\s"',]{5,300})(?:\s+[#;].*|\s*)$"#,
            )?,
            element: RulePattern::new(
                r"<(?:\w+:)?(?P<name>[A-Za-z][\w.-]{1,60})(?:\s[^<>]{0,100})?>\s*(?P<a>[^<>\s]{6,300})\s*</",
            )?,
            pair: RulePattern::new(
                r#"(?:key|name)\s*=\s*"(?P<name>[^"]{2,60})"\s+(?:value|connectionString)\s*=\s*"(?P<a>[^"]{6,300})""#,
            )?,
            call: RulePattern::new(
                r#"(?:set|with|\.)_?(?P<name>[A-Za-z_]{3,40})\(\s*["'](?P<a>[^"'\n]{6,300})["']\s*\)"#,
            )?,
            identifier: RulePattern::new(
                r"^(?:[A-Za-z_][A-Za-z_]*(?:[-_./:][A-Za-z_]+)*|[A-Za-z]\w*(?:\.[A-Za-z_]\w*)+(?:\(.*)?|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)$",
            )?,
            hash: RulePattern::new(
                r"^(?:sha(?:1|224|256|384|512)[-:]|\$2[aby]\$|\$argon2|\$pbkdf2|\$scrypt|pbkdf2_|\{SSHA|md5:)",
            )?,
            called: RulePattern::new(r"^[A-Za-z_][\w.:]*\(")?,
            argument: RulePattern::new(
                r#"\b[A-Za-z]\w*!?\(\s*(?:["']\w+["']\s*,\s*)?["'](?P<name>[A-Za-z_][\w.-]{1,60})["']\s*(?:,|->|=>|\bto\b)\s*["'](?:\\["'])?(?P<a>[^"'\n\\]{6,300})(?:\\["'])?["']"#,
            )?,
            define: RulePattern::new(
                r#"^\s*#\s*define\s+(?P<name>[A-Za-z_]\w{1,60})\s+"(?P<a>[^"\n]{6,300})""#,
            )?,
            uuid: RulePattern::new(r"^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$")?,
        })
    }

    /// Every assignment to a secret's name in a line; `before` is the line above, for `name:` and `value:` on two lines.
    pub(super) fn find(&self, line: &str, before: Option<&str>, path: &str) -> Vec<Assignment> {
        if line.len() > 4000 {
            return Vec::new();
        }
        let mut found: Vec<Assignment> = Vec::new();
        let plain_names = is_settings(path);
        let forms = [
            Some(&self.quoted),
            plain_names.then_some(&self.bare),
            Some(&self.element),
            Some(&self.pair),
            Some(&self.call),
            Some(&self.argument),
            Some(&self.define),
        ];
        for form in forms.into_iter().flatten() {
            for hit in form.captures_iter(line) {
                let value = ["a", "b", "c"].iter().find_map(|group| hit.name(group));
                let (Some(name), Some(value)) = (hit.name("name"), value) else { continue };
                self.add(name.as_str(), value.as_str(), &mut found);
            }
        }
        // Kubernetes and its like: the name on one line, the value on the next.
        let value = line.trim().strip_prefix("value:").map(|v| v.trim().trim_matches(['"', '\'']));
        let name = before.map(|b| b.trim().trim_start_matches("- ")).and_then(|b| b.strip_prefix("name:"));
        if let (Some(value), Some(name)) = (value, name) {
            self.add(name.trim().trim_matches(['"', '\'']), value, &mut found);
        }
        found
    }

    fn add(&self, name: &str, value: &str, found: &mut Vec<Assignment>) {
        let known = found.iter().any(|one| one.value == value);
        if !known && self.secret.is_match(name) && !self.harmless.is_match(name) {
            found.push(Assignment { name: name.to_owned(), value: value.to_owned() });
        }
    }

    /// Whether a name is that of something secret.
    pub(super) fn is_secret(&self, name: &str) -> bool {
        self.secret.is_match(name) && !self.harmless.is_match(name)
    }

    /// Whether a value was made up by somebody to be a password.
    pub(super) fn is_chosen(&self, value: &str) -> bool {
        let stands_for =
            self.strong.is_match(value) || self.reference.is_match(value) || self.weak.is_match(value);
        let prose = value.contains(char::is_whitespace) || value.contains(['{', '}', '<', '>', '/']);
        !stands_for
            && !prose
            && value.len() >= 8
            && entropy::distinct(value) > 4
            && entropy::classes(value) >= 2
    }

    /// Whether the value comes from somewhere else.
    pub(super) fn is_reference(&self, value: &str) -> bool {
        self.reference.is_match(value)
    }

    /// Whether it is what people write when they mean nothing.
    pub(super) fn is_common(&self, value: &str) -> bool {
        self.weak.is_match(value)
    }

    /// How bad an assignment is, `None` when its value is none.
    pub(super) fn judge(&self, assignment: &Assignment, around: AssignmentContext) -> Option<RiskLevel> {
        let value = assignment.value.trim();
        let password = self.password.is_match(&assignment.name);
        let stands_for = self.strong.is_match(value)
            || self.reference.is_match(value)
            || self.hash.is_match(value)
            // Most such numbers only name something; nobody gives a password a name.
            || (self.uuid.is_match(value) && !password)
            || entropy::distinct(value) <= 3
            || entropy::counting(value) > 0.5;
        let prose = value.contains(char::is_whitespace)
            || value.starts_with(['/', '.', '~', '#'])
            || value.contains("://");
        if stands_for
            || prose
            || self.identifier.is_match(value)
            || value.contains(['{', '}'])
            || self.called.is_match(value)
        {
            return None;
        }
        if self.weak.is_match(value) {
            return None;
        }
        let (bits, classes, length) = (entropy::bits(value), entropy::classes(value), value.len());
        let has_digit = value.chars().any(|c| c.is_ascii_digit());
        let random = length >= 16 && bits >= 3.1 && has_digit && classes >= 2;
        let strong = length >= 20 && bits >= 3.6 && has_digit && classes >= 2;
        let chosen = password && length >= 8 && (classes >= 3 || (classes >= 2 && has_digit)) && bits >= 2.5;
        let short = !password && length >= 10 && classes >= 4 && bits >= 3.0;
        match (around.invented || around.comment, random || chosen || short, strong) {
            (false, true, _) => Some(RiskLevel::High),
            (true, _, true) => Some(RiskLevel::Medium),
            _ => None,
        }
    }
}

/// Files in which a value needs no quotes.
fn is_settings(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let endings = [
        ".env",
        ".ini",
        ".cfg",
        ".conf",
        ".config",
        ".properties",
        ".yml",
        ".yaml",
        ".toml",
        ".sh",
        ".bash",
        ".tfvars",
        ".npmrc",
        ".pypirc",
        ".netrc",
        "credentials",
        ".pgpass",
        "dockerfile",
        ".service",
        ".txt",
        ".cnf",
        ".ps1",
    ];
    name.starts_with(".env")
        || name.starts_with("env.")
        || name.starts_with("dockerfile")
        || endings.iter().any(|ending| name.ends_with(ending))
}
