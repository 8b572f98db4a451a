// SPDX-License-Identifier: Apache-2.0
// A directory ready for a task: the model with the head that the task needs, its tokeniser, and how long a text may be.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "weft/checkpoint/encoder_directory.h"
#include "weft/models/encoder_model.h"
#include "weft/text/hugging_face.h"
#include "weft/text/unknown_tokens.h"

namespace weft::tasks {

struct TaskModelOptions {
  std::optional<models::Head> head = {};  ///< what the task needs; absent: any head will do
  models::EncoderOptions encoder = {};
  at::ScalarType dtype = at::kFloat;  ///< of weights
  std::string products = "float32";   ///< what float32 weights are multiplied in: float32 or bfloat16
  bool int8 = false;                  ///< the linear layers keep int8
  bool check_finite = false;          ///< NaN or infinite weights are a kNumeric error that names the tensor
  std::int64_t max_length = 0;        ///< tokens at once; 0: as many as the model and its tokeniser allow
};

struct TaskModel {
  models::EncoderModel model{nullptr};
  std::shared_ptr<const text::HuggingFaceTokenizer> tokenizer;
  std::shared_ptr<text::UnknownTokens> unknown;  ///< of all texts that were read
  std::string name;                              ///< of the directory, for messages
  std::int64_t maximum = 0;                      ///< tokens of a window, special ones included
  std::int64_t longest = 0;                      ///< tokens that the model itself takes, whatever its files say
  std::int64_t rows = 0;                         ///< of the embedding: ids are below it
  std::int64_t types = 0;                        ///< of tokens (type_vocab_size): token types are below it
  at::ScalarType dtype = at::kFloat;
  std::string products = "float32";  ///< see TaskModelOptions
  bool type_ids = false;             ///< whether token types are passed on, as the tokeniser of `transformers` does
};

/// "float32" or "bfloat16": what products are computed in.
std::string product_type(const TaskModel& task);

/// Counts the tokens of `encoding` as text that the model reads. Errors: kFormat naming `where`, the token and the
/// model for an id or a token type that the model has no row for.
void take_note(const TaskModel& task, const text::Encoding& encoding, const std::string& where);

/// `directory` without its weights and whatever its head: `model` is empty. Errors: as open_task_model, but for heads.
TaskModel describe_task_model(const checkpoint::OpenedModel& directory, const TaskModelOptions& options);
TaskModel describe_task_model(const std::filesystem::path& directory, const TaskModelOptions& options);

/// Opens `directory`. Errors: as checkpoint::load_encoder; kArgument naming the directory, its head and the one that
/// the task needs where these differ; kArgument where max_length is more than the model takes; kIo or kFormat for a
/// tokeniser that is not there or cannot be read.
TaskModel open_task_model(const checkpoint::OpenedModel& directory, const TaskModelOptions& options);
TaskModel open_task_model(const std::filesystem::path& directory, const TaskModelOptions& options);

}  // namespace weft::tasks
