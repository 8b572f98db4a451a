// SPDX-License-Identifier: Apache-2.0
// Texts of a batch are told apart by 64 bits each: of a million texts two are taken for one with a chance of 3 in 100
// million, which would leave out one negative.
#include "weft/fine_tuning/retrieval/embed_objective.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/core/system/option_name.h"
#include "weft/fine_tuning/label_logits.h"
#include "weft/fine_tuning/retrieval/losses.h"
#include "weft/fine_tuning/review.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

std::uint64_t key_of(const std::string& text) {
  std::uint64_t key = text.size();
  for (std::size_t begin = 0; begin < text.size(); begin += 16) {
    std::uint64_t words[2] = {0, 0};
    std::memcpy(words, text.data() + begin, std::min<std::size_t>(16, text.size() - begin));
    key = random_bits(key, words[0], words[1]);
  }
  return key;
}

at::Tensor selected(const at::Tensor& rows, std::span<const std::int64_t> numbers) {
  return rows.index_select(0, at::tensor(std::vector<std::int64_t>(numbers.begin(), numbers.end()), at::kLong));
}

}  // namespace

EmbedObjective::EmbedObjective(Setup given)
    : Objective(std::move(given), models::Head::kNone),
      modules_(setup().directory, setup().config.output_size(), setup().retrieval) {
  require(setup().task.class_weights.empty(), "class_weights are for tasks with labels; embed has none");
  const std::string& loss = setup().retrieval.loss;
  loss_ = loss == "in-batch" ? Loss::kInBatch
          : loss == "cosine" ? Loss::kCosine
          : loss == "cosent" ? Loss::kCosent
                             : Loss::kUnknown;
}

std::vector<std::pair<std::string, std::string>> EmbedObjective::remarks() const {
  const RetrievalConfig& config = setup().retrieval;
  std::vector<std::pair<std::string, std::string>> remarks = {{"vectors", modules_.text()}};
  if (loss_ == Loss::kInBatch) {
    remarks.emplace_back("loss", concat("in-batch negatives, ", config.symmetric ? "symmetric, " : "", "scale ",
                                        config.similarity_scale));
  } else {
    const std::string divided =
        setup().data.score_max == 1.0 ? "" : concat(", scores divided by ", setup().data.score_max);
    remarks.emplace_back("loss", loss_ == Loss::kCosine
                                     ? concat("squared error of cosines", divided)
                                     : concat("order of cosines (CoSENT), scale ", config.similarity_scale, divided));
  }
  for (const auto& [name, prompt] :
       {std::pair{"query prompt", &modules_.query_prompt()}, {"document prompt", &modules_.document_prompt()}}) {
    if (!prompt->empty()) {
      remarks.emplace_back(name, *prompt);
    }
  }
  return remarks;
}

models::EncoderOutput EmbedObjective::run(models::EncoderModelImpl& model, const models::EncoderInput& input) const {
  models::EncoderOutput output;
  output.logits = modules_.vectors(model, input);
  return output;
}

Objective::RowRange EmbedObjective::row_range(Split split, std::int64_t example) const {
  if (split == Split::kHeldOut) {
    return {example, example + 1};
  }
  const auto number = static_cast<std::size_t>(example);
  return {begins_.at(number), begins_.at(number + 1)};
}

std::int64_t EmbedObjective::examples(Split split) const {
  return split == Split::kHeldOut ? rows(split).size() : std::ssize(begins_) - 1;
}

// What the first record is decides what all are.
void EmbedObjective::settle_loss(const TextGroup& group) {
  if (loss_ == Loss::kUnknown) {
    loss_ = group.score ? Loss::kCosine : Loss::kInBatch;
  }
  if (group.score && loss_ == Loss::kInBatch) {
    readers::malformed(group.place, ": a record with a score, but the loss is in-batch, by ", option("loss"),
                       " or by the records before; take the score out, or give ", option("loss"), " cosine");
  }
  if (!group.score && loss_ != Loss::kInBatch) {
    readers::malformed(group.place, ": a record without a score, but the loss is one of scores, by ", option("loss"),
                       " or by the records before; name the column with label_field, or give ", option("loss"),
                       " in-batch");
  }
}

void EmbedObjective::learn(const TextGroup& group, ReadSummary& summary) {
  const double score = group.score ? scaled_score(group, setup().data, -1.0) : 0.0;
  std::vector<tasks::Document> documents;
  std::vector<std::uint64_t> keys;
  const auto add = [&](const std::string& prompt, const std::string& text) {
    documents.push_back({prompt + text, {}, group.place});
    keys.push_back(key_of(text));
  };
  for (const std::string& positive : group.positives) {
    add(modules_.query_prompt(), group.query);
    add(modules_.document_prompt(), positive);
    for (const std::string& negative : group.negatives) {
      add(modules_.document_prompt(), negative);
    }
  }
  add_rows(Split::kTraining, documents, summary);  // all of the record or nothing
  const auto each = std::ssize(documents) / std::ssize(group.positives);
  for (std::size_t i = 0; i < group.positives.size(); ++i) {
    begins_.push_back(begins_.back() + each);
    const std::size_t query = i * static_cast<std::size_t>(each);
    belonging_.insert(random_bits(keys[query], keys[query + 1]));
    if (group.score) {
      scores_.push_back(score);
    }
  }
  keys_.insert(keys_.end(), keys.begin(), keys.end());
}

