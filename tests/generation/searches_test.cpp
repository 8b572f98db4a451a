// SPDX-License-Identifier: Apache-2.0
// Every way to search and every setting against what transformers generates from the same table of logits
// (tests/fixtures/make/generation.py), in one batch and prompt by prompt.
#include <gtest/gtest.h>

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "generation/table_decoder.h"
#include "weft/formats/config_json.h"
#include "weft/generation/search/search.h"
#include "weft/generation/settings/read_settings.h"

namespace weft::generation {
namespace {

struct Cases {
  formats::Json json = formats::read_json(WEFT_TEST_DATA_DIR "/generation/searches.json");
  at::Tensor table() const {
    const auto size = json["vocabulary"].get<std::int64_t>();
    return at::tensor(json["table"].get<std::vector<double>>(), at::kFloat).view({size, size, size}) /
           json["unit"].get<double>();
  }
};

GenerationConfig settings_of(const formats::Json& one) {
  GenerationConfig config;
  config.top_k = 0;
  formats::update_from_json(config, own_form(one["settings"], "case"), "case");
  config.seed = one["seed"].get<std::int64_t>();
  return config;
}

TEST(Searches, EqualThoseOfTransformers) {
  const Cases cases;
  test::TableDecoder decoder(cases.table());
  for (const formats::Json& one : cases.json["cases"]) {
    SCOPED_TRACE(one["settings"].dump());
    const GenerationConfig config = settings_of(one);
    const auto found = search(decoder, {.prompts = one["prompts"].get<std::vector<Ids>>()}, config);
    std::size_t row = 0;
    for (const auto& texts : found) {
      ASSERT_EQ(std::ssize(texts), config.num_return_sequences);
      for (const Sequence& text : texts) {
        EXPECT_EQ(text.ids, one["texts"][row].get<Ids>()) << "row " << row;
        // Scores are rounded to six places in the file. They add up to twelve logarithms in float32, each rounded by up
        // to 6e-8 of the sum, and a length_penalty of -1 multiplies sum and error by the length: hence 1e-6 of a score.
        const double expected = one["scores"][row].get<double>();
        EXPECT_NEAR(text.score, expected, std::max(1e-5, 1e-6 * std::abs(expected))) << "row " << row;
        ++row;
      }
    }
  }
}

// What is told on the way is what the best text begins with, and more each time.
TEST(Searches, WhatIsSettledStays) {
  const Cases cases;
  test::TableDecoder decoder(cases.table());
  std::size_t told = 0;
  for (const formats::Json& one : cases.json["cases"]) {
    SCOPED_TRACE(one["settings"].dump());
    const auto prompts = one["prompts"].get<std::vector<Ids>>();
    std::vector<std::vector<Ids>> settled(prompts.size());
    const auto keep = [&](std::int64_t prompt, std::span<const std::int64_t> ids) {
      settled[static_cast<std::size_t>(prompt)].emplace_back(ids.begin(), ids.end());
    };
    const auto found = search(decoder, {.prompts = prompts, .on_settled = keep}, settings_of(one));
    for (std::size_t prompt = 0; prompt < found.size(); ++prompt) {
      std::size_t length = 0;
      for (const Ids& ids : settled[prompt]) {
        EXPECT_GT(ids.size(), length);
        length = ids.size();
        const Ids& best = found[prompt].front().ids;
        ASSERT_LE(ids.size(), best.size());
        EXPECT_TRUE(std::equal(ids.begin(), ids.end(), best.begin()));
      }
      told += settled[prompt].size();
    }
  }
  EXPECT_GT(told, 100);
}

TEST(Searches, ATextDoesNotDependOnTheOthers) {
  const Cases cases;
  test::TableDecoder decoder(cases.table());
  for (const formats::Json& one : cases.json["cases"]) {
    const GenerationConfig config = settings_of(one);
    const auto prompts = one["prompts"].get<std::vector<Ids>>();
    const auto together = search(decoder, {.prompts = prompts}, config);
    for (std::size_t item = 0; item < prompts.size(); ++item) {
      const auto number = static_cast<std::int64_t>(item);  // which names the draws
      const auto alone = search(decoder, {.prompts = {prompts[item]}, .numbers = {number}}, config).front();
      for (std::size_t text = 0; text < alone.size(); ++text) {
        EXPECT_EQ(alone[text].ids, together[item][text].ids) << one["settings"].dump();
      }
    }
  }
}

TEST(Searches, EachTextIsAsLongAsItsSourceAllows) {
  const Cases cases;
  test::TableDecoder decoder(cases.table());
  for (const formats::Json& one : cases.json["cases"]) {
    SCOPED_TRACE(one["settings"].dump());
    GenerationConfig config = settings_of(one);
    config.max_new_tokens_per_source = "1:1";
    SearchRequest request{.prompts = one["prompts"].get<std::vector<Ids>>()};
    for (std::size_t item = 0; item < request.prompts.size(); ++item) {
      request.sources.emplace_back(item % 3, 1);
    }
    const auto together = search(decoder, request, config);
    for (std::size_t item = 0; item < request.prompts.size(); ++item) {
      const auto prompt = std::ssize(request.prompts[item]);
      GenerationConfig alone = config;
      alone.max_new_tokens =
          lengths_of(config, prompt, std::nullopt, std::ssize(request.sources[item])).maximum - prompt;
      alone.max_new_tokens_per_source.clear();
      const auto expected = search(decoder,
                                   {.prompts = {request.prompts[item]},
                                    .sources = {request.sources[item]},
                                    .numbers = {static_cast<std::int64_t>(item)}},
                                   alone);
      for (std::size_t text = 0; text < expected.front().size(); ++text) {
        EXPECT_EQ(together[item][text].ids, expected.front()[text].ids) << "prompt " << item;
      }
    }
  }
}

}  // namespace
}  // namespace weft::generation
