// SPDX-License-Identifier: Apache-2.0
// A constituency tree in the brackets of the Penn Treebank: "(S (NP (DT the) (NN loom)) (VP (VBZ weaves)))".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::readers {

/// A bracket of a tree. A leaf is a tag with its word; every other node has at least one child.
struct TreeNode {
  std::string label;    ///< as it is written, function tags included; that of the outermost bracket may be empty
  std::string word;     ///< of a leaf; empty for every other node
  std::size_t end = 0;  ///< behind its last descendant: node i has the nodes i + 1 to end - 1 below it

  bool is_leaf() const noexcept { return !word.empty(); }
};

/// All nodes of a tree, each before its children, the root first. However deep a tree is, no function here calls
/// itself.
using Tree = std::vector<TreeNode>;

/// The tree that `text` is. Errors: MalformedRecord that begins with `where` for brackets that do not fit, a bracket
/// with nothing in it, a word outside of brackets, two words in one bracket or a word beside a bracket, a leaf without
/// a tag, and text behind the tree.
Tree parse_tree(std::string_view text, const std::string& where);

/// What is wrong where a text ends in `open` brackets, at least one, the last of them of `label`.
std::string unclosed_text(std::size_t open, std::string_view label);

/// The tree in one line, its outermost label included.
std::string tree_text(const Tree& tree);

/// A label without its function tags and indices: NP of NP-SBJ-1 and NP=2. What begins with '-' is whole: -LRB-.
std::string_view plain_label(std::string_view label) noexcept;

/// The same tree without leaves of the tag -NONE- (traces of what was moved) and without the brackets that have nothing
/// else below them; empty where nothing is left.
Tree without_traces(const Tree& tree);

/// The words of a tree, one blank between two.
std::string words_of(const Tree& tree);

}  // namespace weft::readers
