// SPDX-License-Identifier: Apache-2.0
// Where a served model looks while it reads one text, or writes one: what the page of `weft attention` shows, as JSON.
#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include <c10/core/InferenceMode.h>

#include "weft/core/error.h"
#include "weft/requests/request_cost.h"
#include "weft/requests/task_schemas.h"
#include "weft/service/served_model.h"
#include "weft/tasks/profile/observed_layers.h"
#include "weft/tasks/viewer/row_lists.h"
#include "weft/viewer/page.h"

namespace weft::service {
namespace {

constexpr std::size_t kLongestViewed = 1 << 17;                    // bytes of a text
constexpr std::int64_t kMostViewedBytes = std::int64_t{16} << 20;  // of the rows of all heads

struct AttentionParameters {
  std::vector<std::int64_t> layers;
  std::vector<std::int64_t> heads;
  std::int64_t cells = 128;
  std::int64_t top = 8;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = AttentionParameters;
    visit(Field{"layers", &C::layers, "layers to show, counted from 0; without it all"});
    visit(Field{"heads", &C::heads, "heads of each layer to show, counted from 0; without it all"});
    visit(Field{"cells", &C::cells, "cells of a picture on each side, at most"}.range(1, 256));
    visit(Field{"top", &C::top, "keys to list for each row, the strongest first; 0 for none"}.range(0, 32));
  }
};

void require_shown(const formats::Json& data) {
  if (data["parts"].empty()) {
    fail(ErrorKind::kUnsupported, "no layer has weights to show: ",
         data["unseen"].empty() ? "the model has no attention" : data["unseen"].front().get<std::string>());
  }
}

tasks::AttentionView view_of_document(const ViewOfText& view_of, const tasks::Document& document,
                                      const tasks::ViewOptions& options) {
  try {
    return view_of(document, options);
  } catch (const tasks::TextTooLong& error) {
    refuse_length(error, error.hint());
  }
}

formats::Json viewed(const ViewOfText& view_of, const tasks::Document& document, const tasks::ViewOptions& options) {
  tasks::AttentionView view = view_of_document(view_of, document, options);
  tasks::shorten_lists(view, kMostViewedBytes);
  formats::Json data = viewer::attention_data(view);
  require_shown(data);
  return data;
}

void require_texts(const server::Text& text, SecondText second) {
  require(second != SecondText::kNeeded || text.second.has_value(),
          "the model reads a source and writes a target: 'inputs' must be {\"text\", \"text_pair\"}, the source and "
          "the target");
  const std::size_t bytes = text.first.size() + text.second.value_or("").size();
  if (bytes > kLongestViewed) {
    refuse_length({concat("'inputs' has ", bytes, " bytes; expected at most ", kLongestViewed), {}},
                  "`weft attention` takes longer texts");
  }
}

// Heads of a layer, by its number.
using HeadsOfLayers = std::multimap<std::int64_t, std::int64_t>;

HeadsOfLayers heads_of_layers(const torch::nn::Module& model) {
  HeadsOfLayers heads;
  for (const tasks::ObservedLayer& layer : tasks::observed_layers(model)) {
    heads.emplace(layer.site().layer, layer.site().heads);
  }
  return heads;
}

std::int64_t heads_shown(const HeadsOfLayers& all, const AttentionParameters& asked) {
  std::int64_t shown = 0;
  for (const auto& [layer, heads] : all) {
    const bool is_shown = asked.layers.empty() || std::ranges::find(asked.layers, layer) != asked.layers.end();
    const std::int64_t wanted = asked.heads.empty() ? heads : std::min(heads, std::ssize(asked.heads));
    shown += is_shown ? wanted : 0;
  }
  return shown;
}

server::Work attention_work(const std::string& name, SecondText second, const HeadsOfLayers& heads,
                            const ViewOfText& view_of, const server::Request& request) {
  const formats::Json body = server::json_object(request);
  requests::require_known_members(body, {"inputs", "parameters"});
  const auto parameters = requests::read_parameters<AttentionParameters>(body);
  require(second != SecondText::kNone || !body.contains("inputs") || !body["inputs"].is_object(),
          "the model reads one text: 'inputs' must be a string");
  requests::TextInputs inputs = requests::read_texts(body, "inputs", requests::kText, requests::kTextPair);
  require(!inputs.list, "'inputs' is a list; expected one text, or {\"text\", \"text_pair\"}");
  require_texts(inputs.texts.front(), second);
  const tasks::ViewOptions options{
      .layers = parameters.layers, .heads = parameters.heads, .cells = parameters.cells, .top = parameters.top};
  server::Work work;
  work.group = concat(name, "/attention", formats::to_json(parameters).dump());
  work.cost = requests::view_cost(inputs.texts.front(), heads_shown(heads, parameters), parameters.cells,
                                  parameters.top, kMostViewedBytes);
  work.texts = std::move(inputs.texts);
  work.compute = [view_of, options](std::span<const server::Text> texts) {
    const c10::InferenceMode plain_state(false);  // other work may go on behind this
    std::vector<formats::Json> results;
    for (const tasks::Document& document : named_documents(texts)) {
      results.push_back(viewed(view_of, document, options));
    }
    return results;
  };
  work.finish = [](std::vector<formats::Json> results) { return std::move(results.front()); };
  return work;
}

server::Operation attention_operation(SecondText second) {
  const formats::Json pair = server::object_schema(
      {{"text", requests::text_schema()}, {"text_pair", requests::text_schema()}},
      second == SecondText::kNeeded ? std::vector<std::string>{"text", "text_pair"} : std::vector<std::string>{"text"});
  const formats::Json inputs = second == SecondText::kNone     ? requests::text_schema()
                               : second == SecondText::kNeeded ? pair
                                                               : server::any_schema({requests::text_schema(), pair});
  return {.summary = "Where the model looks while it reads a text: the data of the page of `weft attention`.",
          .body = server::object_schema(
              {{"inputs", inputs}, {"parameters", server::object_schema(server::properties_of<AttentionParameters>())}},
              {"inputs"}),
          .answer = server::open_object_schema({{"texts", {{"type", "object"}}},
                                                {"scales", {{"type", "object"}}},
                                                {"parts", server::array_schema({{"type", "object"}})},
                                                {"unseen", server::array_schema(requests::text_schema())}},
                                               {"texts", "scales", "parts", "unseen"})};
}

}  // namespace

std::optional<ServedTask> attention_task(const torch::nn::Module& model, const std::string& name, SecondText second,
                                         ViewOfText view_of) {
  if (!tasks::why_none_observed(model).empty()) {
    return std::nullopt;
  }
  const auto handle = [name, second, heads = heads_of_layers(model),
                       view_of = std::move(view_of)](const server::Request& request) -> server::Answer {
    return attention_work(name, second, heads, view_of, request);
  };
  return ServedTask{handle, attention_operation(second)};
}

}  // namespace weft::service
