// SPDX-License-Identifier: Apache-2.0
//! A file's model under a budget, and what is refused of it because a short text would take hours: all loops of the models go over the
//! text, but for those here.

use crate::{budget, Outcome};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use tokenizers::models::TrainerWrapper;
use tokenizers::{Model, ModelWrapper, Token};

/// Marks like "##", which are written anew before every piece.
const LONGEST_MARK: usize = 256;
/// Word pieces are looked for from every place to every other, so that a word takes the cube of its letters. BERT's files allow 100.
const LONGEST_WORD: usize = 4096;
/// A unigram model looks at every piece that begins at a place. Shorter ones cannot be many.
const SHORT_PIECE: usize = 256;
const MOST_BYTES_AT_A_PLACE: usize = 1 << 17;

#[derive(Debug)]
pub struct BoundedModel(pub ModelWrapper);

fn check_mark(mark: Option<&str>, field: &str) -> Outcome<()> {
    match mark {
        Some(mark) if mark.len() > LONGEST_MARK => Err(format!(
            "model: {field} has {} bytes, more than {LONGEST_MARK}",
            mark.len()
        )),
        _ => Ok(()),
    }
}

/// The most bytes of pieces that begin one another.
fn check_pieces<'a>(pieces: impl Iterator<Item = &'a str>) -> Outcome<()> {
    let mut pieces: Vec<&str> = pieces.collect();
    if pieces.iter().all(|piece| piece.len() <= SHORT_PIECE) {
        return Ok(());
    }
    pieces.sort_unstable();
    let mut open: Vec<&str> = Vec::new();
    let mut bytes = 0;
    for piece in pieces {
        while open.last().is_some_and(|start| !piece.starts_with(start)) {
            bytes -= open.pop().map_or(0, str::len);
        }
        open.push(piece);
        bytes += piece.len();
        if bytes > MOST_BYTES_AT_A_PLACE {
            return Err(format!(
                "model: {} pieces begin one another and have more than {MOST_BYTES_AT_A_PLACE} bytes together",
                open.len()
            ));
        }
    }
    Ok(())
}

impl BoundedModel {
    pub fn new(model: ModelWrapper) -> Outcome<Self> {
        match &model {
            ModelWrapper::BPE(model) => {
                check_mark(model.continuing_subword_prefix.as_deref(), "continuing_subword_prefix")?;
                check_mark(model.end_of_word_suffix.as_deref(), "end_of_word_suffix")?;
            }
            ModelWrapper::WordPiece(model) => {
                check_mark(Some(&model.continuing_subword_prefix), "continuing_subword_prefix")?
            }
            ModelWrapper::Unigram(model) => check_pieces(model.iter().map(|(piece, _)| piece.as_str()))?,
            ModelWrapper::WordLevel(_) => {}
        }
        Ok(BoundedModel(model))
    }
}

impl Model for BoundedModel {
    type Trainer = TrainerWrapper;

    fn tokenize(&self, word: &str) -> tokenizers::Result<Vec<Token>> {
        let mut work = word.len();
        if let ModelWrapper::WordPiece(model) = &self.0 {
            let letters = word.chars().count();
            if letters <= model.max_input_chars_per_word {
                if letters > LONGEST_WORD {
                    return Err(format!("a word has {letters} letters, more than the {LONGEST_WORD} that word pieces are made of").into());
                }
                work = letters * letters;
            }
        }
        budget::work("the model", work)?;
        self.0.tokenize(word)
    }

    fn token_to_id(&self, token: &str) -> Option<u32> {
        self.0.token_to_id(token)
    }

    fn id_to_token(&self, id: u32) -> Option<String> {
        self.0.id_to_token(id)
    }

    fn get_vocab(&self) -> HashMap<String, u32> {
        self.0.get_vocab()
    }

    fn get_vocab_size(&self) -> usize {
        self.0.get_vocab_size()
    }

    fn save(&self, folder: &Path, prefix: Option<&str>) -> tokenizers::Result<Vec<PathBuf>> {
        self.0.save(folder, prefix)
    }

    fn get_trainer(&self) -> TrainerWrapper {
        self.0.get_trainer()
    }
}

#[cfg(test)]
mod tests {
    use super::check_pieces;

    #[test]
    fn chains_of_pieces_are_counted() {
        let chain: Vec<String> = (1..400).map(|length| "a".repeat(length)).collect();
        assert!(check_pieces(chain.iter().map(String::as_str)).is_ok());
        let long: Vec<String> = (1..1000).map(|length| "a".repeat(length)).collect();
        assert!(check_pieces(long.iter().map(String::as_str)).is_err());
        let apart: Vec<String> = (1..1000).map(|length| format!("{length}{}", "b".repeat(length))).collect();
        assert!(check_pieces(apart.iter().map(String::as_str)).is_ok());
    }
}
