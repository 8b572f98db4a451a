// SPDX-License-Identifier: Apache-2.0
// Rows of what a card says, and of the config where a model was trained here.
#include "weft/report/card_rows.h"

#include <algorithm>
#include <array>
#include <string>

#include "weft/checkpoint/model_directory.h"
#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"
#include "weft/core/text/number_text.h"
#include "weft/report/attention_rows.h"

namespace weft::report {
namespace {

using checkpoint::Ability;
using checkpoint::Way;
using formats::Json;

void append(NamedValues& rows, const NamedValues& more) { rows.insert(rows.end(), more.begin(), more.end()); }

NamedValues attention_rows_of(const tasks::Card& card) {
  NamedValues rows;
  for (const tasks::CardAttention& part : card.attention) {
    for (const auto& [name, value] : attention_rows(part.layers, part.length)) {
      rows.emplace_back(part.name + name, value);
    }
  }
  return rows;
}

NamedValues predictor_rows(const checkpoint::OpenedModel& directory, const tasks::Card& card) {
  NamedValues rows = model_rows(checkpoint::load_config(directory), card.json.at("parameters").get<std::int64_t>());
  append(rows, attention_rows_of(card));
  return rows;
}

std::string stack_text(const Json& stack) {
  const auto number = [&](const char* name) { return stack.at(name).get<std::int64_t>(); };
  return concat(counted(number("layers"), "layer"), ", ", counted(number("heads"), "head"), ", feed-forward ",
                digits(number("feed_forward")), ", ", digits(number("positions")), " tokens");
}

NamedValues writer_rows(const checkpoint::OpenedModel&, const tasks::Card& card) {
  const Json& summary = card.json;
  const auto number = [](const Json& value) { return digits(value.get<std::int64_t>()); };
  const auto text = [&](const char* name) { return summary.at(name).get<std::string>(); };
  const Json& ids = summary.at("vocabulary");
  NamedValues rows = {
      {"model", concat(text("family"), " encoder-decoder, ", number(summary.at("parameters")), " parameters")},
      {"width", number(summary.at("width"))},
      {"encoder", stack_text(summary.at("encoder"))},
      {"decoder", stack_text(summary.at("decoder"))},
      {"vocabulary", ids.at("source") == ids.at("target") ? concat(number(ids.at("source")), " ids")
                                                          : concat(number(ids.at("source")), " ids of the source, ",
                                                                   number(ids.at("target")), " of the target")},
      {"tables", text("tables")}};
  append(rows, attention_rows_of(card));
  // What else the encoder would compute comes last, under the names that results have.
  for (const auto& [name, value] : summary.items()) {
    if (value.is_string() && name != "family" && name != "kind" && name != "tables" && name != "attention") {
      rows.emplace_back(name, value.get<std::string>());
    }
  }
  return rows;
}

std::string labels_text(const Json& labels) {
  return joined(labels, ", ", [](const Json& label) { return label.get<std::string>(); });
}

NamedValues sentence_rows(const Json& summary) {
  NamedValues rows;
  const auto text = [](const Json& value) { return value.get<std::string>(); };
  if (summary.contains("embedding")) {
    const Json& embedding = summary["embedding"];
    rows.emplace_back("modules", text(summary["modules"]));
    rows.emplace_back("embeddings", concat(digits(embedding["dimensions"].get<std::int64_t>()), " numbers",
                                           embedding["normalized"].get<bool>() ? " of length 1" : "", ", compared by ",
                                           text(summary["similarity"])));
  } else {
    rows.emplace_back("modules", text(summary["model_type"]));
  }
  rows.emplace_back("texts", concat("at most ", digits(summary["max_length"].get<std::int64_t>()), " tokens at once",
                                    summary["do_lower_case"].get<bool>() ? ", lowercased" : ""));
  std::string prompts;
  for (const auto& [name, prompt] : summary["prompts"].items()) {
    prompts += concat(prompts.empty() ? "" : ", ", quote(name),
                      summary["default_prompt_name"] == name ? " (default)" : "", " ", quote(text(prompt)));
  }
  if (!prompts.empty()) {
    rows.emplace_back("prompts", prompts);
  }
  return rows;
}

NamedValues reader_rows(const checkpoint::OpenedModel&, const tasks::Card& card) {
  const Json& summary = card.json;
  const auto number = [&](const char* name) { return digits(summary.at(name).get<std::int64_t>()); };
  const auto count = [&](const char* name, const char* noun) {
    return counted(summary.at(name).get<std::int64_t>(), noun);
  };
  NamedValues rows = {
      {"model", concat(summary.at("family").get<std::string>(), " encoder, ", number("parameters"), " parameters")},
      {"head", summary.at("head").get<std::string>()},
      {"shape", concat(count("layers", "layer"), ", width ", number("width"), ", ", count("heads", "head"),
                       ", feed-forward ", number("feed_forward"))},
      {"positions", number("positions") + " tokens"},
      {"vocabulary", concat(number("vocabulary"), " ids, ",
                            summary.at("tokenizer").get<bool>() ? "with a tokeniser" : "no tokeniser's files")}};
  if (!summary.at("labels").empty()) {
    rows.emplace_back("labels", labels_text(summary["labels"]));
  }
  if (const auto rerank = summary.find("rerank"); rerank != summary.end()) {
    const auto activation = rerank->at("activation").get<std::string>();
    rows.emplace_back("reranks", concat("texts for a query (weft rerank); ",
                                        activation.substr(activation.rfind('.') + 1), " makes scores of logits"));
  }
  // What the model would compute comes last, under the names that results have.
  for (const auto& [name, value] : summary.items()) {
    if (value.is_string() && name != "family" && name != "kind" && name != "head") {
      rows.emplace_back(name, value.get<std::string>());
    }
  }
  if (const auto sentence = summary.find("sentence_transformers"); sentence != summary.end()) {
    append(rows, sentence_rows(*sentence));
  }
  return rows;
}

using MakeRows = NamedValues (*)(const checkpoint::OpenedModel& directory, const tasks::Card& card);
constexpr std::array kRows{Way<MakeRows>{Ability::kPredict, predictor_rows},
                           Way<MakeRows>{Ability::kDraw, predictor_rows}, Way<MakeRows>{Ability::kWrite, writer_rows},
                           Way<MakeRows>{Ability::kRead, reader_rows}};

}  // namespace

NamedValues model_rows(const models::TransformerConfig& config, std::int64_t parameters) {
  const std::string kind = config.is_decoder ? "decoder" : "encoder";
  return {{"model", concat("weft ", kind, ", ", digits(parameters), " parameters")},
          {"shape", concat(counted(config.num_hidden_layers, "layer"), ", width ", config.hidden_size, ", ",
                           counted(config.num_attention_heads, "head"), ", feed-forward ", config.feed_forward_size(),
                           " (", config.hidden_act, ")")},
          {"positions",
           concat(config.position_embedding, ", made for ", digits(config.max_position_embeddings), " tokens")},
          {"vocabulary", concat(config.tokenizer_class, ", ", digits(config.vocab_size), " ids")}};
}

NamedValues card_rows(const checkpoint::OpenedModel& directory, const tasks::Card& card) {
  NamedValues rows = way_of(directory, kRows)(directory, card);
  const auto says_so = [](const auto& row) { return row.first == "weights"; };
  if (directory.holds_int8() && std::none_of(rows.begin(), rows.end(), says_so)) {
    rows.emplace_back("weights", "int8");
  }
  return rows;
}

}  // namespace weft::report
