// SPDX-License-Identifier: Apache-2.0
// The mechanism behind every pattern expression: compiles the pattern for the lengths of a call and runs the operator.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "weft/attention/attention.h"
#include "weft/attention/mechanism.h"
#include "weft/attention/mechanisms/distance_biases.h"
#include "weft/attention/permuted/stride_parts.h"

namespace weft::attention {

/// The layout of `pattern` for a call at `site`, from the cache. `rows_differ`: the rows of the batch have positions
/// bound to `input` (rows of other lengths are seen here).
LayoutPtr layout_for_call(const pattern::Pattern& pattern, const MechanismSite& site, const at::Tensor& query,
                          const at::Tensor& key, const AttentionContext& context, bool rows_differ);

class PatternAttention : public AttentionImpl, public DistanceBiased {
 public:
  /// `spec` has a pattern.
  PatternAttention(MechanismSpec spec, const MechanismSite& site, const at::TensorOptions& options = {});

  at::Tensor forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const AttentionContext& context) override;

  void share(AttentionImpl& first) override { share_distances(*this, first); }
  std::vector<at::Tensor> shared_parameters() const override { return biases_.shared(); }

 private:
  /// What the call is with its strides in columns; null where it keeps the order of the text.
  std::shared_ptr<const StrideParts> strides_for(const at::Tensor& query, const at::Tensor& key,
                                                 const AttentionContext& context);
  at::Tensor in_columns(const StrideParts& strides, const at::Tensor& query, const at::Tensor& key,
                        const at::Tensor& value, const AttentionOptions& options) const;
  DistanceTable distances_for(const at::Tensor& query, const at::Tensor& key, const AttentionContext& context);

  std::mutex mutex_;
  std::int64_t strides_length_ = -1;  // the last length that strides_for() was asked for, and its answer
  std::shared_ptr<const StrideParts> strides_;
  // Of the biases, for all distances so far: a decoded token costs its edges, not a table of all keys.
  DistanceTable table_;
  std::int64_t table_version_ = -1;    // of the biases that it is of,
  const void* table_place_ = nullptr;  // and where these are
};

}  // namespace weft::attention
