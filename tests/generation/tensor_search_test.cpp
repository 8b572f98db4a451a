// SPDX-License-Identifier: Apache-2.0
// `weft generate --input` of an encoder-decoder takes the tensors that `weft forward` takes.
#include "weft/generation/tensors/tensor_search.h"

#include <gtest/gtest.h>

#include <ATen/ops/ones_like.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>
#include <torch/utils.h>

#include "checkpoint/encoder_fixture.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/generation/pair_decoder.h"

namespace weft::generation {
namespace {

class TensorSearch : public ::testing::Test {
 protected:
  TensorSearch() {
    torch::manual_seed(3);
    ids_ = at::randint(4, 16, {2, 12}, at::TensorOptions().dtype(at::kLong));
    config_.max_new_tokens = 4;
    config_.decoder_start_token_id = 2;
  }

  TensorTexts texts(checkpoint::NamedTensors more, bool with_source = true) const {
    more.emplace_back("input_ids", ids_);
    checkpoint::save_tensors(file_, more);
    return read_tensor_texts(file_.string(), with_source);
  }
  TensorResults write(checkpoint::NamedTensors more) const {
    return write_targets(model_, texts(std::move(more)), config_, file_.string());
  }

  test::TemporaryDirectory folder_;
  std::filesystem::path file_ = folder_ / "ids.safetensors";
  test::EncoderFixture fixture_{"seq2seq/led"};
  models::EncoderDecoder model_ = checkpoint::load_encoder_decoder(fixture_.directory());
  at::Tensor ids_;
  generation::GenerationConfig config_;
};

TEST_F(TensorSearch, GlobalPositionsReachTheEncoder) {
  at::Tensor globals = at::zeros_like(ids_);
  globals.select(1, 5).fill_(1);
  globals.select(1, 9).fill_(1);
  const TensorResults found = write({{"global_attention_mask", globals}});
  generation::PairDecoder decoder(model_, ids_, at::ones_like(ids_), globals);
  generation::SearchRequest request{.prompts = {{2}, {2}}, .scores = true};
  const auto expected = generation::search(decoder, request, config_);
  const TensorResults without = write({});
  for (std::int64_t row = 0; row < 2; ++row) {
    const generation::Sequence& text = expected[static_cast<std::size_t>(row)].front();
    EXPECT_FLOAT_EQ(found.scores[row].item<float>(), static_cast<float>(text.score));
    EXPECT_NE(found.scores[row].item<float>(), without.scores[row].item<float>());
  }
}

TEST_F(TensorSearch, TextsGoOnFromWhatIsGiven) {
  const TensorResults found = write({{"decoder_input_ids", at::tensor({2, 7, 2, 9}, at::kLong).view({2, 2})}});
  EXPECT_TRUE(found.sequences.narrow(1, 0, 2).equal(at::tensor({2, 7, 2, 9}, at::kLong).view({2, 2})));
  // The start token is put before what lacks it in every row.
  const TensorResults same = write({{"decoder_input_ids", at::tensor({7, 9}, at::kLong).view({2, 1})}});
  EXPECT_TRUE(same.sequences.equal(found.sequences));
  EXPECT_TRUE(same.scores.equal(found.scores));
}

TEST_F(TensorSearch, WhatDoesNotFitIsNamed) {
  const auto refused = [&](ErrorKind kind, std::initializer_list<std::string_view> words,
                           const checkpoint::NamedTensors& more, bool with_source = true) {
    test::expect_error(kind, words, [&] { texts(more, with_source); });
  };
  const at::Tensor ones = at::ones_like(ids_);
  refused(ErrorKind::kFormat, {"global_attention_mask", "[2, 11]"},
          {{"global_attention_mask", ones.narrow(1, 0, 11).contiguous()}});
  refused(ErrorKind::kFormat, {"global_attention_mask", "0 and 1"}, {{"global_attention_mask", ones + 1}});
  refused(ErrorKind::kFormat, {"decoder_input_ids have 1 rows"},
          {{"decoder_input_ids", ones.narrow(0, 0, 1).contiguous()}});
  refused(ErrorKind::kUnsupported, {"decoder_attention_mask must be ones"},
          {{"decoder_input_ids", ones}, {"decoder_attention_mask", at::zeros_like(ones)}});
  refused(ErrorKind::kArgument, {"decoder_attention_mask belongs to decoder_input_ids"},
          {{"decoder_attention_mask", ones}});
  refused(ErrorKind::kFormat, {"'token_type_ids'", "global_attention_mask"}, {{"token_type_ids", ones}});
  refused(ErrorKind::kFormat, {"'global_attention_mask'", "expected input_ids, attention_mask"},
          {{"global_attention_mask", ones}}, false);
}

}  // namespace
}  // namespace weft::generation
