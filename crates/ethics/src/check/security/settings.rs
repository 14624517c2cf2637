//! Settings as keys and values, whatever the format: YAML, JSON, HCL, nginx, INI, properties, XML, Dockerfiles.

use super::braces::{BraceReader, braces};
use crate::change::FileChangeLines;

/// How deep settings are nested at most.
pub(super) const DEEPEST: usize = 40;

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SettingEntry {
    /// The keys that lead to it, joined by dots; items of a list are `[]`.
    pub(crate) path: String,
    pub(crate) value: String,
    pub(crate) line: u64,
    /// The numbers of what it stands in, from the outside.
    pub(crate) within: Vec<usize>,
}

/// How a file writes settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SettingFormat {
    Yaml,
    Braces,
    Lines,
    Xml,
    Docker,
}

/// The format of a file, by its name.
pub(crate) fn format(path: &str) -> Option<SettingFormat> {
    let name = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let docker = name.starts_with("dockerfile")
        || name.starts_with("containerfile")
        || matches!(ending, "dockerfile" | "containerfile");
    if docker {
        return Some(SettingFormat::Docker);
    }
    Some(match ending {
        "yml" | "yaml" => SettingFormat::Yaml,
        "tpl" if path.contains("templates/") || path.contains("chart") => SettingFormat::Yaml,
        "json" | "tf" | "hcl" | "tfvars" | "json5" | "jsonc" | "bicep" | "nomad" | "cue" | "jsonnet"
        | "nix" | "rego" => SettingFormat::Braces,
        "template" if path.contains("nginx") => SettingFormat::Braces,
        "conf" | "vhost"
            if path.contains("nginx")
                || path.contains("haproxy_never")
                || path.contains("sites-")
                || path.contains("conf.d/") =>
        {
            SettingFormat::Braces
        }
        "xml" | "config" | "plist" | "csproj" | "xsd" | "wsdl" => SettingFormat::Xml,
        "ini" | "cfg" | "conf" | "cnf" | "properties" | "env" | "toml" | "service" | "socket" | "timer"
        | "desktop" | "htaccess" | "rules" | "reg" | "sudoers" | "inf" | "container" | "mount" => {
            SettingFormat::Lines
        }
        _ if name.contains("nginx") => SettingFormat::Braces,
        _ if name == "caddyfile" => SettingFormat::Braces,
        _ if name.starts_with(".env")
            || name.ends_with("sudoers")
            || path.contains("sudoers.d/")
            || matches!(
                name.as_str(),
                "sshd_config"
                    | "ssh_config"
                    | ".htaccess"
                    | "crontab"
                    | "exports"
                    | "smb.conf"
                    | ".npmrc"
                    | ".pypirc"
                    | ".netrc"
                    | "pg_hba.conf"
                    | "credentials"
                    | "config"
            ) =>
        {
            SettingFormat::Lines
        }
        _ => return None,
    })
}

/// The settings in the added lines.
pub(crate) fn entries(file: &FileChangeLines) -> Vec<SettingEntry> {
    let Some(mut format) = format(&file.path) else { return Vec::new() };
    let first = file.added.iter().map(|line| line.text.trim()).find(|text| !text.is_empty());
    if format == SettingFormat::Lines
        && first.is_some_and(|text| {
            text.starts_with("<?xml") || text.starts_with("<!DOCTYPE") || text.starts_with("<busconfig")
        })
    {
        format = SettingFormat::Xml;
    }
    let lines: Vec<(u64, &str)> = file.added.iter().map(|line| (line.number, line.text.as_str())).collect();
    read(&lines, format)
}

/// The settings in numbered lines.
pub(crate) fn read(lines: &[(u64, &str)], format: SettingFormat) -> Vec<SettingEntry> {
    let mut out = EntryCollector::default();
    match format {
        SettingFormat::Yaml => yaml(lines, &mut out),
        SettingFormat::Braces => braces(lines, &mut out),
        SettingFormat::Lines => plain(lines, &mut out),
        SettingFormat::Xml => xml(lines, &mut out),
        SettingFormat::Docker => docker(lines, &mut out),
    }
    out.entries
}

#[derive(Default)]
pub(super) struct EntryCollector {
    entries: Vec<SettingEntry>,
    next: usize,
}

impl EntryCollector {
    pub(super) fn open(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    pub(super) fn push(&mut self, path: &str, value: &str, line: u64, within: &[usize]) {
        let value = unquoted(value);
        self.entries.push(SettingEntry { path: path.to_owned(), value, line, within: within.to_vec() });
    }
}

fn unquoted(value: &str) -> String {
    let value = value.trim();
    for quote in ['"', '\''] {
        if let Some(inner) = value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner.to_owned();
        }
    }
    value.to_owned()
}

