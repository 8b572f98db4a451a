// SPDX-License-Identifier: Apache-2.0
// A row is named after its layers where not all layers are alike.
#include "weft/report/attention_rows.h"

#include <string>

#include "weft/core/error.h"
#include "weft/core/text/number_text.h"

namespace weft::report {
namespace {

using tasks::AttentionSummary;
using tasks::PairAttentionSummary;

std::string row_suffix(const std::vector<AttentionSummary>& summaries, const AttentionSummary& summary) {
  return summaries.size() == 1 ? "" : ", " + layer_range(summary);
}

}  // namespace

NamedValues attention_rows(const std::vector<AttentionSummary>& summaries, std::int64_t length) {
  NamedValues rows;
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

NamedValues attention_rows(const PairAttentionSummary& summary, const models::EncoderDecoderConfig& config) {
  NamedValues rows;
  const auto add = [&](const std::string& prefix, const NamedValues& more) {
    for (const auto& [name, value] : more) {
      rows.emplace_back(prefix + name, value);
    }
  };
  add("encoder ", attention_rows(summary.encoder, config.max_source_positions));
  add("decoder ", attention_rows(summary.decoder, config.max_target_positions));
  add("cross-", attention_rows(summary.cross, 0));
  return rows;
}

NamedValues caution_rows(const std::vector<AttentionSummary>& summaries) {
  NamedValues rows;
  for (const AttentionSummary& summary : summaries) {
    if (!summary.caution.empty()) {
      rows.emplace_back("note" + row_suffix(summaries, summary), summary.caution);
    }
  }
  return rows;
}

}  // namespace weft::report
