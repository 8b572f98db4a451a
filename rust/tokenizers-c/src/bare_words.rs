// SPDX-License-Identifier: Apache-2.0
//! The words of a text as a restorer of case and punctuation sees them: letters and digits of any script, and single signs
//! between them that belong to a word; each in lower case, with a capital, and in capitals.

use crate::{guarded, text, Text};
use std::ffi::c_void;

/// Between two letters or digits these are part of a word: "it's", "look-out", "a.m", "AT&T".
const JOINTS: [char; 5] = ['\'', '’', '.', '&', '-'];

/// Bytes that live as long as the call.
#[repr(C)]
pub struct Slice {
    data: *const u8,
    length: usize,
}

impl From<&String> for Slice {
    fn from(text: &String) -> Slice {
        Slice { data: text.as_ptr(), length: text.len() }
    }
}

#[repr(C)]
pub struct BareWord {
    begin: usize,
    end: usize,
    lower: Slice,
    title: Slice,
    upper: Slice,
}

/// Where the word that begins at `begin` ends.
fn end_of_word(text: &str, begin: usize) -> usize {
    let mut letters = text[begin..].char_indices().peekable();
    while let Some((place, letter)) = letters.next() {
        if letter.is_alphanumeric() {
            continue;
        }
        let joins = JOINTS.contains(&letter) && letters.peek().is_some_and(|(_, next)| next.is_alphanumeric());
        if !joins {
            return begin + place;
        }
    }
    text.len()
}

/// The first letter as a capital; digits before it stay.
fn with_capital(lower: &str) -> String {
    match lower.char_indices().find(|(_, letter)| letter.is_alphabetic()) {
        Some((place, letter)) => {
            let rest = place + letter.len_utf8();
            lower[..place].chars().chain(letter.to_uppercase()).chain(lower[rest..].chars()).collect()
        }
        None => lower.to_owned(),
    }
}

fn visit(text: &str, mut take: impl FnMut(&BareWord)) {
    let mut place = 0;
    while let Some(found) = text[place..].find(char::is_alphanumeric) {
        let begin = place + found;
        let end = end_of_word(text, begin);
        let lower = text[begin..end].to_lowercase();
        let (title, upper) = (with_capital(&lower), lower.to_uppercase());
        take(&BareWord { begin, end, lower: (&lower).into(), title: (&title).into(), upper: (&upper).into() });
        place = end;
    }
}

/// Hands each word of a text to `take`, in order.
///
/// # Safety
/// `data` has `length` bytes; `take` reads the word within the call and does not unwind; `error` may be written to.
#[no_mangle]
pub unsafe extern "C" fn weft_bare_words(
    data: *const u8,
    length: usize,
    take: extern "C" fn(*mut c_void, *const BareWord),
    context: *mut c_void,
    error: *mut Text,
) -> bool {
    guarded(error, || {
        visit(text(data, length)?, |word| take(context, word));
        Ok(())
    })
    .is_some()
}

#[cfg(test)]
mod tests {
    use super::visit;

    fn found(text: &str) -> Vec<(usize, usize)> {
        let mut words = Vec::new();
        visit(text, |word| words.push((word.begin, word.end)));
        words
    }

    #[test]
    fn joints_are_single_and_inside() {
        assert_eq!(found("it's 'a look-out -- at&t. 3.5_x"), vec![(0, 4), (6, 7), (8, 16), (20, 24), (26, 29), (30, 31)]);
        assert_eq!(found(" … "), vec![]);
        assert_eq!(found("é."), vec![(0, 2)]);
    }
}
