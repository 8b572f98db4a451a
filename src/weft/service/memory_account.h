// SPDX-License-Identifier: Apache-2.0
// What a model of `weft serve` needs of memory, known before a weight of it is read, and whether all models fit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/checkpoint/open_model.h"
#include "weft/core/system/machine_memory.h"
#include "weft/formats/config_json.h"
#include "weft/tasks/encoder_settings.h"

namespace weft::service {

/// Tokens of encoders that are read together: more are a longer piece of work, and hardly faster.
inline constexpr std::int64_t kReadTogether = 512;
/// The same of encoder-decoders, whose texts are then written together, a pass for each token.
inline constexpr std::int64_t kReadToWrite = 1024;

/// Bounds of the server that bound its work.
struct AccountLimits {
  std::int64_t texts = 32;                 ///< computed at once (max_batch_texts)
  std::int64_t text_bytes = 512 << 10;     ///< of a prompt, which has no more tokens (max_text_bytes)
  std::int64_t batch_bytes = 16384;        ///< of shorter requests that are computed in between (max_batch_bytes)
  std::int64_t body_bytes = 2 << 20;       ///< of a request, so that no text has more tokens (max_body_bytes)
  std::int64_t answer_bytes = 32 << 20;    ///< of an answer (max_answer_bytes)
  std::int64_t waiting_bytes = 256 << 20;  ///< of texts and answers that wait (max_waiting_bytes)
  std::int64_t limit = 0;                  ///< of all models together; 0: as much as the machine has
  bool on_gpu = false;                     ///< the models compute on a GPU, whose memory is counted
};

/// Most bytes of requests beside what the models need: those that are read or wait, and the tokens and the answer of
/// one that is computed.
std::int64_t request_bytes(const AccountLimits& limits);

/// What an encoder-decoder writes by the settings of its directory.
struct WrittenTexts {
  std::int64_t beams = 1;
  std::int64_t returned = 1;  ///< texts for each source
  std::int64_t longest = 0;   ///< tokens of one
};
WrittenTexts written_texts(const checkpoint::OpenedModel& directory);

/// Tokens of all texts together that a decoder, computed as `settings` say, writes at once: the account has room for
/// their keys and values, which have the type of products. So many as `texts` of the longest length, and where texts
/// have none at least as many as take 64 MiB.
std::int64_t written_together(const checkpoint::Facts& decoder, const tasks::EncoderSettings& settings,
                              std::int64_t texts);

/// Most bytes of one model. The weights are counted in its files; the rest is estimated.
struct MemoryAccount {
  std::string model;
  std::int64_t weights = 0;  ///< as they will lie in memory, in the element type of the run
  std::int64_t packed = 0;   ///< a second form of the weights, which products of few rows keep; on a GPU those of
                             ///< float32 in bfloat16, where they are multiplied in that
  std::int64_t work = 0;     ///< while the largest batch, or the longest text, is computed
  std::string how;           ///< what `work` is counted for: "32 texts, together 16,384 tokens at most"
  std::int64_t layouts = 0;  ///< on a GPU the copies of the layouts of all layers

  std::int64_t total() const { return weights + packed + layouts + work; }
};

/// The account of the model `name` in `directory`, run as `config` says. Errors: kUnsupported for a model that the
/// server does not have; those of files of weights, whose headers are read.
MemoryAccount memory_account(const std::string& name, const checkpoint::OpenedModel& directory,
                             const tasks::EncoderRunConfig& config, const AccountLimits& limits);

/// {"weights", "packed", "layouts", "work", "total", "how"}, in bytes.
formats::Json account_json(const MemoryAccount& account);
/// "labels: up to 1.2 GiB of memory: 0.4 GiB of weights, ..."
std::string account_line(const MemoryAccount& account);
/// The accounts as lines for Prometheus.
std::string account_figures(const std::vector<MemoryAccount>& accounts, const AccountLimits& limits);

/// Errors: kUnsupported, naming the first model that is too much for `limits.limit` beside `program`, the bytes that
/// the process has already, and request_bytes(); without a limit one whose weights alone are too much for `machine`.
void check_accounts(const std::vector<MemoryAccount>& accounts, const AccountLimits& limits, std::int64_t program,
                    const std::optional<MachineMemory>& machine);

/// Errors: kUnsupported, naming the first model that, with those before it, needs more than the `free` bytes of the
/// memory of `device` ("cuda:0"), or than `limits.limit`.
void check_device_accounts(const std::vector<MemoryAccount>& accounts, const AccountLimits& limits,
                           const std::string& device, std::int64_t free);

/// What models on a GPU leave to the memory of the machine: requests that are read or wait, and an answer. Errors:
/// kUnsupported where request_bytes() are more than `machine` has left.
void check_host_of_device(const AccountLimits& limits, const std::optional<MachineMemory>& machine);

}  // namespace weft::service
