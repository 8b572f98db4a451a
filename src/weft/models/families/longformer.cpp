// SPDX-License-Identifier: Apache-2.0
// Longformer (Beltagy et al. 2020): RoBERTa with a window in each layer and global positions, which have projections of
// their own.
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros_like.h>

#include "weft/attention/global_projection.h"
#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/layers/attention/self_attention.h"
#include "weft/models/families/family.h"

namespace weft::models {
namespace {

/// Self-attention whose positions bound to `input` look at every key, through query, key and value projections of their
/// own (section 3.1 of the paper).
class LongformerAttention : public layers::SelfAttentionImpl {
 public:
  LongformerAttention(const layers::BlockConfig& block, const at::TensorOptions& options)
      : SelfAttentionImpl(block, options) {
    global_qkv = register_module("global_qkv", layers::Linear(block.hidden_size, 3 * block.hidden_size, true, options));
  }

  layers::Linear global_qkv{nullptr};  ///< hidden -> 3 hidden

 protected:
  at::Tensor attend(const layers::Heads& heads, const at::Tensor& x, const layers::BlockContext& context) override;
};

at::Tensor LongformerAttention::attend(const layers::Heads& heads, const at::Tensor& x,
                                       const layers::BlockContext& context) {
  const at::Tensor mixed = SelfAttentionImpl::attend(heads, x, context);
  if (!needs_input() || context.attention.rows.empty()) {
    return mixed;
  }
  const auto part = [&](std::int64_t which) {
    const std::int64_t width = config().hidden_size;
    return attention::LinearWeights{global_qkv->weight.narrow(0, which * width, width),
                                    global_qkv->bias.narrow(0, which * width, width)};
  };
  attention::AttentionOptions options;
  options.key_keep = context.attention.key_keep;
  if (is_training() && config().attention_dropout > 0) {
    options.dropout = config().attention_dropout;
    options.seed = random_bits(context.attention.seed, static_cast<std::uint64_t>(config().layer));
  }
  return attention::with_global_rows(mixed, x, context.attention.rows, {part(0), part(1), part(2), config().heads},
                                     options);
}

layers::SelfAttentionFactory longformer_layer(const EncoderConfig&, const EncoderOptions&, bool) {
  return [](const layers::BlockConfig& block, const at::TensorOptions& options) {
    return std::make_shared<LongformerAttention>(block, options);
  };
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
  const auto count = static_cast<std::int64_t>(config.attention_window.size());
  require(count == 1 || count == config.num_hidden_layers, where,
          ": attention_window must list one window, or one for ", "each of ", config.num_hidden_layers,
          " layers, found ", count);
  for (const std::int64_t window : config.attention_window) {
    require(window >= 2 && window % 2 == 0 && window <= (1 << 24), where,
            ": attention_window must be even, from 2 to 16777216, found ", window);
  }
}

/// The rows of global positions are replaced by their own attention, so that `input` counts as keys alone.
std::string longformer_attention(const EncoderConfig& config, const EncoderOptions&, std::int64_t layer) {
  return concat("window(", config.attention_window_of(layer), ") | global(input, side=keys)");
}

/// [B, 1]: where the first of the three separators of a row stands; the texts are <s> a </s></s> b </s>.
at::Tensor first_separators(const EncoderConfig& config, const at::Tensor& ids) {
  const at::Tensor separators = ids.eq(config.sep_token_id);
  const at::Tensor counts = separators.sum(1);
  const at::Tensor wrong = counts.ne(3).nonzero().flatten();
  if (wrong.numel() > 0) {
    const std::int64_t row = wrong[0].item<std::int64_t>();
    throw Error(ErrorKind::kArgument,
                concat("longformer: without global_attention_mask this head finds its global positions by three ",
                       "separators (sep_token_id ", config.sep_token_id, ") a row, but row ", row, " has ",
                       counts[row].item<std::int64_t>()),
                "give global_attention_mask");
  }
  return separators.to(at::kInt).argmax(1, true);
}

/// What `transformers` makes global by itself: the first token where a text is classified, the question where one is
/// answered, the choice where one is chosen; nothing for tags and masked tokens.
at::Tensor longformer_globals(const EncoderConfig& config, Head head, const at::Tensor& ids) {
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
  const at::Tensor end = first_separators(config, ids);
  return head == Head::kQuestionAnswering ? positions.lt(end) : positions.gt(end + 1);
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
