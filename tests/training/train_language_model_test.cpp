// SPDX-License-Identifier: Apache-2.0
// Small language models through the whole of `weft train`: text in, a run directory out, again and resumed to the last
// bit.
#include "weft/training/train_language_model.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/types.h>

#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>

#include "data/text_files.h"
#include "support/cleared_interrupt.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "training/fake_task.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/core/files.h"
#include "weft/training/evaluation/evaluate.h"
#include "weft/training/language_model_task.h"

namespace weft::training {
namespace {

namespace fs = std::filesystem;
using formats::Json;

models::TransformerConfig tiny_model() {
  models::TransformerConfig config;
  config.hidden_size = 32;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 2;
  config.max_position_embeddings = 32;
  config.attention = {"window(8) & causal"};
  config.hidden_dropout_prob = 0.1;
  config.attention_probs_dropout_prob = 0.1;
  return config;
}

class TrainLanguageModel : public ::testing::Test {
 protected:
  TrainLanguageModel() {
    test::write_text(folder_ / "train/a.txt", test::random_text(3000, 1));
    test::write_text(folder_ / "train/b.txt", test::random_text(3000, 1));
    test::write_text(folder_ / "held_out.txt", test::random_text(700, 1));
    run_.text.train_text = {(folder_ / "train").string()};
    run_.text.eval_text = {(folder_ / "held_out.txt").string()};
    run_.text.context = 32;
    run_.trainer.batch_size = 4;
    run_.trainer.steps = 12;
    run_.trainer.learning_rate = 0.01;
    run_.trainer.threads = 2;
    run_.trainer.checkpoint_every = 4;
  }

  TrainResult train(const std::string& name, const models::TransformerConfig& model) const {
    return train_language_model(folder_ / name, run_, model, text::make_byte_tokenizer());
  }
  // Leaves a run that is interrupted after `step`, by a task as train_language_model makes it.
  void train_until(const std::string& name, std::int64_t step,
                   const models::TransformerConfig& config = tiny_model()) const {
    class Stopping final : public Task {
     public:
      Stopping(std::shared_ptr<Task> task, std::int64_t step) : task_(std::move(task)), step_(step) {}
      std::vector<std::pair<std::string, at::Tensor>> parameters() const override { return task_->parameters(); }
      void move_to(c10::Device device) override { task_->move_to(device); }
      at::Tensor loss(std::int64_t step, std::int64_t part) override {
        if (step + 1 == step_) {
          std::raise(SIGINT);
        }
        return task_->loss(step, part);
      }
      void after_step(std::int64_t done, std::uint64_t seed) override { task_->after_step(done, seed); }
      Json figures() const override { return task_->figures(); }
      void set_training(bool on) override { task_->set_training(on); }
      std::int64_t tokens(std::int64_t step, std::int64_t part) override { return task_->tokens(step, part); }
      Json evaluate(const std::function<void(std::int64_t, std::int64_t)>& progress) override {
        return task_->evaluate(progress);
      }
      Json data_identity() const override { return task_->data_identity(); }
      Json settings() const override { return task_->settings(); }
      void save(const fs::path& directory) const override { task_->save(directory); }
      void load(const fs::path& directory) override { task_->load(directory); }

     private:
      std::shared_ptr<Task> task_;
      std::int64_t step_;
    };
    torch::manual_seed(static_cast<std::uint64_t>(run_.trainer.seed));
    const models::LanguageModel model(config);
    auto task = std::make_shared<LanguageModelTask>(model, text::make_byte_tokenizer(), resolved(run_.trainer),
                                                    resolved(run_.text));
    auto stopping = std::make_shared<Stopping>(std::move(task), step);
    const test::ClearedInterrupt cleared;
    test::expect_error(ErrorKind::kInterrupted, {concat("step ", step)},
                       [&] { Trainer::start(folder_ / name, run_.trainer, stopping).run(); });
  }

