//! Parts of what commands printed, put together from the pieces they are kept in.

use rusqlite::{Connection, OptionalExtension};

use super::database;
use crate::error::StoreError;
use crate::record::ToolOutputRange;

/// From this byte on: as many whole characters as fit into so many bytes, and at least one.
pub(super) fn range(
    at: &Connection,
    (thread, turn, call): (&str, u64, &str),
    from: u64,
    bytes: usize,
) -> Result<ToolOutputRange, StoreError> {
    let whose = (thread, i64::try_from(turn).unwrap_or(i64::MAX), call);
    let last: Option<(i64, i64)> = at
        .prepare_cached(
            "SELECT start, length(CAST(body AS BLOB)) FROM tool_outputs
             WHERE thread = ?1 AND turn = ?2 AND call = ?3 ORDER BY start DESC LIMIT 1",
        )
        .and_then(|mut statement| statement.query_row(whose, |row| Ok((row.get(0)?, row.get(1)?))).optional())
        .map_err(database)?;
    let Some(kept) = last.map(|(start, length)| (start + length).unsigned_abs()) else {
        return Ok(ToolOutputRange::default());
    };
    if from >= kept {
        return Ok(ToolOutputRange { from: kept, text: String::new(), kept });
    }
    // The piece around the first byte, and those after it.
    let mut statement = at
        .prepare_cached(
            "SELECT start, body FROM tool_outputs WHERE thread = ?1 AND turn = ?2 AND call = ?3
             AND start >= (SELECT max(start) FROM tool_outputs
                           WHERE thread = ?1 AND turn = ?2 AND call = ?3 AND start <= ?4)
             ORDER BY start",
        )
        .map_err(database)?;
    let signed = i64::try_from(from).unwrap_or(i64::MAX);
    let mut rows = statement.query((whose.0, whose.1, whose.2, signed)).map_err(database)?;
    let (mut text, mut begins) = (String::new(), from);
    while let Some(row) = rows.next().map_err(database)? {
        let (start, body): (i64, String) =
            row.get(0).and_then(|start| Ok((start, row.get(1)?))).map_err(database)?;
        if text.is_empty() {
            let offset = usize::try_from(from.saturating_sub(start.unsigned_abs())).unwrap_or(usize::MAX);
            let offset = body.floor_char_boundary(offset);
            begins = start.unsigned_abs() + offset as u64;
            text.push_str(&body[offset..]);
        } else {
            text.push_str(&body);
        }
        if text.len() >= bytes {
            break;
        }
    }
    let first = text.chars().next().map_or(0, char::len_utf8);
    text.truncate(text.floor_char_boundary(bytes).max(first));
    Ok(ToolOutputRange { from: begins, text, kept })
}
