// SPDX-License-Identifier: Apache-2.0
// Vocabulary, pairs, model and task put together in one order, for a new run and an old one.
#include "weft/fine_tuning/pairs/pair_run.h"

#include <ATen/Context.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/fine_tuning/pairs/alignment_loss.h"
#include "weft/fine_tuning/pairs/joint_vocabulary.h"
#include "weft/fine_tuning/pairs/pair_reader.h"
#include "weft/training/processes/process_group.h"
#include "weft/training/resumption.h"
#include "weft/training/run_state.h"

namespace weft::fine_tuning {
namespace {

namespace fs = std::filesystem;
using formats::Json;
using Tokenizer = std::shared_ptr<const text::HuggingFaceTokenizer>;

// The data themselves are compared, so that files may have moved.
constexpr std::array<std::string_view, 11> kChangeableOfPairs = {
    "train_source", "train_target", "eval_source", "eval_target",        "train_data", "eval_data",
    "alignments",   "on_error",     "epochs",      "generated_examples", "eval_beams"};

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

// Reads pairs into rows of ids.
class PairEncoding {
 public:
  PairEncoding(const PairSettings& settings, Tokenizer tokenizer)
      : config_(settings.pairs), model_(settings.model), tokenizer_(std::move(tokenizer)) {}

  ReadSummary read(bool held_out, PairRows& rows, std::vector<std::string>* references) {
    ReadSummary summary;
    const bool given = held_out ? !config_.eval_source.empty() || !config_.eval_data.empty() : true;
    if (!given) {
      return summary;
    }
    ProgressBar bar(held_out ? "reading held-out pairs" : "reading training pairs", 0);
    PairReader reader(config_, held_out);
    TextPair pair;
    while (reader.next(pair)) {
      bar.update(static_cast<double>(rows.size()));
      rows.add({ids(pair.source, pair.where, longest_source(), summary),
                ids(pair.target, pair.where, longest_target(), summary), links(pair)});
      if (references != nullptr) {
        references->push_back(pair.target);
      }
    }
    summary.records = reader.report();
    summary.examples = rows.size();
    if (without_links_ > 0) {
      log_warning(without_links_, " pairs teach no alignment: tokens lie in two words there");
    }
    if (rows.size() == 0) {
      fail(ErrorKind::kFormat, "the ", held_out ? "held-out" : "training", " data have no pair");
    }
    return summary;
  }

 private:
  std::int64_t longest_source() const {
    return config_.max_source_length == 0 ? model_.max_source_positions
                                          : std::min(config_.max_source_length, model_.max_source_positions);
  }
  std::int64_t longest_target() const {
    return config_.max_target_length == 0 ? model_.max_target_positions
                                          : std::min(config_.max_target_length, model_.max_target_positions);
  }

  std::vector<TokenLink> links(const TextPair& pair) {
    if (!pair.links) {
      return {};
    }
    const auto words = text::make_pair_tokenizer(tokenizer_, model_.eos_token_id);
    const text::WordIds source = text::read_words(*words, pair.source, text::Side::kSource);
    const text::WordIds target = text::read_words(*words, pair.target, text::Side::kTarget);
    if (source.one_by_one || target.one_by_one) {
      ++without_links_;
      return {};
    }
    return token_links(*pair.links, source, target, longest_source() - 1, longest_target() - 1);
  }

  std::vector<std::int64_t> ids(const std::string& text, const std::string& where, std::int64_t longest,
                                ReadSummary& summary) const {
    std::vector<std::int64_t> found = tokenizer_->encode(text);
    const auto most = static_cast<std::size_t>(longest - 1);  // the end follows
    if (found.size() > most) {
      if (!config_.truncate) {
        throw Error(ErrorKind::kArgument,
                    concat(where, ": a text of ", found.size(), " tokens and its end is longer than ", longest),
                    "--truncate cuts longer texts; --max-source-positions and --max-target-positions make a model for "
                    "longer ones");
      }
      ++summary.cut;
      summary.left_out += static_cast<std::int64_t>(found.size() - most);
      found.resize(most);
    }
    found.push_back(model_.eos_token_id);
    if (static_cast<std::int64_t>(found.size()) > config_.batch_tokens) {
      throw Error(ErrorKind::kArgument,
                  concat(where, ": a text of ", found.size(), " tokens does not fit in a batch of ",
                         config_.batch_tokens, " tokens"),
                  "--batch-tokens makes larger batches");
    }
    return found;
  }

