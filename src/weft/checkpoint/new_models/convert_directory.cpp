// SPDX-License-Identifier: Apache-2.0
// Each kind of model becomes another one in its own way; a file of patterns changes these alone.
#include "weft/checkpoint/new_models/convert_directory.h"

#include <array>
#include <optional>
#include <utility>

#include "weft/checkpoint/encoder_decoder/convert.h"
#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/checkpoint/new_models/family_attention.h"
#include "weft/checkpoint/new_models/new_directory.h"
#include "weft/checkpoint/patterns/encoder_decoder_with_attention.h"
#include "weft/checkpoint/patterns/encoder_with_attention.h"
#include "weft/checkpoint/sentence/sentence_directory.h"
#include "weft/checkpoint/sentence/write_cross_encoder.h"
#include "weft/checkpoint/tokenizer_files.h"
#include "weft/core/system/option_name.h"
#include "weft/core/work/watched_progress.h"
#include "weft/models/families/causal_rules.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/families.h"
#include "weft/models/families/pair_rules.h"
#include "weft/models/families/rows.h"
#include "weft/profile/prune/attention_file.h"
#include "weft/text/hugging_face.h"
#include "weft/text/tokenizer.h"

namespace weft::checkpoint {
namespace {

// "big_bird and littlebird: ", of families that have the field.
std::string of_families(std::string_view field, const char* about) {
  return concat(models::encoders_with(field), ": ", about);
}

// An encoder-decoder stays what it is but for what was given.
NewModel convert_pair(const ConvertRequest& request, const ConvertConfig& config, const OpenedModel& directory) {
  for (const char* name : {"block_size", "random_blocks", "latents"}) {
    require(!request.given.contains(name), "weft convert: ", option(name),
            " is for encoders, but the directory holds an encoder-decoder");
  }
  PairConvertOptions options;
  options.to = request.given.contains("to") ? config.to : "";
  options.length = request.given.contains("length") ? config.length : 0;
  options.attention = config.attention;
  options.attention_window =
      request.given.contains("attention_window") ? config.attention_window : std::vector<std::int64_t>{};
  const BusyBar bar("converting");
  const models::EncoderDecoder model = convert_encoder_decoder(load_encoder_decoder(directory), options);
  save_encoder_decoder(request.out, model, request.directory);
  if (options.length > 0) {
    fit_tokenizer(request.out, options.length, {});
  }
  return new_model(model);
}

// A decoder in Weft's form as transformers has it. Nothing of the model changes.
NewModel convert_decoder(const ConvertRequest& request, const models::Family& form, const OpenedModel& directory) {
  require(request.given.size() == 1, "weft convert: ", option("to"), " ", form.name,
          " changes nothing of a model: expected no other option");
  const BusyBar bar("converting");
  const models::LanguageModel model = load_model(directory);
  save_model_as(*form.causal, request.out, model, request.directory);
  return new_model(model, form.name);
}

// An encoder-decoder of any family with the patterns of weft prune or weft propose.
NewModel convert_pair_attention(const ConvertRequest& request, const profile::AttentionFile& file,
                                const OpenedModel& directory) {
  file.check_pair(directory.facts(Ability::kWrite));
  const auto list = [&](const char* name) { return file.patterns.find(name)->expressions; };
  const BusyBar bar("converting");
  const models::EncoderDecoder model = encoder_decoder_with_attention(
      load_encoder_decoder(directory),
      {list("encoder_attention"), list("decoder_attention"), list("cross_attention"), file.graphs()});
  save_encoder_decoder(request.out, model, request.directory);
  return new_model(model);
}

// What sentence-transformers put beside an encoder comes along, and what makes a cross-encoder's scores. `length`: of
// the longest text that the new model takes, where that is longer than the old one's.
void write_modules(const ConvertRequest& request, const OpenedModel& directory,
                   std::optional<SentenceDirectory> sentence, std::int64_t length) {
  if (is_cross_encoder(directory)) {
    const CrossEncoderSettings settings = read_cross_encoder(directory);
    if (!settings.where.empty()) {
      write_cross_encoder(request.out, settings);
    }
  }
  if (sentence) {
    sentence->max_seq_length = length > 0 ? length : sentence->max_seq_length;
    write_sentence_directory(request.out, *sentence);
  }
}

// An encoder of any family with the patterns of weft prune or weft propose.
NewModel convert_encoder_attention(const ConvertRequest& request, const profile::AttentionFile& file,
                                   const OpenedModel& directory) {
  const auto [layers, heads] = directory.facts(Ability::kRead).reads.stack;
  const auto& patterns = file.of_stack(layers, heads);
  const auto sentence = read_sentence_directory(directory.root());
  const BusyBar bar("converting");
  const models::EncoderModel model = encoder_with_attention(load_encoder(directory), patterns, file.patterns.directory);
  save_encoder(request.out, model, directory.path());
  write_modules(request, directory, sentence, 0);
  return new_model(model);
}

NewModel refuse_attention(const ConvertRequest&, const profile::AttentionFile&, const OpenedModel&) {
  fail(ErrorKind::kArgument, "weft convert: ", option("attention"),
       " @FILE is for encoders and encoder-decoders; `weft train ",
       "--attention @FILE` and `weft eval --attention @FILE` take the patterns of other models");
}

using ConvertAttention = NewModel (*)(const ConvertRequest& request, const profile::AttentionFile& file,
                                      const OpenedModel& directory);
constexpr std::array kOfAttention{Way<ConvertAttention>{Ability::kPredict, refuse_attention},
                                  Way<ConvertAttention>{Ability::kDraw, refuse_attention},
                                  Way<ConvertAttention>{Ability::kWrite, convert_pair_attention},
                                  Way<ConvertAttention>{Ability::kRead, convert_encoder_attention}};

NewModel convert_attention(const ConvertRequest& request, const profile::AttentionFile& file,
                           const OpenedModel& directory) {
  require(request.given.size() == 1, "weft convert: ", option("attention"),
          " @FILE changes nothing but the patterns: expected no ", "other option");
  const ConvertAttention convert = way_of(directory, kOfAttention);
  profile::warn_of_other_model(file, directory.path());
  return convert(request, file, directory);
}

// Fields of the new family that are given, or its tokeniser. Errors: UsageError for one that the new model does not
// read.
formats::Json given_settings(const formats::Json& given, const ConvertConfig& config,
                             const std::filesystem::path& tokenizer) {
  formats::Json settings = formats::Json::object();
  if (!models::is_family(config.to, models::FamilyKind::kEncoder)) {
    return settings;  // convert_encoder() says what it makes
  }
  models::EncoderConfig made = models::base_config(config.to);
  made.attention = config.attention;
  using Names = std::pair<const char*, const char*>;  // of a flag here and of a field there
  constexpr std::array kSettings{Names{"attention_window", "attention_window"}, Names{"block_size", "block_size"},
                                 Names{"random_blocks", "num_random_blocks"}, Names{"latents", "num_latents"}};
  for (const auto& [name, field] : kSettings) {
    if (given.contains(name)) {
      require_family_setting("weft convert", name, field, made);
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
NewModel convert_short_encoder(const ConvertRequest& request, const ConvertConfig& config,
                               const OpenedModel& directory) {
  ConvertOptions options;
  options.to = config.to;
  options.length = config.length;
  options.settings = given_settings(request.given, config, directory.path());
  options.attention = config.attention;
  const auto sentence = read_sentence_directory(directory.root());
  const BusyBar bar("converting");
  const models::EncoderModel source = load_encoder(directory);
  const models::EncoderModel model = convert_encoder(source, options);
  warn_of_attention_left(source->config(), model->config(), request.directory);
  warn_without_order(model->config());
  save_encoder(request.out, model, directory.path());
  write_modules(request, directory, sentence, config.length);
  fit_tokenizer(request.out, config.length, source->config().model_type);
  return new_model(model);
}

// The same encoder-decoder with its weights as int8.
NewModel int8_pair(const ConvertRequest& request, const OpenedModel& directory) {
  const models::EncoderDecoder model = load_encoder_decoder(directory, {.int8 = true});
  save_encoder_decoder(request.out, model, directory.path());
  return new_model(model);
}

// The same decoder, in the form that it has.
NewModel int8_decoder(const ConvertRequest& request, const OpenedModel& directory) {
  const models::LanguageModel model = load_model(directory, {.int8 = true});
  const models::CausalRules& form = predictor_rules(directory);
  if (&form == models::weft_family().causal) {
    save_model(request.out, model, *text::load_tokenizer(directory.path(), directory.json()));
  } else {
    save_model_as(form, request.out, model, directory.path());
    for (const models::RenamedFile& file : form.tokenizer_files) {
      copy_if_there(directory.path(), file.theirs, request.out);
    }
  }
  copy_if_there(directory.path(), "generation_config.json", request.out);
  return new_model(model, directory.facts().family);
}

// The same encoder, with what sentence-transformers put beside it.
NewModel int8_encoder(const ConvertRequest& request, const OpenedModel& directory) {
  const auto sentence = read_sentence_directory(directory.root());
  const models::EncoderModel model = load_encoder(directory, {.int8 = true});
  save_encoder(request.out, model, directory.path());
  write_modules(request, directory, sentence, 0);
  return new_model(model);
}

using Quantise = NewModel (*)(const ConvertRequest& request, const OpenedModel& directory);
// The last one is there for its error, which names models of all kinds.
constexpr std::array kQuantisations{
    Way<Quantise>{Ability::kWrite, int8_pair}, Way<Quantise>{Ability::kPredict, int8_decoder},
    Way<Quantise>{Ability::kDraw, int8_decoder}, Way<Quantise>{Ability::kRead, int8_encoder}};

NewModel convert_weights(const ConvertRequest& request, const OpenedModel& directory) {
  require(request.given.size() == 1, "weft convert: ", option("weights"),
          " int8 changes nothing but how the weights are stored: expected no other option");
  directory.need_floating(concat(option("weights"), " int8"));
  const BusyBar bar("converting");
  return way_of(directory, kQuantisations)(request, directory);
}

using Convert = NewModel (*)(const ConvertRequest& request, const ConvertConfig& config, const OpenedModel& directory);
constexpr std::array kConversions{Way<Convert>{Ability::kWrite, convert_pair},
                                  Way<Convert>{Ability::kRead, convert_short_encoder}};

}  // namespace

std::vector<std::string_view> conversion_targets() {
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

const ConvertHelp& convert_help() {
  static const ConvertHelp help{
      .window = concat(models::in_words(models::families_with("attention_window"), ", "), " and ",
                       models::pairs_with("attention_window"),
                       ": tokens of the window, half of them on each side: one number, or one for each layer; 512 of a "
                       "new model unless given"),
      .block = of_families("block_size", "tokens in a block"),
      .random = of_families("num_random_blocks", "random blocks that each block of queries attends to"),
      .latents = of_families("num_latents", "rows that each layer packs the text into")};
  return help;
}

NewModel convert_directory(const ConvertRequest& request) {
  ConvertConfig config;
  formats::update_from_json(config, request.given, "weft convert");
  require_no_model(request.out);
  const OpenedModel directory = open_model(request.directory);
  if (config.weights == "int8") {
    return convert_weights(request, directory);
  }
  directory.need_floating("another model");
  if (const std::optional<profile::AttentionFile> file = profile::attention_file(config.attention)) {
    return convert_attention(request, *file, directory);
  }
  const models::Family* const form = models::find_family(config.to);
  if (form != nullptr && form->causal != nullptr) {
    return convert_decoder(request, *form, directory);
  }
  return way_of(directory, kConversions)(request, config, directory);
}

}  // namespace weft::checkpoint
