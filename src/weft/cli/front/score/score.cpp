// SPDX-License-Identifier: Apache-2.0
// `weft score`: metrics of texts against references, each printed as its reference program prints it.
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "weft/cli/front/commands/table.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/score/alignment_figures.h"
#include "weft/cli/front/score/paired_bleu.h"
#include "weft/cli/front/score/question_scores.h"
#include "weft/cli/front/score/score_texts.h"
#include "weft/cli/front/score/score_trees.h"
#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/metrics/simplification/sari.h"
#include "weft/metrics/summary/rouge.h"
#include "weft/metrics/translation/alignment_error.h"
#include "weft/metrics/translation/bleu.h"
#include "weft/metrics/translation/chrf.h"
#include "weft/metrics/translation/code_points.h"

namespace weft::cli {
namespace {

using formats::Json;
using metrics::BootstrapInterval;

constexpr const char* kBleuExamples =
    "  weft score bleu output.en reference.en\n"
    "  weft score bleu output.en first.en second.en.gz --confidence --json\n"
    "  weft score bleu new.en reference.en --baseline old.en";
constexpr const char* kChrfExamples =
    "  weft score chrf output.cs reference.cs\n"
    "  weft score chrf output.cs reference.cs --word-order 2 --confidence";
constexpr const char* kRougeExamples =
    "  weft score rouge summaries.txt references.txt\n"
    "  weft score rouge summaries.jsonl references.jsonl --text-field summary --json\n"
    "  weft score rouge found.jsonl papers.jsonl --reference-field abstract";
constexpr const char* kParseExamples =
    "  weft score parse parser.out dev.gold --linear --drop ROOT\n"
    "  weft score parse dev.right dev.gold --drop ROOT --json";
constexpr const char* kAerExamples =
    "  weft score aer found.pharaoh gold.pharaoh\n"
    "  weft score aer found.pharaoh gold.pharaoh --reference-from-one --json";
constexpr const char* kSariExamples =
    "  weft score sari simple.txt reference.0 reference.1 --source original.txt --json";

std::optional<BootstrapInterval> interval_if(const ScoreConfig& config, const auto& scorer) {
  return config.confidence ? std::optional(scorer.interval(config.samples)) : std::nullopt;
}

// "32.45 (μ = 32.40 ± 0.51)", as sacrebleu writes it.
std::string score_with(double score, const std::optional<BootstrapInterval>& interval) {
  const std::string text = fixed(score, 2);
  return interval && interval->mean > 0
             ? concat(text, " (μ = ", fixed(interval->mean, 2), " ± ", fixed(interval->half_width, 2), ")")
             : text;
}

void add_interval(Json& json, const std::optional<BootstrapInterval>& interval) {
  if (interval) {
    json["confidence_mean"] = interval->mean;
    json["confidence_var"] = interval->half_width;
  }
}

// sacrebleu's word on text that is in tokens already, which BLEU would cut once more.
void warn_of_tokens(std::int64_t ends, const std::string& words) {
  constexpr std::int64_t kManyEnds = 100;
  if (ends >= kManyEnds && words != "none") {
    log_warning(ends,
                " hypotheses end in ' .': BLEU is for text as people write it, not for tokens; --words none takes "
                "words as they are");
  }
}

// `add` of a row; its errors say which.
template <typename Add>
void add_row(const ScoreRow& row, const Add& add) {
  try {
    add();
  } catch (const Error& error) {
    throw Error(error.kind(), concat(row.where, " or the reference there: ", error.what()), error.hint());
  }
}

// One scorer over all texts, or a new one for each; `print` shows it.
template <typename Make, typename Print>
void score_rows(const ScoreFlags& flags, const ScoreConfig& config, const Make& make, const Print& print) {
  auto all = make();
  visit_rows(flags, config, [&](const ScoreRow& row) {
    if (!config.sentence_level) {
      add_row(row, [&] { all.add(row.texts.front(), row.references()); });
      return;
    }
    auto one = make();
    add_row(row, [&] { one.add(row.texts.front(), row.references()); });
    print(one);
  });
  if (!config.sentence_level) {
    print(all);
  }
}

void print_bleu(const metrics::BleuScorer& scorer, const ScoreConfig& config, bool as_json, const Json& paired = {}) {
  const metrics::BleuScore score = scorer.score();
  const std::optional<BootstrapInterval> interval = interval_if(config, scorer);
  const std::string signature = scorer.signature(config.confidence ? config.samples : 0);
  if (!as_json) {
    std::cout << "BLEU|" << signature << " = " << score_with(score.score, interval) << ' ' << score.verbose() << '\n';
    if (!paired.empty()) {
      std::cout << "baseline " << fixed(paired.at("baseline_score").get<double>(), 2) << ", difference "
                << fixed(paired.at("difference").get<double>(), 2)
                << ", p = " << fixed(paired.at("p_value").get<double>(), 4) << " (paired bootstrap, " << config.samples
                << " samples)\n";
    }
    return;
  }
  Json json = {{"name", "BLEU"},
               {"score", score.score},
               {"signature", signature},
               {"verbose_score", score.verbose()},
               {"precisions", score.precisions},
               {"brevity_penalty", score.brevity_penalty},
               {"hypothesis_length", score.hypothesis_length},
               {"reference_length", score.reference_length}};
  add_interval(json, interval);
  json.update(paired.empty() ? Json::object() : paired);
  print_json(json);
}

// Counts lines that end in a token.
struct CountedBleu {
  metrics::BleuScorer scorer;
  std::int64_t* ends;

