// SPDX-License-Identifier: Apache-2.0
// Landmarks as products with a matrix of zeros and ones, and the iterated inverse.
#include "weft/attention/mechanisms/nystrom/nystrom_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cmath>
#include <utility>

#include "weft/attention/attention.h"
#include "weft/attention/mechanisms/pattern_attention.h"
#include "weft/attention/mechanisms/row_lengths.h"
#include "weft/attention/mechanisms/settings.h"
#include "weft/attention/operator/checks.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

constexpr std::int64_t kMostLandmarks = 4096;
constexpr std::int64_t kDefaultLandmarks = 64;
constexpr std::int64_t kMostIterations = 64;
constexpr std::int64_t kDefaultIterations = 6;
constexpr std::int64_t kLongestConvolution = 1023;
constexpr std::int64_t kDefaultConvolution = 65;
constexpr double kConvolutionRange = 0.02;  // as released
constexpr double kHidden = -1e30;           // finite: a row that sees no landmark has no NaN to hide

struct NystromSettings {
  std::int64_t landmarks;
  std::int64_t iterations;
  std::int64_t convolution;
  InverseGuess guess;
};

InverseGuess guess_of(const std::string& word) {
  return word == "exact" ? InverseGuess::kHead : word == "text" ? InverseGuess::kText : InverseGuess::kBatch;
}

std::string guess_text(InverseGuess guess) {
  return guess == InverseGuess::kHead ? "" : guess == InverseGuess::kText ? ", init=text" : ", init=released";
}

NystromSettings nystrom_settings(const std::string& expression) {
  MechanismSettings given(expression, "nystrom");
  const NystromSettings settings{given.number("landmarks", kDefaultLandmarks, 0, kMostLandmarks),
                                 given.number("iterations", kDefaultIterations, 1, kMostIterations),
                                 given.number("conv", kDefaultConvolution, 0, kLongestConvolution),
                                 guess_of(given.word("init", {"exact", "text", "released"}))};
  given.check_all_taken({"landmarks", "init", "iterations", "conv"});
  if (settings.convolution > 0 && settings.convolution % 2 == 0) {
    fail(ErrorKind::kExpression,
         "attention: conv of `nystrom` has a middle row, so that it must be odd, or 0 for none, found ",
         settings.convolution);
  }
  return settings;
}

std::string nystrom_text(const NystromSettings& settings) {
  return concat("nystrom(landmarks=", settings.landmarks, guess_text(settings.guess),
                ", iterations=", settings.iterations, ", conv=", settings.convolution, ")");
}

// Four products [N, D] x [D, l] and the convolution; the inverse has four products [l, l] x [l, l] an iteration.
double nystrom_operations(const NystromSettings& settings, const MechanismSite& site, std::int64_t length) {
  const auto width = static_cast<double>(site.head_dim);
  const auto landmarks = static_cast<double>(settings.landmarks);
  const auto tokens = static_cast<double>(length);
  if (settings.landmarks == 0) {
    return tokens * width * (4 * tokens + 2 * static_cast<double>(settings.convolution));
  }
  return tokens * width * (8 * landmarks + 2 * static_cast<double>(settings.convolution)) +
         static_cast<double>(settings.iterations) * 8 * landmarks * landmarks * landmarks;
}

/// Which tokens each landmark is the mean of.
struct Stretches {
  at::Tensor means;   ///< [B or 1, 1, l, N]: products with it are means, zeros where a landmark has no token
  at::Tensor absent;  ///< bool [B or 1, 1, 1, l]: landmarks without a token
  at::Tensor few;     ///< bool [B or 1, 1, 1, 1]: not more tokens than landmarks
};

/// keep bool [B, N], or undefined: all. Of n kept tokens the r-th belongs to stretch floor(r l / n), or to its own one
/// where there are at most l.
Stretches stretches_of(const at::Tensor& keep, const at::Tensor& like, std::int64_t landmarks) {
  const std::int64_t length = like.size(2);
  const at::Tensor kept = keep.defined() ? keep : at::ones({1, length}, like.options().dtype(at::kBool));
  const at::Tensor count = kept.sum(-1, true);  // [B, 1]
  const at::Tensor rank = kept.cumsum(-1) - 1;  // [B, N]
  const at::Tensor stretch = (rank * landmarks).floor_divide(count.clamp_min(landmarks));
  const at::Tensor numbers = at::arange(landmarks, count.options());
  const at::Tensor members = (stretch.unsqueeze(1) == numbers.unsqueeze(-1)) & kept.unsqueeze(1);  // [B, l, N]
  const at::Tensor sizes = members.sum(-1, true);                                                  // [B, l, 1]
  return {(members.to(like.scalar_type()) / sizes.clamp_min(1)).unsqueeze(1), (sizes == 0).transpose(1, 2).unsqueeze(1),
          (count <= landmarks).unsqueeze(-1).unsqueeze(-1)};
}

/// softmax over the last dimension of query key^T, without what `hidden` marks.
at::Tensor mark_weights(const at::Tensor& query, const at::Tensor& key, const at::Tensor& hidden) {
  const at::Tensor scores = at::matmul(query, key.transpose(-2, -1));
  return at::softmax(hidden.defined() ? scores.masked_fill(hidden, kHidden) : scores, -1);
}

/// Column sums [B, H, l] -> what the first guess is divided by, of a shape that goes with [B, H, l, l].
at::Tensor largest_sums(const at::Tensor& columns, InverseGuess guess) {
  switch (guess) {
    case InverseGuess::kHead:
      return columns.amax(-1).unsqueeze(-1).unsqueeze(-1);
    case InverseGuess::kText:
      return columns.amax({1, 2}, true).unsqueeze(-1);
    default:
      return columns.max();
  }
}

}  // namespace

