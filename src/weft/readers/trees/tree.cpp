// SPDX-License-Identifier: Apache-2.0
// A stack of open brackets instead of recursion: a file may nest a million of them.
#include "weft/readers/trees/tree.h"

#include <algorithm>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/readers/reader.h"

namespace weft::readers {
namespace {

constexpr std::string_view kTreeBlanks = " \t\n\r\f\v";
constexpr std::string_view kTreeMarks = " \t\n\r\f\v()";

class TreeParser {
 public:
  TreeParser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  Tree parse() {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != '(') {
      malformed(where_, ": a tree begins with '(', found ", quote(text_.substr(at_), 40));
    }
    do {
      step();
      skip_blanks();
    } while (!open_.empty() && at_ < text_.size());
    if (!open_.empty()) {
      malformed(where_, ": ", unclosed_text(open_.size(), nodes_[open_.back()].label));
    }
    if (at_ < text_.size()) {
      malformed(where_, ": behind the tree stands ", quote(text_.substr(at_), 40));
    }
    return std::move(nodes_);
  }

 private:
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(kTreeBlanks, at_), text_.size()); }

  std::string_view symbol() {
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_of(kTreeMarks, at_), text_.size());
    return text_.substr(begin, at_ - begin);
  }

  // A bracket, or a word within one.
  void step() {
    if (text_[at_] == '(') {
      open();
    } else if (text_[at_] == ')') {
      close();
    } else {
      take_word();
    }
  }

  void open() {
    if (!open_.empty() && nodes_[open_.back()].is_leaf()) {
      malformed(where_, ": a bracket stands behind the word ", quote(nodes_[open_.back()].word));
    }
    ++at_;
    open_.push_back(nodes_.size());
    nodes_.emplace_back().label = symbol();
  }

  void close() {
    TreeNode& node = nodes_[open_.back()];
    if (!node.is_leaf() && nodes_.size() == open_.back() + 1) {
      malformed(where_, ": the bracket ", quote(node.label), " has nothing in it");
    }
    if (node.label.empty() && (node.is_leaf() || open_.size() > 1)) {
      malformed(where_, node.is_leaf() ? concat(": the word ", quote(node.word), " has no tag")
                                       : std::string(": a bracket inside of the tree has no label"));
    }
    node.end = nodes_.size();
    open_.pop_back();
    ++at_;
  }

  void take_word() {
    const std::string_view word = symbol();
    TreeNode& node = nodes_[open_.back()];
    if (node.is_leaf()) {
      malformed(where_, ": a bracket holds one word, found ", quote(node.word), " and ", quote(word));
    }
    if (nodes_.size() > open_.back() + 1) {
      malformed(where_, ": the word ", quote(word), " stands beside brackets and not in one");
    }
    node.word = word;
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
  Tree nodes_;
  std::vector<std::size_t> open_;
};

}  // namespace

std::string unclosed_text(std::size_t open, std::string_view label) {
  return open == 1 ? concat("the bracket ", quote(label), " of the tree is not closed")
                   : concat(open, " brackets of the tree are not closed, the last one ", quote(label));
}

Tree parse_tree(std::string_view text, const std::string& where) { return TreeParser(text, where).parse(); }

std::string tree_text(const Tree& tree) {
  std::string text;
  std::vector<std::size_t> ends;
  ends.reserve(tree.size());
  for (std::size_t i = 0; i < tree.size(); ++i) {
    text += concat(i == 0 ? "(" : " (", tree[i].label);
    if (tree[i].is_leaf()) {
      text += concat(" ", tree[i].word);
    }
    ends.push_back(tree[i].end);
    for (; !ends.empty() && ends.back() == i + 1; ends.pop_back()) {
      text += ')';
    }
  }
  return text;
}

std::string_view plain_label(std::string_view label) noexcept {
  const bool is_mark = label.starts_with('-') || label.starts_with('=');
  return label.substr(0, is_mark ? label.size() : label.find_first_of("-="));
}

Tree without_traces(const Tree& tree) {
  // From behind: a bracket knows what is left of it once all below it were looked at.
  std::vector<std::size_t> left(tree.size() + 1);  // nodes from i on that stay
  std::vector<bool> stays(tree.size());
  for (std::size_t i = tree.size(); i-- > 0;) {
    stays[i] = tree[i].is_leaf() ? tree[i].label != "-NONE-" : left[i + 1] > left[tree[i].end];
    left[i] = left[i + 1] + (stays[i] ? 1 : 0);
  }
  Tree kept;
  kept.reserve(left[0]);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if (stays[i]) {
      kept.push_back({tree[i].label, tree[i].word, left[0] - left[tree[i].end]});
    }
  }
  return kept;
}

std::string words_of(const Tree& tree) {
  std::string words;
  for (const TreeNode& node : tree) {
    if (node.is_leaf()) {
      words += concat(words.empty() ? "" : " ", node.word);
    }
  }
  return words;
}

}  // namespace weft::readers
