// SPDX-License-Identifier: Apache-2.0
// Trees as sequences that a model learns to write (Vinyals et al. 2015): "(S (NP XX )NP (VP XX )VP )S", a symbol for
// each bracket that opens or closes and XX for each word, or the word itself: "(S (NP looms )NP (VP weave )VP )S".
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "weft/readers/trees/tree.h"

namespace weft::readers {

/// What stands for a word that is not written, and for one that looks like a bracket.
inline constexpr std::string_view kTreeWord = "XX";

/// What the leaves of a tree in one line are.
enum class TreeLeaves { kMarks, kWords };

/// A leaf of such a line.
std::string_view linear_leaf(std::string_view word, TreeLeaves leaves);

/// The tree in that form, with plain_label()s; an outermost bracket without a label is called TOP. A tree of one leaf
/// becomes "(TOP XX )TOP".
std::string linear_tree(const Tree& tree, TreeLeaves leaves = TreeLeaves::kMarks);

/// Which word each symbol of a linear_tree() belongs to, as word alignments with the words as their source: "0-0 0-1
/// 0-2 1-3" for "(NP XX )NP ...". A leaf is its word's, an opening bracket the next word's, a closing one the last
/// word's before it.
std::string linear_links(std::string_view line);

/// What a tree in one line, or many of them, are made of.
struct LinearSymbols {
  std::set<std::string> labels;
  TreeLeaves leaves = TreeLeaves::kMarks;  ///< words where any leaf is another than XX
};

/// Those of a line. Errors: MalformedRecord that begins with `where`, for brackets that do not fit or have no label, a
/// bracket without a word, and a line without a bracket.
LinearSymbols symbols_of_linear(std::string_view line, const std::string& where);

/// A tree from what a model wrote, whatever it is: a closing bracket closes all up to the last one of its label, or is
/// left out where none is open; what is open at the end is closed; brackets without a word or a label are left out.
/// Any other symbol is a word: number i becomes leaf i of `truth`, with its word and its tag; further ones have the tag
/// XX and the word XX. Several trees, or words outside of brackets, are gathered below TOP. Nothing where there is no
/// word.
Tree tree_of_linear(std::string_view line, const Tree& truth);

/// What the brackets of a baseline are called.
struct BranchingLabels {
  std::string root = "S";    ///< of the outermost phrase
  std::string inner = "VP";  ///< of each bracket below it
};

/// The baseline of every parser, with the leaves of `truth`: "(S w1 (VP w2 (VP w3 w4)))", below its outermost bracket
/// where that is a ROOT, a TOP or without a label.
Tree right_branching(const Tree& truth, const BranchingLabels& labels);

}  // namespace weft::readers
