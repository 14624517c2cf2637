//! From a file to a flow: what is wrong with the form or with the steps among themselves is told with its line.

use std::collections::BTreeSet;
use std::ops::Range;

use holon_core::{artifact, suggest};
use serde::Deserialize;
use toml::Spanned;

use super::{
    ArtifactFileName, FlowDefinition, HandedFile, LoopGoal, MOST_ROUNDS, StepCondition, StepDefinition,
    StepLoop, StepRunWork, StepWork,
};
use crate::file_error::FlowFileError;

/// The largest flow file that is read.
const MAX_BYTES: usize = 64 * 1024;
/// The most steps a flow can have.
const MOST_STEPS: usize = 32;

const NAMES: &str = "write lower-case letters, digits and dashes, at most 40";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowTable {
    name: Option<String>,
    description: String,
    #[serde(default)]
    step: Vec<Spanned<FlowStepTable>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowStepTable {
    name: String,
    mode: Option<String>,
    findings: Option<String>,
    result: Option<String>,
    #[serde(default)]
    gate: bool,
    when: Option<StepCondition>,
    repeat: Option<LoopTable>,
    #[serde(default)]
    context: Vec<String>,
    brief: Option<String>,
    #[serde(default)]
    checks: bool,
    #[serde(default)]
    tests_may_change: bool,
    #[serde(default)]
    deliver: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LoopTable {
    from: Option<String>,
    until: Option<LoopGoal>,
    most: Option<i64>,
}

/// A key that is wrong, the problem, and the remedy.
pub(super) type WrongKey = (&'static str, String, String);

fn wrong(key: &'static str, problem: impl Into<String>, remedy: impl Into<String>) -> WrongKey {
    (key, problem.into(), remedy.into())
}

/// A file's text with what is needed to say where something stands in it.
pub(super) struct FlowText<'a> {
    text: &'a str,
    file: &'a str,
    /// Where each step stands.
    steps: Vec<Range<usize>>,
}

impl FlowText<'_> {
    /// Says where a key is wrong: of a step, given by its place and name, or of the flow.
    pub(super) fn error(
        &self,
        step: Option<(usize, &str)>,
        (key, problem, remedy): WrongKey,
    ) -> FlowFileError {
        let range = match step {
            Some((place, _)) => self.steps.get(place).cloned(),
            None => Some(0..self.steps.first().map_or(self.text.len(), |first| first.start)),
        };
        FlowFileError {
            file: self.file.to_owned(),
            line: range.map(|range| self.line(range, key)),
            step: step.map(|(_, name)| name.to_owned()),
            key,
            problem,
            remedy,
        }
    }

    /// The line of a key inside a part of the text; the part's first line where the key is not written.
    fn line(&self, range: Range<usize>, key: &str) -> u32 {
        let key = key.split('.').next().unwrap_or(key);
        let is_key = |line: &&str| {
            let rest = line.trim_start().strip_prefix(key);
            rest.is_some_and(|rest| rest.trim_start().starts_with(['=', '.']))
        };
        let part = self.text.get(range.clone()).unwrap_or_default();
        let before = self.text.get(..range.start).unwrap_or_default().matches('\n').count();
        number(before + part.split('\n').position(|line| is_key(&line)).unwrap_or(0))
    }
}

/// The number of the line that has this many before it.
fn number(before: usize) -> u32 {
    u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1)
}

impl FlowDefinition {
    /// Reads a definition; `file` is used in messages, and its last part stands for a name that is not written.
    pub fn parse(text: &str, file: &str) -> Result<Self, FlowFileError> {
        Ok(parsed(text, file)?.0)
    }
}

/// The definition, and its text for later messages.
pub(super) fn parsed<'a>(
    text: &'a str,
    file: &'a str,
) -> Result<(FlowDefinition, FlowText<'a>), FlowFileError> {
    let mut lines = FlowText { text, file, steps: Vec::new() };
    if text.len() > MAX_BYTES {
        let problem = format!("{} bytes is too large for a flow (at most {MAX_BYTES})", text.len());
        return Err(lines.error(None, wrong("", problem, "shorten its briefs")));
    }
    let read: FlowTable = toml::from_str(text).map_err(|error| {
        let problem = error.to_string().trim_end().to_owned();
        let before = |end: usize| text.get(..end).unwrap_or_default().matches('\n').count();
        let at = error.span().map(|span| number(before(span.start)));
        let remedy = "docs/flows.md has every key; `holon flows show plan-then-execute` shows a flow";
        FlowFileError { line: at, ..lines.error(None, wrong("", problem, remedy)) }
    })?;
    lines.steps = spans(&read.step, text.len());
    let name = read.name.unwrap_or_else(|| stem(file).to_owned());
    if !is_name(&name) {
        return Err(lines.error(None, wrong("name", format!("is `{name}`"), NAMES)));
    }
    if read.description.chars().any(char::is_control) || read.description.trim().is_empty() {
        let problem = "is not one line of text".to_owned();
        return Err(
            lines.error(None, wrong("description", problem, "say in one sentence what the flow does"))
        );
    }
    if read.step.len() > MOST_STEPS {
        let problem = format!("{} steps are too many for a flow (at most {MOST_STEPS})", read.step.len());
        return Err(lines.error(None, wrong("", problem, "give a step more to do")));
    }
    let mut steps = Vec::new();
    for (place, table) in read.step.into_iter().enumerate() {
        let table = table.into_inner();
        let name = table.name.clone();
        steps.push(step(table).map_err(|key| lines.error(Some((place, &name)), key))?);
    }
    let definition = FlowDefinition { name, description: read.description, steps, written: None };
    check(&definition, &lines)?;
    Ok((definition, lines))
}

