//! Values in messages, as Python writes them.

/// Maximum length of a value in a message.
const MAX_CHARACTERS: usize = 60;

/// Returns a text of at most 60 characters.
pub fn shortened(text: &str) -> String {
    if text.chars().count() <= MAX_CHARACTERS {
        return text.to_owned();
    }
    let kept: String = text.chars().take(MAX_CHARACTERS - 3).collect();
    format!("{kept}...")
}

/// Returns a text in quotes, in at most 60 characters.
pub(crate) fn shown(text: &str) -> String {
    let start: String = text.chars().take(MAX_CHARACTERS).collect();
    shortened(&repr(&start))
}

/// Returns a text in quotes, with escapes for quotes, backslashes and characters that are not printable.
pub fn repr(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut quoted = String::from(quote);
    for letter in text.chars() {
        match letter {
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\\' => quoted.push_str("\\\\"),
            _ if letter == quote => quoted.extend(['\\', quote]),
            _ if is_printable(letter) => quoted.push(letter),
            _ => {
                let code = u32::from(letter);
                quoted.push_str(&match code {
                    0..=0xff => format!("\\x{code:02x}"),
                    0x100..=0xffff => format!("\\u{code:04x}"),
                    _ => format!("\\U{code:08x}"),
                });
            }
        }
    }
    quoted.push(quote);
    quoted
}

/// Returns whether a character is printable: `escape_debug` escapes the others, and combining ones at the start of a text.
fn is_printable(letter: char) -> bool {
    let is_ascii_text = letter == ' ' || letter.is_ascii_graphic();
    is_ascii_text || (!letter.is_ascii() && format!("a{letter}").escape_debug().count() == 2)
}

/// Returns the shortest text that denotes a float, as Python writes it: 5.0, 1e+16, 2.5e-05, inf.
pub fn repr_of_float(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    let text = format!("{value:?}");
    match text.split_once('e') {
        None => text,
        Some((digits, exponent)) => {
            let (sign, exponent) = match exponent.strip_prefix('-') {
                Some(exponent) => ('-', exponent),
                None => ('+', exponent),
            };
            format!("{}e{sign}{exponent:0>2}", digits.trim_end_matches(".0"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_as_in_python() {
        for (text, quoted) in [
            ("it's", "\"it's\""),
            ("'\"", "'\\'\"'"),
            ("a\\\n\t\x1b\u{7f}\u{85}", "'a\\\\\\n\\t\\x1b\\x7f\\x85'"),
            ("\u{b5}s \u{301}", "'\u{b5}s \u{301}'"),
            ("\u{a0}\u{2028}\u{e000}\u{10ffff}", "'\\xa0\\u2028\\ue000\\U0010ffff'"),
        ] {
            assert_eq!(repr(text), quoted);
        }
    }

    #[test]
    fn floats_are_written_as_in_python() {
        for (value, text) in [
            (5.0, "5.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (1e15, "1000000000000000.0"),
            (0.0001, "0.0001"),
            (0.000_025, "2.5e-05"),
            (-0.0, "-0.0"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(repr_of_float(value), text);
        }
    }
}