  void add(const std::string& hypothesis, std::span<const std::string> references) {
    scorer.add(hypothesis, references);
    *ends += hypothesis.ends_with(" .") ? 1 : 0;
  }
};

// Two systems on the same references: the baseline is a file more behind the hypotheses.
void compare_bleu(const ScoreFlags& flags, const ScoreConfig& config, const metrics::BleuOptions& options,
                  const std::string& other) {
  if (config.sentence_level) {
    throw UsageError("--baseline compares two systems over all texts, and --sentence-level is for single ones");
  }
  ScoreFlags both = flags;
  both.files.insert(both.files.begin() + 1, other);
  both.systems = 2;
  std::int64_t ends = 0;
  CountedBleu system{metrics::BleuScorer(options), &ends};
  metrics::BleuScorer baseline(options);
  visit_rows(both, config, [&](const ScoreRow& row) {
    const auto references = row.references().subspan(1);
    add_row(row, [&] {
      system.add(row.texts[0], references);
      baseline.add(row.texts[1], references);
    });
  });
  print_bleu(system.scorer, config, flags.json, paired_figures(system.scorer, baseline, config.samples));
  warn_of_tokens(ends, options.words);
}

void score_bleu(const ScoreFlags& flags) {
  const ScoreConfig config = flags.config("weft score bleu");
  metrics::BleuOptions options;
  BaselineConfig other;
  formats::update_from_json(options, formats::only_fields_of<metrics::BleuOptions>(flags.metric_given),
                            "weft score bleu");
  formats::update_from_json(other, formats::only_fields_of<BaselineConfig>(flags.metric_given), "weft score bleu");
  if (!other.baseline.empty()) {
    compare_bleu(flags, config, options, other.baseline);
    return;
  }
  // A text by itself is often too short for an order.
  options.effective_order = options.effective_order || config.sentence_level;
  std::int64_t ends = 0;
  score_rows(
      flags, config, [&] { return CountedBleu{metrics::BleuScorer(options), &ends}; },
      [&](const CountedBleu& counted) { print_bleu(counted.scorer, config, flags.json); });
  warn_of_tokens(ends, options.words);
}

void print_chrf(const metrics::ChrfScorer& scorer, const ScoreConfig& config, bool as_json) {
  const std::optional<BootstrapInterval> interval = interval_if(config, scorer);
  const std::string signature = scorer.signature(config.confidence ? config.samples : 0);
  if (!as_json) {
    std::cout << scorer.name() << '|' << signature << " = " << score_with(scorer.score(), interval) << '\n';
    return;
  }
  Json json = {{"name", scorer.name()}, {"score", scorer.score()}, {"signature", signature}};
  add_interval(json, interval);
  print_json(json);
}

void score_chrf(const ScoreFlags& flags) {
  const ScoreConfig config = flags.config("weft score chrf");
  metrics::ChrfOptions options;
  formats::update_from_json(options, flags.metric_given, "weft score chrf");
  score_rows(
      flags, config, [&] { return metrics::ChrfScorer(options); },
      [&](const metrics::ChrfScorer& scorer) { print_chrf(scorer, config, flags.json); });
}

struct RougeConfig {
  bool stemmer = true;
  std::string sentence_mark;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    visit(Field{"stemmer", &RougeConfig::stemmer, "compare words without their English endings"});
    visit(Field{"sentence_mark", &RougeConfig::sentence_mark,
                "text that stands between the sentences of a summary, which rougeLsum compares, such as <n>; without "
                "it line ends, which only JSON and CSV can hold"});
  }
};

std::string with_lines(const std::string& text, const std::string& mark) {
  return mark.empty() ? text : metrics::with_replaced(text, mark, "\n");
}

void print_rouge(const metrics::RougeScorer& scorer, const ScoreConfig& config, bool as_json) {
  const metrics::RougeScore mean = scorer.mean();
  std::vector<BootstrapInterval> intervals;
  if (config.confidence) {
    intervals = scorer.intervals(config.samples);
  }
  Json json = {{"summaries", scorer.summaries()}};
  Rows rows;
  constexpr double kPercent = 100;
  for (std::size_t kind = 0; kind < mean.size(); ++kind) {
    const metrics::RougeFigure& figure = mean[kind];
    std::optional<BootstrapInterval> interval;
    if (!intervals.empty()) {
      interval = intervals[kind];
    }
    Json& entry = json[std::string(metrics::kRougeNames[kind])];
    entry = {{"precision", figure.precision}, {"recall", figure.recall}, {"fmeasure", figure.f1}};
    add_interval(entry, interval);
    if (interval) {
      *interval = {kPercent * interval->mean, kPercent * interval->half_width};
    }
    rows.emplace_back(std::string(metrics::kRougeNames[kind]),
                      concat("F ", score_with(kPercent * figure.f1, interval), "  precision ",
                             fixed(kPercent * figure.precision, 2), "  recall ", fixed(kPercent * figure.recall, 2)));
  }
  if (as_json) {
    print_json(json);
  } else {
    std::cout << name_table(rows);
  }
}

// Puts line ends where the marks are.
struct MarkedRouge {
  metrics::RougeScorer scorer;
  std::string mark;