MechanismSpec parse_nystrom(const std::string& expression) {
  const NystromSettings settings = nystrom_settings(expression);
  MechanismSpec spec;
  spec.name = "nystrom";
  spec.description = nystrom_text(settings);
  if (settings.convolution > 0) {
    spec.parameters = {"convolution"};
  }
  const bool has_landmarks = settings.landmarks > 0;
  spec.limits.causal = has_landmarks
                           ? "its landmarks are means over the whole text, so that later tokens reach earlier ones"
                           : "its convolution sees tokens on both sides";
  spec.limits.incremental =
      has_landmarks ? "its landmarks move with every token" : "its convolution sees tokens that come later";
  spec.limits.cross =
      has_landmarks ? "its landmarks are stretches of one text" : "its convolution is over the tokens of one text";
  spec.limits.alibi = "it computes no scores that the distance could lower";
  spec.operations = [settings](const MechanismSite& site, std::int64_t length) {
    return nystrom_operations(settings, site, length);
  };
  return spec;
}

NystromAttention::NystromAttention(MechanismSpec spec, const MechanismSite& site, const at::TensorOptions& options)
    : AttentionImpl(std::move(spec), site) {
  const NystromSettings settings = nystrom_settings(this->spec().description);
  landmarks_ = settings.landmarks;
  iterations_ = settings.iterations;
  guess_ = settings.guess;
  if (settings.convolution > 0) {
    const at::NoGradGuard without_gradients;
    convolution_ = register_parameter("convolution", at::empty({site.heads, settings.convolution}, options));
    convolution_.normal_(0.0, kConvolutionRange);
  }
}

at::Tensor NystromAttention::inverse(const at::Tensor& matrix) const {
  const at::Tensor columns = matrix.sum(-2);  // [B, H, l]
  const at::Tensor largest = largest_sums(columns, guess_);
  const at::Tensor identity = at::eye(matrix.size(-1), matrix.options().requires_grad(false));
  // Rows of the matrix sum to 1, and so the largest column sum is at least 1 wherever the matrix is not left out.
  at::Tensor guess = matrix.transpose(-2, -1) / largest.clamp_min(0.5);
  for (std::int64_t i = 0; i < iterations_; ++i) {
    const at::Tensor product = at::matmul(matrix, guess);
    const at::Tensor inner = 15 * identity - at::matmul(product, 7 * identity - product);
    guess = at::matmul(0.25 * guess, 13 * identity - at::matmul(product, inner));
  }
  return guess;
}

at::Tensor NystromAttention::forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                     const AttentionContext& context) {
  check_tensors(query, key, value, context.key_keep);
  require(query.size(2) == key.size(2) && query.size(1) == site().heads, "attention: `", description(),
          "` takes queries and keys of the same text for ", site().heads, " heads, found queries ", query.sizes(),
          " and keys ", key.sizes());
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
  const at::ScalarType type = accumulation_type(query);
  const at::Tensor keep = kept_keys(context, key);
  const at::Tensor keep_queries = kept_queries(context, query);
  const auto wide = [&](const at::Tensor& tensor, const at::Tensor& kept) {
    return repeat_key_heads(without_padding(tensor, kept).to(type), site().heads);
  };
  const at::Tensor values = wide(value, keep);
  at::Tensor output = landmarks_ == 0 ? softmax_of_pairs(wide(query, keep_queries), wide(key, keep), values, keep)
                                      : through_landmarks(wide(query, keep_queries), wide(key, keep), values, keep);
  if (convolution_.defined()) {
    const at::Tensor rows = convolution_.to(type).unsqueeze(1).unsqueeze(-1);  // [H, 1, conv, 1]
    output = output + at::conv2d(values, rows, {}, {1, 1}, {rows.size(2) / 2, 0}, {1, 1}, site().heads);
  }
  return without_padding(output, keep_queries).to(query.scalar_type());
}

at::Tensor NystromAttention::softmax_of_pairs(const at::Tensor& queries, const at::Tensor& keys,
                                              const at::Tensor& values, const at::Tensor& keep) const {
  static const pattern::Pattern pairs = pattern::Pattern::parse("full");
  AttentionOptions options;
  options.key_keep = keep;
  return attention(queries, keys, values, layout_for_call(pairs, site(), queries, keys, {}, false), options).output;
}

at::Tensor NystromAttention::through_landmarks(const at::Tensor& query, const at::Tensor& key, const at::Tensor& values,
                                               const at::Tensor& keep) const {
  const double scale = std::pow(static_cast<double>(query.size(3)), -0.25);
  const at::Tensor queries = query * scale;
  const at::Tensor keys = key * scale;
  const Stretches stretches = stretches_of(keep, queries, landmarks_);
  const at::Tensor query_marks = at::matmul(stretches.means, without_padding(queries, keep));  // [B, H, l, D]
  const at::Tensor key_marks = at::matmul(stretches.means, keys);
  const at::Tensor hidden = keep.defined() ? keep.logical_not().unsqueeze(1).unsqueeze(1) : keep;
  // Where each token is a landmark, the value of a landmark is that of its token, and no inverse is needed.
  const at::Tensor middle = mark_weights(query_marks, key_marks, stretches.absent).masked_fill(stretches.few, 0.0);
  const at::Tensor mixed =
      at::where(stretches.few, at::matmul(stretches.means, values),
                at::matmul(inverse(middle), at::matmul(mark_weights(query_marks, keys, hidden), values)));
  return at::matmul(mark_weights(queries, key_marks, stretches.absent), mixed);
}

}  // namespace weft::attention
