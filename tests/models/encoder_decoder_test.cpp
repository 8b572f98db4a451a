// SPDX-License-Identifier: Apache-2.0
// The encoder-decoder against the equations of Vaswani et al. 2017 written with LibTorch's operators, and what holds
// without a reference: causality, padding, decoding, recomputation.
#include "weft/models/encoder_decoder.h"

#include <gtest/gtest.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>
#include <torch/utils.h>

#include <cmath>
#include <limits>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/attention/sinusoids.h"
#include "weft/core/files.h"
#include "weft/layers/attention/cross_attention.h"

namespace weft::models {
namespace {

EncoderDecoderConfig small_pair_config() {
  EncoderDecoderConfig config;
  config.vocab_size = 40;
  config.d_model = 12;
  config.encoder_layers = 2;
  config.decoder_layers = 3;
  config.encoder_attention_heads = 2;
  config.decoder_attention_heads = 3;
  config.encoder_ffn_dim = 20;
  config.decoder_ffn_dim = 16;
  config.max_source_positions = 32;
  config.max_target_positions = 24;
  config.init_std = 0.3;  // far from zero, so that every part shows in the logits
  return config;
}

EncoderDecoder make_pair_model(const EncoderDecoderConfig& config) {
  torch::manual_seed(1234);
  EncoderDecoder model(config);
  model->to(at::kDouble);
  model->eval();
  const at::NoGradGuard without_gradients;
  for (const at::Tensor& parameter : model->parameters()) {
    parameter.add_(at::randn_like(parameter, at::TensorOptions()), 0.1);  // biases and norms show, too
  }
  return model;
}

at::Tensor pair_ids(std::int64_t rows, std::int64_t length) {
  return at::randint(2, 40, {rows, length}, at::TensorOptions().dtype(at::kLong));
}

/// Shapes that differ in every switch.
std::vector<EncoderDecoderConfig> pair_variants() {
  std::vector<EncoderDecoderConfig> all(4, small_pair_config());
  all[1].norm_position = "pre";
  all[1].normalize_embedding = false;
  all[1].position_embedding = "sinusoidal";
  all[1].scale_embedding = true;
  all[1].activation_function = "relu";
  all[2].share_embeddings = false;
  all[2].tie_word_embeddings = false;
  all[2].scale_embedding = true;
  all[3].norm_position = "pre";
  all[3].tie_word_embeddings = false;
  all[3].pad_token_id = 1;
  return all;
}

/// The model by its equations: every number through LibTorch's plain operators, masks as minus infinity.
class Reference {
 public:
  explicit Reference(const EncoderDecoder& model) : model_(model), config_(model->config()) {}

  at::Tensor logits(const at::Tensor& source, const at::Tensor& keep, const at::Tensor& target) {
    at::Tensor memory = embed("encoder.", source, "encoder.embeddings.tokens");
    const at::Tensor hidden_keys = keep.logical_not().unsqueeze(1).unsqueeze(1);  // [B, 1, 1, S]
    for (std::int64_t layer = 0; layer < config_.encoder_layers; ++layer) {
      const std::string name = concat("encoder.layers.", layer, ".");
      memory = sublayer(name + "attention_norm", memory, [&](const at::Tensor& x) {
        return self_attention(name + "attention.", x, config_.encoder_attention_heads, hidden_keys);
      });
      memory = feed_forward(name, memory);
    }
    memory = last_norm("encoder.norm", memory);
    const std::string table = config_.share_embeddings ? "encoder.embeddings.tokens" : "decoder.embeddings.tokens";
    at::Tensor hidden = embed("decoder.", target, table);
    const at::Tensor places = at::arange(target.size(1));
    const at::Tensor future = places.unsqueeze(0).gt(places.unsqueeze(1));
    for (std::int64_t layer = 0; layer < config_.decoder_layers; ++layer) {
      const std::string name = concat("decoder.layers.", layer, ".");
      const std::int64_t heads = config_.decoder_attention_heads;
      hidden = sublayer(name + "attention_norm", hidden,
                        [&](const at::Tensor& x) { return self_attention(name + "attention.", x, heads, future); });
      hidden = sublayer(name + "cross_attention_norm", hidden, [&](const at::Tensor& x) {
        const at::Tensor both = linear(name + "cross_attention.key_value", memory);
        return attend(name + "cross_attention.output", {linear(name + "cross_attention.query", x), both}, heads,
                      hidden_keys);
      });
      hidden = feed_forward(name, hidden);
    }
    return at::linear(last_norm("decoder.norm", hidden), value(config_.tie_word_embeddings ? table : "head"));
  }

