use roman::to_roman;

#[test]
fn all_forms() {
    for (number, text) in [
        (1, "I"), (3, "III"), (14, "XIV"), (40, "XL"), (49, "XLIX"), (90, "XC"), (400, "CD"), (944, "CMXLIV"),
        (1994, "MCMXCIV"), (2024, "MMXXIV"), (3999, "MMMCMXCIX"),
    ] {
        assert_eq!(to_roman(number).as_deref(), Some(text), "{number}");
    }
}

#[test]
fn limits() {
    assert_eq!(to_roman(0), None);
    assert_eq!(to_roman(4000), None);
}
