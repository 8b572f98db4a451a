// SPDX-License-Identifier: Apache-2.0
// `weft init`: a randomly initialised model directory of any shape, for measurements, tests and training from scratch.
#include <algorithm>
#include <memory>
#include <optional>

#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/model_kind.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/model_argument.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/short_help.h"
#include "weft/cli/new_models/encoder_fields.h"
#include "weft/cli/new_models/family_attention.h"
#include "weft/cli/new_models/init_pair.h"
#include "weft/cli/new_models/new_directory.h"
#include "weft/cli/new_models/print_new_model.h"
#include "weft/core/quote.h"
#include "weft/core/work/watched_progress.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/json/encoder_json.h"
#include "weft/models/families/replaced_attention.h"
#include "weft/text/hugging_face.h"

namespace weft::cli {
namespace {

constexpr const char* kInitExamples =
    "  weft init --family big_bird --out bigbird-base\n"
    "  weft init --family longformer --head question-answering --tokenizer roberta-base --num-hidden-layers 2 --out "
    "small\n"
    "  weft init --config bert-base-uncased/config.json --head sequence-classification --labels bad good --out fresh\n"
    "  weft init --family etc --tokenizer bert-base-uncased --out etc-base\n"
    "  weft init --family marian --d-model 512 --encoder-layers 6 --decoder-layers 6 --out fresh-marian\n"
    "  weft init --encoder bigbird-roberta-base --decoder-layers 6 --out bigbird-start\n"
    "  weft train --task classify --model fresh --train-data train.tsv --out run";

struct InitConfig {
  std::string head = "masked-lm";
  std::vector<std::string> labels;
  std::int64_t seed = 0;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = InitConfig;
    visit(Field{"head", &C::head, "head on top of the encoder"}.one_of(models::head_names()));
    visit(Field{"labels", &C::labels, "names of a classifier's labels, in the order of their ids"});
    visit(Field{"seed", &C::seed, "random seed of the weights"}.at_least(0));
  }
};

struct InitCommand {
  std::string family;
  std::string config;
  std::string encoder;
  std::string tokenizer;
  std::string out;
  formats::Json given = formats::Json::object();
  formats::Json shape = formats::Json::object();
  bool json = false;
};

void check_family(const std::string& family) {
  const auto is_one = [&](const auto& types) { return std::find(types.begin(), types.end(), family) != types.end(); };
  require(family.empty() || is_one(models::kEncoderTypes) || is_one(models::kEncoderDecoderTypes),
          "weft init: --family must be one of ", models::encoder_types(", "), ", ",
          models::types_in_words(models::kEncoderDecoderTypes, " or "), ", found ", Quoted(family));
}

// A config.json, or the directory that holds one.
std::filesystem::path config_file(const InitCommand& command) {
  std::filesystem::path file = command.config;
  if (!std::filesystem::exists(file)) {
    checkpoint::check_model_directory(file);  // says how to get one
  }
  if (std::filesystem::is_directory(file)) {
    file /= "config.json";
    check_stays_within(command.config, file);
  }
  return file;
}

// What --config names, else the family's base size.
models::EncoderConfig first_config(const InitCommand& command) {
  if (command.config.empty()) {
    return models::base_config(command.family.empty() ? models::EncoderConfig().model_type : command.family);
  }
  const std::filesystem::path file = config_file(command);
  formats::Json json = formats::read_json(named_by_user(file));
  if (!command.family.empty() && json.is_object()) {
    json["model_type"] = command.family;
  }
  models::EncoderConfig config = models::encoder_config_from_json(json, quote(file.native(), 4096));
  require(models::is_family(config.model_type, models::FamilyKind::kEncoder),
          "weft init: --config must be that of one of ", models::encoder_types(", "), ", found ",
          Quoted(config.model_type));
  // Files that the command line names lie in the working directory.
  config.directory = command.shape.contains("attention") ? std::filesystem::path() : file.parent_path();
  return config;
}

// Sizes and ids that the tokeniser knows, where they were not given.
void fit_vocabulary(models::EncoderConfig& config, const text::HuggingFaceTokenizer& tokenizer,
                    const formats::Json& given) {
  if (!given.contains("vocab_size")) {
    config.vocab_size = tokenizer.vocabulary_size();
  }
  const auto take = [&](const char* name, std::int64_t& id, text::SpecialRole role) {
    if (!given.contains(name)) {
      id = tokenizer.special(role).value_or(id);
    }
  };
  take("pad_token_id", config.pad_token_id, text::SpecialRole::kPadding);
  take("sep_token_id", config.sep_token_id, text::SpecialRole::kSeparator);
  if (const models::EncoderRules& rules = models::encoder_rules(config); rules.fit != nullptr) {
    rules.fit(config, tokenizer, given);
  }
}

// A flag that the model does not read.
void check_shape_flags(const formats::Json& shape, const models::EncoderConfig& config) {
  for (const auto& [name, value] : shape.items()) {
    require_family_setting("weft init", flag_name(name), name, config);
  }
}

void init_pair(const InitCommand& command, std::int64_t seed) {
  for (const char* name : {"head", "labels"}) {
    require(
        !command.given.contains(name), "weft init: ", [&] { return flag_name(name); },
        " is for encoders, but an encoder-decoder was asked for");
  }
  const std::filesystem::path file = command.config.empty() ? std::filesystem::path() : config_file(command);
  std::optional<BusyBar> bar("making the model");
  const models::EncoderDecoder model =
      make_pair({command.family, file, command.encoder, command.tokenizer, command.shape, seed});
  checkpoint::save_encoder_decoder(command.out, model, command.tokenizer.empty() ? command.encoder : command.tokenizer,
                                   checkpoint::FilesTaken::kTokenizer);
  bar.reset();
  print_new_model(command.out, model, command.json);
}

void run_init(const InitCommand& command) {
  InitConfig init;
  formats::update_from_json(init, command.given, "weft init");
  require_no_model(command.out);
  require(command.encoder.empty() || (command.family.empty() && command.config.empty()),
          "weft init: --encoder decides family and shape; leave --family and --config out");
  if (!command.encoder.empty() && !command.tokenizer.empty()) {
    throw UsageError("--tokenizer cannot go with --encoder, whose embeddings belong to its own tokeniser",
                     "leave --tokenizer out: the encoder's is copied");
  }
  check_family(command.family);
  if (!command.encoder.empty() ||
      asks_for_pair(command.family, command.config.empty() ? std::filesystem::path() : config_file(command))) {
    init_pair(command, init.seed);
    return;
  }
  models::EncoderConfig config = first_config(command);
  if (!command.tokenizer.empty()) {
    checkpoint::check_model_directory(command.tokenizer);
    fit_vocabulary(config, text::HuggingFaceTokenizer(command.tokenizer), command.shape);
  }
  models::update_fields(config, command.shape, "weft init");
  check_shape_flags(command.shape, config);
  if (!init.labels.empty()) {
    config.id2label = init.labels;
  }
  models::list_attention(config);
  models::validate(config, "weft init");
  std::optional<BusyBar> bar("making the model");
  const models::EncoderModel model =
      models::make_encoder(config, models::parse_head(init.head), static_cast<std::uint64_t>(init.seed));
  warn_without_order(config);
  checkpoint::save_encoder(command.out, model, command.tokenizer);
  bar.reset();
  print_new_model(command.out, model, command.json);
}

}  // namespace

