// SPDX-License-Identifier: Apache-2.0
// What a run over pairs of texts is asked for beside the trainer's settings and the model's shape: which files, which
// vocabulary, how long a text may be, which noise makes pairs of plain texts. The field list is flags of `weft train
// --task translate|summarize|denoise` and lines of a run's training.json.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/fields.h"
#include "weft/fine_tuning/settings.h"
#include "weft/formats/config_json.h"
#include "weft/models/encoder_decoder_config.h"
#include "weft/training/trainer_config.h"

namespace weft::fine_tuning {

/// The tasks that learn from pairs; those of denoise are made of plain texts.
inline constexpr std::array<std::string_view, 3> kPairTasks = {"translate", "summarize", "denoise"};

/// Whether `task` is one of kPairTasks.
bool is_pair_task(std::string_view task);

/// Data and vocabulary. Fields that FineTuningConfig and DataSettings have, too, mean the same.
struct PairConfig {
  std::string task = "translate";
  std::string preset = "none";
  std::string model;
  std::vector<std::string> train_source;
  std::vector<std::string> train_target;
  std::vector<std::string> eval_source;
  std::vector<std::string> eval_target;
  std::vector<std::string> train_data;
  std::vector<std::string> eval_data;
  std::vector<std::string> train_text;
  std::vector<std::string> eval_text;
  std::string noise = "permute-infill";
  double noise_share = 0.0;
  double noise_span = 3.0;
  std::string gap_choice = "ind-orig";
  double gap_score_noise = 0.0;
  std::vector<std::string> alignments;
  std::string alignment_field;
  double alignment_weight = 0.05;
  std::string source_field;
  std::string target_field;
  bool header = true;
  std::string on_error = "fail";
  std::int64_t max_source_length = 0;
  std::int64_t max_target_length = 0;
  bool truncate = false;
  std::string vocabulary = "bpe";
  std::int64_t vocabulary_size = 8000;
  std::int64_t epochs = 0;
  std::int64_t batch_tokens = 4096;
  std::int64_t generated_examples = 2000;
  std::int64_t eval_beams = 1;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    data_fields(visit);
    noise_fields(visit);
    run_fields(visit);
  }

 private:
  /// What is read.
  template <typename Visitor>
  static void data_fields(Visitor& visit) {
    using C = PairConfig;
    visit(Field{"task", &C::task, "what is learned"}.one_of({kPairTasks.begin(), kPairTasks.end()}));
    visit(Field{"preset", &C::preset, "settings to begin with; what you give yourself replaces them"}.one_of(
        preset_names()));
    visit(Field{"model", &C::model, "encoder-decoder's directory to begin with; without one, random weights"});
    visit(Field{"train_source", &C::train_source, "text files of sources to train on, a source a line"});
    visit(
        Field{"train_target", &C::train_target,
              "text files of their targets: line N of a file belongs to line N of the source file in the same place"});
    visit(Field{"eval_source", &C::eval_source, "held-out sources; without them nothing is evaluated"});
    visit(Field{"eval_target", &C::eval_target, "targets of the held-out sources"});
    visit(Field{"train_data", &C::train_data, "tables or JSON with source and target, instead of two files"});
    visit(Field{"eval_data", &C::eval_data, "the same, held out"});
    visit(Field{"alignments", &C::alignments,
                "files of word alignments (0-0 1-2, from 0), one for each file of train_source: one head of attention "
                "to the source learns them beside the translation"});
    visit(Field{"alignment_field", &C::alignment_field,
                "the same for train_data: its column or JSON field of alignments; without it none are learned"});
    visit(Field{"alignment_weight", &C::alignment_weight, "weight of the alignments' loss"}
              .range(0.0, 1000.0)
              .only_with("task", {"translate", "summarize"})
              .only_with_any({"alignments", "alignment_field"}));
    visit(Field{"source_field", &C::source_field,
                "column or JSON field of the source; without it source, src, text, document or article"}
              .only_with_any({"train_data", "eval_data"}));
    visit(Field{"target_field", &C::target_field,
                "column or JSON field of the target; without it target, tgt, translation, summary or abstract"}
              .only_with_any({"train_data", "eval_data"}));
  }

