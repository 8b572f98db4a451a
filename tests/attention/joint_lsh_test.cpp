// SPDX-License-Identifier: Apache-2.0
// `lsh` against the LSH self-attention of transformers (tests/fixtures/make/lsh_layer.py) with its hash seeds: outputs
// and gradients. WEFT_LSH_CASES may name a folder of more such files (tests/parity/lsh_parity.py). Then `decode=cached`
// token by token against what the cache of transformers does, written out in float64 with lists and loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <torch/types.h>

#include "support/expect_error.h"
#include "support/torch_fixture.h"
#include "weft/attention/mechanism.h"
#include "weft/attention/mechanisms/lsh/lsh_buckets.h"
#include "weft/attention/mechanisms/lsh/lsh_digits.h"
#include "weft/core/error.h"

namespace weft::test {
namespace {

std::vector<std::string> released_cases() {
  std::vector<std::string> cases = {"joint/lsh_encoder", "joint/lsh_both_sides", "joint/lsh_decoder",
                                    "joint/lsh_short"};
  if (const char* folder = std::getenv("WEFT_LSH_CASES"); folder != nullptr) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      cases.push_back((entry.path().parent_path() / entry.path().stem()).string());
    }
  }
  return cases;
}

std::string released_expression(const Fixture& fixture) {
  const std::int64_t second = fixture.integer("second_factor");
  return concat("lsh(", fixture.integer("causal") == 1 ? "causal=position, " : "",
                "buckets=", fixture.integer("first_factor"), second > 1 ? concat("x", second) : "",
                ", rounds=", fixture.integer("rounds"), ", chunk=", fixture.integer("chunk"),
                ", right=", fixture.integer("right"), ", seed=", fixture.integer("seed"), ")");
}

TEST(JointLsh, EqualsTransformers) {
  for (const std::string& name : released_cases()) {
    const Fixture fixture(name);
    attention::MechanismSite site;
    site.heads = fixture.integer("heads");
    const auto leaf = [&](const char* tensor) { return fixture.float64(tensor).requires_grad_(); };
    const at::Tensor hidden = leaf("hidden_states");
    const at::Tensor query_key = leaf("query_key.weight");
    const at::Tensor value = leaf("value.weight");
    site.head_dim = query_key.size(0) / site.heads;
    const auto by_head = [&](const at::Tensor& weight) {
      return at::matmul(hidden, weight.t()).unflatten(-1, {site.heads, site.head_dim}).transpose(1, 2);
    };
    const at::Tensor keep = fixture.tensor("key_keep");
    attention::AttentionContext context;
    context.key_keep = keep.all().item<bool>() ? at::Tensor() : keep;
    const auto module = attention::make_attention(released_expression(fixture), site);
    const at::Tensor rows = by_head(query_key);
    const at::Tensor output = module->forward(rows, rows, by_head(value), context).transpose(1, 2).flatten(2);
    output.backward(fixture.float64("output_gradient"));
    SCOPED_TRACE(concat(name, ": ", released_expression(fixture)));
    // float64 on both sides. A log-sum-exp near -1e5, of a row that sees itself alone, is exact to 1.5e-11 only; Weft
    // keeps maximum and sum apart.
    EXPECT_LT(largest_difference(output, fixture.tensor("output"), keep), 1e-10);
    EXPECT_LT(largest_difference(hidden.grad(), fixture.tensor("hidden_states_gradient")), 1e-10);
    EXPECT_LT(largest_difference(query_key.grad(), fixture.tensor("query_key.weight_gradient")), 1e-10);
    EXPECT_LT(largest_difference(value.grad(), fixture.tensor("value.weight_gradient")), 1e-10);
  }
}

struct CachedCase {
  std::string expression;
  attention::HashSettings hash;
  std::int64_t chunk = 4;
  std::int64_t left = 1;
  std::int64_t right = 0;
  std::int64_t multiple = 4;
};

const std::vector<CachedCase> kCachedCases = {
    {"buckets=4, rounds=1, chunk=4", {{4}, 1, 0}},
    {"buckets=2x4, rounds=3, chunk=4, multiple=8, seed=5", {{2, 4}, 3, 5}, 4, 1, 0, 8},
    {"buckets=4, rounds=2, chunk=3, left=2, right=1", {{4}, 2, 0}, 3, 2, 1, 3},
    {"buckets=64x128, rounds=4, chunk=5, left=0", {{64, 128}, 4, 0}, 5, 0, 0, 5},
};

/// One text: rows x and values [H, N, .], buckets [H, R, N].
class CachedText {
 public:
  CachedText(const CachedCase& given, at::Tensor x, at::Tensor value, const at::Tensor& buckets)
      : given_(given), x_(std::move(x)), value_(std::move(value)), buckets_(buckets), all_(count_of(given)) {}

