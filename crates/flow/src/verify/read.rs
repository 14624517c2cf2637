//! Reads what a run left behind, without following a link and without believing anything.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use holon_core::digest::{sha256, sha256_parts};
use holon_core::event::RunEvent;
use holon_core::manifest::Manifest;
use holon_core::mode::{ModeCatalog, ModeSource, Profile};
use holon_core::spec;
use holon_git::{FileMode, PathDigest};
use holon_host::recording::SupervisorRecording;
use holon_host::store::RunFolder;
use holon_host::{HolonFolders, HostError};
use holon_store::AuditEntry;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::base::{self, PatchOrigin};
use super::evidence::{
    AuditEvidence, BaseEvidence, EventLog, EvidenceFile, EvidenceFileKind, EvidenceLayout, OriginalEvidence,
    RecordedRequestFacts, RunEvidence, SealEvidence,
};
use crate::audit::{self, AuditTrail, AuditVerdict};
use crate::error::FlowError;
use crate::release::OVERRIDDEN;
use crate::sealed::{self, SEALED, SealList, SealedContents};

/// Files up to this size are looked into; larger ones are only digested.
const LOOKED_INTO: u64 = 64 << 20;

/// The audit log of a state folder, read once for all runs that are verified.
#[derive(Debug, Clone)]
pub struct AuditLog {
    entries: Vec<AuditEntry>,
    /// What is wrong with its chain, in a sentence.
    broken: Option<String>,
}

impl AuditLog {
    /// The log; `None` when it is not there or cannot be read.
    pub fn of(places: &HolonFolders) -> Option<Self> {
        let log = AuditTrail::of(&places.state);
        if !log.path().exists() {
            return None;
        }
        Some(Self { entries: audit::entries(&log).ok()?, broken: broken(&log) })
    }
}

/// Everything a run left in `folder`, which is its folder in a store or a copy that was made of it.
pub fn gather(places: &HolonFolders, folder: &Path) -> Result<RunEvidence, FlowError> {
    gather_with(places, AuditLog::of(places).as_ref(), folder)
}

/// The same with an audit log that was read before.
pub fn gather_with(
    places: &HolonFolders,
    log: Option<&AuditLog>,
    folder: &Path,
) -> Result<RunEvidence, FlowError> {
    // Whoever names the output folder of a run in the store means the run.
    let folder =
        match folder.parent().filter(|above| folder.ends_with("output") && above.join("run.json").exists()) {
            Some(above) => above,
            None => folder,
        };
    let layout = if folder.join("run.json").exists() { EvidenceLayout::Store } else { EvidenceLayout::Copy };
    let (output, evidence) = match layout {
        EvidenceLayout::Store => (folder.join("output"), folder.join("evidence")),
        EvidenceLayout::Copy => (folder.to_owned(), folder.join("evidence")),
    };
    let path = output.join("manifest.json");
    let text = plain(&path).map_err(HostError::io("read", &path))?;
    let broken = |e: serde_json::Error| {
        FlowError::from(HostError::run(
            format!("{} is no manifest: {e}", path.display()),
            "nothing can be checked without it",
        ))
    };
    let written: Value = serde_json::from_slice(&text).map_err(broken)?;
    let manifest: Manifest = serde_json::from_slice(&text).map_err(broken)?;
    let run = RunFolder::open(folder.to_owned());
    let record = match layout {
        EvidenceLayout::Store => Some(run.record()?),
        EvidenceLayout::Copy => None,
    };
    let mut kept = list(&output);
    kept.remove("manifest.json");
    let input = folder.join("input");
    let spec = plain(&input.join("spec.yaml")).ok().and_then(|text| {
        spec::parse(&String::from_utf8_lossy(&text), "spec.yaml").ok().map(|(spec, _)| spec)
    });
    let audit = log.map(|log| audit_log(log, &manifest));
    let mut found = RunEvidence {
        layout,
        manifest_sha256: holon_core::digest::sha256(&text),
        folder_name: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        record,
        evidence: list(&evidence),
        events: plain(&evidence.join("events.jsonl")).ok().map(|text| events(&text)),
        touched: json(&folder.join("touched.json")),
        prompts_sha256: prompts(&input.join("prompts")),
        context: (layout == EvidenceLayout::Store && input.is_dir()).then(|| context(&input.join("context"))),
        profile: profile(places, &manifest, &run),
        asked: request_facts(folder),
        original: audit.as_ref().filter(|_| layout == EvidenceLayout::Copy).and_then(|log| {
            let events = plain(&evidence.join("events.jsonl")).unwrap_or_default();
            original(places, manifest.run_id.as_str(), log, &events)
        }),
        seal: audit.as_ref().filter(|_| layout == EvidenceLayout::Store).and_then(|log| seal(folder, log)),
        overrides: overrides(&folder.join("overrides.json")),
        audit,
        base: BaseEvidence::default(),
        whole: super::reapplied::whole(places, &run)?,
        supervisor: SupervisorRecording::read(&evidence.join("events.jsonl"))
            .ok()
            .and_then(|recording| recording.summary()),
        spec,
        output: kept,
        manifest,
        written,
    };
    found.base = patch_base(&found);
    Ok(found)
}

