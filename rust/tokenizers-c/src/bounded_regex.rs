// SPDX-License-Identifier: Apache-2.0
//! A regular expression of a tokenizer file, searched for as the crate does, with bounds. Oniguruma bounds the backtracking of one match
//! only: a text of many matches multiplies it, and its search goes on for as long as it likes.

use crate::{budget, nesting, Outcome};
use onig::{MatchParam, Regex, Region, SearchOptions};
use std::os::raw::c_ulong;
use tokenizers::pattern::Pattern;
use tokenizers::Offsets;

/// Backtracking steps that nobody counts for one search.
const FREE_RETRIES: u64 = 4096;
/// The longest text, in bytes, for an expression with repetitions in repetitions, and in those.
const LONGEST_FOR_NESTED: usize = 16 << 10;
const LONGEST_FOR_DEEPER: usize = 1 << 10;
const FREE_RETRIES_OF_NESTED: u64 = 64;
const RETRY_LIMITS_OVER: [i32; 2] = [-17, -18];

#[derive(Debug)]
pub struct BoundedRegex {
    regex: Regex,
    rule: String,
    /// The longest text that it is tried on: a single match may take time in proportion to a power of that.
    longest: usize,
    free_retries: u64,
}

enum Found {
    Match(usize, usize),
    Nothing,
    TooManyRetries,
}

impl BoundedRegex {
    /// `rule` names the expression in errors.
    pub fn new(pattern: &str, rule: &str) -> Outcome<Self> {
        let regex = Regex::new(pattern).map_err(|error| error.description().to_string())?;
        let (longest, free_retries) = match nesting::depth(pattern) {
            Some(0 | 1) => (usize::MAX, FREE_RETRIES),
            Some(2) => (LONGEST_FOR_NESTED, FREE_RETRIES_OF_NESTED),
            _ => (LONGEST_FOR_DEEPER, FREE_RETRIES_OF_NESTED),
        };
        Ok(BoundedRegex {
            regex,
            rule: rule.to_string(),
            longest,
            free_retries,
        })
    }

    /// The pattern as it is, not as an expression.
    pub fn literal(text: &str, rule: &str) -> Outcome<Self> {
        Self::new(&regex::escape(text), rule)
    }

    pub fn rule(&self) -> &str {
        &self.rule
    }

    /// The first match that begins at `from` or later, if that takes no more than `retries`.
    fn attempt(&self, text: &str, from: usize, retries: u64) -> Outcome<Found> {
        let mut region = Region::new();
        let limits = MatchParam::default();
        unsafe {
            onig_sys::onig_set_retry_limit_in_search_of_match_param(limits.as_raw(), retries as c_ulong);
        }
        let (end, options) = (text.len(), SearchOptions::SEARCH_OPTION_NONE);
        match self
            .regex
            .search_with_param(text, from, end, options, Some(&mut region), limits)
        {
            Ok(Some(_)) => {
                let (start, stop) = region.pos(0).ok_or("a match without a place")?;
                Ok(Found::Match(start, stop))
            }
            Ok(None) => Ok(Found::Nothing),
            Err(error) if RETRY_LIMITS_OVER.contains(&error.code()) => Ok(Found::TooManyRetries),
            Err(error) => Err(format!("{}: {}", self.rule, error.description())),
        }
    }

    /// The same within the budget. What a search takes is known only when it takes more than it may: it is tried with more and more.
    fn search(&self, text: &str, from: usize) -> Outcome<Option<Offsets>> {
        let mut retries = self.free_retries;
        loop {
            match self.attempt(text, from, retries)? {
                Found::Match(start, stop) => {
                    budget::work(&self.rule, stop - from)?;
                    return Ok(Some((start, stop)));
                }
                Found::Nothing => {
                    budget::work(&self.rule, text.len() - from)?;
                    return Ok(None);
                }
                Found::TooManyRetries => {
                    budget::retry(&self.rule, retries)?;
                    budget::look(&self.rule)?;
                    retries *= 2;
                }
            }
        }
    }