  void read_prompt(std::int64_t tokens) {
    is_sorted_ = tokens > given_.chunk;
    number_tokens(0, tokens, all_ + (is_sorted_ && tokens % given_.multiple != 0 ? 1 : 0));
  }

  /// What the next token gets: [H, D_v].
  at::Tensor next() {
    const std::int64_t token = std::ssize(numbers_[0][0]);
    std::int64_t largest = 0;
    for (const auto& head : numbers_) {
      for (const auto& round : head) {
        largest = std::max(largest, *std::max_element(round.begin(), round.end()));
      }
    }
    number_tokens(token, token + 1, all_ + (largest > given_.hash.rounds * all_ - 1 ? 1 : 0));
    std::vector<at::Tensor> heads;
    for (std::size_t head = 0; head < numbers_.size(); ++head) {
      heads.push_back(attend(head, token));
    }
    if (!is_sorted_ && token + 1 >= given_.chunk) {
      is_sorted_ = true;  // from the next token on, all are hashed again and none is padding
      numbers_.clear();
      number_tokens(0, token + 1, all_);
    }
    return at::stack(heads);
  }

 private:
  static std::int64_t count_of(const CachedCase& given) { return attention::bucket_count(given.hash.factors); }

  void number_tokens(std::int64_t first, std::int64_t end, std::int64_t apart) {
    numbers_.resize(static_cast<std::size_t>(buckets_.size(0)));
    for (std::size_t head = 0; head < numbers_.size(); ++head) {
      numbers_[head].resize(static_cast<std::size_t>(given_.hash.rounds));
      for (std::int64_t round = 0; round < given_.hash.rounds; ++round) {
        for (std::int64_t i = first; i < end; ++i) {
          const auto bucket = buckets_[static_cast<std::int64_t>(head)][round][i].item<std::int64_t>();
          numbers_[head][static_cast<std::size_t>(round)].push_back(bucket + round * apart);
        }
      }
    }
  }

  std::vector<std::int64_t> seen_in(const std::vector<std::int64_t>& numbers) const {
    const std::int64_t tokens = std::ssize(numbers);
    std::vector<std::int64_t> order(numbers.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return numbers[static_cast<std::size_t>(a)] < numbers[static_cast<std::size_t>(b)];
    });
    const std::int64_t place = std::find(order.begin(), order.end(), tokens - 1) - order.begin();
    std::vector<std::int64_t> seen;
    for (std::int64_t chunk = place / given_.chunk - given_.left; chunk <= place / given_.chunk + given_.right;
         ++chunk) {
      for (std::int64_t i = chunk * given_.chunk; i < (chunk + 1) * given_.chunk; ++i) {
        seen.push_back(order[static_cast<std::size_t>((i % tokens + tokens) % tokens)]);
      }
    }
    return seen;
  }

  at::Tensor attend(std::size_t head, std::int64_t token) const {
    const auto h = static_cast<std::int64_t>(head);
    std::vector<at::Tensor> outputs;
    std::vector<at::Tensor> sums;
    for (std::size_t round = 0; round < (is_sorted_ ? numbers_[head].size() : 1); ++round) {
      const at::Tensor keys = is_sorted_ ? at::tensor(seen_in(numbers_[head][round])) : at::arange(token + 1);
      const at::Tensor x = x_[h].index_select(0, keys);
      const at::Tensor norm = (x.square().mean(1, true) + 1e-6).sqrt() * std::sqrt(double(x.size(1)));
      const at::Tensor row = at::matmul(x / norm, x_[h][token]).masked_fill(keys == token, -1e5);
      outputs.push_back(at::matmul(at::softmax(row, 0), value_[h].index_select(0, keys)));
      sums.push_back(at::logsumexp(row, 0));
    }
    return at::matmul(at::softmax(at::stack(sums), 0), at::stack(outputs));
  }

  const CachedCase& given_;
  at::Tensor x_, value_, buckets_;
  std::int64_t all_;
  bool is_sorted_ = false;
  std::vector<std::vector<std::vector<std::int64_t>>> numbers_;  // [H][R][N]
};

attention::MechanismSite cached_site() {
  attention::MechanismSite site;
  site.heads = 2;
  site.head_dim = 5;
  site.maximum_length = 64;
  site.causal = true;
  return site;
}

std::shared_ptr<attention::AttentionImpl> cached_module(const std::string& settings) {
  return attention::make_attention("lsh(causal=position, " + settings + ", decode=cached)", cached_site());
}

