// SPDX-License-Identifier: Apache-2.0
// The table of distances, and a relative call that it becomes.
#include "weft/models/families/deberta_v2/disentangled.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/attention/mechanism.h"
#include "weft/attention/mechanisms/relative/relative_layout.h"
#include "weft/attention/mechanisms/relative/relative_product.h"
#include "weft/attention/mechanisms/row_lengths.h"
#include "weft/attention/profile/attention_observer.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"
#include "weft/layers/attention/self_attention.h"
#include "weft/layers/dropout.h"
#include "weft/layers/norm.h"

namespace weft::models {
namespace {

using attention::AttentionContext;
using attention::MechanismSpec;

constexpr std::int64_t kTableSite = 8;  // of dropout_seed, see AttentionBlockImpl

/// What a layer makes of the table, [H, 2 span, D] each; undefined where scores lack the term.
struct TableHeads {
  at::Tensor keys;
  at::Tensor queries;
};

/// Its description says which pairs see each other, as that of a pattern does.
MechanismSpec spec_of(const DistanceTerms& terms, const std::string& pattern) {
  MechanismSpec spec;
  spec.name = "disentangled";
  spec.description = attention::parse_mechanism(pattern).description;
  spec.brings_positions = true;
  spec.not_observed = terms.asked_by_distances ? "disentangled scores have products of keys with distances, and a "
                                                 "profile knows those of queries"
                                               : "";
  return spec;
}

/// The scores, and the table that layers share.
class Disentangled : public attention::AttentionImpl {
 public:
  Disentangled(const layers::BlockConfig& block, const DistanceTerms& terms, const at::TensorOptions& options);

  /// Errors: kUnsupported, always: only the layer has what its projections make of the table.
  at::Tensor forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const AttentionContext& context) override;
  void share(AttentionImpl& first) override;
  std::vector<at::Tensor> shared_parameters() const override;

  /// [2 span, hidden], behind its norm.
  at::Tensor table();
  /// forward() with the table's heads.
  at::Tensor attend(const layers::Heads& heads, const TableHeads& table, const AttentionContext& context);

 private:
  attention::RelativeCall call_of(const layers::Heads& heads, const TableHeads& table,
                                  const AttentionContext& context) const;

  DistanceTerms terms_;
  std::int64_t reach_;
  at::Tensor distances_;
  layers::Norm norm_{nullptr};
};

Disentangled::Disentangled(const layers::BlockConfig& block, const DistanceTerms& terms,
                           const at::TensorOptions& options)
    : AttentionImpl(spec_of(terms, block.attention), layers::site_of(block)),
      terms_(terms),
      reach_(reach_of_pattern(block.attention).value_or(-1)) {
  if (block.layer == 0) {
    distances_ = register_parameter("distances", at::empty({2 * terms.span, block.hidden_size}, options));
    if (terms.norm) {
      norm_ = register_module("norm", layers::Norm(block.hidden_size, *terms.norm, options));
    }
  }
}

at::Tensor Disentangled::forward(const at::Tensor&, const at::Tensor&, const at::Tensor&, const AttentionContext&) {
  fail(ErrorKind::kUnsupported, "attention: `", description(),
       "` computes in its layer alone, which projects the table ", "of distances");
}

void Disentangled::share(AttentionImpl& first) {
  if (site().layer == 0) {
    return;
  }
  auto* const owner = first.as<Disentangled>();
  require(owner != nullptr && owner->terms_.span == terms_.span, "attention of layer ", site().layer, ": `",
          description(), "` takes its table of distances from layer 0, which has `", first.description(), "`");
  distances_ = owner->distances_;
  norm_ = owner->norm_;
}

std::vector<at::Tensor> Disentangled::shared_parameters() const {
  std::vector<at::Tensor> shared;
  if (site().layer > 0) {
    shared.push_back(distances_);
    if (!norm_.is_empty()) {
      shared.insert(shared.end(), {norm_->weight, norm_->bias});
    }
  }
  return shared;
}

at::Tensor Disentangled::table() {
  require(distances_.defined(), "attention: `", description(), "` of layer ", site().layer,
          " has no table: a model gives it that of layer 0");
  return norm_.is_empty() ? distances_ : norm_(distances_);
}

attention::RelativeCall Disentangled::call_of(const layers::Heads& heads, const TableHeads& table,
                                              const AttentionContext& context) const {
  std::int64_t farthest = heads.query.size(2) - 1;
  std::int64_t nearest = 1 - heads.key.size(2);
  if (reach_ >= 0) {
    farthest = std::min(farthest, reach_);
    nearest = std::max(nearest, -reach_);
  }
  const at::Tensor rows = rows_of_distances(
      at::arange(nearest, farthest + 1, at::TensorOptions(heads.key.device()).dtype(at::kLong)), terms_);
  const at::Tensor none = at::zeros({heads.query.size(1), heads.query.size(3)}, heads.query.options());
  const at::Tensor kept = attention::kept_keys(context, heads.key);
  attention::RelativeCall call{
      .query = attention::without_padding(heads.query, attention::kept_queries(context, heads.query)),
      .key = attention::without_padding(heads.key, kept),
      .value = attention::without_padding(heads.value, kept),
      .distances = table.keys.defined() ? table.keys.index_select(1, rows) : none.unsqueeze(1),
      .content_bias = none,
      .distance_bias = none,
      .keep = kept,
      .nearest = nearest,
      .causal = false};
  if (table.queries.defined()) {
    call.key_distances = table.queries.index_select(1, rows);
  }
  if (reach_ >= 0) {
    call.left = reach_;
    call.reaches.assign(static_cast<std::size_t>(site().heads), reach_);
    call.seen = concat("window(left=", reach_, ", right=", reach_, ")");
  }
  const attention::DropoutOfCall dropped = dropout_of(context);
  call.dropout = dropped.probability;
  call.seed = dropped.seed;
  return call;
}

at::Tensor Disentangled::attend(const layers::Heads& heads, const TableHeads& table, const AttentionContext& context) {
  const attention::RelativeCall call = call_of(heads, table, context);
  const at::Tensor keep = attention::kept_queries(context, heads.query);
  if (context.observer != nullptr && !terms_.asked_by_distances) {
    attention::MassCall shown = attention::mass_call_of(call);
    shown.query_keep = keep;
    attention::show_call(*this, context, std::move(shown));
  }
  return attention::without_padding(attention::relative_attention(call), keep);
}

/// A layer that projects the table.
class DisentangledSelfAttention : public layers::SelfAttentionImpl {
 public:
  DisentangledSelfAttention(const layers::BlockConfig& block, const DistanceTerms& terms,
                            std::shared_ptr<Disentangled> scores, const at::TensorOptions& options)
      : SelfAttentionImpl(block, scores, options), terms_(terms), scores_(std::move(scores)) {
    const std::int64_t columns = block.heads * block.head_dim();
    if (!terms.shared && terms.asked_of_distances) {
      distance_keys = register_module("distance_keys", layers::Linear(block.hidden_size, columns, true, options));
    }
    if (!terms.shared && terms.asked_by_distances) {
      distance_queries = register_module("distance_queries", layers::Linear(block.hidden_size, columns, true, options));
    }
  }

