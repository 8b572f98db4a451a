// SPDX-License-Identifier: Apache-2.0
//! The normalizer, the pre-tokenizer and the decoder of a file as lists of single rules, which run one by one under a budget. Only the rules
//! that have a regular expression are made anew; the others are the crate's.

use crate::bounded_regex::{BoundedRegex, Replacing};
use crate::{budget, Outcome};
use std::cell::Cell;
use tokenizers::normalizers::replace::ReplacePattern;
use tokenizers::normalizers::Replace;
use tokenizers::pattern::Invert;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{
    Decoder, DecoderWrapper, NormalizedString, Normalizer, NormalizerWrapper, PreTokenizedString,
    PreTokenizer, PreTokenizerWrapper, SplitDelimiterBehavior,
};

/// Longest text that a character map may put in place of a character, in bytes; Unicode's own rules need 33.
const LONGEST_REPLACEMENT: usize = 64;

/// A rule with the name that errors have for it.
#[derive(Debug)]
struct Named<T> {
    name: String,
    rule: T,
}

#[derive(Debug)]
struct Replacement {
    regex: BoundedRegex,
    content: String,
}

impl Replacement {
    fn new(replace: &Replace, name: &str) -> Outcome<Self> {
        #[derive(serde::Deserialize)]
        struct Fields {
            pattern: ReplacePattern,
        }
        let json = serde_json::to_string(replace).map_err(|error| error.to_string())?;
        let fields: Fields = serde_json::from_str(&json).map_err(|error| error.to_string())?;
        let regex = match fields.pattern {
            ReplacePattern::String(text) => BoundedRegex::literal(&text, name),
            ReplacePattern::Regex(pattern) => BoundedRegex::new(&pattern, name),
        }?;
        Ok(Replacement {
            regex,
            content: replace.content.clone(),
        })
    }

    fn apply(&self, text: &str) -> Outcome<String> {
        let mut result = String::new();
        for ((start, end), matched) in self.regex.pieces_to_replace(text, self.content.len())? {
            result.push_str(if matched { &self.content } else { &text[start..end] });
        }
        Ok(result)
    }
}

/// Names of rules: "normalizer 2 of 3 (Replace)".
fn named<T, R>(
    part: &str,
    rules: Vec<T>,
    kind: impl Fn(&T) -> String,
    make: impl Fn(T, &str) -> Outcome<R>,
) -> Outcome<Vec<Named<R>>> {
    let count = rules.len();
    let name = |index, kind: String| match count {
        1 => format!("the {part} ({kind})"),
        _ => format!("{part} {} of {count} ({kind})", index + 1),
    };
    rules
        .into_iter()
        .enumerate()
        .map(|(index, rule)| {
            let name = name(index, kind(&rule));
            let rule = make(rule, &name)?;
            Ok(Named { name, rule })
        })
        .collect()
}

/// The variant's name, which is what a debug print of the crate's wrappers begins with.
fn kind_of<T: std::fmt::Debug>(rule: &T) -> String {
    struct Head(String);
    impl std::fmt::Write for Head {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0.push_str(text);
            // A rule may hold megabytes: no more than its name is wanted.
            if self.0.contains('(') { Err(std::fmt::Error) } else { Ok(()) }
        }
    }
    let mut head = Head(String::new());
    let _ = std::fmt::write(&mut head, format_args!("{rule:?}"));
    head.0.split('(').next().unwrap_or_default().to_string()
}

// ---- normalizer

#[derive(Debug)]
enum Normalization {
    Replace(Replacement),
    Other(Box<NormalizerWrapper>),
}

#[derive(Debug)]
pub struct BoundedNormalizer(Vec<Named<Normalization>>);

fn flat_normalizers(rule: NormalizerWrapper, list: &mut Vec<NormalizerWrapper>) {
    match rule {
        NormalizerWrapper::Sequence(sequence) => sequence
            .into_iter()
            .for_each(|rule| flat_normalizers(rule, list)),
        rule => list.push(rule),
    }
}

