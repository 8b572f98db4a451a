// SPDX-License-Identifier: Apache-2.0
// Embedders that learn: what a batch's loss is made of, mini-batches that change nothing, directories that say how they
// embed, and figures that follow from the vectors.
#include "weft/fine_tuning/retrieval/embed_objective.h"

#include <torch/types.h>

#include "fine_tuning/small_task.h"
#include "support/expect_error.h"
#include "support/torch_memory.h"
#include "weft/checkpoint/sentence/sentence_directory.h"
#include "weft/core/files.h"
#include "weft/fine_tuning/mini_batches.h"
#include "weft/fine_tuning/retrieval/losses.h"
#include "weft/metrics/correlation.h"
#include "weft/tasks/embedding/embedder.h"

namespace weft::fine_tuning {
namespace {

namespace fs = std::filesystem;
using formats::Json;

constexpr const char* kPairs =
    "anchor\tpositive\tnegative\n"
    "the loom\tthread and loom\thello\n"
    "hello world\tshe said hello\tthe thread\n"
    "we see it\tit and we see\tthe loom and the thread said it\n"
    "she said it\twell she said it\tworld\n"
    "the thread\tthread\twe\n";
constexpr const char* kScored =
    "sentence1,sentence2,score\n"
    "the loom,the thread,4.5\n"
    "hello,hello world,5\n"
    "we see,she said it well,0\n"
    "it,she,1.5\n"
    "the world,we and the world,3\n";

class Embed : public test::SmallTask {
 protected:
  std::string write(const char* name, const std::string& content) const {
    test::write_text(folder_ / name, content);
    return (folder_ / name).string();
  }
  // A fresh encoder with dropout, and a task over the pairs with negatives.
  Json pairs(const Json& changes = Json::object()) const {
    models::EncoderConfig config = small_shape("bert");
    config.hidden_dropout_prob = 0.2;
    config.attention_probs_dropout_prob = 0.2;
    checkpoint::save_encoder(folder_ / "bert", models::make_encoder(config, models::Head::kNone, 3), model("classify"));
    Json given = fields("embed", "classify", "pairs.csv");
    given["model"] = (folder_ / "bert").string();
    given["train_data"] = {write("pairs.tsv", kPairs)};
    given["eval_data"] = given["train_data"];
    given.update(changes);
    return given;
  }
  Json scored(const Json& changes = Json::object()) const {
    Json given = pairs({{"score_max", 5.0}});
    given["train_data"] = {write("scored.csv", kScored)};
    given["eval_data"] = given["train_data"];
    given.update(changes);
    return given;
  }
  static Prepared prepared(const Json& given) { return prepare(make_settings(given, "test")); }

  // The vectors of texts as `weft embed` gives them, float64.
  static at::Tensor embedded(const fs::path& directory, const std::vector<std::string>& texts) {
    tasks::Embedder embedder = tasks::open_embedder(directory, {});
    std::vector<tasks::Document> documents;
    documents.reserve(texts.size());
    for (const std::string& text : texts) {
      documents.push_back({text});
    }
    std::vector<at::Tensor> rows;
    rows.reserve(texts.size());
    for (const tasks::TextVector& one : tasks::embed_texts(embedder, documents)) {
      rows.push_back(torch::tensor(one.vector, torch::kFloat).to(torch::kDouble));
    }
    return torch::stack(rows);
  }

  // Gradients of the parameters under the loss of step 0, its mini-batches replayed or not.
  static std::vector<at::Tensor> gradients(const Prepared& run, bool replay, std::int64_t tokens) {
    const Objective& objective = run.task->objective();
    std::vector<std::int64_t> examples;
    examples.reserve(static_cast<std::size_t>(objective.examples(Split::kTraining)));
    for (std::int64_t example = 0; example < objective.examples(Split::kTraining); ++example) {
      examples.push_back(example);
    }
    TrainingBatch batch;
    batch.examples = examples;
    MiniBatchOptions options;
    options.tokens = tokens;
    options.seed = 11;
    options.replay = replay;
    models::EncoderOutput output;
    output.logits =
        run_in_mini_batches(objective, run.task->model(), objective.token_rows(Split::kTraining, examples), options);
    objective.loss(output, batch).backward();
    std::vector<at::Tensor> found;
    for (auto& [name, parameter] : run.task->parameters()) {
      found.push_back(parameter.grad().clone());
      parameter.mutable_grad() = at::Tensor();
    }
    return found;
  }

