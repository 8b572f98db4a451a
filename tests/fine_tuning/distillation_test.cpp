// SPDX-License-Identifier: Apache-2.0
// Encoders that learn from a teacher: masked text and every head, beside the equations, resumed to the bit, refused
// where the teacher does not fit.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/log_softmax.h>

#include <numeric>

#include "fine_tuning/small_task.h"
#include "support/expect_error.h"
#include "weft/core/files.h"
#include "weft/fine_tuning/masked_text/masked_text_run.h"
#include "weft/layers/soft_targets.h"

namespace weft::fine_tuning {
namespace {

namespace fs = std::filesystem;
using formats::Json;

struct TaskOf {
  const char* task;
  const char* model;
  const char* data;
};
constexpr TaskOf kTasks[] = {{"classify", "classify", "pairs.csv"},
                             {"multilabel", "multilabel", "several.jsonl"},
                             {"tag", "tag", "words.conll"},
                             {"answer", "answer", "answers.json"},
                             {"choose", "choose", "choices.jsonl"}};

class DistilledEncoder : public test::SmallTask {
 protected:
  std::string text() const {
    std::string content;
    for (int i = 0; i < 60; ++i) {
      content += i % 3 == 0 ? "the loom said hello world\n" : "she and we see the thread it said\n";
    }
    test::write_text(folder_ / "text.txt", content);
    return (folder_ / "text.txt").string();
  }

  // A masked language model of the fixtures' vocabulary.
  std::string encoder(const std::string& family, const std::string& name, std::uint64_t seed,
                      models::Head head = models::Head::kMaskedLanguageModel) const {
    models::EncoderConfig config = small_shape(family);
    config.initializer_range = 0.3;
    checkpoint::save_encoder(folder_ / name, models::make_encoder(config, head, seed), model("classify"));
    return (folder_ / name).string();
  }

