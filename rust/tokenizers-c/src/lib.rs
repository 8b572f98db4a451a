// SPDX-License-Identifier: Apache-2.0
//! The C interface: a tokenizer from JSON, text to encodings, ids to text. Every function catches panics, checks what it is
//! given and reports errors as text; src/weft/text/hugging_face/tokenizers_c.h has the same declarations for C++.

mod answer;
mod bare_words;
mod bounded_model;
mod bounded_regex;
mod budget;
mod encode;
mod handle;
mod merges;
mod model;
mod nesting;
mod rules;
mod sentences;
mod train;
mod windows;
mod word_forms;

use encode::{Encoded, Request, Window};
use handle::Handle;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::slice;
use std::sync::Once;

/// Bytes that this library allocated; free them with weft_text_free.
#[repr(C)]
pub struct Text {
    data: *mut u8,
    length: usize,
    capacity: usize,
}

impl Text {
    fn from(text: String) -> Self {
        let mut bytes = std::mem::ManuallyDrop::new(text.into_bytes());
        Text {
            data: bytes.as_mut_ptr(),
            length: bytes.len(),
            capacity: bytes.capacity(),
        }
    }
}

pub type Outcome<T> = Result<T, String>;

/// Runs `work`; an error or a panic is written to `error` and gives nothing.
fn guarded<T>(error: *mut Text, work: impl FnOnce() -> Outcome<T>) -> Option<T> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    let outcome = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        Err(text
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("it failed")
            .to_string())
    });
    match outcome {
        Ok(value) => Some(value),
        Err(message) => {
            if !error.is_null() {
                unsafe { error.write(Text::from(message)) };
            }
            None
        }
    }
}

unsafe fn text<'a>(data: *const u8, length: usize) -> Outcome<&'a str> {
    let bytes = if length == 0 {
        &[]
    } else {
        slice::from_raw_parts(data, length)
    };
    std::str::from_utf8(bytes).map_err(|_| "the text is not UTF-8".to_string())
}

fn boxed<T>(value: Option<T>) -> *mut T {
    value.map_or(std::ptr::null_mut(), |value| Box::into_raw(Box::new(value)))
}

/// The tokenizer that a tokenizer.json describes, or null.
///
/// # Safety
/// `json` has `length` bytes; `error` is null or may be written to.
#[no_mangle]
pub unsafe extern "C" fn weft_tokenizer_load(
    json: *const u8,
    length: usize,
    error: *mut Text,
) -> *mut Handle {
    boxed(guarded(error, || Handle::load(text(json, length)?)))
}

/// # Safety
/// `handle` comes from weft_tokenizer_load and is not used afterwards.
#[no_mangle]
pub unsafe extern "C" fn weft_tokenizer_free(handle: *mut Handle) {
    if !handle.is_null() {
        drop(Box::from_raw(handle));
    }
}

/// One more than the largest id that stands for a token.
///
/// # Safety
/// `handle` comes from weft_tokenizer_load.
#[no_mangle]
pub unsafe extern "C" fn weft_tokenizer_size(handle: *const Handle) -> usize {
    (*handle).size()
}

/// Encodes one text or two, or returns null.
///
/// # Safety
/// `handle` comes from weft_tokenizer_load; the texts of `request` have the lengths it says.
#[no_mangle]
pub unsafe extern "C" fn weft_tokenizer_encode(
    handle: *const Handle,
    request: *const Request,
    error: *mut Text,
) -> *mut Encoded {
    boxed(guarded(error, || {
        let request = &*request;
        let first = text(request.first, request.first_length)?;
        let second = if request.second.is_null() {
            None
        } else {
            Some(text(request.second, request.second_length)?)
        };
        encode::encode(&*handle, first, second, request)
    }))
}

/// How many windows an encoding has: one, and the overflowing ones behind it.
///
/// # Safety
/// `encoded` comes from weft_tokenizer_encode.
#[no_mangle]
pub unsafe extern "C" fn weft_encoded_windows(encoded: *const Encoded) -> usize {
    (*encoded).windows.len()
}

/// One window; its arrays live as long as `encoded`.
///
/// # Safety
/// `encoded` comes from weft_tokenizer_encode; `index` is less than weft_encoded_windows.
#[no_mangle]
pub unsafe extern "C" fn weft_encoded_window(encoded: *const Encoded, index: usize) -> Window {
    (*encoded).window(index)
}

