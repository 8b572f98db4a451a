// SPDX-License-Identifier: Apache-2.0
// Whatever the scores are, what comes out is a tree over the words of the source, within the tokens that there are.
#include "weft/generation/processors/tree_shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string_view>

#include "support/expect_error.h"

namespace weft::generation {
namespace {

// Letters, a few pieces, and the end as id 0.
TreeShape letters_and_pieces() {
  TreeShape shape;
  shape.target = {"", "S", "N", "P", "X", "(", ")", " ", "XX", " XX", " (", "NP", " )S", "(S (", "Z", "P )", "\n"};
  shape.source = {"", " a", "b c", " ", "d"};
  shape.labels = {"S", "NP", "N", "SP"};
  shape.leaf = [](std::string_view) { return "XX"; };
  shape.ends = {0};
  return shape;
}

// The tokens with the largest random scores among those that may come, up to `longest` of them.
std::string draw_tree(const Processor& keep, const TreeShape& shape, const std::vector<std::int64_t>& source,
                      std::int64_t longest, std::mt19937& random) {
  std::vector<std::int64_t> tokens = {0};
  std::string text;
  std::normal_distribution<float> normal;
  while (std::ssize(tokens) < longest) {
    std::vector<float> scores(shape.target.size());
    for (float& score : scores) {
      score = normal(random);
    }
    keep({.scores = scores, .tokens = tokens, .source = source, .longest = longest});
    tokens.push_back(std::max_element(scores.begin(), scores.end()) - scores.begin());
    EXPECT_NE(*std::max_element(scores.begin(), scores.end()), kImpossible);
    text += shape.target[static_cast<std::size_t>(tokens.back())];
    if (tokens.back() == 0) {
      return text;
    }
  }
  ADD_FAILURE() << "no end: " << text;
  return text;
}

// The leaves, one after the other, of what must be one tree.
std::string leaves_of_tree(std::string_view text) {
  std::vector<std::string_view> open;
  std::string words;
  bool opened = false;
  std::size_t at = text.find_first_not_of(' ');
  for (std::size_t symbols = 0; at < text.size(); ++symbols) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view symbol = text.substr(at, end - at);
    EXPECT_TRUE(symbols == 0 || !open.empty()) << text;
    if (symbol.front() == '(') {
      open.push_back(symbol.substr(1));
    } else if (symbol.front() != ')') {
      words += symbol;
    } else {
      EXPECT_FALSE(opened) << text;
      EXPECT_EQ(symbol.substr(1), open.back()) << text;
      open.pop_back();
    }
    opened = symbol.front() == '(';
    EXPECT_NE(end + 1, text.size()) << text;
    at = end == text.size() ? end : end + 1;
  }
  EXPECT_TRUE(open.empty()) << text;
  return words;
}

// 60 random trees over a source, which have one token more to write each time.
void expect_leaves(const TreeShape& shape, const std::vector<std::int64_t>& source, std::int64_t least_longest,
                   std::string_view leaves, std::uint32_t seed) {
  const Processor keep = keep_trees(shape);
  std::mt19937 random(seed);
  for (std::int64_t more = 0; more < 60; ++more) {
    EXPECT_EQ(leaves_of_tree(draw_tree(keep, shape, source, least_longest + more, random)), leaves);
  }
}

TEST(TreeShape, RandomScoresWriteTrees) {
  expect_leaves(letters_and_pieces(), {0, 1, 2, 3, 4, 0}, 9, "XXXXXX", 7);
  expect_leaves(letters_and_pieces(), {1}, 6, "XX", 8);
}

// A word may be a token of its own, begin as another does, be written letter by letter, and have letters of two bytes,
// half of which no token writes.
TEST(TreeShape, RandomScoresWriteTheWordsOfTheSource) {
  TreeShape shape = letters_and_pieces();
  shape.leaf = [](std::string_view word) { return word; };
  shape.target.emplace_back("\xC3\xA9");
  shape.source = {"", " SNP", " N", "N", " Z\xC3\xA9"};
  expect_leaves(shape, {1, 2, 3, 4}, 20, "SNPNNZ\xC3\xA9", 7);
  shape.source = {"a"};
  const std::vector<std::int64_t> tokens = {0};
  std::vector<float> scores(shape.target.size());
  test::expect_error(ErrorKind::kArgument, {"text 2", "cannot write 'a'"}, [&] {
    keep_trees(shape)({.scores = scores, .tokens = tokens, .source = tokens, .item = 2, .longest = 40});
  });
}

TEST(TreeShape, NoRoomAndNoTokensAreErrors) {
  TreeShape shape = letters_and_pieces();
  std::vector<float> scores(shape.target.size());
  const std::vector<std::int64_t> start = {0};
  const std::vector<std::int64_t> source = {1, 2};
  test::expect_error(ErrorKind::kArgument, {"text 3", "2 words", "4 tokens"}, [&] {
    keep_trees(shape)({.scores = scores, .tokens = start, .source = source, .item = 3, .longest = 4});
  });
  shape.labels = {"VP"};
  test::expect_error(ErrorKind::kArgument, {"cannot write", "VP"}, [&] { keep_trees(shape); });
  shape.labels = {};
  test::expect_error(ErrorKind::kArgument, {"labels"}, [&] { keep_trees(shape); });
}

}  // namespace
}  // namespace weft::generation