  // Writes modules.json with a Dense into the directory of the model.
  void add_dense(const fs::path& directory) const {
    checkpoint::SentenceDirectory sentence;
    checkpoint::PoolingModule pooling;
    pooling.width = 16;
    torch::manual_seed(4);
    checkpoint::DenseModule dense;
    dense.weight = torch::randn({6, 16});
    dense.bias = torch::randn({6});
    sentence.modules = {pooling, dense};
    sentence.prompts = {{"query", "hello "}};
    checkpoint::write_sentence_directory(directory, sentence);
  }
};

TEST_F(Embed, TheLossIsThatOfTheVectorsThatEmbedGives) {
  const Prepared run = prepared(pairs({{"matryoshka_dims", {16, 4}}, {"matryoshka_weights", {"1", "0.5"}}}));
  run.task->set_training(false);
  const at::Tensor queries =
      embedded(run.settings.task.model, {"the loom", "hello world", "we see it", "she said it", "the thread"});
  const at::Tensor texts = embedded(run.settings.task.model,
                                    {"thread and loom", "she said hello", "it and we see", "well she said it", "thread",
                                     "hello", "the thread", "the loom and the thread said it", "world", "we"});
  // "the thread", a negative of the second record, says what the fifth query says.
  const at::Tensor same = torch::zeros({5, 10}, torch::kBool);
  same[4][6] = true;
  const auto loss = [&](std::int64_t width) {
    return in_batch_loss(queries.narrow(1, 0, width), texts.narrow(1, 0, width), {.no_negatives = same}).item<double>();
  };
  EXPECT_NEAR(run.task->loss(0, 0).item<double>(), loss(16) + 0.5 * loss(4), 2e-5);
}

TEST_F(Embed, MiniBatchesThatReplayHaveTheGradientsOfOneGraph) {
  const Prepared run = prepared(pairs());
  run.task->set_training(true);
  for (const auto& [type, tolerance] : {std::pair{torch::kFloat, 1e-5}, std::pair{torch::kDouble, 1e-12}}) {
    models::EncoderModel model = run.task->model();
    model->to(type);
    const std::vector<at::Tensor> kept = gradients(run, false, 20);
    const std::vector<at::Tensor> replayed = gradients(run, true, 20);
    const std::vector<at::Tensor> whole = gradients(run, true, 1000);
    bool same_as_whole = true;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      EXPECT_TRUE(torch::allclose(replayed[i], kept[i], tolerance, tolerance)) << i;
      same_as_whole = same_as_whole && torch::allclose(whole[i], kept[i], 1e-3, 1e-6);
    }
    EXPECT_FALSE(same_as_whole) << "dropout is on, and that of a mini-batch is its own";
  }
}

TEST_F(Embed, MemoryDoesNotFollowTheBatch) {
  const Json given = pairs();
  Json config = formats::read_json(folder_ / "bert/config.json");
  config["hidden_act"] = "relu";  // LibTorch's gelu takes memory that the count does not see
  write_file_atomically(folder_ / "bert/config.json", config.dump());
  const Prepared run = prepared(given);
  run.task->set_training(true);
  const Objective& objective = run.task->objective();
  const std::vector<std::int64_t> all = {0, 1, 2, 3, 4};
  const std::vector<TokenRow> few = objective.token_rows(Split::kTraining, all);
  const auto peak = [&](int times, bool replay) {
    std::vector<TokenRow> rows;
    for (int i = 0; i < times; ++i) {
      rows.insert(rows.end(), few.begin(), few.end());
    }
    MiniBatchOptions options;
    options.tokens = 100;
    options.replay = replay;
    return static_cast<double>(testing::peak_tensor_bytes(
        [&] { run_in_mini_batches(objective, run.task->model(), rows, options).sum().backward(); }));
  };
  peak(2, true);  // the parameters have gradients from here on
  // Ids and vectors are there for all rows, graphs for those of one mini-batch.
  const double replayed = peak(40, true) - peak(10, true);
  const double kept = peak(40, false) - peak(10, false);
  EXPECT_LT(5.0 * replayed, kept);
  EXPECT_LT(3.0 * peak(40, true), peak(40, false));
}

TEST_F(Embed, RowsOfAMiniBatchAreNeighboursInLength) {
  const auto row = [](std::size_t tokens) { return TokenRow{std::vector<std::int64_t>(tokens), {}, {}}; };
  const std::vector<TokenRow> rows = {row(9), row(2), row(3), row(30), row(3)};
  EXPECT_EQ(mini_batches(rows, 10), (std::vector<std::vector<std::size_t>>{{1, 2, 4}, {0}, {3}}));
}

TEST_F(Embed, ARunIsADirectoryOfSentenceTransformers) {
  const training::TrainResult result =
      train(pairs({{"steps", 3}, {"best_metric", "ndcg_at_10"}, {"query_prompt", "hello "}, {"max_length", 20}}));
  for (const char* name : {"run", "run/best", "run/checkpoints/step-3"}) {
    const auto sentence = checkpoint::read_sentence_directory(folder_ / name);
    ASSERT_TRUE(sentence) << name;
    EXPECT_EQ(checkpoint::modules_text(sentence->modules), "mean pooling, Normalize");
    EXPECT_EQ(sentence->prompts.at("query"), "hello ");
    EXPECT_EQ(sentence->max_seq_length, 20);
  }
  // Measured again from the directory alone.
  Measurement measurement;
  measurement.task = "embed";
  measurement.directory = folder_ / "run";
  measurement.data = {write("pairs.tsv", kPairs)};
  std::vector<Json> lines;
  const Measured measured = measure(measurement, [&](const Json& line) { lines.push_back(line); });
  EXPECT_EQ(measured.figures, result.evaluation);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0]["line"], 2);
  EXPECT_EQ(lines[0]["text"], "the loom");
  EXPECT_EQ(lines[0]["ranks"].size(), 1U);
  for (const char* figure : {"ndcg_at_10", "mrr_at_10", "map", "recall_at_1", "recall_at_10"}) {
    EXPECT_TRUE(measured.figures.contains(figure)) << figure;
  }
}

