// SPDX-License-Identifier: Apache-2.0
// One summary for programs, and rows of it for people.
#include "weft/cli/commands/sentence_summary.h"

#include <algorithm>
#include <string>

#include "weft/core/quote.h"
#include "weft/tasks/embedding/recipe.h"

namespace weft::cli {
namespace {

using formats::Json;

std::int64_t longest_text(const checkpoint::SentenceDirectory& sentence, std::int64_t positions) {
  return sentence.max_seq_length > 0 ? std::min(sentence.max_seq_length, positions) : positions;
}

}  // namespace

std::optional<Json> sentence_summary(const checkpoint::OpenedModel& directory) {
  const auto sentence = checkpoint::read_sentence_directory(directory.root());
  if (!sentence) {
    return std::nullopt;
  }
  const checkpoint::ReadingFacts facts = directory.facts(checkpoint::Ability::kRead).reads;
  Json summary{{"model_type", sentence->library_class},
               {"max_length", longest_text(*sentence, facts.longest)},
               {"do_lower_case", sentence->do_lower_case},
               {"prompts", Json::object()},
               {"default_prompt_name", Json(nullptr)}};
  for (const auto& [name, text] : sentence->prompts) {
    summary["prompts"][name] = text;
  }
  if (!sentence->default_prompt_name.empty()) {
    summary["default_prompt_name"] = sentence->default_prompt_name;
  }
  if (!sentence->is_cross_encoder()) {
    const tasks::EmbedRecipe recipe =
        tasks::make_recipe(sentence, facts.width, {}, quote(directory.root().native(), 4096));
    summary["modules"] = "Transformer, " + checkpoint::modules_text(sentence->modules);
    summary["embedding"] = tasks::applied(recipe);
    summary["similarity"] = sentence->similarity;
  }
  return summary;
}

Rows sentence_rows(const Json& summary) {
  Rows rows;
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

}  // namespace weft::cli
