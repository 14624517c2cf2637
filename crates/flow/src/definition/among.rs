//! A flow among the modes and flows there are: what its steps are run in, and what a repository's flow may not.

use holon_core::mode::{ModeCatalog, ModeSource, Profile};
use holon_core::suggest;

use super::read::{FlowText, WrongKey, parsed, stem};
use super::{
    ArtifactFileName, FlowDefinition, FlowFile, LoopGoal, StepCondition, StepDefinition, StepRunWork,
    StepWork,
};
use crate::file_error::FlowFileError;

/// A mode that splits a goal into tasks of its own: it is no step.
const ORCHESTRATE: &str = "orchestrate";
const FINDINGS: &str = "findings.json";
const REVIEW: &str = "review.json";

const DISTRUST: &str =
    "files of a workspace can add flows and narrow, so put it into your own configuration if you want it";

/// What a flow file is judged by.
pub struct FlowSurroundings<'a> {
    /// The modes there are.
    pub modes: &'a ModeCatalog,
    /// Names of the flows there are.
    pub flows: &'a [String],
}

impl FlowDefinition {
    /// Reads somebody's flow, and holds it against the modes and flows there are and against what its owner may.
    pub fn read(
        text: &str,
        file: &str,
        source: ModeSource,
        among: &FlowSurroundings<'_>,
    ) -> Result<Self, FlowFileError> {
        let (mut flow, lines) = parsed(text, file)?;
        name_is_free(&flow, file, source, among).map_err(|key| lines.error(None, key))?;
        let profiles = profiles(&flow, &lines, source, among)?;
        for (place, step) in flow.steps.iter().enumerate() {
            files_exist(&flow, step, &profiles)
                .and_then(|()| condition_is_decided(&flow, place, step, &profiles))
                .and_then(|()| loop_can_end(&flow, place, step, &profiles))
                .map_err(|key| lines.error(Some((place, &step.name)), key))?;
        }
        if source == ModeSource::Project {
            narrows(&flow, &lines, &profiles)?;
        }
        flow.written = Some(FlowFile { source, file: file.to_owned(), text: text.to_owned() });
        Ok(flow)
    }
}

/// A name means one thing, and a repository takes nobody's.
fn name_is_free(
    flow: &FlowDefinition,
    file: &str,
    source: ModeSource,
    among: &FlowSurroundings<'_>,
) -> Result<(), WrongKey> {
    let name = &flow.name;
    if name != stem(file) {
        let problem = format!("is `{name}` but the file is called `{}.toml`", stem(file));
        return Err(("name", problem, "make them agree, or leave `name` out".into()));
    }
    let remedy = match source {
        ModeSource::Project => DISTRUST.replace("put it into", "give it another name, or put it into"),
        ModeSource::Builtin | ModeSource::User => "give it another name".to_owned(),
    };
    if among.flows.iter().any(|other| other == name) {
        return Err(("name", format!("`{name}` already names a flow"), remedy));
    }
    if let Some(mode) = among.modes.canonical(name) {
        let listed = among.modes.list().into_iter().find(|listed| listed.name == mode);
        // A repository's mode must not keep a person from their own flow.
        let yields =
            source == ModeSource::User && listed.is_some_and(|listed| listed.source == ModeSource::Project);
        if !yields {
            return Err(("name", format!("`{name}` already names the mode `{mode}`"), remedy));
        }
    }
    Ok(())
}

/// The profile of each step's mode.
fn profiles(
    flow: &FlowDefinition,
    lines: &FlowText<'_>,
    source: ModeSource,
    among: &FlowSurroundings<'_>,
) -> Result<Vec<Option<Profile>>, FlowFileError> {
    let mut profiles = Vec::new();
    for (place, step) in flow.steps.iter().enumerate() {
        let StepWork::Run(work) = &step.work else {
            profiles.push(None);
            continue;
        };
        let found = profile(work, &flow.name, source, among);
        profiles.push(Some(found.map_err(|key| lines.error(Some((place, &step.name)), key))?));
    }
    Ok(profiles)
}

