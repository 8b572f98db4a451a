// SPDX-License-Identifier: Apache-2.0
// How many threads LibTorch computes with.
#pragma once

#include <cstdint>

#include <CLI/App.hpp>

namespace weft::cli {

/// Adds the flag --threads.
void add_threads_flag(CLI::App& app, std::int64_t& threads);

/// `threads`, or where that is 0 WEFT_THREADS, or 0 where neither says how many. Errors: UsageError when WEFT_THREADS
/// is no whole number from 1 to 4096.
std::int64_t asked_threads(std::int64_t threads);

/// Sets LibTorch's threads to `threads`, or where that is 0 to WEFT_THREADS, or leaves LibTorch's own choice; returns
/// how many there are. Errors: UsageError when WEFT_THREADS is no whole number from 1 to 4096.
std::int64_t apply_threads(std::int64_t threads);

}  // namespace weft::cli