TEST_F(Embed, ScoresOfPairsAreMeasuredAsEmbedGivesThem) {
  const training::TrainResult result = train(scored({{"steps", 4}}));
  const at::Tensor first = embedded(folder_ / "run", {"the loom", "hello", "we see", "it", "the world"});
  const at::Tensor second =
      embedded(folder_ / "run", {"the thread", "hello world", "she said it well", "she", "we and the world"});
  const at::Tensor cosines = (first * second).sum(1);
  const std::vector<double> found(cosines.data_ptr<double>(), cosines.data_ptr<double>() + 5);
  const std::vector<double> scores = {4.5, 5, 0, 1.5, 3};
  EXPECT_NEAR(result.evaluation["pearson"].get<double>(), *metrics::pearson(scores, found), 1e-5);
  EXPECT_NEAR(result.evaluation["spearman"].get<double>(), *metrics::spearman(scores, found), 1e-12);
}

TEST_F(Embed, AResumedRunEqualsOneNeverStoppedAndADenseLearns) {
  Json given = pairs({{"steps", 6},
                      {"batch_size", 2},
                      {"checkpoint_every", 3},
                      {"keep_checkpoints", 9},
                      {"mini_batch_tokens", 16},
                      {"gradient_accumulation", 2}});
  add_dense(given["model"].get<std::string>());
  train(given, "whole");
  train(given, "run");
  fs::remove_all(folder_ / "run/checkpoints/step-6");
  resume_fine_tuning(folder_ / "run", prepare_resumption(folder_ / "run", {}));
  EXPECT_EQ(test::logged_losses(folder_ / "run"), test::logged_losses(folder_ / "whole"));
  for (const char* file : {"model.safetensors", "2_Dense/model.safetensors"}) {
    EXPECT_EQ(read_file(folder_ / "run" / file), read_file(folder_ / "whole" / file)) << file;
  }
  EXPECT_NE(read_file(folder_ / "run/2_Dense/model.safetensors"),
            read_file(fs::path(given["model"].get<std::string>()) / "2_Dense/model.safetensors"));
  EXPECT_EQ(checkpoint::read_sentence_directory(folder_ / "run")->prompts.at("query"), "hello ");
}

TEST_F(Embed, EveryParameterLearnsInEachLoss) {
  for (const Json& given : {pairs(), scored(), scored({{"loss", "cosent"}}), pairs({{"symmetric", true}})}) {
    add_dense(given["model"].get<std::string>());
    const Prepared run = prepared(given);
    run.task->set_training(true);
    run.task->loss(0, 0).backward();
    for (const auto& [name, parameter] : run.task->parameters()) {
      EXPECT_TRUE(parameter.grad().defined()) << name;
    }
    fs::remove(fs::path(given["model"].get<std::string>()) / "modules.json");
  }
}

