// SPDX-License-Identifier: Apache-2.0
// The mechanism behind every pattern expression: compiles the pattern for the lengths of a call and runs the operator.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "weft/attention/attention.h"
#include "weft/attention/mechanism.h"
#include "weft/attention/mechanisms/alibi.h"
#include "weft/attention/permuted/stride_parts.h"

namespace weft::attention {

/// The layout of `pattern` for a call at `site`, from the cache. `rows_differ`: the rows of the batch have positions
/// bound to `input` (rows of other lengths are seen here).
LayoutPtr layout_for_call(const pattern::Pattern& pattern, const MechanismSite& site, const at::Tensor& query,
                          const at::Tensor& key, const AttentionContext& context, bool rows_differ);

class PatternAttention : public AttentionImpl {
 public:
  /// `spec` has a pattern.
  PatternAttention(MechanismSpec spec, const MechanismSite& site, const at::TensorOptions& options = {});

  at::Tensor forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const AttentionContext& context) override;

 private:
  /// What the call is with its strides in columns; null where it keeps the order of the text.
  std::shared_ptr<const StrideParts> strides_for(const at::Tensor& query, const at::Tensor& key,
                                                 const AttentionContext& context);
  at::Tensor in_columns(const StrideParts& strides, const at::Tensor& query, const at::Tensor& key,
                        const at::Tensor& value, const AttentionOptions& options) const;
  DistanceTable alibi_for(const at::Tensor& query, const at::Tensor& key, const AttentionContext& context);

  AlibiSlopes slopes_;
  std::mutex mutex_;
  std::int64_t strides_length_ = -1;  // the last length that strides_for() was asked for, and its answer
  std::shared_ptr<const StrideParts> strides_;
  DistanceTable
      alibi_;  // of slopes_, for all distances so far: a decoded token costs its edges, not a table of all keys
  std::int64_t alibi_version_ = -1;     // of the slopes that it is of,
  const void* alibi_slopes_ = nullptr;  // and where these lie
};

}  // namespace weft::attention
