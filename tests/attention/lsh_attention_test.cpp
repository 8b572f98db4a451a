// SPDX-License-Identifier: Apache-2.0
// Attention by hashing against the paper's sums in float64, pair by pair and round by round; gradients, padding, the
// past alone, decoding, memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "attention/small_calls.h"
#include "support/expect_error.h"
#include "support/torch_gradcheck.h"
#include "support/torch_memory.h"
#include "weft/attention/mechanism.h"
#include "weft/attention/mechanisms/lsh/lsh_buckets.h"

namespace weft::test {
namespace {

using attention::AttentionChoices;
using attention::AttentionContext;
using attention::AttentionImpl;
using attention::make_attention;
using attention::MechanismSite;

/// A setting of the expression, and what it means to the equations.
struct HashCase {
  std::string expression;
  std::int64_t chunk = 8;
  std::int64_t left = 1;
  std::int64_t right = 0;
  bool by_position = false;
  std::int64_t window = 0;    // of causal=rank
  std::int64_t multiple = 1;  // of chunks
};

const std::vector<HashCase> kHashCases = {
    {"lsh(buckets=4, rounds=1, chunk=8)"},
    {"lsh(buckets=2x4, rounds=3, chunk=8, left=1, right=1)", 8, 1, 1},
    {"lsh(buckets=8, rounds=2, chunk=5, left=2, seed=3)", 5, 2},
    {"lsh(buckets=8, rounds=2, chunk=8, left=0)", 8, 0},
    {"lsh(causal=position, buckets=4, rounds=2, chunk=8)", 8, 1, 0, true},
    {"lsh(causal=position, buckets=2x2, rounds=4, chunk=3, right=1)", 3, 1, 1, true},
    {"lsh(causal=rank, window=1, buckets=4)", 0, 0, 0, false, 1},
    {"lsh(causal=rank, window=5, buckets=2x4, rounds=3)", 0, 0, 0, false, 5},
    {"lsh(causal=rank, window=20, buckets=2, rounds=1)", 0, 0, 0, false, 20},
    {"lsh(causal=rank, window=300, buckets=4, rounds=2)", 0, 0, 0, false, 300},
    {"lsh(buckets=4, rounds=2, chunk=4, right=1, multiple=12)", 4, 1, 1, false, 0, 3}};

MechanismSite hashing_site(std::int64_t heads, std::int64_t width) {
  MechanismSite site;
  site.heads = heads;
  site.head_dim = width;
  site.maximum_length = 4096;
  return site;
}

/// One head's rows x [N][D], values, buckets [R][N] and what is kept.
struct HeadRows {
  at::Tensor x;
  at::Tensor value;
  std::vector<std::vector<std::int64_t>> buckets;
  std::vector<bool> keep;
};

/// The rows that row i of a round sees, some of them twice.
using Seen = std::vector<std::int64_t>;

std::vector<std::int64_t> sorted_positions(const std::vector<std::int64_t>& buckets) {
  std::vector<std::int64_t> order(buckets.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return buckets[static_cast<std::size_t>(a)] < buckets[static_cast<std::size_t>(b)];
  });
  return order;
}

/// [R][N]: the chunks of all rounds are one circle.
std::vector<std::vector<Seen>> seen_in_chunks(const HeadRows& head, const HashCase& hash) {
  const auto length = static_cast<std::int64_t>(head.keep.size());
  const auto rounds = static_cast<std::int64_t>(head.buckets.size());
  std::vector<std::int64_t> circle;
  for (const auto& buckets : head.buckets) {
    const auto order = sorted_positions(buckets);
    circle.insert(circle.end(), order.begin(), order.end());
  }
  const std::int64_t chunks = rounds * length / hash.chunk;
  std::vector<std::vector<Seen>> seen(head.buckets.size(), std::vector<Seen>(head.keep.size()));
  for (std::int64_t place = 0; place < rounds * length; ++place) {
    const std::int64_t i = circle[static_cast<std::size_t>(place)];
    Seen& row = seen[static_cast<std::size_t>(place / length)][static_cast<std::size_t>(i)];
    for (std::int64_t step = -hash.left; step <= hash.right; ++step) {
      const std::int64_t chunk = ((place / hash.chunk + step) % chunks + chunks) % chunks;
      for (std::int64_t other = 0; other < hash.chunk; ++other) {
        const std::int64_t j = circle[static_cast<std::size_t>(chunk * hash.chunk + other)];
        const bool hidden = !head.keep[static_cast<std::size_t>(j)] || (hash.by_position && j > i);
        if (!hidden || j == i) {
          row.push_back(j);
        }
      }
    }
  }
  return seen;
}

/// Earlier rows of the same bucket, the last `window` of them, and the row itself.
std::vector<std::vector<Seen>> seen_by_rank(const HeadRows& head, std::int64_t window) {
  const auto length = static_cast<std::int64_t>(head.keep.size());
  std::vector<std::vector<Seen>> seen;
  for (const auto& buckets : head.buckets) {
    std::vector<Seen> round;
    for (std::int64_t i = 0; i < length; ++i) {
      Seen row = {i};
      for (std::int64_t j = i - 1; j >= 0 && std::ssize(row) <= window; --j) {
        if (head.keep[static_cast<std::size_t>(j)] &&
            buckets[static_cast<std::size_t>(j)] == buckets[static_cast<std::size_t>(i)]) {
          row.push_back(j);
        }
      }
      round.push_back(row);
    }
    seen.push_back(round);
  }
  return seen;
}

/// Kitaev et al. 2020, equations 2 to 5, as released: a softmax in each round, and one over the rounds.
at::Tensor mixed_rounds(const HeadRows& head, const std::vector<std::vector<Seen>>& seen) {
  const at::Tensor norm = (head.x.square().mean(-1, true) + 1e-6).sqrt() * std::sqrt(double(head.x.size(1)));
  const at::Tensor scores = at::matmul(head.x, (head.x / norm).t());
  at::Tensor output = at::zeros_like(head.value);
  for (std::int64_t i = 0; i < head.x.size(0); ++i) {
    if (!head.keep[static_cast<std::size_t>(i)]) {
      continue;
    }
    std::vector<at::Tensor> outputs;
    std::vector<at::Tensor> sums;
    for (const auto& round : seen) {
      const at::Tensor keys = at::tensor(round[static_cast<std::size_t>(i)]);
      const at::Tensor row = scores[i].index_select(0, keys).masked_fill(keys == i, -1e5);
      outputs.push_back(at::matmul(at::softmax(row, 0), head.value.index_select(0, keys)));
      sums.push_back(at::logsumexp(row, 0));
    }
    output[i] = at::matmul(at::softmax(at::stack(sums), 0), at::stack(outputs));
  }
  return output;
}

/// Head h of text b, padded to whole chunks; what is padded has the bucket behind all others.
HeadRows head_rows(const Tensors& tensors, const at::Tensor& buckets, const at::Tensor& keep, std::int64_t added) {
  const std::int64_t length = tensors.key.size(0);
  HeadRows head{at::constant_pad_nd(tensors.key.to(at::kDouble), {0, 0, 0, added}),
                at::constant_pad_nd(tensors.value.to(at::kDouble), {0, 0, 0, added}),
                {},
                {}};
  for (std::int64_t i = 0; i < length + added; ++i) {
    head.keep.push_back(i < length && (!keep.defined() || keep[i].item<bool>()));
  }
  for (std::int64_t r = 0; r < buckets.size(0); ++r) {
    std::vector<std::int64_t> round;
    round.reserve(head.keep.size());
    for (std::int64_t i = 0; i < length + added; ++i) {
      round.push_back(head.keep[static_cast<std::size_t>(i)] ? buckets[r][i].item<std::int64_t>() : 1 << 20);
    }
    head.buckets.push_back(round);
  }
  return head;
}

at::Tensor by_the_equations(const Tensors& tensors, at::Tensor buckets, const at::Tensor& keep, HashCase hash) {
  const std::int64_t length = tensors.key.size(2);
  const bool by_rank = hash.window > 0;
  if (!by_rank && length <= hash.chunk) {
    hash.chunk = length;
    hash.left = hash.right = 0;
    buckets = buckets.narrow(2, 0, 1);
  }
  const std::int64_t whole = hash.chunk * (length <= hash.chunk ? 1 : hash.multiple);
  const std::int64_t added = by_rank ? 0 : (whole - length % whole) % whole;
  at::Tensor output = at::zeros(tensors.value.sizes(), at::kDouble);
  for (std::int64_t b = 0; b < buckets.size(0); ++b) {
    for (std::int64_t h = 0; h < buckets.size(1); ++h) {
      const HeadRows head = head_rows({{}, tensors.key[b][h], tensors.value[b][h]}, buckets[b][h],
                                      keep.defined() ? keep[b] : keep, added);
      output[b][h] = mixed_rounds(head, by_rank ? seen_by_rank(head, hash.window) : seen_in_chunks(head, hash))
                         .narrow(0, 0, length);
    }
  }
  return output;
}

/// Those that a call has left for one that repeats it.
at::Tensor buckets_in(const AttentionContext& context) {
  return dynamic_cast<const attention::HashBuckets&>(*context.choices->made).numbers;
}

double largest_gap(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

/// The rows of both queries and keys.
Tensors shared_rows(at::IntArrayRef sizes, at::ScalarType type = at::kFloat) {
  Tensors tensors = random_tensors(sizes, type);
  tensors.query = tensors.key;
  return tensors;
}

TEST(LshAttention, EqualsTheEquations) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 generator(seed);
  const auto pick = [&](std::initializer_list<std::int64_t> choices) {
    return *(choices.begin() + static_cast<std::ptrdiff_t>(generator() % choices.size()));
  };
  const at::NoGradGuard without_gradients;
  for (int i = 0; i < 30; ++i) {
    const HashCase& hash = kHashCases[static_cast<std::size_t>(i) % kHashCases.size()];
    at::manual_seed(seed + static_cast<std::uint64_t>(i));
    const std::int64_t length = pick({1, 2, 7, 16, 23, 40});
    const at::Tensor x = at::randn({2, 2, length, 5}, at::kDouble);
    const Tensors tensors{x, x, at::randn({2, 2, length, 3}, at::kDouble)};
    AttentionContext context;
    if (pick({0, 1}) == 1) {
      context.key_keep = at::rand({2, length}) < 0.8;
    }
    context.choices = std::make_shared<AttentionChoices>();
    const auto module = make_attention(hash.expression, hashing_site(2, 5));
    const at::Tensor output = module->forward(x, x, tensors.value, context);
    const at::Tensor expected = by_the_equations(tensors, buckets_in(context), context.key_keep, hash);
    ASSERT_EQ(output.sizes(), expected.sizes());
    // The equations' log-sum-exp of a row that sees itself alone is -1e5, to 1.5e-11.
    EXPECT_LT(largest_gap(output, expected), 1e-10)
        << hash.expression << " length " << length << " padded " << context.key_keep.defined();
  }
}

TEST(LshAttention, SumsAreFloat32) {
  const at::NoGradGuard without_gradients;
  for (const auto& [type, tolerance] : {std::pair{at::kFloat, 1e-5}, std::pair{at::kBFloat16, 0.0157}}) {
    const Tensors tensors = shared_rows({1, 2, 40, 8}, type);
    AttentionContext context;
    context.choices = std::make_shared<AttentionChoices>();
    const auto module = make_attention(kHashCases[1].expression, hashing_site(2, 8));
    const at::Tensor output = module->forward(tensors.query, tensors.key, tensors.value, context);
    EXPECT_EQ(output.scalar_type(), type);
    EXPECT_LT(largest_gap(output, by_the_equations(tensors, buckets_in(context), {}, kHashCases[1])), tolerance);
  }
}

// The draws of torch.manual_seed and torch.randn, and the larger of x R and -x R.
TEST(LshAttention, HashesAsTheReleasedProgramDoes) {
  const attention::HashSettings settings{{4, 6}, 3, 12};
  const at::Tensor rotations = attention::rotations_of(settings, 2, 5, at::TensorOptions(at::kFloat));
  at::manual_seed(12);
  EXPECT_TRUE(rotations.equal(at::randn({2, 5, 3, 5})));
  const at::Tensor x = at::randn({2, 2, 9, 5});
  const at::Tensor buckets = attention::buckets_of(x, rotations, settings.factors);
  const at::Tensor rotated = at::einsum("bhnd,hdrk->bhrnk", {x, rotations});
  const auto digit = [&](std::int64_t first, std::int64_t count) {
    const at::Tensor part = rotated.narrow(-1, first, count);
    return at::cat({part, -part}, -1).argmax(-1);
  };
  EXPECT_TRUE(buckets.equal(digit(0, 2) + 4 * digit(2, 3)));
  using Factors = std::vector<std::int64_t>;
  EXPECT_EQ(attention::default_factors(4096, 64), Factors{128});
  EXPECT_EQ(attention::default_factors(524288, 64), (Factors{128, 128}));
  EXPECT_EQ(attention::default_factors(65536, 64), (Factors{32, 64}));
  EXPECT_EQ(attention::default_factors(10, 64), Factors{2});
}

TEST(LshAttention, GradientsOfRowsAndValues) {
  at::manual_seed(5);
  for (const std::size_t which : {1U, 2U, 5U, 7U, 8U}) {
    MechanismSite site = hashing_site(2, 3);
    site.dropout = which == 1U || which == 7U ? 0.2 : 0.0;
    const auto module = make_attention(kHashCases[which].expression, site);
    AttentionContext context;
    context.seed = 4;
    context.key_keep = at::ones({1, 11}, at::kBool);
    context.key_keep[0][6] = false;
    context.choices = std::make_shared<AttentionChoices>();  // buckets stay, whatever the differences do to x
    const auto output = [&](const std::vector<at::Tensor>& inputs) {
      return module->forward(inputs[0], inputs[0], inputs[1], context);
    };
    SCOPED_TRACE(kHashCases[which].expression);
    testing::expect_gradients(output, {at::randn({1, 2, 11, 3}, at::kDouble), at::randn({1, 2, 11, 2}, at::kDouble)});
  }
}

TEST(LshAttention, LaterTokensReachNoEarlierRow) {
  const at::NoGradGuard without_gradients;
  const Tensors tensors = shared_rows({1, 2, 150, 8});
  for (const std::size_t which : {6U, 7U, 8U, 9U}) {
    const auto module = make_attention(kHashCases[which].expression, hashing_site(2, 8));
    const at::Tensor before = module->forward(tensors.key, tensors.key, tensors.value, {});
    for (const double number :
         {5.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      Tensors changed{{}, tensors.key.clone(), tensors.value.clone()};
      changed.key[0][0][100].fill_(number);
      changed.value[0][1][100].fill_(number);
      const at::Tensor after = module->forward(changed.key, changed.key, changed.value, {});
      EXPECT_LT(largest_gap(before.narrow(2, 0, 100), after.narrow(2, 0, 100)), 1e-6) << number;
      EXPECT_FALSE(at::equal(before, after)) << number;
    }
  }
}

TEST(LshAttention, WhatPaddingHoldsReachesNothing) {
  for (const HashCase& hash : kHashCases) {
    Tensors tensors = shared_rows({2, 2, 30, 8});
    const auto module = make_attention(hash.expression, hashing_site(2, 8));
    AttentionContext context;
    context.key_keep = at::rand({2, 30}) < 0.6;
    context.key_keep[1].fill_(false);
    const at::Tensor expected = module->forward(tensors.key, tensors.key, tensors.value, context).detach();
    EXPECT_TRUE((expected[1] == 0).all().item<bool>()) << "a row that is all padding";
    const at::Tensor padded = context.key_keep.logical_not().unsqueeze(1).unsqueeze(-1);
    for (at::Tensor* tensor : {&tensors.key, &tensors.value}) {
      *tensor = tensor->masked_fill(padded, std::numeric_limits<double>::quiet_NaN()).requires_grad_();
    }
    const at::Tensor output = module->forward(tensors.key, tensors.key, tensors.value, context);
    EXPECT_TRUE(at::equal(output, expected)) << hash.expression;
    output.sum().backward();
    for (const at::Tensor& tensor : {tensors.key, tensors.value}) {
      EXPECT_TRUE(at::isfinite(tensor.grad()).all().item<bool>());
      EXPECT_TRUE((tensor.grad()[1] == 0).all().item<bool>());
    }
  }
}

// Chunks of a padded row depend on the padding, unless the call says how long the row is.
TEST(LshAttention, ABatchChangesNothing) {
  const at::NoGradGuard without_gradients;
  const Tensors tensors = shared_rows({3, 2, 37, 8});
  const std::vector<std::int64_t> lengths = {37, 19, 1};
  AttentionContext context;
  for (const std::int64_t length : lengths) {
    context.rows.push_back({{}, length, length});
  }
  for (const HashCase& hash : kHashCases) {
    const auto module = make_attention(hash.expression, hashing_site(2, 8));
    const at::Tensor output = module->forward(tensors.key, tensors.key, tensors.value, context);
    for (std::int64_t row = 0; row < 3; ++row) {
      const std::int64_t length = lengths[static_cast<std::size_t>(row)];
      const at::Tensor x = tensors.key.narrow(0, row, 1).narrow(2, 0, length);
      const at::Tensor alone = module->forward(x, x, tensors.value.narrow(0, row, 1).narrow(2, 0, length), {});
      EXPECT_LT(largest_gap(output.narrow(0, row, 1).narrow(2, 0, length), alone), 1e-6) << hash.expression;
      EXPECT_TRUE((output[row].narrow(1, length, 37 - length) == 0).all().item<bool>());
    }
  }
}

TEST(LshAttention, StepsGiveWhatTheWholeGives) {
  const at::NoGradGuard without_gradients;
  const Tensors tensors = shared_rows({2, 2, 61, 8});
  at::Tensor keep = at::ones({2, 61}, at::kBool);
  keep[1].narrow(0, 0, 9).fill_(false);  // a batch of prompts that end together
  keep[0][17] = false;
  for (const char* expression :
       {"lsh(causal=rank, window=1, buckets=4)", "lsh(causal=rank, window=5, buckets=64x128, rounds=3)",
        "lsh(causal=rank, window=20, buckets=2, rounds=1)", "lsh(causal=rank)"}) {
    for (const bool padded : {false, true}) {
      const auto module = make_attention(expression, hashing_site(2, 8));
      AttentionContext context;
      context.key_keep = padded ? keep : at::Tensor();
      const at::Tensor whole = module->forward(tensors.key, tensors.key, tensors.value, context);
      const auto state = module->initial_state();
      for (const std::int64_t count : {7, 1, 1, 13, 1, 20, 8, 1, 9}) {
        const std::int64_t first = context.query_offset = state->length();
        context.key_keep = padded ? keep.narrow(1, 0, first + count) : at::Tensor();
        const at::Tensor x = tensors.key.narrow(2, first, count);
        const at::Tensor output = module->step(x, x, tensors.value.narrow(2, first, count), context, *state);
        state->advance();
        EXPECT_LT(largest_gap(output, whole.narrow(2, first, count)), 1e-5) << expression << " from " << first;
      }
    }
  }
  const auto released = make_attention("lsh(causal=position)", hashing_site(2, 8));
  expect_error(ErrorKind::kUnsupported, {"causal=position", "causal=rank"},
               [&] { released->step(tensors.key, tensors.key, tensors.value, {}, *released->initial_state()); });
}

TEST(LshAttention, ARepeatedCallKeepsItsBuckets) {
  const at::NoGradGuard without_gradients;
  const Tensors tensors = shared_rows({1, 2, 40, 8});
  const auto module = make_attention(kHashCases[2].expression, hashing_site(2, 8));
  AttentionContext context;
  context.choices = std::make_shared<AttentionChoices>();
  const at::Tensor first = module->forward(tensors.key, tensors.key, tensors.value, context);
  const at::Tensor kept = buckets_in(context);
  EXPECT_EQ(kept.sizes(), (std::vector<std::int64_t>{1, 2, 2, 40}));
  EXPECT_TRUE(at::equal(first, module->forward(tensors.key, tensors.key, tensors.value, context)));
  const at::Tensor other = -tensors.key;
  module->forward(other, other, tensors.value, context);
  EXPECT_TRUE(kept.is_same(buckets_in(context)));
  const at::Tensor shorter = tensors.key.narrow(2, 0, 39);
  expect_error(ErrorKind::kArgument, {"repeats", "39", "40"},
               [&] { module->forward(shorter, shorter, tensors.value.narrow(2, 0, 39), context); });
}

TEST(LshAttention, DropoutIsDrawnFromTheSeedAlone) {
  MechanismSite site = hashing_site(2, 8);
  site.dropout = 0.3;
  for (const std::size_t which : {2U, 7U}) {
    const auto module = make_attention(kHashCases[which].expression, site);
    const Tensors tensors = shared_rows({1, 2, 60, 8});
    const auto value = tensors.value.clone().requires_grad_();
    AttentionContext context;
    context.seed = 9;
    const at::Tensor output = module->forward(tensors.key, tensors.key, value, context);
    EXPECT_TRUE(at::equal(output, module->forward(tensors.key, tensors.key, value, context)));
    output.sum().backward();
    // The output is linear in the values: <gradient, value> is the sum of the output.
    EXPECT_NEAR((value.grad() * value).sum().item<double>(), output.sum().item<double>(), 1e-2);
    context.seed = 10;
    EXPECT_FALSE(at::equal(output, module->forward(tensors.key, tensors.key, value, context)));
  }
}

TEST(LshAttention, EachTrainingStepCanHaveRotationsOfItsOwn) {
  const at::NoGradGuard without_gradients;
  const Tensors tensors = shared_rows({1, 2, 60, 8});
  for (const std::string setting : {"chunk=8", "causal=rank, window=8"}) {
    const auto make = [&](const char* seed, std::int64_t layer) {
      MechanismSite site = hashing_site(2, 8);
      site.layer = layer;
      return make_attention("lsh(buckets=8, " + setting + ", seed=" + seed + ")", site);
    };
    const auto buckets = [&](AttentionImpl& module, std::uint64_t step_seed) {
      AttentionContext context;
      context.seed = step_seed;
      context.choices = std::make_shared<AttentionChoices>();
      module.forward(tensors.key, tensors.key, tensors.value, context);
      return buckets_in(context);
    };
    const auto module = make("step", 0);
    const at::Tensor first = buckets(*module, 1);
    EXPECT_TRUE(first.equal(buckets(*make("step", 0), 1))) << "a step that is run again";
    EXPECT_FALSE(first.equal(buckets(*module, 2))) << "another step";
    EXPECT_FALSE(first.equal(buckets(*make("step", 1), 1))) << "another layer";
    module->eval();
    const at::Tensor evaluated = buckets(*module, 1);
    EXPECT_FALSE(evaluated.equal(first));
    EXPECT_TRUE(evaluated.equal(buckets(*module, 2)));
    EXPECT_TRUE(evaluated.equal(buckets(*make("0", 0), 1))) << "evaluation has those of seed 0";
  }
}

TEST(LshAttention, MemoryFollowsTheLength) {
  for (const char* expression : {"lsh(rounds=4, chunk=32)", "lsh(causal=rank, window=32, rounds=4)"}) {
    const auto module = make_attention(expression, hashing_site(2, 8));
    Tensors tensors = shared_rows({1, 2, 16384, 8});
    tensors.key.requires_grad_();
    EXPECT_LT(testing::peak_tensor_bytes(
                  [&] { module->forward(tensors.key, tensors.key, tensors.value, {}).sum().backward(); }),
              std::int64_t{64} << 20)
        << "the scores of all chunks would take 32 MB each";
  }
}

TEST(LshAttention, SettingsAreReadOrRefused) {
  const auto description = [](const char* expression) { return attention::parse_mechanism(expression).description; };
  EXPECT_EQ(description(" lsh "), "lsh");
  EXPECT_EQ(description("lsh(rounds=2, left=1)"), "lsh");
  EXPECT_EQ(description("lsh(seed=7, right=1, chunk=128,buckets=64x128, rounds=4)"),
            "lsh(buckets=64x128, rounds=4, chunk=128, right=1, seed=7)");
  EXPECT_EQ(description("lsh(window=32, causal=rank)"), "lsh(causal=rank, window=32)");
  EXPECT_EQ(description("lsh(seed=step, rounds=4)"), "lsh(rounds=4, seed=step)");
  EXPECT_EQ(description("lsh(causal=position, buckets=512)"), "lsh(causal=position, buckets=512)");
  for (const char* expression :
       {"lsh(buckets=3)", "lsh(buckets=64x)", "lsh(buckets=x64)", "lsh(buckets=0)", "lsh(buckets=2x-4)",
        "lsh(buckets=1000000x1000000)", "lsh(causal=yes)", "lsh(window=4)", "lsh(causal=rank, chunk=64)",
        "lsh(rounds=0)", "lsh(chunk=0)", "lsh(seed=-1)", "lsh(seed=steps)", "lsh | window(3)", "lsh(bucket=64)",
        "lsh(chunk=8, multiple=12)", "lsh(causal=rank, multiple=64)"}) {
    expect_error(ErrorKind::kExpression, {"lsh"}, [&] { attention::parse_mechanism(expression); });
  }
  MechanismSite site = hashing_site(2, 4);
  site.causal = true;
  expect_error(ErrorKind::kArgument, {"lsh", "decoder", "causal=rank"}, [&] { make_attention("lsh", site); });
  EXPECT_NO_THROW(make_attention("lsh(causal=rank)", site));
  EXPECT_NO_THROW(make_attention("lsh(causal=position)", site));
  site.alibi = true;
  expect_error(ErrorKind::kArgument, {"lsh", "ALiBi"}, [&] { make_attention("lsh(causal=rank)", site); });
  site = hashing_site(2, 4);
  site.maximum_length = 0;
  expect_error(ErrorKind::kArgument, {"lsh", "buckets"}, [&] { make_attention("lsh", site); });
  const at::Tensor x = at::randn({1, 2, 6, 4});
  const auto module = make_attention("lsh(buckets=2)", site);
  expect_error(ErrorKind::kArgument, {"lsh", "3 heads"},
               [&] { make_attention("lsh(buckets=2)", hashing_site(3, 4))->forward(x, x, x, {}); });
  expect_error(ErrorKind::kArgument, {"lsh", "keys"}, [&] { module->forward(x.narrow(2, 0, 2), x, x, {}); });
}

}  // namespace
}  // namespace weft::test
