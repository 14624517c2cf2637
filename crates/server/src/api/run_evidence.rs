//! What a run left besides its artifacts, for whoever asks why it ended as it did: what the agent and the checks printed.

use std::fs::{File, read_dir};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path as FsPath, PathBuf};
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use holon_core::ids::RunId;
use holon_core::redact::Redactor;
use serde::Serialize;
use utoipa::ToSchema;

use super::run_files::plain;
use super::runs::{RunFile, blocking, folder};
use crate::app::AppState;
use crate::guard::RequestUser;
use crate::problem::{ApiProblem, ApiResult};

/// Most of a file that is shown: its end, which says how it went.
const SHOWN: usize = 256 << 10;
/// What is read before that, so that nothing is hidden from the redactor by where the file was cut.
const BEFORE: usize = 64 << 10;
/// Most files that are listed.
const MOST_FILES: usize = 500;

/// A file of a run's evidence, as far as it is shown.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct EvidenceText {
    /// The end of the file, in whole lines where it has such.
    text: String,
    /// How long the file is.
    bytes: u64,
    /// How much of it, before the text, was left out.
    cut: u64,
}

/// Gives the end of a file of a run's evidence, by its name in `evidence` of the run.
#[utoipa::path(get, path = "/api/runs/{id}/evidence/{path}", tag = "runs",
    params(("id" = String, Path), ("path" = String, Path)),
    responses((status = 200, body = EvidenceText), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn show(
    State(app): State<Arc<AppState>>,
    _user: RequestUser,
    Path((id, path)): Path<(String, String)>,
) -> ApiResult<Json<EvidenceText>> {
    let (folder, _) = folder(&app, &id).await?;
    let redactor = app.redactor.clone();
    let read = blocking(move || end_of(&find(folder.path(), &path)?, &redactor)).await?;
    read.map(Json).ok_or_else(|| ApiProblem::not_found("file"))
}

/// The files of a run's evidence and of its steps', which are named `steps/RUN/FILE`.
pub(super) fn list(run: &FsPath) -> Vec<RunFile> {
    let mut all = Vec::new();
    gather(run, "", &mut all);
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all
}

fn gather(run: &FsPath, before: &str, all: &mut Vec<RunFile>) {
    for entry in read_dir(run.join("evidence")).into_iter().flatten().flatten() {
        let name = entry.file_name().into_string().ok().filter(|name| is_shown(name));
        let meta = entry.metadata().ok().filter(|meta| meta.is_file());
        if let (Some(name), Some(meta)) = (name, meta)
            && all.len() < MOST_FILES
        {
            all.push(RunFile { path: format!("{before}{name}"), bytes: meta.len() });
        }
    }
    for (id, step) in steps(run) {
        gather(&step, &format!("{before}steps/{id}/"), all);
    }
}

/// The runs of a flow's steps: the layout of all runs, one level deeper.
fn steps(run: &FsPath) -> Vec<(RunId, PathBuf)> {
    let workspaces = read_dir(run.join("steps")).into_iter().flatten().flatten();
    let runs =
        workspaces.flat_map(|entry| read_dir(entry.path().join("runs")).into_iter().flatten().flatten());
    runs.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path()))).collect()
}

/// Where a file is by its name in the list; nothing that could be elsewhere.
fn find(run: &FsPath, name: &str) -> Option<PathBuf> {
    match name.strip_prefix("steps/") {
        Some(rest) => {
            let (id, rest) = rest.split_once('/')?;
            let id: RunId = id.parse().ok()?;
            find(&steps(run).into_iter().find(|(known, _)| *known == id)?.1, rest)
        }
        None => is_shown(name).then(|| run.join("evidence").join(name)),
    }
}

/// One plain name. A patch that is no artifact was kept back, and is for whoever has the machine.
fn is_shown(name: &str) -> bool {
    let mut parts = FsPath::new(name).components();
    let one = matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name);
    one && !name.contains('\0') && !name.to_ascii_lowercase().ends_with(".patch")
}

fn end_of(at: &FsPath, redactor: &Redactor) -> Option<EvidenceText> {
    let (mut file, bytes) = plain(at)?;
    let most = (SHOWN + BEFORE) as u64;
    file.seek(SeekFrom::Start(bytes.saturating_sub(most))).ok()?;
    let clean = redactor.redact(&read(file, bytes.min(most))?);
    if bytes <= SHOWN as u64 {
        return Some(EvidenceText { text: String::from_utf8_lossy(&clean).into_owned(), bytes, cut: 0 });
    }
    let text = whole_lines(&clean[clean.len().saturating_sub(SHOWN)..]);
    Some(EvidenceText {
        text: String::from_utf8_lossy(text).into_owned(),
        bytes,
        cut: bytes - text.len() as u64,
    })
}

