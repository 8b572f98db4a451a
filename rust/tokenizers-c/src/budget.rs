// SPDX-License-Identifier: Apache-2.0
//! What the rules of a tokenizer file may take for one text: growth, backtracking and processor time, all in proportion to the text.
//! Rules run on the thread that asks; the budget of the text at hand belongs to that thread.

use crate::Outcome;
use std::cell::RefCell;

/// A text may become this many times larger under the rules; Unicode's own need 18.
const MOST_GROWTH: usize = 32;
const ALWAYS_ALLOWED: usize = 64 << 10;
/// Backtracking steps of regular expressions, beyond the usual few of each match.
const RETRIES: u64 = 4_000_000;
const RETRIES_PER_BYTE: u64 = 64;
/// Processor time, some twenty times what the slowest real rules take.
const SECONDS: u64 = 10;
const NANOSECONDS_PER_BYTE: u64 = 20_000;
/// Work between two looks at the clock, in bytes.
const CLOCK_INTERVAL: usize = 32 << 10;

struct Budget {
    text: usize,
    /// Bytes of finished parts of the text.
    kept: usize,
    retries: u64,
    deadline: u64,
    unclocked: usize,
    failure: Option<String>,
}

thread_local! {
    static CURRENT: RefCell<Option<Budget>> = const { RefCell::new(None) };
}

/// Processor time of this thread in nanoseconds.
fn clock() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Runs `work` on a text of `bytes` under a budget. What exceeds it is an error even where the crate between passes over errors.
pub fn scope<T>(bytes: usize, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    struct Reset(Option<Budget>);
    impl Drop for Reset {
        fn drop(&mut self) {
            let outer = self.0.take();
            CURRENT.with(|current| *current.borrow_mut() = outer);
        }
    }
    let budget = Budget {
        text: bytes,
        kept: 0,
        retries: RETRIES + RETRIES_PER_BYTE * bytes as u64,
        deadline: clock() + SECONDS * 1_000_000_000 + NANOSECONDS_PER_BYTE * bytes as u64,
        unclocked: 0,
        failure: None,
    };
    let _reset = Reset(CURRENT.with(|current| current.borrow_mut().replace(budget)));
    let result = work();
    let failure = CURRENT.with(|current| {
        let mut current = current.borrow_mut();
        current.as_mut().and_then(|budget| budget.failure.take())
    });
    failure.map_or(result, Err)
}

/// `change` says what is wrong, if anything; once something is, it stays.
fn with(change: impl FnOnce(&mut Budget) -> Option<String>) -> Outcome<()> {
    CURRENT.with(|current| {
        let mut current = current.borrow_mut();
        let Some(budget) = current.as_mut() else {
            return Ok(());
        };
        if budget.failure.is_none() {
            budget.failure = change(budget);
        }
        budget.failure.clone().map_or(Ok(()), Err)
    })
}

/// `rule` has made, or is about to make, `bytes` of the part of the text that it works on.
pub fn hold(rule: &str, bytes: usize) -> Outcome<()> {
    with(|budget| {
        let limit = MOST_GROWTH
            .saturating_mul(budget.text)
            .saturating_add(ALWAYS_ALLOWED);
        (budget.kept.saturating_add(bytes) > limit).then(|| {
            format!(
                "{rule} makes a text of {} bytes more than {MOST_GROWTH} times (and 64 KiB) larger",
                budget.text
            )
        })
    })
}

/// Whatever comes of it, the text is refused.
pub fn refuse(message: String) -> Outcome<()> {
    with(|_| Some(message))
}

/// A part of the text is finished and takes `bytes`.
pub fn keep(bytes: usize) {
    let _ = with(|budget| {
        budget.kept = budget.kept.saturating_add(bytes);
        None
    });
}

/// `rule` has gone back `count` times.
pub fn retry(rule: &str, count: u64) -> Outcome<()> {
    with(|budget| {
        if budget.retries >= count {
            budget.retries -= count;
            return None;
        }
        budget.retries = 0;
        Some(format!(
            "the regular expression of {rule} backtracks too often on a text of {} bytes",
            budget.text
        ))
    })
}

/// `rule` has gone over some `bytes`. Looks at the clock now and then.
pub fn work(rule: &str, bytes: usize) -> Outcome<()> {
    let due = CURRENT.with(|current| {
        let mut current = current.borrow_mut();
        current.as_mut().is_some_and(|budget| {
            budget.unclocked = budget.unclocked.saturating_add(bytes.saturating_add(64));
            budget.failure.is_some() || budget.unclocked >= CLOCK_INTERVAL
        })
    });
    if due { look(rule) } else { Ok(()) }
}

/// Looks at the clock, which `rule` has run on.
pub fn look(rule: &str) -> Outcome<()> {
    with(|budget| {
        budget.unclocked = 0;
        (clock() > budget.deadline).then(|| {
            format!(
                "{rule} takes too long: more than {} seconds of processor time for a text of {} bytes",
                SECONDS + NANOSECONDS_PER_BYTE * budget.text as u64 / 1_000_000_000,
                budget.text
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exceeds_is_an_error_though_nobody_looks() {
        assert!(scope(10, || hold("x", 320 + ALWAYS_ALLOWED)).is_ok());
        let outcome: Outcome<()> = scope(10, || {
            let _ = hold("rule 1", 321 + ALWAYS_ALLOWED);
            Ok(())
        });
        assert!(outcome.unwrap_err().starts_with("rule 1 makes a text of 10 bytes"));
        assert!(scope(10, || retry("x", RETRIES)).is_ok());
        assert!(scope(10, || retry("x", RETRIES + 641)).is_err());
        assert!(hold("no text", usize::MAX).is_ok());
    }

    #[test]
    fn parts_add_up() {
        let outcome: Outcome<()> = scope(1, || {
            keep(ALWAYS_ALLOWED);
            hold("x", 33)
        });
        assert!(outcome.is_err());
    }
}
