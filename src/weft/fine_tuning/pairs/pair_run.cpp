// SPDX-License-Identifier: Apache-2.0
// Vocabulary, pairs, model and task put together in one order, for a new run and an old one.
#include "weft/fine_tuning/pairs/pair_run.h"

#include <ATen/Context.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/checkpoint/patterns/encoder_decoder_with_attention.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/fine_tuning/denoising/denoiser.h"
#include "weft/fine_tuning/pairs/joint_vocabulary.h"
#include "weft/fine_tuning/pairs/pair_encoding.h"
#include "weft/fine_tuning/run_length.h"
#include "weft/training/processes/process_group.h"
#include "weft/training/resumption.h"
#include "weft/training/run_state.h"
#include "weft/training/text_task.h"

namespace weft::fine_tuning {
namespace {

namespace fs = std::filesystem;
using formats::Json;
using LearnedWords = std::shared_ptr<const text::HuggingFaceTokenizer>;

// The data themselves are compared, so that files may have moved.
constexpr std::array<std::string_view, 13> kChangeableOfPairs = {
    "train_source", "train_target", "eval_source", "eval_target", "train_data",         "eval_data", "train_text",
    "eval_text",    "alignments",   "on_error",    "epochs",      "generated_examples", "eval_beams"};

std::int64_t role_id(const text::HuggingFaceTokenizer& tokenizer, std::initializer_list<text::SpecialRole> roles,
                     const char* what) {
  for (const text::SpecialRole role : roles) {
    if (const auto id = tokenizer.special(role)) {
      return *id;
    }
  }
  throw Error(ErrorKind::kArgument, concat("tokenizer: has no token for ", what),
              "weft tokenizer train makes one that has");
}

// What follows from the tokeniser.
void set_vocabulary(models::EncoderDecoderConfig& model, const text::HuggingFaceTokenizer& tokenizer) {
  using text::SpecialRole;
  model.tokenizer_class = tokenizer.kind();
  model.vocab_size = tokenizer.vocabulary_size();
  model.pad_token_id = role_id(tokenizer, {SpecialRole::kPadding}, "padding");
  model.eos_token_id = role_id(tokenizer, {SpecialRole::kEnd, SpecialRole::kSeparator}, "the end of a text");
  model.decoder_start_token_id =
      role_id(tokenizer, {SpecialRole::kBegin, SpecialRole::kClass, SpecialRole::kPadding}, "the start of a target");
}

// What no vocabulary changes, before one is learned.
void check_new_model(const PairSettings& settings, const fs::path& beside, bool learns_vocabulary,
                     std::string_view where) {
  models::EncoderDecoderConfig shape = settings.model;
  shape.directory = beside;
  models::validate(shape, where);
  if (learns_vocabulary) {
    const bool bpe = settings.pairs.vocabulary == "bpe";
    require(bpe ? settings.trainer.unigram_alpha == 0 : settings.trainer.bpe_dropout == 0, where, ": ",
            bpe ? "unigram_alpha" : "bpe_dropout", " is for another vocabulary than ", settings.pairs.vocabulary);
  }
}

// The mechanisms that `changes` names, whose files lie below `graphs`.
checkpoint::PairAttention attention_in(const Json& changes, const models::EncoderDecoderConfig& wanted,
                                       const fs::path& graphs) {
  const auto given = [&](const char* name, const std::vector<std::string>& list) {
    return changes.contains(name) ? list : std::vector<std::string>{};
  };
  return {given("encoder_attention", wanted.encoder_attention), given("decoder_attention", wanted.decoder_attention),
          given("cross_attention", wanted.cross_attention), graphs};
}

}  // namespace

PairModel opened_pair(const checkpoint::OpenedModel& opened, const Json& changes, const fs::path& graphs,
                      at::ScalarType dtype) {
  PairModel begin;
  begin.tokenizer = checkpoint::load_pair_tokenizer(opened);
  models::EncoderDecoderConfig wanted = checkpoint::load_encoder_decoder_config(opened);
  formats::update_from_json(wanted, changes, "training");
  checkpoint::EncoderDecoderLoadOptions load;
  load.dropout = wanted.dropout;
  load.attention_dropout = wanted.attention_dropout;
  load.dtype = dtype;
  begin.model = checkpoint::load_encoder_decoder(opened, load);
  if (const auto attention = attention_in(changes, wanted, graphs); !attention.empty()) {
    begin.model = checkpoint::encoder_decoder_with_attention(begin.model, attention);
  }
  begin.model->mutable_config().gradient_checkpointing = wanted.gradient_checkpointing;
  begin.model->mutable_config().loss_chunk_size = wanted.loss_chunk_size;
  begin.model->mutable_config().alignment_layer = wanted.alignment_layer;
  begin.model->mutable_config().alignment_head = wanted.alignment_head;
  const ModelFile generation(opened.path(), "generation_config.json");
  begin.generation = generation.exists() ? read_file(generation) : std::string();
  return begin;
}

namespace {

// The head that learns alignments, where there are any: in the last layer but one, as in Garg et al. 2019.
void choose_alignment_head(const PairConfig& pairs, models::EncoderDecoderConfig& model) {
  const bool given = !pairs.alignments.empty() || !pairs.alignment_field.empty();
  if (given && model.alignment_layer < 0) {
    model.alignment_layer = std::max<std::int64_t>(0, model.decoder_layers - 2);
  }
}

// Without a model in `begin` a new one is made.
PreparedPairs prepare_with(const PairSettings& settings, PairModel begin, PairTexts& training, PairTexts& held_out) {
  const models::EncoderDecoderConfig& shape = settings.model;
  require(shape.pad_token_id >= 0 && shape.eos_token_id >= 0 && shape.decoder_start_token_id >= 0,
          "model config: pad_token_id, eos_token_id and decoder_start_token_id must be ids, found ", shape.pad_token_id,
          ", ", shape.eos_token_id, " and ", shape.decoder_start_token_id);
  PreparedPairs prepared;
  prepared.settings = settings;
  // Resolved before the task keeps it: the batches of a step depend on the number of processes.
  prepared.settings.trainer = training::resolved(prepared.settings.trainer);
  PairData data;
  const PairEncoding encoding = {prepared.settings.pairs, prepared.settings.model, *begin.tokenizer};
  prepared.held_out = encoding.encode(held_out, data.held_out, &data.references);
  prepared.training = encoding.encode(training, data.training);
  if (makes_noise(settings.pairs)) {
    data.drawer = [denoiser = Denoiser(prepared.settings.pairs, prepared.settings.model, *begin.tokenizer)](
                      const PairRow& piece, const data::RowDraws& draws, std::int64_t place) {
      return denoiser.drawn(piece, noise_key(draws.seed, draws.step, draws.part, place));
    };
  }
  if (!begin.model) {
    models::validate(prepared.settings.model, "weft train");
    // The first weights are drawn from LibTorch's generator; after them every step seeds it anew.
    at::manual_seed(static_cast<std::uint64_t>(prepared.settings.trainer.seed));
    begin.model = models::EncoderDecoder(prepared.settings.model);
  }
  prepared.task = std::make_shared<PairTask>(std::move(begin), prepared.settings, std::move(data));
  prepared.epoch_steps = prepared.task->steps_of(1);
  if (const std::int64_t epochs = prepared.settings.pairs.epochs; epochs > 0) {
    set_steps(prepared.settings.trainer, epochs, prepared.task->steps_of(epochs));
  }
  check_config(prepared.settings.trainer, "training");
  return prepared;
}

// Weights and tokeniser of settings.pairs.model.
PreparedPairs prepare_further(PairSettings settings, bool has_budget, const fs::path& beside) {
  PairTexts training(settings.pairs, false);
  PairTexts held_out(settings.pairs, true);
  const checkpoint::OpenedModel opened = checkpoint::open_model(settings.pairs.model);
  opened.need_floating("training");
  PairModel begin = opened_pair(opened, settings.changes, beside);
  choose_alignment_head(settings.pairs, begin.model->mutable_config());
  settings.model = begin.model->config();
  models::validate(settings.model, "training");
  check_direction(settings, "training");
  if (!has_budget) {  // the longest text must fit into a batch
    const PairLimits limits = limits_of(settings.pairs, settings.model);
    settings.pairs.batch_tokens = std::max({settings.pairs.batch_tokens, limits.source, limits.target});
  }
  return prepare_with(settings, std::move(begin), training, held_out);
}

}  // namespace

PreparedPairs prepare_pairs(const Json& fields, const fs::path& tokenizer, const fs::path& beside,
                            std::string_view where) {
  PairSettings settings = make_pair_settings(fields, std::nullopt, where);
  if (!settings.pairs.model.empty()) {
    return prepare_further(std::move(settings), fields.contains("batch_tokens"), beside);
  }
  // What can be refused is refused before all pairs are read, and before a vocabulary is learned of them.
  PairTexts training(settings.pairs, false);
  PairTexts held_out(settings.pairs, true);
  LearnedWords words = tokenizer.empty() ? nullptr : std::make_shared<const text::HuggingFaceTokenizer>(tokenizer);
  if (words) {
    set_vocabulary(settings.model, *words);
  }
  check_new_model(settings, beside, tokenizer.empty(), where);
  if (words) {
    training::subword_sampler(settings.trainer, *words);
  }
  held_out.read_ahead();
  settings = make_pair_settings(fields, training.read_ahead(), where);
  words = words ? words : learn_joint_vocabulary(settings.pairs, training);
  set_vocabulary(settings.model, *words);
  settings.model.directory = beside;
  choose_alignment_head(settings.pairs, settings.model);
  PairModel begin;
  begin.tokenizer = text::make_pair_tokenizer(words, {.behind = {settings.model.eos_token_id}});
  return prepare_with(settings, std::move(begin), training, held_out);
}

PreparedPairs prepare_pairs_resumption(const fs::path& run, const Json& given) {
  const training::RunDirectory directory = training::RunDirectory::open_beside(run);
  const fs::path where = directory.path() / "training.json";
  const Json stands = directory.training();
  Json rest = given;
  rename_shape_fields(rest);
  PairSettings settings;
  settings.trainer = training::resumed_trainer(training::config_from_json(stands, where), rest, where);
  settings.pairs = training::resumed_settings<PairConfig>(stands, rest, kChangeableOfPairs, where);
  const fs::path checkpoint = training::checkpoint_to_resume(directory).path;
  check_pair_files(settings.pairs, quote(where.native(), 4096));
  const checkpoint::OpenedModel opened = checkpoint::open_model(checkpoint);
  settings.model = checkpoint::load_encoder_decoder_config(opened);
  models::EncoderDecoderConfig again = settings.model;
  formats::update_from_json(again, training::take_fields<models::EncoderDecoderConfig>(rest), "training");
  training::check_same(formats::to_json(settings.model), formats::to_json(again), {}, checkpoint / "config.json");
  training::require_all_taken(rest);
  choose_length(settings.pairs.epochs, settings.trainer, given);
  PairTexts training(settings.pairs, false);
  PairTexts held_out(settings.pairs, true);
  return prepare_with(settings, opened_pair(opened, Json::object(), {}), training, held_out);
}

training::TrainResult train_pairs(const fs::path& run, const PreparedPairs& prepared) {
  return training::Trainer::start(run, prepared.settings.trainer, prepared.task).run();
}

training::TrainResult resume_pairs(const fs::path& path, const PreparedPairs& prepared) {
  return training::Trainer::resume(training::open_to_resume(path), prepared.settings.trainer, prepared.task).run();
}

}  // namespace weft::fine_tuning
