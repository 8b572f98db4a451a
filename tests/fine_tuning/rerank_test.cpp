// SPDX-License-Identifier: Apache-2.0
// Cross-encoders that learn: labels of pairs, lists of a query, and directories that score as they were measured.
#include "weft/fine_tuning/retrieval/rerank_objective.h"

#include <torch/types.h>

#include "fine_tuning/small_task.h"
#include "support/expect_error.h"
#include "weft/core/files.h"
#include "weft/fine_tuning/retrieval/losses.h"
#include "weft/tasks/rerank.h"

namespace weft::fine_tuning {
namespace {

namespace fs = std::filesystem;
using formats::Json;

constexpr const char* kGroups =
    "{\"query\": \"loom\", \"positive\": \"the loom\", \"negative\": [\"hello\", \"world and it\"]}\n"
    "{\"query\": \"world\", \"positive\": [\"the world\", \"hello world\"], \"negative\": \"thread\"}\n";
constexpr const char* kLabelled =
    "query,text,label\n"
    "loom,the loom,1\n"
    "loom,hello,0\n"
    "world,the world and we,0.5\n"
    "world,thread,0\n";

class Rerank : public test::SmallTask {
 protected:
  std::string write(const char* name, const std::string& content) const {
    test::write_text(folder_ / name, content);
    return (folder_ / name).string();
  }
  Json task(const char* name, const std::string& content, const Json& changes = Json::object()) const {
    Json given = fields("rerank", "classify", "pairs.csv");
    given["model"] = headless();
    given["train_data"] = {write(name, content)};
    given["eval_data"] = given["train_data"];
    given.update(changes);
    return given;
  }
  static Prepared prepared(const Json& given) { return prepare(make_settings(given, "test")); }
};

TEST_F(Rerank, ScoresAreThoseThatRerankGives) {
  const training::TrainResult result =
      train(task("labels.csv", kLabelled, {{"steps", 4}, {"best_metric", "ndcg_at_10"}}));
  for (const char* figure : {"pearson", "spearman", "ndcg_at_10", "mrr_at_10", "map", "loss"}) {
    EXPECT_TRUE(result.evaluation.contains(figure)) << figure;
  }
  const Json config = formats::read_json(folder_ / "run/best/config.json");
  EXPECT_EQ(config.at("sentence_transformers").at("activation_fn"), "torch.nn.modules.activation.Sigmoid");
  Measurement measurement;
  measurement.task = "rerank";
  measurement.directory = folder_ / "run";
  measurement.data = {write("labels.csv", kLabelled)};
  std::vector<Json> lines;
  const Measured measured = measure(measurement, [&](const Json& line) { lines.push_back(line); });
  EXPECT_EQ(measured.figures, result.evaluation);
  ASSERT_EQ(lines.size(), 4U);
  const checkpoint::OpenedModel opened = checkpoint::open_model(folder_ / "run");
  tasks::require_cross_encoder(opened);
  tasks::TaskModel model = tasks::open_task_model(opened, {});
  tasks::RerankOptions options;
  options.settings = checkpoint::read_cross_encoder(opened);
  const std::vector<tasks::Document> pairs = {{"loom", "the loom"}, {"world", "thread"}};
  const std::vector<tasks::TaskResult> scores = tasks::score_pairs(model, pairs, options);
  EXPECT_NEAR(lines[0]["score"].get<double>(), scores[0].result.get<double>(), 1e-6);
  EXPECT_NEAR(lines[3]["score"].get<double>(), scores[1].result.get<double>(), 1e-6);
  EXPECT_EQ(lines[3]["line"], 5);
  EXPECT_EQ(lines[3]["text_pair"], "thread");
}

TEST_F(Rerank, ALossOverAListIsThatOfItsLogits) {
  const Prepared run = prepared(task("groups.jsonl", kGroups));
  const Objective& objective = run.task->objective();
  EXPECT_EQ(objective.examples(Split::kTraining), 2);
  EXPECT_EQ(objective.row_range(Split::kTraining, 1).end, 6);
  run.task->set_training(false);
  const std::vector<std::int64_t> all = {0, 1};
  const at::Tensor logits =
      objective
          .run(*models::EncoderModel(run.task->model()),
               objective.input(objective.token_rows(Split::kTraining, all), {.id = 0, .token_types = true}))
          .logits.flatten();
  const at::Tensor labels = torch::tensor({1.0, 0.0, 0.0, 1.0, 1.0, 0.0});
  EXPECT_NEAR(run.task->loss(0, 0).item<double>(),
              list_loss(logits, labels, std::vector<std::int64_t>{3, 3}).item<double>(), 1e-5);
  const Prepared pairs = prepared(task("groups.jsonl", kGroups, {{"loss", "binary"}}));
  EXPECT_EQ(pairs.task->objective().examples(Split::kTraining), 6);
}

TEST_F(Rerank, AResumedRunEqualsOneNeverStopped) {
  const Json given = task("groups.jsonl", kGroups, {{"steps", 4}, {"batch_size", 1}, {"checkpoint_every", 2}});
  train(given, "whole");
  train(given, "run");
  fs::remove_all(folder_ / "run/checkpoints/step-4");
  resume_fine_tuning(folder_ / "run", prepare_resumption(folder_ / "run", {}));
  EXPECT_EQ(read_file(folder_ / "run/model.safetensors"), read_file(folder_ / "whole/model.safetensors"));
  EXPECT_EQ(read_file(folder_ / "run/config.json"), read_file(folder_ / "whole/config.json"));
}

TEST_F(Rerank, WhatTheLibrarySaysOfACrossEncoderStays) {
  train(task("labels.csv", kLabelled, {{"steps", 1}}), "start");
  checkpoint::SentenceDirectory said;
  said.library_class = "CrossEncoder";
  said.prompts = {{"ask", "hello "}};
  said.default_prompt_name = "ask";
  said.activation_fn = "torch.nn.modules.linear.Identity";
  said.max_seq_length = 20;
  checkpoint::write_sentence_directory(folder_ / "start", said);
  train(task("labels.csv", kLabelled, {{"steps", 2}, {"model", (folder_ / "start").string()}}));
  const auto settings = checkpoint::read_cross_encoder(checkpoint::open_model(folder_ / "run"));
  EXPECT_EQ(settings.prompt, "hello ");
  EXPECT_EQ(settings.activation, "torch.nn.modules.linear.Identity");
  EXPECT_EQ(checkpoint::read_sentence_directory(folder_ / "run")->max_seq_length, 20);
}

TEST_F(Rerank, SaysWhatIsWrong) {
  const Json nothing = Json::object();
  const auto refuse = [&](const std::string& content, const Json& changes,
                          std::initializer_list<std::string_view> words) {
    test::expect_error(ErrorKind::kFormat, words, [&] { prepared(task("bad.csv", content, changes)); });
  };
  refuse("query,text\nloom,hello\nworld,it\n", {{"loss", "binary"}},
         {"bad.csv", "all 2 pairs", "label 1", "negatives"});
  refuse("query,text,label\nloom,hello,1\nworld,it,0\n", {{"loss", "softmax"}}, {"softmax", "found 1 text", "'loom'"});
  refuse("query,text,label\nloom,hello,3\nloom,it,0\n", nothing, {"line 2", "score 3", "0 to 1", "score_max"});
  test::expect_error(ErrorKind::kArgument, {"head of one number", "3 labels"},
                     [&] { prepared(task("labels.csv", kLabelled, {{"model", model("classify")}})); });
  test::expect_error(ErrorKind::kArgument, {"prompts", "embed"},
                     [&] { make_settings(task("labels.csv", kLabelled, {{"query_prompt", "q: "}}), "test"); });
}

}  // namespace
}  // namespace weft::fine_tuning
