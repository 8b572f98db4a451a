// SPDX-License-Identifier: Apache-2.0
// One set of weights serves all tasks that can share it.
#include "opened.h"

#include <algorithm>

#include "weft/attention/devices/device.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/checkpoint/sentence/sentence_directory.h"
#include "weft/core/quote.h"
#include "weft/generation/settings/read_settings.h"
#include "weft/hub/models.h"
#include "weft/text/unknown_tokens.h"

namespace weft::python {
namespace {

using checkpoint::Ability;
using formats::Json;

constexpr const char* kOpen = "open";  // before messages about its arguments

std::string named(const checkpoint::OpenedModel& directory) { return quote(directory.root().native(), 4096); }

struct Kinds {
  bool reads = false;   // encoders
  bool writes = false;  // encoder-decoders
};

bool is_for(std::string_view field, const Kinds& model) {
  if (field == "dtype" || field == "weights" || field == "device") {
    return true;
  }
  if (field == "max_length") {
    return model.reads;
  }
  return model.writes || (model.reads && field != "max_source_length");
}

const char* kinds_of(std::string_view field) {
  if (field == "max_length") {
    return "encoders";
  }
  return field == "max_source_length" ? "encoder-decoders" : "encoders and encoder-decoders";
}

// What is for models of another kind.
void check_open_fields(const Json& given, const checkpoint::OpenedModel& directory) {
  const Kinds model{.reads = directory.can(Ability::kRead), .writes = directory.can(Ability::kWrite)};
  for (const auto& [name, value] : given.items()) {
    require(
        is_for(name, model), kOpen, ": ", name, " is for ", kinds_of(name), ", and ", [&] { return named(directory); },
        " is none; leave it out");
  }
}

}  // namespace

Opened::Opened(const std::string& name, Json given)
    : directory_(checkpoint::open_model(hub::local_model(name))), given_(std::move(given)) {
  std::vector<std::string_view> known = field_names<tasks::EncoderRunConfig>();
  const std::vector<std::string_view> lengths = field_names<LengthConfig>();
  known.insert(known.end(), lengths.begin(), lengths.end());
  known.emplace_back("device");
  formats::check_keys(given_, kOpen, known, {});
  formats::update_from_json(config_, formats::only_fields_of<tasks::EncoderRunConfig>(given_), kOpen);
  formats::update_from_json(lengths_, formats::only_fields_of<LengthConfig>(given_), kOpen);
  DeviceConfig where;
  formats::update_from_json(where, formats::only_fields_of<DeviceConfig>(given_), kOpen);
  device_ = attention::usable_device(where.device);
  family();  // refuses what Weft does not open
  check_open_fields(given_, directory_);
}

tasks::EncoderSettings Opened::settings(const std::filesystem::path& path) const {
  return tasks::encoder_settings(config_, path);
}

tasks::TaskModelOptions Opened::encoder_options() const {
  tasks::TaskModelOptions options = tasks::model_options(settings(directory_.root()));
  options.max_length = lengths_.max_length;
  return options;
}

// A task that takes any head takes what is there; one that needs the model's own takes what was opened without a wish.
tasks::TaskModel Opened::encoder(std::optional<models::Head> head) {
  const auto fits = [&](const auto& opened) {
    return opened.first == head || !head || (!opened.first && directory_.head() == *head);
  };
  if (const auto found = std::ranges::find_if(encoders_, fits); found != encoders_.end()) {
    return found->second;
  }
  tasks::TaskModelOptions options = encoder_options();
  options.head = head;
  const attention::OpenOn there(device_);
  return encoders_.emplace_back(head, tasks::open_task_model(directory_, options)).second;
}

tasks::Embedder& Opened::embedder(const tasks::EmbedOverrides& overrides, const std::string& key) {
  if (embedder_ && embedder_key_ == key) {
    return *embedder_;
  }
  const attention::OpenOn there(device_);
  const auto sentence = checkpoint::read_sentence_directory(directory_.root());
  const bool is_elsewhere = sentence && sentence->transformer != directory_.path();
  embedder_ = is_elsewhere ? tasks::open_embedder(directory_, encoder_options(), overrides)
                           : tasks::embedder_of(encoder({}), directory_, lengths_.max_length, overrides);
  embedder_key_ = key;
  return *embedder_;
}

generation::GenerationConfig Opened::generation(const Json& given, const std::string& task) {
  const bool beams = given.contains("num_beams");
  const bool writes = directory_.can(Ability::kWrite);
  std::optional<generation::GenerationConfig>& base = beams ? searches_ : usual_;
  if (!base) {
    generation::GenerationConfig defaults =
        writes ? generation::GenerationConfig{} : generation::language_model_defaults();
    defaults.do_sample = defaults.do_sample && !beams;
    base = generation::read_settings(directory_, defaults);
  }
  generation::GenerationConfig config = generation::settings_over(*base, given, task);
  if (writes) {
    config = tasks::with_length(config, directory_);
  }
  generation::check_settings(config, directory_, [&](std::string_view field) {
    return given.contains(std::string(field)) ? task : generation::file_of_setting(directory_.path(), field);
  });
  return config;
}

const tasks::SequenceModel& Opened::pair(const generation::GenerationConfig& settings_of_search) {
  if (pair_) {
    tasks::write_by(*pair_, settings_of_search);
    return *pair_;
  }
  directory_.need(Ability::kWrite);
  tasks::SequenceModelOptions options = tasks::sequence_options(settings(directory_.path()), settings_of_search);
  options.max_length = lengths_.max_source_length;
  const attention::OpenOn there(device_);
  pair_ = tasks::open_sequence_model(directory_, options);
  return *pair_;
}

OpenedDecoder& Opened::decoder() {
  if (decoder_) {
    return *decoder_;
  }
  for (const auto& [name, value] : given_.items()) {
    require(name == "dtype" || name == "weights" || name == "device", "generate: ", name,
            " was given to open, which is for tasks of an encoder; leave it out");
  }
  const attention::OpenOn there(device_);
  OpenedDecoder opened;
  const tasks::EncoderSettings numbers = tasks::decoder_settings(config_, directory_.path());
  opened.model = checkpoint::load_model(directory_, tasks::decoder_options(numbers));
  opened.products = numbers.products;
  opened.dtype = tasks::dtype_text(tasks::product_type(numbers));
  opened.tokenizer = checkpoint::load_tokenizer(directory_);
  opened.decoder = std::make_unique<generation::LanguageModelDecoder>(opened.model);
  text::warn_of_small_vocabulary(*opened.tokenizer, opened.model->config().vocab_size, named(directory_));
  decoder_ = std::move(opened);
  return *decoder_;
}

}  // namespace weft::python
