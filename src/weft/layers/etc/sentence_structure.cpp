// SPDX-License-Identifier: Apache-2.0
// One walk over the ids of each row.
#include "weft/layers/etc/sentence_structure.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/tensor.h>

#include <algorithm>

#include "weft/core/error.h"

namespace weft::layers {
namespace {

/// Writes the sentence of each token of one row; the number of sentences.
std::int64_t number_sentences(const std::int64_t* ids, const bool* keep, std::int64_t tokens, const SentenceRule& rule,
                              std::int64_t* sentence) {
  std::int64_t count = 0;
  std::int64_t length = 0;  // of the sentence that is open
  for (std::int64_t i = 0; i < tokens; ++i) {
    if (keep != nullptr && !keep[i]) {
      continue;
    }
    count += length == 0 ? 1 : 0;
    sentence[i] = count - 1;
    ++length;
    const bool ends = std::find(rule.ends.begin(), rule.ends.end(), ids[i]) != rule.ends.end();
    length = ends || length == rule.longest ? 0 : length;
  }
  return count;
}

}  // namespace

GlobalLocalStructure sentence_structure(const at::Tensor& ids, const at::Tensor& keep, const SentenceRule& rule) {
  require(ids.dim() == 2 && ids.scalar_type() == at::kLong,
          "sentences are numbered in ids int64 [batch, tokens], found ", ids.scalar_type(), ' ', ids.sizes());
  require(!keep.defined() || (keep.scalar_type() == at::kBool && keep.sizes() == ids.sizes()),
          "sentences take a mask bool ", ids.sizes(), ", found ", keep.defined() ? keep.scalar_type() : at::kBool, ' ',
          keep.defined() ? keep.sizes() : ids.sizes());
  const at::Tensor plain = ids.cpu().contiguous();
  const at::Tensor kept = keep.defined() ? keep.cpu().contiguous() : keep;
  at::Tensor sentence = at::full(ids.sizes(), -1, at::TensorOptions().dtype(at::kLong));
  const std::int64_t tokens = ids.size(1);
  std::vector<std::int64_t> counts;
  for (std::int64_t row = 0; row < ids.size(0); ++row) {
    counts.push_back(number_sentences(plain.data_ptr<std::int64_t>() + row * tokens,
                                      kept.defined() ? kept.data_ptr<bool>() + row * tokens : nullptr, tokens, rule,
                                      sentence.data_ptr<std::int64_t>() + row * tokens));
    require(rule.most == 0 || counts.back() <= rule.most, "row ", row, " has ", counts.back(),
            " sentences, but at most ", rule.most, " global tokens are there");
  }
  const std::int64_t globals =
      counts.empty() ? 1 : std::max<std::int64_t>(1, *std::max_element(counts.begin(), counts.end()));
  GlobalLocalStructure structure;
  structure.sentence = sentence.to(ids.device());
  structure.keep = keep;
  structure.global_keep =
      (at::arange(globals).unsqueeze(0) < at::tensor(counts, at::kLong).unsqueeze(1)).to(ids.device());
  return structure;
}

at::Tensor hide_sentences(const at::Tensor& ids, const at::Tensor& sentence, const at::Tensor& chosen,
                          std::int64_t mask_id) {
  require(ids.dim() == 2 && sentence.sizes() == ids.sizes() && chosen.dim() == 2 && chosen.size(0) == ids.size(0) &&
              chosen.scalar_type() == at::kBool,
          "sentences are hidden in ids [batch, tokens] of numbers of the same shape, chosen by a mask bool [batch, "
          "sentences], found ",
          ids.sizes(), ", ", sentence.sizes(), " and ", chosen.sizes());
  const at::Tensor hidden = at::gather(chosen, 1, sentence.clamp_min(0)).logical_and(sentence >= 0);
  return ids.masked_fill(hidden, mask_id);
}

at::Tensor contrastive_loss(const at::Tensor& predicted, const at::Tensor& seen, const at::Tensor& chosen) {
  require(predicted.dim() == 3 && predicted.sizes() == seen.sizes() && chosen.scalar_type() == at::kBool &&
              chosen.sizes() == predicted.sizes().slice(0, 2),
          "the contrastive loss compares rows [batch, globals, hidden], chosen by a mask bool [batch, globals], found ",
          predicted.sizes(), ", ", seen.sizes(), " and ", chosen.sizes());
  const at::Tensor rows = chosen.flatten().nonzero().squeeze(1);
  if (rows.numel() == 0) {
    return predicted.sum() * 0.0;
  }
  const auto of = [&](const at::Tensor& all) {
    const at::ScalarType type = all.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    return all.flatten(0, 1).index_select(0, rows).to(type);
  };
  return -at::log_softmax(at::matmul(of(predicted), of(seen).t()), -1).diagonal().mean();
}

}  // namespace weft::layers