pub(super) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// A line without its comment.
fn bare<'a>(line: &'a str, mark: &str) -> &'a str {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, _) if line.get(at..).is_some_and(|rest| rest.starts_with(mark)) => {
                let ahead = line.get(..at).unwrap_or_default();
                if ahead.is_empty() || ahead.ends_with([' ', '\t']) {
                    return ahead;
                }
            }
            _ => {}
        }
    }
    line
}

struct IndentLevel {
    indent: usize,
    path: String,
    within: Vec<usize>,
}

fn yaml(lines: &[(u64, &str)], out: &mut EntryCollector) {
    let root = out.open();
    let mut levels = vec![IndentLevel { indent: 0, path: String::new(), within: vec![root] }];
    let mut block: Option<(usize, String, Vec<usize>)> = None;
    let mut at = 0;
    while let Some((number, raw)) = lines.get(at).copied() {
        at += 1;
        let indent = raw.len() - raw.trim_start().len();
        if let Some((owner, path, within)) = &block {
            if raw.trim().is_empty() || indent > *owner {
                let (path, within) = (path.clone(), within.clone());
                if !raw.trim().is_empty() {
                    out.entries.push(SettingEntry {
                        path,
                        value: raw.trim().to_owned(),
                        line: number,
                        within,
                    });
                }
                continue;
            }
            block = None;
        }
        let mut line = bare(raw, "#").trim_end();
        if line.trim().is_empty() || line.trim_start().starts_with("{{") {
            continue;
        }
        if line.starts_with("---") {
            let root = out.open();
            levels = vec![IndentLevel { indent: 0, path: String::new(), within: vec![root] }];
            continue;
        }
        let mut column = indent;
        line = line.trim_start();
        // Each dash opens an item.
        loop {
            while levels.len() > 1
                && levels.last().is_some_and(|level| {
                    level.indent > column
                        || (level.indent == column && !line.starts_with("- ") && line != "-")
                })
            {
                levels.pop();
            }
            let Some(rest) = line.strip_prefix("- ").or_else(|| (line == "-").then_some("")) else { break };
            while levels.len() > 1
                && levels.last().is_some_and(|level| level.indent == column && level.path.ends_with("[]"))
            {
                levels.pop();
            }
            let parent = levels.last();
            let path = format!("{}[]", parent.map_or("", |level| level.path.as_str()).trim_end_matches("[]"));
            let mut within = parent.map(|level| level.within.clone()).unwrap_or_default();
            within.push(out.open());
            levels.push(IndentLevel { indent: column, path, within });
            let skipped = line.len() - rest.trim_start().len();
            column += skipped;
            line = rest.trim_start();
            if let Some(level) = levels.last_mut() {
                // What stands in the item is deeper than its dash.
                level.indent = column.saturating_sub(skipped);
            }
            if levels.len() > DEEPEST {
                return;
            }
        }
        let (path, within) =
            levels.last().map(|level| (level.path.clone(), level.within.clone())).unwrap_or_default();
        if line.is_empty() {
            continue;
        }
        let Some((key, value)) = pair(line) else {
            let mut text = line.to_owned();
            more(lines, &mut at, &mut text);
            flow(&path, &text, number, &within, out);
            continue;
        };
        let path = join(&path, &key);
        let value = value.trim();
        if value.is_empty() || value.starts_with('&') && !value.contains(' ') || value == "!!map" {
            let mut within = within;
            within.push(out.open());
            levels.push(IndentLevel { indent: column + 1, path, within });
        } else if matches!(value.chars().next(), Some('|' | '>')) {
            block = Some((indent, path, within));
        } else {
            let mut text = value.to_owned();
            more(lines, &mut at, &mut text);
            flow(&path, &text, number, &within, out);
        }
        if levels.len() > DEEPEST {
            return;
        }
    }
}

/// Takes the lines that an open bracket still needs.
fn more(lines: &[(u64, &str)], at: &mut usize, text: &mut String) {
    let open = |text: &str| {
        let count = |c: char| text.matches(c).count() as i64;
        count('[') + count('{') - count(']') - count('}')
    };
    if !text.starts_with(['[', '{']) || text.starts_with("{{") {
        return;
    }
    let last = *at + 60;
    while open(text) > 0 && *at < last {
        let Some((_, next)) = lines.get(*at) else { return };
        text.push(' ');
        text.push_str(bare(next, "#").trim());
        *at += 1;
    }
}

