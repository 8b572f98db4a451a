// SPDX-License-Identifier: Apache-2.0
// Profiles of whole models: equal to dense attention averaged in float64, the same bits from shards and from a run that
// was stopped, padding that does not count, and layers that have nothing to sum.
#include "weft/tasks/profile/profile_run.h"

#include <gtest/gtest.h>

#include <ATen/ops/allclose.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <map>
#include <string>
#include <vector>

#include "models/small_encoder.h"
#include "models/small_model.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"
#include "weft/layers/attention/watched.h"
#include "weft/models/encoder_decoder.h"
#include "weft/tasks/profile/model_profile.h"

namespace weft::tasks {
namespace {

using profile::MassSums;

// Bytes of a text that is the same in every test.
class RandomTokens final : public data::TokenSource {
 public:
  explicit RandomTokens(std::int64_t size, std::uint64_t seed = 3) {
    torch::manual_seed(seed);
    ids_ = at::randint(256, {size}, at::TensorOptions().dtype(at::kLong));
  }
  std::int64_t size() const override { return ids_.numel(); }
  void read(std::int64_t begin, std::span<std::int64_t> ids) const override {
    std::copy_n(ids_.const_data_ptr<std::int64_t>() + begin, ids.size(), ids.begin());
  }

 private:
  at::Tensor ids_;
};

at::Tensor mass(const std::vector<std::int64_t>& units, at::IntArrayRef shape) {
  return at::tensor(units, at::kLong).view(shape).to(at::kDouble) * profile::kMassUnit;
}

at::Tensor edges(const MassSums& sums) { return mass(sums.edge, {sums.shape().heads, sums.queries(), sums.keys()}); }

// Keeps the dense probabilities of every call, by the float64 oracle.
class DenseObserver final : public attention::AttentionObserver {
 public:
  void observe(const attention::ObservedCall& seen) override {
    const attention::MassCall& call = seen.call;
    const std::int64_t keys = call.key.size(2);
    pattern::Site site;
    site.query_length = call.query.size(2);
    site.key_length = keys;
    site.query_offset = call.layout->blocks().query_offset;
    site.heads = seen.site.heads;
    site.layer = seen.site.layer;
    site.maximum_length = seen.site.maximum_length;
    attention::AttentionOptions options;
    options.distances = call.distances;
    const at::Tensor identity = at::eye(keys, at::kDouble).expand({call.key.size(0), call.key.size(1), -1, -1});
    // A span of 90 with a ramp of 32 ends behind distance 121.
    const auto pattern = pattern::Pattern::parse(seen.spec.pattern ? seen.spec.description : "window(left=121)");
    at::Tensor& sum = sums[seen.site.layer];
    const at::Tensor weights = attention::dense_oracle(call.query.to(at::kDouble), call.key.to(at::kDouble), identity,
                                                       {pattern, site, {}}, options)
                                   .sum(0);
    sum = sum.defined() ? sum : at::zeros({seen.site.heads, 600, 600}, at::kDouble);
    sum.narrow(1, site.query_offset, site.query_length).narrow(2, 0, keys).add_(weights);
  }

  std::map<std::int64_t, at::Tensor> sums;
};

profile::AttentionProfile profiled(models::LanguageModel model, const RandomTokens& tokens, std::int64_t context,
                                   const ProfileRunOptions& options) {
  const auto units = token_units(model, std::make_shared<RandomTokens>(tokens), context, 2 * context);
  return run_profile(*model, *units, options);
}

ProfileRunOptions options_for(const std::filesystem::path& out) {
  ProfileRunOptions options;
  options.out = out;
  options.model = {"run", "decoder", "11aa", "float32"};
  return options;
}

TEST(ModelProfile, EqualsDenseAttentionOf600Tokens) {
  const test::TemporaryDirectory directory;
  for (const char* expression : {"window(left=150) | global(first=3)", "span(max=200, ramp=32, init=90)"}) {
    SCOPED_TRACE(expression);
    models::TransformerConfig config = test::small_config();
    config.max_position_embeddings = 600;
    config.attention = {expression};
    models::LanguageModel model = test::make_model(config);
    const RandomTokens tokens(1300);  // two windows, and a part of one
    const profile::AttentionProfile found = profiled(model, tokens, 600, options_for(directory / "profile"));
    EXPECT_EQ(found.data.tokens, 1300);
    EXPECT_EQ(found.data.texts, 3);
    DenseObserver dense;
    {
      const layers::WatchScope watch(*model, dense);
      const auto units = token_units(model, std::make_shared<RandomTokens>(tokens), 600, 1200);
      formats::Sha256 digest;
      const at::NoGradGuard without_gradients;
      while (units->next(digest)) {
        units->run();
      }
    }
    ASSERT_EQ(found.parts.size(), 2U);
    for (std::int64_t layer = 0; layer < 2; ++layer) {
      const profile::Part* part = found.find(concat("layers.", layer, ".self"));
      ASSERT_NE(part, nullptr);
      EXPECT_EQ(part->site.layer, layer);
      EXPECT_TRUE(part->site.causal);
      const at::Tensor rows = at::tensor(part->sums.rows, at::kLong).view({2, 600, 1}).to(at::kDouble);
      EXPECT_EQ(rows.select(1, 99).sum().item<double>(), 6.0);
      EXPECT_EQ(rows.select(1, 100).sum().item<double>(), 4.0);
      EXPECT_TRUE(at::allclose(edges(part->sums) / rows, dense.sums.at(layer) / rows, 0.0, 1e-6));
    }
  }
}

// The units of another, until one of them is not there.
class StoppedUnits final : public ProfileUnits {
 public:
  StoppedUnits(std::unique_ptr<ProfileUnits> units, std::int64_t runs) : units_(std::move(units)), runs_(runs) {}
  bool next(formats::Sha256& digest) override { return units_->next(digest); }
  UnitCounts run() override {
    require(runs_-- > 0, "the power went");
    return units_->run();
  }

