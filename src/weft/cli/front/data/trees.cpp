// SPDX-License-Identifier: Apache-2.0
// Five files side by side: line N of each is of the same tree.
#include "weft/cli/front/data/trees.h"

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/cli/front/data/found.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/words/overwritten_input.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/core/work/watched_progress.h"
#include "weft/readers/file_list.h"
#include "weft/readers/trees/linear_tree.h"
#include "weft/readers/trees/tree_reader.h"

namespace weft::cli {
namespace {

constexpr std::string_view kTreesExamples =
    "  weft data trees train/*.ptb --out train\n"
    "  weft train --task translate --train-source train.words --train-target train.trees --alignments train.align "
    "--alignment-weight 1 --minutes 20 --out parser";

struct TreesConfig {
  std::string out;
  std::string leaves = "marks";
  std::string root_label = "S";
  std::string inner_label = "VP";
  std::string on_error = "fail";

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = TreesConfig;
    visit(Field{"out", &C::out,
                "how the names of the files begin: NAME.words has the words, NAME.trees the trees to learn, NAME.align "
                "which word each of their symbols belongs to, NAME.gold the whole trees and NAME.right those of right "
                "branching, the baseline; a line a tree"});
    visit(Field{"leaves", &C::leaves,
                "what stands for a word in NAME.trees: marks (XX), or the words themselves, so that what a model "
                "writes is a whole tree"}
              .one_of({"marks", "words"}));
    visit(Field{"root_label", &C::root_label, "label of right branching's outermost phrase"});
    visit(Field{"inner_label", &C::inner_label, "label of its brackets below that"});
    visit(Field{"on_error", &C::on_error, "what to do with a malformed tree; skip counts it and goes on"}.one_of(
        {"fail", "skip"}));
  }
};

struct TreesOptions {
  std::vector<std::string> paths;
  formats::Json given = formats::Json::object();
  bool json = false;
};

// What the files are called, in the order of TreeFiles.
std::vector<std::filesystem::path> tree_files(const std::string& name) {
  return {name + ".words", name + ".trees", name + ".align", name + ".gold", name + ".right"};
}

struct TreeFiles {
  explicit TreeFiles(const std::vector<std::filesystem::path>& names)
      : words(names[0]), trees(names[1]), align(names[2]), gold(names[3]), right(names[4]) {}

  void commit() {
    for (AtomicFile* file : {&words, &trees, &align, &gold, &right}) {
      file->commit();
    }
  }

  AtomicFile words;
  AtomicFile trees;
  AtomicFile align;
  AtomicFile gold;
  AtomicFile right;
};

// A reader of trees ends a label at blanks and brackets.
void check_label(const std::string& label, const std::string& flag) {
  if (label.empty() || label.find_first_of(" \t\r\n\v\f()") != std::string::npos) {
    throw UsageError(concat(flag, ": a label is a word without blanks and brackets, found ", quote(label)));
  }
}

void write_trees(const TreesOptions& options) {
  TreesConfig config;
  formats::update_from_json(config, options.given, "weft data trees");
  if (config.out.empty()) {
    throw UsageError("weft data trees needs --out NAME");
  }
  check_label(config.root_label, "--root-label");
  check_label(config.inner_label, "--inner-label");
  const std::vector<std::filesystem::path> files = readers::list_files(options.paths);
  const std::vector<std::filesystem::path> written = tree_files(config.out);
  refuse_overwritten_input(written, files, "--out");
  const auto leaves = config.leaves == "words" ? readers::TreeLeaves::kWords : readers::TreeLeaves::kMarks;
  TreeFiles out(written);
  std::optional<BusyBar> bar("reading trees");
  std::int64_t empty = 0;
  const readers::ReadReport report = readers::for_each_record(
      files,
      [&](const std::filesystem::path& file) {
        return std::make_unique<readers::TreeReader>(file,
                                                     readers::ReadOptions{.skip_malformed = config.on_error == "skip"});
      },
      [&](const readers::TreeRecord& record) {
        const readers::Tree tree = readers::without_traces(record.tree);
        if (tree.empty()) {
          ++empty;
          return;
        }
        out.words.write(readers::words_of(tree) + "\n");
        const std::string linear = readers::linear_tree(tree, leaves);
        out.trees.write(linear + "\n");
        out.align.write(readers::linear_links(linear) + "\n");
        out.gold.write(readers::tree_text(tree) + "\n");
        out.right.write(readers::tree_text(readers::right_branching(tree, {config.root_label, config.inner_label})) +
                        "\n");
      });
  require_found(report.records + report.skipped, options.paths, "tree");
  out.commit();
  bar.reset();
  const std::int64_t trees = report.records - empty;
  if (options.json) {
    print_json({{"trees", trees}, {"without_words", empty}, {"skipped", report.skipped}});
  } else {
    std::cout << name_table(
        {{"trees", digits(trees)}, {"without words", digits(empty)}, {"skipped", digits(report.skipped)}});
  }
}

}  // namespace

void add_data_trees(CLI::App& data) {
  auto options = std::make_shared<TreesOptions>();
  CLI::App& app =
      add_command(data, "trees", "bracketed trees as texts to learn from and to score", std::string(kTreesExamples));
  app.add_option("PATHS", options->paths, "files of bracketed trees and folders, plain or gzip")->required();
  add_fields<TreesConfig>(app, {.title = "Options"}, options->given);
  app.get_option("--out")->option_text("NAME");
  add_json_flag(app, options->json);
  app.callback([options] { write_trees(*options); });
}

}  // namespace weft::cli
