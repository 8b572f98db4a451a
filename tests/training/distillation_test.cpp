// SPDX-License-Identifier: Apache-2.0
// A language model that learns from a teacher: the loss beside the equations over both models' logits, resumed to the
// bit, and teachers that do not fit.
#include <cmath>
#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randint.h>
#include <torch/types.h>

#include "data/text_files.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "training/fake_task.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/core/files.h"
#include "weft/data/masking.h"
#include "weft/data/window_sampler.h"
#include "weft/models/heads/model_scorer.h"
#include "weft/training/distillation/same_vocabulary.h"
#include "weft/training/distillation/vocabulary_teacher.h"
#include "weft/training/train_language_model.h"

namespace weft::training {
namespace {

namespace fs = std::filesystem;
using formats::Json;

models::TransformerConfig small(bool is_decoder, const std::string& attention) {
  models::TransformerConfig config;
  config.hidden_size = 16;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 2;
  config.intermediate_size = 24;
  config.max_position_embeddings = 32;
  config.initializer_range = 0.3;
  config.is_decoder = is_decoder;
  config.attention = {attention};
  config.vocab_size = data::model_vocabulary(*text::make_byte_tokenizer(), is_decoder);
  return config;
}

class Distillation : public ::testing::Test {
 protected:
  Distillation() {
    test::write_text(folder_ / "text.txt", test::random_text(3000, 1));
    run_.text.train_text = {(folder_ / "text.txt").string()};
    run_.text.context = 32;
    run_.trainer = test::fake_config(6);
    run_.trainer.batch_size = 2;
  }

  std::string save(const std::string& name, const models::TransformerConfig& config) const {
    torch::manual_seed(99);
    models::LanguageModel model(config);
    checkpoint::save_model(folder_ / name, model, *text::make_byte_tokenizer());
    return (folder_ / name).string();
  }

  std::vector<double> losses(const std::string& run) const { return test::logged_losses(folder_ / run); }

