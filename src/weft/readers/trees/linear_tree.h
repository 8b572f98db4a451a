// SPDX-License-Identifier: Apache-2.0
// Trees as sequences that a model learns to write (Vinyals et al. 2015): "(S (NP XX )NP (VP XX )VP )S", a symbol for
// each bracket that opens or closes and XX for each word. Words and tags are left out: the source has the words.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "weft/readers/trees/tree.h"

namespace weft::readers {

/// What stands for a word.
inline constexpr std::string_view kTreeWord = "XX";

/// The tree in that form, with plain_label()s; an outermost bracket without a label is called TOP. A tree of one leaf
/// becomes "(TOP XX )TOP".
std::string linear_tree(const Tree& tree);

/// The labels of such a line. Errors: MalformedRecord that begins with `where`, for a symbol that is none, brackets
/// that do not fit, or a bracket without a word.
std::set<std::string> labels_of_linear(std::string_view line, const std::string& where);

/// A tree from what a model wrote, whatever it is: a closing bracket closes all up to the last one of its label, or is
/// left out where none is open; what is open at the end is closed; brackets without a word and symbols that are none
/// are left out. Word i becomes leaf i of `truth`, with its tag; further ones have the tag XX and the word XX. Several
/// trees, or words outside of brackets, are gathered below TOP. Nothing where there is no word.
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
