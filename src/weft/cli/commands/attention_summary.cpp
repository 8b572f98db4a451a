// SPDX-License-Identifier: Apache-2.0
// The mechanism itself says what it computes; a survey of a pattern at a length gives its density.
#include "weft/cli/commands/attention_summary.h"

#include "weft/attention/mechanisms/caution.h"
#include "weft/cli/output.h"
#include "weft/core/error.h"
#include "weft/inspect/survey/survey.h"
#include "weft/models/encoder_model.h"
#include "weft/models/stack/stack_config.h"

namespace weft::cli {
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

std::string row_suffix(const std::vector<AttentionSummary>& summaries, const AttentionSummary& summary) {
  return summaries.size() == 1 ? "" : ", " + layer_range(summary);
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
  const models::StackConfig decoder = models::decoder_stack(config);
  std::vector<LayerAttention> cross;
  cross.reserve(decoder.blocks.size());
  for (const layers::BlockConfig& block : decoder.blocks) {
    cross.push_back({block.cross_attention, layers::cross_site_of(block)});
  }
  return {summarize_attention(models::encoder_stack(config, {}).blocks, config.max_source_positions),
          summarize_attention(decoder.blocks, config.max_target_positions), summarize(cross, 0)};
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
    const std::string name = row_suffix(summaries, summary);
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

Rows attention_rows(const PairAttentionSummary& summary, const models::EncoderDecoderConfig& config) {
  Rows rows;
  const auto add = [&](const std::string& prefix, const Rows& more) {
    for (const auto& [name, value] : more) {
      rows.emplace_back(prefix + name, value);
    }
  };
  add("encoder ", attention_rows(summary.encoder, config.max_source_positions));
  add("decoder ", attention_rows(summary.decoder, config.max_target_positions));
  add("cross-", attention_rows(summary.cross, 0));
  return rows;
}

Rows caution_rows(const std::vector<AttentionSummary>& summaries) {
  Rows rows;
  for (const AttentionSummary& summary : summaries) {
    if (!summary.caution.empty()) {
      rows.emplace_back("note" + row_suffix(summaries, summary), summary.caution);
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