void EmbedObjective::hold(const TextGroup& group, ReadSummary& summary) {
  std::vector<tasks::Document> documents;
  for (const JudgedText& text : held_.new_texts(group)) {
    const std::string& prompt = text.is_query ? modules_.query_prompt() : modules_.document_prompt();
    documents.push_back({prompt + text.text, {}, group.place});
  }
  add_rows(Split::kHeldOut, documents, summary);
  held_.add(group);
}

ReadSummary EmbedObjective::read_files(Split split, const std::vector<std::string>& paths) {
  ReadSummary summary;
  summary.records = read_text_groups(paths, setup().data, [&](const TextGroup& group) {
    if (split == Split::kTraining) {
      settle_loss(group);
    }
    take(split, [&] {
      if (split == Split::kTraining) {
        learn(group, summary);
        return;
      }
      hold(group, summary);
      keep_origin(split, [&] {
        Json origin = group.origin;
        origin["text"] = group.query;
        origin["text_pair"] = group.positives.size() == 1 ? Json(group.positives.front()) : Json(group.positives);
        return origin;
      });
    });
  });
  return summary;
}

// bool [queries, texts]: a text that is some other record's, and answers the query or says the same.
at::Tensor EmbedObjective::no_negatives(std::span<const std::int64_t> queries,
                                        std::span<const std::int64_t> texts) const {
  const at::Tensor mask = at::zeros({std::ssize(queries), std::ssize(texts)}, at::kBool);
  bool* const cells = mask.data_ptr<bool>();
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const std::uint64_t query = keys_[static_cast<std::size_t>(queries[i])];
    for (std::size_t j = 0; j < texts.size(); ++j) {
      const std::uint64_t text = keys_[static_cast<std::size_t>(texts[j])];
      cells[i * texts.size() + j] = i != j && (text == query || belonging_.contains(random_bits(query, text)));
    }
  }
  return mask;
}

at::Tensor EmbedObjective::in_batch(const at::Tensor& rows, const TrainingBatch& batch) const {
  std::vector<std::int64_t> in_batch[3];  // rows of this batch: queries, their texts, negatives
  std::vector<std::int64_t> in_data[3];   // the same among all rows
  std::int64_t next = 0;
  for (const std::int64_t example : batch.examples) {
    const RowRange range = row_range(Split::kTraining, example);
    for (std::int64_t row = range.begin; row < range.end; ++row, ++next) {
      const auto kind = static_cast<std::size_t>(std::min<std::int64_t>(row - range.begin, 2));
      in_batch[kind].push_back(next);
      in_data[kind].push_back(row);
    }
  }
  for (auto* lists : {in_batch, in_data}) {
    lists[1].insert(lists[1].end(), lists[2].begin(), lists[2].end());
  }
  const RetrievalConfig& config = setup().retrieval;
  const InBatchLoss options{config.similarity_scale, config.symmetric, no_negatives(in_data[0], in_data[1])};
  const auto loss_at = [&](const at::Tensor& vectors) {
    return in_batch_loss(selected(vectors, in_batch[0]), selected(vectors, in_batch[1]), options);
  };
  return config.matryoshka_dims.empty() ? loss_at(rows)
                                        : matryoshka_loss(rows, config.matryoshka_dims, weights_of(config), loss_at);
}

at::Tensor EmbedObjective::of_scores(const at::Tensor& rows, const TrainingBatch& batch) const {
  std::vector<double> wanted;
  wanted.reserve(batch.examples.size());
  for (const std::int64_t example : batch.examples) {
    wanted.push_back(scores_[static_cast<std::size_t>(example)]);
  }
  const at::Tensor scores = at::tensor(wanted, at::kDouble);
  const RetrievalConfig& config = setup().retrieval;
  const auto loss_at = [&](const at::Tensor& vectors) {
    const at::Tensor pairs = vectors.view({-1, 2, vectors.size(1)});
    return loss_ == Loss::kCosent ? cosent_loss(pairs.select(1, 0), pairs.select(1, 1), scores, config.similarity_scale)
                                  : cosine_loss(pairs.select(1, 0), pairs.select(1, 1), scores);
  };
  return config.matryoshka_dims.empty() ? loss_at(rows)
                                        : matryoshka_loss(rows, config.matryoshka_dims, weights_of(config), loss_at);
}

at::Tensor EmbedObjective::loss(const models::EncoderOutput& output, const TrainingBatch& batch) const {
  return loss_ == Loss::kInBatch ? in_batch(output.logits, batch) : of_scores(output.logits, batch);
}

Json EmbedObjective::figures(Kept kept) const {
  Json figures = held_.figures(kept);
  for (const std::int64_t dims : setup().retrieval.matryoshka_dims) {
    if (dims >= modules_.width()) {
      continue;
    }
    const Json cut = held_.figures(kept, dims);
    for (const char* chief : {"spearman", "ndcg_at_10"}) {
      if (cut.contains(chief)) {
        figures[concat(chief, "_at_", dims)] = cut[chief];
      }
    }
  }
  return figures;
}

Findings EmbedObjective::findings(Kept kept) const {
  Findings found;
  found.doubt = held_.doubt(kept);
  return found;
}

Json EmbedObjective::errors(Kept kept) const { return held_.errors(kept, kMostErrors); }

void EmbedObjective::predictions(Kept kept, const WriteLine& write) const { held_.predictions(kept, write); }

std::uint64_t EmbedObjective::fingerprint() const {
  std::uint64_t print = begins_.size();
  for (const std::int64_t begin : begins_) {
    print = random_bits(print, static_cast<std::uint64_t>(begin));
  }
  for (const double score : scores_) {
    print = random_bits(print, std::bit_cast<std::uint64_t>(score));
  }
  return print;
}

}  // namespace weft::fine_tuning
