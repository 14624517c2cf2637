use table::{pad, render, width};

#[test]
fn widths_are_characters() {
    let rows = vec![vec!["ééé"], vec!["ab"]];
    assert_eq!(width(&rows, 0), 3);
    assert_eq!(width(&rows, 1), 0);
    assert_eq!(pad("é", 3), "é  ");
    assert_eq!(pad("long", 2), "long");
}

#[test]
fn tables() {
    assert_eq!(render(&[]), Vec::<String>::new());
    let rows = vec![vec!["å", "b", "c"], vec!["dd"], vec!["e", "ßßß", "f"]];
    assert_eq!(render(&rows), ["å   b    c", "dd", "e   ßßß  f"]);
}
