// SPDX-License-Identifier: Apache-2.0
// Which labels a head has, in which order, and their weights.
#include "weft/fine_tuning/labels.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace weft::fine_tuning {
namespace {

constexpr models::Head kClasses = models::Head::kSequenceClassification;

models::EncoderConfig config_with(const std::vector<std::string>& labels, const std::string& architecture) {
  models::EncoderConfig config = models::base_config("bert");
  config.id2label = labels;
  config.architectures = {architecture};
  return config;
}

LabelNames names_of(const std::vector<std::string>& names) {
  LabelNames labels;
  for (const std::string& name : names) {
    labels.number(name, "here");
  }
  return labels;
}

TEST(LabelNames, SortsNamesAndNumbers) {
  const models::EncoderConfig bare = config_with({"LABEL_0", "LABEL_1"}, "BertForMaskedLM");
  HeadChoice choice = names_of({"pos", "neg", "pos"}).choose_head(bare, kClasses);
  EXPECT_EQ(choice.labels, (std::vector<std::string>{"neg", "pos"}));
  EXPECT_TRUE(choice.fresh);
  choice = names_of({"10", "9", "-1"}).choose_head(bare, kClasses);
  EXPECT_EQ(choice.labels, (std::vector<std::string>{"-1", "9", "10"}));
}

TEST(LabelNames, AHeadKeepsItsLabels) {
  const models::EncoderConfig trained = config_with({"pos", "neg", "none"}, "BertForSequenceClassification");
  LabelNames labels = names_of({"neg", "pos"});
  const HeadChoice choice = labels.choose_head(trained, kClasses);
  EXPECT_FALSE(choice.fresh);
  EXPECT_EQ(choice.labels, trained.id2label);
  EXPECT_EQ(labels.fix_order(choice.labels), (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(labels.number("none", "here"), 2);
  test::expect_error(ErrorKind::kArgument, {"line 3", "'new'", "'pos', 'neg', 'none'"},
                     [&] { labels.number("new", "line 3"); });
  test::expect_error(ErrorKind::kArgument, {"'other'", "'pos', 'neg', 'none'"},
                     [&] { names_of({"other", "pos"}).choose_head(trained, kClasses); });
}

TEST(LabelNames, LabelsThatNeverHadNamesGetThem) {
  const models::EncoderConfig unnamed = config_with({"LABEL_0", "LABEL_1"}, "BertForSequenceClassification");
  const HeadChoice choice = names_of({"pos", "neg"}).choose_head(unnamed, kClasses);
  EXPECT_EQ(choice.labels, (std::vector<std::string>{"neg", "pos"}));
  EXPECT_FALSE(choice.fresh);
  test::expect_error(ErrorKind::kArgument, {"'a'", "'LABEL_0'"},
                     [&] { names_of({"a", "b", "c"}).choose_head(unnamed, kClasses); });
}

TEST(LabelWeights, AreGivenOrBalanced) {
  const std::vector<std::int64_t> counts = {1, 3};
  EXPECT_FALSE(label_weights({}, counts, 4, false).defined());
  const auto numbers = [](const at::Tensor& weights) {
    return std::vector<float>(weights.const_data_ptr<float>(), weights.const_data_ptr<float>() + weights.numel());
  };
  // scikit-learn's compute_class_weight("balanced"): 4 / (2 * 1) and 4 / (2 * 3)
  EXPECT_EQ(numbers(label_weights({"balanced"}, counts, 4, false)), (std::vector<float>{2.0F, 4.0F / 6.0F}));
  EXPECT_EQ(numbers(label_weights({"balanced"}, counts, 4, true)), (std::vector<float>{3.0F, 1.0F / 3.0F}));
  EXPECT_EQ(numbers(label_weights({"8"}, counts, 4, true)), (std::vector<float>{8.0F, 8.0F}));
  EXPECT_EQ(numbers(label_weights({"1", "0.5"}, counts, 4, false)), (std::vector<float>{1.0F, 0.5F}));
  for (const std::string wrong : {"0", "-1", "x", "1x", "nan", ""}) {
    test::expect_error(ErrorKind::kArgument, {"class_weights"}, [&] { label_weights({wrong}, counts, 4, false); });
  }
  test::expect_error(ErrorKind::kArgument, {"2", "3"}, [&] { label_weights({"1", "2", "3"}, counts, 4, false); });
  const std::vector<std::int64_t> empty = {0, 3};
  test::expect_error(ErrorKind::kArgument, {"label 0"}, [&] { label_weights({"balanced"}, empty, 3, false); });
}

}  // namespace
}  // namespace weft::fine_tuning
