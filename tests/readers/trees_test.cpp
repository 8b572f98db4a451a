// SPDX-License-Identifier: Apache-2.0
// Bracketed trees, files that hold none, and trees as lines that a model writes.
#include <gtest/gtest.h>

#include <memory>

#include "readers/reading.h"
#include "weft/readers/trees/linear_tree.h"
#include "weft/readers/trees/tree_reader.h"

namespace weft::readers {
namespace {

constexpr const char* kLoom =
    "(ROOT (S (NP-SBJ (DT the) (NN loom)) (VP (VBZ weaves) (S-1 (NP=2 (-NONE- *T*)))) (-LRB- -LRB-)))";

TEST(Trees, TextComesBackAndTracesGo) {
  const Tree tree = parse_tree(kLoom, "here");
  EXPECT_EQ(tree_text(tree), kLoom);
  const Tree kept = without_traces(tree);
  EXPECT_EQ(tree_text(kept), "(ROOT (S (NP-SBJ (DT the) (NN loom)) (VP (VBZ weaves)) (-LRB- -LRB-)))");
  EXPECT_EQ(words_of(kept), "the loom weaves -LRB-");
  EXPECT_EQ(linear_tree(kept), "(ROOT (S (NP XX XX )NP (VP XX )VP XX )S )ROOT");
  EXPECT_EQ(linear_tree(parse_tree("((S (NN a)))", "here")), "(TOP (S XX )S )TOP");
  EXPECT_EQ(linear_tree(parse_tree("(NN a)", "here")), "(TOP XX )TOP");
  EXPECT_EQ(linear_tree(parse_tree("((S (NN a)))", "here"), TreeLeaves::kWords), "(TOP (S a )S )TOP");
  EXPECT_EQ(linear_leaf("(a", TreeLeaves::kWords), "XX");  // it would be a bracket
  EXPECT_TRUE(without_traces(parse_tree("(S (NP (-NONE- *)))", "here")).empty());
  EXPECT_EQ(plain_label("-NONE-"), "-NONE-");
  EXPECT_EQ(plain_label("=Y"), "=Y");
}

TEST(Trees, WhatIsNoTreeSaysWhy) {
  const auto refuse = [](const std::string& text, std::initializer_list<std::string_view> words) {
    test::expect_error(ErrorKind::kFormat, words, [&] { parse_tree(text, "here"); });
  };
  refuse("", {"here", "begins with '('"});
  refuse("(S (NP (NN a))", {"the bracket 'S' of the tree is not closed"});
  refuse("(S (NP (NN a)", {"2 brackets of the tree are not closed, the last one 'NP'"});
  refuse("(S (NN a)))", {"behind the tree", "')'"});
  refuse("(S ())", {"nothing in it"});
  refuse("(S (NP))", {"'NP'", "nothing in it"});
  refuse("(S (NN two words))", {"one word", "'two'"});
  refuse("(S (NN a) word)", {"'word'", "beside brackets"});
  refuse("(S (NN a (NP (NN b))))", {"behind the word 'a'"});
  refuse("(S ( a))", {"'a'", "no tag"});
  refuse("(S ((NN a)))", {"no label"});
  // However deep.
  const std::size_t deep = 100000;
  std::string text;
  for (std::size_t i = 0; i < deep; ++i) {
    text += "(S ";
  }
  EXPECT_EQ(parse_tree(text + "(NN a)" + std::string(deep, ')'), "here").size(), deep + 1);
}

TEST(TreeReader, ATreeGoesOnOverLinesThatBeginWithBlanks) {
  const test::TemporaryDirectory folder;
  test::write_text(folder / "a.ptb", "\n(ROOT (NP (NN a)))\n\n(ROOT\n  (S\n    (NN b))\n)\r\n( (S (NN c)))");
  TreeReader reader(folder / "a.ptb");
  const auto records = test::all_records(reader);
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].line, 2);
  EXPECT_EQ(records[1].line, 4);
  EXPECT_EQ(tree_text(records[1].tree), "(ROOT (S (NN b)))");
  EXPECT_EQ(tree_text(records[2].tree), "( (S (NN c)))");
}