TEST(LshCache, StepsAreThoseOfTransformers) {
  const at::NoGradGuard without_gradients;
  at::manual_seed(17);
  constexpr std::int64_t kTokens = 23;
  for (const CachedCase& each : kCachedCases) {
    const auto module = cached_module(each.expression);
    const at::Tensor rotations = attention::rotations_of(each.hash, 2, 5, at::TensorOptions(at::kDouble));
    for (const std::int64_t prompt : {1, 2, 3, 4, 5, 6, 8, 11, 12}) {
      const at::Tensor x = at::randn({3, 2, kTokens, 5}, at::kDouble);
      const at::Tensor value = at::randn({3, 2, kTokens, 4}, at::kDouble);
      const at::Tensor buckets = attention::buckets_of(x, rotations, each.hash.factors);
      const auto state = module->initial_state();
      std::vector<at::Tensor> outputs;
      for (const std::int64_t count :
           {prompt, std::int64_t{1}, std::int64_t{1}, std::int64_t{3}, kTokens - prompt - 5}) {
        attention::AttentionContext context;
        context.query_offset = state->length();
        const at::Tensor rows = x.narrow(2, context.query_offset, count);
        outputs.push_back(module->step(rows, rows, value.narrow(2, context.query_offset, count), context, *state));
        state->advance();
      }
      const at::Tensor found = at::cat(outputs, 2);
      const at::Tensor whole = x.narrow(2, 0, prompt);
      EXPECT_TRUE(outputs[0].equal(module->forward(whole, whole, value.narrow(2, 0, prompt), {}))) << each.expression;
      for (std::int64_t text = 0; text < 3; ++text) {
        CachedText expected(each, x[text], value[text], buckets[text]);
        expected.read_prompt(prompt);
        for (std::int64_t token = prompt; token < kTokens; ++token) {
          // float64 sums in another order; scores of -1e5 lose 1e-11
          EXPECT_LT((found[text].select(1, token) - expected.next()).abs().max().item<double>(), 1e-10)
              << each.expression << " prompt " << prompt << " token " << token;
        }
      }
    }
  }
}

TEST(LshCache, HalfTypesKeepEveryNumber) {
  at::manual_seed(3);
  for (const std::int64_t largest : {std::int64_t{1}, std::int64_t{127}, std::int64_t{128}, std::int64_t{1} << 27}) {
    const at::Tensor numbers = at::randint(largest + 1, {2, 2, 3, 9}, at::kLong);
    numbers[0][0][0][0] = largest;
    const std::int64_t digits = attention::digits_for(largest);
    for (const at::ScalarType type : {at::kBFloat16, at::kHalf, at::kFloat}) {
      const at::Tensor columns = attention::digits_of(numbers, digits, at::empty({0}, type));
      EXPECT_EQ(columns.scalar_type(), type);
      EXPECT_TRUE(attention::numbers_of_digits(columns, digits).equal(numbers)) << largest;
    }
  }
}

TEST(LshCache, GoesOnFromOtherRowsAndSavedStates) {
  const at::NoGradGuard without_gradients;
  at::manual_seed(4);
  const auto module = cached_module(kCachedCases[1].expression);
  const at::Tensor x = at::randn({3, 2, 14, 5});
  const auto run = [&](const at::Tensor& rows, attention::AttentionState& state) {
    attention::AttentionContext context;
    context.query_offset = state.length();
    const at::Tensor output = module->step(rows, rows, rows, context, state);
    state.advance();
    return output;
  };
  const auto state = module->initial_state();
  run(x.narrow(2, 0, 9), *state);
  run(x.narrow(2, 9, 2), *state);
  const auto loaded = state->fresh();
  loaded->load(state->save(), 11);
  const at::Tensor more = run(x.narrow(2, 11, 3), *state);
  EXPECT_TRUE(run(x.narrow(2, 11, 3), *loaded).equal(more));
  state->truncate(11);
  const at::Tensor rows = at::tensor({2, 0, 0}, at::kLong);
  state->reorder(rows);
  EXPECT_TRUE(run(x.index_select(0, rows).narrow(2, 11, 3), *state).equal(more.index_select(0, rows)));
}

TEST(LshCache, WhatCannotBeIsRefused) {
  expect_error(ErrorKind::kExpression, {"decode=cached", "causal=position"},
               [] { attention::parse_mechanism("lsh(decode=cached)"); });
  expect_error(ErrorKind::kExpression, {"decode", "whole", "cached"},
               [] { attention::parse_mechanism("lsh(causal=position, decode=latest)"); });
  expect_error(ErrorKind::kExpression, {"decode"},
               [] { attention::parse_mechanism("lsh(causal=rank, decode=whole)"); });
  const std::string written = "lsh(causal=position, buckets=4, chunk=32, decode=cached)";
  EXPECT_EQ(attention::parse_mechanism(written).description, written);
  EXPECT_EQ(attention::parse_mechanism("lsh(causal=position, decode=whole)").description, "lsh(causal=position)");
  const auto module = cached_module("buckets=4");
  const auto state = module->initial_state();
  const at::Tensor x = at::randn({1, 2, 3, 5});
  attention::AttentionContext padded;
  padded.key_keep = at::ones({1, 3}, at::kBool);
  expect_error(ErrorKind::kArgument, {"without padding"}, [&] { module->step(x, x, x, padded, *state); });
}

}  // namespace
}  // namespace weft::test
