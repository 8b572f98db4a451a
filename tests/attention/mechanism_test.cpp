// SPDX-License-Identifier: Apache-2.0
// Mechanisms by name: patterns through the module interface, causal models, padding, bound positions, one-token
// decoding.
#include <gtest/gtest.h>

#include "attention/small_calls.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "support/torch_memory.h"
#include "weft/attention/mechanism.h"
#include "weft/attention/mechanisms/caution.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/pattern/language/names.h"

namespace weft::test {
namespace {

using attention::AttentionContext;
using attention::make_attention;
using attention::MechanismSite;

MechanismSite site_of(std::int64_t heads, bool causal = false, double dropout = 0.0) {
  MechanismSite site;
  site.heads = heads;
  site.head_dim = 8;
  site.causal = causal;
  site.dropout = dropout;
  return site;
}

at::Tensor forward(const std::string& expression, const MechanismSite& site, const Tensors& tensors,
                   const AttentionContext& context = {}) {
  return make_attention(expression, site)->forward(tensors.query, tensors.key, tensors.value, context);
}

TEST(Mechanism, APatternIsTheOperatorOverItsLayout) {
  const Tensors tensors = random_tensors({2, 2, 150, 8});
  EXPECT_TRUE(at::equal(forward("window(20) | global(1)", site_of(2), tensors),
                        run(tensors, layout_of("window(20) | global(1)", 150, 2)).output));
}

// A pattern of that name could no longer be written.
TEST(Mechanism, NoneHasTheNameOfAPattern) {
  for (const std::string_view name : pattern::all_names()) {
    try {
      attention::parse_mechanism(std::string(name) + "(no_such_setting=1)");
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_TRUE(std::string_view(error.what()).starts_with("pattern: ")) << error.what();
    }
  }
  EXPECT_EQ(attention::parse_mechanism("etc(global=1, window=4)").description, "etc(global=1, window=4)");
}

TEST(Mechanism, ACausalModelNeverSeesTheFuture) {
  const Tensors tensors = random_tensors({1, 2, 100, 8});
  EXPECT_TRUE(at::equal(forward("window(20) | global(3)", site_of(2, true), tensors),
                        run(tensors, layout_of("causal & (window(20) | global(3))", 100, 2)).output));
  for (const char* expression : {"full", "window(5) | global(last=2)", "!causal", "causal | window(9)", "strided(8)"}) {
    Tensors changed = tensors;
    changed.key = tensors.key.clone();
    changed.key.narrow(2, 60, 40).zero_();
    const at::Tensor before = forward(expression, site_of(2, true), tensors).narrow(2, 0, 60);
    EXPECT_TRUE(at::equal(before, forward(expression, site_of(2, true), changed).narrow(2, 0, 60))) << expression;
  }
}

TEST(Mechanism, DistanceTakesFromScoresWhereTheSiteSaysSo) {
  const Tensors tensors = random_tensors({1, 2, 100, 8});
  MechanismSite site = site_of(2);
  site.alibi = true;
  attention::AttentionOptions options;
  options.slopes = attention::alibi_slopes(2);
  EXPECT_TRUE(at::equal(
      forward("window(20)", site, tensors),
      attention::attention(tensors.query, tensors.key, tensors.value, layout_of("window(20)", 100, 2), options)
          .output));
  expect_error(ErrorKind::kArgument, {"linear", "distance"}, [&] { make_attention("linear", site); });
}

TEST(Mechanism, DescriptionIsWhatIsComputed) {
  EXPECT_EQ(make_attention(" window( 8 )|global(1) ", site_of(1))->description(), "window(8) | global(1)");
  EXPECT_EQ(make_attention("window(8)", site_of(1, true))->description(), "causal & window(8)");
  EXPECT_EQ(make_attention("causal & window(left=8)", site_of(1, true))->description(), "causal & window(left=8)");
  EXPECT_EQ(make_attention("strided(8)", site_of(1, true))->description(), "strided(8)");
  EXPECT_EQ(make_attention("heads(causal, strided(4))", site_of(2, true))->description(), "heads(causal, strided(4))");
}

TEST(Mechanism, FilesOfAnExpressionLieInTheDirectoryOfItsConfig) {
  const TemporaryDirectory folder;
  write_file_atomically(folder / "graph.mtx", "%%MatrixMarket matrix coordinate pattern general\n64 64 2\n1 1\n9 2\n");
  MechanismSite site = site_of(1, true);
  site.directory = folder.path();
  const auto mechanism = make_attention("edges(\"graph.mtx\")", site);
  EXPECT_EQ(mechanism->description().substr(0, 26), "causal & edges(\"graph.mtx\"");
  ASSERT_EQ(mechanism->spec().files.size(), 1U);
  EXPECT_EQ(mechanism->spec().files[0].name, "graph.mtx");
  const Tensors tensors = random_tensors({1, 1, 20, 8});
  const at::Tensor output = mechanism->forward(tensors.query, tensors.key, tensors.value, {});
  EXPECT_TRUE(at::allclose(output[0][0][8], tensors.value[0][0][1]));
  const auto kind_of_error = [&](const char* expression) {
    try {
      make_attention(expression, site);
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::kInterrupted;
  };
  EXPECT_EQ(kind_of_error("edges(\"../graph.mtx\")"), ErrorKind::kExpression);
  site.directory = folder / "elsewhere";
  EXPECT_EQ(kind_of_error("edges(\"graph.mtx\")"), ErrorKind::kIo);
}

TEST(Mechanism, OneTokenAtATimeIsTheSameAsAllAtOnce) {
  const Tensors tensors = random_tensors({2, 2, 90, 8});
  const auto mechanism = make_attention("window(left=30) | global(2)", site_of(2, true));
  const at::Tensor whole = mechanism->forward(tensors.query, tensors.key, tensors.value, {});
  for (const std::int64_t position : {0, 1, 31, 64, 89}) {
    AttentionContext context;
    context.query_offset = position;
    const at::Tensor one =
        mechanism->forward(tensors.query.narrow(2, position, 1), tensors.key.narrow(2, 0, position + 1),
                           tensors.value.narrow(2, 0, position + 1), context);
    EXPECT_TRUE(at::allclose(one, whole.narrow(2, position, 1), 1e-4, 1e-5)) << position;
  }
}

TEST(Mechanism, ATokenOfALongCacheTakesNoMemoryOfTheCache) {
  const at::NoGradGuard no_grad;
  const Tensors cache = random_tensors({1, 2, 32768, 8});
  const auto mechanism = make_attention("window(left=100) | global(1)", site_of(2, true));
  AttentionContext context;
  context.query_offset = 32000;
  const at::Tensor query = cache.query.narrow(2, 32000, 1);
  const auto decode = [&] {
    mechanism->forward(query, cache.key.narrow(2, 0, 32001), cache.value.narrow(2, 0, 32001), context);
  };
  decode();
  EXPECT_LT(testing::peak_tensor_bytes(decode), 100000) << "the cache has 4 MB";
}

TEST(Mechanism, OneTokenWorksForEveryGroupingOfHeads) {
  const at::NoGradGuard no_grad;
  const Tensors all = random_tensors({2, 4, 70, 8});
  for (const char* expression : {"window(left=9)", "heads(window(left=9), causal)", "heads(1 * stride(3), 3 * full)",
                                 "window(left=200) & !window(left=500)"}) {
    for (const std::int64_t key_heads : {1, 2, 4}) {
      const Tensors tensors{all.query, all.key.narrow(1, 0, key_heads), all.value.narrow(1, 0, key_heads)};
      AttentionContext context;
      context.key_keep = at::rand({2, 70}) < 0.8;
      context.key_keep[1].narrow(0, 0, 64).fill_(false);
      const auto mechanism = make_attention(expression, site_of(4, true));
      const at::Tensor whole = mechanism->forward(tensors.query, tensors.key, tensors.value, context);
      context.query_offset = 66;
      context.key_keep = context.key_keep.narrow(1, 0, 67);
      const at::Tensor one = mechanism->forward(tensors.query.narrow(2, 66, 1), tensors.key.narrow(2, 0, 67),
                                                tensors.value.narrow(2, 0, 67), context);
      EXPECT_TRUE(at::allclose(one, whole.narrow(2, 66, 1), 1e-4, 1e-5)) << expression << " " << key_heads;
    }
  }
}

TEST(Mechanism, RowsBindPositionsAndLengths) {
  const Tensors tensors = random_tensors({2, 2, 100, 8});
  AttentionContext context;
  context.rows = {{{5}, {}, {}}, {{70, 20}, 80, 80}};
  const at::Tensor output = forward("window(4) | global(input)", site_of(2), tensors, context);
  EXPECT_TRUE((output[1].narrow(1, 80, 20) == 0).all().item<bool>()) << "beyond the row's own length";
  const at::Tensor other = forward("window(4)", site_of(2), tensors, context);
  EXPECT_FALSE(at::equal(output[0][0][5], other[0][0][5]));
  EXPECT_TRUE((other[1].narrow(1, 80, 20) == 0).all().item<bool>());
}

TEST(Mechanism, DropsOnlyWhileTrainingAndByTheSeed) {
  const Tensors tensors = random_tensors({1, 2, 60, 8});
  const auto mechanism = make_attention("window(20)", site_of(2, false, 0.5));
  const auto with_seed = [&](std::uint64_t seed) {
    AttentionContext context;
    context.seed = seed;
    return mechanism->forward(tensors.query, tensors.key, tensors.value, context);
  };
  EXPECT_TRUE(at::equal(with_seed(1), with_seed(1)));
  EXPECT_FALSE(at::equal(with_seed(1), with_seed(2)));
  mechanism->eval();
  EXPECT_TRUE(at::equal(with_seed(1), with_seed(2)));
}

TEST(Mechanism, SaysWhatItIsBeforeItIsBuilt) {
  const attention::MechanismSpec window = attention::parse_mechanism(" window( 8 )|global(input) ");
  EXPECT_EQ(window.description, "window(8) | global(input)");
  EXPECT_TRUE(window.needs_input);
  ASSERT_TRUE(window.pattern);
  EXPECT_EQ(at_site(window, site_of(1, true)).description, "causal & (window(8) | global(input))");
  EXPECT_TRUE(at_site(window, site_of(1, true)).needs_input);
  EXPECT_EQ(forward_operations(window, site_of(1), 100), std::nullopt);
  const attention::MechanismSpec linear = attention::parse_mechanism(" linear ");
  EXPECT_EQ(linear.name, "linear");
  EXPECT_FALSE(linear.pattern || linear.needs_input);
  EXPECT_EQ(linear.projections, attention::Projections::kSeparate);
  EXPECT_TRUE(linear.parameters.empty() && linear.files.empty());
  MechanismSite site = site_of(1);
  site.head_dim = 64;
  EXPECT_EQ(forward_operations(linear, site, 100), 100.0 * 4 * 64 * 64);
  site.causal = true;
  EXPECT_EQ(forward_operations(linear, site, 100), 100.0 * 8 * 64 * 64);
}

TEST(Mechanism, ATextOfItsLandmarksCostsWhatSoftmaxDoes) {
  const attention::MechanismSpec nystrom = attention::parse_mechanism("nystrom(landmarks=16, conv=0)");
  EXPECT_EQ(forward_operations(nystrom, site_of(1), 16), 16.0 * 8 * 4 * 16);
  EXPECT_GT(forward_operations(nystrom, site_of(1), 17), 17.0 * 8 * 8 * 16);
}

TEST(Mechanism, DropoutThatDoesNothingIsSaid) {
  for (const char* expression : {"linear", "performer", "rfa", "nystrom"}) {
    const attention::MechanismSpec spec = attention::parse_mechanism(expression);
    EXPECT_EQ(attention::caution_of(spec, site_of(1)), "") << expression;
    const std::string caution = attention::caution_of(spec, site_of(1, false, 0.5));
    EXPECT_EQ(caution, concat("`", expression,
                              "` computes no attention probabilities, so that dropout of 0.5 on them does nothing"));
  }
  for (const char* expression : {"full", "relative", "linformer", "lsh", "little_bird"}) {
    EXPECT_EQ(attention::caution_of(attention::parse_mechanism(expression), site_of(1, false, 0.5)), "") << expression;
  }
  const std::string both = attention::caution_of(attention::parse_mechanism("rfa(gate=yes)"), site_of(1, true, 0.5));
  EXPECT_NE(both.find("denominator=small does; `rfa` computes no"), std::string::npos) << both;
}

TEST(Mechanism, ASiteThatAsksForTooMuchIsRefusedInOneLine) {
  attention::MechanismSpec spec = attention::parse_mechanism("linear");
  spec.limits = {"its landmarks are means over the whole text", "they move with every token", "there is one length",
                 "it has no scores"};
  const auto refusal = [&](bool MechanismSite::* asked) {
    MechanismSite site = site_of(2);
    site.*asked = true;
    try {
      at_site(spec, site);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal(&MechanismSite::causal),
            "attention: `linear` cannot be part of a decoder, because its landmarks are means over the whole text");
  EXPECT_EQ(refusal(&MechanismSite::incremental),
            "attention: `linear` cannot go on token by token, because they move with every token");
  EXPECT_EQ(refusal(&MechanismSite::cross),
            "attention: `linear` cannot attend to another sequence, because there is one length");
  EXPECT_EQ(refusal(&MechanismSite::alibi),
            "attention: `linear` cannot be given ALiBi positions, because it has no scores");
  EXPECT_NO_THROW(at_site(spec, site_of(2)));
}

// Guo et al. 2019, section 3: satellites in a ring, and a relay, the first token, that all of them see and that sees
// all. The ring of a row closes where its text ends.
TEST(Mechanism, StarIsARingAndARelay) {
  const Tensors tensors = random_tensors({2, 2, 9, 8}, at::kDouble);
  AttentionContext context;
  context.rows = {{}, {{}, 6, 6}};
  context.key_keep = at::arange(9).unsqueeze(0) < at::tensor({9, 6}).unsqueeze(1);
  const at::Tensor found = forward("star", site_of(2), tensors, context);
  for (const auto& [row, length] : {std::pair{0, 9}, std::pair{1, 6}}) {
    at::Tensor edges = at::zeros({length, length}, at::kBool);
    for (std::int64_t i = 0; i < length; ++i) {
      for (const std::int64_t near : {i, (i + 1) % length, (i + length - 1) % length, std::int64_t{0}}) {
        edges[i][near] = edges[0][i] = true;
      }
    }
    const auto of_row = [&](const at::Tensor& tensor) { return tensor[row].narrow(1, 0, length); };
    const at::Tensor scores = at::matmul(of_row(tensors.query), of_row(tensors.key).transpose(1, 2)) / std::sqrt(8.0);
    const at::Tensor weights = at::softmax(scores.masked_fill(edges.logical_not(), -1e30), -1);
    const at::Tensor expected = at::matmul(weights, of_row(tensors.value));
    EXPECT_LT((of_row(found) - expected).abs().max().item<double>(), 1e-12) << row;
  }
}

TEST(Mechanism, AnUnknownNameGetsTheNearestOfPatternsAndMechanisms) {
  const auto refused = [](const std::string& expression, const std::string& words) {
    try {
      attention::parse_mechanism(expression);
      ADD_FAILURE() << expression << " is no mechanism";
    } catch (const Error& error) {
      EXPECT_EQ(static_cast<int>(error.kind()), static_cast<int>(ErrorKind::kExpression));
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  for (const char* name : {"linar", "Linear", "LINEAR"}) {
    refused(name, concat("unknown name '", name, "', did you mean 'linear'?\n"));
  }
  refused("windw(3)", "did you mean 'window'?");
  refused("xyzzy", "; the patterns are full, causal,");
  refused("xyzzy", "; the mechanisms are lsh, linear,");
  refused("window(3) & linear", "'linear' is a mechanism and no pattern: it stands alone");
  refused("window(3) & linear", "line 1, column 13");
  refused("input", "inside global");
}

TEST(Mechanism, EachMistakeInASettingHasItsOwnMessage) {
  const auto refused = [](const std::string& settings, std::string_view words) {
    expect_error(ErrorKind::kExpression, {words}, [&] { attention::parse_mechanism("performer" + settings); });
  };
  refused("(features=8, features=9)", "has the setting 'features' twice");
  refused("(seed=)", "has the setting 'seed' without a value");
  refused("(features=1.5)", "must be a whole number in [1, 65536], found '1.5'");
  refused("(features=+8)", "must be a whole number without a plus sign, found '+8'");
  refused("(features=8) & window(2)", "is not combined with patterns");
  refused("(features=8,)", "is not combined with patterns");
}

TEST(Mechanism, ErrorsPointIntoWhatWasWritten) {
  EXPECT_THROW(make_attention("windw(5)", site_of(1, true)), Error);
  EXPECT_THROW(make_attention("", site_of(1)), Error);
  expect_error(ErrorKind::kArgument, {"heads", "0"}, [&] { make_attention("full", site_of(0)); });
  expect_error(ErrorKind::kArgument, {"dropout", "1.5"}, [&] { make_attention("full", site_of(1, false, 1.5)); });
  expect_error(ErrorKind::kArgument, {"[batch, heads, length, head_dim]"}, [&] {
    make_attention("full", site_of(1))->forward(at::ones({2, 3}), at::ones({2, 3}), at::ones({2, 3}), {});
  });
}

}  // namespace
}  // namespace weft::test
