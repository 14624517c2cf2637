//! The audit log, and the check that nobody changed it.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use holon_store::{AuditEntry, ChainVerdict, StoreBackend, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::extract::QueryPart;
use crate::app::AppState;
use crate::guard::RequestUser;
use crate::problem::{ApiProblem, ApiResult};

/// Entries that are looked at together when only a user's own are wanted, and how often at most.
const PAGE: usize = 1000;
const MOST_PAGES: usize = 100;

/// Which entries.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditQuery {
    /// After this number.
    after: Option<u64>,
    /// At most so many, 100 unless told.
    limit: Option<u32>,
    /// About this thread only.
    thread: Option<String>,
}

/// A part of the audit log.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuditPage {
    /// `{seq, at, actor, action, thread, turn, detail, prev, hash}`, in order.
    #[schema(value_type = Vec<Object>)]
    entries: Vec<AuditEntry>,
    /// The end of the chain: `{seq, hash}`.
    #[schema(value_type = Option<Object>)]
    head: Option<Value>,
}

/// Lists entries of the audit log that are about the user's own threads and doings.
#[utoipa::path(get, path = "/api/audit", tag = "audit", params(AuditQuery),
    responses((status = 200, body = AuditPage), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn list(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    QueryPart(which): QueryPart<AuditQuery>,
) -> ApiResult<Json<AuditPage>> {
    let limit = which.limit.unwrap_or(100).clamp(1, 1000) as usize;
    let after = which.after.unwrap_or(0);
    let several = app.setup.doors.is_shared();
    let found = app
        .store
        .read(move |backend| {
            // Another user's thread is none of theirs, gone or not.
            if let Some(thread) = &which.thread
                && !is_theirs(backend, thread, &user.0)?
            {
                return Ok(None);
            }
            let head = backend.audit_head()?;
            let entries = match several && which.thread.is_none() {
                true => own(backend, &user.0, after, limit)?,
                false => backend.audit(after, limit, which.thread.as_deref())?,
            };
            Ok(Some((entries, head)))
        })
        .await?;
    let (entries, head) = found.ok_or_else(|| ApiProblem::not_found("thread"))?;
    Ok(Json(AuditPage { entries, head: head.and_then(|head| serde_json::to_value(head).ok()) }))
}

/// Whether a thread is a user's, or was: the log outlives threads, and its first entry about one says who made it.
fn is_theirs(backend: &dyn StoreBackend, thread: &str, user: &str) -> Result<bool, StoreError> {
    let Ok(id) = thread.parse() else { return Ok(false) };
    if let Some(thread) = backend.thread(&id)? {
        return Ok(thread.user == user);
    }
    let first = backend.audit(0, 1, Some(thread))?;
    Ok(first.first().is_some_and(|entry| entry.note.action == "thread_created" && entry.note.actor == user))
}

/// Entries of one user among those of many: so many of them, or all there are in a part of the log that is large enough.
fn own(
    backend: &dyn StoreBackend,
    user: &str,
    mut after: u64,
    limit: usize,
) -> Result<Vec<AuditEntry>, StoreError> {
    let mut threads: HashMap<String, bool> = HashMap::new();
    let mut found = Vec::new();
    for _ in 0..MOST_PAGES {
        let page = backend.audit(after, PAGE, None)?;
        let Some(last) = page.last().map(|entry| entry.seq) else { break };
        for entry in page {
            let theirs = match &entry.note.thread {
                None => entry.note.actor == user,
                Some(id) => match threads.get(id) {
                    Some(known) => *known,
                    None => {
                        let theirs = is_theirs(backend, id, user)?;
                        threads.insert(id.clone(), theirs);
                        theirs
                    }
                },
            };
            if theirs {
                found.push(entry);
                if found.len() == limit {
                    return Ok(found);
                }
            }
        }
        after = last;
    }
    Ok(found)
}

/// Whether the audit log is as it was written.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuditCheckReport {
    ok: bool,
    /// How many entries there are.
    length: Option<u64>,
    /// The last hash.
    head: Option<String>,
    /// The first entry that is wrong or missing.
    at: Option<u64>,
    /// What is wrong with it.
    problem: Option<String>,
}

/// Checks the whole audit log.
#[utoipa::path(get, path = "/api/audit/verify", tag = "audit",
    responses((status = 200, body = AuditCheckReport), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn verify(
    State(app): State<Arc<AppState>>,
    _user: RequestUser,
) -> ApiResult<Json<AuditCheckReport>> {
    let _alone = app.verifying.lock().await;
    let verified = app.store.read(|backend| backend.verify_audit()).await?;
    Ok(Json(match verified {
        ChainVerdict::Whole { head } => AuditCheckReport {
            ok: true,
            length: Some(head.as_ref().map_or(0, |head| head.seq)),
            head: head.map(|head| head.hash),
            at: None,
            problem: None,
        },
        ChainVerdict::Broken { at, problem } => {
            AuditCheckReport { ok: false, length: None, head: None, at: Some(at), problem: Some(problem) }
        }
    }))
}
