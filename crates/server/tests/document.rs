//! The committed description of the API is the one the routes have.

#[test]
fn the_document_is_up_to_date() {
    let committed = include_str!("../../../openapi.json");
    let now = holon_server::document();
    assert!(
        committed == now,
        "openapi.json is out of date: cargo run -p holon-server --example openapi > openapi.json"
    );
}
