// SPDX-License-Identifier: Apache-2.0
// Pattern: who may look at whom, as an immutable value. It is parsed from an expression, printed back in canonical
// form, asked token by token (the meaning, and the oracle of all tests) and compiled to a block layout (the fast form).
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/pattern/layout.h"
#include "weft/pattern/site.h"

namespace weft::pattern {

class Node;  // the syntax tree, see syntax.h

/// A file that an expression names, and what it says: the graph of edges("..."), written in the shortest form.
struct PatternFile {
  std::string name;  ///< as in the expression: a path below the directory that the expression was read in
  std::string content;
};

class Pattern {
 public:
  /// Parses an expression of docs/pattern-language.md. Files of edges("...") lie below `directory`, which is the
  /// working directory where empty. Errors: kExpression with line, column, a caret under the place, and the nearest
  /// known name; kIo and kFormat for such a file.
  static Pattern parse(std::string_view expression, const std::filesystem::path& directory = {});

  explicit Pattern(std::shared_ptr<const Node> root) : root_(std::move(root)) {}

  /// The canonical expression; parse(to_string()) is the same tree.
  std::string to_string() const;

  /// The same with the names of published models replaced by what they stand for.
  std::string expanded() const;

  /// 0 is no edge, 1 an edge; more weighs the score by log(multiplicity). query in [0, site.query_length), key in
  /// [0, site.key_length). Does not apply padding.
  int multiplicity(const Site& site, std::int64_t query, std::int64_t key) const;

  /// Whether the pattern names `input`, so that a call has to bind positions.
  bool needs_input() const;

  /// Whether it may differ from layer to layer: one that does not has one layout for all layers of a model.
  bool depends_on_layer() const;

  /// Errors: kExpression where the pattern does not fit the site (heads do not add up, a grid too small, ...).
  void check(const Site& site) const;

  /// Each file that the expression names, once: for whoever saves the expression in another directory.
  std::vector<PatternFile> files() const;

  const Node& root() const noexcept { return *root_; }
  /// The tree, to build others from (build.h).
  const std::shared_ptr<const Node>& node() const noexcept { return root_; }

 private:
  std::shared_ptr<const Node> root_;
};

/// The block layout of `pattern` for all `site.heads` heads (site.head is ignored). With `rows` a batch of rows that
/// differ in `input` or in length; without, one layout for every row. Cost is proportional to the blocks produced.
/// Errors: kExpression or kArgument as Pattern::check, or a tile that is not allowed.
BlockLayout compile(const Pattern& pattern, const Site& site, Tile tile, std::span<const RowBinding> rows = {});

}  // namespace weft::pattern