/// From where each step begins to where the next one does.
fn spans(steps: &[Spanned<FlowStepTable>], end: usize) -> Vec<Range<usize>> {
    let starts: Vec<usize> = steps.iter().map(|step| step.span().start).collect();
    let ends = starts.iter().skip(1).copied().chain([end]);
    starts.iter().zip(ends).map(|(start, end)| *start..end.max(*start)).collect()
}

fn step(table: FlowStepTable) -> Result<StepDefinition, WrongKey> {
    let work = match (&table.mode, &table.findings) {
        (Some(mode), None) => {
            if table.result.is_some() {
                return Err(wrong("result", "belongs to a step with `findings`", "take it out"));
            }
            let context = table.context.iter().map(|text| handed(text)).collect::<Result<_, _>>()?;
            let (brief, checks, tests_may_change) =
                (table.brief.clone(), table.checks, table.tests_may_change);
            StepWork::Run(StepRunWork { mode: mode.clone(), context, brief, checks, tests_may_change })
        }
        (None, Some(of)) => {
            let result = table.result.clone().ok_or_else(|| {
                wrong("result", "is missing", "`result` must name the step whose change is looked at")
            })?;
            let refused = [
                ("gate", table.gate),
                ("checks", table.checks),
                ("tests_may_change", table.tests_may_change),
                ("brief", table.brief.is_some()),
                ("context", !table.context.is_empty()),
            ];
            if let Some((key, _)) = refused.into_iter().find(|(_, given)| *given) {
                let problem = "is set, but the host takes this step: no agent runs in it";
                return Err(wrong(key, problem, "take it out"));
            }
            StepWork::Findings { of: of.clone(), result }
        }
        (Some(_), Some(_)) => {
            return Err(wrong("findings", "stands beside `mode`", "give either `mode` or `findings`"));
        }
        (None, None) => return Err(wrong("mode", "is missing", "give either `mode` or `findings`")),
    };
    let deliver =
        table.deliver.iter().map(|text| file_name(text)).collect::<Option<_>>().ok_or_else(|| {
            let problem = "has an entry that is no artifact's name";
            wrong("deliver", problem, "its entries are names of artifacts, as in `plan.md` or `plan.json?`")
        })?;
    let repeat = table.repeat.map(terms).transpose()?;
    Ok(StepDefinition { name: table.name, work, gate: table.gate, when: table.when, repeat, deliver })
}

fn terms(table: LoopTable) -> Result<StepLoop, WrongKey> {
    let from = table.from.ok_or_else(|| {
        wrong("repeat.from", "is missing", "name the step to go back to, as in `from = \"review\"`")
    })?;
    let until = table.until.ok_or_else(|| {
        let remedy = "write `until = \"no findings\"` or `until = \"no changes\"`";
        wrong("repeat.until", "is missing: nothing would end the loop", remedy)
    })?;
    let bound = format!("write how many rounds there are at most, from 1 to {MOST_ROUNDS}, as in `most = 3`");
    let most =
        table.most.ok_or_else(|| wrong("repeat.most", "is missing: a loop has a bound", bound.clone()))?;
    let in_range = u32::try_from(most).ok().filter(|most| (1..=MOST_ROUNDS).contains(most));
    let most = in_range.ok_or_else(|| wrong("repeat.most", format!("is {most}"), bound))?;
    Ok(StepLoop { from, until, most })
}

fn handed(text: &str) -> Result<HandedFile, WrongKey> {
    let split = text.split_once('/').and_then(|(step, file)| Some((step, file_name(file)?)));
    let (step, file) = split.ok_or_else(|| {
        let remedy = "its entries look like `step/file`, or `step/file?` for one that may be missing";
        wrong("context", format!("has `{text}`"), remedy)
    })?;
    Ok(HandedFile { step: step.to_owned(), file })
}

fn file_name(text: &str) -> Option<ArtifactFileName> {
    let name = text.strip_suffix('?').unwrap_or(text);
    artifact::check_name(name).ok()?;
    Some(ArtifactFileName { name: name.to_owned(), optional: name.len() < text.len() })
}