/// `key: value`, with quotes around the key or not.
fn pair(line: &str) -> Option<(String, &str)> {
    if let Some(quote) = line.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let end = line.get(1..)?.find(quote)? + 1;
        let rest = line.get(end + 1..)?.trim_start().strip_prefix(':')?;
        return Some((line.get(1..end)?.to_owned(), rest));
    }
    if line.starts_with(['[', '{']) {
        return None;
    }
    let at = line.find(": ").or_else(|| line.ends_with(':').then(|| line.len() - 1))?;
    let key = line.get(..at)?;
    let plain = !key.is_empty() && !key.contains(['"', '\'']) && key.len() <= 120;
    plain.then(|| (key.trim().to_owned(), line.get(at + 1..).unwrap_or_default()))
}

/// A value that may be a list or an object on one line.
fn flow(path: &str, text: &str, line: u64, within: &[usize], out: &mut EntryCollector) {
    let text = text.trim();
    if (text.starts_with('[') && text.ends_with(']'))
        || (text.starts_with('{') && text.ends_with('}') && !text.starts_with("{{"))
    {
        let mut parser = BraceReader::new(vec![(line, text.to_owned())]);
        parser.value(path, within, out, 0);
    } else {
        out.push(path, text, line, within);
    }
}

/// `key = value`, `key: value`, `key value`, with sections in brackets.
fn plain(lines: &[(u64, &str)], out: &mut EntryCollector) {
    let root = out.open();
    let (mut section, mut within) = (String::new(), vec![root]);
    let mut pending: Option<(u64, String)> = None;
    for (number, raw) in lines {
        let mut line = raw.trim().to_owned();
        if line.starts_with(['#', ';', '!']) || line.is_empty() {
            continue;
        }
        let (number, whole) = match pending.take() {
            Some((first, before)) => (first, format!("{before} {line}")),
            None => (*number, line.clone()),
        };
        line = whole;
        if let Some(part) = line.strip_suffix('\\') {
            pending = Some((number, part.trim_end().to_owned()));
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.trim_matches(['[', ']', '"']).to_owned();
            within = vec![root, out.open()];
            continue;
        }
        if let Some(tag) = line.strip_prefix('<') {
            let tag = tag.trim_end_matches('>');
            if tag.starts_with('/') {
                section = section.rsplit_once('.').map(|(outer, _)| outer.to_owned()).unwrap_or_default();
            } else {
                out.push(
                    &join(&section, tag.split_whitespace().next().unwrap_or_default()),
                    tag.split_once(' ').map_or("", |(_, rest)| rest),
                    number,
                    &within,
                );
                section = join(&section, tag.split_whitespace().next().unwrap_or_default());
                within.push(out.open());
            }
            continue;
        }
        let line = bare(&line, "#").trim().to_owned();
        let at = line.find(['=', ':', ' ', '\t']);
        let Some(at) = at else {
            out.push(&join(&section, &line), "", number, &within);
            continue;
        };
        let key = line.get(..at).unwrap_or_default().trim_matches('"').to_owned();
        let rest = line.get(at..).unwrap_or_default().trim_start();
        let value = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim();
        out.push(&join(&section, &key), value, number, &within);
        if value.starts_with(['{', '[']) && value.ends_with(['}', ']']) {
            flow(&join(&section, &key), value, number, &within, out);
        }
    }
}

/// Elements and attributes.
fn xml(lines: &[(u64, &str)], out: &mut EntryCollector) {
    let root = out.open();
    let mut stack: Vec<(String, usize)> = Vec::new();
    let mut comment = false;
    for (number, line) in lines {
        let mut rest = *line;
        while !rest.is_empty() {
            if comment {
                let Some((_, after)) = rest.split_once("-->") else { break };
                comment = false;
                rest = after;
                continue;
            }
            let path = stack.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(".");
            let mut within = vec![root];
            within.extend(stack.iter().map(|(_, id)| *id));
            let Some((text, after)) = rest.split_once('<') else {
                if !rest.trim().is_empty() {
                    out.push(&path, rest, *number, &within);
                }
                break;
            };
            if !text.trim().is_empty() {
                out.push(&path, text, *number, &within);
            }
            if let Some(after) = after.strip_prefix("!--") {
                comment = true;
                rest = after;
                continue;
            }
            let (tag, after) = after.split_once('>').unwrap_or((after, ""));
            rest = after;
            if tag.starts_with('/') {
                stack.pop();
                continue;
            }
            if tag.starts_with(['?', '!']) {
                continue;
            }
            let name: String = tag.chars().take_while(|c| !c.is_whitespace() && *c != '/').collect();
            let id = out.open();
            within.push(id);
            let own = join(&path, &name);
            let mut attributes = tag.get(name.len()..).unwrap_or_default();
            while let Some((key, after)) = attributes.split_once('=') {
                let after = after.trim_start();
                let Some(quote) = after.chars().next().filter(|c| matches!(c, '"' | '\'')) else { break };
                let inner = after.get(1..).unwrap_or_default();
                let (value, next) = inner.split_once(quote).unwrap_or((inner, ""));
                out.push(&join(&own, key.trim()), value, *number, &within);
                attributes = next;
            }
            if !tag.ends_with('/') && stack.len() < DEEPEST {
                stack.push((name, id));
            }
        }
    }
}

