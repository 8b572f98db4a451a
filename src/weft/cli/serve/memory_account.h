// SPDX-License-Identifier: Apache-2.0
// What a model of `weft serve` needs of memory, known before a weight of it is read, and whether all models fit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/cli/tasks/sequence_command.h"
#include "weft/core/system/machine_memory.h"

namespace weft::cli {

/// Bounds of the server that bound its work.
struct AccountLimits {
  std::int64_t texts = 32;            ///< computed at once (max_batch_texts)
  std::int64_t body_bytes = 2 << 20;  ///< of a request, so that no text has more tokens (max_body_bytes)
  std::int64_t limit = 0;             ///< of all models together; 0: as much as the machine has
};

/// Most bytes of one model. The weights are counted in its files; the rest is estimated.
struct MemoryAccount {
  std::string model;
  std::int64_t weights = 0;  ///< as they will lie in memory, in the element type of the run
  std::int64_t packed = 0;   ///< a second form of the weights, which products of few rows keep
  std::int64_t work = 0;     ///< while the largest batch, or the longest text, is computed
  std::string how;           ///< what `work` is counted for: "32 texts, together 16,384 tokens at most"

  std::int64_t total() const { return weights + packed + work; }
};

/// The account of the model `name` in the directory that `flags` name. Errors: those of open_model() and of files of
/// weights, whose headers are read.
MemoryAccount memory_account(const std::string& name, const SequenceFlags& flags, const AccountLimits& limits);

/// {"weights", "packed", "work", "total", "how"}, in bytes.
formats::Json account_json(const MemoryAccount& account);
/// "labels: up to 1.2 GiB of memory: 0.4 GiB of weights, ..."
std::string account_line(const MemoryAccount& account);
/// The accounts as lines for Prometheus.
std::string account_figures(const std::vector<MemoryAccount>& accounts, std::int64_t limit);

/// Errors: kUnsupported, naming the first model that is too much for `limits.limit` beside `program`, the bytes that
/// the process has already; without a limit one whose weights alone are too much for `machine`.
void check_accounts(const std::vector<MemoryAccount>& accounts, const AccountLimits& limits, std::int64_t program,
                    const std::optional<MachineMemory>& machine);

}  // namespace weft::cli