  Json masked_fields(const std::string& student, const std::string& teacher,
                     const Json& changes = Json::object()) const {
    Json fields = {{"model", student},   {"train_text", {text()}}, {"context", 18},        {"batch_size", 2},
                   {"steps", 6},         {"dtype", "float32"},     {"threads", 1},         {"task", "mlm"},
                   {"distill", teacher}, {"learning_rate", 3e-3},  {"checkpoint_every", 2}};
    fields.update(changes);
    return fields;
  }
};

TEST_F(DistilledEncoder, AStudentOfMaskedTextThatEqualsItsTeacherHasZeroLoss) {
  const std::string teacher = encoder("bert", "teacher", 3);
  const PreparedText same =
      prepare_masked_text(masked_fields(teacher, teacher, {{"distill_weight", 1.0}, {"distill_hidden", 1.0}}), "test");
  same.task->set_training(false);
  EXPECT_NEAR(same.task->loss(0, 0).item<double>(), 0.0, 1e-5);
  const PreparedText other =
      prepare_masked_text(masked_fields(encoder("bert", "student", 4), teacher, {{"distill_weight", 1.0}}), "test");
  other.task->set_training(false);
  EXPECT_GT(other.task->loss(0, 0).item<double>(), 0.01);
}

TEST_F(DistilledEncoder, AWindowedStudentLearnsFromADenseTeacherAndGoesOnToTheSameBits) {
  const std::string teacher = encoder("bert", "teacher", 3);
  const Json fields = masked_fields(encoder("longformer", "student", 4), teacher, {{"distill_hidden", 0.1}});
  train_masked_text(folder_ / "run", prepare_masked_text(fields, "test"));
  const std::vector<double> losses = test::logged_losses(folder_ / "run");
  fs::remove_all(folder_ / "run/checkpoints/step-6");
  resume_masked_text(folder_ / "run", prepare_masked_text_resumption(folder_ / "run", Json::object()));
  EXPECT_EQ(test::logged_losses(folder_ / "run"), losses);
  test::expect_error(ErrorKind::kArgument, {"not the teacher", "training.json"}, [&] {
    prepare_masked_text_resumption(folder_ / "run", {{"distill", encoder("bert", "other", 5)}});
  });
}

TEST_F(DistilledEncoder, ATeacherOfMaskedTextIsHeldToTheStudent) {
  const std::string student = encoder("bert", "student", 4);
  const auto refuse = [&](const std::string& teacher, const Json& changes,
                          std::initializer_list<std::string_view> words, ErrorKind kind = ErrorKind::kArgument) {
    test::expect_error(kind, words, [&] { prepare_masked_text(masked_fields(student, teacher, changes), "test"); });
  };
  refuse(encoder("bert", "headless", 3, models::Head::kNone), Json::object(), {"headless", "masked-lm"});
  refuse(encoder("roberta", "short", 3), {{"context", 40}}, {"40 tokens", "39"});
  refuse((folder_ / "nowhere").string(), Json::object(), {"distill", "nowhere", "config.json"}, ErrorKind::kIo);
  const std::string foreign = encoder("bert", "foreign", 3);
  std::string words = read_file(fs::path(foreign) / "vocab.txt");
  words.replace(words.find("hello"), 5, "jello");
  test::write_text(fs::path(foreign) / "vocab.txt", words);
  refuse(foreign, Json::object(), {"foreign", "vocabulary", "jello", "hello"});
  refuse("", {{"distill_weight", 0.9}}, {"distill must name", "distill_weight"});
}

TEST_F(DistilledEncoder, EveryHeadLearnsFromATeacher) {
  for (const TaskOf& one : kTasks) {
    Json given = fields(one.task, one.model, one.data);
    // The fixtures' models have dropout off in evaluation: the loss of the labels, and nothing from a teacher.
    const Prepared plain = prepare(make_settings(given, "test"));
    plain.task->set_training(false);
    const double hard = plain.task->loss(0, 0).item<double>();
    given["distill"] = model(one.model);
    given["distill_weight"] = 0.25;
    given["distill_hidden"] = 2.0;
    const Prepared same = prepare(make_settings(given, "test"));
    same.task->set_training(false);
    EXPECT_NEAR(same.task->loss(0, 0).item<double>(), 0.75 * hard, 1e-5) << one.task;
    // A teacher with other weights.
    const fs::path other = folder_ / (std::string(one.task) + "-other");
    models::EncoderConfig config = checkpoint::load_encoder_config(model(one.model));
    config.initializer_range = 0.5;
    checkpoint::save_encoder(other, models::make_encoder(config, same.task->objective().head(), 17), model(one.model));
    given["distill"] = other.string();
    given["distill_weight"] = 1.0;
    given["distill_hidden"] = 0.0;
    const Prepared taught = prepare(make_settings(given, "test"));
    taught.task->set_training(false);
    const double before = taught.task->loss(0, 0).item<double>();
    EXPECT_GT(before, 1e-4) << one.task;
    given["learning_rate"] = 0.01;
    train(given, std::string("run-") + one.task);
    EXPECT_LT(test::logged_losses(folder_ / (std::string("run-") + one.task)).back(), before) << one.task;
  }
}

TEST_F(DistilledEncoder, TheLossOfAClassifierIsThatOfTheEquations) {
  Json given = fields("classify", "classify", "pairs.csv");
  given["batch_size"] = 64;
  const std::string student = model("classify");
  const fs::path other = folder_ / "other";
  models::EncoderConfig config = checkpoint::load_encoder_config(student);
  config.initializer_range = 0.5;
  std::reverse(config.id2label.begin(), config.id2label.end());  // the teacher has them in another order
  checkpoint::save_encoder(other, models::make_encoder(config, models::Head::kSequenceClassification, 17), student);
  given["distill"] = other.string();
  given["distill_weight"] = 0.6;
  given["distill_temperature"] = 3.0;
  const Prepared prepared = fine_tuning::prepare(make_settings(given, "test"));
  prepared.task->set_training(false);
  const double found = prepared.task->loss(0, 0).item<double>();
  // The one batch: every example, in any order.
  const Objective& objective = prepared.task->objective();
  std::vector<std::int64_t> examples(static_cast<std::size_t>(objective.examples(Split::kTraining)));
  std::iota(examples.begin(), examples.end(), 0);
  const std::vector<TokenRow> rows = objective.token_rows(Split::kTraining, examples);
  const models::EncoderInput input = objective.input(rows, {config.pad_token_id, objective.setup().model.type_ids});
  const at::NoGradGuard no_grad;
  const auto logits_of = [&](const fs::path& directory) {
    return checkpoint::load_encoder(directory)->forward(input).logits.to(at::kDouble);
  };
  const at::Tensor own = logits_of(student);
  const at::Tensor told = logits_of(other).flip(1);
  given.erase("distill");
  given.erase("distill_weight");
  given.erase("distill_temperature");
  const Prepared plain = fine_tuning::prepare(make_settings(given, "test"));
  plain.task->set_training(false);
  const double hard = plain.task->loss(0, 0).item<double>();
  double soft = 0.0;
  for (std::int64_t row = 0; row < own.size(0); ++row) {
    const at::Tensor p = (told[row] / 3).exp() / (told[row] / 3).exp().sum();
    const at::Tensor q = (own[row] / 3).exp() / (own[row] / 3).exp().sum();
    soft += 9 * (p * (p.log() - q.log())).sum().item<double>() / static_cast<double>(own.size(0));
  }
  // Logits of float32, of a batch in another order.
  EXPECT_NEAR(found, 0.4 * hard + 0.6 * soft, 1e-5);
}

TEST_F(DistilledEncoder, ATeacherOfAHeadIsHeldToTheStudent) {
  const auto refuse = [&](const TaskOf& one, const Json& changes, std::initializer_list<std::string_view> words) {
    Json given = fields(one.task, one.model, one.data);
    given.update(changes);
    test::expect_error(ErrorKind::kArgument, words, [&] { fine_tuning::prepare(make_settings(given, "test")); });
  };
  refuse(kTasks[0], {{"distill", model("tag")}}, {"head", "sequence-classification", "token-classification"});
  models::EncoderConfig config = checkpoint::load_encoder_config(model("classify"));
  config.id2label.front() = "elsewhere";
  checkpoint::save_encoder(folder_ / "labels", models::make_encoder(config, models::Head::kSequenceClassification, 3),
                           model("classify"));
  refuse(kTasks[0], {{"distill", (folder_ / "labels").string()}}, {"labels", "none called"});
}

TEST_F(DistilledEncoder, ADistilledHeadGoesOnToTheSameBits) {
  Json given = fields("classify", "classify", "pairs.csv");
  given.update({{"batch_size", 5}, {"steps", 8}, {"checkpoint_every", 4}, {"keep_checkpoints", 9}});
  given["distill"] = model("classify");
  given["model"] = headless();
  train(given, "whole");
  train(given, "run");
  fs::remove_all(folder_ / "run/checkpoints/step-8");
  resume_fine_tuning(folder_ / "run", prepare_resumption(folder_ / "run", Json::object()));
  EXPECT_EQ(test::logged_losses(folder_ / "run"), test::logged_losses(folder_ / "whole"));
  EXPECT_EQ(read_file(folder_ / "run/model.safetensors"), read_file(folder_ / "whole/model.safetensors"));
}

}  // namespace
}  // namespace weft::fine_tuning
