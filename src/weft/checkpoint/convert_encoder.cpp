// SPDX-License-Identifier: Apache-2.0
// From a short encoder to a long one: the same weights under another pattern, with a longer table of positions or none.
#include <algorithm>

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include "weft/attention/mechanisms/spec.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/replaced_attention.h"

namespace weft::checkpoint {
namespace {

using models::EncoderConfig;
using models::EncoderModel;
using models::Head;

std::string families_that_are_made() {
  std::vector<std::string_view> names;
  for (const models::Family* family : models::encoder_families()) {
    if (family->encoder->is_made()) {
      names.push_back(family->name);
    }
  }
  return models::in_words(names, " or ");
}

/// Whether the new model is of the old one's family.
bool stays_in_family(const EncoderConfig& source, const ConvertOptions& options) {
  return models::find_family(options.to) == models::find_family(source.model_type);
}

void check_request(const EncoderModel& source, const ConvertOptions& options) {
  const EncoderConfig& config = source->config();
  const models::Family* const target = models::find_family(options.to);
  const models::EncoderRules* const made = target == nullptr ? nullptr : target->encoder;
  const bool stays = made != nullptr && made->lengthens && stays_in_family(config, options);
  require(stays || !models::find_family(config.model_type)->layers_of.empty(), "convert takes a ",
          models::families_to_start_from, " model, whose layers the families that it makes have too, found ",
          config.model_type, [&] {
            return models::encoder_rules(config).lengthens ? concat(", which becomes a longer ", config.model_type)
                                                           : std::string();
          });
  require(stays || config.has_position_table(),
          "convert takes a model with position embeddings, found position_embedding_type ",
          config.position_embedding_type);
  require(made != nullptr && made->is_made(), "convert makes ", families_that_are_made, ", found ", Quoted(options.to));
  require(stays || made->adapt != nullptr, "convert makes a ", options.to, " out of a ", options.to, " alone, found ",
          config.model_type);
  require(options.length >= config.maximum_length() && options.length <= (1 << 24), "length must be from the ",
          config.maximum_length(), " positions that the model has to 16777216, found ", options.length);
}

/// Heads whose layers differ between the two families cannot go along.
void check_head(const EncoderConfig& source, const EncoderConfig& target, Head head) {
  const models::HeadPlan from = models::head_plan(source, head);
  const models::HeadPlan to = models::head_plan(target, head);
  const bool classifiers_differ = from.classifier != to.classifier || from.class_activation != to.class_activation;
  const bool differs = (head == Head::kSequenceClassification && classifiers_differ) ||
                       (head == Head::kQuestionAnswering && from.answers != to.answers);
  if (differs) {
    throw Error(ErrorKind::kUnsupported,
                concat("the ", to_string(head), " head of ", source.model_type, " has other layers than that of ",
                       target.model_type),
                "convert the encoder alone (head none or masked-lm) and train the head anew");
  }
}

EncoderConfig converted_config(const EncoderConfig& source, const ConvertOptions& options) {
  const models::EncoderRules& target = models::encoder_rules(options.to);
  EncoderConfig config = source;
  config.model_type = options.to;
  config.own = stays_in_family(source, options) ? source.own : target.base.own;
  models::update_fields(config, options.settings, "convert");
  config.max_position_embeddings = options.length + models::padding_rows(config);
  config.position_embedding_type = target.base.position_embedding_type;
  config.attention = options.attention;  // that of the source would stand in place of the target's
  config.directory.clear();              // files that the options name lie in the working directory
  config.with_pooler = true;
  config.architectures.clear();
  if (target.adapt != nullptr) {
    target.adapt(config);
  }
  models::list_attention(config);
  return config;
}

/// Two latents that begin equal would stay equal.
void check_latents(const EncoderConfig& config, const EncoderConfig& source) {
  for (const layers::BlockConfig& block : models::encoder_rules(config).stack(config, {}).blocks) {
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
  if (const at::Tensor value = models::encoder_rules(config).first_value(name, target, source); value.defined()) {
    return value;
  }
  const auto old = source->named_parameters();
  const at::Tensor* found = old.find(name);
  if (found == nullptr) {
    return {};
  }
  if (name == "encoder.embeddings.positions") {
    return longer_positions(*found, models::padding_rows(source->config()), models::padding_rows(config),
                            target.size(0));
  }
  return name == "encoder.embeddings.token_types" ? found->repeat({target.size(0), 1}).narrow(0, 0, target.size(0))
                                                  : *found;
}

}  // namespace

EncoderModel convert_encoder(const EncoderModel& source, const ConvertOptions& options) {
  check_request(source, options);
  const EncoderConfig config = converted_config(source->config(), options);
  check_head(source->config(), config, source->head());
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
