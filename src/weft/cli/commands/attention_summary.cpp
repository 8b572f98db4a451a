// SPDX-License-Identifier: Apache-2.0
// The mechanism itself says what it computes; where that is a pattern, compiling it at a length gives the density.
#include "weft/cli/commands/attention_summary.h"

#include "weft/attention/mechanism.h"
#include "weft/cli/output.h"
#include "weft/core/error.h"
#include "weft/pattern/pattern.h"
#include "weft/pattern/survey/survey.h"

namespace weft::cli {
namespace {

// Nothing for a mechanism that is no pattern, "performer(...)" say.
std::optional<pattern::Pattern> as_pattern(const std::string& expression, const std::filesystem::path& directory) {
  try {
    return pattern::Pattern::parse(expression, directory);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Nothing, too, where a random graph draws so many keys a row that counting them would take long.
std::optional<Density> density(const std::string& effective, const models::TransformerConfig& config,
                               std::int64_t layer, std::int64_t length) {
  const std::optional<pattern::Pattern> pattern = as_pattern(effective, config.directory);
  if (!pattern || pattern->needs_input() || length <= 0) {
    return std::nullopt;
  }
  pattern::Site site;
  site.query_length = length;
  site.key_length = length;
  site.heads = config.num_attention_heads;
  site.layer = layer;
  site.maximum_length = config.max_position_embeddings;
  pattern->check(site);
  try {
    const double questions = pattern::kSurveyQuestions / static_cast<double>(config.num_hidden_layers);
    const pattern::LayoutSurvey survey = survey_layout(*pattern, site, {}, questions);
    return Density{survey.layout.density, survey.sampled > 0};
  } catch (const Error&) {
    return std::nullopt;
  }
}

attention::MechanismSite site_of(const models::TransformerConfig& config, std::int64_t layer) {
  attention::MechanismSite site;
  site.heads = config.num_attention_heads;
  site.head_dim = config.head_dim();
  site.layer = layer;
  site.maximum_length = config.max_position_embeddings;
  site.causal = config.is_decoder;
  site.directory = config.directory;
  return site;
}

}  // namespace

std::vector<AttentionSummary> summarize_attention(const models::TransformerConfig& config, std::int64_t length) {
  std::vector<AttentionSummary> summaries;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const std::string& given = config.attention_of(layer);
    const std::string effective = attention::make_attention(given, site_of(config, layer))->description();
    const std::optional<Density> share = density(effective, config, layer, length);
    // Neighbours that print alike and count alike are one row; `layer` in an expression makes them differ.
    if (!summaries.empty() && summaries.back().effective == effective && summaries.back().density == share) {
      summaries.back().last_layer = layer;
      continue;
    }
    const std::optional<pattern::Pattern> pattern = as_pattern(given, config.directory);
    summaries.push_back({layer, layer, pattern ? pattern->to_string() : given, effective, share});
  }
  return summaries;
}

std::string layer_range(const AttentionSummary& summary) {
  if (summary.first_layer == summary.last_layer) {
    return concat("layer ", summary.first_layer);
  }
  return concat("layers ", summary.first_layer, "-", summary.last_layer);
}

Rows attention_rows(const std::vector<AttentionSummary>& summaries, std::int64_t length) {
  Rows rows;
  for (const AttentionSummary& summary : summaries) {
    const std::string name = summaries.size() == 1 ? "" : ", " + layer_range(summary);
    rows.emplace_back("attention" + name, summary.effective);
    if (summary.density) {
      rows.emplace_back("density" + name,
                        concat(summary.density->estimated ? "about " : "", percent(summary.density->share),
                               " of all pairs at ", digits(length), " tokens"));
    }
  }
  return rows;
}

formats::Json attention_json(const std::vector<AttentionSummary>& summaries) {
  formats::Json json = formats::Json::array();
  for (const AttentionSummary& summary : summaries) {
    formats::Json entry = {{"layers", {summary.first_layer, summary.last_layer}},
                           {"expression", summary.expression},
                           {"effective", summary.effective}};
    entry["density"] = summary.density ? formats::Json(summary.density->share) : formats::Json(nullptr);
    json.push_back(std::move(entry));
  }
  return json;
}

}  // namespace weft::cli
