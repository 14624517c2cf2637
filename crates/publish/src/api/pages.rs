//! Lists that come in pages.

use serde_json::Value;

use super::{ApiRequest, ApiResponse, ForgeApi, checked};
use crate::error::PublishError;

/// The most entries of one page that GitHub gives.
const PER_PAGE: &str = "100";

/// How much of a list is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageBound {
    /// The most entries.
    pub entries: usize,
}

/// A list, and whether it was longer than the bound.
#[derive(Debug, Default)]
pub(crate) struct PagedList {
    /// The entries, in the forge's order.
    pub entries: Vec<Value>,
    /// True when more entries are there.
    pub more: bool,
}

/// Every entry of a list up to a bound; `field` is where the entries are when they are not the whole answer.
pub(crate) fn pages(
    api: &mut dyn ForgeApi,
    request: ApiRequest,
    field: Option<&str>,
    bound: PageBound,
) -> Result<PagedList, PublishError> {
    let mut found = PagedList::default();
    let mut page = 1;
    loop {
        let asked = request.clone().query("per_page", PER_PAGE).query("page", page.to_string());
        let answer = checked(api, &asked)?;
        let wrong = |why: &str| PublishError::Answer { call: asked.shown(), why: why.to_owned() };
        let value: Value =
            serde_json::from_slice(&answer.body).map_err(|e| wrong(&format!("no JSON: {e}")))?;
        let list = field.map_or(&value, |field| &value[field]);
        let Value::Array(entries) = list else { return Err(wrong("a list was expected")) };
        found.entries.extend(entries.iter().cloned());
        let more = has_next(&answer);
        if found.entries.len() >= bound.entries {
            found.more = more || found.entries.len() > bound.entries;
            found.entries.truncate(bound.entries);
            return Ok(found);
        }
        if !more || entries.is_empty() {
            return Ok(found);
        }
        page += 1;
    }
}

/// Whether the `link` header names a next page. Its address is not followed: it comes from the answer, and the token must
/// not go where an answer says.
fn has_next(answer: &ApiResponse) -> bool {
    answer.header("link").is_some_and(|link| link.split(',').any(|part| part.contains("rel=\"next\"")))
}
