use roman::to_roman;

#[test]
fn four_and_nine() {
    assert_eq!(to_roman(4).as_deref(), Some("IV"));
    assert_eq!(to_roman(9).as_deref(), Some("IX"));
}
