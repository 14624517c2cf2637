//! After a server that was killed: its turns are marked, and their threads can be used again.

use std::sync::Arc;

use holon_host::record::now;
use holon_store::{EventRow, StoreError, StoreWrite, ThreadState, ThreadUpdate, TurnState, TurnUpdate};
use serde_json::json;

use crate::app::AppState;
use crate::words::ReplyLanguage;

/// Marks every turn that was under way; says how many.
pub(crate) async fn recover(app: &Arc<AppState>) -> Result<usize, StoreError> {
    let busy = app.store.read(|backend| backend.busy_threads()).await?;
    let mut marked = 0;
    for thread in busy.into_iter().filter(|thread| thread.state == ThreadState::Running) {
        let at = now();
        let message = ReplyLanguage::default().interrupted();
        let event = EventRow {
            thread: thread.id.clone(),
            seq: thread.last_seq + 1,
            turn: thread.turns,
            kind: "error".into(),
            data: json!({"message": message, "code": "interrupted"}).to_string(),
            at: at.clone(),
        };
        let end = TurnUpdate {
            thread: thread.id.clone(),
            number: thread.turns,
            state: TurnState::Interrupted,
            code: Some("interrupted".into()),
            ended_at: Some(at.clone()),
            // What it did before it was cut off can be taken back, too.
            changed: app.folder(&thread).and_then(|folder| folder.was_written_by(thread.turns)).ok(),
        };
        let idle = ThreadUpdate { state: Some(ThreadState::Idle), ..ThreadUpdate::of(thread.id.clone(), at) };
        let audit = app.audit("server", "turn_interrupted", Some((&thread.id, thread.turns)), json!({}));
        app.store
            .write(vec![
                StoreWrite::Event(event),
                StoreWrite::Turn(Box::new(end)),
                StoreWrite::Thread(Box::new(idle)),
                audit,
            ])
            .await?;
        marked += 1;
    }
    Ok(marked)
}