fn read(file: File, most: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Without the rest of a line, or at least of a character, that begins before.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    let line = bytes.iter().position(|byte| *byte == b'\n').map(|end| end + 1).filter(|at| *at < bytes.len());
    let character = || bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
    &bytes[line.unwrap_or_else(character)..]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use super::*;

    const STEP: &str = "20260101-000000-aaaaaa";

    /// A run with a step, and things that are nobody's business.
    fn run() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let step = format!("steps/ws-1/runs/{STEP}/evidence");
        for path in ["evidence/nested", "output", &step] {
            fs::create_dir_all(folder.path().join(path)).unwrap();
        }
        let files = [
            "run.json",
            "evidence/agent.log",
            "evidence/withheld.patch",
            "evidence/adapter-diff.PATCH",
            "evidence/nested/deep.log",
            &format!("{step}/agent.log"),
            &format!("steps/ws-1/runs/{STEP}/run.json"),
            "output/summary.md",
        ];
        for path in files {
            fs::write(folder.path().join(path), path).unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("evidence/link.log")).unwrap();
        folder
    }

    #[test]
    fn evidence_of_a_run_and_of_its_steps_is_found_by_the_names_it_is_listed_with() {
        let folder = run();
        let listed = list(folder.path());
        let names: Vec<&str> = listed.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(names, ["agent.log".to_owned(), format!("steps/{STEP}/agent.log")]);
        for file in &listed {
            let read = end_of(&find(folder.path(), &file.path).unwrap(), &Redactor::default()).unwrap();
            assert!(read.text.ends_with("evidence/agent.log"), "{read:?}");
            assert_eq!((read.bytes, read.cut), (file.bytes, 0));
        }
    }

    #[test]
    fn nothing_else_is_handed_out_as_evidence() {
        let folder = run();
        let read = |name: &str| end_of(&find(folder.path(), name)?, &Redactor::default());
        let step = format!("steps/{STEP}");
        for name in [
            "",
            ".",
            "..",
            "/",
            "../run.json",
            "/etc/passwd",
            "nested",
            "nested/deep.log",
            "./agent.log",
            "agent.log/",
            "agent.log\0",
            "none.log",
            "link.log",
            "withheld.patch",
            "adapter-diff.PATCH",
            "steps",
            "steps/",
            "steps/../agent.log",
            "steps/ws-1/agent.log",
            &step,
            &format!("{step}/"),
            &format!("{step}/../run.json"),
            &format!("{step}/..%2frun.json"),
            &format!("{step}/{step}/agent.log"),
            &format!("steps//{STEP}/agent.log"),
            &"steps/".repeat(10_000),
        ] {
            assert_eq!(read(name), None, "{name}");
        }
    }

    #[test]
    fn of_a_long_file_the_end_is_shown_in_whole_lines_and_without_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("agent.log");
        let secret = b"a-secret-that-nobody-may-see".as_slice();
        let redactor = Redactor::new([("TOKEN", secret)]);
        // Wherever the cut is, the secret of the line that it goes through is not told by half.
        for pad in 0..40 {
            let mut text = "x".repeat(pad) + "\n";
            while text.len() < SHOWN * 2 {
                text.push_str("say a-secret-that-nobody-may-see twice\n");
            }
            text.push_str("the last line: \u{4e2d}\u{202e}");
            fs::write(&at, &text).unwrap();
            let shown = end_of(&at, &redactor).unwrap();
            assert_eq!((shown.bytes, shown.cut), (text.len() as u64, (text.len() - shown.text.len()) as u64));
            assert!(shown.text.len() <= SHOWN && shown.text.starts_with("say ["), "{}", &shown.text[..60]);
            assert!(shown.text.ends_with("the last line: \u{4e2d}\u{202e}"));
            assert!(!shown.text.contains("secret") && !shown.text.contains("nobody"));
        }
        // One line without an end, and bytes that are no text.
        fs::write(&at, "\u{4e2d}".repeat(SHOWN)).unwrap();
        let shown = end_of(&at, &redactor).unwrap();
        assert!(shown.text.chars().all(|c| c == '\u{4e2d}') && shown.text.len() > SHOWN - 4);
        fs::write(&at, b"\xff\xfe ok").unwrap();
        assert_eq!(end_of(&at, &redactor).unwrap().text, "\u{fffd}\u{fffd} ok");
    }
}