  test::TemporaryDirectory folder_;
  TextRun run_;
};

// Sums over rows and ids in float64, from the two models' logits.
double expected_loss(models::LanguageModel& student, models::LanguageModel& teacher, const data::Batch& batch,
                     const DistillationConfig& config) {
  const at::NoGradGuard no_grad;
  models::ModelInput input;
  input.input_ids = batch.input_ids;
  const at::Tensor own = student->logits(input).to(at::kDouble).flatten(0, 1);
  const at::Tensor told = teacher->logits(input).to(at::kDouble).flatten(0, 1);
  const at::Tensor labels = batch.labels.flatten();
  const double warmth = config.distill_temperature;
  double sum = 0.0;
  std::int64_t count = 0;
  for (std::int64_t row = 0; row < labels.size(0); ++row) {
    const auto label = labels[row].item<std::int64_t>();
    if (label == data::kIgnoredLabel) {
      continue;
    }
    const auto softmax = [](const at::Tensor& logits) { return logits.exp() / logits.exp().sum(); };
    const at::Tensor p = softmax(told[row] / warmth);
    const at::Tensor q = softmax(own[row] / warmth);
    const double hard = -softmax(own[row])[label].log().item<double>();
    const double soft = warmth * warmth * (p * (p.log() - q.log())).sum().item<double>();
    sum += (1 - config.distill_weight) * hard + config.distill_weight * soft;
    ++count;
  }
  const at::Tensor apart = student->hidden_states(input) - teacher->hidden_states(input);
  return sum / static_cast<double>(count) +
         config.distill_hidden * (apart * apart).to(at::kDouble).mean().item<double>();
}

TEST_F(Distillation, TheLossIsThatOfTheEquations) {
  for (const bool is_decoder : {true, false}) {
    const std::string name = is_decoder ? "decoder" : "encoder";
    DistillationConfig config;
    config.distill = save(name, small(is_decoder, is_decoder ? "causal" : "full"));
    config.distill_weight = 0.7;
    config.distill_temperature = 3.0;
    config.distill_hidden = 0.2;
    const auto tokenizer = text::make_byte_tokenizer();
    torch::manual_seed(5);
    models::LanguageModel student(small(is_decoder, is_decoder ? "causal & window(left=4)" : "window(4)"));
    const models::TransformerConfig& shape = student->config();
    VocabularyTeacher teacher(config, {*tokenizer, shape.vocab_size, is_decoder, 32, shape.output_size()});
    const at::Tensor tokens = at::randint(256, {2, is_decoder ? 21 : 20}, at::kLong);
    const auto masked = [&] {
      const std::int64_t mask = data::mask_id_of(*tokenizer, shape.vocab_size);
      return data::masked_batch(tokens, data::masking_options(*tokenizer, mask, 0.5, "tokens", 3), 0, 0);
    };
    const data::Batch batch = is_decoder ? data::causal_batch(tokens) : masked();
    models::ModelInput input;
    input.input_ids = batch.input_ids;
    const at::Tensor loss = teacher.loss({student->hidden_states(input), models::scorer_of(*student)}, batch);
    models::LanguageModel same = checkpoint::load_model(config.distill);
    // Products in float32 there and here.
    EXPECT_NEAR(loss.item<double>(), expected_loss(student, same, batch, config), 1e-4) << name;
    loss.backward();
    for (const auto& parameter : student->named_parameters()) {
      EXPECT_TRUE(parameter.value().grad().defined()) << name << " " << parameter.key();
    }
  }
}

TEST_F(Distillation, AStudentThatEqualsItsTeacherHasZeroLoss) {
  const std::string teacher = save("teacher", small(true, "causal"));
  run_.distillation.distill = teacher;
  run_.distillation.distill_weight = 1.0;
  run_.distillation.distill_hidden = 1.0;
  run_.trainer.learning_rate = 0.0;
  train_further(folder_ / "run", run_, checkpoint::open_model(teacher));
  for (const double loss : losses("run")) {
    EXPECT_NEAR(loss, 0.0, 1e-5);
  }
}

TEST_F(Distillation, ARunGoesOnToTheSameBitsAndFromTheSameTeacherOnly) {
  const std::string teacher = save("teacher", small(true, "causal"));
  models::TransformerConfig student = small(true, "causal & window(left=4)");
  student.hidden_dropout_prob = 0.1;
  run_.distillation.distill = teacher;
  run_.trainer.checkpoint_every = 2;
  run_.trainer.keep_checkpoints = 10;
  train_language_model(folder_ / "whole", run_, student, text::make_byte_tokenizer());
  train_language_model(folder_ / "run", run_, student, text::make_byte_tokenizer());
  fs::remove_all(folder_ / "run/checkpoints/step-6");
  fs::remove_all(folder_ / "run/checkpoints/step-4");
  const Json training = formats::read_json(folder_ / "run/training.json");
  EXPECT_EQ(training["distill"], teacher);
  EXPECT_EQ(training["distill_digest"].get<std::string>().size(), 64U);
  const auto refuse = [&](const Json& given, std::initializer_list<std::string_view> words) {
    test::expect_error(ErrorKind::kArgument, words, [&] { resume_language_model(folder_ / "run", given); });
  };
  refuse({{"distill_temperature", 4.0}}, {"training.json", "distill_temperature", "2.0", "4.0"});
  const std::string other = save("other", small(true, "causal & window(left=9)"));
  refuse({{"distill", other}}, {"other", "not the teacher", "training.json"});
  fs::rename(teacher, folder_ / "moved");
  test::expect_error(ErrorKind::kIo, {"distill", "teacher", "config.json"},
                     [&] { resume_language_model(folder_ / "run"); });
  resume_language_model(folder_ / "run", {{"distill", (folder_ / "moved").string()}});
  EXPECT_EQ(losses("run"), losses("whole"));
  EXPECT_EQ(read_file(folder_ / "run/model.safetensors"), read_file(folder_ / "whole/model.safetensors"));
}

TEST_F(Distillation, ATeacherIsHeldToTheStudent) {
  const auto refuse = [&](const models::TransformerConfig& teacher, std::initializer_list<std::string_view> words,
                          double hidden = 0.0) {
    fs::remove_all(folder_ / "teacher");
    run_.distillation.distill = save("teacher", teacher);
    run_.distillation.distill_hidden = hidden;
    test::expect_error(ErrorKind::kArgument, words, [&] {
      train_language_model(folder_ / "run", run_, small(true, "causal"), text::make_byte_tokenizer());
    });
    EXPECT_FALSE(fs::exists(folder_ / "run"));
  };
  refuse(small(false, "full"), {"teacher", "masked tokens", "the next token"});
  models::TransformerConfig teacher = small(true, "causal");
  teacher.vocab_size = 300;
  refuse(teacher, {"256 ids", "300"});
  teacher = small(true, "causal");
  teacher.position_embedding = "learned";
  teacher.max_position_embeddings = 16;
  refuse(teacher, {"32 tokens", "16"});
  teacher = small(true, "causal");
  teacher.hidden_size = 24;
  refuse(teacher, {"distill_hidden", "16", "24"}, 1.0);
  teacher = small(true, "relative");
  teacher.position_embedding = "none";
  teacher.memory_length = 8;
  refuse(teacher, {"memory", "8"});
}

TEST_F(Distillation, SettingsWithoutATeacherAreAMistake) {
  run_.distillation.distill_weight = 0.9;
  test::expect_error(ErrorKind::kArgument, {"distill", "distill_weight"}, [&] {
    train_language_model(folder_ / "run", run_, small(true, "causal"), text::make_byte_tokenizer());
  });
  run_.distillation = {};
  run_.distillation.distill = save("teacher", small(true, "causal"));
  models::TransformerConfig student = small(true, "causal");
  student.vocabulary_cutoffs = {64};
  test::expect_error(ErrorKind::kUnsupported, {"distill", "vocabulary_cutoffs"},
                     [&] { train_language_model(folder_ / "run", run_, student, text::make_byte_tokenizer()); });
}

TEST_F(Distillation, VocabulariesAreComparedTokenByToken) {
  const auto bytes = text::make_byte_tokenizer();
  EXPECT_FALSE(vocabulary_difference(*bytes, *text::make_byte_tokenizer()));
  EXPECT_NE(vocabulary_difference(*bytes, *text::make_byte_tokenizer(2)).value_or("").find("bytes+2"),
            std::string::npos);
  const fs::path fixtures = fs::path(WEFT_TEST_DATA_DIR) / "tokenizers";
  const auto bert = text::load_tokenizer(fixtures / "bert");
  EXPECT_FALSE(vocabulary_difference(*bert, *text::load_tokenizer(fixtures / "bert")));
  EXPECT_TRUE(vocabulary_difference(*bert, *text::load_tokenizer(fixtures / "roberta")));
}

}  // namespace
}  // namespace weft::training
