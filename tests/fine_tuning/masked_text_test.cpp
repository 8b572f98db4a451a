// SPDX-License-Identifier: Apache-2.0
// Pre-training that goes on: frames stay, masks are the tokeniser's, and figures are those of the logits.
#include "weft/fine_tuning/masked_text/masked_text_task.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/tensor.h>

#include "fine_tuning/small_task.h"
#include "support/expect_error.h"
#include "weft/fine_tuning/masked_text/masked_text_run.h"

namespace weft::fine_tuning {
namespace {

namespace fs = std::filesystem;
using formats::Json;

class MaskedText : public test::SmallTask {
 protected:
  void SetUp() override {
    std::string text;
    for (int i = 0; i < 60; ++i) {
      text += i % 3 == 0 ? "the loom said hello world\n" : "she and we see the thread it said\n";
    }
    test::write_text(folder_ / "text.txt", text);
  }

  std::string encoder(const std::string& family, models::Head head = models::Head::kMaskedLanguageModel) const {
    models::EncoderConfig config = small_shape(family);
    config.initializer_range = 0.3;
    const fs::path directory = folder_ / family;
    checkpoint::save_encoder(directory, models::make_encoder(config, head, 3), model("classify"));
    return directory.string();
  }

  Json text_fields(const std::string& directory, const Json& changes = Json::object()) const {
    const std::string text = (folder_ / "text.txt").string();
    Json fields = {{"model", directory},    {"train_text", {text}},   {"eval_text", {text}},
                   {"context", 18},         {"batch_size", 2},        {"steps", 4},
                   {"dtype", "float32"},    {"threads", 1},           {"task", "mlm"},
                   {"learning_rate", 3e-3}, {"checkpoint_minutes", 0}};
    fields.update(changes);
    return fields;
  }
  PreparedText prepared(const std::string& family, const Json& changes = Json::object()) const {
    return prepare_masked_text(text_fields(encoder(family), changes), "test");
  }
};

TEST_F(MaskedText, SpecialTokensStandAroundAndAreNeverMasked) {
  const text::HuggingFaceTokenizer tokenizer(encoder("bert"));
  const FramedMasking masking(tokenizer, 89, {.probability = 0.9});
  EXPECT_EQ(masking.special_tokens(), 2);
  const at::Tensor tokens = at::tensor(std::vector<std::int64_t>(24, 40), at::kLong).view({2, 12});
  const data::Batch batch = masking.batch(tokens, 3, 0);
  ASSERT_EQ(batch.input_ids.sizes(), (std::vector<std::int64_t>{2, 14}));
  const std::int64_t mask = *tokenizer.special(text::SpecialRole::kMask);
  std::int64_t masks = 0;
  for (std::int64_t row = 0; row < 2; ++row) {
    EXPECT_EQ(batch.input_ids[row][0].item<std::int64_t>(), *tokenizer.special(text::SpecialRole::kClass));
    EXPECT_EQ(batch.input_ids[row][13].item<std::int64_t>(), *tokenizer.special(text::SpecialRole::kSeparator));
    EXPECT_EQ(batch.labels[row][0].item<std::int64_t>(), data::kIgnoredLabel);
    EXPECT_EQ(batch.labels[row][13].item<std::int64_t>(), data::kIgnoredLabel);
    masks += batch.input_ids[row].eq(mask).sum().item<std::int64_t>();
  }
  EXPECT_GT(masks, 10);
}

TEST_F(MaskedText, AnEvaluationIsThatOfTheLogits) {
  const std::string directory = encoder("bert");
  const text::HuggingFaceTokenizer tokenizer(directory);
  models::EncoderModel model = checkpoint::load_encoder(directory);
  const std::string text = "the loom said hello world she and we see it";
  const FramedMasking masking(tokenizer, 89, {.seed = 5});
  const std::vector<std::int64_t> ids = tokenizer.encode(text);
  const data::Batch batch = masking.batch(at::tensor(ids, at::kLong).unsqueeze(0), 0, 0);
  const at::NoGradGuard no_grad;
  models::EncoderInput input;
  input.input_ids = batch.input_ids;
  const at::Tensor logits = model->forward(input).logits.flatten(0, 1);
  const at::Tensor labels = batch.labels.flatten();
  const at::Tensor counts = labels.ne(data::kIgnoredLabel);
  const training::MaskedResult found =
      evaluate_masked_text(model, tokenizer, text, {.seed = 5}, {.context = 30, .dtype = "float32"});
  EXPECT_EQ(found.context, 30);
  EXPECT_EQ(found.tokens, counts.sum().item<std::int64_t>());
  // The same sums in another order.
  EXPECT_NEAR(found.loss, at::cross_entropy_loss(logits, labels, {}, at::Reduction::Mean, -100).item<double>(), 1e-5);
  EXPECT_EQ(found.accuracy * static_cast<double>(found.tokens), logits.argmax(1).eq(labels).sum().item<double>());
}

TEST_F(MaskedText, ShorterWindowsAreAskedForTheSameTokens) {
  const std::string directory = encoder("bert");
  const text::HuggingFaceTokenizer tokenizer(directory);
  models::EncoderModel model = checkpoint::load_encoder(directory);
  std::string text;
  for (int i = 0; i < 12; ++i) {
    text += "the loom said hello world she and we see it ";
  }
  training::EvaluateOptions options{.context = 26, .dtype = "float32"};
  const training::MaskedResult whole = evaluate_masked_text(model, tokenizer, text, {.seed = 5}, options);
  options.context = 10;  // 8 tokens of text
  options.mask_window = 24;
  const training::MaskedResult cut = evaluate_masked_text(model, tokenizer, text, {.seed = 5}, options);
  EXPECT_EQ(cut.tokens, whole.tokens);
  EXPECT_EQ(cut.context, 10);
  EXPECT_NE(cut.loss, whole.loss) << "less is read around each";
  options.context = 11;
  test::expect_error(ErrorKind::kArgument, {"mask_window", "9", "24"},
                     [&] { evaluate_masked_text(model, tokenizer, text, {.seed = 5}, options); });
}

TEST_F(MaskedText, EveryFamilyLearns) {
  for (const char* family : {"bert", "roberta", "longformer", "big_bird", "nystromformer", "etc", "star_transformer"}) {
    const PreparedText run = prepared(family);
    run.task->set_training(true);
    const double first = run.task->loss(1, 0).item<double>();
    EXPECT_EQ(run.task->loss(1, 0).item<double>(), first) << family;
    EXPECT_NE(run.task->loss(2, 0).item<double>(), first) << family;
    run.task->loss(0, 0).backward();
    for (const auto& [name, value] : run.task->parameters()) {
      // A Longformer's global projections wait for global positions: there are none in pre-training. The last relay of
      // a Star-Transformer is for classes, and masks do not see it.
      const char* const waiting = std::string(family) == "longformer" ? "global" : "star.layers.1.relay";
      const bool waits = name.find(waiting) != std::string::npos;
      EXPECT_EQ(value.grad().defined(), !waits) << family << " " << name;
    }
    EXPECT_TRUE(std::isfinite(run.task->evaluate([](std::int64_t, std::int64_t) {})["loss"].get<double>()));
  }
}

TEST_F(MaskedText, ARunBeginsWithTheModelsWeightsAndEndsWithOthers) {
  const PreparedText run = prepared("bert", {{"learning_rate", 0.0}, {"eval_text", Json::array()}});
  EXPECT_TRUE(run.new_tensors.empty());
  train_masked_text(folder_ / "still", run);
  const auto began = checkpoint::load_encoder(folder_ / "bert");
  const auto still = checkpoint::load_encoder(folder_ / "still");
  for (const auto& parameter : began->named_parameters()) {
    EXPECT_TRUE(still->named_parameters()[parameter.key()].equal(parameter.value())) << parameter.key();
  }
  const PreparedText learning = prepared("bert", {{"steps", 30}, {"learning_rate", 0.01}});
  const double before = learning.task->evaluate([](std::int64_t, std::int64_t) {})["loss"].get<double>();
  EXPECT_LT(train_masked_text(folder_ / "run", learning).evaluation["loss"].get<double>(), before);
}

TEST_F(MaskedText, WindowsAreAsLongAsTheModelWhereNothingIsSaid) {
  Json fields = text_fields(encoder("roberta", models::Head::kNone));
  fields.erase("context");
  const PreparedText run = prepare_masked_text(fields, "test");
  EXPECT_EQ(run.text.context, 39);  // one row of the positions is padding's
  EXPECT_EQ(run.trainer.schedule, "linear");
  EXPECT_EQ(run.trainer.batch_size, 2);
  EXPECT_FALSE(run.new_tensors.empty());
}

TEST_F(MaskedText, SaysWhatDoesNotFit) {
  test::expect_error(ErrorKind::kArgument, {"context", "3 to 40", "41"}, [&] { prepared("bert", {{"context", 41}}); });
  test::expect_error(ErrorKind::kArgument, {"context", "found 2"}, [&] { prepared("bert", {{"context", 2}}); });
  test::expect_error(ErrorKind::kArgument, {"label_smoothing"}, [&] { prepared("bert", {{"label_smoothing", 0.1}}); });
  test::expect_error(ErrorKind::kFormat, {"hidden_size"}, [&] { prepared("bert", {{"hidden_size", 4}}); });
  test::expect_error(ErrorKind::kArgument, {"89 ids", "88"}, [&] {
    const text::HuggingFaceTokenizer tokenizer(encoder("bert"));
    FramedMasking(tokenizer, tokenizer.vocabulary_size() - 1, {});
  });
}

TEST_F(MaskedText, AnInterruptedRunGoesOn) {
  const Json fields = text_fields(encoder("big_bird"), {{"steps", 6}, {"checkpoint_every", 2}});
  train_masked_text(folder_ / "run", prepare_masked_text(fields, "test"));
  fs::remove_all(folder_ / "run/checkpoints/step-6");
  const std::vector<double> losses = test::logged_losses(folder_ / "run");
  const PreparedText again = prepare_masked_text_resumption(folder_ / "run", {{"threads", 1}});
  EXPECT_EQ(again.text.context, 18);
  resume_masked_text(folder_ / "run", again);
  EXPECT_EQ(test::logged_losses(folder_ / "run"), losses);
  test::expect_error(ErrorKind::kArgument, {"gradient_checkpointing"},
                     [&] { prepare_masked_text_resumption(folder_ / "run", {{"gradient_checkpointing", true}}); });
}

}  // namespace
}  // namespace weft::fine_tuning