 private:
  at::Tensor value(const std::string& name) const { return model_->named_parameters()[name]; }
  at::Tensor linear(const std::string& name, const at::Tensor& x) const {
    return at::linear(x, value(name + ".weight"), value(name + ".bias"));
  }
  at::Tensor norm(const std::string& name, const at::Tensor& x) const {
    return at::layer_norm(x, {config_.d_model}, value(name + ".weight"), value(name + ".bias"), config_.layer_norm_eps);
  }
  bool pre() const { return config_.norm_position == "pre"; }
  at::Tensor last_norm(const std::string& name, const at::Tensor& x) const { return pre() ? norm(name, x) : x; }

  at::Tensor embed(const std::string& stack, const at::Tensor& ids, const std::string& table) const {
    at::Tensor x = at::embedding(value(table), ids);
    x = config_.scale_embedding ? x * std::sqrt(static_cast<double>(config_.d_model)) : x;
    x = x + (config_.position_embedding == "learned"
                 ? value(stack + "embeddings.positions").narrow(0, 0, ids.size(1))
                 : attention::sinusoidal_positions(0, ids.size(1), config_.d_model, x.options()));
    return config_.normalize_embedding ? norm(stack + "embeddings.norm", x) : x;
  }

  template <typename Function>
  at::Tensor sublayer(const std::string& its_norm, const at::Tensor& x, Function&& function) const {
    return pre() ? x + function(norm(its_norm, x)) : norm(its_norm, x + function(x));
  }

  at::Tensor feed_forward(const std::string& layer, const at::Tensor& x) const {
    return sublayer(layer + "feed_forward_norm", x, [&](const at::Tensor& y) {
      const at::Tensor up = linear(layer + "feed_forward.up", y);
      return linear(layer + "feed_forward.down", config_.activation_function == "relu" ? up.relu() : at::gelu(up));
    });
  }

  at::Tensor self_attention(const std::string& name, const at::Tensor& x, std::int64_t heads,
                            const at::Tensor& hidden) const {
    const at::Tensor fused = linear(name + "qkv", x);
    const std::int64_t width = x.size(2);
    return attend(name + "output", {fused.narrow(2, 0, width), fused.narrow(2, width, 2 * width)}, heads, hidden);
  }

  struct Projected {
    at::Tensor query;
    at::Tensor key_value;
  };
  at::Tensor attend(const std::string& output, const Projected& projected, std::int64_t heads,
                    const at::Tensor& hidden) const {
    const auto split = [&](const at::Tensor& y) {
      return y.reshape({y.size(0), y.size(1), heads, -1}).transpose(1, 2);
    };
    const std::int64_t width = projected.query.size(2);
    const at::Tensor query = split(projected.query);
    const at::Tensor key = split(projected.key_value.narrow(2, 0, width));
    const at::Tensor content = split(projected.key_value.narrow(2, width, width));
    const double scale = 1.0 / std::sqrt(static_cast<double>(query.size(3)));
    const at::Tensor scores =
        at::matmul(query, key.transpose(2, 3)).mul(scale).masked_fill(hidden, -std::numeric_limits<double>::infinity());
    return linear(output, at::matmul(at::softmax(scores, 3), content).transpose(1, 2).flatten(2));
  }

