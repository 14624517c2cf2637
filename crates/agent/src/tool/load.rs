//! Loads a file to change it, with what is needed to notice that someone else changed it meanwhile.

use holon_hands::{ExecutorErrorKind as HandsTrouble, ToolRequest, ToolResponse};

use super::{CallContext, ToolTrouble, odd};

/// Most bytes of a file that is edited.
const MOST: u64 = 8 * 1024 * 1024;

/// A text file as it was loaded.
pub(super) struct LoadedTextFile {
    pub(super) text: String,
    pub(super) sha256: String,
    pub(super) executable: bool,
}

/// The file's text; `None` when there is no such file.
pub(super) async fn load(scene: &CallContext<'_>, path: &str) -> Result<Option<LoadedTextFile>, ToolTrouble> {
    let file = match scene.carry_out(ToolRequest::Load { path: path.to_owned(), max_bytes: MOST }).await {
        Ok(ToolResponse::Bytes(file)) => file,
        Ok(_) => return Err(odd()),
        Err(ToolTrouble::Hands(error)) if error.trouble == HandsTrouble::NotFound => return Ok(None),
        Err(trouble) => return Err(trouble),
    };
    let text = String::from_utf8(file.bytes)
        .map_err(|_| ToolTrouble::Said(format!("{path} is no UTF-8 text; change it with a command")))?;
    Ok(Some(LoadedTextFile { text, sha256: file.sha256, executable: file.executable }))
}
