// SPDX-License-Identifier: Apache-2.0
// Longformer (Beltagy et al. 2020): RoBERTa with a window in each layer and global positions, which have projections of
// their own.
#include <ATen/ops/cat.h>

#include "weft/core/error.h"
#include "weft/core/system/option_name.h"
#include "weft/models/encoder/batch.h"
#include "weft/models/encoder/windowed.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/longformer/config.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

layers::SelfAttentionFactory longformer_layer(const EncoderConfig&, const EncoderOptions&, bool) {
  return windowed_layer();
}

EncoderConfig longformer_base() {
  EncoderConfig config = roberta_family().encoder->base;
  config.model_type = "longformer";
  config.max_position_embeddings = 4098;
  config.own = OwnFields(LongformerFields{});  // one window for all layers, however many a config then asks for
  return config;
}

void check_longformer(const EncoderConfig& config, std::string_view where) {
  check_heads(config, where);
  check_windows(config.own.get<LongformerFields>().attention_window, config.num_hidden_layers, where);
}

std::string longformer_attention(const EncoderConfig& config, const EncoderOptions&, std::int64_t layer) {
  return windowed_pattern(config.own.get<LongformerFields>().window_of(layer));
}

/// [B, 2], the places of the texts by the three separators of a row, as `transformers` finds them: <s> a </s></s> b
/// </s>.
at::Tensor places_by_separators(const EncoderConfig& config, const at::Tensor& ids) {
  const at::Tensor separators = ids.eq(config.sep_token_id);
  const at::Tensor counts = separators.sum(1);
  const at::Tensor wrong = counts.ne(3).nonzero().flatten();
  if (wrong.numel() > 0) {
    const std::int64_t row = wrong[0].item<std::int64_t>();
    throw Error(ErrorKind::kArgument,
                concat("longformer: without global_attention_mask this head finds its global positions by three ",
                       "separators (sep_token_id ", config.sep_token_id, ") a row, but row ", row, " has ",
                       counts[row].item<std::int64_t>()),
                "put a tensor global_attention_mask of the shape of input_ids beside them");
  }
  const at::Tensor first = separators.to(at::kInt).argmax(1, true);
  return at::cat({first, first + 2}, 1);
}

/// Whoever calls without the places of the texts gets those that `transformers` finds.
void complete_longformer(EncoderBatch& batch, const EncoderConfig& config, Head head, const EncoderInput& input,
                         const at::Tensor& places) {
  const bool of_pairs = names_positions(head) && head != Head::kSequenceClassification;
  if (of_pairs && !input.global_attention_mask.defined() && !places.defined()) {
    batch.globals = global_positions(head, batch.ids, places_by_separators(config, batch.ids));
  }
}

PassSettings longformer_passes(const EncoderConfig& config, const EncoderOptions& options) {
  PassSettings settings = one_pass(config, options);
  settings.zeroes_padding = true;
  return settings;
}

/// transformers writes a list, one window for each layer.
void adapt_longformer(EncoderConfig& config) {
  std::vector<std::int64_t>& windows = config.own.get<LongformerFields>().attention_window;
  if (windows.size() == 1) {
    windows.resize(static_cast<std::size_t>(config.num_hidden_layers), windows.front());
  }
}

/// The projections of global positions begin as those of the others.
at::Tensor first_value_of_longformer(const std::string& name, const at::Tensor&, const EncoderModel& source) {
  constexpr std::string_view kGlobal = "global_qkv";
  const std::size_t at = name.find(kGlobal);
  if (at == std::string::npos) {
    return {};
  }
  std::string old_name = name;
  return source->named_parameters()[old_name.replace(at, kGlobal.size(), "qkv")];
}

void refuse_longformer(const EncoderConfig&) {
  throw Error(ErrorKind::kUnsupported,
              "an encoder-decoder cannot start from a longformer: the projections of its global positions have no "
              "place there",
              concat("convert a bart to led, or start from a roberta with ", option("encoder_attention"),
                     " \"window(512) | global(1)\""));
}

NameRow longformer_global_names() {
  return {"encoder.layers.#.attention.global_qkv",
          {"~encoder.layer.#.attention.self.query_global", "~encoder.layer.#.attention.self.key_global",
           "~encoder.layer.#.attention.self.value_global"}};
}

EncoderRules longformer_rules() {
  EncoderRules rules = *roberta_family().encoder;
  rules.class_name = "Longformer";
  rules.base_prefix = "longformer";
  rules.base = longformer_base();
  rules.defaults = roberta_family().encoder->defaults;
  rules.defaults.model_type = "longformer";
  rules.defaults.vocab_size = 30522;
  rules.defaults.own = rules.base.own;
  rules.names.push_back(longformer_global_names());
  rules.fields = {{"position_embedding_type", {}}, {"classifier_dropout", {}}};
  rules.attention_fields = {"attention_window"};
  rules.check = check_longformer;
  rules.attention = longformer_attention;
  rules.self_attention = longformer_layer;
  rules.passes = longformer_passes;
  rules.complete = complete_longformer;
  rules.adapt = adapt_longformer;
  rules.first_value = first_value_of_longformer;
  rules.check_start = refuse_longformer;
  return rules;
}

}  // namespace

const Family& longformer_family() {
  static const EncoderRules rules = longformer_rules();
  static const Family family{.name = "longformer", .model_type = "longformer", .encoder = &rules};
  return family;
}

}  // namespace weft::models
