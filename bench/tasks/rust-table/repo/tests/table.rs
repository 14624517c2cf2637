use table::render;

#[test]
fn umlauts_are_one_wide() {
    let rows = vec![vec!["Größe", "5"], vec!["Art", "x"]];
    assert_eq!(render(&rows), ["Größe  5", "Art    x"]);
}
