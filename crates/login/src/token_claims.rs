//! What a token says about itself when it is a JWT: read, never checked, for only its end and its account are wanted.

use serde_json::Value;

/// When it ends, in seconds since 1970.
pub(crate) fn end(token: &str) -> Option<i64> {
    let end = claims(token)?.get("exp")?.as_f64()?;
    // A date that no clock reaches is none.
    (end.is_finite() && (0.0..4e11).contains(&end)).then_some(end as i64)
}

/// The account it is for, as ChatGPT's tokens say it.
pub(crate) fn account(token: &str) -> Option<String> {
    let claims = claims(token)?;
    let inside = |name: &str| claims.get(name).and_then(|auth| auth.get("chatgpt_account_id"));
    let account = inside("https://api.openai.com/auth").or_else(|| claims.get("chatgpt_account_id"))?;
    account.as_str().map(str::to_owned)
}

/// The address of whoever logged in.
pub(crate) fn email(token: &str) -> Option<String> {
    let claims = claims(token)?;
    let email = claims.get("email")?.as_str()?;
    let plain = email.len() <= 254 && email.contains('@') && !email.contains(char::is_control);
    plain.then(|| email.to_owned())
}

fn claims(token: &str) -> Option<Value> {
    let mut parts = token.split('.');
    let (_, body) = (parts.next()?, parts.next()?);
    parts.next()?;
    serde_json::from_slice(&decode(body)?).ok().filter(Value::is_object)
}

/// Base64 with the alphabet for addresses; padding makes no difference.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut buffer, mut bits) = (0_u32, 0_u32);
    for byte in text.trim_end_matches('=').bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'-' | b'+' => 62,
            b'_' | b'/' => 63,
            _ => return None,
        };
        buffer = (buffer << 6 | u32::from(value)) & 0x3fff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((buffer >> bits & 0xff) as u8);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn claims_are_read_without_a_key() {
        // {"exp":1900000000,"https://api.openai.com/auth":{"chatgpt_account_id":"acc-1"}}
        let body = "eyJleHAiOjE5MDAwMDAwMDAsImh0dHBzOi8vYXBpLm9wZW5haS5jb20vYXV0aCI6eyJjaGF0Z3B0X2FjY291bnRfaWQiOiJhY2MtMSJ9fQ";
        let token = format!("e30.{body}.");
        assert_eq!((end(&token), account(&token).as_deref()), (Some(1_900_000_000), Some("acc-1")));
        for none in ["", "a", "a.b", "e30.e30.x", "e30.!!.x", "e30.W10.x", "..", "sk-ant-oat01-x"] {
            assert_eq!((end(none), account(none)), (None, None), "{none}");
        }
    }

    proptest! {
        #[test]
        fn no_token_panics(token in "[A-Za-z0-9_.=+/-]{0,80}|.{0,40}") {
            let _ = (end(&token), account(&token));
        }
    }
}
