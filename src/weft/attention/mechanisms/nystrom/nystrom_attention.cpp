// SPDX-License-Identifier: Apache-2.0
// Landmarks as products with a matrix of zeros and ones, and the iterated inverse.
#include "weft/attention/mechanisms/nystrom/nystrom_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
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
#include "weft/attention/mechanisms/nystrom/token_convolution.h"
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

// Four products [N, D] x [D, l] and the convolution; the inverse has four products [l, l] x [l, l] an iteration. A text
// of at most l tokens has the products of softmax attention instead.
double nystrom_operations(const NystromSettings& settings, const MechanismSite& site, std::int64_t length) {
  const auto width = static_cast<double>(site.head_dim);
  const auto landmarks = static_cast<double>(settings.landmarks);
  const auto tokens = static_cast<double>(length);
  if (settings.landmarks == 0 || length <= settings.landmarks) {
    return tokens * width * (4 * tokens + 2 * static_cast<double>(settings.convolution));
  }
  return tokens * width * (8 * landmarks + 2 * static_cast<double>(settings.convolution)) +
         static_cast<double>(settings.iterations) * 8 * landmarks * landmarks * landmarks;
}

/// Which tokens each landmark is the mean of.
struct Stretches {
  at::Tensor means;    ///< [B or 1, l, N]: products with it are means, zeros where a landmark has no token
  at::Tensor present;  ///< bool [B, l]: landmarks with a token; undefined: all
  at::Tensor few;      ///< bool [B, 1, 1, 1]: not more tokens than landmarks; undefined: no row has so few
};

/// keep bool [B, N], or undefined: all, which are more than the landmarks. Of n kept tokens the r-th belongs to stretch
/// floor(r l / n), or to its own one where there are at most l.
Stretches stretches_of(const at::Tensor& keep, const at::Tensor& like, std::int64_t landmarks) {
  const std::int64_t length = like.size(2);
  const at::Tensor kept = keep.defined() ? keep : at::ones({1, length}, like.options().dtype(at::kBool));
  const at::Tensor count = kept.sum(-1, true);  // [B, 1]
  const at::Tensor rank = kept.cumsum(-1) - 1;  // [B, N]
  const at::Tensor stretch = (rank * landmarks).floor_divide(count.clamp_min(landmarks));
  const at::Tensor numbers = at::arange(landmarks, count.options());
  const at::Tensor members = (stretch.unsqueeze(1) == numbers.unsqueeze(-1)) & kept.unsqueeze(1);  // [B, l, N]
  const at::Tensor sizes = members.sum(-1, true);                                                  // [B, l, 1]
  const at::Tensor means = members.to(like.scalar_type()) / sizes.clamp_min(1);
  if (!keep.defined()) {
    return {means, {}, {}};
  }
  return {means, sizes.squeeze(-1) > 0, (count <= landmarks).unsqueeze(-1).unsqueeze(-1)};
}

/// means [B or 1, l, N], x [B, H, N, D] -> [B, H, l, D]: one product for all heads, whose columns are side by side.
at::Tensor means_of(const at::Tensor& means, const at::Tensor& x) {
  return at::matmul(means, x.transpose(1, 2).flatten(2)).unflatten(-1, {x.size(1), x.size(3)}).transpose(1, 2);
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
  spec.has_probabilities = false;
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
  spec.limits.distances = "it computes no scores that the distance could lower";
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
  const auto clean = [&](const at::Tensor& tensor, const at::Tensor& kept) {
    return repeat_key_heads(without_padding(tensor, kept), site().heads);
  };
  const at::Tensor queries = clean(query, keep_queries);
  const at::Tensor keys = clean(key, keep);
  const at::Tensor values = clean(value, keep);
  // A text of at most as many tokens as landmarks is its own landmarks.
  const bool sees_pairs = landmarks_ == 0 || query.size(2) <= landmarks_;
  at::Tensor output = sees_pairs ? softmax_of_pairs(queries, keys, values, keep).to(type)
                                 : through_landmarks(queries.to(type), keys.to(type), values.to(type), keep);
  if (convolution_.defined()) {
    output = add_convolution(output, values.to(type), convolution_.to(type));
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

at::Tensor NystromAttention::through_landmarks(const at::Tensor& queries, const at::Tensor& keys,
                                               const at::Tensor& values, const at::Tensor& keep) const {
  const Stretches stretches = stretches_of(keep, queries, landmarks_);
  const at::Tensor query_marks = means_of(stretches.means, without_padding(queries, keep));  // [B, H, l, D]
  const at::Tensor key_marks = means_of(stretches.means, keys);
  const double scale = 1 / std::sqrt(static_cast<double>(queries.size(3)));
  const at::Tensor scores = at::matmul(query_marks * scale, key_marks.transpose(-2, -1));
  const at::Tensor seen = softmax_of_pairs(query_marks, keys, values, keep);
  at::Tensor middle = at::softmax(scores, -1);
  if (stretches.few.defined()) {
    middle = middle.masked_fill(stretches.few, 0.0);
  }
  at::Tensor mixed = at::matmul(inverse(middle), seen);
  if (stretches.few.defined()) {
    // Where each token is a landmark, the value of a landmark is that of its token, and no inverse is needed.
    mixed = at::where(stretches.few, means_of(stretches.means, values), mixed);
  }
  return softmax_of_pairs(queries, key_marks, mixed, stretches.present);
}

}  // namespace weft::attention
