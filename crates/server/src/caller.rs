//! On whose behalf a request is: the `traceparent` it came with, handed on to the work that it starts.

use axum::http::HeaderMap;
use holon_telemetry::TraceCaller;

tokio::task_local! {
    static CALLER: Option<TraceCaller>;
}

/// What the headers of a request say about it; several lines of state are one.
pub(crate) fn of(headers: &HeaderMap) -> Option<TraceCaller> {
    let parent = headers.get("traceparent")?.to_str().ok()?;
    let state: Option<Vec<&str>> =
        headers.get_all("tracestate").iter().map(|value| value.to_str().ok()).collect();
    TraceCaller::read(parent, state.filter(|lines| !lines.is_empty()).map(|lines| lines.join(",")).as_deref())
}

/// Does something on somebody's behalf.
pub(crate) async fn on_behalf<F: Future>(caller: Option<TraceCaller>, work: F) -> F::Output {
    CALLER.scope(caller, work).await
}

/// On whose behalf the present task works. What it starts elsewhere has to be told.
pub(crate) fn present() -> Option<TraceCaller> {
    CALLER.try_with(Clone::clone).ok().flatten()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn headers_name_a_caller() {
        let mut headers = HeaderMap::new();
        assert_eq!(of(&headers), None);
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        headers.insert("traceparent", parent.parse().unwrap());
        headers.append("tracestate", "a=1".parse().unwrap());
        headers.append("tracestate", "b=2".parse().unwrap());
        assert_eq!(of(&headers), TraceCaller::read(parent, Some("a=1,b=2")));
        headers.insert("traceparent", "nonsense".parse().unwrap());
        assert_eq!(of(&headers), None);
    }
}