  const PairConfig& config_;
  const models::EncoderDecoderConfig& model_;
  Tokenizer tokenizer_;
  std::int64_t without_links_ = 0;
};

// The head that learns alignments, where there are any: in the last layer but one, as in Garg et al. 2019.
void choose_alignment_head(PairSettings& settings) {
  models::EncoderDecoderConfig& model = settings.model;
  const bool given = !settings.pairs.alignments.empty() || !settings.pairs.alignment_field.empty();
  if (given && model.alignment_layer < 0) {
    model.alignment_layer = std::max<std::int64_t>(0, model.decoder_layers - 2);
  }
}

// `model` is that of a checkpoint; without one a new one is made.
PreparedPairs prepare_with(const PairSettings& settings, const Tokenizer& tokenizer,
                           std::optional<models::EncoderDecoder> model) {
  const models::EncoderDecoderConfig& shape = settings.model;
  require(shape.pad_token_id >= 0 && shape.eos_token_id >= 0 && shape.decoder_start_token_id >= 0,
          "model config: pad_token_id, eos_token_id and decoder_start_token_id must be ids, found ", shape.pad_token_id,
          ", ", shape.eos_token_id, " and ", shape.decoder_start_token_id);
  PreparedPairs prepared;
  prepared.settings = settings;
  // Resolved before the task keeps it: the batches of a step depend on the number of processes.
  prepared.settings.trainer = training::resolved(prepared.settings.trainer);
  choose_alignment_head(prepared.settings);
  PairData data;
  PairEncoding encoding(prepared.settings, tokenizer);
  prepared.training = encoding.read(false, data.training, nullptr);
  prepared.held_out = encoding.read(true, data.held_out, &data.references);
  if (!model) {
    models::validate(prepared.settings.model, "weft train");
    // The first weights are drawn from LibTorch's generator; after them every step seeds it anew.
    at::manual_seed(static_cast<std::uint64_t>(prepared.settings.trainer.seed));
    model = models::EncoderDecoder(prepared.settings.model);
  }
  prepared.task = std::make_shared<PairTask>(*model, tokenizer, prepared.settings, std::move(data));
  prepared.epoch_steps = prepared.task->steps_of(1);
  if (const std::int64_t epochs = prepared.settings.pairs.epochs; epochs > 0) {
    const std::int64_t steps = prepared.task->steps_of(epochs);
    const std::int64_t given = prepared.settings.trainer.steps;
    require(given == 0 || given == steps, "epochs ", epochs, " makes ", steps, " steps with these data, but steps is ",
            given, "; give only one of them");
    prepared.settings.trainer.steps = steps;
  }
  check_config(prepared.settings.trainer, "training");
  return prepared;
}

// A run's own training.json says both how many epochs it has and how many steps these are. What is given anew decides.
void choose_pair_length(PairSettings& settings, const Json& given) {
  if (given.contains("steps") && !given.contains("epochs")) {
    settings.pairs.epochs = 0;
  } else if (settings.pairs.epochs > 0 && !given.contains("steps")) {
    settings.trainer.steps = 0;
    settings.trainer.minutes = given.contains("epochs") && !given.contains("minutes") ? 0 : settings.trainer.minutes;
  }
}

}  // namespace

PreparedPairs prepare_pairs(const Json& fields, const fs::path& tokenizer, const fs::path& beside,
                            std::string_view where) {
  // What no preset changes, before files are read.
  PairSettings settings = make_pair_settings(fields, 0, where);
  const std::int64_t pairs = count_pairs(settings.pairs);
  settings = make_pair_settings(fields, pairs, where);
  const Tokenizer words = tokenizer.empty() ? learn_joint_vocabulary(settings.pairs)
                                            : std::make_shared<text::HuggingFaceTokenizer>(tokenizer);
  set_vocabulary(settings.model, *words);
  settings.model.directory = beside;
  return prepare_with(settings, words, std::nullopt);
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
  const checkpoint::OpenedModel opened = checkpoint::open_model(checkpoint);
  settings.model = opened.encoder_decoder_config();
  models::EncoderDecoderConfig again = settings.model;
  formats::update_from_json(again, training::take_fields<models::EncoderDecoderConfig>(rest), "training");
  training::check_same(formats::to_json(settings.model), formats::to_json(again), {}, checkpoint / "config.json");
  require(rest.empty(), "no field of this task is called '", rest.empty() ? "" : rest.begin().key(), "'");
  choose_pair_length(settings, given);
  return prepare_with(settings, std::make_shared<text::HuggingFaceTokenizer>(checkpoint),
                      checkpoint::load_encoder_decoder(opened));
}

training::TrainResult train_pairs(const fs::path& run, const PreparedPairs& prepared) {
  return training::Trainer::start(run, prepared.settings.trainer, prepared.task).run();
}

training::TrainResult resume_pairs(const fs::path& path, const PreparedPairs& prepared) {
  return training::Trainer::resume(training::open_to_resume(path), prepared.settings.trainer, prepared.task).run();
}

}  // namespace weft::fine_tuning
