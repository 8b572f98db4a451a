// SPDX-License-Identifier: Apache-2.0
// The mechanism itself says what it computes; a survey of a pattern at a length gives its density.
#include "weft/cli/commands/attention_summary.h"

#include "weft/attention/mechanisms/caution.h"
#include "weft/cli/output.h"
#include "weft/core/error.h"
#include "weft/inspect/survey/survey.h"
#include "weft/models/stack/stack_config.h"

namespace weft::cli {
namespace {

// Nothing for what is no pattern, and where a random graph draws so many keys a row that counting them would take long.
std::optional<Density> density(const std::optional<pattern::Pattern>& pattern, const models::TransformerConfig& config,
                               std::int64_t layer, std::int64_t length) {
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
    const double questions = inspect::kSurveyQuestions / static_cast<double>(config.num_hidden_layers);
    const inspect::LayoutSurvey survey = inspect::survey_layout(*pattern, site, {}, questions);
    return Density{survey.layout.density, survey.sampled > 0};
  } catch (const Error&) {
    return std::nullopt;
  }
}

// All pairs, two products of a multiplication and an addition.
double full_flops(const attention::MechanismSite& site, std::int64_t length) {
  const auto tokens = static_cast<double>(length);
  return 4 * tokens * tokens * static_cast<double>(site.heads * site.head_dim);
}

}  // namespace

std::vector<AttentionSummary> summarize_attention(const models::TransformerConfig& config, std::int64_t length) {
  std::vector<AttentionSummary> summaries;
  for (const layers::BlockConfig& block : models::stack_config(config).blocks) {
    const std::int64_t layer = block.layer;
    const attention::MechanismSpec given = attention::parse_mechanism(block.attention, config.directory);
    const attention::MechanismSite site = layers::site_of(block);
    const attention::MechanismSpec effective = attention::at_site(given, site);
    const std::optional<Density> share = density(effective.pattern, config, layer, length);
    // Neighbours that print alike and count alike are one row; `layer` in an expression makes them differ.
    if (!summaries.empty() && summaries.back().effective == effective.description &&
        summaries.back().density == share) {
      summaries.back().last_layer = layer;
      continue;
    }
    AttentionSummary summary{layer, layer, given.description, effective.description, share, {}, {}, {}};
    summary.caution = attention::caution_of(given);
    if (const auto flops = attention::forward_operations(effective, site, length); flops && length > 0) {
      summary.flops = *flops * static_cast<double>(site.heads);
      summary.share_of_full = *summary.flops / full_flops(site, length);
    }
    summaries.push_back(std::move(summary));
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
    if (summary.flops) {
      rows.emplace_back("cost" + name, concat(with_unit(*summary.flops, "FLOP"), " a layer at ", digits(length),
                                              " tokens, ", percent(*summary.share_of_full), " of full attention"));
    }
    if (!summary.caution.empty()) {
      rows.emplace_back("note" + name, summary.caution);
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
    entry["flops"] = summary.flops ? formats::Json(*summary.flops) : formats::Json(nullptr);
    if (!summary.caution.empty()) {
      entry["note"] = summary.caution;
    }
    json.push_back(std::move(entry));
  }
  return json;
}

}  // namespace weft::cli