TEST(TreeReader, AMalformedTreeCostsNoOther) {
  const test::TemporaryDirectory folder;
  const auto open = [&](const ReadOptions& options) { return std::make_unique<TreeReader>(folder / "a.ptb", options); };
  test::write_text(folder / "a.ptb", "(S (NN a))\n(S\n (NN b)\n(S (NN c))\n");
  test::expect_malformed(open, {"a.ptb' line 2", "not closed"}, 1, 2);
  test::write_text(folder / "a.ptb", "(S (NN a))\ntext\n(S (NN c))\n");
  test::expect_malformed(open, {"line 2", "first column", "'text'"}, 1, 2);
  test::write_text(folder / "a.ptb", "(S (NN \xff))\n(S (NN c))\n");
  test::expect_malformed(open, {"line 1", "UTF-8"}, 1, 1);
}

TEST(LinearTree, WhatAModelWroteIsMended) {
  const Tree truth = parse_tree("(ROOT (S (NP (DT the) (NN loom)) (VP (VBZ weaves))))", "here");
  const auto mended = [&](std::string_view line) { return tree_text(tree_of_linear(line, truth)); };
  EXPECT_EQ(mended(linear_tree(truth)), tree_text(truth));
  EXPECT_EQ(mended("(S (NP XX XX (VP XX )S"), "(S (NP (DT the) (NN loom) (VP (VBZ weaves))))");
  EXPECT_EQ(mended(")NP (S XX )VP XX (NP )NP )S (X XX"), "(TOP (S (DT the) (NN loom)) (X (VBZ weaves)))");
  EXPECT_EQ(mended("(S XX word XX XX ( )"), "(S (DT the) (NN loom) (VBZ weaves) (XX XX))");
  EXPECT_EQ(mended(linear_tree(truth, TreeLeaves::kWords)), tree_text(truth));
  EXPECT_EQ(mended("(S (NP )NP )S"), "");
}

TEST(LinearTree, EachSymbolBelongsToAWord) {
  EXPECT_EQ(linear_links("(S (NP XX )NP (VP XX XX )VP )S"), "0-0 0-1 0-2 0-3 1-4 1-5 2-6 2-7 2-8");
  EXPECT_EQ(linear_links("(S looms )S"), "0-0 0-1 0-2");
  EXPECT_EQ(linear_links(""), "");
}

TEST(LinearTree, SymbolsOfALine) {
  const LinearSymbols found = symbols_of_linear("(S (NP XX )NP XX )S", "here");
  EXPECT_EQ(found.labels, (std::set<std::string>{"NP", "S"}));
  EXPECT_EQ(found.leaves, TreeLeaves::kMarks);
  EXPECT_EQ(symbols_of_linear("(S XX loom )S", "here").leaves, TreeLeaves::kWords);
  test::expect_error(ErrorKind::kFormat, {"here", "')S'", "'NP'"}, [] { symbols_of_linear("(S (NP XX )S", "here"); });
  test::expect_error(ErrorKind::kFormat, {"without a word"}, [] { symbols_of_linear("(S )S", "here"); });
  test::expect_error(ErrorKind::kFormat, {"'(' "}, [] { symbols_of_linear("( word )S", "here"); });
  test::expect_error(ErrorKind::kFormat, {"'The' outside of brackets"},
                     [] { symbols_of_linear("The loom weaves .", "here"); });
  test::expect_error(ErrorKind::kFormat, {"here: the bracket 'S' of the tree is not closed"},
                     [] { symbols_of_linear("(S XX", "here"); });
}

TEST(LinearTree, RightBranching) {
  const Tree truth = parse_tree("(ROOT (NP (A a) (B b)) (C c) (D d))", "here");
  EXPECT_EQ(tree_text(right_branching(truth, {})), "(ROOT (S (A a) (VP (B b) (VP (C c) (D d)))))");
  EXPECT_EQ(tree_text(right_branching(parse_tree("(X (A a))", "here"), {})), "(S (A a))");
}

}  // namespace
}  // namespace weft::readers
