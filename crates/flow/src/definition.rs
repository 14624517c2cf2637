//! A flow as data: its steps, what each gets from those before it, and where the gates are.

use std::collections::BTreeSet;

use holon_core::artifact;
use serde::Deserialize;

use crate::error::FlowError;

/// A flow, read and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowDefinition {
    /// The name `--mode` takes.
    pub name: String,
    /// One sentence.
    pub description: String,
    /// The steps, in order.
    pub steps: Vec<StepDefinition>,
}

/// One step of a flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepDefinition {
    /// Its name in the flow.
    pub name: String,
    /// What it does.
    pub work: StepWork,
    /// Whether a gate stands before it.
    pub gate: bool,
    /// What must be so for the step to be needed.
    pub when: Option<StepCondition>,
    /// What it hands over as the flow's own artifacts; later steps win.
    pub deliver: Vec<ArtifactFileName>,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepWork {
    /// A run in a mode, with walls of its own.
    Run(StepRunWork),
    /// The host looks whether the findings of a review are gone from the result.
    Findings {
        /// The step that found them.
        of: String,
        /// The step whose result is looked at.
        result: String,
    },
}

/// A run in a mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRunWork {
    /// The mode, by its canonical name.
    pub mode: String,
    /// What earlier steps hand to it.
    pub context: Vec<HandedFile>,
    /// What the agent is told besides the goal.
    pub brief: Option<String>,
    /// Whether `--check` and the spec's checks are for this step.
    pub checks: bool,
    /// Whether tests are meant to change in this step, whoever started the flow.
    pub tests_may_change: bool,
}

/// A file of an earlier step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandedFile {
    /// The step.
    pub step: String,
    /// The file.
    pub file: ArtifactFileName,
}

impl HandedFile {
    /// `step/file`, the way manifests and messages name it.
    pub fn label(&self) -> String {
        format!("{}/{}", self.step, self.file.name)
    }
}

/// An artifact's name; `?` after it says that it may be missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactFileName {
    /// The name in the output folder.
    pub name: String,
    /// Whether it may be missing.
    pub optional: bool,
}

/// What must be so for a step to be needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepCondition {
    /// The last review before it found something.
    Findings,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowFile {
    name: String,
    description: String,
    #[serde(default)]
    step: Vec<FlowStepTable>,
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

impl FlowDefinition {
    /// Reads a definition; `file` is used in messages.
    pub fn parse(text: &str, file: &str) -> Result<Self, FlowError> {
        let wrong = |message: String| FlowError::Definition { file: file.to_owned(), message };
        let read: FlowFile = toml::from_str(text).map_err(|e| wrong(e.to_string().trim_end().to_owned()))?;
        let steps = read.step.into_iter().map(step).collect::<Result<_, _>>().map_err(wrong)?;
        let definition = Self { name: read.name, description: read.description, steps };
        definition.check().map_err(wrong)?;
        Ok(definition)
    }

    /// The place of a step.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.steps.iter().position(|step| step.name == name)
    }

    fn check(&self) -> Result<(), String> {
        if !is_name(&self.name) {
            return Err(format!("`name` is `{}`; write lower-case letters, digits and dashes", self.name));
        }
        if !matches!(
            self.steps.first(),
            Some(StepDefinition { work: StepWork::Run(_), gate: false, when: None, .. })
        ) {
            return Err("the first step must be a run, without a gate or a condition before it".into());
        }
        let mut earlier: BTreeSet<&str> = BTreeSet::new();
        let mut runs: BTreeSet<&str> = BTreeSet::new();
        for step in &self.steps {
            let here = |message: String| format!("step `{}`: {message}", step.name);
            if !is_name(&step.name) {
                return Err(here("its name must be lower-case letters, digits and dashes".into()));
            }
            let from: Vec<&str> = match &step.work {
                StepWork::Run(run) => run.context.iter().map(|handed| handed.step.as_str()).collect(),
                StepWork::Findings { of, result } => vec![of, result],
            };
            if let Some(unknown) = from.iter().find(|name| !runs.contains(*name)) {
                return Err(here(format!("`{unknown}` is no run before it")));
            }
            if !earlier.insert(&step.name) {
                return Err(here("there are two of that name".into()));
            }
            if matches!(step.work, StepWork::Run(_)) {
                runs.insert(&step.name);
            }
        }
        Ok(())
    }
}

