// SPDX-License-Identifier: Apache-2.0
//! Where sentences end: Unicode's rules (UAX #29) as the crate unicode-segmentation has them, without the ends that they see
//! behind abbreviations, initials and the numbers of a list. An end too few makes a longer sentence; one too many cuts a
//! sentence in two, which is worse for a translation.

use crate::{guarded, text, Outcome, Text};
use std::borrow::Cow;
use std::ffi::c_void;
use unicode_segmentation::UnicodeSegmentation;

/// Characters without a letter or a digit between them that the rules see at once: their look ahead takes time by the square of
/// these, so that a longer run ends a sentence.
const LONGEST_RUN: usize = 256;

/// Words that a full stop follows inside of a sentence.
const ABBREVIATIONS: &[&str] = &[
    "Mr", "Mrs", "Ms", "Mx", "Dr", "Drs", "Prof", "Sr", "Jr", "St", "Ste", "Mt", "Ft", "Rev", "Hon", "Gen", "Col", "Maj", "Lt",
    "Capt", "Cmdr", "Sgt", "Cpl", "Gov", "Sen", "Rep", "Pres", "Supt", "Det", "Fr", "Hr", "Hrn", "Frl", "Dipl", "Ing", "Mag",
    "Mme", "Mlle", "Mgr", "Me", "Sra", "Srta", "Dña", "Dn", "Sig", "Dott", "Avv", "Geom", "vs", "cf", "al", "approx", "ca", "bzw",
    "vgl", "evtl", "ggf", "sog", "bspw", "inkl", "exkl", "resp", "viz", "esp", "incl", "tzv", "např", "tj", "tzn", "mj", "atd",
    "apod", "tzw", "np", "tj", "ул", "г", "гг", "стр", "напр",
];
/// Words that a full stop follows where a number is next.
const BEFORE_NUMBERS: &[&str] = &[
    "No", "Nos", "no", "nos", "Nr", "nr", "Núm", "núm", "Art", "art", "Abs", "Abb", "Tab", "Fig", "Figs", "fig", "figs", "Eq",
    "Eqs", "Sec", "Sect", "Ch", "Chap", "Kap", "cap", "Bd", "Vol", "Vols", "vol", "vols", "p", "pp", "S", "s", "str", "č", "čl",
    "tel", "Tel", "Jan", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug", "Sep", "Sept", "Oct", "Nov", "Dec", "Okt", "Dez", "Mär",
];
/// Words that make a number before them a day.
const MONTHS: &[&str] = &[
    "Januar", "Jänner", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November",
    "Dezember", "Jan", "Feb", "Apr", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez", "Jahrhundert", "Jahrhunderts",
];