  /// How pairs are made of plain texts.
  template <typename Visitor>
  static void noise_fields(Visitor& visit) {
    using C = PairConfig;
    const std::vector<std::string_view> denoise = {"denoise"};
    visit(Field{"train_text", &C::train_text, "files and folders to train on"}.only_with("task", denoise));
    visit(Field{"eval_text", &C::eval_text, "held-out files and folders"}.only_with("task", denoise));
    visit(Field{"noise", &C::noise,
                "what the decoder repairs: hidden sentences (gap-sentences, as PEGASUS), BART's infilling of permuted "
                "sentences (permute-infill), one kind of BART's noise, or hidden spans (spans, as T5)"}
              .one_of({"gap-sentences", "permute-infill", "infill", "mask", "delete", "permute", "rotate", "spans"})
              .only_with("task", denoise));
    visit(Field{"noise_share", &C::noise_share,
                "share of a text that is hidden: of its sentences for gap-sentences, else of its tokens; 0 for 0.15 "
                "with spans and 0.3 with all others"}
              .range(0.0, 1.0)
              .only_with("task", denoise)
              .only_with("noise", {"gap-sentences", "permute-infill", "infill", "mask", "delete", "spans"}));
    visit(Field{"noise_span", &C::noise_span, "mean length of the hidden spans"}
              .range(1.0, 100.0)
              .only_with("task", denoise)
              .only_with("noise", {"infill", "permute-infill", "spans"}));
    visit(
        Field{"gap_choice", &C::gap_choice,
              "which sentences are hidden: those most like the rest by themselves (ind) or together (seq), with words "
              "counted as they come (orig) or once (uniq), the first ones, or any"}
            .one_of({"ind-orig", "ind-uniq", "seq-orig", "seq-uniq", "lead", "random"})
            .only_with("task", denoise)
            .only_with("noise", {"gap-sentences"}));
    visit(Field{"gap_score_noise", &C::gap_score_noise,
                "scores of sentences change at random by up to this share, so that others are hidden each time"}
              .range(0.0, 1.0)
              .only_with("task", denoise)
              .only_with("noise", {"gap-sentences"})
              .only_with("gap_choice", {"ind-orig", "ind-uniq"}));
  }

  /// How it is read and learned.
  template <typename Visitor>
  static void run_fields(Visitor& visit) {
    using C = PairConfig;
    visit(Field{"header", &C::header, "the first row of a table names its columns; otherwise they are 1, 2, ..."}
              .only_with_any({"train_data", "eval_data"}));
    visit(Field{"on_error", &C::on_error, "what to do with a malformed record; skip counts it and goes on"}.one_of(
        {"fail", "skip"}));
    visit(Field{"max_source_length", &C::max_source_length,
                "longest source in tokens, its end included; 0 for the longest that the model takes"}
              .range(0, training::kMostTokens));
    visit(Field{"max_target_length", &C::max_target_length,
                "longest target in tokens, its end included; 0 for the longest that the model takes"}
              .range(0, training::kMostTokens));
    visit(Field{"truncate", &C::truncate, "cut longer texts, and print how many; otherwise a longer text is an error"});
    visit(Field{"vocabulary", &C::vocabulary,
                "what is learned of sources and targets together where no tokenizer is given"}
              .one_of({"bpe", "unigram"}));
    visit(Field{"vocabulary_size", &C::vocabulary_size, "its tokens, including five special tokens and the 256 bytes"}
              .range(261, 1 << 24));
    visit(Field{"epochs", &C::epochs, "how often every pair is shown, instead of steps or minutes"}.range(
        0, training::kMostRows));
    visit(Field{"batch_tokens", &C::batch_tokens,
                "tokens in a batch: its pairs times the longest text among them, source or target"}
              .range(1, training::kMostTokens));
    visit(Field{"generated_examples", &C::generated_examples,
                "held-out sources that an evaluation translates or summarises, from the first on; 0 for none"}
              .range(0, 1 << 24)
              .only_with_any({"eval_source", "eval_data", "eval_text"}));
    visit(Field{"eval_beams", &C::eval_beams, "beams of that search; 1 is greedy"}
              .range(1, 64)
              .only_with_any({"eval_source", "eval_data", "eval_text"})
              .only_with_any({"generated_examples"}));
  }
};

/// All settings of a run.
struct PairSettings {
  training::TrainerConfig trainer;
  PairConfig pairs;
  /// Without the vocabulary, which follows from the tokeniser. With pairs.model that directory's, but for what
  /// `changes` says.
  models::EncoderDecoderConfig model;
  formats::Json changes = formats::Json::object();  ///< with pairs.model: fields of the model that are given
};

/// Replaces in `fields` what the flags of language models call otherwise: hidden_size by d_model, num_hidden_layers by
/// encoder_layers and decoder_layers, and so on. A field that is given by both names keeps the model's own.
void rename_shape_fields(formats::Json& fields);

/// The preset for so many pairs, where nobody names one.
std::string_view preset_for(std::int64_t pairs);

/// The settings that `fields` amount to, over the preset that they name ("none": preset_for(pairs)), over the defaults
/// of these tasks, or of further training where they name a model; checked. Without `pairs`, for checks before anything
/// is read: what no preset changes. Errors: kFormat for a name that is no field, kArgument naming `where`, field and
/// rule.
PairSettings make_pair_settings(const formats::Json& fields, std::optional<std::int64_t> pairs, std::string_view where);

/// Errors: kArgument naming `where`, for a model that writes from right to left and what knows one order of a target's
/// tokens only: noise, alignments, subwords that are drawn.
void check_direction(const PairSettings& settings, std::string_view where);

/// Tokens of the longest source and target that a run takes, frames included.
struct PairLimits {
  std::int64_t source = 0;
  std::int64_t target = 0;
};
PairLimits limits_of(const PairConfig& config, const models::EncoderDecoderConfig& model);

/// Whether pairs are made of plain texts.
bool makes_noise(const PairConfig& config);

/// Errors: kArgument naming `where` for files that do not make pairs: sources without targets, both forms at once,
/// none; plain texts for other tasks than denoise, and pairs for denoise.
void check_pair_files(const PairConfig& config, std::string_view where);

/// With absolute paths, so that a run means the same wherever it is resumed.
PairConfig resolved(PairConfig config);

}  // namespace weft::fine_tuning
