// SPDX-License-Identifier: Apache-2.0
// A label for every word of a sentence. A word's label belongs to its first token, the others are passed over (Devlin
// et al. 2019, section 5.3); sentences beyond the model's length are read in windows, and each word counts in one.
#pragma once

#include "weft/fine_tuning/objective.h"
#include "weft/readers/conll_reader.h"

namespace weft::fine_tuning {

/// Overrides as Objective describes them; a row is a window. Figures: precision, recall and F1 of entities as seqeval
/// has them (micro; f1_macro, f1_weighted), accuracy of single tags, loss.
class TagObjective final : public Objective {
 public:
  explicit TagObjective(Setup setup) : Objective(std::move(setup), models::Head::kTokenClassification) {}

  HeadChoice choose_head() override;
  at::Tensor loss(const models::EncoderOutput& output, const TrainingBatch& batch) const override;
  std::vector<at::Tensor> choices(const models::EncoderOutput& output, const TrainingBatch& batch) const override;
  std::int64_t numbers(std::int64_t example) const override;
  void keep(const tasks::WindowOutput& output, std::int64_t example, std::span<double> numbers) const override;
  formats::Json figures(Kept kept) const override;
  Findings findings(Kept kept) const override;
  formats::Json errors(Kept kept) const override;
  void predictions(Kept kept, const WriteLine& write) const override;
  std::uint64_t fingerprint() const override;

 protected:
  ReadSummary read_files(Split split, const std::vector<std::string>& paths) override;

 private:
  // A word that a row answers for.
  struct Word {
    std::int32_t token = 0;   // of the row
    std::int32_t number = 0;  // in its sentence
    std::int64_t label = 0;
  };
  struct Row {
    std::vector<Word> words;
    std::size_t sentence = 0;
  };
  struct Sentence {
    std::vector<std::string> words;  // held out only
    std::vector<std::string> tags;
  };
  struct Scored;

  at::Tensor labels_of(const TrainingBatch& batch) const;  // int64 [rows, tokens], -100 where there is none
  void add_sentence(Split split, const readers::TaggedSentence& sentence, const std::string& place,
                    ReadSummary& summary);
  Scored score(Kept kept) const;
  std::string doubt(const Scored& scored) const;

  LabelNames labels_;
  at::Tensor weights_;  // float32 [labels], or undefined
  BySplit<std::vector<Row>> words_;
  std::vector<Sentence> sentences_;  // held out
};

}  // namespace weft::fine_tuning