TEST_F(Embed, RecordsOfManyTextsAndOtherNames) {
  const std::string file =
      write("groups.jsonl",
            "{\"query\": \"loom\", \"pos\": [\"the loom\", \"thread\"], \"neg\": [\"hello\"]}\n"
            "{\"query\": \"world\", \"pos\": \"the world\", \"negative_1\": \"it\", \"negative_2\": \"she\"}\n");
  const Prepared run = prepared(pairs({{"train_data", {file}}, {"eval_data", Json::array()}}));
  const Objective& objective = run.task->objective();
  EXPECT_EQ(run.training.examples, 2);
  EXPECT_EQ(objective.examples(Split::kTraining), 3);
  EXPECT_EQ(objective.rows(Split::kTraining).size(), 3 + 3 + 4);
  EXPECT_EQ(objective.row_range(Split::kTraining, 2).begin, 6);
  const std::string named = write("named.csv", "a,b,c\nloom,the loom,hello\nworld,the world,it\n");
  const Prepared other = prepared(pairs({{"train_data", {named}},
                                         {"eval_data", Json::array()},
                                         {"text_field", "a"},
                                         {"pair_field", "b"},
                                         {"negative_field", {"c"}}}));
  EXPECT_EQ(other.task->objective().rows(Split::kTraining).size(), 6);
}

TEST_F(Embed, SaysWhatIsWrong) {
  const Json nothing = Json::object();
  const auto refuse = [&](const char* name, const std::string& content, const Json& changes,
                          std::initializer_list<std::string_view> words, ErrorKind kind = ErrorKind::kFormat) {
    Json given = pairs(changes);
    given["train_data"] = {write(name, content)};
    test::expect_error(kind, words, [&] { prepared(given); });
  };
  refuse("a.csv", "x,y\na,b\n", nothing, {"a.csv'", "first text", "text_field", "'x', 'y'"}, ErrorKind::kArgument);
  refuse("a.csv", "anchor,y\na,b\n", nothing, {"second text", "pair_field"}, ErrorKind::kArgument);
  refuse("a.csv", "anchor,positive\nloom, \n", nothing, {"a.csv' line 2", "'positive' is empty"});
  refuse("a.csv", "Anchor,Positive\nloom, \n", nothing, {"a.csv' line 2", "'Positive' is empty"});
  refuse("a.csv", "anchor,positive\nloom,thread\n", nothing, {"at least 2", "has 1"}, ErrorKind::kArgument);
  refuse("a.tsv", kPairs, {{"batch_size", 1}}, {"at least 2", "batch_size is 1"}, ErrorKind::kArgument);
  refuse("a.tsv", kPairs, {{"matryoshka_dims", {32, 8}}}, {"matryoshka_dims", "16", "32"}, ErrorKind::kArgument);
  refuse("a.csv", kScored, nothing, {"line 2", "score 4.5", "-1 to 1", "score_max"});
  refuse("a.csv", kScored, {{"loss", "in-batch"}}, {"line 2", "score", "in-batch"});
  refuse("a.tsv", kPairs, {{"loss", "cosine"}}, {"line 2", "without a score", "label_field"});
  refuse("a.csv", "anchor,positive,negative,score\na,b,c,1\n", nothing, {"line 2", "'score'", "negatives"});
  refuse("a.csv", "sentence1,sentence2,score\na,b,high\n", nothing, {"line 2", "'score' must be a number", "'high'"});
  const auto check = [&](const Json& changes, std::initializer_list<std::string_view> words) {
    test::expect_error(ErrorKind::kArgument, words, [&] { make_settings(pairs(changes), "test"); });
  };
  check({{"loss", "softmax"}}, {"loss softmax", "embed"});
  check({{"matryoshka_dims", {4, 8}}}, {"matryoshka_dims", "fall"});
  check({{"matryoshka_dims", {8}}, {"matryoshka_weights", {"1", "2"}}}, {"weight for each of the 1", "found 2"});
  check({{"distill", (folder_ / "bert").string()}}, {"distill", "embed"});
}

}  // namespace
}  // namespace weft::fine_tuning