/// What is wrong with the steps among themselves.
fn check(flow: &FlowDefinition, lines: &FlowText<'_>) -> Result<(), FlowFileError> {
    let Some(first) = flow.steps.first() else {
        return Err(
            lines.error(None, wrong("", "a flow needs a step", "add one that begins with `[[step]]`"))
        );
    };
    let at_first = |key| lines.error(Some((0, &first.name)), key);
    if !matches!(first.work, StepWork::Run(_)) {
        return Err(at_first(wrong("findings", "cannot be of the first step", "begin with a run in a mode")));
    }
    if first.gate {
        let remedy = "put a step that only reads before it, or take it out: starting the flow is the decision about \
                      the first step";
        return Err(at_first(wrong("gate", "cannot stand before the first step", remedy)));
    }
    if first.when.is_some() {
        let remedy = "take it out; nothing can have been found before the first step";
        return Err(at_first(wrong("when", "cannot be of the first step", remedy)));
    }
    for (place, step) in flow.steps.iter().enumerate() {
        let earlier = flow.steps.get(..place).unwrap_or_default();
        name_is_sound(step, earlier)
            .and_then(|()| hand_over_is_sound(flow, step, earlier))
            .and_then(|()| loop_is_sound(flow, place, step))
            .map_err(|key| lines.error(Some((place, &step.name)), key))?;
    }
    Ok(())
}

fn name_is_sound(step: &StepDefinition, earlier: &[StepDefinition]) -> Result<(), WrongKey> {
    if !is_name(&step.name) {
        return Err(wrong("name", "is no name for a step", NAMES));
    }
    if earlier.iter().any(|other| other.name == step.name) {
        return Err(wrong("name", "stands before: there are two of that name", "give one of them another"));
    }
    Ok(())
}

/// Files only come from steps that are done by then, so nothing can go in a circle.
fn hand_over_is_sound(
    flow: &FlowDefinition,
    step: &StepDefinition,
    earlier: &[StepDefinition],
) -> Result<(), WrongKey> {
    let from: Vec<(&'static str, &str)> = match &step.work {
        StepWork::Run(run) => run.context.iter().map(|file| ("context", file.step.as_str())).collect(),
        StepWork::Findings { of, result } => vec![("findings", of), ("result", result)],
    };
    let runs: BTreeSet<&str> =
        earlier.iter().filter(|s| matches!(s.work, StepWork::Run(_))).map(|s| s.name.as_str()).collect();
    let Some((key, name)) = from.into_iter().find(|(_, name)| !runs.contains(name)) else { return Ok(()) };
    let hint = suggest::hint(name, runs.iter().copied());
    let (problem, remedy) = match flow.position(name) {
        Some(_) if name == step.name => ("is this step itself", "a step gets files of steps before it"),
        Some(place) if place >= earlier.len() => {
            ("comes later: it is no run before it", "move that step up, or take the entry out")
        }
        Some(_) => ("is no run before it: the host takes that step", "name the run itself"),
        None => ("is no run before it", "name a step that stands above this one"),
    };
    Err(wrong(key, format!("names `{name}`, which {problem}{hint}"), remedy))
}

fn loop_is_sound(flow: &FlowDefinition, place: usize, step: &StepDefinition) -> Result<(), WrongKey> {
    let Some(terms) = &step.repeat else { return Ok(()) };
    let known = flow.steps.iter().take(place + 1).map(|step| step.name.as_str());
    let first = flow.position(&terms.from).filter(|first| *first <= place).ok_or_else(|| {
        let what = if flow.position(&terms.from).is_some() { "comes later" } else { "is no step" };
        let problem = format!("is `{}`, which {what}{}", terms.from, suggest::hint(&terms.from, known));
        wrong("repeat.from", problem, "name this step or one above it")
    })?;
    let across = flow.loops().find(|(from, end, _)| *end < place && *end >= first && *from <= place);
    if let Some((_, end, _)) = across {
        let other = flow.steps.get(end).map_or("", |step| step.name.as_str());
        let problem = format!("goes back across the loop that ends with `{other}`");
        return Err(wrong("repeat", problem, "loops stand one after the other: let this one begin later"));
    }
    let inside = flow.steps.get(first..=place).unwrap_or_default();
    if !inside.iter().any(|step| matches!(step.work, StepWork::Run(_))) {
        let remedy = "let it go back to a run";
        return Err(wrong("repeat.from", "makes a loop without a run: nothing could change", remedy));
    }
    Ok(())
}

/// The name that a file's path gives.
pub(super) fn stem(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.strip_suffix(".toml").unwrap_or(file)
}

fn is_name(text: &str) -> bool {
    (1..=40).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !text.starts_with('-')
}