/// Refuses a character map that makes a page of a character.
fn check_character_map(map: &impl serde::Serialize, name: &str) -> Outcome<()> {
    let json = serde_json::to_value(map).map_err(|error| error.to_string())?;
    let text = json["precompiled_charsmap"].as_str().unwrap_or_default();
    let bytes = base64::decode(text).unwrap_or_default();
    let head = bytes.get(..4).map_or([0; 4], |head| head.try_into().unwrap_or_default());
    let texts = bytes.get(4 + u32::from_le_bytes(head) as usize..).unwrap_or_default();
    let longest = texts.split(|byte| *byte == 0).map(<[u8]>::len).max();
    match longest {
        Some(longest) if longest > LONGEST_REPLACEMENT => Err(format!(
            "{name}: the character map has a text of {longest} bytes, more than {LONGEST_REPLACEMENT}"
        )),
        _ => Ok(()),
    }
}

impl BoundedNormalizer {
    pub fn new(rule: Option<NormalizerWrapper>) -> Outcome<Self> {
        let mut list = Vec::new();
        if let Some(rule) = rule {
            flat_normalizers(rule, &mut list);
        }
        let make = |rule, name: &str| match rule {
            NormalizerWrapper::Replace(replace) => {
                Replacement::new(&replace, name).map(Normalization::Replace)
            }
            NormalizerWrapper::Precompiled(map) => {
                check_character_map(&map, name)?;
                Ok(Normalization::Other(Box::new(NormalizerWrapper::Precompiled(map))))
            }
            rule => Ok(Normalization::Other(Box::new(rule))),
        };
        named("normalizer", list, kind_of::<NormalizerWrapper>, make).map(BoundedNormalizer)
    }
}

impl BoundedNormalizer {
    fn run(&self, text: &mut NormalizedString) -> tokenizers::Result<()> {
        for Named { name, rule } in &self.0 {
            budget::work(name, text.len())?;
            match rule {
                Normalization::Replace(Replacement { regex, content }) => {
                    let content_size = content.len();
                    text.replace(Replacing { regex, content: content_size }, content)?;
                }
                Normalization::Other(rule) => rule.normalize(text)?,
            }
            budget::hold(name, text.len())?;
        }
        budget::keep(text.len());
        Ok(())
    }
}

impl Normalizer for BoundedNormalizer {
    fn normalize(&self, text: &mut NormalizedString) -> tokenizers::Result<()> {
        // The crate passes over errors of normalizers.
        Ok(self
            .run(text)
            .or_else(|error| budget::refuse(error.to_string()))?)
    }
}

// ---- pre-tokenizer

#[derive(Debug)]
enum PreTokenization {
    Split {
        regex: BoundedRegex,
        behavior: SplitDelimiterBehavior,
        invert: bool,
    },
    Other(Box<PreTokenizerWrapper>),
}

#[derive(Debug)]
pub struct BoundedPreTokenizer(Vec<Named<PreTokenization>>);

fn flat_pre_tokenizers(rule: PreTokenizerWrapper, list: &mut Vec<PreTokenizerWrapper>) {
    match rule {
        PreTokenizerWrapper::Sequence(sequence) => sequence
            .into_iter()
            .for_each(|rule| flat_pre_tokenizers(rule, list)),
        rule => list.push(rule),
    }
}

fn bounded_split(split: &Split, name: &str) -> Outcome<PreTokenization> {
    let regex = match &split.pattern {
        SplitPattern::String(text) => BoundedRegex::literal(text, name),
        SplitPattern::Regex(pattern) => BoundedRegex::new(pattern, name),
    }?;
    Ok(PreTokenization::Split {
        regex,
        behavior: split.behavior,
        invert: split.invert,
    })
}

