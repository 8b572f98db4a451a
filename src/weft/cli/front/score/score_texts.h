// SPDX-License-Identifier: Apache-2.0
// What the commands below `weft score` share: texts of several files side by side, and the flags of a confidence
// interval.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "weft/core/fields.h"
#include "weft/formats/config_json.h"

namespace weft::cli {

/// Flags on files and intervals.
struct ScoreConfig {
  std::string format = "auto";
  std::string text_field;
  std::string reference_field;
  bool confidence = false;
  std::int64_t samples = 1000;
  bool sentence_level = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = ScoreConfig;
    visit(Field{"format", &C::format,
                "format of the files: one text a line, JSON or a table; auto goes by what stands in each file, then by "
                "its name"}
              .one_of({"auto", "lines", "jsonl", "json", "csv", "tsv"}));
    visit(Field{"text_field", &C::text_field,
                "column or JSON field of the text; without it summary_text or translation_text of HYP, as weft writes "
                "them, else text, sentence, sequence, review or content"});
    visit(Field{"reference_field", &C::reference_field,
                "column or JSON field of the text in REF; without it that of --text-field"});
    visit(Field{"confidence", &C::confidence,
                "give a 95% interval too, from sentences drawn again and again with the seed 12345"});
    visit(Field{"samples", &C::samples, "with --confidence or --baseline: how often all sentences are drawn"}.range(
        2, 1 << 24));
    visit(Field{"sentence_level", &C::sentence_level, "a line for each text by itself, in their order"});
  }
};

/// What was typed.
struct ScoreFlags {
  std::vector<std::string> files;                        ///< the hypotheses, then the references
  std::size_t systems = 1;                               ///< how many of `files`, the first ones, are hypotheses
  std::size_t sources = 0;                               ///< and how many behind these are what systems read
  formats::Json given = formats::Json::object();         ///< of ScoreConfig
  formats::Json metric_given = formats::Json::object();  ///< of the metric's own fields
  bool json = false;

  /// Errors: UsageError for an interval of single texts.
  ScoreConfig config(const std::string& command) const;
  /// Of a file, for messages: "standard input" where it is -.
  std::string name_of(std::size_t file) const;
};

/// Adds HYP, REF..., the flags of `only` (all where it is empty) and --json.
void add_score_files(CLI::App& app, ScoreFlags& flags, const std::vector<std::string_view>& only = {});

/// A text of each file, the hypothesis first, and where it stands.
struct ScoreRow {
  std::vector<std::string> texts;
  std::string where;  ///< of the hypothesis

  std::span<const std::string> references() const { return std::span(texts).subspan(1); }
};

/// Calls visit(row) for the first texts of all files, then the second ones, to the end; blanks behind a text are left
/// out. Errors: UsageError for standard input twice; kFormat naming both files where one has fewer texts, both places
/// where records have different ids, the line that is not UTF-8, and what InputTexts refuses; kArgument where no file
/// has a text; kInterrupted.
void visit_rows(const ScoreFlags& flags, const ScoreConfig& config,
                const std::function<void(const ScoreRow& row)>& visit);

}  // namespace weft::cli