  EncoderDecoder model_;
  EncoderDecoderConfig config_;
};

TEST(EncoderDecoder, EqualsTheEquations) {
  const at::NoGradGuard without_gradients;
  for (const EncoderDecoderConfig& config : pair_variants()) {
    EncoderDecoder model = make_pair_model(config);
    const at::Tensor source = pair_ids(2, 13);
    const at::Tensor target = pair_ids(2, 9);
    at::Tensor mask = at::ones({2, 13}, at::kLong);
    mask[1].narrow(0, 8, 5).zero_();
    const at::Tensor found = model->logits({.input_ids = source, .decoder_input_ids = target, .attention_mask = mask});
    const at::Tensor expected = Reference(model).logits(source, mask.ne(0), target);
    // float64 through five layers, sums in another order
    EXPECT_LT((found - expected).abs().max().item<double>(), 1e-10) << config.norm_position;
  }
}

TEST(EncoderDecoder, HidesLeftPaddingAndAHoleOfTheSource) {
  const at::NoGradGuard without_gradients;
  for (const EncoderDecoderConfig& config : pair_variants()) {
    EncoderDecoder model = make_pair_model(config);
    const at::Tensor source = pair_ids(2, 11);
    const at::Tensor target = pair_ids(2, 6);
    at::Tensor mask = at::ones({2, 11}, at::kLong);
    mask[0].narrow(0, 0, 3).zero_();
    mask[1].narrow(0, 4, 2).zero_();
    const at::Tensor found = model->logits({.input_ids = source, .decoder_input_ids = target, .attention_mask = mask});
    const at::Tensor expected = Reference(model).logits(source, mask.ne(0), target);
    EXPECT_LT((found - expected).abs().max().item<double>(), 1e-10) << config.norm_position;
    layers::DecodingState state = model->initial_state();
    const at::Tensor last = model->decode(target, state, model->encode(source, mask));
    EXPECT_LT((last - expected.select(1, 5)).abs().max().item<double>(), 1e-10) << config.norm_position;
  }
}

TEST(EncoderDecoder, ALaterTargetTokenNeverReachesAnEarlierOneAndTheSourceReachesAll) {
  const at::NoGradGuard without_gradients;
  for (const EncoderDecoderConfig& config : pair_variants()) {
    EncoderDecoder model = make_pair_model(config);
    const at::Tensor source = pair_ids(2, 10);
    const at::Tensor target = pair_ids(2, 8);
    const at::Tensor before = model->logits({.input_ids = source, .decoder_input_ids = target});
    at::Tensor changed = target.clone();
    changed.select(1, 5).add_(1).remainder_(40);
    const at::Tensor after = model->logits({.input_ids = source, .decoder_input_ids = changed});
    EXPECT_TRUE(before.narrow(1, 0, 5).equal(after.narrow(1, 0, 5)));
    EXPECT_FALSE(before.select(1, 5).equal(after.select(1, 5)));
    changed = source.clone();
    changed.select(1, 9).add_(1).remainder_(40);
    const at::Tensor other = model->logits({.input_ids = changed, .decoder_input_ids = target});
    EXPECT_TRUE((before - other).abs().amax(2).gt(0).all().item<bool>());
  }
}

TEST(EncoderDecoder, PaddingChangesNothing) {
  const at::NoGradGuard without_gradients;
  EncoderDecoderConfig config = small_pair_config();
  config.encoder_attention = {"window(5) | global(1)"};
  config.cross_attention = {"full", "window(7)", "global(first=1, last=2)"};
  EncoderDecoder model = make_pair_model(config);
  const at::Tensor source = pair_ids(2, 12);
  const at::Tensor target = pair_ids(2, 9);
  at::Tensor source_mask = at::ones({2, 12}, at::kLong);
  at::Tensor target_mask = at::ones({2, 9}, at::kLong);
  source_mask[1].narrow(0, 7, 5).zero_();
  target_mask[1].narrow(0, 6, 3).zero_();
  const at::Tensor both = model->logits({.input_ids = source,
                                         .decoder_input_ids = target,
                                         .attention_mask = source_mask,
                                         .decoder_attention_mask = target_mask});
  const at::Tensor alone = model->logits({.input_ids = source.narrow(0, 1, 1).narrow(1, 0, 7),
                                          .decoder_input_ids = target.narrow(0, 1, 1).narrow(1, 0, 6)});
  EXPECT_LT((both[1].narrow(0, 0, 6) - alone[0]).abs().max().item<double>(), 1e-11);
}

TEST(EncoderDecoder, DecodingEqualsTheWhole) {
  const at::NoGradGuard without_gradients;
  std::vector<EncoderDecoderConfig> configs = pair_variants();
  configs.push_back(small_pair_config());
  configs.back().position_embedding = "rotary";
  configs.back().d_model = 24;
  configs.back().encoder_attention = {"window(5)"};
  configs.back().decoder_attention = {"window(4)", "full", "strided(3)"};
  configs.back().cross_attention = {"window(5)", "full", "heads(full, window(9), global(2))"};
  configs.push_back(small_pair_config());
  configs.back().decoder_attention = {"linear", "full", "linear"};
  configs.back().cross_attention = {"linear", "linear", "window(5)"};
  for (const EncoderDecoderConfig& config : configs) {
    EncoderDecoder model = make_pair_model(config);
    const at::Tensor source = pair_ids(2, 11);
    const at::Tensor target = pair_ids(2, 10);
    at::Tensor mask = at::ones({2, 11}, at::kLong);
    mask[0].narrow(0, 9, 2).zero_();
    const at::Tensor whole = model->logits({.input_ids = source, .decoder_input_ids = target, .attention_mask = mask});
    const std::shared_ptr<const layers::Source> read = model->encode(source, mask);
    EXPECT_EQ(read->heads.size(), 3U);
    layers::DecodingState state = model->initial_state();
    std::int64_t at = 0;
    for (const std::int64_t piece : {4, 1, 1, 3, 1}) {
      const at::Tensor logits = model->decode(target.narrow(1, at, piece), state, read);
      at += piece;
      EXPECT_LT((logits - whole.select(1, at - 1)).abs().max().item<double>(), 1e-11) << "after " << at << " tokens";
    }
  }
}

TEST(EncoderDecoder, DecodesOnWithReorderedRows) {
  const at::NoGradGuard without_gradients;
  EncoderDecoder model = make_pair_model(small_pair_config());
  const at::Tensor source = pair_ids(2, 11);
  const at::Tensor target = pair_ids(2, 7);
  at::Tensor mask = at::ones({2, 11}, at::kLong);
  mask[0].narrow(0, 8, 3).zero_();  // a length
  mask[1].select(0, 4).zero_();     // a key that is hidden
  const std::shared_ptr<const layers::Source> read = model->encode(source, mask);
  for (const std::vector<std::int64_t>& order : {std::vector<std::int64_t>{1, 0}, {0, 0, 0, 1, 1, 1}}) {
    const at::Tensor rows = at::tensor(order, at::kLong);
    layers::DecodingState state = model->initial_state();
    model->decode(target.narrow(1, 0, 4), state, read);
    state.reorder(rows);
    const auto reordered = std::make_shared<const layers::Source>(read->reordered(rows));
    const at::Tensor chosen = target.index_select(0, rows);
    const at::Tensor found = model->decode(chosen.narrow(1, 4, 3), state, reordered);
    const at::Tensor whole = model->logits({.input_ids = source.index_select(0, rows),
                                            .decoder_input_ids = chosen,
                                            .attention_mask = mask.index_select(0, rows)});
    EXPECT_LT((found - whole.select(1, 6)).abs().max().item<double>(), 1e-11) << order.size();
  }
}

TEST(EncoderDecoder, CrossPatternsHaveTheLengthsOfBothTexts) {
  const at::NoGradGuard without_gradients;
  const test::TemporaryDirectory folder;
  EncoderDecoderConfig config = small_pair_config();
  config.directory = folder.path();
  config.cross_attention = {"edges(\"graph.mtx\")"};
  const auto write = [&](const char* sizes) {
    write_file_atomically(folder / "graph.mtx",
                          concat("%%MatrixMarket matrix coordinate pattern general\n", sizes, " 2\n1 1\n24 30\n"));
  };
  write("24 32");  // max_target_positions rows, max_source_positions columns
  EncoderDecoder model = make_pair_model(config);
  const at::Tensor source = pair_ids(1, 32);
  const at::Tensor target = pair_ids(1, 24);
  const at::Tensor before = model->logits({.input_ids = source, .decoder_input_ids = target});
  EXPECT_TRUE(before.isfinite().all().item<bool>());
  write("24 31");
  test::expect_error(ErrorKind::kExpression, {"cross_attention of layer 0", "31"}, [&] { validate(config, "config"); });
}

TEST(EncoderDecoder, DecodesInEvaluationModeOnly) {
  EncoderDecoder model = make_pair_model(small_pair_config());
  const at::Tensor ids = pair_ids(1, 4);
  const std::shared_ptr<const layers::Source> read = model->encode(ids);
  layers::DecodingState state = model->initial_state();
  model->train();
  test::expect_error(ErrorKind::kArgument, {"encode()", "training mode", "eval()"}, [&] { model->encode(ids); });
  test::expect_error(ErrorKind::kArgument, {"decode()", "training mode", "eval()"},
                     [&] { model->decode(ids, state, read); });
}

TEST(EncoderDecoder, LossIsTheCrossEntropyOfTheLogits) {
  EncoderDecoderConfig config = small_pair_config();
  config.loss_chunk_size = 7;
  EncoderDecoder model = make_pair_model(config);
  const SequencePair pair{.input_ids = pair_ids(2, 9), .decoder_input_ids = pair_ids(2, 8)};
  const at::Tensor labels = pair_ids(2, 8).masked_fill_(pair_ids(2, 8).lt(12), -100);
  const at::Tensor expected =
      at::cross_entropy_loss(model->logits(pair).flatten(0, 1), labels.flatten(), {}, at::Reduction::Mean, -100);
  EXPECT_NEAR(model->loss(pair, labels).item<double>(), expected.item<double>(), 1e-12);
}

/// Gradients of the loss by name.
std::vector<std::pair<std::string, at::Tensor>> pair_gradients(EncoderDecoder model, const SequencePair& pair,
                                                               const at::Tensor& labels) {
  model->zero_grad();
  model->loss(pair, labels).backward();
  std::vector<std::pair<std::string, at::Tensor>> gradients;
  for (const auto& parameter : model->named_parameters()) {
    EXPECT_TRUE(parameter.value().grad().defined()) << parameter.key();
    gradients.emplace_back(parameter.key(), parameter.value().grad().clone());
  }
  return gradients;
}

TEST(EncoderDecoder, GradientsAreThoseOfTheEquationsWithAndWithoutRecomputation) {
  for (EncoderDecoderConfig config : pair_variants()) {
    config.pad_token_id = -1;  // LibTorch's embedding below has no row without a gradient
    const SequencePair pair{.input_ids = pair_ids(2, 7), .decoder_input_ids = pair_ids(2, 6)};
    const at::Tensor labels = pair_ids(2, 6);
    EncoderDecoder model = make_pair_model(config);
    const auto plain = pair_gradients(model, pair, labels);
    const at::Tensor logits =
        Reference(model).logits(pair.input_ids, at::ones({2, 7}, at::kBool), pair.decoder_input_ids);
    model->zero_grad();
    at::cross_entropy_loss(logits.flatten(0, 1), labels.flatten()).backward();
    for (const auto& [name, gradient] : plain) {
      EXPECT_LT((gradient - model->named_parameters()[name].grad()).abs().max().item<double>(), 1e-10) << name;
    }
    config.gradient_checkpointing = true;
    const auto recomputed = pair_gradients(make_pair_model(config), pair, labels);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      EXPECT_LT((plain[i].second - recomputed[i].second).abs().max().item<double>(), 1e-12) << plain[i].first;
    }
  }
}

TEST(EncoderDecoder, DropoutIsAFunctionOfTheSeedAndRecomputationSeesTheSame) {
  EncoderDecoderConfig config = small_pair_config();
  config.dropout = 0.2;
  config.attention_dropout = 0.2;
  const SequencePair pair{.input_ids = pair_ids(2, 7), .decoder_input_ids = pair_ids(2, 6), .seed = 5};
  const at::Tensor labels = pair_ids(2, 6);
  EncoderDecoder model = make_pair_model(config);
  model->train();
  const double loss = model->loss(pair, labels).item<double>();
  EXPECT_EQ(model->loss(pair, labels).item<double>(), loss);
  SequencePair other = pair;
  other.seed = 6;
  EXPECT_NE(model->loss(other, labels).item<double>(), loss);
  const auto plain = pair_gradients(model, pair, labels);
  config.gradient_checkpointing = true;
  EncoderDecoder checkpointed = make_pair_model(config);
  checkpointed->train();
  const auto recomputed = pair_gradients(checkpointed, pair, labels);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_LT((plain[i].second - recomputed[i].second).abs().max().item<double>(), 1e-12) << plain[i].first;
  }
}