fn step(table: FlowStepTable) -> Result<StepDefinition, String> {
    let here = |message: &str| format!("step `{}`: {message}", table.name);
    let work = match (&table.mode, &table.findings) {
        (Some(mode), None) => {
            if table.result.is_some() {
                return Err(here("`result` belongs to a step with `findings`"));
            }
            let context = table.context.iter().map(|text| handed(text)).collect::<Option<_>>();
            let context =
                context.ok_or_else(|| here("`context` entries look like `step/file` or `step/file?`"))?;
            let (brief, checks, tests_may_change) =
                (table.brief.clone(), table.checks, table.tests_may_change);
            StepWork::Run(StepRunWork { mode: mode.clone(), context, brief, checks, tests_may_change })
        }
        (None, Some(of)) => {
            let result =
                table.result.clone().ok_or_else(|| here("`result` must name the step to look at"))?;
            if table.gate
                || table.checks
                || table.tests_may_change
                || table.brief.is_some()
                || !table.context.is_empty()
            {
                return Err(here("the host takes it, so it has no gate, checks, brief or context"));
            }
            StepWork::Findings { of: of.clone(), result }
        }
        _ => return Err(here("give either `mode` or `findings`")),
    };
    let deliver = table.deliver.iter().map(|text| file_name(text)).collect::<Option<_>>();
    let deliver = deliver.ok_or_else(|| here("`deliver` entries are names of artifacts, as in `plan.md`"))?;
    Ok(StepDefinition { name: table.name, work, gate: table.gate, when: table.when, deliver })
}

fn handed(text: &str) -> Option<HandedFile> {
    let (step, file) = text.split_once('/')?;
    Some(HandedFile { step: step.to_owned(), file: file_name(file)? })
}

fn file_name(text: &str) -> Option<ArtifactFileName> {
    let name = text.strip_suffix('?').unwrap_or(text);
    artifact::check_name(name).ok()?;
    Some(ArtifactFileName { name: name.to_owned(), optional: name.len() < text.len() })
}

fn is_name(text: &str) -> bool {
    (1..=40).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !text.starts_with('-')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use proptest::prelude::*;

    use super::*;

    const FIRST: &str = "name = \"f\"\ndescription = \"x\"\n[[step]]\nname = \"a\"\nmode = \"plan\"\n";

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let check = |more: &str, expected: &str| {
            let error = FlowDefinition::parse(&format!("{FIRST}{more}"), "f.toml").unwrap_err().to_string();
            assert!(error.starts_with("f.toml: ") && error.contains(expected), "{more}: {error}");
        };
        check("[[step]]\nname = \"b\"\n", "step `b`: give either `mode` or `findings`");
        check("[[step]]\nname = \"b\"\nmode = \"x\"\nfindings = \"a\"\n", "give either");
        check("[[step]]\nname = \"a\"\nmode = \"x\"\n", "two of that name");
        check("[[step]]\nname = \"b\"\nmode = \"x\"\ncontext = [\"c/plan.md\"]\n", "`c` is no run before it");
        check("[[step]]\nname = \"b\"\nmode = \"x\"\ncontext = [\"b/plan.md\"]\n", "`b` is no run before it");
        check("[[step]]\nname = \"b\"\nmode = \"x\"\ncontext = [\"plan.md\"]\n", "look like `step/file`");
        check("[[step]]\nname = \"b\"\nmode = \"x\"\ncontext = [\"a/../x\"]\n", "look like `step/file`");
        check("[[step]]\nname = \"b\"\nmode = \"x\"\ndeliver = [\"manifest.json\"]\n", "names of artifacts");
        check("[[step]]\nname = \"b\"\nmode = \"x\"\nwhen = \"rain\"\n", "unknown variant `rain`");
        check("[[step]]\nname = \"b\"\nmode = \"x\"\ngaet = true\n", "unknown field `gaet`");
        check("[[step]]\nname = \"B\"\nmode = \"x\"\n", "lower-case");
        check("[[step]]\nname = \"b\"\nfindings = \"a\"\n", "`result` must name");
        check("[[step]]\nname = \"b\"\nfindings = \"a\"\nresult = \"a\"\ngate = true\n", "the host takes it");
        let gated = FIRST.replace("mode = \"plan\"", "mode = \"plan\"\ngate = true");
        assert!(FlowDefinition::parse(&gated, "f").unwrap_err().to_string().contains("the first step"));
        assert!(FlowDefinition::parse("name = \"f\"\ndescription = \"x\"\n", "f").is_err());
        assert!(FlowDefinition::parse(FIRST, "f").is_ok());
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "\\PC{0,200}", tail in "[a-z\\[\\]\"=\\n /?.]{0,120}") {
            let _ = FlowDefinition::parse(&text, "f");
            let _ = FlowDefinition::parse(&format!("{FIRST}{tail}"), "f");
        }
    }
}
