// SPDX-License-Identifier: Apache-2.0
// Symbols are what blanks divide.
#include "weft/readers/trees/linear_tree.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "weft/core/quote.h"
#include "weft/readers/reader.h"

namespace weft::readers {
namespace {

constexpr std::string_view kTop = "TOP";

std::vector<std::string_view> symbols_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<std::string_view> symbols;
  for (std::size_t at = line.find_first_not_of(kBlanks); at < line.size();) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    symbols.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
  return symbols;
}

bool opens(std::string_view symbol) { return symbol.size() > 1 && symbol.front() == '('; }
bool closes(std::string_view symbol) { return symbol.size() > 1 && symbol.front() == ')'; }
bool is_leaf(std::string_view symbol) { return symbol.front() != '(' && symbol.front() != ')'; }

bool is_outermost(std::string_view label) { return label.empty() || label == kTop || label == "ROOT" || label == "S1"; }

// Takes symbols in whatever order they come.
class LinearBuilder {
 public:
  explicit LinearBuilder(const Tree& truth) {
    std::copy_if(truth.begin(), truth.end(), std::back_inserter(leaves_),
                 [](const auto& node) { return node.is_leaf(); });
    open(kTop);
  }

  void open(std::string_view label) {
    open_.push_back(nodes_.size());
    nodes_.emplace_back().label = label;
  }

  void close(std::string_view label) {
    const auto same =
        std::find_if(open_.rbegin(), open_.rend() - 1, [&](std::size_t node) { return nodes_[node].label == label; });
    if (same != open_.rend() - 1) {
      close_to(static_cast<std::size_t>(open_.rend() - same) - 1);
    }
  }

  void add_word() {
    nodes_.push_back(words_ < leaves_.size() ? leaves_[words_] : TreeNode{"XX", std::string(kTreeWord), 0});
    nodes_.back().end = nodes_.size();
    ++words_;
  }

  Tree finish() && {
    close_to(0);
    return words_ == 0 ? Tree() : without_top(without_traces(with_tags()));
  }

 private:
  void close_to(std::size_t depth) {
    for (; open_.size() > depth; open_.pop_back()) {
      nodes_[open_.back()].end = nodes_.size();
    }
  }

  // Brackets without a word are those without a leaf: here no leaf is a trace, whatever its tag is.
  Tree with_tags() {
    for (TreeNode& node : nodes_) {
      node.label = node.is_leaf() && node.label == "-NONE-" ? "XX" : node.label;
    }
    return std::move(nodes_);
  }

  static Tree without_top(Tree tree) {
    if (tree.size() > 1 && !tree[1].is_leaf() && tree[1].end == tree.size()) {
      tree.erase(tree.begin());
      for (TreeNode& node : tree) {
        --node.end;
      }
    }
    return tree;
  }

  std::vector<TreeNode> leaves_;
  std::size_t words_ = 0;
  Tree nodes_;
  std::vector<std::size_t> open_;
};

}  // namespace

std::string_view linear_leaf(std::string_view word, TreeLeaves leaves) {
  return leaves == TreeLeaves::kWords && !word.empty() && is_leaf(word) ? word : kTreeWord;
}

std::string linear_tree(const Tree& tree, TreeLeaves leaves) {
  std::string text;
  std::vector<std::size_t> open;
  const auto label = [&](std::size_t node) { return tree[node].label.empty() ? kTop : plain_label(tree[node].label); };
  const auto add = [&](const auto&... parts) { text += concat(text.empty() ? "" : " ", parts...); };
  const bool bare = !tree.empty() && tree.front().is_leaf();
  if (bare) {
    add('(', kTop);
  }
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if (tree[i].is_leaf()) {
      add(linear_leaf(tree[i].word, leaves));
    } else {
      add('(', label(i));
      open.push_back(i);
    }
    for (; !open.empty() && tree[open.back()].end == i + 1; open.pop_back()) {
      add(')', label(open.back()));
    }
  }
  if (bare) {
    add(')', kTop);
  }
  return text;
}

std::string linear_links(std::string_view line) {
  std::string links;
  std::size_t words = 0;
  std::size_t place = 0;
  for (const std::string_view symbol : symbols_of(line)) {
    words += is_leaf(symbol) ? 1 : 0;
    const std::size_t word = opens(symbol) ? words : words - 1;
    links += concat(place == 0 ? "" : " ", word, '-', place);
    ++place;
  }
  return links;
}

LinearSymbols symbols_of_linear(std::string_view line, const std::string& where) {
  LinearSymbols found;
  std::vector<std::string_view> open;
  std::string_view before;
  for (const std::string_view symbol : symbols_of(line)) {
    if (opens(symbol)) {
      open.push_back(symbol.substr(1));
      found.labels.emplace(symbol.substr(1));
    } else if (closes(symbol)) {
      if (open.empty() || open.back() != symbol.substr(1) || opens(before)) {
        malformed(where, ": ", quote(symbol), " closes ",
                  open.empty()    ? std::string("nothing")
                  : opens(before) ? std::string("a bracket without a word")
                                  : quote(open.back()));
      }
      open.pop_back();
    } else if (!is_leaf(symbol) || open.empty()) {
      malformed(where, ": a tree in one line is (LABEL, words and )LABEL, found ", quote(symbol),
                open.empty() ? " outside of brackets" : "");
    } else if (symbol != kTreeWord) {
      found.leaves = TreeLeaves::kWords;
    }
    before = symbol;
  }
  if (!open.empty()) {
    malformed(where, ": ", unclosed_text(open.size(), open.back()));
  }
  return found;
}

Tree tree_of_linear(std::string_view line, const Tree& truth) {
  LinearBuilder builder(truth);
  for (const std::string_view symbol : symbols_of(line)) {
    if (opens(symbol)) {
      builder.open(symbol.substr(1));
    } else if (closes(symbol)) {
      builder.close(symbol.substr(1));
    } else if (is_leaf(symbol)) {
      builder.add_word();
    }
  }
  return std::move(builder).finish();
}

Tree right_branching(const Tree& truth, const BranchingLabels& labels) {
  Tree tree;
  tree.reserve(2 * truth.size() + 1);
  std::size_t left = 0;
  for (const TreeNode& node : truth) {
    left += node.is_leaf() ? 1 : 0;
  }
  if (!truth.empty() && !truth.front().is_leaf() && is_outermost(truth.front().label)) {
    tree.push_back({truth.front().label, "", 0});
  }
  bool first = true;
  for (const TreeNode& node : truth) {
    if (!node.is_leaf()) {
      continue;
    }
    if (first || left > 1) {
      tree.push_back({first ? labels.root : labels.inner, "", 0});
    }
    tree.push_back({node.label, node.word, tree.size() + 1});
    first = false;
    --left;
  }
  for (TreeNode& node : tree) {
    node.end = node.is_leaf() ? node.end : tree.size();
  }
  return tree;
}

}  // namespace weft::readers
