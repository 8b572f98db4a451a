// SPDX-License-Identifier: Apache-2.0
//! A new vocabulary from text: byte-level BPE or a unigram model over bytes, so that every text has ids and comes back from them.
//! Pieces of text come from a callback, one at a time.

use crate::{guarded, text, Outcome, Text};
use std::ffi::c_void;
use std::str::FromStr;
use tokenizers::models::bpe::{BpeTrainer, BPE};
use tokenizers::models::unigram::{Unigram, UnigramTrainer};
use tokenizers::models::TrainerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::{AddedToken, ModelWrapper, Tokenizer};

#[repr(C)]
pub struct Training {
    /// A unigram model instead of BPE.
    pub unigram: bool,
    /// Letters of a genome: upper case, and words end with lines only.
    pub dna: bool,
    pub vocabulary: usize,
    /// BPE: a pair that occurs less often is not merged.
    pub frequency: u64,
    /// The longest token, in bytes.
    pub longest: usize,
}

/// Writes where the next piece lies, which stays there until the next call; false behind the last.
type Next = unsafe extern "C" fn(*mut c_void, *mut *const u8, *mut usize) -> bool;

struct Pieces {
    next: Next,
    context: *mut c_void,
}

// The crate calls the iterator from one thread at a time.
unsafe impl Send for Pieces {}

impl Iterator for Pieces {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let (mut data, mut length) = (std::ptr::null(), 0);
        unsafe {
            (self.next)(self.context, &mut data, &mut length)
                .then(|| text(data, length).unwrap_or_default().to_string())
        }
    }
}

const SPECIAL: [&str; 5] = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"];

/// What goes around a text, <s> A </s>, and two, <s> A </s> B </s>, so that a head has a first token to read and an end between the two.
fn frame() -> String {
    let special = |token: &str, types: usize| format!(r#"{{"SpecialToken":{{"id":"{token}","type_id":{types}}}}}"#);
    let text = |name: &str, types: usize| format!(r#"{{"Sequence":{{"id":"{name}","type_id":{types}}}}}"#);
    let known = |token: &str| {
        let id = SPECIAL.iter().position(|other| *other == token).unwrap_or_default();
        format!(r#""{token}":{{"id":"{token}","ids":[{id}],"tokens":["{token}"]}}"#)
    };
    let single = [special("<s>", 0), text("A", 0), special("</s>", 0)].join(",");
    let second = [text("B", 1), special("</s>", 1)].join(",");
    format!(
        r#"{{"type":"TemplateProcessing","single":[{single}],"pair":[{single},{second}],"special_tokens":{{{},{}}}}}"#,
        known("<s>"),
        known("</s>")
    )
}

/// What surrounds the model, as the JSON that the crate reads.
fn surroundings(dna: bool) -> String {
    let bytes = |trim: bool, regex: bool| {
        format!(
            r#"{{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":{trim},"use_regex":{regex}}}"#
        )
    };
    let upper: Vec<String> = "acgtn"
        .chars()
        .map(|base| {
            let large = base.to_ascii_uppercase();
            format!(r#"{{"type":"Replace","pattern":{{"String":"{base}"}},"content":"{large}"}}"#)
        })
        .collect();
    let lines =
        r#"{"type":"Split","pattern":{"String":"\n"},"behavior":"Isolated","invert":false}"#;
    let (normalizer, splitter) = if dna {
        (
            format!(
                r#"{{"type":"Sequence","normalizers":[{}]}}"#,
                upper.join(",")
            ),
            format!(
                r#"{{"type":"Sequence","pretokenizers":[{lines},{}]}}"#,
                bytes(false, false)
            ),
        )
    } else {
        ("null".to_string(), bytes(false, true))
    };
    // A word begins with its first letter, though the blank before it is its token's: as places of RoBERTa have it.
    let processor = format!(
        r#"{{"type":"Sequence","processors":[{},{}]}}"#,
        bytes(true, true),
        frame()
    );
    format!(
        r#"{{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":{normalizer},"pre_tokenizer":{splitter},"post_processor":{processor},"decoder":{},"model":{{"type":"BPE","vocab":{{}},"merges":[]}}}}"#,
        bytes(false, true)
    )
}

fn trainer(training: &Training) -> Outcome<TrainerWrapper> {
    let special = SPECIAL.map(|token| AddedToken::from(token, true)).to_vec();
    let alphabet = ByteLevel::alphabet();
    if training.unigram {
        let trainer = UnigramTrainer::builder()
            .show_progress(false)
            .vocab_size(training.vocabulary as u32)
            .special_tokens(special)
            .unk_token(Some("<unk>".to_string()))
            .initial_alphabet(alphabet)
            .max_piece_length(training.longest)
            .build()
            .map_err(|error| error.to_string())?;
        return Ok(trainer.into());
    }
    let trainer = BpeTrainer::builder()
        .show_progress(false)
        .vocab_size(training.vocabulary)
        .min_frequency(training.frequency)
        .special_tokens(special)
        .initial_alphabet(alphabet.into_iter().collect())
        .max_token_length(Some(training.longest))
        .build();
    Ok(trainer.into())
}

fn train(training: &Training, pieces: Pieces) -> Outcome<String> {
    let mut tokenizer =
        Tokenizer::from_str(&surroundings(training.dna)).map_err(|error| error.to_string())?;
    let model: ModelWrapper = if training.unigram {
        Unigram::default().into()
    } else {
        BPE::default().into()
    };
    tokenizer.with_model(model);
    tokenizer
        .train(&mut trainer(training)?, pieces)
        .map_err(|error| error.to_string())?;
    tokenizer
        .to_string(false)
        .map_err(|error| error.to_string())
}

/// Writes the tokenizer.json of a vocabulary that is learned from what `next` gives.
///
/// # Safety
/// `training`, `result` and `error` may be read and written; `next` may be called with `context`, from any thread.
#[no_mangle]
pub unsafe extern "C" fn weft_tokenizer_train(
    training: *const Training,
    next: Next,
    context: *mut c_void,
    result: *mut Text,
    error: *mut Text,
) -> bool {
    guarded(error, || train(&*training, Pieces { next, context }))
        .map(|json| result.write(Text::from(json)))
        .is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn lines(
        context: *mut c_void,
        data: *mut *const u8,
        length: *mut usize,
    ) -> bool {
        let count = &mut *(context as *mut usize);
        *count += 1;
        let line = "ACGTACGTTACG";
        data.write(line.as_ptr());
        length.write(line.len());
        *count <= 50
    }

    #[test]
    fn both_models_learn_and_give_every_byte_back() {
        for unigram in [false, true] {
            for dna in [false, true] {
                let training = Training {
                    unigram,
                    dna,
                    vocabulary: 280,
                    frequency: 2,
                    longest: 12,
                };
                let mut count: usize = 0;
                let pieces = Pieces {
                    next: lines,
                    context: (&mut count as *mut usize).cast(),
                };
                let json = train(&training, pieces).unwrap();
                let tokenizer = Tokenizer::from_str(&json).unwrap();
                let given = "ACGTACGT\nÄ x";
                let ids = tokenizer.encode(given, false).unwrap();
                assert!(ids.get_ids().len() < given.len());
                assert_eq!(tokenizer.decode(ids.get_ids(), true).unwrap(), given);
                let pair = tokenizer.encode((given, "x"), true).unwrap();
                let special: Vec<u32> = pair.get_ids().iter().copied().filter(|id| *id < 5).collect();
                assert_eq!(special, [0, 2, 2], "<s> A </s> B </s>");
            }
        }
    }
}