  layers::Linear distance_keys{nullptr};     ///< hidden -> heads * head_dim, of the table
  layers::Linear distance_queries{nullptr};  ///< the same

 protected:
  at::Tensor attend(const layers::Heads& heads, const at::Tensor& x, const layers::BlockContext& context) override;

 private:
  DistanceTerms terms_;
  std::shared_ptr<Disentangled> scores_;  // the mechanism, by its own type
};

at::Tensor DisentangledSelfAttention::attend(const layers::Heads& heads, const at::Tensor& /*x*/,
                                             const layers::BlockContext& context) {
  at::Tensor table = scores_->table();
  if (is_training()) {
    table = layers::seeded_dropout(table, config().position_dropout,
                                   layers::dropout_seed(context.attention.seed, config().layer, kTableSite));
  }
  const std::int64_t columns = config().heads * config().head_dim();
  const auto by_head = [&](const at::Tensor& rows) {
    return rows.view({rows.size(0), config().heads, config().head_dim()}).transpose(0, 1);
  };
  TableHeads made;
  if (terms_.asked_of_distances) {
    made.keys = by_head(terms_.shared ? qkv->rows(columns, columns)(table) : distance_keys(table));
  }
  if (terms_.asked_by_distances) {  // queries of the text have that factor already
    made.queries =
        by_head(terms_.shared ? qkv->rows(0, columns)(table) : distance_queries(table)) * config().score_factor;
  }
  return scores_->attend(heads, made, context.attention);
}

}  // namespace

double DistanceTerms::divisor() const {
  return std::sqrt(1.0 + (asked_of_distances ? 1.0 : 0.0) + (asked_by_distances ? 1.0 : 0.0));
}

at::Tensor rows_of_distances(const at::Tensor& distances, const DistanceTerms& terms) {
  at::Tensor places = distances;
  if (terms.buckets > 0) {
    const std::int64_t single = terms.buckets / 2;
    const at::Tensor away = distances.abs().clamp_min(single);
    // In float32, as released: a logarithm that is a whole number must not rise above it.
    const auto exact = at::TensorOptions(distances.device()).dtype(at::kFloat);
    const double range = static_cast<double>(terms.farthest - 1) / static_cast<double>(single);
    const at::Tensor growth =
        (away.to(at::kFloat) / static_cast<double>(single)).log() / at::full({1}, range, exact).log();
    const at::Tensor large = (growth * static_cast<double>(single - 1)).ceil().to(at::kLong) + single;
    places = at::where(distances.abs() <= single, distances, large * distances.sign());
  }
  return (places + terms.span).clamp(0, 2 * terms.span - 1);
}

std::optional<std::int64_t> reach_of_pattern(const std::string& attention) {
  constexpr std::string_view kBegin = "window(";
  const std::string text = attention::parse_mechanism(attention).description;
  if (text == "full") {
    return -1;
  }
  std::int64_t width = 0;
  const char* const end = text.data() + text.size();
  const bool is_window = text.starts_with(kBegin);
  const auto read = is_window ? std::from_chars(text.data() + kBegin.size(), end, width) : std::from_chars_result{};
  return is_window && read.ec == std::errc() && std::string_view(read.ptr, end) == ")" ? std::optional(width / 2)
                                                                                       : std::nullopt;
}

layers::SelfAttentionFactory disentangled_layer(const DistanceTerms& terms) {
  return [terms](const layers::BlockConfig& block, const at::TensorOptions& options) {
    auto scores = std::make_shared<Disentangled>(block, terms, options);
    return std::make_shared<DisentangledSelfAttention>(block, terms, std::move(scores), options);
  };
}

}  // namespace weft::models
