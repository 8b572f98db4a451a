// SPDX-License-Identifier: Apache-2.0
// Searches with weights of bfloat16: the likeliest token is mostly that of float32, and a text is the same each time.
#include <gtest/gtest.h>

#include <ATen/autocast_mode.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/small_model.h"
#include "weft/generation/generate.h"
#include "weft/generation/search/search.h"

namespace weft::generation {
namespace {

const std::vector<Ids> kWrittenBehind = {
    {72, 101, 108, 108, 111}, {1, 2, 3, 4, 5}, {250, 9, 9, 31, 77}, {40, 41, 42, 43, 44}};

GenerationConfig searching(std::int64_t beams, bool draws) {
  GenerationConfig config;
  config.do_sample = draws;
  config.top_k = 0;
  config.num_beams = beams;
  config.max_new_tokens = 24;
  config.seed = 11;
  return config;
}

std::vector<Ids> texts_of(const models::LanguageModel& model, const std::vector<Ids>& prompts,
                          const GenerationConfig& config) {
  LanguageModelDecoder decoder(model);
  std::vector<Ids> texts;
  for (const std::vector<Sequence>& found : search(decoder, {.prompts = prompts}, config)) {
    texts.push_back(found.front().ids);
  }
  return texts;
}

// A token of these texts has a neighbour within a hundredth of a nat now and then: the model has drawn weights.
TEST(Bfloat16Writing, TheLikeliestTokenIsMostlyThatOfFloat32) {
  const models::LanguageModel model = test::make_model(test::small_config());
  const std::vector<Ids> texts = texts_of(model, kWrittenBehind, searching(1, false));
  LanguageModelDecoder half(test::in_bfloat16(model));
  std::int64_t same = 0;
  std::int64_t tokens = 0;
  layers::DecodingState state = half.initial_state();
  at::Tensor scores;
  for (std::size_t step = 0; step < texts.front().size(); ++step) {
    Ids column;
    for (std::size_t row = 0; row < texts.size(); ++row) {
      const Ids& given = kWrittenBehind[row];
      column.insert(column.end(),
                    step == 0 ? given.begin() : texts[row].begin() + static_cast<std::ptrdiff_t>(step) - 1,
                    step == 0 ? given.end() : texts[row].begin() + static_cast<std::ptrdiff_t>(step));
    }
    scores = half.step(at::tensor(column, at::kLong).view({std::ssize(texts), -1}), state);
    const at::Tensor best = scores.argmax(1);
    for (std::size_t row = 0; row < texts.size(); ++row) {
      same += best[static_cast<std::int64_t>(row)].item<std::int64_t>() == texts[row][step] ? 1 : 0;
      ++tokens;
    }
  }
  EXPECT_EQ(tokens, 96);
  EXPECT_GE(static_cast<double>(same), 0.9 * static_cast<double>(tokens)) << same;
}

TEST(Bfloat16Writing, ATextIsTheSameEachTime) {
  const models::LanguageModel model = test::in_bfloat16(test::make_model(test::small_config()));
  for (const GenerationConfig& config :
       {searching(1, false), searching(1, true), searching(3, false), searching(3, true)}) {
    const std::vector<Ids> first = texts_of(model, kWrittenBehind, config);
    EXPECT_EQ(texts_of(model, kWrittenBehind, config), first);
    EXPECT_EQ(first.front().size(), 24U);
    const std::vector<Ids> alone = texts_of(model, {kWrittenBehind.front()}, config);
    EXPECT_EQ(texts_of(model, {kWrittenBehind.front()}, config), alone) << "one text has products of its own";
  }
}

// Under autocast, as the model of a run that learned in bfloat16 writes: what is kept from token to token changes no
// bit.
TEST(Bfloat16Writing, ARunsModelWritesTheSameTextAgain) {
  const models::LanguageModel model = test::make_model(test::small_config());
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  const Ids once = generate(model, kWrittenBehind.front(), searching(1, true)).ids;
  const Ids again = generate(model, kWrittenBehind.front(), searching(1, true)).ids;
  const Ids of_others =
      generate(test::make_model(test::small_config()), kWrittenBehind.front(), searching(1, true)).ids;
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_EQ(once, again);
  EXPECT_EQ(once, of_others);
}

}  // namespace
}  // namespace weft::generation