fn patch_base(run: &RunEvidence) -> BaseEvidence {
    let Some(record) = run.record.as_ref().filter(|record| record.workspace.is_dir()) else {
        return BaseEvidence::default();
    };
    let snapshot = run.manifest.metadata.snapshot.as_ref();
    let patch = run.output.get("diff.patch").and_then(|file| file.content.as_deref());
    let base_commit = snapshot.and_then(|snapshot| snapshot.base_commit.as_deref());
    if patch.is_none_or(<[u8]>::is_empty) && base_commit.is_none() {
        return BaseEvidence::default();
    }
    base::look(&PatchOrigin {
        workspace: &record.workspace,
        base_commit,
        patch: patch.unwrap_or_default(),
        touched: run.touched.as_deref().unwrap_or_default(),
    })
}

/// The profile of a mode that comes with Holon and that nobody replaced; of others it may have changed since.
fn profile(places: &HolonFolders, manifest: &Manifest, run: &RunFolder) -> Option<Profile> {
    let workspace = run.record().ok()?.workspace;
    let known =
        holon_host::modes::catalog(places, Some(&workspace)).or_else(|_| ModeCatalog::builtin()).ok()?;
    let mut profile =
        known.resolve(&manifest.mode).ok().filter(|profile| profile.source == ModeSource::Builtin)?;
    if json::<Value>(&run.path().join("run-plan.json")).is_some_and(|plan| plan["interactive"] == true) {
        holon_host::run::require_only_patch(&mut profile);
    }
    Some(profile)
}

/// What the plan says and the model that was noted beside it; of a run from before plans were kept, its request.
fn request_facts(folder: &Path) -> Option<RecordedRequestFacts> {
    let words = |list: &Value| {
        let texts = list.as_array().into_iter().flatten().filter_map(Value::as_str);
        texts.map(str::to_owned).collect::<Vec<_>>()
    };
    let model = |recorded: &Value| serde_json::from_value(recorded["model"].clone()).ok();
    if let Some(plan) = json::<Value>(&folder.join("run-plan.json")) {
        let recorded = json::<Value>(&folder.join("recorded-model.json"));
        return Some(RecordedRequestFacts {
            model_recorded: recorded.is_some(),
            model: recorded.as_ref().and_then(model),
            checks: words(&plan["checks"]),
            may_repeat_a_cut: !plan["cut"].is_null(),
            interactive: plan["interactive"] == true,
        });
    }
    json::<Value>(&folder.join("asked.json")).map(|asked| RecordedRequestFacts {
        model_recorded: true,
        model: model(&asked),
        checks: words(&asked["request"]["checks"]),
        may_repeat_a_cut: true,
        interactive: false,
    })
}

fn audit_log(log: &AuditLog, manifest: &Manifest) -> AuditEvidence {
    let id = Value::from(manifest.run_id.as_str());
    let wanted = manifest.metadata.audit.as_ref().map(|head| head.length);
    let those =
        |fits: &dyn Fn(&AuditEntry) -> bool| log.entries.iter().filter(|e| fits(e)).cloned().collect();
    AuditEvidence {
        broken: log.broken.clone(),
        length: log.entries.len() as u64,
        head: log.entries.iter().find(|entry| Some(entry.seq) == wanted).cloned(),
        overrides: those(&|entry| entry.note.action == OVERRIDDEN),
        about: those(&|entry| entry.note.detail.get("run_id") == Some(&id)),
    }
}

/// What is wrong with the chain of the log, in a sentence.
fn broken(log: &AuditTrail) -> Option<String> {
    match audit::verify(log, []) {
        Ok(AuditVerdict::Whole { .. }) => None,
        Ok(AuditVerdict::Broken { at, problem }) => Some(format!("entry {at} of the audit log: {problem}")),
        Err(e) => Some(format!("the audit log cannot be read: {e}")),
    }
}

/// The list that the audit log tells of and the files that are there.
fn seal(folder: &Path, log: &AuditEvidence) -> Option<SealEvidence> {
    let told = sealed::told(log.about.iter())?.to_owned();
    let text = plain(&folder.join(SEALED)).ok();
    Some(SealEvidence {
        told,
        list: text.map(|text| (sha256(&text), serde_json::from_slice(&text).ok())),
        asked_sha256: sealed::asked_sha256(folder),
        there: SealedContents::in_folder(folder),
    })
}

