// SPDX-License-Identifier: Apache-2.0
// `weft convert`: a long encoder out of a BERT or RoBERTa checkpoint, and encoder-decoders that read longer sources or
// attend to them otherwise.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "weft/checkpoint/encoder_decoder/convert.h"
#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/checkpoint/patterns/encoder_decoder_with_attention.h"
#include "weft/checkpoint/patterns/encoder_with_attention.h"
#include "weft/checkpoint/sentence/sentence_directory.h"
#include "weft/checkpoint/sentence/write_cross_encoder.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/model_argument.h"
#include "weft/cli/front/output.h"
#include "weft/cli/new_models/family_attention.h"
#include "weft/cli/new_models/new_directory.h"
#include "weft/cli/new_models/print_new_model.h"
#include "weft/core/work/watched_progress.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/families.h"
#include "weft/models/families/pair_rules.h"
#include "weft/profile/prune/attention_file.h"
#include "weft/text/hugging_face.h"

namespace weft::cli {
namespace {

using checkpoint::Ability;
using checkpoint::Way;

constexpr const char* kConvertExamples =
    "  weft convert roberta-base --to longformer --length 4096 --out roberta-longformer-4096\n"
    "  weft convert bert-base-uncased --to big_bird --length 4096 --block-size 64 --out bert-bigbird-4096\n"
    "  weft convert bert-base-uncased --to littlebird --length 8192 --out bert-littlebird-8192\n"
    "  weft convert roberta-base --to etc --length 4096 --out roberta-etc-4096\n"
    "  weft convert roberta-base --attention linear --length 8192 --out roberta-linear-8192\n"
    "  weft convert ModernBERT-base --to modernbert --attention 'full => window(1024) | global(1)' --length 32768 "
    "--out "
    "modern-32k\n"
    "  weft convert bart-base --to led --length 16384 --out led-base-16384\n"
    "  weft convert opus-mt-de-en --attention \"window(128) | global(1)\" --out long-de-en\n"
    "  weft convert bert-base-uncased --attention @prune.json --out pruned-bert\n"
    "  weft convert run --to transfo-xl --out transformer-xl\n"
    "  weft convert run --to reformer --out reformer\n"
    "  weft train --task mlm --model roberta-longformer-4096 --train-text books/train --steps 3000 --out trained";

// The families that models of others become, in the order of the list.
std::vector<std::string_view> targets() {
  std::vector<std::string_view> names;
  for (const models::Family* family : models::families()) {
    const bool adapts = (family->encoder != nullptr && family->encoder->is_made()) ||
                        (family->pair != nullptr && family->pair->adapt != nullptr);
    const bool takes_own = family->causal != nullptr && !models::is_family(family->name, models::FamilyKind::kOwn);
    if (adapts || takes_own) {
      names.push_back(family->name);
    }
  }
  return names;
}

// "big_bird and littlebird: ", of families that have the field.
std::string of_families(std::string_view field, const char* about) {
  return concat(models::encoders_with(field), ": ", about);
}

struct ConvertConfig {
  std::string to = std::string(targets().front());
  std::int64_t length = 4096;
  std::vector<std::int64_t> attention_window = {512};
  std::int64_t block_size = 64;
  std::int64_t random_blocks = 3;
  std::int64_t latents = 64;
  std::vector<std::string> attention = {};

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = ConvertConfig;
    visit(Field{
        "to", &C::to,
        "family of the new model; led out of a bart, transfo-xl out of what weft train --variant transformer-xl made, "
        "reformer out of what weft train --residual reversible made"}
              .one_of(targets()));
    visit(Field{"length", &C::length, "longest text of the new model, in tokens"}.range(1, 1 << 24));
    static const std::string window =
        concat(models::in_words(models::families_with("attention_window"), ", "), " and ",
               models::pairs_with("attention_window"),
               ": tokens of the window, half of them on each side: one number, or one for each layer; 512 of a new "
               "model unless given");
    static const std::string block = of_families("block_size", "tokens in a block");
    static const std::string random =
        of_families("num_random_blocks", "random blocks that each block of queries attends to");
    static const std::string latents = of_families("num_latents", "rows that each layer packs the text into");
    visit(Field{"attention_window", &C::attention_window, window});
    visit(Field{"block_size", &C::block_size, block}.range(1, 1 << 16));
    visit(Field{"random_blocks", &C::random_blocks, random}.range(0, 1 << 16));
    visit(Field{"latents", &C::latents, latents}.range(1, 4096));
    visit(Field{"attention", &C::attention,
                "mechanism or pattern to use instead of the family's: one, or one for each layer; 'A => B' in layers "
                "that have A; @FILE of weft prune or weft propose makes the same model with these patterns"});
  }
};

struct ConvertCommand {
  std::string directory;
  std::string out;
  formats::Json given = formats::Json::object();
  bool json = false;
};

// An encoder-decoder stays what it is but for what was given.
void convert_pair(const ConvertCommand& command, const ConvertConfig& config,
                  const checkpoint::OpenedModel& directory) {
  for (const char* name : {"block_size", "random_blocks", "latents"}) {
    require(
        !command.given.contains(name), "weft convert: ", [&] { return flag_name(name); },
        " is for encoders, but the directory holds an encoder-decoder");
  }
  checkpoint::PairConvertOptions options;
  options.to = command.given.contains("to") ? config.to : "";
  options.length = command.given.contains("length") ? config.length : 0;
  options.attention = config.attention;
  options.attention_window =
      command.given.contains("attention_window") ? config.attention_window : std::vector<std::int64_t>{};
  std::optional<BusyBar> bar("converting");
  const models::EncoderDecoder model =
      checkpoint::convert_encoder_decoder(checkpoint::load_encoder_decoder(directory), options);
  checkpoint::save_encoder_decoder(command.out, model, command.directory);
  if (options.length > 0) {
    fit_tokenizer(command.out, options.length, {});
  }
  bar.reset();
  print_new_model(command.out, model, command.json);
}

// A decoder in Weft's form as transformers has it. Nothing of the model changes.
void convert_decoder(const ConvertCommand& command, const models::Family& form,
                     const checkpoint::OpenedModel& directory) {
  require(command.given.size() == 1, "weft convert: --to ", form.name,
          " changes nothing of a model: expected no other option");
  std::optional<BusyBar> bar("converting");
  const models::LanguageModel model = checkpoint::load_model(directory);
  checkpoint::save_model_as(*form.causal, command.out, model, command.directory);
  bar.reset();
  print_new_model(command.out, model, form.name, command.json);
}

// An encoder-decoder of any family with the patterns of weft prune or weft propose.
void convert_pair_attention(const ConvertCommand& command, const profile::AttentionFile& file,
                            const checkpoint::OpenedModel& directory) {
  file.check_pair(directory.facts(Ability::kWrite));
  const auto list = [&](const char* name) { return file.patterns.find(name)->expressions; };
  std::optional<BusyBar> bar("converting");
  const models::EncoderDecoder model = checkpoint::encoder_decoder_with_attention(
      checkpoint::load_encoder_decoder(directory),
      {list("encoder_attention"), list("decoder_attention"), list("cross_attention"), file.graphs()});
  checkpoint::save_encoder_decoder(command.out, model, command.directory);
  bar.reset();
  print_new_model(command.out, model, command.json);
}

// What sentence-transformers put beside an encoder comes along, and what makes a cross-encoder's scores. `length`: of
// the longest text that the new model takes, where that is longer than the old one's.
void write_modules(const ConvertCommand& command, const checkpoint::OpenedModel& directory,
                   std::optional<checkpoint::SentenceDirectory> sentence, std::int64_t length) {
  if (checkpoint::is_cross_encoder(directory)) {
    const checkpoint::CrossEncoderSettings settings = checkpoint::read_cross_encoder(directory);
    if (!settings.where.empty()) {
      checkpoint::write_cross_encoder(command.out, settings);
    }
  }
  if (sentence) {
    sentence->max_seq_length = length > 0 ? length : sentence->max_seq_length;
    checkpoint::write_sentence_directory(command.out, *sentence);
  }
}

// An encoder of any family with the patterns of weft prune or weft propose.
void convert_encoder_attention(const ConvertCommand& command, const profile::AttentionFile& file,
                               const checkpoint::OpenedModel& directory) {
  const auto [layers, heads] = directory.facts(Ability::kRead).reads.stack;
  const auto& patterns = file.of_stack(layers, heads);
  const auto sentence = checkpoint::read_sentence_directory(directory.root());
  std::optional<BusyBar> bar("converting");
  const models::EncoderModel model =
      checkpoint::encoder_with_attention(checkpoint::load_encoder(directory), patterns, file.patterns.directory);
  checkpoint::save_encoder(command.out, model, directory.path());
  write_modules(command, directory, sentence, 0);
  bar.reset();
  print_new_model(command.out, model, command.json);
}

void refuse_attention(const ConvertCommand&, const profile::AttentionFile&, const checkpoint::OpenedModel&) {
  fail(ErrorKind::kArgument, "weft convert: --attention @FILE is for encoders and encoder-decoders; `weft train ",
       "--attention @FILE` and `weft eval --attention @FILE` take the patterns of other models");
}

using ConvertAttention = void (*)(const ConvertCommand& command, const profile::AttentionFile& file,
                                  const checkpoint::OpenedModel& directory);
constexpr std::array kOfAttention{Way<ConvertAttention>{Ability::kPredict, refuse_attention},
                                  Way<ConvertAttention>{Ability::kDraw, refuse_attention},
                                  Way<ConvertAttention>{Ability::kWrite, convert_pair_attention},
                                  Way<ConvertAttention>{Ability::kRead, convert_encoder_attention}};

void convert_attention(const ConvertCommand& command, const profile::AttentionFile& file,
                       const checkpoint::OpenedModel& directory) {
  require(command.given.size() == 1, "weft convert: --attention @FILE changes nothing but the patterns: expected no ",
          "other option");
  const ConvertAttention convert = way_of(directory, kOfAttention);
  profile::warn_of_other_model(file, directory.path());
  convert(command, file, directory);
}

// Fields of the new family that flags give, or its tokeniser. Errors: UsageError for a flag that the new model does not
// read.
formats::Json given_settings(const formats::Json& given, const ConvertConfig& config,
                             const std::filesystem::path& tokenizer) {
  formats::Json settings = formats::Json::object();
  if (!models::is_family(config.to, models::FamilyKind::kEncoder)) {
    return settings;  // checkpoint::convert_encoder() says what it makes
  }
  models::EncoderConfig made = models::base_config(config.to);
  made.attention = config.attention;
  using Names = std::pair<const char*, const char*>;  // of a flag here and of a field there
  constexpr std::array kSettings{Names{"attention_window", "attention_window"}, Names{"block_size", "block_size"},
                                 Names{"random_blocks", "num_random_blocks"}, Names{"latents", "num_latents"}};
  for (const auto& [name, field] : kSettings) {
    if (given.contains(name)) {
      require_family_setting("weft convert", flag_name(name), field, made);
      settings[field] = given.at(name);
    }
  }
  // A model that stays of its family keeps what it has.
  const models::EncoderRules& rules = models::encoder_rules(config.to);
  if (rules.fit != nullptr && rules.adapt != nullptr) {
    models::update_fields(made, settings, "weft convert");
    rules.fit(made, text::HuggingFaceTokenizer(tokenizer), settings);
    made.own.each([&](const FieldRule& rule, const auto& value) { settings[std::string(rule.name)] = value; });
  }
  return settings;
}

// From a bert or roberta.
void convert_short_encoder(const ConvertCommand& command, const ConvertConfig& config,
                           const checkpoint::OpenedModel& directory) {
  checkpoint::ConvertOptions options;
  options.to = config.to;
  options.length = config.length;
  options.settings = given_settings(command.given, config, directory.path());
  options.attention = config.attention;
  const auto sentence = checkpoint::read_sentence_directory(directory.root());
  std::optional<BusyBar> bar("converting");
  const models::EncoderModel source = checkpoint::load_encoder(directory);
  const models::EncoderModel model = checkpoint::convert_encoder(source, options);
  warn_of_attention_left(source->config(), model->config(), command.directory);
  warn_without_order(model->config());
  checkpoint::save_encoder(command.out, model, directory.path());
  write_modules(command, directory, sentence, config.length);
  fit_tokenizer(command.out, config.length, source->config().model_type);
  bar.reset();
  print_new_model(command.out, model, command.json);
}

using Convert = void (*)(const ConvertCommand& command, const ConvertConfig& config,
                         const checkpoint::OpenedModel& directory);
constexpr std::array kConversions{Way<Convert>{Ability::kWrite, convert_pair},
                                  Way<Convert>{Ability::kRead, convert_short_encoder}};

void run_convert(const ConvertCommand& command) {
  ConvertConfig config;
  formats::update_from_json(config, command.given, "weft convert");
  require_no_model(command.out);
  const checkpoint::OpenedModel directory = checkpoint::open_model(command.directory);
  if (const std::optional<profile::AttentionFile> file = profile::attention_file(config.attention)) {
    convert_attention(command, *file, directory);
    return;
  }
  const models::Family* const form = models::find_family(config.to);
  if (form != nullptr && form->causal != nullptr) {
    convert_decoder(command, *form, directory);
    return;
  }
  way_of(directory, kConversions)(command, config, directory);
}

}  // namespace

void add_convert(CLI::App& parent) {
  auto command = std::make_shared<ConvertCommand>();
  CLI::App& app = add_command(parent, "convert", kConvertExamples);
  add_model_argument(app, "DIR", command->directory,
                     "model directory of a BERT, a RoBERTa or an encoder-decoder, which stays as it is")
      .required();
  app.add_option("--out", command->out, "model directory to make")->option_text("OUT")->required();
  add_fields<ConvertConfig>(app, {.title = "Options"}, command->given);
  add_json_flag(app, command->json);
  app.callback([command] { run_convert(*command); });
}

}  // namespace weft::cli