TEST(EncoderDecoder, HandsOutWhereATargetLooksWithTheSameGradientsUnderRecomputation) {
  SequencePair pair{.input_ids = pair_ids(2, 7), .decoder_input_ids = pair_ids(2, 6)};
  pair.weights = std::make_shared<layers::CrossWeights>(layers::CrossWeights{.layer = 1});
  std::vector<at::Tensor> found[2];
  for (const bool recompute : {false, true}) {
    EncoderDecoderConfig config = small_pair_config();
    config.gradient_checkpointing = recompute;
    EncoderDecoder model = make_pair_model(config);
    const at::Tensor loss = model->loss(pair, pair.decoder_input_ids);
    (loss - pair.weights->weights.select(1, 2).select(2, 0).log().sum()).backward();
    found[recompute].push_back(pair.weights->weights);
    for (const at::Tensor& parameter : model->parameters()) {
      found[recompute].push_back(parameter.grad());
    }
  }
  for (std::size_t i = 0; i < found[0].size(); ++i) {
    EXPECT_LT((found[0][i] - found[1][i]).abs().max().item<double>(), 1e-12) << i;
  }
  pair.weights->layer = 3;
  test::expect_error(ErrorKind::kArgument, {"layer 3", "0 to 2"},
                     [&] { make_pair_model(small_pair_config())->loss(pair, pair.decoder_input_ids); });
}

