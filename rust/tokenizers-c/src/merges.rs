// SPDX-License-Identifier: Apache-2.0
//! The merges of byte pairs against the vocabulary. For a merge whose tokens are not there the crate has an error, a panic or, with a prefix
//! of continued words, text that is no UTF-8.

use crate::Outcome;
use serde::de::IgnoredAny;
use serde::Deserialize;
use std::collections::HashMap;

#[derive(Deserialize)]
#[serde(untagged)]
enum Merges {
    Pairs(Vec<(String, String)>),
    Lines(Vec<String>),
}

#[derive(Deserialize)]
struct BytePairs {
    vocab: HashMap<String, IgnoredAny>,
    merges: Merges,
    #[serde(default)]
    continuing_subword_prefix: Option<String>,
}

impl BytePairs {
    fn check(&self, place: usize, first: &str, second: &str) -> Outcome<()> {
        let prefix = self.continuing_subword_prefix.as_deref().unwrap_or("");
        let merge = format!("merge {place} ({first:?}, {second:?})");
        let rest = second
            .get(prefix.len()..)
            .ok_or_else(|| format!("{merge}: the second token must begin with the prefix {prefix:?}"))?;
        let joined = format!("{first}{rest}");
        let absent = [first, second, &joined].into_iter().find(|token| !self.vocab.contains_key(*token));
        absent.map_or(Ok(()), |token| Err(format!("{merge}: the token {token:?} is not in the vocabulary")))
    }
}

/// An error that names the first merge of the model `json` with a token that the vocabulary lacks. What is no model of byte pairs passes:
/// the crate names its mistakes.
pub fn check(json: &str) -> Outcome<()> {
    let Ok(model) = serde_json::from_str::<BytePairs>(json) else {
        return Ok(());
    };
    match &model.merges {
        Merges::Pairs(pairs) => (1..)
            .zip(pairs)
            .try_for_each(|(place, (first, second))| model.check(place, first, second)),
        Merges::Lines(lines) => (1..)
            .zip(lines.iter().filter(|line| !line.starts_with("#version")))
            .try_for_each(|(place, line)| match line.split_once(' ') {
                Some((first, second)) => model.check(place, first, second),
                None => Err(format!("merge {place} must be two tokens with a blank between, found {line:?}")),
            }),
    }
}

/// Whether the model has a prefix of continued words, with which the crate must not see a merge that does not fit.
pub fn has_prefix(json: &str) -> bool {
    #[derive(Deserialize)]
    struct Prefixed {
        continuing_subword_prefix: String,
    }
    serde_json::from_str::<Prefixed>(json).is_ok_and(|model| !model.continuing_subword_prefix.is_empty())
}
