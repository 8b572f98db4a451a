// SPDX-License-Identifier: Apache-2.0
// Encoder-decoders out of other models: what stays equal, and what is refused.
#include "weft/checkpoint/encoder_decoder/convert.h"

#include <gtest/gtest.h>

#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <c10/core/GradMode.h>

#include "models/small_encoder.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/models/families/pair_rules.h"

namespace weft::checkpoint {
namespace {

at::Tensor some_tokens(std::int64_t rows, std::int64_t length) {
  return at::randint(5, 18, {rows, length}, at::TensorOptions(at::kLong));
}

TEST(WarmStart, TheEncoderComputesWhatItComputedAndTheDecoderBeginsWithIt) {
  const at::NoGradGuard without_gradients;
  for (const char* family : {"bert", "roberta", "big_bird", "distilbert"}) {
    models::EncoderConfig config = test::small_encoder_config(family);
    models::EncoderModel encoder = test::small_encoder(config, models::Head::kNone);
    WarmStartOptions options;
    options.decoder_start_token_id = 2;
    options.eos_token_id = 3;
    options.max_target_positions = 6;
    models::EncoderDecoder model = warm_start(encoder, options);
    for (const std::int64_t length : {std::int64_t{3}, encoder->config().maximum_length()}) {
      const at::Tensor ids = some_tokens(2, length);
      at::Tensor mask = at::ones({2, length}, at::kLong);
      mask[1].narrow(0, length - 1, 1).zero_();
      at::Tensor padded = ids.clone();
      padded[1].narrow(0, length - 1, 1).fill_(config.pad_token_id);
      const at::Tensor expected = encoder->hidden_states({.input_ids = padded, .attention_mask = mask});
      const at::Tensor found = model->encoder_states({padded, mask});
      const at::Tensor gap = (found - expected).abs().amax(2).mul(mask);
      // The token type is added to the position first: float32 in another order.
      EXPECT_LT(gap.max().item<double>(), 1e-5) << family << ' ' << length;
    }
    const auto parameters = model->named_parameters();
    EXPECT_TRUE(parameters["decoder.layers.1.feed_forward.up.weight"].equal(
        encoder->named_parameters()["encoder.layers.1.feed_forward.up.weight"]));
    EXPECT_GT(parameters["decoder.layers.0.cross_attention.query.weight"].abs().max().item<double>(), 0.0);
    EXPECT_EQ(parameters["decoder.embeddings.positions"].size(0), 6);
    // It is a model of Weft's own, with a directory.
    const test::TemporaryDirectory folder;
    save_encoder_decoder(folder / "made", model);
    models::EncoderDecoder again = load_encoder_decoder(folder / "made");
    const models::SequencePair pair{.input_ids = some_tokens(2, 5), .decoder_input_ids = some_tokens(2, 4)};
    EXPECT_TRUE(again->logits(pair).equal(model->logits(pair)));
    EXPECT_EQ(again->config().encoder_full_until, model->config().encoder_full_until);
    // Another pattern serves short sources too, wherever it comes from.
    EXPECT_EQ(convert_encoder_decoder(model, {.attention = {"window(3)"}})->config().encoder_full_until, 0);
    EncoderDecoderLoadOptions local;
    local.encoder.attention = "window(3)";
    save_encoder_decoder(folder / "local", load_encoder_decoder(folder / "made", local));
    models::EncoderDecoder written = load_encoder_decoder(folder / "local");
    EXPECT_EQ(written->config().encoder_full_until, 0);
    EXPECT_EQ(written->config().encoder_attention, std::vector<std::string>{"window(3)"});
  }
  models::EncoderModel longformer = test::small_encoder(test::small_encoder_config("longformer"), models::Head::kNone);
  test::expect_error(ErrorKind::kUnsupported, {"longformer", "global positions"}, [&] { warm_start(longformer, {}); });
  models::EncoderModel bert = test::small_encoder(test::small_encoder_config("bert"), models::Head::kNone);
  test::expect_error(ErrorKind::kUnsupported, {"eos_token_id"}, [&] { warm_start(bert, {}); });
  test::expect_error(ErrorKind::kArgument, {"layers", "cannot have more"},
                     [&] { warm_start(bert, {.decoder_layers = 9, .decoder_start_token_id = 1, .eos_token_id = 2}); });
}

models::EncoderDecoder small_bart() {
  models::EncoderDecoderConfig config = models::pair_rules("bart").defaults;
  config.vocab_size = 20;
  config.d_model = 8;
  config.encoder_layers = 2;
  config.decoder_layers = 1;
  config.encoder_attention_heads = 2;
  config.decoder_attention_heads = 2;
  config.encoder_ffn_dim = 8;
  config.decoder_ffn_dim = 8;
  config.max_source_positions = 10;
  config.max_target_positions = 10;
  config.init_std = 0.3;
  models::EncoderDecoder model(config);
  model->eval();
  return model;
}

TEST(ConvertEncoderDecoder, AnLedComputesWhatItsBartComputedWhereEveryWindowReachesAll) {
  const at::NoGradGuard without_gradients;
  models::EncoderDecoder bart = small_bart();
  PairConvertOptions options;
  options.to = "led";
  options.length = 25;
  options.attention_window = {24};
  models::EncoderDecoder led = convert_encoder_decoder(bart, options);
  EXPECT_EQ(led->config().model_type, "led");
  EXPECT_EQ(led->config().max_target_positions, 10);
  const models::SequencePair pair{.input_ids = some_tokens(2, 9), .decoder_input_ids = some_tokens(2, 4)};
  // Global projections are copies: the first token computes the same through them.
  EXPECT_LT((led->logits(pair) - bart->logits(pair)).abs().max().item<double>(), 1e-5);
  const auto parameters = led->named_parameters();
  const at::Tensor& positions = parameters["encoder.embeddings.positions"];
  const at::Tensor old = bart->named_parameters()["encoder.embeddings.positions"].narrow(0, 2, 10);
  EXPECT_TRUE(positions.equal(at::cat({old, old, old.narrow(0, 0, 5)})));
  options.length = 5;
  test::expect_error(ErrorKind::kArgument, {"length", "10", "found 5"},
                     [&] { convert_encoder_decoder(bart, options); });
}

TEST(ConvertEncoderDecoder, AnotherPatternAndALongerTextKeepTheWeights) {
  const at::NoGradGuard without_gradients;
  models::EncoderDecoder bart = small_bart();
  PairConvertOptions options;
  options.attention = {"window(3) | global(1)"};
  options.length = 30;
  models::EncoderDecoder longer = convert_encoder_decoder(bart, options);
  EXPECT_EQ(longer->config().max_target_positions, 30);  // bart's config has one length
  EXPECT_EQ(longer->named_parameters()["decoder.embeddings.positions"].size(0), 32);
  const models::SequencePair pair{.input_ids = some_tokens(1, 28), .decoder_input_ids = some_tokens(1, 4)};
  EXPECT_TRUE(longer->logits(pair).isfinite().all().item<bool>());
  EXPECT_EQ(longer->computed().front().second, "window(3) | global(1)");
  options.attention = {"full", "full", "full"};
  test::expect_error(ErrorKind::kArgument, {"encoder_attention", "2 layers, found 3"},
                     [&] { convert_encoder_decoder(bart, options); });
}

}  // namespace
}  // namespace weft::checkpoint