TEST(EncoderDecoder, SharesAndTiesTables) {
  const auto count = [](bool share, bool tie) {
    EncoderDecoderConfig config = small_pair_config();
    config.share_embeddings = share;
    config.tie_word_embeddings = tie;
    return EncoderDecoder(config)->parameter_count();
  };
  constexpr std::int64_t kTable = 40 * 12;
  EXPECT_EQ(count(false, true), count(true, true) + kTable);
  EXPECT_EQ(count(true, false), count(true, true) + kTable);
  EXPECT_EQ(count(false, false), count(true, true) + 2 * kTable);
}

TEST(EncoderDecoder, BeginsAsPublished) {
  EncoderDecoderConfig config = small_pair_config();
  config.d_model = 60;
  config.pad_token_id = 1;
  config.norm_position = "pre";
  torch::manual_seed(2);
  const EncoderDecoder model(config);
  const auto parameters = model->named_parameters();
  const auto deviation = [&](const char* name) { return parameters[name].std().item<double>(); };
  // 3,600 draws and more: their deviation is within 5% of the one asked for
  EXPECT_NEAR(deviation("decoder.layers.0.cross_attention.query.weight"), 0.3, 0.015);
  EXPECT_NEAR(deviation("decoder.layers.0.cross_attention.output.weight"), 0.3 / 3.0, 0.005);
  EXPECT_NEAR(deviation("encoder.layers.1.attention.output.weight"), 0.3 / 2.0, 0.0075);
  EXPECT_EQ(parameters["encoder.embeddings.tokens"][1].abs().sum().item<double>(), 0.0);
  EXPECT_EQ(parameters["decoder.layers.2.cross_attention_norm.weight"].sum().item<double>(), 60.0);
  EXPECT_EQ(parameters["decoder.layers.2.cross_attention.key_value.bias"].abs().sum().item<double>(), 0.0);
}

