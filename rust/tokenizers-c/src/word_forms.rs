// SPDX-License-Identifier: Apache-2.0
//! Text as metrics of translations compare it: Unicode's lower case, and words by mteval-v14's international rules.

use crate::{guarded, text, Outcome, Text};
use std::cell::OnceCell;
use tokenizers::utils::SysRegex;

/// A mark behind what is no number, a mark before what is no number, a symbol.
const RULES: [&str; 3] = [r"(\P{N})(\p{P})", r"(\p{P})(\P{N})", r"\p{S}"];

fn replaced(rule: &SysRegex, text: &str, write: impl Fn(&str, &mut String)) -> String {
    let mut result = String::with_capacity(text.len() + text.len() / 4);
    let mut last = 0;
    for (start, end) in rule.find_iter(text) {
        result.push_str(&text[last..start]);
        write(&text[start..end], &mut result);
        last = end;
    }
    result.push_str(&text[last..]);
    result
}

fn first_and_rest(found: &str) -> (&str, &str) {
    let length = found.chars().next().map_or(0, char::len_utf8);
    found.split_at(length)
}

fn international_words(text: &str) -> Outcome<String> {
    thread_local! {
        static REGEXES: OnceCell<Vec<SysRegex>> = const { OnceCell::new() };
    }
    REGEXES.with(|cell| {
        if cell.get().is_none() {
            let made: Result<Vec<_>, _> = RULES.iter().map(|rule| SysRegex::new(rule)).collect();
            let _ = cell.set(made.map_err(|error| error.to_string())?);
        }
        let rules = cell.get().ok_or("no regular expression")?;
        let text = replaced(&rules[0], text, |found, result| {
            let (letter, mark) = first_and_rest(found);
            result.extend([letter, " ", mark, " "]);
        });
        let text = replaced(&rules[1], &text, |found, result| {
            let (mark, letter) = first_and_rest(found);
            result.extend([" ", mark, " ", letter]);
        });
        Ok(replaced(&rules[2], &text, |found, result| result.extend([" ", found, " "])))
    })
}

/// Writes a text in lower case, by Unicode's full mapping.
///
/// # Safety
/// `data` has `length` bytes; `result` and `error` may be written to.
#[no_mangle]
pub unsafe extern "C" fn weft_lower_case(
    data: *const u8,
    length: usize,
    result: *mut Text,
    error: *mut Text,
) -> bool {
    guarded(error, || Ok(text(data, length)?.to_lowercase()))
        .map(|lower| result.write(Text::from(lower)))
        .is_some()
}

/// Writes a text with blanks around punctuation that no number touches, and around symbols.
///
/// # Safety
/// `data` has `length` bytes; `result` and `error` may be written to.
#[no_mangle]
pub unsafe extern "C" fn weft_international_words(
    data: *const u8,
    length: usize,
    result: *mut Text,
    error: *mut Text,
) -> bool {
    guarded(error, || international_words(text(data, length)?))
        .map(|words| result.write(Text::from(words)))
        .is_some()
}

#[cfg(test)]
mod tests {
    use super::international_words;

    #[test]
    fn numbers_keep_their_marks() {
        let words = |text: &str| {
            let spaced = international_words(text).unwrap();
            spaced.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(words("A,b 1,000.5 €5 «x»."), "A , b 1,000.5 € 5 « x » .");
        assert_eq!(words("in 1999."), "in 1999.");
    }
}