/// # Safety
/// `encoded` comes from weft_tokenizer_encode and is not used afterwards.
#[no_mangle]
pub unsafe extern "C" fn weft_encoded_free(encoded: *mut Encoded) {
    if !encoded.is_null() {
        drop(Box::from_raw(encoded));
    }
}

/// The text of `count` ids.
///
/// # Safety
/// `handle` comes from weft_tokenizer_load; `ids` has `count` elements; `result` and `error` may be written to.
#[no_mangle]
pub unsafe extern "C" fn weft_tokenizer_decode(
    handle: *const Handle,
    ids: *const u32,
    count: usize,
    skip_special: bool,
    result: *mut Text,
    error: *mut Text,
) -> bool {
    let ids = if count == 0 {
        &[]
    } else {
        slice::from_raw_parts(ids, count)
    };
    guarded(error, || (*handle).decode(ids, skip_special))
        .map(|decoded| result.write(Text::from(decoded)))
        .is_some()
}

/// The id of a token, or -1.
///
/// # Safety
/// `handle` comes from weft_tokenizer_load; `token` has `length` bytes.
#[no_mangle]
pub unsafe extern "C" fn weft_tokenizer_id(
    handle: *const Handle,
    token: *const u8,
    length: usize,
) -> i64 {
    guarded(std::ptr::null_mut(), || {
        Ok((*handle).id(text(token, length)?))
    })
    .flatten()
    .map_or(-1, i64::from)
}

/// The token of an id; false when there is none.
///
/// # Safety
/// `handle` comes from weft_tokenizer_load; `result` may be written to.
#[no_mangle]
pub unsafe extern "C" fn weft_tokenizer_token(
    handle: *const Handle,
    id: u32,
    result: *mut Text,
) -> bool {
    let token = guarded(std::ptr::null_mut(), || Ok((*handle).token(id))).flatten();
    token.map(|token| result.write(Text::from(token))).is_some()
}

/// A token to join.
#[repr(C)]
pub struct Slice {
    data: *const u8,
    length: usize,
}

/// Tokens as text.
///
/// # Safety
/// `handle` comes from weft_tokenizer_load; `tokens` has `count` elements; `result` and `error` may be written to.
#[no_mangle]
pub unsafe extern "C" fn weft_tokenizer_join(
    handle: *const Handle,
    tokens: *const Slice,
    count: usize,
    result: *mut Text,
    error: *mut Text,
) -> bool {
    guarded(error, || {
        let tokens: Outcome<Vec<String>> = (0..count)
            .map(|index| {
                let token = &*tokens.add(index);
                text(token.data, token.length).map(str::to_string)
            })
            .collect();
        (*handle).join(tokens?)
    })
    .map(|joined| result.write(Text::from(joined)))
    .is_some()
}

/// The mark of tokens that go on a word; empty where there is none.
///
/// # Safety
/// `handle` comes from weft_tokenizer_load; `result` may be written to.
#[no_mangle]
pub unsafe extern "C" fn weft_tokenizer_continuation(handle: *const Handle, result: *mut Text) {
    result.write(Text::from((*handle).continuation().to_string()));
}

/// Whether the model is byte-pair encoding.
///
/// # Safety
/// `handle` comes from weft_tokenizer_load.
#[no_mangle]
pub unsafe extern "C" fn weft_tokenizer_merges_pairs(handle: *const Handle) -> bool {
    (*handle).merges_pairs()
}

/// The model as tokenizer.json has it.
///
/// # Safety
/// `handle` comes from weft_tokenizer_load; `result` and `error` may be written to.
#[no_mangle]
pub unsafe extern "C" fn weft_tokenizer_model(
    handle: *const Handle,
    result: *mut Text,
    error: *mut Text,
) -> bool {
    guarded(error, || (*handle).model())
        .map(|model| result.write(Text::from(model)))
        .is_some()
}

/// Whether a token was added to the vocabulary, or is special.
///
/// # Safety
/// `handle` comes from weft_tokenizer_load.
#[no_mangle]
pub unsafe extern "C" fn weft_tokenizer_is_added(handle: *const Handle, id: u32) -> bool {
    (*handle).is_added(id)
}

/// # Safety
/// `text` was written by a function of this library, once, and is not used afterwards.
#[no_mangle]
pub unsafe extern "C" fn weft_text_free(text: Text) {
    drop(Vec::from_raw_parts(text.data, text.length, text.capacity));
}