fn profile(
    work: &StepRunWork,
    own: &str,
    source: ModeSource,
    among: &FlowSurroundings<'_>,
) -> Result<Profile, WrongKey> {
    let mode = &work.mode;
    let single = "a step is a single mode; write that flow's steps out";
    if mode == own {
        return Err(("mode", format!("names the flow `{own}` itself"), single.into()));
    }
    if mode == ORCHESTRATE || among.modes.canonical(mode) == Some(ORCHESTRATE) || among.flows.contains(mode) {
        return Err(("mode", format!("names `{mode}`, which has several steps of its own"), single.into()));
    }
    let Some(canonical) = among.modes.canonical(mode) else {
        let names: Vec<String> = among.modes.list().into_iter().map(|listed| listed.name).collect();
        let hint = suggest::hint(mode, names.iter().map(String::as_str));
        let problem = format!("names `{mode}`, which is no mode{hint}");
        return Err(("mode", problem, format!("the modes are: {}", names.join(", "))));
    };
    if canonical != mode {
        let problem = format!("names `{mode}`, which is another name of `{canonical}`");
        return Err(("mode", problem, format!("write `{canonical}`: one mode has one name in flows")));
    }
    let found = among.modes.resolve(canonical).map_err(|error| {
        let problem = format!("names `{mode}`, which cannot be used: {error}");
        ("mode", problem, "mend that mode first; `holon modes check` says what is wrong".to_owned())
    })?;
    if source == ModeSource::Project && found.source == ModeSource::User {
        return Err(("mode", format!("takes over the user's own mode `{canonical}`"), DISTRUST.into()));
    }
    Ok(found)
}

/// Whether a step always hands a file over, may do so, or never does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileCertainty {
    Always,
    Perhaps,
    Never,
}

fn certainty(step: &StepDefinition, profile: Option<&Profile>, file: &str) -> FileCertainty {
    let has = |list: &[String]| list.iter().any(|name| name == file);
    match (&step.work, profile) {
        (StepWork::Findings { .. }, _) if file == FINDINGS => FileCertainty::Always,
        (StepWork::Run(_), Some(profile)) if has(&profile.artifacts.required) => FileCertainty::Always,
        (StepWork::Run(_), Some(profile)) if has(&profile.artifacts.optional) => FileCertainty::Perhaps,
        _ => FileCertainty::Never,
    }
}

/// Every file that a step gets or delivers is one its step makes.
fn files_exist(
    flow: &FlowDefinition,
    step: &StepDefinition,
    profiles: &[Option<Profile>],
) -> Result<(), WrongKey> {
    if let StepWork::Run(work) = &step.work {
        for handed in &work.context {
            let Some(place) = flow.position(&handed.step) else { continue };
            let from = &flow.steps[place];
            file_is_made("context", from, profiles[place].as_ref(), &handed.file)?;
            let left_out = from.when.is_some() && from.when != step.when;
            if left_out && !handed.file.optional {
                let problem = format!("needs `{}`, but that step can be left out", handed.label());
                return Err(("context", problem, format!("write `{}?`", handed.label())));
            }
        }
    }
    if let StepWork::Findings { of, result } = &step.work {
        let profile = |name: &str| flow.position(name).and_then(|place| profiles[place].as_ref());
        if !profile(of).is_some_and(|profile| profile.requires(REVIEW)) {
            let problem = format!("names `{of}`, which makes no `{REVIEW}`");
            return Err(("findings", problem, "name a step in mode `review`".into()));
        }
        if !profile(result).is_some_and(writes) {
            let problem = format!("names `{result}`, which changes no files");
            return Err((
                "result",
                problem,
                "name the step whose change is looked at, such as one in mode `execute`".into(),
            ));
        }
    }
    let own = flow.position(&step.name).and_then(|place| profiles[place].as_ref());
    step.deliver.iter().try_for_each(|file| file_is_made("deliver", step, own, file))
}

fn file_is_made(
    key: &'static str,
    from: &StepDefinition,
    profile: Option<&Profile>,
    file: &ArtifactFileName,
) -> Result<(), WrongKey> {
    let name = &file.name;
    match certainty(from, profile, name) {
        FileCertainty::Always => Ok(()),
        FileCertainty::Perhaps if file.optional => Ok(()),
        FileCertainty::Perhaps => {
            let problem = format!("needs `{name}`, which `{}` does not always make", from.name);
            Err((key, problem, format!("write `{name}?`")))
        }
        FileCertainty::Never => {
            let made: Vec<&str> = match profile {
                Some(profile) => {
                    let all = profile.artifacts.required.iter().chain(&profile.artifacts.optional);
                    all.map(String::as_str).collect()
                }
                None => vec![FINDINGS],
            };
            let hint = suggest::hint(name, made.iter().copied());
            let problem = format!("has `{name}`, which `{}` does not make{hint}", from.name);
            Err((key, problem, format!("it makes: {}", made.join(", "))))
        }
    }
}

