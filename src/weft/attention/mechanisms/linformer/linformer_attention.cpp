// SPDX-License-Identifier: Apache-2.0
// Keys and values become `rank` rows, and the operator does the rest: every query sees each of them.
#include "weft/attention/mechanisms/linformer/linformer_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cmath>
#include <utility>

#include "weft/attention/mechanisms/pattern_attention.h"
#include "weft/attention/mechanisms/row_lengths.h"
#include "weft/attention/mechanisms/settings.h"
#include "weft/attention/operator/checks.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

constexpr std::int64_t kHighestRank = 16384;
constexpr std::int64_t kDefaultRank = 256;
/// Numbers of a layer's matrix: 8 GiB in float32.
constexpr double kMostNumbers = 2147483648.0;

struct LinformerSettings {
  std::int64_t rank;
  std::string sharing;
  bool as_fairseq;

  bool for_each_head() const { return sharing == "none"; }
  bool for_keys_and_values() const { return sharing == "keys" || sharing == "layers"; }
};

LinformerSettings linformer_settings(const std::string& expression) {
  MechanismSettings given(expression, "linformer");
  LinformerSettings settings{given.number("rank", kDefaultRank, 1, kHighestRank),
                             given.word("share", {"heads", "none", "keys", "layers"}),
                             given.word("init", {"fairseq", "lucidrains"}) == "fairseq"};
  given.check_all_taken({"rank", "share", "init"});
  return settings;
}

std::string linformer_text(const LinformerSettings& settings) {
  return concat("linformer(rank=", settings.rank,
                settings.sharing == "heads" ? std::string() : concat(", share=", settings.sharing),
                settings.as_fairseq ? "" : ", init=lucidrains", ")");
}

}  // namespace

MechanismSpec parse_linformer(const std::string& expression) {
  const LinformerSettings settings = linformer_settings(expression);
  MechanismSpec spec;
  spec.name = "linformer";
  spec.description = linformer_text(settings);
  spec.has_longest_text = true;
  spec.parameters = {"key_projection"};
  if (!settings.for_keys_and_values()) {
    spec.parameters.emplace_back("value_projection");
  }
  spec.limits.causal = "each row that a query sees is a sum over the whole text, later tokens included";
  spec.limits.incremental = "its sums over positions change with every token";
  spec.limits.cross = "its sums are over the positions of one text";
  spec.limits.distances = "it computes no scores that the distance could lower";
  // Two products [rank, N] x [N, D] and two of all queries with `rank` rows.
  spec.operations = [settings](const MechanismSite& site, std::int64_t length) {
    return 8 * static_cast<double>(length) * static_cast<double>(settings.rank) * static_cast<double>(site.head_dim);
  };
  return spec;
}

LinformerAttention::LinformerAttention(MechanismSpec spec, const MechanismSite& site, const at::TensorOptions& options)
    : AttentionImpl(std::move(spec), site) {
  const LinformerSettings settings = linformer_settings(this->spec().description);
  const std::int64_t heads = settings.for_each_head() ? site.heads : 1;
  require(site.maximum_length > 0, "attention: `", description(), "` needs the longest text of the model, found ",
          site.maximum_length);
  const double numbers = static_cast<double>(heads * settings.rank) * static_cast<double>(site.maximum_length);
  require(numbers <= kMostNumbers, "attention: `", description(), "` would learn ", numbers,
          " numbers a layer for texts of ", site.maximum_length, " tokens; take a lower rank or share=heads");
  shares_layers_ = settings.sharing == "layers";
  if (shares_layers_ && site.layer > 0) {
    return;  // share() gives it
  }
  const at::NoGradGuard without_gradients;
  const auto rank = static_cast<double>(settings.rank);
  const double range =
      std::sqrt(settings.as_fairseq ? 3.0 / (static_cast<double>(site.maximum_length) + rank) : 1.0 / rank);
  const auto learned = [&](const char* name) {
    return register_parameter(name, at::empty({heads, settings.rank, site.maximum_length}, options))
        .uniform_(-range, range);
  };
  key_projection_ = learned("key_projection");
  if (!settings.for_keys_and_values()) {
    value_projection_ = learned("value_projection");
  }
}

void LinformerAttention::share(AttentionImpl& first) {
  if (!shares_layers_ || site().layer == 0) {
    return;
  }
  auto* const owner = first.as<LinformerAttention>();
  require(owner != nullptr && owner->description() == description(), "attention of layer ", site().layer, ": `",
          description(), "` takes its matrix from layer 0, which must have the same attention, found `",
          first.description(), "`");
  key_projection_ = owner->key_projection_;
}

std::vector<at::Tensor> LinformerAttention::shared_parameters() const {
  return shares_layers_ && site().layer > 0 ? std::vector<at::Tensor>{key_projection_} : std::vector<at::Tensor>();
}

at::Tensor LinformerAttention::forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                       const AttentionContext& context) {
  check_tensors(query, key, value, context.key_keep);
  require(key_projection_.defined(), "attention of layer ", site().layer, ": `", description(),
          "` was not given the matrix of layer 0");
  const std::int64_t length = key.size(2);
  require(length <= key_projection_.size(2), "attention: `", description(), "` learned sums over ",
          key_projection_.size(2), " positions, found a text of ", length,
          " tokens; cut it, or train a model with a greater maximum length");
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
  const at::ScalarType type = accumulation_type(query);
  const at::Tensor keep = kept_keys(context, key);
  const at::Tensor keep_queries = kept_queries(context, query);
  // [heads or 1, rank, N] [B, H, N, D] -> [B, H, rank, D]
  const auto summed = [&](const at::Tensor& projection, const at::Tensor& rows) {
    const at::Tensor wide = projection.size(0) == 1 ? rows : repeat_key_heads(rows, site().heads);
    return at::matmul(projection.narrow(2, 0, length).to(type), without_padding(wide, keep).to(type));
  };
  const at::Tensor keys = summed(key_projection_, key);
  const at::Tensor values = summed(value_projection_.defined() ? value_projection_ : key_projection_, value);
  const at::Tensor queries = without_padding(query, keep_queries).to(type);
  AttentionOptions options;
  const DropoutOfCall dropped = dropout_of(context);
  options.dropout = dropped.probability;
  options.seed = dropped.seed;
  static const pattern::Pattern pairs = pattern::Pattern::parse("full");
  const LayoutPtr layout = layout_for_call(pairs, site(), queries, keys, {}, false);
  return without_padding(attention(queries, keys, values, layout, options).output, keep_queries)
      .to(query.scalar_type());
}

}  // namespace weft::attention
