use recent::Recent;

#[test]
fn putting_again_replaces() {
    let mut cache = Recent::new(2);
    cache.put("a", "1");
    cache.put("b", "2");
    cache.put("a", "9");
    assert_eq!(cache.len(), 2);
    cache.put("c", "3");
    assert_eq!(cache.get("b"), None);
    assert_eq!(cache.get("a").as_deref(), Some("9"));
    assert_eq!(cache.get("c").as_deref(), Some("3"));
}

#[test]
fn misses_change_nothing() {
    let mut cache = Recent::new(2);
    assert!(cache.is_empty());
    cache.put("a", "1");
    cache.put("b", "2");
    assert_eq!(cache.get("x"), None);
    cache.put("c", "3");
    assert_eq!(cache.get("a"), None);
    assert_eq!(cache.len(), 2);
}

#[test]
fn order_of_uses() {
    let mut cache = Recent::new(3);
    for key in ["a", "b", "c"] {
        cache.put(key, key);
    }
    cache.get("b");
    cache.get("a");
    cache.put("d", "d");
    assert_eq!(cache.get("c"), None);
    cache.put("e", "e");
    assert_eq!(cache.get("b"), None);
    assert_eq!(cache.get("a").as_deref(), Some("a"));
}
