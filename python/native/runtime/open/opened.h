// SPDX-License-Identifier: Apache-2.0
// A model directory as Python holds it: config.json is read when it is opened, weights when a task first needs them,
// and both stay until it is closed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/checkpoint/open_model.h"
#include "weft/formats/config_json.h"
#include "weft/generation/decoder.h"
#include "weft/tasks/embedding/embedder.h"
#include "weft/tasks/encoder_settings.h"
#include "weft/tasks/sequences/sequence_model.h"
#include "weft/tasks/task_model.h"
#include "weft/text/tokenizer.h"

namespace weft::python {

/// What is said once, when a directory is opened, besides tasks::EncoderRunConfig. The fields are those of the
/// commands.
struct LengthConfig {
  std::int64_t max_length = 0;
  std::int64_t max_source_length = 0;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = LengthConfig;
    visit(Field{"max_length", &C::max_length, "as of tasks::TextRunConfig"}.at_least(0));
    visit(Field{"max_source_length", &C::max_source_length, "as of tasks::SequenceRunConfig"}.at_least(0));
  }
};

/// A language model and its tokeniser.
/// Where a model of Python computes.
struct DeviceConfig {
  std::string device = "cpu";

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    visit(Field{"device", &DeviceConfig::device, "cpu, cuda or cuda:N"});
  }
};

struct OpenedDecoder {
  models::LanguageModel model{nullptr};
  std::unique_ptr<generation::LanguageModelDecoder> decoder;
  std::unique_ptr<text::Tokenizer> tokenizer;
  std::string products = "float32";  ///< what float32 weights are multiplied in: float32 or bfloat16
  std::string dtype = "float32";     ///< what products are computed in, for results
};

class Opened {
 public:
  /// `name` is a directory, or a model of the Hub. `given` has fields of EncoderRunConfig,
  /// LengthConfig and DeviceConfig. Errors:
  /// those of hub::local_model(), checkpoint::open_model() and attention::usable_device(); kUnsupported for a model
  /// that Weft does not open; kFormat, kArgument for the fields, and for those that such a model does not have.
  Opened(const std::string& name, formats::Json given);

  const checkpoint::OpenedModel& directory() const noexcept { return directory_; }
  std::string family() const { return directory_.facts().family; }
  std::int64_t max_length() const noexcept { return lengths_.max_length; }

  /// The model with the head that a task needs, or whatever its head is. Errors: those of tasks::open_task_model().
  tasks::TaskModel encoder(std::optional<models::Head> head);
  /// Errors: those of tasks::open_embedder().
  tasks::Embedder& embedder(const tasks::EmbedOverrides& overrides, const std::string& key);
  /// The settings of the directory with those of `given` over them, checked; `task` is for errors. Errors: those of
  /// generation::settings_over() and check_settings().
  generation::GenerationConfig generation(const formats::Json& given, const std::string& task);
  /// The encoder-decoder, which writes by `settings` until the next call. Errors: those of
  /// tasks::open_sequence_model().
  const tasks::SequenceModel& pair(const generation::GenerationConfig& settings);
  /// Errors: those of checkpoint::load_model(); kArgument for fields that are for encoders.
  OpenedDecoder& decoder();

 private:
  tasks::EncoderSettings settings(const std::filesystem::path& path) const;
  tasks::TaskModelOptions encoder_options() const;

  checkpoint::OpenedModel directory_;
  formats::Json given_;
  tasks::EncoderRunConfig config_;
  LengthConfig lengths_;
  c10::Device device_{c10::kCPU};
  std::vector<std::pair<std::optional<models::Head>, tasks::TaskModel>> encoders_;
  std::optional<tasks::Embedder> embedder_;
  std::string embedder_key_;
  std::optional<tasks::SequenceModel> pair_;
  std::optional<generation::GenerationConfig> usual_;
  std::optional<generation::GenerationConfig> searches_;  // where beams are asked for
  std::optional<OpenedDecoder> decoder_;
};

}  // namespace weft::python
