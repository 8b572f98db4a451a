// SPDX-License-Identifier: Apache-2.0
// The mechanism itself says what it computes; a survey of a pattern at a length gives its density.
#include "weft/tasks/card/attention_summary.h"

#include "weft/attention/mechanisms/caution.h"
#include "weft/core/error.h"
#include "weft/inspect/survey/survey.h"
#include "weft/models/encoder_model.h"
#include "weft/models/families/pair_rules.h"
#include "weft/models/stack/stack_config.h"

namespace weft::tasks {
namespace {

// Nothing for what is no pattern, and where a random graph draws so many keys a row that counting them would take long.
std::optional<Density> density(const std::optional<pattern::Pattern>& pattern, const attention::MechanismSite& at,
                               std::size_t layers, std::int64_t length) {
  if (!pattern || pattern->needs_input() || length <= 0) {
    return std::nullopt;
  }
  pattern::Site site;
  site.query_length = length;
  site.key_length = length;
  site.heads = at.heads;
  site.layer = at.layer;
  site.maximum_length = at.maximum_length;
  pattern->check(site);
  try {
    const double questions = inspect::kSurveyQuestions / static_cast<double>(layers);
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

/// An attention of a layer: its mechanism string, and where it computes.
struct LayerAttention {
  const std::string& expression;
  attention::MechanismSite site;
};

std::vector<AttentionSummary> summarize(const std::vector<LayerAttention>& layers, std::int64_t length) {
  std::vector<AttentionSummary> summaries;
  for (const auto& [expression, site] : layers) {
    const attention::MechanismSpec given = attention::parse_mechanism(expression, site.directory);
    const attention::MechanismSpec effective = attention::at_site(given, site);
    const std::optional<Density> share = density(effective.pattern, site, layers.size(), length);
    // Neighbours that print alike and count alike are one row; `layer` in an expression makes them differ.
    if (!summaries.empty() && summaries.back().effective == effective.description &&
        summaries.back().density == share) {
      summaries.back().last_layer = site.layer;
      continue;
    }
    AttentionSummary summary{site.layer, site.layer, given.description, effective.description, share, {}, {}, {}};
    summary.caution = attention::caution_of(given, site);
    if (const auto flops = attention::forward_operations(effective, site, length); flops && length > 0) {
      summary.flops = *flops * static_cast<double>(site.heads);
      summary.share_of_full = *summary.flops / full_flops(site, length);
    }
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

}  // namespace

std::vector<AttentionSummary> summarize_attention(const std::vector<layers::BlockConfig>& blocks, std::int64_t length) {
  std::vector<LayerAttention> found;
  found.reserve(blocks.size());
  for (const layers::BlockConfig& block : blocks) {
    if (!block.attention.empty()) {  // a block of its own kind has no mechanism
      found.push_back({block.attention, layers::site_of(block)});
    }
  }
  return summarize(found, length);
}

std::vector<AttentionSummary> summarize_attention(const models::TransformerConfig& config, std::int64_t length) {
  return summarize_attention(models::stack_config(config).blocks, length);
}

PairAttentionSummary summarize_attention(const models::EncoderDecoderConfig& config) {
  const models::PairBlueprint plan = models::blueprint(config, {});
  std::vector<LayerAttention> cross;
  cross.reserve(plan.decoder.blocks.size());
  for (const layers::BlockConfig& block : plan.decoder.blocks) {
    cross.push_back({block.cross_attention, layers::cross_site_of(block)});
  }
  return {summarize_attention(plan.encoder.blocks, config.max_source_positions),
          summarize_attention(plan.decoder.blocks, config.max_target_positions), summarize(cross, 0)};
}

std::string layer_range(const AttentionSummary& summary) {
  if (summary.first_layer == summary.last_layer) {
    return concat("layer ", summary.first_layer);
  }
  return concat("layers ", summary.first_layer, "-", summary.last_layer);
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

}  // namespace weft::tasks
