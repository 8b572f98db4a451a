// SPDX-License-Identifier: Apache-2.0
// Late chunking: the vector of a chunk is the pooling of the states of its own tokens, worked by hand from the model's
// hidden states; windows change no place, and count each token once.
#include "weft/tasks/embedding/chunks.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "tasks/retrieval/small_directory.h"

namespace weft::tasks {
namespace {

using checkpoint::PoolingMode;
using formats::Json;
using models::Head;
using test::expect_error;

const std::string kText = "The loom said hello. \xC3\x89 12 we see!  And she said it? the thread";
const std::vector<std::string> kSentences = {"The loom said hello.", "\xC3\x89 12 we see!", "And she said it?",
                                             "the thread"};

class Chunks : public testing::Test {
 protected:
  Chunks() { test::write_small_encoder(path(), Head::kNone); }

  std::filesystem::path path() const { return folder_ / "encoder"; }
  Embedder open(std::int64_t max_length = 0, const EmbedOverrides& overrides = {}) const {
    return open_embedder(path(), {.max_length = max_length}, overrides);
  }

  test::TemporaryDirectory folder_;
};

Json chunks_of(Embedder& embedder, const std::string& text, const ChunkRun& run = {}) {
  const Document document{text};
  return embed_chunks(embedder, {&document, 1}, run).front().result;
}

// The last hidden states [tokens, width] of one window of ids.
at::Tensor states_of(Embedder& embedder, const text::Encoding& window) {
  const c10::InferenceMode no_graph;
  models::EncoderInput input;
  input.input_ids = at::tensor(window.ids, at::kLong).unsqueeze(0);
  return embedder.model.model->hidden_states(input).select(0, 0);
}

void expect_vector(const Json& found, const at::Tensor& expected, const std::string& what) {
  ASSERT_EQ(found.size(), static_cast<std::size_t>(expected.numel())) << what;
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i].get<double>(), expected[static_cast<std::int64_t>(i)].item<double>(), 1e-5) << what;
  }
}

// The rows of `encoding` whose tokens begin in bytes [begin, end) of the text.
std::vector<std::int64_t> rows_in(const text::Encoding& encoding, std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> rows;
  for (std::size_t row = 0; row < encoding.ids.size(); ++row) {
    const std::int64_t place = encoding.byte_offsets[row].begin;
    if (encoding.special_mask[row] == 0 && place >= begin && place < end) {
      rows.push_back(static_cast<std::int64_t>(row));
    }
  }
  return rows;
}

TEST_F(Chunks, SentencesHaveTheMeanOfTheirOwnTokens) {
  Embedder embedder = open();
  const text::Encoding encoding = embedder.model.tokenizer->encode_windows(kText).front();
  const at::Tensor states = states_of(embedder, encoding);
  const Json found = chunks_of(embedder, kText);
  ASSERT_EQ(found.size(), kSentences.size());
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < kSentences.size(); ++i) {
    const auto begin = static_cast<std::int64_t>(kText.find(kSentences[i]));
    const auto end = begin + static_cast<std::int64_t>(kSentences[i].size());
    EXPECT_EQ(found[i]["byte_start"], begin);
    EXPECT_EQ(found[i]["byte_end"], end);
    // The second sentence begins with a letter of two bytes.
    EXPECT_EQ(found[i]["start"], begin - (i > 1 ? 1 : 0));
    EXPECT_EQ(found[i]["end"], end - (i > 0 ? 1 : 0));
    EXPECT_EQ(found[i]["text"], kSentences[i]);
    const std::vector<std::int64_t> rows = rows_in(encoding, begin, end);
    EXPECT_EQ(found[i]["tokens"], rows.size());
    tokens += static_cast<std::int64_t>(rows.size());
    expect_vector(found[i]["embedding"], states.index_select(0, at::tensor(rows, at::kLong)).mean(0), kSentences[i]);
  }
  EXPECT_EQ(tokens + 2, std::ssize(encoding.ids)) << "each token but the special ones is in a chunk";
}

TEST_F(Chunks, OfSoManyTokens) {
  Embedder embedder = open();
  const text::Encoding encoding = embedder.model.tokenizer->encode_windows(kText).front();
  const at::Tensor states = states_of(embedder, encoding);
  const std::int64_t tokens = std::ssize(encoding.ids) - 2;
  const Json found = chunks_of(embedder, kText, {.rule = parse_chunk_rule("5")});
  ASSERT_EQ(std::ssize(found), (tokens + 4) / 5);
  for (std::int64_t i = 0; i < std::ssize(found); ++i) {
    const std::int64_t size = std::min<std::int64_t>(5, tokens - 5 * i);
    const Json& chunk = found[static_cast<std::size_t>(i)];
    EXPECT_EQ(chunk["tokens"], size);
    EXPECT_EQ(chunk["byte_start"], encoding.byte_offsets[static_cast<std::size_t>(1 + 5 * i)].begin);
    EXPECT_EQ(chunk["byte_end"], encoding.byte_offsets[static_cast<std::size_t>(5 * i + size)].end);
    expect_vector(chunk["embedding"], states.narrow(0, 1 + 5 * i, size).mean(0), "chunk " + std::to_string(i));
  }
}

