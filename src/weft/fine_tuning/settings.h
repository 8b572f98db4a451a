// SPDX-License-Identifier: Apache-2.0
// What a fine-tuning run is asked for beside the trainer's own settings: the task, the model it begins with, and how
// files become examples. The field lists are flags of `weft train` and lines of a run's training.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/fields.h"
#include "weft/fine_tuning/retrieval/config.h"
#include "weft/formats/config_json.h"
#include "weft/training/distillation/config.h"
#include "weft/training/trainer_config.h"

namespace weft::fine_tuning {

/// Every fine-tuning task, as the table in objective.cpp lists them.
std::vector<std::string_view> task_names();

/// "none" and every preset, in the order of the table in settings.cpp.
std::vector<std::string_view> preset_names();

/// How files become examples: the same for training data, held-out data and `weft eval`.
struct DataSettings {
  std::string format = "auto";
  std::string text_field;
  std::string pair_field;
  std::vector<std::string> label_field;
  std::vector<std::string> negative_field;
  double score_max = 1.0;
  bool header = true;
  std::string on_error = "fail";
  std::int64_t max_length = 0;
  bool truncate = false;
  std::string label_groups;
  bool both_strands = false;
  std::int64_t stride = -1;
  std::int64_t max_answer_length = 30;
  double null_threshold = 0.0;
  std::int64_t folds = 0;
  std::int64_t fold = 0;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    record_fields(visit);
    text_fields(visit);
  }

 private:
  /// What is read.
  template <typename Visitor>
  static void record_fields(Visitor& visit) {
    using C = DataSettings;
    visit(
        Field{"format", &C::format,
              "format of the files; auto goes by what stands in each file, then by its name, and takes any other file "
              "for one text"}
            .one_of({"auto", "csv", "tsv", "jsonl", "json", "text", "lines", "fasta", "conll", "squad"}));
    visit(Field{"text_field", &C::text_field,
                "column or JSON field of the text; without it text, sentence, sequence, review or content"});
    visit(Field{
        "pair_field", &C::pair_field,
        "column or JSON field of a second text, which the model reads after the first (classify, multilabel), or which "
        "answers it (embed, rerank)"});
    visit(Field{"label_field", &C::label_field,
                "column or JSON field of the label; for several labels one column with commas between them, or several "
                "columns of 0 and 1, also as name*; without it label, labels or class"});
    visit(Field{"negative_field", &C::negative_field,
                "columns or JSON fields of texts that do not go with the first, also as name* (embed, rerank); without "
                "it negative, negatives, neg and those that begin with negative_"});
    visit(Field{"score_max", &C::score_max,
                "the score of two texts that mean the same: scores are divided by it (embed, rerank)"}
              .range(1e-9, 1e9));
    visit(Field{"header", &C::header, "the first row of a table names its columns; otherwise they are 1, 2, ..."});
    visit(Field{"on_error", &C::on_error, "what to do with a malformed record; skip counts it and goes on"}.one_of(
        {"fail", "skip"}));
  }

  /// What becomes of it.
  template <typename Visitor>
  static void text_fields(Visitor& visit) {
    using C = DataSettings;
    visit(Field{"max_length", &C::max_length,
                "longest text in tokens, special tokens included; 0 for the longest that the model takes"}
              .range(0, training::kMostTokens));
    visit(Field{"truncate", &C::truncate, "cut longer texts, and print how many; otherwise a longer text is an error"});
    visit(Field{"label_groups", &C::label_groups,
                "JSON file {NAME: [LABEL, ...]}, labels also as name*: mean and median ROC-AUC of each group "
                "(multilabel)"});
    visit(Field{"both_strands", &C::both_strands,
                "read DNA on both strands, each sequence also as its reverse complement; a score is the mean of both "
                "(multilabel)"});
    visit(Field{
        "stride", &C::stride,
        "tokens that neighbouring windows of a long text share (tag, answer, nq, triviaqa); -1 for a quarter of a "
        "window, at most "
        "128"}
              .range(-1, training::kMostTokens));
    visit(Field{"max_answer_length", &C::max_answer_length,
                "longest answer in tokens (answer), or in words (hotpotqa, nq, triviaqa)"}
              .range(1, 1 << 20));
    visit(Field{"null_threshold", &C::null_threshold,
                "how much larger the logit of 'no answer' must be than that of the best span to be the answer (answer)"}
              .range(-1e9, 1e9));
    visit(Field{"folds", &C::folds, "number of parts for cross-validation; 0 for none"}.range(0, 1 << 20));
    visit(Field{"fold", &C::fold, "which part is held out, counted from 0; the model is trained on the others"}
              .range(0, 1 << 20)
              .only_with_any({"folds"}));
  }
};

