//! Uploads: bytes with a name, to be sent along with a message.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use futures_util::StreamExt;
use holon_core::digest::sha256;
use holon_host::record::now;
use holon_store as store;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};

use super::extract::{PATIENCE, QueryPart, too_large, too_slow};
use crate::app::{AppState, fresh};
use crate::guard::RequestUser;
use crate::problem::{ApiProblem, ApiResult};

/// Bytes of a name: file systems take 255, and something is put before it.
const MOST_NAME: usize = 200;

/// What an upload is called.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct UploadName {
    /// The file's name; folders in it are dropped.
    name: String,
}

/// A file that was sent.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UploadInfo {
    id: String,
    name: String,
    bytes: u64,
    sha256: String,
}

/// Takes a file: its bytes are the body.
#[utoipa::path(post, path = "/api/files", tag = "files", params(UploadName),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 201, body = UploadInfo), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn upload(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    QueryPart(UploadName { name }): QueryPart<UploadName>,
    request: Request<Body>,
) -> ApiResult<(StatusCode, Json<UploadInfo>)> {
    let name = safe(&name).ok_or_else(|| ApiProblem::invalid("`name` must be the name of a file"))?;
    let limit = app.setup.limits.upload;
    // Known before anything is kept in memory, where the size is told.
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if let Some(length) = length.and_then(|text| text.parse::<u64>().ok()) {
        if length > limit as u64 {
            return Err(too_large());
        }
        if let Err(full) = app.uploads.room(&app.store, &user.0, length).await {
            hear_out(request.into_body()).await;
            return Err(full);
        }
    }
    // Nothing of a body is read before its turn has come, so that many at once cannot fill the memory.
    let _place = app.uploads.place().await?;
    let whole = tokio::time::timeout(PATIENCE, axum::body::to_bytes(request.into_body(), limit));
    let bytes = whole.await.map_err(|_| too_slow())?.map_err(|_| too_large())?;
    let id = fresh("f");
    let (digest, size) = (sha256(&bytes), bytes.len() as u64);
    let row = store::StoredUpload {
        id: id.clone(),
        user: user.0.clone(),
        name: name.clone(),
        bytes: size,
        sha256: digest.clone(),
        at: now(),
        thread: None,
    };
    let audit = app.audit(&user.0, "uploaded", None, json!({"id": id, "sha256": digest, "bytes": size}));
    app.uploads.keep(&app.store, row, bytes, audit).await?;
    Ok((StatusCode::CREATED, Json(UploadInfo { id, name, bytes: size, sha256: digest })))
}

/// Reads a body that nobody wants: browsers that are not heard out do not listen, either.
async fn hear_out(body: Body) {
    let mut pieces = body.into_data_stream();
    let all = async { while let Some(Ok(_)) = pieces.next().await {} };
    let _ = tokio::time::timeout(PATIENCE, all).await;
}

/// The last part of a path, without what could mean something to a shell, a terminal or a file system.
fn safe(name: &str) -> Option<String> {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain =
        |c: char| if c.is_ascii() { c.is_ascii_alphanumeric() || ".-_ ".contains(c) } else { !is_unseen(c) };
    let keep = |c: char| if plain(c) { c } else { '_' };
    let clean: String = last.chars().take(80).map(keep).collect();
    let clean = clean.trim().trim_start_matches('.');
    let end = (0..=clean.len().min(MOST_NAME)).rev().find(|at| clean.is_char_boundary(*at)).unwrap_or(0);
    (end > 0).then(|| clean[..end].to_owned())
}

/// What could make a name read as something it is not: no mark of its own, or another direction.
fn is_unseen(c: char) -> bool {
    let formats = matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{ffff}' | '\u{e0000}'..='\u{10ffff}');
    let private = matches!(c, '\u{e000}'..='\u{f8ff}');
    c.is_control() || c.is_whitespace() || formats || private
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_folder() {
        let check = |name: &str, expect: Option<&str>| assert_eq!(safe(name).as_deref(), expect, "{name:?}");
        check("a.txt", Some("a.txt"));
        check("../../etc/passwd", Some("passwd"));
        check("C:\\x\\报告 1.pdf", Some("报告 1.pdf"));
        check("..", None);
        check("/", None);
        check("", None);
        check("a\n$(b)\0", Some("a___b__"));
        check(".bashrc", Some("bashrc"));
        // As some systems write letters with accents, and scripts whose letters take marks.
        check("re\u{301}sume\u{301}.pdf", Some("re\u{301}sume\u{301}.pdf"));
        check("हिन्दी 🔨.md", Some("हिन्दी 🔨.md"));
        check("gpj\u{202e}.exe\u{200b}\u{a0}", Some("gpj_.exe__"));
        let wide = "𝒜".repeat(100);
        assert!(safe(&wide).is_some_and(|name| name.len() <= MOST_NAME && wide.starts_with(&name)));
    }
}
