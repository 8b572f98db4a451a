// SPDX-License-Identifier: Apache-2.0
//! A tokenizer from JSON with its model read straight from the text. The crate itself goes through a tree of values for the
//! model, three times slower: fifty thousand tokens would take a fifth of a second at every start. Rules and model are put under bounds
//! before the added tokens, whose texts go through the normalizer.

use crate::bounded_model::BoundedModel;
use crate::rules::{BoundedDecoder, BoundedNormalizer, BoundedPreTokenizer};
use crate::{budget, merges, Outcome};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::str::FromStr;
use tokenizers::{AddedToken, ModelWrapper, PostProcessorWrapper, Tokenizer, TokenizerBuilder, TokenizerImpl};

pub type Bounded =
    TokenizerImpl<BoundedModel, BoundedNormalizer, BoundedPreTokenizer, PostProcessorWrapper, BoundedDecoder>;

type Parts<'a> = BTreeMap<String, &'a RawValue>;

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: String,
}

fn model(json: &str) -> Option<ModelWrapper> {
    let kind: Kind = serde_json::from_str(json).ok()?;
    match kind.kind.as_str() {
        "BPE" => serde_json::from_str(json).ok().map(ModelWrapper::BPE),
        "WordPiece" => serde_json::from_str(json).ok().map(ModelWrapper::WordPiece),
        "WordLevel" => serde_json::from_str(json).ok().map(ModelWrapper::WordLevel),
        "Unigram" => serde_json::from_str(json).ok().map(ModelWrapper::Unigram),
        _ => None,
    }
}

/// The JSON without its added tokens, which need the real model, and with `model` where one is given.
fn shell(parts: &Parts, model: Option<&str>) -> String {
    let mut text = String::from("{");
    let mut add = |key: &str, value: &str| {
        let comma = if text.len() > 1 { "," } else { "" };
        text.push_str(&format!("{comma}{}:{value}", serde_json::Value::from(key)));
    };
    if let Some(model) = model {
        add("model", model);
    }
    for (key, value) in parts {
        if key != "added_tokens" && (key != "model" || model.is_none()) {
            add(key, value.get());
        }
    }
    text.push('}');
    text
}

/// The crate's tokenizer and the model apart from it. What is not read the fast way, older forms and all mistakes, the crate reads or names
/// itself.
fn crate_tokenizer(parts: &Parts) -> Outcome<(Tokenizer, ModelWrapper)> {
    const EMPTY: &str = r#"{"type":"BPE","vocab":{},"merges":[]}"#;
    let fast = parts.get("model").and_then(|text| {
        let model = model(text.get())?;
        let tokenizer = Tokenizer::from_str(&shell(parts, Some(EMPTY))).ok()?;
        Some((tokenizer, model))
    });
    fast.map_or_else(
        || {
            let tokenizer =
                Tokenizer::from_str(&shell(parts, None)).map_err(|error| error.to_string())?;
            let model = tokenizer.get_model().clone();
            Ok((tokenizer, model))
        },
        Ok,
    )
}

/// The same. Where the crate fails, by an error or a panic, over a merge of tokens that are not there, the error names the merge.
fn checked_tokenizer(parts: &Parts) -> Outcome<(Tokenizer, ModelWrapper)> {
    let model = parts.get("model").map_or("", |text| text.get());
    if merges::has_prefix(model) {
        merges::check(model)?;
    }
    match catch_unwind(AssertUnwindSafe(|| crate_tokenizer(parts))) {
        Ok(Ok(read)) => Ok(read),
        Ok(Err(error)) => merges::check(model).and(Err(error)),
        Err(_) => merges::check(model).and(Err("the model cannot be read".to_string())),
    }
}

fn added_tokens(parts: &Parts) -> Outcome<Vec<AddedToken>> {
    parts.get("added_tokens").map_or(Ok(Vec::new()), |tokens| {
        serde_json::from_str(tokens.get()).map_err(|error| format!("added_tokens: {error}"))
    })
}

/// The crate looks for the blanks beside a token at each of its places: where it is made of blanks itself, it sees all others each time.
fn check_strips(added: &[AddedToken]) -> Outcome<()> {
    let strips = |token: &&AddedToken| {
        !token.content.is_empty() && (token.lstrip || token.rstrip) && token.content.chars().all(char::is_whitespace)
    };
    added.iter().find(strips).map_or(Ok(()), |token| {
        Err(format!("added_tokens: {:?} is white space and strips white space", token.content))
    })
}

/// The same tokenizer with every rule under bounds, without truncation, padding and post-processor.
fn bounded(tokenizer: &Tokenizer, model: ModelWrapper) -> Outcome<Bounded> {
    let decoder = tokenizer.get_decoder().map(BoundedDecoder::new).transpose()?;
    TokenizerBuilder::new()
        .with_normalizer(Some(BoundedNormalizer::new(tokenizer.get_normalizer().cloned())?))
        .with_pre_tokenizer(Some(BoundedPreTokenizer::new(tokenizer.get_pre_tokenizer().cloned())?))
        .with_model(BoundedModel::new(model)?)
        .with_decoder(decoder)
        .build()
        .map_err(|error| error.to_string())
}

/// The tokenizer that `json` describes, and its post-processor.
pub fn read(json: &str) -> Outcome<(Bounded, Option<PostProcessorWrapper>)> {
    let parts: Parts = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let (of_crate, model) = checked_tokenizer(&parts)?;
    let mut tokenizer = bounded(&of_crate, model)?;
    let added = added_tokens(&parts)?;
    check_strips(&added)?;
    let bytes = added.iter().map(|token| token.content.len()).sum();
    budget::scope(bytes, || {
        tokenizer
            .add_tokens(added)
            .map_err(|error| error.to_string())
    })?;
    Ok((tokenizer, of_crate.get_post_processor().cloned()))
}
