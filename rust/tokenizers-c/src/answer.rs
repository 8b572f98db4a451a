// SPDX-License-Identifier: Apache-2.0
//! The normalisation of SQuAD's evaluation programs. Python's `\b` goes by letters, numbers and the underscore, which is how
//! words are bounded here; its `lower` and Rust's `to_lowercase` are both Unicode's full mapping.

use crate::{guarded, text, Outcome, Text};
use std::cell::OnceCell;
use tokenizers::utils::SysRegex;

const ARTICLES: &str = r"(?<![\p{L}\p{N}_])(?:a|an|the)(?![\p{L}\p{N}_])";

/// What Python's `str.split` splits at: Unicode's white space, and the four separators of ASCII.
fn is_space(letter: char) -> bool {
    letter.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&letter)
}

fn without_articles(text: &str) -> Outcome<String> {
    thread_local! {
        static REGEX: OnceCell<SysRegex> = const { OnceCell::new() };
    }
    REGEX.with(|cell| {
        if cell.get().is_none() {
            let regex = SysRegex::new(ARTICLES).map_err(|error| error.to_string())?;
            let _ = cell.set(regex);
        }
        let regex = cell.get().ok_or("no regular expression")?;
        let mut result = String::with_capacity(text.len());
        let mut last = 0;
        for (start, end) in regex.find_iter(text) {
            result.push_str(&text[last..start]);
            result.push(' ');
            last = end;
        }
        result.push_str(&text[last..]);
        Ok(result)
    })
}

fn normalize(text: &str) -> Outcome<String> {
    let lower: String = text
        .to_lowercase()
        .chars()
        .filter(|letter| !letter.is_ascii_punctuation())
        .collect();
    let words = without_articles(&lower)?;
    let words: Vec<&str> = words
        .split(is_space)
        .filter(|word| !word.is_empty())
        .collect();
    Ok(words.join(" "))
}

/// Writes an answer as SQuAD's evaluation programs compare it.
///
/// # Safety
/// `data` has `length` bytes; `result` and `error` may be written to.
#[no_mangle]
pub unsafe extern "C" fn weft_normalize_answer(
    data: *const u8,
    length: usize,
    result: *mut Text,
    error: *mut Text,
) -> bool {
    guarded(error, || normalize(text(data, length)?))
        .map(|normalized| result.write(Text::from(normalized)))
        .is_some()
}

#[cfg(test)]
mod tests {
    use super::normalize;

    #[test]
    fn articles_go_only_as_words() {
        assert_eq!(
            normalize("The cat's a-b an\tÄthe 'THE'").unwrap(),
            "cats ab äthe"
        );
        assert_eq!(normalize("a the an").unwrap(), "");
        assert_eq!(normalize("theatre_a a_ ").unwrap(), "theatrea");
    }
}