  void add(const std::string& summary, std::span<const std::string> references) {
    std::vector<std::string> lines;
    for (const std::string& reference : references) {
      lines.push_back(with_lines(reference, mark));
    }
    scorer.add(with_lines(summary, mark), lines);
  }
};

void score_rouge(const ScoreFlags& flags) {
  const ScoreConfig config = flags.config("weft score rouge");
  RougeConfig options;
  formats::update_from_json(options, flags.metric_given, "weft score rouge");
  metrics::RougeReach reach;  // of all texts, however many figures there are
  score_rows(
      flags, config, [&] { return MarkedRouge{metrics::RougeScorer(options.stemmer), options.sentence_mark}; },
      [&](const MarkedRouge& marked) {
        reach.add(marked.scorer.reach());
        print_rouge(marked.scorer, config, flags.json);
      });
  if (const std::string remark = reach.remark(); !remark.empty()) {
    log_warning(remark);
  }
}

struct AerConfig {
  bool hypothesis_from_one = false;
  bool reference_from_one = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    visit(Field{"hypothesis_from_one", &AerConfig::hypothesis_from_one, "words of the first file count from 1"});
    visit(Field{"reference_from_one", &AerConfig::reference_from_one, "words of the second file count from 1"});
  }
};

// The links in one of the two texts of a row; its errors name that text's file, and the row by the text of the first.
metrics::Alignment links_of(const ScoreFlags& flags, const ScoreRow& row, std::size_t file, bool from_one) {
  try {
    return metrics::parse_alignment(row.texts[file], from_one ? 1 : 0);
  } catch (const Error& error) {
    const std::string where = file == 0 ? row.where : concat(flags.name_of(file), ", beside ", row.where);
    throw Error(error.kind(), concat(where, ": ", error.what()),
                "links are such as 0-0 1-2, and the number of a word is at most 2147483647");
  }
}

