//! Artifacts of runs, piece by piece: nobody who reads slowly has a whole one in memory.

use std::fs::File;
use std::io::{self, Read, Take};
use std::path::{Component, Path as FsPath, PathBuf};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use rustix::fs::{Mode, OFlags};

use super::runs::{blocking, folder};
use crate::app::AppState;
use crate::guard::RequestUser;
use crate::problem::{ApiProblem, ApiResult};

/// Largest file of a run that is shown.
const MOST_BYTES: u64 = 16 << 20;
/// Bytes that are read at once.
const PIECE: usize = 64 << 10;

/// Gives an artifact of a run; while it waits at a gate, also what is decided about there, by its name in `gate.files`.
#[utoipa::path(get, path = "/api/runs/{id}/files/{path}", tag = "runs",
    params(("id" = String, Path), ("path" = String, Path)),
    responses((status = 200, body = String), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn file(
    State(app): State<Arc<AppState>>,
    _user: RequestUser,
    Path((id, path)): Path<(String, String)>,
) -> ApiResult<Response> {
    let (folder, summary) = folder(&app, &id).await?;
    let missing = || ApiProblem::not_found("file");
    let asked = app.runs.find(&summary.record.id).and_then(|going| going.gate_files().remove(&path));
    let relative = PathBuf::from(&path);
    let plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
    if asked.is_none() && (!plain || path.contains('\0') || relative.components().count() != 1) {
        return Err(missing());
    }
    let at = asked.unwrap_or_else(|| folder.output().join(&relative));
    let (file, length) = blocking(move || open(&at)).await?.ok_or_else(missing)?;
    let mut response = Response::new(pieces(file));
    let kind = if path.ends_with(".json") { "application/json" } else { "text/plain; charset=utf-8" };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    Ok(response)
}

/// A plain file that is not too large, and its length; what is looked at is what is read.
fn open(at: &FsPath) -> Option<(Take<File>, u64)> {
    let (file, length) = plain(at).filter(|(_, length)| *length <= MOST_BYTES)?;
    Some((file.take(length), length))
}

/// A plain file, never what a link points to, and its length.
pub(super) fn plain(at: &FsPath) -> Option<(File, u64)> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(at, flags, Mode::empty()).ok()?);
    let length = file.metadata().ok().filter(|meta| meta.is_file())?.len();
    Some((file, length))
}

fn pieces(file: Take<File>) -> Body {
    let chunks = stream::unfold(Some(file), |file| async move {
        let mut file = file?;
        let read = move || -> io::Result<_> {
            let mut piece = vec![0; PIECE];
            let read = file.read(&mut piece)?;
            piece.truncate(read);
            Ok((piece, file))
        };
        match tokio::task::spawn_blocking(read).await.unwrap_or_else(|e| Err(io::Error::other(e))) {
            Ok((piece, _)) if piece.is_empty() => None,
            Ok((piece, file)) => Some((Ok(Bytes::from(piece)), Some(file))),
            Err(e) => Some((Err(e), None)),
        }
    });
    Body::from_stream(chunks)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_plain_files_of_some_size_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("plain"), "text").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", at("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("fifo"), Mode::RUSR).unwrap();
        File::create(at("large")).unwrap().set_len(MOST_BYTES + 1).unwrap();
        assert_eq!(open(&at("plain")).map(|(_, length)| length), Some(4));
        for name in ["link", "fifo", "large", "none", "."] {
            assert!(open(&at(name)).is_none(), "{name}");
        }
    }
}
