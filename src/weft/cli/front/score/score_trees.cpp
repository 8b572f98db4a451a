// SPDX-License-Identifier: Apache-2.0
// A tree a line; a true tree that is none is an error only where a linear tree needs its words.
#include "weft/cli/front/score/score_trees.h"

#include <iostream>
#include <string>

#include "weft/cli/front/failure.h"
#include "weft/cli/front/output.h"
#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/metrics/parsing/evalb.h"
#include "weft/readers/trees/linear_tree.h"
#include "weft/readers/trees/tree.h"

namespace weft::cli {
namespace {

using formats::Json;
using metrics::EvalbSums;

double share(std::int64_t part, std::int64_t whole, double scale) {
  return whole == 0 ? 0.0 : scale * static_cast<double>(part) / static_cast<double>(whole);
}

Json sums_json(const EvalbSums& sums) {
  constexpr double kPercent = 100;
  return {{"sentences", sums.sentences},
          {"errors", sums.errors},
          {"skipped", sums.skipped},
          {"recall", sums.recall()},
          {"precision", sums.precision()},
          {"f1", sums.f1()},
          {"f1_of_all", sums.f1_of_all()},
          {"complete_match", share(sums.complete, sums.valid(), kPercent)},
          {"average_crossing", share(sums.crossing, sums.valid(), 1)},
          {"no_crossing", share(sums.without_crossing, sums.valid(), kPercent)},
          {"two_or_less_crossing", share(sums.with_two_crossing, sums.valid(), kPercent)},
          {"tagging_accuracy", share(sums.tags, sums.words, kPercent)}};
}

void print_sums(const std::string& title, const EvalbSums& sums) {
  Rows rows;
  const Json figures = sums_json(sums);
  for (const auto& [name, value] : figures.items()) {
    rows.emplace_back(name,
                      value.is_number_integer() ? digits(value.get<std::int64_t>()) : fixed(value.get<double>(), 2));
  }
  std::cout << title << '\n' << name_table(rows);
}

}  // namespace

void score_parse(const ScoreFlags& flags) {
  const ScoreConfig config = flags.config("weft score parse");
  ParseScoreConfig options;
  formats::update_from_json(options, flags.metric_given, "weft score parse");
  if (flags.files.size() != 2) {
    throw UsageError("weft score parse compares two files, found " + std::to_string(flags.files.size()));
  }
  metrics::EvalbScorer scorer({.dropped = options.drop, .longest = options.longest});
  visit_rows(flags, config, [&](const ScoreRow& row) {
    if (!options.linear) {
      scorer.add(row.texts[0], row.texts[1]);
      return;
    }
    const readers::Tree truth = readers::parse_tree(row.texts[1], concat(flags.name_of(1), ", beside ", row.where));
    scorer.add(readers::tree_text(readers::tree_of_linear(row.texts[0], truth)), row.texts[1]);
  });
  const metrics::EvalbReport& report = scorer.report();
  if (report.all.sentences > 0 && report.all.valid() == 0) {
    log_warning("none of the ", report.all.sentences, " sentences is scored: ", report.all.errors, " are errors and ",
                report.all.skipped, " are skipped; each line of both files must be a tree in brackets with the same ",
                "words, and --linear takes linear trees in the first");
  }
  if (flags.json) {
    Json json = sums_json(report.all);
    json["up_to_longest"] = sums_json(report.up_to_longest);
    json["longest"] = options.longest;
    print_json(json);
    return;
  }
  print_sums("all sentences", report.all);
  print_sums(concat("true trees of at most ", options.longest, " words"), report.up_to_longest);
}

}  // namespace weft::cli