impl BoundedPreTokenizer {
    pub fn new(rule: Option<PreTokenizerWrapper>) -> Outcome<Self> {
        let mut list = Vec::new();
        if let Some(rule) = rule {
            flat_pre_tokenizers(rule, &mut list);
        }
        let make = |rule, name: &str| match rule {
            PreTokenizerWrapper::Split(split) => bounded_split(&split, name),
            rule => Ok(PreTokenization::Other(Box::new(rule))),
        };
        named("pre_tokenizer", list, kind_of::<PreTokenizerWrapper>, make).map(BoundedPreTokenizer)
    }
}

/// Bytes of all parts.
fn size_of(text: &mut PreTokenizedString) -> tokenizers::Result<usize> {
    let size = Cell::new(0_usize);
    text.normalize(|part| {
        size.set(size.get().saturating_add(part.len()));
        Ok(())
    })?;
    Ok(size.get())
}

impl PreTokenizer for BoundedPreTokenizer {
    fn pre_tokenize(&self, text: &mut PreTokenizedString) -> tokenizers::Result<()> {
        // What went wrong in the normalizer, the crate has passed over.
        budget::work("the normalizer", 0)?;
        for Named { name, rule } in &self.0 {
            match rule {
                PreTokenization::Split { regex, behavior, invert: false } => {
                    text.split(|_, part| part.split(regex, *behavior))?
                }
                PreTokenization::Split { regex, behavior, invert: true } => {
                    text.split(|_, part| part.split(Invert(regex), *behavior))?
                }
                PreTokenization::Other(rule) => rule.pre_tokenize(text)?,
            }
            let size = size_of(text)?;
            budget::work(name, size)?;
            budget::hold(name, size)?;
        }
        Ok(())
    }
}

// ---- decoder

#[derive(Debug)]
enum Decoding {
    Replace(Replacement),
    Other(Box<DecoderWrapper>),
}

#[derive(Debug)]
pub struct BoundedDecoder(Vec<Named<Decoding>>);

fn flat_decoders(rule: &DecoderWrapper, list: &mut Vec<DecoderWrapper>) {
    match rule {
        DecoderWrapper::Sequence(sequence) => sequence
            .get_decoders()
            .iter()
            .for_each(|rule| flat_decoders(rule, list)),
        rule => list.push(rule.clone()),
    }
}

impl BoundedDecoder {
    pub fn new(rule: &DecoderWrapper) -> Outcome<Self> {
        let mut list = Vec::new();
        flat_decoders(rule, &mut list);
        let make = |rule, name: &str| match rule {
            DecoderWrapper::Replace(replace) => {
                Replacement::new(&replace, name).map(Decoding::Replace)
            }
            rule => Ok(Decoding::Other(Box::new(rule))),
        };
        named("decoder", list, kind_of::<DecoderWrapper>, make).map(BoundedDecoder)
    }
}

fn total(tokens: &[String]) -> usize {
    tokens.iter().map(String::len).sum()
}

/// Every token with its matches replaced; they may not grow too large together either.
fn replaced(tokens: &[String], rule: &Replacement) -> Outcome<Vec<String>> {
    let mut size = 0;
    tokens
        .iter()
        .map(|token| {
            let token = rule.apply(token)?;
            size += token.len();
            budget::hold(rule.regex.rule(), size)?;
            Ok(token)
        })
        .collect()
}

impl Decoder for BoundedDecoder {
    fn decode_chain(&self, mut tokens: Vec<String>) -> tokenizers::Result<Vec<String>> {
        Ok(budget::scope(total(&tokens), || {
            for Named { name, rule } in &self.0 {
                tokens = match rule {
                    Decoding::Replace(replacement) => replaced(&tokens, replacement)?,
                    Decoding::Other(rule) => rule
                        .decode_chain(std::mem::take(&mut tokens))
                        .map_err(|error| error.to_string())?,
                };
                let size = total(&tokens);
                budget::work(name, size)?;
                budget::hold(name, size)?;
            }
            Ok(std::mem::take(&mut tokens))
        })?)
    }
}