void score_aer(const ScoreFlags& flags) {
  const ScoreConfig config = flags.config("weft score aer");
  AerConfig options;
  formats::update_from_json(options, flags.metric_given, "weft score aer");
  if (flags.files.size() != 2) {
    throw UsageError("weft score aer compares two files, found " + std::to_string(flags.files.size()));
  }
  metrics::AlignmentScorer scorer;
  visit_rows(flags, config, [&](const ScoreRow& row) {
    scorer.add(links_of(flags, row, 0, options.hypothesis_from_one),
               links_of(flags, row, 1, options.reference_from_one));
  });
  print_alignment_figures(scorer, flags.json);
}

struct SariConfig {
  std::string source;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    visit(Field{"source", &SariConfig::source, "file of the texts that were to become simpler"});
  }
};

void score_sari(const ScoreFlags& flags) {
  const ScoreConfig config = flags.config("weft score sari");
  SariConfig options;
  formats::update_from_json(options, flags.metric_given, "weft score sari");
  if (options.source.empty()) {
    throw UsageError("SARI compares with the texts that were to become simpler", "give --source FILE");
  }
  ScoreFlags with_source = flags;
  with_source.files.insert(with_source.files.begin() + 1, options.source);
  with_source.sources = 1;
  metrics::SariScorer scorer;
  visit_rows(with_source, config, [&](const ScoreRow& row) {
    add_row(row, [&] { scorer.add(row.texts[0], row.texts[1], row.references().subspan(1)); });
  });
  constexpr double kPercent = 100;
  const metrics::SariScore parts = scorer.parts();
  if (flags.json) {
    print_json({{"name", "SARI"},
                {"score", kPercent * scorer.score()},
                {"keep_f1", kPercent * parts.keep},
                {"delete_precision", kPercent * parts.deletion},
                {"add_f1", kPercent * parts.addition},
                {"texts", scorer.texts()}});
    return;
  }
  std::cout << name_table({{"SARI", fixed(kPercent * scorer.score(), 2)},
                           {"keep", "F1 " + fixed(kPercent * parts.keep, 2)},
                           {"delete", "precision " + fixed(kPercent * parts.deletion, 2)},
                           {"add", "F1 " + fixed(kPercent * parts.addition, 2)}});
}

// A command of files and a metric's own fields.
template <typename Options>
void add_metric(CLI::App& group, const std::string& name, const std::string& about, const char* examples,
                void (*run)(const ScoreFlags&)) {
  auto flags = std::make_shared<ScoreFlags>();
  CLI::App& app = add_command(group, name, about, examples);
  std::vector<std::string_view> some = {"format"};
  if (name != "aer") {
    some.insert(some.end(), {"text_field", "reference_field"});
  }
  const bool intervals = name != "aer" && name != "parse" && name != "sari";
  add_score_files(app, *flags, intervals ? std::vector<std::string_view>{} : some);
  add_fields<Options>(app, {.title = "Metric"}, flags->metric_given);
  if constexpr (std::is_same_v<Options, metrics::BleuOptions>) {
    add_fields<BaselineConfig>(app, {.title = "Metric"}, flags->metric_given);
  }
  app.callback([flags, run] { run(*flags); });
}

}  // namespace

void add_score(CLI::App& parent) {
  CLI::App& group = add_command(parent, "score",
                                concat(kBleuExamples, "\n", kRougeExamples, "\n", kParseExamples, "\n", kAerExamples));
  group.require_subcommand(1);
  add_metric<metrics::BleuOptions>(group, "bleu", "BLEU as sacrebleu computes it, with its signature", kBleuExamples,
                                   score_bleu);
  add_metric<metrics::ChrfOptions>(group, "chrf", "chrF and chrF++ as sacrebleu computes them, with their signature",
                                   kChrfExamples, score_chrf);
  add_metric<RougeConfig>(group, "rouge",
                          "ROUGE-1, -2, -L and -Lsum as rouge_score computes them, means over all texts",
                          kRougeExamples, score_rouge);
  add_metric<ParseScoreConfig>(group, "parse", "brackets of constituency trees as EVALB scores them", kParseExamples,
                               score_parse);
  add_metric<AerConfig>(group, "aer", "alignment error rate of two files of links (Pharaoh's format, i-j)",
                        kAerExamples, score_aer);
  add_metric<SariConfig>(group, "sari", "SARI of simplified texts as its authors' program computes it", kSariExamples,
                         score_sari);
  add_question_scores(group);
}

}  // namespace weft::cli