    /// Matches one after the other; an empty one right behind another is none.
    fn matches(&self, text: &str, mut take: impl FnMut(usize, usize)) -> Outcome<()> {
        let (mut from, mut last) = (0, None);
        while from <= text.len() {
            let Some((start, end)) = self.search(text, from)? else {
                break;
            };
            if start == end && last == Some(end) {
                from += text[from..].chars().next().map_or(1, char::len_utf8);
                continue;
            }
            from = end;
            last = Some(end);
            take(start, end);
        }
        Ok(())
    }

    /// `text` in pieces that match and pieces that do not, as the crate's patterns give them.
    pub fn pieces(&self, text: &str) -> Outcome<Vec<(Offsets, bool)>> {
        if text.is_empty() {
            return Ok(vec![((0, 0), false)]);
        }
        if text.len() > self.longest {
            return Err(format!(
                "the regular expression of {} repeats repetitions or refers back, and takes at most {} bytes at once, found {}",
                self.rule,
                self.longest,
                text.len()
            ));
        }
        let mut last = 0;
        let mut pieces = Vec::new();
        self.matches(text, |start, end| {
            if last != start {
                pieces.push(((last, start), false));
            }
            pieces.push(((start, end), true));
            last = end;
        })?;
        if last != text.len() {
            pieces.push(((last, text.len()), false));
        }
        Ok(pieces)
    }

    /// As pieces(), where every match is to become `content` bytes; what would grow too large is refused before it is made.
    pub fn pieces_to_replace(&self, text: &str, content: usize) -> Outcome<Vec<(Offsets, bool)>> {
        let pieces = self.pieces(text)?;
        let size = pieces.iter().fold(0_usize, |size, ((start, end), matched)| {
            size.saturating_add(if *matched { content } else { end - start })
        });
        budget::hold(&self.rule, size)?;
        Ok(pieces)
    }
}

/// For the crate's functions that split.
impl Pattern for &BoundedRegex {
    fn find_matches(&self, inside: &str) -> tokenizers::Result<Vec<(Offsets, bool)>> {
        Ok(self.pieces(inside)?)
    }
}

/// For the crate's functions that put `content` bytes in place of every match.
pub struct Replacing<'a> {
    pub regex: &'a BoundedRegex,
    pub content: usize,
}

impl Pattern for Replacing<'_> {
    fn find_matches(&self, inside: &str) -> tokenizers::Result<Vec<(Offsets, bool)>> {
        Ok(self.regex.pieces_to_replace(inside, self.content)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokenizers::utils::SysRegex;

    #[test]
    fn pieces_are_those_of_the_crate() {
        let long = "ab  cd12, é中 ".repeat(900);
        let patterns = [
            r"\s+", r"\d*", r"(?=,)|b", r"\b", r"a|b+|$", r" ?\p{L}+| ?\p{N}+|\s+(?!\S)|\s+", r"zzz", r"^", r"(?=(\d{2})+(?!\d))",
        ];
        for text in ["", "a", "  ", "ab,b 12\n", &long, &"x".repeat(9000)] {
            for pattern in patterns {
                let expected = (&SysRegex::new(pattern).unwrap()).find_matches(text).unwrap();
                let found = BoundedRegex::new(pattern, "r").unwrap().pieces(text).unwrap();
                assert_eq!(found, expected, "{pattern} on {} bytes", text.len());
            }
        }
    }

    #[test]
    fn catastrophes_end() {
        for (pattern, text) in [
            ("(a+)+[bc]", "aaaa! ".repeat(1600) + &"a".repeat(40)),
            ("(a|aa)+$", "a".repeat(60) + "!"),
            ("(?:(?=[^b]*+)a)*b", "a".repeat(1 << 20) + "b"),
            ("(?:x*y|x)*z", "x".repeat(1 << 20) + "z"),
            ("(x+x+)+[yz]", "xxxxxxxxxxxxxxxxxxxxx ".repeat(400)),
        ] {
            let regex = BoundedRegex::new(pattern, "rule 7").unwrap();
            let outcome = budget::scope(text.len(), || regex.pieces(&text));
            assert!(outcome.unwrap_err().contains("rule 7 "), "{pattern}");
        }
    }
}
