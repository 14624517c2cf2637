//! HTTP, event streams and the page.