// Windows of 8 tokens that share 3: 6 of text each, of which the later ones give their last 3.
TEST_F(Chunks, WindowsChangeNoPlaceAndCountEachTokenOnce) {
  Embedder whole = open();
  Embedder windowed = open(8);
  ChunkRun run;
  run.embed.run.stride = 3;
  const Document document{kText};
  const TaskResult found = embed_chunks(windowed, {&document, 1}, run).front();
  const Json expected = chunks_of(whole, kText);
  ASSERT_EQ(found.result.size(), expected.size());
  const std::vector<text::Encoding> windows =
      whole.model.tokenizer->encode_windows(kText, {.max_length = 8, .stride = 3});
  ASSERT_GT(windows.size(), 4U);
  EXPECT_EQ(found.metadata["windows"], windows.size());
  EXPECT_EQ(found.metadata["overlap"], 3);
  EXPECT_EQ(found.metadata["chunks"], expected.size());
  std::vector<at::Tensor> states;
  for (const text::Encoding& window : windows) {
    states.push_back(states_of(whole, window));
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Json& chunk = found.result[i];
    for (const char* member : {"start", "end", "byte_start", "byte_end", "tokens", "text"}) {
      EXPECT_EQ(chunk[member], expected[i][member]) << member << " of chunk " << i;
    }
    at::Tensor sum = at::zeros({states.front().size(1)});
    std::int64_t count = 0;
    for (std::size_t window = 0; window < windows.size(); ++window) {
      for (const std::int64_t row :
           rows_in(windows[window], chunk["byte_start"].get<std::int64_t>(), chunk["byte_end"].get<std::int64_t>())) {
        if (window == 0 || row > 3) {  // behind [CLS] and the 3 that the window before has
          sum += states[window][row];
          ++count;
        }
      }
    }
    EXPECT_EQ(chunk["tokens"], count);
    expect_vector(chunk["embedding"], sum / count, "chunk " + std::to_string(i));
  }
}

TEST_F(Chunks, EveryPoolingGoesOverTheTokensOfTheChunk) {
  const std::vector<PoolingMode> modes = {PoolingMode::kMax, PoolingMode::kMean, PoolingMode::kMeanSqrtLength,
                                          PoolingMode::kWeightedMean, PoolingMode::kLastToken};
  Embedder embedder = open(0, {.pooling = modes, .normalize = true});
  const text::Encoding encoding = embedder.model.tokenizer->encode_windows(kText).front();
  const at::Tensor states = states_of(embedder, encoding);
  const Json found = chunks_of(embedder, kText);
  for (std::size_t i = 0; i < kSentences.size(); ++i) {
    const std::vector<std::int64_t> rows =
        rows_in(encoding, found[i]["byte_start"].get<std::int64_t>(), found[i]["byte_end"].get<std::int64_t>());
    const at::Tensor own = states.index_select(0, at::tensor(rows, at::kLong));
    const at::Tensor weights = at::arange(1, own.size(0) + 1).to(at::kFloat).unsqueeze(1);
    const at::Tensor pooled =
        at::cat({std::get<0>(own.max(0)), own.mean(0), own.sum(0) / std::sqrt(static_cast<double>(own.size(0))),
                 (own * weights).sum(0) / weights.sum(), own[-1]});
    expect_vector(found[i]["embedding"], pooled / pooled.norm(), kSentences[i]);
  }
  Embedder first = open(0, {.pooling = {PoolingMode::kCls}});
  expect_error(ErrorKind::kArgument, {"first token", "cls"}, [&] { chunks_of(first, kText); });
}

TEST_F(Chunks, APromptIsReadAndIsOfNoChunk) {
  Embedder embedder = open();
  ChunkRun run;
  run.embed.request.prompt = "she said: ";
  const Json found = chunks_of(embedder, kText, run);
  const text::Encoding encoding = embedder.model.tokenizer->encode_windows("she said: " + kText).front();
  const at::Tensor states = states_of(embedder, encoding);
  ASSERT_EQ(found.size(), kSentences.size());
  for (const Json& chunk : found) {
    const std::vector<std::int64_t> rows =
        rows_in(encoding, chunk["byte_start"].get<std::int64_t>() + 10, chunk["byte_end"].get<std::int64_t>() + 10);
    EXPECT_EQ(chunk["tokens"], rows.size());
    expect_vector(chunk["embedding"], states.index_select(0, at::tensor(rows, at::kLong)).mean(0),
                  chunk["text"].get<std::string>());
  }
  EXPECT_EQ(found[0]["text"], kSentences[0]);
  EXPECT_EQ(chunks_of(embedder, kText, {.rule = {.tokens = 1000}, .embed = run.embed})[0]["start"], 0);
}

TEST_F(Chunks, EndWhereATextWasCut) {
  Embedder embedder = open(10);
  ChunkRun run;
  run.embed.run.truncate = true;
  const Json found = chunks_of(embedder, kText, run);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0]["text"], kSentences[0]);
  EXPECT_EQ(found[1]["text"], "\xC3\x89 12 we");
}

TEST_F(Chunks, OfTextsWithNoTokenOrOne) {
  Embedder embedder = open();
  EXPECT_TRUE(chunks_of(embedder, "").empty());
  EXPECT_TRUE(chunks_of(embedder, " \n ").empty());
  const Json one = chunks_of(embedder, "\n we", {.rule = {.tokens = 4}});
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0]["text"], "we");
  EXPECT_EQ(one[0]["start"], 2);
  // A sentence that the tokeniser drops whole: a control character is a sign, and no token.
  const Document document{"We see.\n\x01\nthe loom"};
  const TaskResult found = embed_chunks(embedder, {&document, 1}, {}).front();
  EXPECT_EQ(found.result.size(), 2U);
  EXPECT_EQ(found.metadata["without_tokens"], 1);
}

TEST(ChunkRule, IsAWordOrANumber) {
  EXPECT_EQ(parse_chunk_rule("sentences").tokens, 0);
  EXPECT_EQ(parse_chunk_rule("128").tokens, 128);
  for (const char* rule : {"", "0", "-1", "words", "12 ", "1e3", "99999999999999999999"}) {
    expect_error(ErrorKind::kArgument, {"sentences", rule}, [&] { parse_chunk_rule(rule); });
  }
}

}  // namespace
}  // namespace weft::tasks
