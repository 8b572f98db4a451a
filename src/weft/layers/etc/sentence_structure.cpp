// SPDX-License-Identifier: Apache-2.0
// One walk over the ids of each row.
#include "weft/layers/etc/sentence_structure.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/matmul.h>

#include <algorithm>
#include <iterator>

#include "weft/attention/accumulation.h"
#include "weft/core/error.h"

namespace weft::layers {
namespace {

bool contains(const std::vector<std::int64_t>& ids, std::int64_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

/// A walk over the tokens of one row.
class Walk {
 public:
  explicit Walk(const SentenceRule& rule) : rule_(rule) {}

  struct Place {
    std::int64_t sentence;
    std::int64_t paragraph;  ///< -1: there are none
  };

  /// The place of the next token.
  Place place_of(std::int64_t id) {
    const bool ends_paragraph = contains(rule_.paragraph_ends, id);
    const bool ends = ends_paragraph || contains(rule_.ends, id);
    const bool goes_on = tokens_ > 0 || (ends && ended_by_mark_);  // "?!" and ". [SEP]" are one end
    if (!goes_on) {
      begin(paragraph_is_over_ || ids_.empty());
    }
    ++tokens_;
    const Place place{sentence_, paragraph_};
    paragraph_is_over_ = ends_paragraph || (paragraph_is_over_ && goes_on);
    ended_by_mark_ = ends;
    tokens_ = ends || tokens_ == rule_.longest ? 0 : tokens_;
    return place;
  }

  /// What the global tokens of the row stand for.
  const std::vector<GlobalToken>& ids() const { return ids_; }

 private:
  void begin(bool of_paragraph) {
    const bool with_paragraph = of_paragraph && !rule_.paragraph_ends.empty();
    const auto more = static_cast<std::int64_t>(with_paragraph ? 2 : 1);
    if (rule_.room > 0 && !ids_.empty() && std::ssize(ids_) + more > rule_.room) {
      return;
    }
    if (with_paragraph) {
      paragraph_ = std::ssize(ids_);
      ids_.push_back(GlobalToken::kParagraph);
    }
    sentence_ = std::ssize(ids_);
    ids_.push_back(GlobalToken::kSentence);
  }

  const SentenceRule& rule_;
  std::vector<GlobalToken> ids_;
  std::int64_t sentence_ = -1;
  std::int64_t paragraph_ = -1;
  std::int64_t tokens_ = 0;  // of the sentence that is open; 0: none is
  bool ended_by_mark_ = false;
  bool paragraph_is_over_ = false;
};

void check_text(const at::Tensor& ids, const at::Tensor& keep) {
  require(ids.dim() == 2 && ids.scalar_type() == at::kLong,
          "sentences are numbered in ids int64 [batch, tokens], found ", ids.scalar_type(), ' ', ids.sizes());
  require(!keep.defined() || (keep.scalar_type() == at::kBool && keep.sizes() == ids.sizes()),
          "sentences take a mask bool ", ids.sizes(), ", found ", keep.defined() ? keep.scalar_type() : at::kBool, ' ',
          keep.defined() ? keep.sizes() : ids.sizes());
}

/// One row, as [tokens] of ids, of a mask or nothing, and of what is written.
struct Row {
  at::Tensor ids;
  at::Tensor keep;
  at::Tensor sentence;
  at::Tensor paragraph;
};

std::vector<GlobalToken> walk_row(const Row& row, const SentenceRule& rule) {
  Walk walk(rule);
  const auto* const ids = row.ids.const_data_ptr<std::int64_t>();
  const bool* const keep = row.keep.defined() ? row.keep.const_data_ptr<bool>() : nullptr;
  for (std::int64_t i = 0; i < row.ids.size(0); ++i) {
    if (keep == nullptr || keep[i]) {
      const Walk::Place place = walk.place_of(ids[i]);
      row.sentence.mutable_data_ptr<std::int64_t>()[i] = place.sentence;
      row.paragraph.mutable_data_ptr<std::int64_t>()[i] = place.paragraph;
    }
  }
  return walk.ids();
}

/// int64 [B, G], padding behind the ids of a row.
at::Tensor padded_ids(const std::vector<std::vector<GlobalToken>>& rows) {
  std::size_t most = 1;
  for (const auto& row : rows) {
    most = std::max(most, row.size());
  }
  const auto sizes = {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(most)};
  at::Tensor ids =
      at::full(sizes, static_cast<std::int64_t>(GlobalToken::kPadding), at::TensorOptions().dtype(at::kLong));
  auto* out = ids.mutable_data_ptr<std::int64_t>();
  for (const auto& row : rows) {
    std::transform(row.begin(), row.end(), out, [](GlobalToken token) { return static_cast<std::int64_t>(token); });
    out += most;
  }
  return ids;
}

}  // namespace

TextStructure text_structure(const at::Tensor& ids, const at::Tensor& keep, const SentenceRule& rule) {
  check_text(ids, keep);
  const at::Tensor plain = ids.cpu().contiguous();
  const at::Tensor kept = keep.defined() ? keep.cpu().contiguous() : keep;
  const at::Tensor sentence = at::full(ids.sizes(), -1, at::TensorOptions().dtype(at::kLong));
  const at::Tensor paragraph = sentence.clone();
  std::vector<std::vector<GlobalToken>> globals;
  for (std::int64_t row = 0; row < ids.size(0); ++row) {
    globals.push_back(
        walk_row({plain[row], kept.defined() ? kept[row] : at::Tensor(), sentence[row], paragraph[row]}, rule));
    require(rule.most == 0 || std::ssize(globals.back()) <= rule.most, "row ", row, " has ", globals.back().size(),
            " sentences, but at most ", rule.most, " global tokens are there");
  }
  TextStructure found;
  found.global_ids = padded_ids(globals).to(ids.device());
  found.structure.sentence = sentence.to(ids.device());
  found.structure.paragraph = rule.paragraph_ends.empty() ? at::Tensor() : paragraph.to(ids.device());
  found.structure.keep = keep;
  found.structure.global_keep = found.global_ids != static_cast<std::int64_t>(GlobalToken::kPadding);
  return found;
}

EtcStructure sentence_structure(const at::Tensor& ids, const at::Tensor& keep, const SentenceRule& rule) {
  return text_structure(ids, keep, rule).structure;
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
    return attention::at_least_float(all.flatten(0, 1).index_select(0, rows));
  };
  return -at::log_softmax(at::matmul(of(predicted), of(seen).t()), -1).diagonal().mean();
}

}  // namespace weft::layers
