use recent::Recent;

#[test]
fn reading_is_a_use() {
    let mut cache = Recent::new(2);
    cache.put("a", "1");
    cache.put("b", "2");
    assert_eq!(cache.get("a").as_deref(), Some("1"));
    cache.put("c", "3");
    assert_eq!(cache.get("a").as_deref(), Some("1"));
    assert_eq!(cache.get("b"), None);
}