/// Whether a step looks for something.
fn looks(step: &StepDefinition, profile: Option<&Profile>) -> bool {
    match &step.work {
        StepWork::Findings { .. } => true,
        StepWork::Run(_) => profile.is_some_and(|profile| profile.requires(REVIEW)),
    }
}

/// Whether what a step changes leaves its walls.
fn writes(profile: &Profile) -> bool {
    !profile.promises_no_change()
}

/// A condition that nothing decides would leave a step that is never or always reached.
fn condition_is_decided(
    flow: &FlowDefinition,
    place: usize,
    step: &StepDefinition,
    profiles: &[Option<Profile>],
) -> Result<(), WrongKey> {
    let decided = flow.steps.iter().zip(profiles).take(place).any(|(step, p)| looks(step, p.as_ref()));
    if step.when != Some(StepCondition::Findings) || decided {
        return Ok(());
    }
    let problem = "is `findings`, but no step before it looks for any: it could never be decided";
    Err(("when", problem.into(), "put a step in mode `review` above it, or take `when` out".into()))
}

/// A loop whose end nothing in it can bring about would always run to its bound.
fn loop_can_end(
    flow: &FlowDefinition,
    place: usize,
    step: &StepDefinition,
    profiles: &[Option<Profile>],
) -> Result<(), WrongKey> {
    let Some(terms) = &step.repeat else { return Ok(()) };
    let first = flow.position(&terms.from).unwrap_or(place);
    let inside = || flow.steps.iter().zip(profiles).take(place + 1).skip(first);
    let (can_end, remedy) = match terms.until {
        LoopGoal::NoFindings => (
            inside().any(|(step, profile)| looks(step, profile.as_ref())),
            "let the loop hold a step in mode `review`, or one with `findings`",
        ),
        LoopGoal::NoChanges => (
            inside().any(|(_, profile)| profile.as_ref().is_some_and(writes)),
            "let the loop hold a step in a mode that changes files, such as `execute`",
        ),
    };
    match can_end {
        true => Ok(()),
        false => {
            let problem = format!("is `{}`, but no step of the loop could tell", terms.until);
            Err(("repeat.until", problem, remedy.into()))
        }
    }
}

/// What a repository's flow may not: let tests change, and write before somebody could look.
fn narrows(
    flow: &FlowDefinition,
    lines: &FlowText<'_>,
    profiles: &[Option<Profile>],
) -> Result<(), FlowFileError> {
    let relaxed = flow.steps.iter().position(|step| match &step.work {
        StepWork::Run(work) => work.tests_may_change,
        StepWork::Findings { .. } => false,
    });
    if let Some(place) = relaxed {
        let key =
            ("tests_may_change", "lets the change define its own checks".to_owned(), DISTRUST.to_owned());
        return Err(lines.error(Some((place, &flow.steps[place].name)), key));
    }
    let writers: Vec<usize> =
        (0..profiles.len()).filter(|place| profiles[*place].as_ref().is_some_and(writes)).collect();
    let Some(place) = writers.iter().copied().find(|place| !is_gated(flow, *place)) else { return Ok(()) };
    let first = writers.first() == Some(&place);
    let problem = if first {
        "is missing before the first step that changes files: a flow of a workspace has one there"
    } else {
        "is missing before a step that changes files: the gate above it is left out with its own step"
    };
    let remedy = match place {
        0 => "put a step that only reads before it, and write `gate = true` here",
        _ => "write `gate = true`",
    };
    let key = ("gate", problem.to_owned(), remedy.to_owned());
    Err(lines.error(Some((place, &flow.steps[place].name)), key))
}

/// Whether a person is asked before a step whatever came before: at the step itself, or at one above that is never left
/// out.
fn is_gated(flow: &FlowDefinition, place: usize) -> bool {
    let step = &flow.steps[place];
    step.gate || flow.steps.iter().take(place).any(|above| above.gate && above.when.is_none())
}
