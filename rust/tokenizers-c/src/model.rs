// SPDX-License-Identifier: Apache-2.0
//! A tokenizer from JSON with its model read straight from the text. The crate itself goes through a tree of values for the
//! model, three times slower: fifty thousand tokens would take a fifth of a second at every start.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::str::FromStr;
use tokenizers::{AddedToken, ModelWrapper, Tokenizer};

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

/// The same JSON with an empty model and without the added tokens, which need the real one.
fn shell(parts: &BTreeMap<String, &RawValue>) -> String {
    let mut text = String::from(r#"{"model":{"type":"BPE","vocab":{},"merges":[]}"#);
    for (key, value) in parts {
        if key != "model" && key != "added_tokens" {
            text.push_str(&format!(
                ",{}:{}",
                serde_json::Value::from(key.as_str()),
                value.get()
            ));
        }
    }
    text.push('}');
    text
}

fn fast(json: &str) -> Option<Tokenizer> {
    let parts: BTreeMap<String, &RawValue> = serde_json::from_str(json).ok()?;
    let model = model(parts.get("model")?.get())?;
    let added: Vec<AddedToken> = match parts.get("added_tokens") {
        Some(tokens) => serde_json::from_str(tokens.get()).ok()?,
        None => Vec::new(),
    };
    let mut tokenizer = Tokenizer::from_str(&shell(&parts)).ok()?;
    tokenizer.with_model(model);
    tokenizer.add_tokens(added).ok()?;
    Some(tokenizer)
}

/// What is not read the fast way, older forms and all mistakes, the crate reads or names itself.
pub fn read(json: &str) -> Result<Tokenizer, String> {
    fast(json).map_or_else(
        || Tokenizer::from_str(json).map_err(|error| error.to_string()),
        Ok,
    )
}
