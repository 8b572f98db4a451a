// SPDX-License-Identifier: Apache-2.0
// Sentences that are hidden for an etc: which ones, what both passes see, both losses, a run that goes on.
#include "weft/fine_tuning/masked_text/hidden_sentences.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/tensor.h>

#include "fine_tuning/small_task.h"
#include "support/expect_error.h"
#include "weft/fine_tuning/masked_text/masked_text_run.h"
#include "weft/layers/etc/sentence_structure.h"
#include "weft/models/families/etc/config.h"

namespace weft::fine_tuning {
namespace {

namespace fs = std::filesystem;
using formats::Json;

constexpr std::int64_t kMask = 99;

models::EncoderConfig with_sentences() {
  models::EncoderConfig config = models::base_config("etc");
  config.own.get<models::EtcFields>().sentence_end_ids = {9};
  return config;
}

/// 40 rows of 10 sentences of two tokens; the first full stop of each row is masked.
data::Batch batch_of_sentences() {
  data::Batch batch;
  batch.input_ids = at::tensor({4, 9}, at::kLong).repeat({40, 10});
  batch.labels = at::full_like(batch.input_ids, data::kIgnoredLabel);
  batch.labels.select(1, 1).fill_(9);
  batch.input_ids.select(1, 1).fill_(kMask);
  return batch;
}

TEST(HiddenSentences, AreAPureFunctionOfTheirPlace) {
  const data::Batch batch = batch_of_sentences();
  const auto chosen = [&](double share, std::uint64_t seed, std::int64_t step, std::int64_t part) {
    return hide_sentences(batch, with_sentences(), kMask, {share, seed, step, part}).chosen;
  };
  const at::Tensor first = chosen(0.3, 1, 2, 3);
  EXPECT_EQ(first.sizes(), (std::vector<std::int64_t>{40, 10}));
  EXPECT_TRUE(first.equal(chosen(0.3, 1, 2, 3)));
  EXPECT_FALSE(first.equal(chosen(0.3, 2, 2, 3)));
  EXPECT_FALSE(first.equal(chosen(0.3, 1, 3, 3)));
  EXPECT_FALSE(first.equal(chosen(0.3, 1, 2, 4)));
  EXPECT_FALSE(first[0].equal(first[1]) && first[1].equal(first[2]));
  // 400 draws: four standard deviations are 0.09.
  EXPECT_NEAR(first.to(at::kDouble).mean().item<double>(), 0.3, 0.09);
  // Fewer are some of more, whatever was masked.
  EXPECT_TRUE(chosen(0.1, 1, 2, 3).logical_and(first).equal(chosen(0.1, 1, 2, 3)));
  EXPECT_TRUE(chosen(1.0, 1, 2, 3).all().item<bool>());
}

TEST(HiddenSentences, BothPassesHaveTheStructureOfTheText) {
  const data::Batch batch = batch_of_sentences();
  const HiddenSentences two = hide_sentences(batch, with_sentences(), kMask, {0.5, 1, 0, 0});
  EXPECT_TRUE(two.seen.input_ids.equal(at::tensor({4, 9}, at::kLong).repeat({40, 10})));
  const at::Tensor hidden = two.chosen.repeat_interleave(2, 1);  // [B, N]
  EXPECT_TRUE(two.hidden.input_ids.masked_select(hidden).eq(kMask).all().item<bool>());
  EXPECT_TRUE(two.labels.masked_select(hidden).eq(data::kIgnoredLabel).all().item<bool>());
  const at::Tensor rest = hidden.logical_not();
  EXPECT_TRUE(two.hidden.input_ids.masked_select(rest).equal(batch.input_ids.masked_select(rest)));
  EXPECT_TRUE(two.labels.masked_select(rest).equal(batch.labels.masked_select(rest)));
  EXPECT_TRUE(two.hidden.companions.input_ids.equal(two.chosen.to(at::kLong) + 1));
  EXPECT_TRUE(two.hidden.companions.mask.eq(1).all().item<bool>());
  EXPECT_EQ(two.hidden.companions.sentence[0][3].item<std::int64_t>(), 1);
}

class ContrastiveText : public test::SmallTask {
 protected:
  Json fields(const std::string& family, const Json& changes) const {
    std::string text;
    for (int i = 0; i < 60; ++i) {
      text += i % 3 == 0 ? "the loom said hello. world!\n" : "she and we see. the thread it said.\n";
    }
    test::write_text(folder_ / "text.txt", text);
    models::EncoderConfig config = small_shape(family);
    config.initializer_range = 0.3;
    const fs::path directory = folder_ / family;
    checkpoint::save_encoder(directory, models::make_encoder(config, models::Head::kMaskedLanguageModel, 3),
                             model("classify"));
    const text::HuggingFaceTokenizer tokenizer(directory);
    if (family == "etc") {
      config.own.get<models::EtcFields>().sentence_end_ids = {*tokenizer.find("."), *tokenizer.find("!")};
      checkpoint::save_encoder(directory, models::make_encoder(config, models::Head::kMaskedLanguageModel, 3));
    }
    Json fields = {{"model", directory.string()},
                   {"train_text", {(folder_ / "text.txt").string()}},
                   {"context", 30},
                   {"batch_size", 4},
                   {"steps", 6},
                   {"dtype", "float32"},
                   {"threads", 1},
                   {"task", "mlm"},
                   {"learning_rate", 3e-3},
                   {"checkpoint_minutes", 0},
                   {"contrastive_weight", 0.2},
                   {"hidden_sentences", 0.4}};
    fields.update(changes);
    return fields;
  }
};

TEST_F(ContrastiveText, TheLossIsBothLosses) {
  const PreparedText run = prepare_masked_text(fields("etc", Json::object()), "test");
  EXPECT_TRUE(run.task->figures().empty());
  run.task->set_training(true);
  const at::Tensor loss = run.task->loss(1, 0);
  const Json figures = run.task->figures();
  const double masked = figures["masked_loss"].get<double>();
  const double contrastive = figures["contrastive_loss"].get<double>();
  EXPECT_GT(masked, 0.0);
  EXPECT_GT(contrastive, 0.0);
  EXPECT_NEAR(loss.item<double>(), 0.8 * masked + 0.2 * contrastive, 1e-5);  // sums of float32
  EXPECT_EQ(run.task->loss(1, 0).item<double>(), loss.item<double>());
  loss.backward();
  for (const auto& [name, value] : run.task->parameters()) {
    EXPECT_TRUE(value.grad().defined()) << name;
  }
  run.task->loss(2, 0);
  run.task->loss(2, 1);
  EXPECT_NE(run.task->figures()["masked_loss"].get<double>(), masked);
}

TEST_F(ContrastiveText, AnInterruptedRunGoesOnWithBothLosses) {
  const Json all = fields("etc", {{"checkpoint_every", 2}});
  train_masked_text(folder_ / "run", prepare_masked_text(all, "test"));
  const std::vector<double> losses = test::logged_losses(folder_ / "run");
  fs::remove_all(folder_ / "run/checkpoints/step-6");
  resume_masked_text(folder_ / "run", prepare_masked_text_resumption(folder_ / "run", {{"threads", 1}}));
  EXPECT_EQ(test::logged_losses(folder_ / "run"), losses);
  test::expect_error(ErrorKind::kArgument, {"contrastive_weight"},
                     [&] { prepare_masked_text_resumption(folder_ / "run", {{"contrastive_weight", 0.3}}); });
}

TEST_F(ContrastiveText, IsForGlobalTokensAndForNoTeacher) {
  test::expect_error(ErrorKind::kArgument, {"contrastive_weight", "etc", "0.2", "bert"},
                     [&] { prepare_masked_text(fields("bert", Json::object()), "test"); });
  const std::string teacher = fields("etc", Json::object())["model"].get<std::string>();
  test::expect_error(ErrorKind::kArgument, {"contrastive_weight", "distill"},
                     [&] { prepare_masked_text(fields("etc", {{"distill", teacher}}), "test"); });
}

}  // namespace
}  // namespace weft::fine_tuning
