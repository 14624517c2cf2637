const LETTERS: [(u32, &str); 13] = [
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"),
    (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
];

/// A number from 1 to 3999 in Roman numerals; `None` for any other.
pub fn to_roman(mut number: u32) -> Option<String> {
    if number == 0 || number > 3999 {
        return None;
    }
    let mut text = String::new();
    for (value, letters) in LETTERS {
        while number >= value {
            text.push_str(letters);
            number -= value;
        }
    }
    Some(text)
}
