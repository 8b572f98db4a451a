// SPDX-License-Identifier: Apache-2.0
// Longformer (Beltagy et al. 2020): RoBERTa with a window in each layer and global positions, which have projections of
// their own.
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>

#include "weft/core/error.h"
#include "weft/models/encoder/windowed.h"
#include "weft/models/families/family.h"

namespace weft::models {
namespace {

layers::SelfAttentionFactory longformer_layer(const EncoderConfig&, const EncoderOptions&, bool) {
  return windowed_layer();
}

bool longformer_has_pooler(Head head) { return head == Head::kNone || head == Head::kMultipleChoice; }

EncoderConfig longformer_base() {
  EncoderConfig config = roberta_family().base;
  config.model_type = "longformer";
  config.max_position_embeddings = 4098;
  config.attention_window = {512};  // one for all layers, however many a config then asks for
  return config;
}

void check_longformer(const EncoderConfig& config, std::string_view where) {
  check_windows(config.attention_window, config.num_hidden_layers, where);
}

std::string longformer_attention(const EncoderConfig& config, const EncoderOptions&, std::int64_t layer) {
  return windowed_pattern(config.attention_window_of(layer));
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

/// What `transformers` makes global by itself: the first token where a text is classified, the question where one is
/// answered, the choice where one is chosen; nothing for tags and masked tokens.
at::Tensor longformer_globals(const EncoderConfig& config, Head head, const at::Tensor& ids, const at::Tensor& given) {
  if (head == Head::kSequenceClassification) {
    at::Tensor globals = at::zeros_like(ids);
    globals.select(1, 0).fill_(1);
    return globals;
  }
  const bool by_separators = head == Head::kQuestionAnswering || head == Head::kMultipleChoice;
  if (!by_separators) {
    return {};
  }
  const at::Tensor positions = at::arange(ids.size(1), ids.options()).unsqueeze(0);
  const at::Tensor places = given.defined() ? given : places_by_separators(config, ids);
  const at::Tensor begin = places.narrow(1, 1, 1);  // -1 in a row of one text, which has no global position
  return head == Head::kQuestionAnswering ? positions.lt(places.narrow(1, 0, 1))
                                          : positions.ge(begin).logical_and(begin.ge(0));
}

NameRow longformer_global_names() {
  return {"encoder.layers.#.attention.global_qkv",
          {"~encoder.layer.#.attention.self.query_global", "~encoder.layer.#.attention.self.key_global",
           "~encoder.layer.#.attention.self.value_global"}};
}

EncoderFamily make_longformer() {
  EncoderFamily family = roberta_family();
  family.model_type = "longformer";
  family.class_name = "Longformer";
  family.base_prefix = "longformer";
  family.base = longformer_base();
  family.defaults = roberta_family().defaults;
  family.defaults.model_type = "longformer";
  family.defaults.vocab_size = 30522;
  family.zeroes_padding = true;
  family.drops_by_classifier = false;
  family.names.push_back(longformer_global_names());
  family.own_fields = {"attention_window", "sep_token_id"};
  family.attention_fields = {"attention_window"};
  family.has_pooler = longformer_has_pooler;
  family.check = check_longformer;
  family.attention = longformer_attention;
  family.self_attention = longformer_layer;
  family.globals = longformer_globals;
  return family;
}

}  // namespace

const EncoderFamily& longformer_family() {
  static const EncoderFamily family = make_longformer();
  return family;
}

}  // namespace weft::models