/// Instructions with what they are given; of several users the last counts.
fn docker(lines: &[(u64, &str)], out: &mut EntryCollector) {
    let root = out.open();
    let mut whole: Option<(u64, String)> = None;
    let mut users = Vec::new();
    for (number, raw) in lines {
        let line = raw.trim();
        if line.starts_with('#') {
            continue;
        }
        let (first, mut text) = whole.take().unwrap_or((*number, String::new()));
        let (part, more) = line.strip_suffix('\\').map_or((line, false), |part| (part, true));
        text.push_str(part);
        text.push(' ');
        if more {
            // Each line of a long command is a place of its own.
            let key = text.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
            out.push(&key, part, *number, &[root]);
            whole = Some((first, text));
            continue;
        }
        let Some((key, value)) = text.trim().split_once(char::is_whitespace) else { continue };
        let key = key.to_ascii_lowercase();
        if key == "user" {
            users.push((first, value.trim().to_owned()));
        } else if key == "from" {
            users.clear();
            out.push(&key, value, first, &[root]);
        } else {
            out.push(&key, value, first, &[root]);
            if first != *number {
                out.push(&key, part, *number, &[root]);
            }
        }
    }
    if let Some((line, value)) = users.pop() {
        out.push("user", &value, line, &[root]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, format: SettingFormat) -> Vec<String> {
        let lines: Vec<(u64, &str)> = (1..).zip(text.lines()).collect();
        read(&lines, format)
            .into_iter()
            .map(|one| format!("{}:{}={}", one.line, one.path, one.value))
            .collect()
    }

    #[test]
    fn yaml_is_told_by_its_indentation() {
        let text = "spec:\n  containers:\n    - name: a\n      securityContext:\n        privileged: true # on\n        capabilities: {add: [ALL, \"X\"]}\n    - name: b\n  run: |\n    one\n    two\nend: 1";
        assert_eq!(
            of(text, SettingFormat::Yaml),
            [
                "3:spec.containers[].name=a",
                "5:spec.containers[].securityContext.privileged=true",
                "6:spec.containers[].securityContext.capabilities.add[]=ALL",
                "6:spec.containers[].securityContext.capabilities.add[]=X",
                "7:spec.containers[].name=b",
                "9:spec.run=one",
                "10:spec.run=two",
                "11:end=1",
            ]
        );
    }

    #[test]
    fn braces_of_all_kinds() {
        assert_eq!(
            of(
                "{\"Statement\": [{\"Action\": \"*\",\n \"Resource\": [\"a\", \"*\"]}]}",
                SettingFormat::Braces
            ),
            ["1:Statement[].Action=*", "2:Statement[].Resource[]=a", "2:Statement[].Resource[]=*"]
        );
        assert_eq!(
            of(
                "resource \"aws_x\" \"y\" {\n  public = true # no\n  ingress {\n    ports = [22]\n  }\n  policy = jsonencode({\n    Action = \"*\"\n  })\n}",
                SettingFormat::Braces
            ),
            [
                "2:resource.aws_x.y.public=true",
                "4:resource.aws_x.y.ingress.ports[]=22",
                "7:resource.aws_x.y.policy.Action=*",
                "6:resource.aws_x.y.policy=jsonencode({})",
            ]
        );
        assert_eq!(
            of("server {\n listen 80;\n add_header A \"b c\";\n}", SettingFormat::Braces),
            ["2:server.listen=80", "3:server.add_header=A b c"]
        );
    }

    #[test]
    fn lines_elements_and_instructions() {
        assert_eq!(
            of("[a]\nx = 1\ny: 2\nPermitRootLogin yes", SettingFormat::Lines),
            ["2:a.x=1", "3:a.y=2", "4:a.PermitRootLogin=yes"]
        );
        assert_eq!(of("<a><b c=\"d\">e</b></a>", SettingFormat::Xml), ["1:a.b.c=d", "1:a.b=e"]);
        assert_eq!(
            of("FROM x\nUSER root\nRUN a \\\n  b\nUSER app", SettingFormat::Docker),
            ["1:from=x", "3:run=RUN a", "3:run=a  b", "4:run=b", "5:user=app"]
        );
    }
}