TEST(EncoderDecoder, RefusesWhatDoesNotFit) {
  const auto refused = [](auto change, std::initializer_list<std::string_view> words) {
    EncoderDecoderConfig config = small_pair_config();
    change(config);
    test::expect_error(ErrorKind::kArgument, words, [&] { validate(config, "config"); });
  };
  refused([](EncoderDecoderConfig& config) { config.decoder_attention_heads = 5; },
          {"d_model 12", "decoder_attention_heads 5"});
  refused([](EncoderDecoderConfig& config) { config.encoder_attention_heads = 7; }, {"encoder_attention_heads 7"});
  refused([](EncoderDecoderConfig& config) { config.pad_token_id = 40; }, {"pad_token_id 40"});
  refused([](EncoderDecoderConfig& config) { config.cross_attention = {"full", "full"}; }, {"cross_attention", "3"});
  EncoderDecoderConfig wrong = small_pair_config();
  wrong.cross_attention = {"full", "heads(full, full)", "full"};
  test::expect_error(ErrorKind::kExpression, {"config: cross_attention of layer 1"},
                     [&] { validate(wrong, "config"); });
  EncoderDecoder model = make_pair_model(small_pair_config());
  const at::Tensor ids = pair_ids(1, 4);
  test::expect_error(ErrorKind::kArgument, {"decoder_input_ids", "40", "vocab_size = 40"},
                     [&] { model->logits({.input_ids = ids, .decoder_input_ids = at::full({1, 4}, 40, at::kLong)}); });
  test::expect_error(ErrorKind::kArgument, {"max_target_positions = 24", "25"},
                     [&] { model->logits({.input_ids = ids, .decoder_input_ids = pair_ids(1, 25)}); });
  test::expect_error(ErrorKind::kArgument, {"max_source_positions = 32", "33"},
                     [&] { model->logits({.input_ids = pair_ids(1, 33), .decoder_input_ids = ids}); });
}

TEST(EncoderDecoder, RefusesPatternsOverPositionsThatNoCallNames) {
  for (const auto& [member, where] :
       {std::pair{&EncoderDecoderConfig::decoder_attention, "config: decoder_attention of layer"},
        {&EncoderDecoderConfig::cross_attention, "config: cross_attention of layer"}}) {
    EncoderDecoderConfig config = small_pair_config();
    config.*member = {"window(4) | global(input)"};
    test::expect_error(ErrorKind::kUnsupported, {where, "`input`"}, [&] { validate(config, "config"); });
  }
}

}  // namespace
}  // namespace weft::models