/// The task and the model.
struct FineTuningConfig {
  std::string task = "classify";
  std::string preset = "none";
  std::string model;
  std::vector<std::string> train_data;
  std::vector<std::string> eval_data;
  std::int64_t epochs = 0;
  std::int64_t batch_tokens = 0;
  std::string problem_type = "auto";
  std::vector<std::string> class_weights;
  std::vector<std::string> attention;
  bool gradient_checkpointing = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = FineTuningConfig;
    visit(Field{"task", &C::task, "what is learned"}.one_of(task_names()));
    visit(Field{"preset", &C::preset, "published settings to begin with; what you give yourself replaces them"}.one_of(
        preset_names()));
    visit(Field{"model", &C::model,
                "model directory to begin with: from Hugging Face, `weft init`, `weft convert`, or a run"});
    visit(
        Field{"train_data", &C::train_data, "files and folders of examples; LABEL=PATH gives all of a path one label"});
    visit(Field{"eval_data", &C::eval_data,
                "held-out files and folders to evaluate on; without them nothing is evaluated"});
    visit(Field{"epochs", &C::epochs, "how often every example is shown, instead of steps or minutes"}.range(
        0, training::kMostRows));
    visit(Field{"batch_tokens", &C::batch_tokens,
                "tokens in a batch, padding included, instead of a number of examples; 0 counts examples"}
              .range(0, training::kMostTokens));
    visit(Field{"problem_type", &C::problem_type,
                "what classify learns; auto follows config.json, else one label of several"}
              .one_of({"auto", "single_label_classification", "regression"}));
    visit(Field{"class_weights", &C::class_weights,
                "weights of the labels in the loss: one number for each label in their order, one number for all, or "
                "balanced"});
    visit(Field{"attention", &C::attention, "pattern or mechanism to use instead of the model's"});
    visit(Field{"gradient_checkpointing", &C::gradient_checkpointing,
                "save memory: compute each layer again in the backward pass"});
  }
};

/// All settings of a run.
struct RunSettings {
  training::TrainerConfig trainer;
  FineTuningConfig task;
  DataSettings data;
  training::DistillationConfig distillation = {};
  RetrievalConfig retrieval = {};
};

/// Whether `task` is one of those here; lm and mlm are the training room's.
bool is_fine_tuning_task(std::string_view task);
/// Errors: kArgument for a format that `task` does not read, and for another value than the usual one of a field that
/// `task` does not read; both name what does.
void check_data(std::string_view task, const DataSettings& data);

/// Errors: kArgument naming `where` for a fold that is none of the folds.
void check_folds(const DataSettings& data, std::string_view where);

/// Settings of the trainer that suit fine-tuning (Devlin et al. 2019, section A.3) where nothing else is said: learning
/// rate, its schedule, weight decay, batch size.
formats::Json fine_tuning_defaults();

/// `fields` over the preset that they name, over fine_tuning_defaults(). Errors: those of preset_fields().
formats::Json with_defaults(const formats::Json& fields, std::string_view where);

/// The settings that `fields` amount to, over with_defaults(); checked. Errors: kFormat for a name that is none,
/// kArgument naming `where`, the field and the rule.
RunSettings make_settings(const formats::Json& fields, std::string_view where);

/// Files with absolute paths, so that a run means the same wherever it is resumed.
FineTuningConfig resolved(FineTuningConfig config);
DataSettings resolved(DataSettings data);

/// A path of train_data: all records of `path` have `label` where that is given.
struct DataPath {
  std::string path;
  std::string label;
  bool labelled = false;
};
/// "neg=reviews/neg" as label and path; a word that is a path as it stands has no label.
DataPath parse_data_path(const std::string& word);

/// The fields of --preset `name`, empty for "none". How long a run is (steps, epochs, minutes) is left out where
/// `given` says it. Errors: kArgument for another name, or a task that the preset is not for; kFormat naming `where`
/// for a task that is no string.
formats::Json preset_fields(std::string_view name, const formats::Json& given, std::string_view where);

}  // namespace weft::fine_tuning