/// The run of the store that a copy was made of, if what is there is what was sealed. `events` are those of the copy.
fn original(places: &HolonFolders, id: &str, log: &AuditEvidence, events: &[u8]) -> Option<OriginalEvidence> {
    const EVENTS: &str = "evidence/events.jsonl";
    let told = sealed::told(log.about.iter())?;
    let workspaces = fs::read_dir(&places.state).ok()?.flatten();
    let folder = workspaces.map(|entry| entry.path().join("runs").join(id)).find(|run| run.is_dir())?;
    let list = |path: &Path, digest: &str| -> Option<SealList> {
        let text = plain(path).ok().filter(|text| sha256(text) == digest)?;
        serde_json::from_slice(&text).ok()
    };
    let whole = list(&folder.join(SEALED), told)?;
    let of_parts = whole.files.iter().filter(|file| file.path.starts_with("steps/"));
    let parts = of_parts.filter_map(|file| list(&folder.join(&file.path), &file.sha256));
    let parts = parts.map(|part| (part.run_id.clone(), part)).collect();
    let in_store = plain(&folder.join(EVENTS)).ok()?;
    let went_on = in_store.len() > events.len() && in_store.starts_with(events);
    Some(OriginalEvidence { list: whole, parts, went_on })
}

/// What is kept of people's words; something that is there and cannot be read is `null`.
fn overrides(path: &Path) -> Option<Value> {
    path.symlink_metadata().is_ok().then(|| json(path).unwrap_or_default())
}

/// Events line by line. The last line of a run that was killed may be cut off.
fn events(text: &[u8]) -> EventLog {
    let mut log = EventLog::default();
    let mut lines = text.split(|b| *b == b'\n').zip(1..).peekable();
    while let Some((line, number)) = lines.next() {
        if line.is_empty() && lines.peek().is_none() {
            break;
        }
        match serde_json::from_slice::<RunEvent>(line) {
            Ok(event) => log.events.push(event),
            Err(_) if lines.peek().is_none() => {}
            Err(_) if is_event_of_another_version(line) => log.unknown += 1,
            Err(_) => log.broken.push(number),
        }
    }
    log
}

fn is_event_of_another_version(line: &[u8]) -> bool {
    let value: Option<Value> = serde_json::from_slice(line).ok();
    value.is_some_and(|value| value["seq"].is_u64() && value["type"].is_string() && value["run"].is_string())
}

fn prompts(folder: &Path) -> Option<String> {
    let (system, user) = (plain(&folder.join("system.md")).ok()?, plain(&folder.join("user.md")).ok()?);
    Some(sha256_parts([system.as_slice(), user.as_slice()]))
}

/// Context files but those the host adds itself.
fn context(folder: &Path) -> BTreeMap<String, String> {
    let all = list(folder).into_iter().filter(|(name, _)| name != "index.json" && name != "repair.md");
    all.filter_map(|(name, file)| Some((name, file.sha256?))).collect()
}

/// Everything below a folder that is no folder.
fn list(folder: &Path) -> BTreeMap<String, EvidenceFile> {
    let mut found = BTreeMap::new();
    let mut todo = vec![PathBuf::new()];
    while let Some(below) = todo.pop() {
        let Ok(entries) = fs::read_dir(folder.join(&below)) else { continue };
        for entry in entries.flatten() {
            let name = below.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => todo.push(name),
                Ok(kind) => {
                    let what = match (kind.is_file(), kind.is_symlink()) {
                        (true, _) => EvidenceFileKind::File,
                        (_, true) => EvidenceFileKind::Link,
                        _ => EvidenceFileKind::Special,
                    };
                    found.insert(name.to_string_lossy().into_owned(), kept(&entry.path(), what));
                }
                Err(_) => {}
            }
        }
    }
    found
}

fn kept(path: &Path, kind: EvidenceFileKind) -> EvidenceFile {
    let nothing = EvidenceFile { kind, bytes: 0, sha256: None, content: None };
    let Some(mut file) = (kind == EvidenceFileKind::File).then(|| open(path).ok()).flatten() else {
        return nothing;
    };
    if file.metadata().is_ok_and(|meta| meta.len() <= LOOKED_INTO) {
        let mut bytes = Vec::new();
        return match file.take(LOOKED_INTO).read_to_end(&mut bytes) {
            Ok(_) => EvidenceFile {
                bytes: bytes.len() as u64,
                sha256: Some(sha256(&bytes)),
                content: Some(bytes),
                ..nothing
            },
            Err(_) => nothing,
        };
    }
    match PathDigest::of_reader(FileMode::Regular, &mut file) {
        Ok((digest, bytes)) => EvidenceFile { bytes, sha256: Some(digest.sha256), ..nothing },
        Err(_) => nothing,
    }
}

fn json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&plain(path).ok()?).ok()
}

/// The bytes of a plain file of bounded size.
fn plain(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(4 * LOOKED_INTO).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a plain file, never through a link at its end, never waiting for a pipe.
fn open(path: &Path) -> std::io::Result<File> {
    use rustix::fs::{CWD, Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(rustix::fs::openat(CWD, path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is no plain file"));
    }
    Ok(file)
}
