// SPDX-License-Identifier: Apache-2.0
//! How much truncation would make of a text, before it is made: two texts that both overflow give every pair of their windows,
//! and a stride just below the window's length gives a window for every token.

use crate::Outcome;
use tokenizers::{TruncationParams, TruncationStrategy};

/// What windows may hold beyond this many times the tokens of the texts is refused.
const MOST_COPIES: usize = 64;
const ALWAYS_ALLOWED: usize = 1 << 17;

/// The tokens that are left of both texts, as the crate's truncate_encodings has them.
fn lengths(first: usize, second: usize, params: &TruncationParams) -> (usize, usize) {
    let limit = params.max_length;
    let surplus = (first + second).saturating_sub(limit);
    match params.strategy {
        _ if surplus == 0 => (first, second),
        TruncationStrategy::OnlyFirst => (first.saturating_sub(surplus), second),
        TruncationStrategy::OnlySecond => (first, second.saturating_sub(surplus)),
        TruncationStrategy::LongestFirst => {
            let shorter = first.min(second);
            let longer = if shorter > limit {
                shorter
            } else {
                shorter.max(limit - shorter)
            };
            let halves = (limit / 2, limit / 2 + limit % 2);
            let (short, long) = if shorter + longer > limit {
                halves
            } else {
                (shorter, longer)
            };
            if first > second {
                (long, short)
            } else {
                (short, long)
            }
        }
    }
}

/// How many windows of `length` a text of `tokens` is cut into.
fn count(tokens: usize, length: usize, stride: usize) -> Outcome<usize> {
    if tokens <= length {
        return Ok(1);
    }
    if length <= stride {
        return Err(format!(
            "a window has room for {length} tokens of a text, no more than the stride of {stride}"
        ));
    }
    Ok((tokens - stride).div_ceil(length - stride))
}

/// Refuses what would take far more memory than the texts.
pub fn check(first: usize, second: Option<usize>, params: &TruncationParams) -> Outcome<()> {
    let other = second.unwrap_or(0);
    let (first_length, other_length) = lengths(first, other, params);
    let windows = count(first, first_length, params.stride)?.saturating_mul(count(
        other,
        other_length,
        params.stride,
    )?);
    let tokens = windows.saturating_mul(first_length + other_length);
    if tokens
        > MOST_COPIES
            .saturating_mul(first + other)
            .saturating_add(ALWAYS_ALLOWED)
    {
        return Err(format!(
            "{windows} windows would hold {tokens} tokens for {} of the texts",
            first + other
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(max_length: usize, stride: usize, strategy: TruncationStrategy) -> TruncationParams {
        TruncationParams {
            max_length,
            stride,
            strategy,
            ..Default::default()
        }
    }

    #[test]
    fn lengths_share_the_limit() {
        let longest = TruncationStrategy::LongestFirst;
        assert_eq!(lengths(3, 4, &params(10, 0, longest)), (3, 4));
        assert_eq!(lengths(3, 40, &params(10, 0, longest)), (3, 7));
        assert_eq!(lengths(40, 3, &params(10, 0, longest)), (7, 3));
        assert_eq!(lengths(40, 30, &params(11, 0, longest)), (6, 5));
        assert_eq!(
            lengths(40, 3, &params(10, 0, TruncationStrategy::OnlyFirst)),
            (7, 3)
        );
        assert_eq!(
            lengths(40, 3, &params(10, 0, TruncationStrategy::OnlySecond)),
            (40, 0)
        );
    }

    #[test]
    fn bombs_are_refused() {
        let longest = TruncationStrategy::LongestFirst;
        assert!(check(1_000_000, None, &params(510, 128, longest)).is_ok());
        assert!(check(1_000_000, None, &params(510, 509, longest)).is_err());
        assert!(check(
            20,
            Some(1_000_000),
            &params(381, 128, TruncationStrategy::OnlySecond)
        )
        .is_ok());
        assert!(check(100_000, Some(100_000), &params(509, 10, longest)).is_err());
        assert!(check(10, None, &params(4, 4, longest)).is_err());
    }
}
