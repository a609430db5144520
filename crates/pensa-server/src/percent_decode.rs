//! Decodes percent-encoding strictly: malformed input and invalid UTF-8 are refused.

use std::borrow::Cow;

use percent_encoding::percent_decode;

/// Decodes text; `None` if it is malformed.
pub(crate) fn decode(encoded: &[u8]) -> Option<String> {
    // `percent_decode` would keep a malformed escape.
    let mut escapes = encoded.split(|byte| *byte == b'%').skip(1);
    let are_hex = |after: &[u8]| after.get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    if !escapes.all(are_hex) {
        return None;
    }
    percent_decode(encoded).decode_utf8().ok().map(Cow::into_owned)
}

/// The decoded names and values of a query string; `None` for a malformed pair.
pub(crate) fn query(query: &str) -> impl Iterator<Item = Option<(String, String)>> {
    let part = |text: &str| match text.contains('+') {
        true => decode(text.replace('+', " ").as_bytes()),
        false => decode(text.as_bytes()),
    };
    query.split('&').filter(|pair| !pair.is_empty()).map(move |pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((part(name)?, part(value)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_formed_text_is_decoded() {
        for (encoded, text) in [("plain", "plain"), ("a%20b", "a b"), ("%E2%82%AC", "€"), ("€", "€"), ("", "")] {
            assert_eq!(decode(encoded.as_bytes()).as_deref(), Some(text));
        }
    }

    #[test]
    fn malformed_text_is_refused() {
        for bad in [&b"%"[..], b"%4", b"%zz", b"%ff", b"\xff", b"%+1"] {
            assert_eq!(decode(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_query_keeps_order_repetition_and_blanks() {
        let pairs: Option<Vec<_>> = query("a=1&b=x+y&a=2%2B2&&c").collect();
        let pairs = pairs.expect("well-formed");
        let expected = [("a", "1"), ("b", "x y"), ("a", "2+2"), ("c", "")];
        assert!(pairs.iter().map(|(k, v)| (k.as_str(), v.as_str())).eq(expected), "{pairs:?}");
    }
}