  test::TemporaryDirectory folder_;
  TextRun run_;
};

TEST_F(TrainLanguageModel, LeavesAModelThatLearntSomething) {
  run_.trainer.steps = 60;
  const TrainResult result = train("run", tiny_model());
  const std::vector<double> losses = test::logged_losses(folder_ / "run");
  EXPECT_NEAR(losses.front(), std::log(256.0), 0.3);  // an untrained model is near uniform
  EXPECT_LT(losses.back(), 3.3);
  EXPECT_EQ(result.evaluation.at("bytes"), 699);
  EXPECT_EQ(result.evaluation.at("context"), 32);
  models::LanguageModel model = checkpoint::load_model(folder_ / "run");
  EvaluateOptions options;
  options.dtype = result.dtype;
  const auto tokenizer = text::load_tokenizer(folder_ / "run");
  const EvalResult again = evaluate(model, *tokenizer, test::random_text(700, 1), options);
  // Batches of other sizes: float32 products sum in another order.
  EXPECT_NEAR(again.bits_per_byte, result.evaluation.at("bits_per_byte").get<double>(), 1e-4);
  options.context = 8;
  EXPECT_GT(evaluate(model, *tokenizer, test::random_text(700, 1), options).bits_per_byte, 0.0);
}

TEST_F(TrainLanguageModel, RepeatsAndResumesToTheLastBit) {
  train("one", tiny_model());
  train("two", tiny_model());
  train_until("three", 7);
  resume_language_model(folder_ / "three");
  EXPECT_EQ(test::logged_losses(folder_ / "one").size(), 12U);
  for (const char* other : {"two", "three"}) {
    EXPECT_EQ(test::logged_losses(folder_ / "one"), test::logged_losses(folder_ / other)) << other;
    EXPECT_EQ(read_file(folder_ / "one/model.safetensors"), read_file(folder_ / other / "model.safetensors")) << other;
  }
  run_.trainer.seed = 1;
  train("other", tiny_model());
  EXPECT_NE(test::logged_losses(folder_ / "one"), test::logged_losses(folder_ / "other"));
}

TEST_F(TrainLanguageModel, ResumesOnlyAsItBegan) {
  train_until("run", 5);
  const auto refuse = [&](const Json& given, std::initializer_list<std::string_view> words) {
    test::expect_error(ErrorKind::kArgument, words, [&] { resume_language_model(folder_ / "run", given); });
  };
  refuse({{"learning_rate", 0.5}}, {"training.json", "learning_rate", "0.01", "0.5"});
  refuse({{"hidden_size", 64}}, {"config.json", "hidden_size", "32", "64"});
  refuse({{"stepz", 64}}, {"stepz"});
  refuse({{"train_text", {(folder_ / "held_out.txt").string()}}}, {"train_text", "6000", "700"});
  fs::rename(folder_ / "train", folder_ / "moved");
  test::expect_error(ErrorKind::kIo, {"train", "No such file"}, [&] { resume_language_model(folder_ / "run"); });
  const Json given = {
      {"train_text", {(folder_ / "moved").string()}}, {"learning_rate", 0.01}, {"log_every", 2}, {"hidden_size", 32}};
  EXPECT_EQ(resume_language_model(folder_ / "run", given).steps, 12);
}

// Rows are drawn after steps 3, 6, 9 and 12: the run that stops after 7 steps has those of step 6 in its checkpoint.
TEST_F(TrainLanguageModel, RedrawnFeaturesAreThoseOfARunThatWasNotStopped) {
  models::TransformerConfig model = tiny_model();
  model.attention = {"performer(features=8, redraw=3)"};
  train("one", model);
  train_until("two", 7, model);
  resume_language_model(folder_ / "two");
  EXPECT_EQ(test::logged_losses(folder_ / "one"), test::logged_losses(folder_ / "two"));
  EXPECT_EQ(read_file(folder_ / "one/model.safetensors"), read_file(folder_ / "two/model.safetensors"));
  model.attention = {"performer(features=8)"};
  train("kept", model);
  EXPECT_EQ(test::logged_losses(folder_ / "one").at(2), test::logged_losses(folder_ / "kept").at(2));
  EXPECT_NE(test::logged_losses(folder_ / "one").at(3), test::logged_losses(folder_ / "kept").at(3));
}

// The price of a span outweighs what it is good for: spans end at 0, and are kept there.
TEST_F(TrainLanguageModel, LearnsSpansWithinTheirBounds) {
  const auto mean_spans = [&](const char* run) {
    std::vector<double> spans;
    for (const Json& line : formats::read_json_lines(folder_ / run / "metrics.jsonl")) {
      if (line.contains("loss")) {
        spans.push_back(line.at("mean_span").get<double>());
      }
    }
    return spans;
  };
  models::TransformerConfig model = tiny_model();
  model.attention = {"span(max=24, ramp=4, init=1)", "window(4)"};
  train("free", model);
  run_.text.span_loss = 1.0;
  train("one", model);
  train_until("two", 7, model);
  resume_language_model(folder_ / "two");
  EXPECT_NE(mean_spans("free").back(), 1.0);
  EXPECT_EQ(mean_spans("one").size(), 12U);
  EXPECT_EQ(mean_spans("one").back(), 0.0);
  EXPECT_EQ(mean_spans("one"), mean_spans("two"));
  EXPECT_EQ(test::logged_losses(folder_ / "one"), test::logged_losses(folder_ / "two"));
  EXPECT_EQ(read_file(folder_ / "one/model.safetensors"), read_file(folder_ / "two/model.safetensors"));
  EXPECT_NEAR(test::logged_losses(folder_ / "one").front(), test::logged_losses(folder_ / "free").front(), 1e-5)
      << "the loss that is reported is that of the text alone";
  test::expect_error(ErrorKind::kArgument, {"span_loss", "span(max=1024)"}, [&] { train("other", tiny_model()); });
}

TEST_F(TrainLanguageModel, TrainsAnEncoderOnMaskedText) {
  models::TransformerConfig model = tiny_model();
  model.is_decoder = false;
  model.attention = {"window(8)"};
  test::expect_error(ErrorKind::kArgument, {"vocab_size", "257", "256"}, [&] { train("small", model); });
  EXPECT_FALSE(fs::exists(folder_ / "small"));
  model.vocab_size = 257;
  run_.trainer.steps = 40;
  const TrainResult result = train("run", model);
  EXPECT_LT(result.evaluation.at("loss").get<double>(), std::log(257.0) - 1);
  test::expect_error(ErrorKind::kUnsupported, {"encoder"},
                     [&] { evaluate(checkpoint::load_model(folder_ / "run"), *text::make_byte_tokenizer(), "text"); });
}

TEST_F(TrainLanguageModel, TextThatGoesAwayEndsTheRunAndTheCheckpointStands) {
  test::write_text(folder_ / "one.txt", test::random_text(3000, 1));
  run_.text.train_text = {(folder_ / "one.txt").string()};
  torch::manual_seed(0);
  const models::LanguageModel model(tiny_model());
  auto task = std::make_shared<LanguageModelTask>(model, text::make_byte_tokenizer(), resolved(run_.trainer),
                                                  resolved(run_.text));
  Trainer trainer = Trainer::start(folder_ / "run", run_.trainer, task);
  fs::resize_file(folder_ / "one.txt", 100);
  test::expect_error(ErrorKind::kIo, {"one.txt", "shrunk", "the last checkpoint is", "step-"}, [&] { trainer.run(); });
}

TEST_F(TrainLanguageModel, TextThatIsRewrittenEndsTheRunAndTheCheckpointStands) {
  test::write_text(folder_ / "one.txt", test::random_text(3000, 1));
  run_.text.train_text = {(folder_ / "one.txt").string()};
  const models::LanguageModel model(tiny_model());
  auto task = std::make_shared<LanguageModelTask>(model, text::make_byte_tokenizer(), resolved(run_.trainer),
                                                  resolved(run_.text));
  Trainer trainer = Trainer::start(folder_ / "run", run_.trainer, task);
  fs::last_write_time(folder_ / "one.txt", fs::last_write_time(folder_ / "one.txt") + std::chrono::seconds(1));
  task->loss(0, 0);  // a touched file is the text that it was
  test::write_text(folder_ / "one.txt", test::random_text(3000, 2));
  fs::last_write_time(folder_ / "one.txt", fs::last_write_time(folder_ / "one.txt") + std::chrono::seconds(2));
  test::expect_error(ErrorKind::kIo, {"one.txt", "was written while it was in use", "the last checkpoint is", "step-"},
                     [&] { trainer.run(); });
}

// Also where the byte lies between the places that the fingerprint of earlier versions looks at.
TEST_F(TrainLanguageModel, OneChangedByteIsAnotherText) {
  const std::string path = (folder_ / "one.txt").string();
  run_.text.train_text = {path};
  std::string text = test::random_text(40000, 1);
  const auto print = [&] {
    test::write_text(path, text);
    return data::fingerprint(
        *data::tokenize(std::make_shared<data::TextCorpus>(run_.text.train_text), *text::make_byte_tokenizer()));
  };
  const std::uint64_t first = print();
  train_until("run", 5);
  std::size_t place = 1000;
  for (text[place] ^= 1; print() != first; text[place] ^= 1) {
    text[place++] ^= 1;
  }
  test::expect_error(ErrorKind::kArgument, {"train_text", "content was \"xxh3-128:"},
                     [&] { resume_language_model(folder_ / "run"); });
  text[place] ^= 1;
  EXPECT_EQ(print(), first);
  EXPECT_EQ(resume_language_model(folder_ / "run").steps, 12);
}

TEST_F(TrainLanguageModel, SettingsThatWereEditedAreNamed) {
  train_until("run", 5);
  Json edited = formats::read_json(folder_ / "run/training.json");
  edited["learning_rate"] = 0.02;
  edited["steps"] = 14;  // this one may change
  write_file_atomically(folder_ / "run/training.json", formats::print_json(edited));
  test::expect_error(ErrorKind::kArgument, {"step-5/state.json", "learning_rate was 0.01", "has 0.02"},
                     [&] { resume_language_model(folder_ / "run"); });
  edited["learning_rate"] = 0.01;
  write_file_atomically(folder_ / "run/training.json", formats::print_json(edited));
  EXPECT_EQ(resume_language_model(folder_ / "run").steps, 14);
}

}  // namespace
}  // namespace weft::training