void add_init(CLI::App& parent) {
  auto command = std::make_shared<InitCommand>();
  CLI::App& app = add_command(parent, "init", kInitExamples);
  app.add_option("--family", command->family,
                 concat(models::encoder_types(", "), ", or of encoder-decoders ",
                        models::types_in_words(models::kEncoderDecoderTypes, ", "),
                        ", at the size that transformers gives it; flags below change that"))
      ->option_text("NAME");
  app.add_option("--config", command->config,
                 "config.json, or a directory that has one, whose shape is taken; flags below change it")
      ->option_text("FILE");
  add_model_argument(app, "--encoder", command->encoder,
                     "directory of an encoder whose weights start both sides of an encoder-decoder, with fresh "
                     "cross-attention; one whose layers cannot is refused")
      .option_text("DIR");
  add_model_argument(
      app, "--tokenizer", command->tokenizer,
      "directory whose tokeniser is copied; its vocabulary decides vocab_size and the ids of special tokens",
      hub::Need::kTokenizer)
      .option_text("DIR");
  app.add_option("--out", command->out, "model directory to make")->option_text("OUT")->required();
  add_fields<InitConfig>(app, {.title = "Options"}, command->given);
  add_encoder_fields(
      app,
      {.title = "Shape (defaults are those of bert; --family and --config have others)", .left_out = {"model_type"}},
      command->shape);
  add_fields<models::EncoderDecoderConfig>(
      app,
      {.title = "Shape of encoder-decoders, beside the flags of the same names", .left_out = pair_fields_left_out()},
      command->shape);
  add_pair_own_fields(app, {.title = "Shape of some encoder-decoders"}, command->shape);
  add_json_flag(app, command->json);
  show_first(app, {.flags = {"--family",
                             "--config",
                             "--encoder",
                             "--tokenizer",
                             "--head",
                             "--labels",
                             "--seed",
                             "--vocab-size",
                             "--hidden-size",
                             "--num-hidden-layers",
                             "--num-attention-heads",
                             "--intermediate-size",
                             "--max-position-embeddings",
                             "--attention",
                             "--d-model",
                             "--encoder-layers",
                             "--decoder-layers",
                             "--max-source-positions",
                             "--max-target-positions",
                             "--json"}});
  app.callback([command] { run_init(*command); });
}

}  // namespace weft::cli
