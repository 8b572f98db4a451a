// SPDX-License-Identifier: Apache-2.0
//! One call of encode: texts to encodings, truncation as `transformers` sets it up, the post-processor, and the arrays of every
//! window laid out for C.

use crate::handle::Handle;
use crate::{windows, Outcome};
use tokenizers::utils::truncation::truncate_encodings;
use tokenizers::{Encoding, TruncationDirection, TruncationParams, TruncationStrategy};

#[repr(C)]
pub struct Request {
    pub first: *const u8,
    pub first_length: usize,
    /// Null when there is one text only.
    pub second: *const u8,
    pub second_length: usize,
    /// 0 for no truncation.
    pub max_length: usize,
    pub stride: usize,
    /// 0 longest first, 1 the first text only, 2 the second only.
    pub strategy: u8,
    pub special: bool,
    /// What gives way is the beginning of a text, not its end.
    pub left: bool,
    /// Of the first text the ids and nothing else, without special tokens and in one window.
    pub ids_only: bool,
}

/// Arrays of `length` elements each, but for those that were not asked for; `words` and `sequences` have -1 where there is none.
#[repr(C)]
pub struct Window {
    ids: *const u32,
    types: *const u32,
    special: *const u32,
    starts: *const u32,
    ends: *const u32,
    words: *const i32,
    sequences: *const i32,
    length: usize,
}

#[derive(Default)]
pub struct Arrays {
    ids: Vec<u32>,
    types: Vec<u32>,
    special: Vec<u32>,
    starts: Vec<u32>,
    ends: Vec<u32>,
    words: Vec<i32>,
    sequences: Vec<i32>,
}

pub struct Encoded {
    pub windows: Vec<Arrays>,
}

impl Encoded {
    pub fn window(&self, index: usize) -> Window {
        let arrays = &self.windows[index];
        Window {
            ids: arrays.ids.as_ptr(),
            types: arrays.types.as_ptr(),
            special: arrays.special.as_ptr(),
            starts: arrays.starts.as_ptr(),
            ends: arrays.ends.as_ptr(),
            words: arrays.words.as_ptr(),
            sequences: arrays.sequences.as_ptr(),
            length: arrays.ids.len(),
        }
    }
}

fn arrays(encoding: &Encoding) -> Arrays {
    let length = encoding.len();
    let sequences = (0..length)
        .map(|index| match encoding.get_special_tokens_mask()[index] {
            0 => encoding
                .token_to_sequence(index)
                .map_or(-1, |sequence| sequence as i32),
            _ => -1,
        })
        .collect();
    Arrays {
        ids: encoding.get_ids().to_vec(),
        types: encoding.get_type_ids().to_vec(),
        special: encoding.get_special_tokens_mask().to_vec(),
        starts: encoding
            .get_offsets()
            .iter()
            .map(|offsets| offsets.0 as u32)
            .collect(),
        ends: encoding
            .get_offsets()
            .iter()
            .map(|offsets| offsets.1 as u32)
            .collect(),
        words: encoding
            .get_word_ids()
            .iter()
            .map(|word| word.map_or(-1, |word| word as i32))
            .collect(),
        sequences,
    }
}

fn truncation(handle: &Handle, request: &Request, pair: bool) -> Outcome<Option<TruncationParams>> {
    if request.max_length == 0 {
        return Ok(None);
    }
    let added = if request.special {
        handle.added(pair)
    } else {
        0
    };
    if request.max_length <= added || request.stride >= request.max_length - added {
        return Err(format!(
            "a length of {} leaves no room for a stride of {} beside {} special tokens",
            request.max_length, request.stride, added
        ));
    }
    let strategy = match request.strategy {
        0 => TruncationStrategy::LongestFirst,
        1 => TruncationStrategy::OnlyFirst,
        _ => TruncationStrategy::OnlySecond,
    };
    let max_length = request.max_length - added;
    Ok(Some(TruncationParams {
        direction: if request.left {
            TruncationDirection::Left
        } else {
            TruncationDirection::Right
        },
        max_length,
        strategy,
        stride: request.stride,
    }))
}

pub fn encode(
    handle: &Handle,
    first: &str,
    second: Option<&str>,
    request: &Request,
) -> Outcome<Encoded> {
    if request.ids_only {
        let window = Arrays {
            ids: handle.ids(first)?,
            ..Arrays::default()
        };
        return Ok(Encoded {
            windows: vec![window],
        });
    }
    let params = truncation(handle, request, second.is_some())?;
    let mut first = handle.encode(first)?;
    let mut second = second.map(|text| handle.encode(text)).transpose()?;
    if let Some(encoding) = second.as_mut() {
        encoding.set_type_ids(vec![1; encoding.len()]);
    }
    if let Some(params) = params {
        windows::check(first.len(), second.as_ref().map(Encoding::len), &params)?;
        (first, second) =
            truncate_encodings(first, second, &params).map_err(|error| error.to_string())?;
    }
    let encoding = handle.process(first, second, request.special)?;
    let windows = std::iter::once(&encoding)
        .chain(encoding.get_overflowing())
        .map(arrays)
        .collect();
    Ok(Encoded { windows })
}
