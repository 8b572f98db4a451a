// SPDX-License-Identifier: Apache-2.0
//! A loaded tokenizer. Its post-processor is held apart: truncation differs from call to call and comes before it, and a
//! tokenizer that several threads use cannot be told its truncation first.

use crate::model::Bounded;
use crate::{budget, model, Outcome};
use std::cell::RefCell;
use tokenizers::{
    Decoder, Encoding, Model, ModelWrapper, OffsetReferential, OffsetType, PostProcessor,
    PostProcessorWrapper, PreTokenizer,
};

pub struct Handle {
    tokenizer: Bounded,
    processor: Option<PostProcessorWrapper>,
    size: usize,
}

impl Handle {
    pub fn load(json: &str) -> Outcome<Self> {
        let (tokenizer, processor) = model::read(json)?;
        let size = tokenizer
            .get_vocab(true)
            .values()
            .max()
            .map_or(0, |id| *id as usize + 1);
        let handle = Handle {
            tokenizer,
            processor,
            size,
        };
        handle.check_special_ids()?;
        Ok(handle)
    }

    /// What the post-processor puts around a text must be ids of the vocabulary.
    fn check_special_ids(&self) -> Outcome<()> {
        for pair in [None, Some(Encoding::default())] {
            let around = self.process(Encoding::default(), pair, true)?;
            if let Some(id) = around
                .get_ids()
                .iter()
                .find(|id| self.token(**id).is_none())
            {
                return Err(format!(
                    "the post-processor adds the id {id}, which is not in the vocabulary"
                ));
            }
        }
        Ok(())
    }

    /// Ids and offsets (in code points) of one text, without anything around it.
    pub fn encode(&self, text: &str) -> Outcome<Encoding> {
        budget::scope(text.len(), || {
            self.tokenizer
                .encode_char_offsets(text, false)
                .map_err(|error| error.to_string())
        })
    }

    /// The ids alone, as encode() gives them, in a fraction of its memory: tokens are let go word by word.
    pub fn ids(&self, text: &str) -> Outcome<Vec<u32>> {
        budget::scope(text.len(), || {
            self.all_ids(text).map_err(|error| error.to_string())
        })
    }

    fn all_ids(&self, text: &str) -> tokenizers::Result<Vec<u32>> {
        let normalizer = self.tokenizer.get_normalizer();
        let mut parts = self
            .tokenizer
            .get_added_vocabulary()
            .extract_and_normalize(normalizer, text);
        if let Some(rules) = self.tokenizer.get_pre_tokenizer() {
            rules.pre_tokenize(&mut parts)?;
        }
        // Parts that are added tokens have theirs already and are not asked for; the others leave none behind.
        let words = RefCell::new((Vec::new(), Vec::new()));
        parts.tokenize(|part| {
            let tokens = self.tokenizer.get_model().tokenize(part.get())?;
            let (ids, ends) = &mut *words.borrow_mut();
            ids.extend(tokens.iter().map(|token| token.id));
            ends.push(ids.len());
            Ok(Vec::new())
        })?;
        let (ids, ends) = words.into_inner();
        let parts = parts.get_splits(OffsetReferential::Original, OffsetType::None);
        if parts.len() == ends.len() {
            return Ok(ids);
        }
        let (mut all, mut begin, mut ends) = (Vec::with_capacity(ids.len()), 0, ends.into_iter());
        for (_, _, tokens) in parts {
            match tokens {
                Some(tokens) if !tokens.is_empty() => all.extend(tokens.iter().map(|token| token.id)),
                _ => {
                    let end = ends.next().unwrap_or(begin);
                    all.extend(&ids[begin..end]);
                    begin = end;
                }
            }
        }
        Ok(all)
    }

    /// How many tokens the post-processor adds.
    pub fn added(&self, pair: bool) -> usize {
        self.processor
            .as_ref()
            .map_or(0, |processor| processor.added_tokens(pair))
    }

    pub fn process(
        &self,
        first: Encoding,
        second: Option<Encoding>,
        special: bool,
    ) -> Outcome<Encoding> {
        let processed = match &self.processor {
            Some(processor) => processor.process(first, second, special),
            None => {
                let encodings = std::iter::once(first).chain(second).collect();
                <dyn PostProcessor>::default_process(encodings, special)
                    .map(|mut encodings| encodings.remove(0))
            }
        };
        processed.map_err(|error| error.to_string())
    }

    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Outcome<String> {
        self.tokenizer
            .decode(ids, skip_special)
            .map_err(|error| error.to_string())
    }

    /// Tokens as text, as `transformers` joins those of a word.
    pub fn join(&self, tokens: Vec<String>) -> Outcome<String> {
        match self.tokenizer.get_decoder() {
            Some(decoder) => decoder.decode(tokens).map_err(|error| error.to_string()),
            None => Ok(tokens.join(" ")),
        }
    }

    /// What the model writes before a token that goes on a word, empty where it has no such mark.
    pub fn continuation(&self) -> &str {
        match &self.tokenizer.get_model().0 {
            ModelWrapper::WordPiece(model) => &model.continuing_subword_prefix,
            ModelWrapper::BPE(model) => model.continuing_subword_prefix.as_deref().unwrap_or(""),
            _ => "",
        }
    }

    /// Whether the model merges pairs: text that it wrote is not cleaned up.
    pub fn merges_pairs(&self) -> bool {
        matches!(self.tokenizer.get_model().0, ModelWrapper::BPE(_))
    }

    /// The model as tokenizer.json has it.
    pub fn model(&self) -> Outcome<String> {
        serde_json::to_string(&self.tokenizer.get_model().0).map_err(|error| error.to_string())
    }

    /// Whether the id is of a token that was added to the vocabulary, or is special.
    pub fn is_added(&self, id: u32) -> bool {
        self.tokenizer
            .get_added_vocabulary()
            .get_added_tokens_decoder()
            .contains_key(&id)
    }

    pub fn size(&self) -> usize {
        self.size
    }

    pub fn id(&self, token: &str) -> Option<u32> {
        self.tokenizer.token_to_id(token)
    }

    pub fn token(&self, id: u32) -> Option<String> {
        self.tokenizer.id_to_token(id)
    }
}
