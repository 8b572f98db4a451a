// SPDX-License-Identifier: Apache-2.0
// Documents and pairs: a unit is tokenised when it runs, so that shards and a resumed profile pass over the texts of
// others quickly. Rows of like lengths run together; padding is told to the model and does not count.
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "weft/core/system/option_name.h"
#include "weft/tasks/profile/profile_units.h"
#include "weft/tasks/sequences/taught_pair.h"
#include "weft/tasks/task_run.h"
#include "weft/tasks/window_input.h"

namespace weft::tasks {
namespace {

using Rows = std::vector<std::vector<std::int64_t>>;

void add_to_digest(formats::Sha256& digest, const std::vector<Document>& documents) {
  digest.add_number(documents.size());
  for (const Document& document : documents) {
    digest.add_number(document.first.size());
    digest.add(document.first);
    digest.add_number(document.second ? document.second->size() + 1 : 0);
    digest.add(document.second.value_or(""));
  }
}

// How a unit is cut and batched. Shards and runs that are resumed must agree on it: batches change the last bits.
void add_to_digest(formats::Sha256& digest, const DocumentUnitOptions& options,
                   std::initializer_list<std::int64_t> longest) {
  for (const std::int64_t number : longest) {
    digest.add_number(static_cast<std::uint64_t>(number));
  }
  digest.add_number((options.truncate ? 1U : 0U) + (options.questions ? 2U : 0U));
  for (const std::int64_t number :
       {options.batch.rows, options.batch.tokens, options.batch.pass, options.questions ? options.stride : 0}) {
    digest.add_number(static_cast<std::uint64_t>(number));
  }
}

// Rows of a batch [B, N], `padding` behind each.
at::Tensor padded(const Rows& rows, const std::vector<std::size_t>& batch, std::int64_t padding) {
  std::size_t longest = 0;
  for (const std::size_t row : batch) {
    longest = std::max(longest, rows[row].size());
  }
  at::Tensor result = at::full({std::ssize(batch), static_cast<std::int64_t>(longest)}, padding, at::kLong);
  for (std::int64_t row = 0; row < std::ssize(batch); ++row) {
    const auto& ids = rows[batch[static_cast<std::size_t>(row)]];
    std::copy(ids.begin(), ids.end(), result.data_ptr<std::int64_t>() + row * result.size(1));
  }
  return result;
}

// 1 at the tokens of such a batch.
at::Tensor mask_of(const Rows& rows, const std::vector<std::size_t>& batch) {
  Rows ones;
  for (const auto& row : rows) {
    ones.emplace_back(row.size(), 1);
  }
  return padded(ones, batch, 0);
}

class DocumentUnits final : public ProfileUnits {
 public:
  DocumentUnits(TaskModel model, NextDocuments next, const DocumentUnitOptions& options)
      : task_(std::move(model)), next_(std::move(next)), options_(options) {}

  bool next(formats::Sha256& digest) override {
    documents_ = next_();
    if (documents_.empty()) {
      return false;
    }
    add_to_digest(digest, options_, {task_.maximum});
    add_to_digest(digest, documents_);
    return true;
  }

  UnitCounts run() override {
    std::vector<text::Encoding> windows;
    std::vector<std::int64_t> lengths;
    UnitCounts counts{std::ssize(documents_), 0};
    for (const Document& document : documents_) {
      for (text::Encoding& window : encode_document(*task_.tokenizer, document, rule_of(document)).windows) {
        take_note(task_, window, document.name);
        lengths.push_back(std::ssize(window.ids));
        counts.tokens += lengths.back();
        windows.push_back(std::move(window));
      }
    }
    for (const std::vector<std::size_t>& batch : batches_by_length(lengths, options_.batch)) {
      std::vector<const text::Encoding*> rows;
      rows.reserve(batch.size());
      for (const std::size_t window : batch) {
        rows.push_back(&windows[window]);
      }
      task_.model->hidden_states(windows_alone(task_, rows));
    }
    return counts;
  }

 private:
  LengthRule rule_of(const Document& document) const {
    if (options_.questions && document.second) {
      return windowed_texts(task_, {.truncate = options_.truncate, .stride = options_.stride},
                            text::Truncation::kOnlySecond);
    }
    LengthRule rule;
    rule.maximum = task_.maximum;
    rule.overflow = !document.second ? Overflow::kWindows : options_.truncate ? Overflow::kTruncate : Overflow::kError;
    rule.model = task_.name;
    return rule;
  }

  TaskModel task_;
  NextDocuments next_;
  DocumentUnitOptions options_;
  std::vector<Document> documents_;
};

class PairUnits final : public ProfileUnits {
 public:
  PairUnits(SequenceModel texts, models::EncoderDecoder model, std::int64_t start, NextDocuments next,
            const DocumentUnitOptions& options)
      : texts_(std::move(texts)), model_(std::move(model)), start_(start), next_(std::move(next)), options_(options) {}

  bool next(formats::Sha256& digest) override {
    pairs_ = next_();
    if (pairs_.empty()) {
      return false;
    }
    add_to_digest(digest, options_, {texts_.longest, model_->config().max_target_positions, start_});
    add_to_digest(digest, pairs_);
    return true;
  }

  UnitCounts run() override {
    const models::EncoderDecoderConfig& config = model_->config();
    Rows sources;
    Rows targets;
    std::vector<std::int64_t> lengths;
    UnitCounts counts{std::ssize(pairs_), 0};
    for (const Document& document : pairs_) {
      TaughtPair pair = taught_pair(texts_, config, document,
                                    {start_, options_.truncate, concat(option("truncate"), " cuts such texts")});
      lengths.push_back(std::max(std::ssize(pair.source), std::ssize(pair.target)));
      counts.tokens += std::ssize(pair.source) + std::ssize(pair.target);
      sources.push_back(std::move(pair.source));
      targets.push_back(std::move(pair.target));
    }
    const std::int64_t padding = std::max<std::int64_t>(0, config.pad_token_id);
    for (const std::vector<std::size_t>& batch : batches_by_length(lengths, options_.batch)) {
      models::SequencePair pair;
      pair.input_ids = padded(sources, batch, padding);
      pair.attention_mask = mask_of(sources, batch);
      pair.decoder_input_ids = padded(targets, batch, padding);
      pair.decoder_attention_mask = mask_of(targets, batch);
      model_->hidden_states(pair);
    }
    return counts;
  }

 private:
  SequenceModel texts_;
  models::EncoderDecoder model_;
  std::int64_t start_;
  NextDocuments next_;
  DocumentUnitOptions options_;
  std::vector<Document> pairs_;
};

}  // namespace

std::unique_ptr<ProfileUnits> document_units(TaskModel model, NextDocuments next, const DocumentUnitOptions& options) {
  return std::make_unique<DocumentUnits>(std::move(model), std::move(next), options);
}

std::unique_ptr<ProfileUnits> pair_units(SequenceModel texts, models::EncoderDecoder model, std::int64_t start,
                                         NextDocuments next, const DocumentUnitOptions& options) {
  return std::make_unique<PairUnits>(std::move(texts), std::move(model), start, std::move(next), options);
}

}  // namespace weft::tasks