 private:
  std::unique_ptr<ProfileUnits> units_;
  std::int64_t runs_;
};

TEST(ProfileRun, ShardsAndStoppedRunsAreOnePass) {
  const test::TemporaryDirectory directory;
  models::TransformerConfig config = test::small_config();
  config.position_embedding = "none";
  config.attention = {"relative(left=40)"};
  config.memory_length = 24;
  models::LanguageModel model = test::make_model(config);
  const RandomTokens tokens(5000);
  ProfileRunOptions options = options_for(directory / "whole");
  const profile::AttentionProfile whole = profiled(model, tokens, 16, options);
  EXPECT_EQ(whole.data.tokens, 5000);
  EXPECT_EQ(whole.parts[0].sums.queries(), 40);  // 16 behind 24
  EXPECT_EQ(whole.parts[0].sums.rows_of(0), 5000);

  std::vector<profile::AttentionProfile> shards;
  for (options.shard = 0, options.shards = 3; options.shard < 3; ++options.shard) {
    options.out = directory / concat("shard", options.shard);
    profiled(model, tokens, 16, options);
    shards.push_back(profile::read_profile(options.out));
  }
  const std::vector<std::string> names = {"0", "1", "2"};
  profile::write_profile(directory / "merged", profile::merge_profiles(shards, names));
  EXPECT_EQ(read_file(directory / "merged"), read_file(directory / "whole"));

  options = options_for(directory / "resumed");
  options.resume = true;
  options.seconds_a_save = -1;
  const auto context_units = [&] { return token_units(model, std::make_shared<RandomTokens>(tokens), 16, 32); };
  for (const std::int64_t runs : {3, 4}) {
    StoppedUnits stopped(context_units(), runs);
    EXPECT_THROW(run_profile(*model, stopped, options), Error);
    EXPECT_FALSE(std::filesystem::exists(options.out));
  }
  EXPECT_EQ(profile::read_profile(partial_path(options.out)).progress.units, 7);
  EXPECT_THROW(profile::require_complete(profile::read_profile(partial_path(options.out)), "it"), Error);
  const auto refused = [&](const RandomTokens& other, std::int64_t context) {
    test::expect_error(ErrorKind::kArgument, {"other texts"}, [&] { profiled(model, other, context, options); });
  };
  refused(RandomTokens(5000, 4), 16);
  refused(tokens, 8);
  refused(RandomTokens(100), 16);
  options.tile = 32;
  test::expect_error(ErrorKind::kArgument, {"other tiles"}, [&] { profiled(model, tokens, 16, options); });
  options.tile = 64;
  profiled(model, tokens, 16, options);
  EXPECT_EQ(read_file(options.out), read_file(directory / "whole"));
  EXPECT_FALSE(std::filesystem::exists(partial_path(options.out)));
}

TEST(ProfileRun, SaysWhichLayersHaveNothingToSum) {
  const test::TemporaryDirectory directory;
  models::TransformerConfig config = test::small_config();
  config.attention = {"linear", "causal & window(9)"};
  const profile::AttentionProfile found =
      profiled(test::make_model(config), RandomTokens(100), 64, options_for(directory / "profile"));
  EXPECT_NE(found.parts[0].site.reason.find("no softmax"), std::string::npos);
  EXPECT_EQ(found.parts[0].sums.queries(), 0);
  EXPECT_EQ(found.parts[1].site.reason, "");
  EXPECT_EQ(found.parts[1].sums.rows_of(1), 100);
  const profile::AttentionProfile read = profile::read_profile(directory / "profile");
  EXPECT_EQ(read.parts[0].site.reason, found.parts[0].site.reason);
}

TEST(ProfileRun, HalfTypesAreNearFloat32) {
  const test::TemporaryDirectory directory;
  models::LanguageModel model = test::make_model(test::small_config());
  ProfileRunOptions options = options_for(directory / "profile");
  const profile::AttentionProfile exact = profiled(model, RandomTokens(200), 64, options);
  options.model.dtype = "bfloat16";
  const profile::AttentionProfile half = profiled(model, RandomTokens(200), 64, options);
  EXPECT_EQ(half.parts[1].sums.rows, exact.parts[1].sums.rows);
  // Eight bits of a score near 10, through two layers.
  const at::Tensor difference = edges(half.parts[0].sums) - edges(exact.parts[0].sums);
  EXPECT_LT(difference.abs().mean().item<double>(), 0.01);
}

// Rows of these lengths, padded to the longest, and one by one.
TEST(ModelProfile, PaddingDoesNotCount) {
  const std::vector<std::int64_t> lengths = {37, 12, 60};
  for (const char* family : {"bert", "roberta", "longformer", "big_bird"}) {
    SCOPED_TRACE(family);
    const models::EncoderConfig config = test::small_encoder_config(family);
    models::EncoderModel model = test::small_encoder(config, models::Head::kNone);
    models::EncoderInput input;
    input.input_ids = test::text_ids(3, 60);
    input.attention_mask = at::zeros_like(input.input_ids);
    input.global_attention_mask = std::string(family) == "longformer" ? at::zeros_like(input.input_ids) : at::Tensor();
    ModelProfile together(*model, {.tile = 16});
    ModelProfile alone(*model, {.tile = 16});
    const at::NoGradGuard without_gradients;
    for (std::int64_t row = 0; row < 3; ++row) {
      input.attention_mask[row].narrow(0, 0, lengths[static_cast<std::size_t>(row)]).fill_(1);
      if (input.global_attention_mask.defined()) {
        input.global_attention_mask[row][0] = 1;
        input.global_attention_mask[row][7] = row == 2 ? 1 : 0;
      }
    }
    {
      const layers::WatchScope watch(*model, together);
      model->hidden_states(input);
    }
    const layers::WatchScope watch(*model, alone);
    for (std::int64_t row = 0; row < 3; ++row) {
      models::EncoderInput one;
      const std::int64_t length = lengths[static_cast<std::size_t>(row)];
      const auto part = [&](const at::Tensor& all) {
        return all.defined() ? all.narrow(0, row, 1).narrow(1, 0, length) : all;
      };
      one.input_ids = part(input.input_ids);
      one.global_attention_mask = part(input.global_attention_mask);
      model->hidden_states(one);
    }
    ASSERT_EQ(together.parts().size(), 2U);
    for (std::size_t layer = 0; layer < 2; ++layer) {
      const MassSums& sums = together.parts()[layer].sums;
      EXPECT_EQ(sums.rows_of(1), 37 + 12 + 60);
      EXPECT_EQ(sums.rows, alone.parts()[layer].sums.rows);
      EXPECT_TRUE(at::allclose(edges(sums), edges(alone.parts()[layer].sums), 0.0, 1e-5));
      if (input.global_attention_mask.defined()) {
        // Of the two longest texts the first position sees the last one.
        EXPECT_GT(edges(sums)[0][0][59].item<double>(), 0.0);
        EXPECT_GT(edges(sums)[0][7][59].item<double>(), 0.0);
        EXPECT_EQ(edges(sums)[0][8][59].item<double>(), 0.0);
      }
    }
    const bool short_runs_in_full = std::string(family) == "big_bird";
    EXPECT_EQ(together.parts()[0].site.note.empty(), !short_runs_in_full) << together.parts()[0].site.note;
  }
}

TEST(ModelProfile, NamesTheHalvesOfAnEncoderDecoder) {
  models::EncoderDecoderConfig config;
  config.vocab_size = 40;
  config.d_model = 12;
  config.encoder_layers = 1;
  config.decoder_layers = 2;
  config.encoder_attention_heads = 2;
  config.decoder_attention_heads = 3;
  config.encoder_ffn_dim = 20;
  config.decoder_ffn_dim = 16;
  config.max_source_positions = 32;
  config.max_target_positions = 24;
  torch::manual_seed(1);
  models::EncoderDecoder model(config);
  model->eval();
  ModelProfile found(*model, {});
  models::SequencePair pair;
  pair.input_ids = at::randint(4, 40, {2, 9}, at::TensorOptions().dtype(at::kLong));
  pair.decoder_input_ids = at::randint(4, 40, {2, 5}, at::TensorOptions().dtype(at::kLong));
  pair.attention_mask = at::tensor({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0}, at::kLong).view({2, 9});
  pair.decoder_attention_mask = at::tensor({1, 1, 1, 0, 0, 1, 1, 1, 1, 1}, at::kLong).view({2, 5});
  const at::NoGradGuard without_gradients;
  const layers::WatchScope watch(*model, found);
  model->hidden_states(pair);
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const profile::Part& part : found.parts()) {
    shapes[part.site.name] = {part.sums.shape().heads, part.sums.queries(), part.sums.keys(), part.sums.rows_of(0)};
  }
  const std::map<std::string, std::vector<std::int64_t>> expected = {{"encoder.layers.0.self", {2, 9, 9, 15}},
                                                                     {"decoder.layers.0.self", {3, 5, 5, 8}},
                                                                     {"decoder.layers.0.cross", {3, 5, 9, 8}},
                                                                     {"decoder.layers.1.self", {3, 5, 5, 8}},
                                                                     {"decoder.layers.1.cross", {3, 5, 9, 8}}};
  EXPECT_EQ(shapes, expected);
}

}  // namespace
}  // namespace weft::tasks
