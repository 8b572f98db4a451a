// SPDX-License-Identifier: Apache-2.0
// Predictions are one JSON object, in the form that the official program reads, or lines of `weft eval`; gold files go
// by one question at a time.
#include "weft/cli/front/score/question_scores.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/score/predictions.h"
#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/metrics/open_answers/candidates.h"
#include "weft/metrics/open_answers/hotpot.h"
#include "weft/metrics/open_answers/natural_questions.h"
#include "weft/metrics/open_answers/trivia.h"
#include "weft/readers/open_answers/wikihop_reader.h"

namespace weft::cli {
namespace {

using formats::Json;
using readers::QuestionPart;

constexpr double kOfHundred = 100;

struct QuestionScoreFlags {
  std::string predictions;
  std::vector<std::string> gold;
  bool json = false;
};

using RunQuestionScore = void (*)(const QuestionScoreFlags& flags);

// Figures that a table shows in percent and JSON as they are.
void print_question_figures(const QuestionScoreFlags& flags, const Json& figures, const Rows& rows) {
  if (flags.json) {
    print_json(figures);
  } else {
    std::cout << name_table(rows);
  }
}

void warn_of_missing(std::int64_t missing, std::int64_t all, const std::string& what) {
  if (missing > 0) {
    log_warning(missing, " of ", all, " questions have no ", what, " among the predictions, and score 0");
  }
}

std::string overlap_row(const metrics::OverlapScore& score) {
  return concat("exact ", fixed(kOfHundred * score.exact, 2), "  F1 ", fixed(kOfHundred * score.f1, 2), "  precision ",
                fixed(kOfHundred * score.precision, 2), "  recall ", fixed(kOfHundred * score.recall, 2));
}

void add_overlap(Json& json, const std::string& prefix, const metrics::OverlapScore& score) {
  json[prefix + "em"] = score.exact;
  json[prefix + "f1"] = score.f1;
  json[prefix + "prec"] = score.precision;
  json[prefix + "recall"] = score.recall;
}

void score_hotpotqa(const QuestionScoreFlags& flags) {
  const HotpotPredictions predictions(flags.predictions);
  SeenQuestions seen;
  metrics::HotpotScorer scorer;
  for (const std::string& file : flags.gold) {
    readers::HotpotReader gold(file, {}, QuestionPart::kGold);
    for (readers::HotpotQuestion question; gold.next(question);) {
      seen.add(question.id, file);
      scorer.add(predictions.of(question.id), question.answer, question.facts);
    }
    seen.end(file);
  }
  const metrics::HotpotReport report = scorer.report();
  warn_of_missing(report.missing_answers, report.questions, "answer");
  warn_of_missing(report.missing_facts, report.questions, "supporting facts");
  Json json = {{"questions", report.questions}};
  add_overlap(json, "", report.answer);
  add_overlap(json, "sp_", report.facts);
  add_overlap(json, "joint_", report.joint);
  print_question_figures(flags, json,
                         {{"answer", overlap_row(report.answer)},
                          {"facts", overlap_row(report.facts)},
                          {"joint", overlap_row(report.joint)},
                          {"questions", digits(report.questions)}});
}

// What a question is called among predictions: by itself for Wikipedia, with each document for the web.
std::vector<std::string> trivia_keys(const readers::TriviaQuestion& question, const readers::TriviaReader& reader) {
  if (reader.domain() == "Wikipedia") {
    return {question.id};
  }
  std::vector<std::string> keys;
  for (const readers::TriviaPage& page : question.pages) {
    const bool counts = !reader.verified_only() || page.verified;
    const std::string key = question.id + "--" + page.file;
    if (counts && std::find(keys.begin(), keys.end(), key) == keys.end()) {
      keys.push_back(key);
    }
  }
  return keys;
}

// What counts of a file that says so much of itself.
std::string trivia_rule(const readers::TriviaReader& reader) {
  std::string verified = "'QuestionPartOfVerifiedEval' true, since 'VerifiedEval' is true";
  if (reader.domain() == "Wikipedia") {
    return verified;
  }
  return reader.verified_only() ? concat("a document of 'DocPartOfVerifiedEval' true, and ", verified)
                                : "a document in 'EntityPages' or 'SearchResults', since 'Domain' is \"Web\"";
}

void score_trivia_file(const std::string& file, const TextPredictions& predictions, SeenQuestions& seen,
                       metrics::TriviaScorer& scorer) {
  readers::TriviaReader reader(file, {}, QuestionPart::kGold);
  std::vector<readers::TriviaQuestion> questions;  // what counts is known behind the last
  for (readers::TriviaQuestion question; reader.next(question);) {
    seen.add(question.id, file);
    questions.push_back(std::move(question));
  }
  seen.end(file);
  bool counts = false;
  for (const readers::TriviaQuestion& question : questions) {
    if (!reader.verified_only() || question.verified) {
      for (const std::string& key : trivia_keys(question, reader)) {
        scorer.add(predictions.of(key), question);
        counts = true;
      }
    }
  }
  if (!counts) {
    fail(ErrorKind::kFormat, quote(file, 4096), ": expected a question with ", trivia_rule(reader),
         "; found none among ", questions.size());
  }
}

void score_triviaqa(const QuestionScoreFlags& flags) {
  const TextPredictions predictions(flags.predictions);
  SeenQuestions seen;
  metrics::TriviaScorer scorer;
  for (const std::string& file : flags.gold) {
    score_trivia_file(file, predictions, seen, scorer);
  }
  const metrics::AnswerMean mean = scorer.mean();
  warn_of_missing(scorer.missing(), mean.questions, "answer");
  print_question_figures(flags,
                         {{"exact_match", mean.percent.exact},
                          {"f1", mean.percent.f1},
                          {"common", mean.questions - scorer.missing()},
                          {"denominator", mean.questions}},
                         {{"exact", fixed(mean.percent.exact, 2)},
                          {"F1", fixed(mean.percent.f1, 2)},
                          {"questions", digits(mean.questions)}});
}

void add_page_figures(Json& json, const std::string& prefix, const metrics::PageFigures& figures) {
  json[prefix + "best-threshold-f1"] = figures.best.f1;
  json[prefix + "best-threshold-precision"] = figures.best.precision;
  json[prefix + "best-threshold-recall"] = figures.best.recall;
  json[prefix + "best-threshold"] = figures.best.threshold;
  for (std::size_t i = 0; i < figures.kTargets.size(); ++i) {
    const std::string target = concat(figures.kTargets[i]);
    json[concat(prefix, "recall-at-precision>=", target)] = figures.at_precision[i].recall;
    json[concat(prefix, "precision-at-precision>=", target)] = figures.at_precision[i].precision;
  }
  json[prefix + "all-f1"] = figures.all.f1;
  json[prefix + "all-precision"] = figures.all.precision;
  json[prefix + "all-recall"] = figures.all.recall;
}

std::string point_row(const metrics::ThresholdPoint& point) {
  return concat("F1 ", fixed(kOfHundred * point.f1, 2), "  precision ", fixed(kOfHundred * point.precision, 2),
                "  recall ", fixed(kOfHundred * point.recall, 2));
}

void score_nq(const QuestionScoreFlags& flags) {
  PagePredictions predictions(flags.predictions);
  SeenQuestions seen;
  metrics::NaturalQuestionsScorer scorer;
  for (const std::string& file : flags.gold) {
    readers::NaturalQuestionsReader gold(file, {}, QuestionPart::kGold);
    for (readers::NaturalQuestion question; gold.next(question);) {
      seen.add(concat(question.id), file);
      scorer.add(predictions.take(question.id), question.annotations);
    }
    seen.end(file);
  }
  predictions.check_all_taken();
  if (const std::string remark = scorer.remark(); !remark.empty()) {
    log_warning(remark);
  }
  const metrics::PageFigures long_answers = scorer.long_answers();
  const metrics::PageFigures short_answers = scorer.short_answers();
  Json json = {{"questions", scorer.questions()}};
  add_page_figures(json, "long-", long_answers);
  add_page_figures(json, "short-", short_answers);
  print_question_figures(flags, json,
                         {{"long", concat(point_row(long_answers.best), "  at score ", long_answers.best.threshold)},
                          {"long, all", point_row(long_answers.all)},
                          {"short", concat(point_row(short_answers.best), "  at score ", short_answers.best.threshold)},
                          {"short, all", point_row(short_answers.all)},
                          {"questions", digits(scorer.questions())}});
}

void score_wikihop(const QuestionScoreFlags& flags) {
  const TextPredictions predictions(flags.predictions);
  SeenQuestions seen;
  metrics::CandidateScorer scorer;
  for (const std::string& file : flags.gold) {
    readers::WikiHopReader gold(file, {}, QuestionPart::kGold);
    for (readers::WikiHopQuestion question; gold.next(question);) {
      seen.add(question.id, file);
      scorer.add(predictions.of(question.id), question.answer, question.candidates);
    }
    seen.end(file);
  }
  const double accuracy = scorer.accuracy();
  warn_of_missing(scorer.missing(), scorer.questions(), "answer");
  if (scorer.strangers() > 0) {
    log_warning(scorer.strangers(), " predictions are none of their question's candidates, and score 0");
  }
  print_question_figures(flags,
                         {{"accuracy", accuracy},
                          {"questions", scorer.questions()},
                          {"missing", scorer.missing()},
                          {"not_candidates", scorer.strangers()}},
                         {{"accuracy", percent(accuracy)}, {"questions", digits(scorer.questions())}});
}

void add_question_score(CLI::App& group, const std::string& name, const std::string& about, const std::string& example,
                        RunQuestionScore run) {
  auto flags = std::make_shared<QuestionScoreFlags>();
  CLI::App& app = add_command(group, name, about, example);
  app.add_option("PREDICTIONS", flags->predictions,
                 "predictions as JSON, as the official program reads them, or the lines of weft eval --predictions "
                 "FILE.jsonl; - is standard input")
      ->required()
      ->option_text("PREDICTIONS");
  app.add_option("GOLD", flags->gold, "files of questions with their answers, plain or gzip")
      ->required()
      ->option_text("GOLD...")
      ->expected(1, CLI::detail::expected_max_vector_size);
  add_json_flag(app, flags->json);
  app.callback([flags, run] { run(*flags); });
}

}  // namespace

void add_question_scores(CLI::App& group) {
  add_question_score(group, "hotpotqa", "answers, supporting facts and both, as HotpotQA's program scores them",
                     "  weft score hotpotqa predictions.json hotpot_dev_distractor_v1.json", score_hotpotqa);
  add_question_score(group, "triviaqa", "exact match and F1 over an answer's names, as TriviaQA's program scores them",
                     "  weft score triviaqa predictions.json wikipedia-dev.json", score_triviaqa);
  add_question_score(group, "nq", "long and short answers, as the program of Natural Questions scores them",
                     "  weft score nq predictions.json nq-dev-00.jsonl.gz nq-dev-01.jsonl.gz", score_nq);
  add_question_score(group, "wikihop", "accuracy of candidates of WikiHop",
                     "  weft score wikihop predictions.json dev.json --json", score_wikihop);
}

}  // namespace weft::cli
