// SPDX-License-Identifier: Apache-2.0
// From a short encoder to a long one: the same weights under another pattern, with a longer table of positions or none.
#include <algorithm>
#include <array>

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include "weft/attention/mechanisms/spec.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/etc/first_values.h"
#include "weft/checkpoint/littlebird/first_values.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/models/families/family.h"
#include "weft/models/stack/stack_config.h"

namespace weft::checkpoint {
namespace {

using models::EncoderConfig;
using models::EncoderModel;
using models::Head;

void check_request(const EncoderModel& source, const ConvertOptions& options) {
  const EncoderConfig& config = source->config();
  require(config.model_type == "bert" || config.model_type == "roberta",
          "convert takes a bert or roberta model, whose layers the families that it makes have too, found ",
          config.model_type);
  require(config.has_position_table(), "convert takes a model with position embeddings, found position_embedding_type ",
          config.position_embedding_type);
  constexpr std::array<std::string_view, 4> kMade{"longformer", "big_bird", "littlebird", "etc"};
  require(std::find(kMade.begin(), kMade.end(), options.to) != kMade.end(),
          "convert makes longformer, big_bird, littlebird or etc, found ", quote(options.to));
  require(options.length >= config.maximum_length() && options.length <= (1 << 24), "length must be from the ",
          config.maximum_length(), " positions that the model has to 16777216, found ", options.length);
}

/// Heads whose layers differ between the two families cannot go along.
void check_head(const EncoderModel& source, const models::EncoderFamily& target) {
  const models::EncoderFamily& family = models::find_family(source->config().model_type);
  const Head head = source->head();
  const bool classifiers_differ =
      family.classifier != target.classifier || family.hidden_act_in_heads != target.hidden_act_in_heads;
  const bool differs = (head == Head::kSequenceClassification && classifiers_differ) ||
                       (head == Head::kQuestionAnswering && target.deep_answers);
  if (differs) {
    throw Error(ErrorKind::kUnsupported,
                concat("the ", to_string(head), " head of ", family.model_type, " has other layers than that of ",
                       target.model_type),
                "convert the encoder alone (head none or masked-lm) and train the head anew");
  }
}

EncoderConfig converted_config(const EncoderConfig& source, const ConvertOptions& options) {
  const models::EncoderFamily& target = models::find_family(options.to);
  EncoderConfig config = source;
  config.model_type = options.to;
  config.max_position_embeddings = options.length + models::padding_rows(target, source);
  config.attention_window = options.attention_window;
  if (config.attention_window.size() == 1) {
    config.attention_window.resize(static_cast<std::size_t>(source.num_hidden_layers),
                                   options.attention_window.front());
  }
  config.block_size = options.block_size;
  config.num_random_blocks = options.random_blocks;
  config.num_latents = options.latents;
  config.sentence_end_ids = options.sentence_end_ids;
  config.position_embedding_type = target.base.position_embedding_type;
  config.attention = options.attention;  // that of the source would stand in place of the target's
  config.directory.clear();              // files that the options name lie in the working directory
  // BigBird tells a question from its text by the token type.
  config.type_vocab_size =
      options.to == "big_bird" ? std::max<std::int64_t>(2, source.type_vocab_size) : source.type_vocab_size;
  config.with_pooler = true;
  config.architectures.clear();
  return config;
}

/// Two latents that begin equal would stay equal.
void check_latents(const EncoderConfig& config, const EncoderConfig& source) {
  for (const layers::BlockConfig& block : models::stack_config(config, {}).blocks) {
    if (block.attention.empty()) {
      continue;  // a block of its own kind
    }
    const std::int64_t latents = attention::parse_mechanism(block.attention, block.directory).latents;
    require(latents <= source.maximum_length(), "latents begin as positions of the model: expected 1 to ",
            source.maximum_length(), " latents, found ", latents);
  }
}

/// The source's positions over and over until `rows` is full, behind the target's rows for padding.
at::Tensor longer_positions(const at::Tensor& table, std::int64_t source_padding, std::int64_t target_padding,
                            std::int64_t rows) {
  const at::Tensor positions = table.narrow(0, source_padding, table.size(0) - source_padding);
  const at::Tensor padding = source_padding == target_padding
                                 ? table.narrow(0, 0, source_padding)
                                 : at::zeros({target_padding, table.size(1)}, table.options().requires_grad(false));
  const std::int64_t needed = rows - target_padding;
  const std::int64_t copies = (needed + positions.size(0) - 1) / positions.size(0);
  return at::cat({padding, positions.repeat({copies, 1}).narrow(0, 0, needed)});
}

/// What a parameter of the new model begins with, by its name in the old one; undefined where the old one has none.
at::Tensor converted_value(const std::string& name, const at::Tensor& target, const EncoderModel& source,
                           const EncoderConfig& config) {
  const bool to_etc = config.model_type == "etc";
  if (const at::Tensor value =
          to_etc ? first_value_of_etc(name, target, source) : first_value_of_littlebird(name, target, source);
      value.defined()) {
    return value;
  }
  const auto old = source->named_parameters();
  std::string old_name = name;
  if (const auto at = name.find("global_qkv"); at != std::string::npos) {
    old_name.replace(at, std::string_view("global_qkv").size(), "qkv");
  }
  const at::Tensor* found = old.find(old_name);
  if (found == nullptr) {
    return {};
  }
  if (name == "encoder.embeddings.positions") {
    const EncoderConfig& from = source->config();
    return longer_positions(*found, models::padding_rows(models::find_family(from.model_type), from),
                            models::padding_rows(models::find_family(config.model_type), config), target.size(0));
  }
  return name == "encoder.embeddings.token_types" ? found->repeat({target.size(0), 1}).narrow(0, 0, target.size(0))
                                                  : *found;
}

}  // namespace

EncoderModel convert_encoder(const EncoderModel& source, const ConvertOptions& options) {
  check_request(source, options);
  check_head(source, models::find_family(options.to));
  const EncoderConfig config = converted_config(source->config(), options);
  EncoderModel model = models::make_encoder(config, source->head(), 0);
  check_latents(config, source->config());
  const at::NoGradGuard without_gradients;
  for (auto& parameter : model->named_parameters()) {
    const at::Tensor value = converted_value(parameter.key(), parameter.value(), source, config);
    if (value.defined()) {
      parameter.value().copy_(value);
    }
  }
  return model;
}

}  // namespace weft::checkpoint