fn is_line_end(letter: char) -> bool {
    matches!(letter, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The word at the end of `text`, or so much of it as no abbreviation is longer than.
fn last_word(text: &str) -> &str {
    const LONGEST: usize = 64;
    let inside = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '-' | '\'' | '’');
    let begin = text
        .char_indices()
        .rev()
        .take(LONGEST)
        .take_while(|(_, letter)| inside(*letter))
        .last()
        .map_or(text.len(), |(place, _)| place);
    &text[begin..]
}

fn first_word(text: &str) -> &str {
    let end = text.find(|letter: char| !letter.is_alphanumeric());
    &text[..end.unwrap_or(text.len())]
}

fn is_one_letter(text: &str) -> Option<char> {
    let mut letters = text.chars();
    letters.next().filter(|letter| letter.is_alphabetic() && letters.next().is_none())
}

/// Whether the sentence `before` goes on in `after`, although Unicode's rules end it there.
fn goes_on(before: &str, after: &str) -> bool {
    let written = before.trim_end();
    if before[written.len()..].contains(is_line_end) || after.is_empty() {
        return false;
    }
    let next = after.trim_start();
    let first = next.chars().next().unwrap_or(' ');
    let Some(stem) = written.strip_suffix('.') else {
        // "Why?" she asked.
        let marked = written.ends_with(['"', '\'', '”', '’', '»', '«', '“', ')', ']']);
        return marked && first.is_lowercase();
    };
    let word = last_word(stem);
    let digits = !word.is_empty() && word.len() <= 3 && word.bytes().all(|byte| byte.is_ascii_digit());
    // "1. First", "a. First": the number is all that the sentence has.
    if stem.trim_start() == word && (digits || is_one_letter(word).is_some()) {
        return true;
    }
    if digits {
        return MONTHS.contains(&first_word(next));
    }
    // J. Smith, z. B.; but "So did I. Then".
    let second = first_word(next);
    let pair = is_one_letter(second).is_some() && next[second.len()..].starts_with('.');
    if is_one_letter(word).is_some_and(|letter| pair || (letter.is_uppercase() && letter != 'I')) {
        return true;
    }
    // e.g., z.B., U.S.
    if word.contains('.') && word.split('.').all(|part| is_one_letter(part).is_some()) {
        return true;
    }
    ABBREVIATIONS.contains(&word) || (first.is_numeric() && BEFORE_NUMBERS.contains(&word))
}

/// Single line ends as blanks of as many bytes, so that a sentence may go on in the next line. Empty lines stay.
fn with_joined_lines(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut begin = 0;
    while let Some(found) = text[begin..].find('\n') {
        let end = begin + found;
        let blank = |line: &str| line.trim().is_empty();
        let line = &text[begin..end];
        let next = text[end + 1..].split('\n').next().unwrap_or("");
        if !blank(line) && !blank(next) {
            bytes[end] = b' ';
            if end > 0 && bytes[end - 1] == b'\r' {
                bytes[end - 1] = b' ';
            }
        }
        begin = end + 1;
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_string())
}

/// Pieces without a run of LONGEST_RUN characters that are no letters and no digits.
fn pieces(text: &str) -> Vec<&str> {
    let mut result = Vec::new();
    let (mut begin, mut run) = (0, 0);
    for (place, letter) in text.char_indices() {
        run = if letter.is_alphanumeric() { 0 } else { run + 1 };
        if run > LONGEST_RUN {
            result.push(&text[begin..place]);
            (begin, run) = (place, 1);
        }
    }
    result.push(&text[begin..]);
    result
}

/// Calls `take` with the end of each sentence, the text's last.
fn sentence_ends(text: &str, lines: bool, mut take: impl FnMut(usize)) -> Outcome<()> {
    let seen: Cow<str> = if lines { text.into() } else { with_joined_lines(text).into() };
    let (mut begin, mut piece_begin) = (0, 0);
    for piece in pieces(&seen) {
        for (place, sentence) in piece.split_sentence_bound_indices() {
            let end = piece_begin + place + sentence.len();
            let run_ends = end == piece_begin + piece.len();
            if run_ends || !goes_on(&seen[begin..end], &seen[end..]) {
                take(end);
                begin = end;
            }
        }
        piece_begin += piece.len();
    }
    Ok(())
}

/// Calls `take(context, end)` for each sentence of a text, in order; the last ends with the text. `lines`: so does every line.
///
/// # Safety
/// `data` has `length` bytes; `take` may be called with `context`; `error` may be written to.
#[no_mangle]
pub unsafe extern "C" fn weft_sentence_ends(
    data: *const u8,
    length: usize,
    lines: bool,
    take: unsafe extern "C" fn(*mut c_void, usize),
    context: *mut c_void,
    error: *mut Text,
) -> bool {
    guarded(error, || {
        sentence_ends(text(data, length)?, lines, |end| take(context, end))
    })
    .is_some()
}

#[cfg(test)]
mod tests {
    use super::sentence_ends;

    fn sentences(text: &str, lines: bool) -> Vec<&str> {
        let (mut found, mut begin) = (Vec::new(), 0);
        sentence_ends(text, lines, |end| {
            found.push(&text[begin..end]);
            begin = end;
        })
        .unwrap();
        found
    }

    #[test]
    fn abbreviations_do_not_end_a_sentence() {
        let text = "Dr. J. R. Smith paid e.g. No. 5 in the U.S. Army. So did I. Then 3.5 left.";
        assert_eq!(
            sentences(text, true),
            ["Dr. J. R. Smith paid e.g. No. 5 in the U.S. Army. ", "So did I. ", "Then 3.5 left."]
        );
        assert_eq!(sentences("1. Erstens am 3. Mai. 2. Zweitens.", true).len(), 2);
    }

    #[test]
    fn lines_may_go_on() {
        assert_eq!(sentences("One\nline. Two\r\n\r\nThree", true).len(), 5);
        assert_eq!(sentences("One\nline. Two\r\n\r\nThree", false).len(), 4);
        assert_eq!(sentences("", true).len(), 0);
    }

    #[test]
    fn long_runs_take_linear_time() {
        let text = format!("A.{}b. {}", " ".repeat(300_000), ")\u{301}".repeat(200_000));
        assert!(sentences(&text, true).len() > 1000);
    }
}
