// SPDX-License-Identifier: Apache-2.0
// `generate` of decoders, in the shape of huggingface_hub's text generation: {"inputs", "parameters"} in,
// [{"generated_text"}] out, or its pieces as they come.
#include <algorithm>
#include <memory>
#include <utility>

#include <c10/core/InferenceMode.h>

#include "weft/checkpoint/model_directory.h"
#include "weft/checkpoint/open_model.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/generation/continue_text.h"
#include "weft/generation/settings/read_settings.h"
#include "weft/requests/request_cost.h"
#include "weft/requests/task_schemas.h"
#include "weft/server/http_error.h"
#include "weft/service/memory_account.h"
#include "weft/service/served_model.h"
#include "weft/tasks/encoder_settings.h"
#include "weft/tasks/viewer/view_text.h"
#include "weft/training/precision.h"

namespace weft::service {
namespace {

using formats::Json;

struct ServedDecoder {
  models::LanguageModel model{nullptr};
  std::unique_ptr<generation::LanguageModelDecoder> decoder;
  std::unique_ptr<text::Tokenizer> tokenizer;
  generation::GenerationConfig usual;     // the settings of the directory
  generation::GenerationConfig searches;  // the same where a request asks for beams
  std::string name;
  std::string products;          // what float32 weights are multiplied in: float32 or bfloat16
  std::int64_t most_texts = 0;   // that one request may write at once: each has a state of its own
  std::int64_t most_tokens = 0;  // of these texts together, for which the model's account has room
};

struct GenerateMembers {
  bool return_full_text = false;
  std::vector<std::string> stop;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = GenerateMembers;
    visit(Field{"return_full_text", &C::return_full_text, "put the prompt before the text"});
    visit(Field{"stop", &C::stop, "texts that end the text where they come; the same as stop_strings"});
  }
};

// Bytes that are no UTF-8 as U+FFFD, as the command prints them.
std::string printable(const std::string& text) {
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

struct GenerateRequest {
  requests::TextInputs inputs;
  GenerateMembers members;
  generation::GenerationConfig config;
};

// The parameters over the settings of the directory.
generation::GenerationConfig config_of(const ServedDecoder& served, Json parameters, const GenerateMembers& members) {
  require(members.stop.empty() || !parameters.contains("stop_strings"),
          "parameters: 'stop' and 'stop_strings' are the same; give one");
  parameters.erase("return_full_text");
  parameters.erase("stop");
  if (!members.stop.empty()) {
    parameters["stop_strings"] = members.stop;
  }
  const bool beams = parameters.contains("num_beams");
  const generation::GenerationConfig config =
      generation::settings_over(beams ? served.searches : served.usual, parameters, "parameters");
  for (const auto& [name, value] :
       {std::pair("num_beams", config.num_beams), std::pair("num_return_sequences", config.num_return_sequences)}) {
    require(value <= served.most_texts, "parameters: ", name, " must be at most ", served.most_texts,
            " (max_batch_texts), found ", value);
  }
  generation::check_ids(config, served.model->config().vocab_size, [](std::string_view) { return "parameters"; });
  return config;
}

GenerateRequest read_generate(const ServedDecoder& served, const Json& body) {
  requests::require_known_members(body, {"inputs", "parameters", "stream"});
  GenerateRequest request{.inputs = requests::read_texts(body, "inputs")};
  for (const server::Text& text : request.inputs.texts) {
    require(!text.first.empty(), "a prompt must have at least one byte");
  }
  const Json& parameters = requests::parameters_of(body);
  formats::update_from_json(request.members, formats::only_fields_of<GenerateMembers>(parameters), "parameters");
  request.config = config_of(served, parameters, request.members);
  return request;
}

std::int64_t new_tokens(const generation::GenerationConfig& config) {
  return config.max_new_tokens >= 0 ? config.max_new_tokens : std::max<std::int64_t>(config.max_length, 1);
}

std::int64_t texts_at_once(const generation::GenerationConfig& config) {
  return std::max(config.num_beams, config.num_return_sequences);
}

server::Cost cost_of_request(const ServedDecoder& served, const GenerateRequest& request) {
  const std::int64_t room = served.most_tokens / texts_at_once(request.config);
  return requests::generate_cost(request.inputs.texts, request.config.num_return_sequences,
                                 std::min(new_tokens(request.config), room), request.members.return_full_text);
}

[[noreturn]] void refuse_tokens(const ServedDecoder& served, std::int64_t texts, const std::string& found) {
  throw server::HttpError(
      server::status::kTooLarge, "too_large",
      concat(found, "; ", served.name, " has memory for ", served.most_tokens / texts, " in each of ", texts,
             " texts at once (max_batch_texts: more texts, and more tokens of one)"));
}

// A model without a longest text goes on for as long as it has memory by its account. What it would have written behind
// that is an error, and no shorter text.
class RoomForTokens {
 public:
  RoomForTokens(const ServedDecoder& served, const std::string& prompt, const generation::GenerationConfig& config)
      : served_(served), texts_(texts_at_once(config)), config_(config) {
    if (served.decoder->longest()) {
      return;
    }
    const std::int64_t tokens = std::ssize(served.tokenizer->encode(prompt));
    const std::int64_t room = served.most_tokens / texts_ - tokens;
    if (room < 1) {
      refuse_tokens(served, texts_, concat("the prompt has ", tokens, " tokens"));
    }
    const bool counts_prompt = config.max_new_tokens < 0;
    is_short_ = new_tokens(config) > room + (counts_prompt ? tokens : 0);
    if (is_short_ && counts_prompt) {
      config_.max_length = room + tokens;
    } else if (is_short_) {
      config_.max_new_tokens = room;
    }
  }

  const generation::GenerationConfig& config() const { return config_; }

  void check(const generation::Sequence& text) const {
    if (is_short_ && text.reason == generation::FinishReason::kLength) {
      refuse_tokens(served_, texts_, "the text has not ended");
    }
  }

 private:
  const ServedDecoder& served_;
  std::int64_t texts_;
  generation::GenerationConfig config_;
  bool is_short_ = false;
};

// One prompt's texts, its pieces handed on with its number.
Json generate_one(const ServedDecoder& served, const GenerateRequest& request, std::size_t index,
                  const server::Listener& listener) {
  const std::string& prompt = request.inputs.texts[index].first;
  const training::AutocastGuard autocast(served.products);
  const generation::ContinuationListener takes{
      .takes =
          [&](const std::string& piece) {
            return piece.empty() ? listener.waits() : listener.send({{"index", index}, {"text", printable(piece)}});
          },
      .waits = listener.waits};
  const RoomForTokens room(served, prompt, request.config);
  Json texts = Json::array();
  for (const generation::Sequence& text :
       generation::continue_text(*served.decoder, *served.tokenizer, prompt, room.config(), takes)) {
    room.check(text);
    texts.push_back({{"generated_text",
                      printable((request.members.return_full_text ? prompt : "") + served.tokenizer->decode(text.ids))},
                     {"finish_reason", generation::finish_reason(text.reason)}});
  }
  return texts;
}

server::Work generate_work(const std::shared_ptr<ServedDecoder>& served, const server::Request& request) {
  const Json body = server::json_object(request);
  const bool streams = requests::wants_pieces(body) || request.takes_events;
  GenerateRequest asked = read_generate(*served, body);
  require(!streams || generation::comes_in_pieces(asked.config),
          "parameters: a text comes in pieces where it is the only one: num_beams and num_return_sequences must be 1");
  server::Work work{.group = served->name + "/generate", .texts = asked.inputs.texts, .streams = streams};
  work.cost = cost_of_request(*served, asked);
  work.run = [served, asked = std::move(asked)](const server::Listener& listener) {
    const c10::InferenceMode plain_state(false);  // other work may go on behind this
    Json all = Json::array();
    for (std::size_t i = 0; i < asked.inputs.texts.size() && listener.waits(); ++i) {
      all.push_back(generate_one(*served, asked, i, listener));
    }
    return asked.inputs.list || all.empty() ? all : Json(all.front());
  };
  return work;
}

server::Operation generate_operation(const ServedDecoder& served) {
  Json parameters = server::properties_of(served.usual);
  parameters.update(server::properties_of<GenerateMembers>());
  for (const char* name : {"num_beams", "num_return_sequences"}) {
    parameters[name]["maximum"] = served.most_texts;
  }
  const Json text =
      server::object_schema({{"generated_text", requests::text_schema()}, {"finish_reason", requests::text_schema()}},
                            {"generated_text", "finish_reason"});
  const Json texts = server::array_schema(text);
  return {.summary = "Goes on from prompts.",
          .body = server::object_schema({{"inputs", server::one_or_list_schema({{"type", "string"}, {"minLength", 1}})},
                                         {"parameters", server::object_schema(parameters)},
                                         {"stream", requests::stream_schema()}},
                                        {"inputs"}),
          .answer = server::any_schema({texts, server::array_schema(texts)}),
          .piece = server::object_schema({{"index", requests::integer_schema()}, {"text", requests::text_schema()}},
                                         {"index", "text"})};
}

}  // namespace

ServedModel serve_decoder(const std::string& name, const checkpoint::OpenedModel& directory,
                          const ServeSettings& settings) {
  const auto served = std::make_shared<ServedDecoder>();
  served->name = name;
  served->most_texts = settings.batch.rows;
  served->usual = generation::read_settings(directory, generation::language_model_defaults());
  generation::GenerationConfig searches = generation::language_model_defaults();
  searches.do_sample = false;
  served->searches = generation::read_settings(directory, searches);
  const tasks::EncoderSettings numbers = tasks::decoder_settings(settings.encoder, directory.path());
  served->most_tokens = written_together(directory.facts(checkpoint::Ability::kContinue), numbers, settings.batch.rows);
  served->products = numbers.products;
  served->model = checkpoint::load_model(directory, tasks::decoder_options(numbers));
  served->decoder = std::make_unique<generation::LanguageModelDecoder>(served->model);
  served->tokenizer = checkpoint::load_tokenizer(directory);
  ServedModel model{.name = name, .kind = "decoder"};
  model.tasks["generate"] = {
      [served](const server::Request& request) -> server::Answer { return generate_work(served, request); },
      generate_operation(*served)};
  model.attention = attention_task(
      *served->model, name, SecondText::kNone, [served](const tasks::Document& document, tasks::ViewOptions options) {
        options.products = served->products;
        return tasks::view_text(served->model, *served->tokenizer, document.first, options);
      });
  return model;
}

}  // namespace weft::service
