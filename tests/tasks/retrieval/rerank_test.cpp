// SPDX-License-Identifier: Apache-2.0
// Cross-encoders: scores are the activation of the logit that the model gives the pair by itself, windows count by
// their best one, rankings are sorted, and the directory says what the activation and the prompt are.
#include "weft/tasks/rerank.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <ATen/ops/tensor.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "tasks/retrieval/small_directory.h"
#include "weft/checkpoint/sentence/torch_activation.h"
#include "weft/tasks/text_too_long.h"

namespace weft::tasks {
namespace {

using formats::Json;
using models::Head;
using test::expect_error;

constexpr const char* kModules =
    R"([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"}])";

double sigmoid_of(double logit) { return 1 / (1 + std::exp(-logit)); }

class Rerank : public testing::Test {
 protected:
  Rerank() { test::write_small_encoder(path(), Head::kSequenceClassification, 1, 24); }

  std::filesystem::path path() const { return folder_ / "cross"; }
  TaskModel open(std::int64_t max_length = 0) const {
    return open_task_model(path(), {.head = Head::kSequenceClassification, .max_length = max_length});
  }
  checkpoint::CrossEncoderSettings settings() const {
    return checkpoint::read_cross_encoder(checkpoint::open_model(path()));
  }
  void configure(const Json& members) const { test::set_members(path() / "config.json", members); }

  test::TemporaryDirectory folder_;
};

// The logit of one row of ids: [CLS] query [SEP] text [SEP], types 0 and 1.
double logit_of(TaskModel& task, const text::Encoding& pair) {
  const c10::InferenceMode no_graph;
  models::EncoderInput input;
  input.input_ids = at::tensor(pair.ids, at::kLong).unsqueeze(0);
  input.token_type_ids = at::tensor(pair.type_ids, at::kLong).unsqueeze(0);
  return task.model->forward(input).logits.item<double>();
}

double logit_of(TaskModel& task, const std::string& query, const std::string& text) {
  return logit_of(task, task.tokenizer->encode_windows(query, text).front());
}

std::vector<Document> pairs_with(const std::string& query, const std::vector<std::string>& texts) {
  std::vector<Document> pairs;
  for (const std::string& text : texts) {
    pairs.push_back({query, text, "text " + std::to_string(pairs.size() + 1)});
  }
  return pairs;
}

const std::vector<std::string> kTexts = {"the loom said hello", "we", "", "she said it, and we see the thread. well!"};

TEST_F(Rerank, ScoresAreTheActivationOfEachPairByItself) {
  TaskModel task = open();
  const std::vector<Document> pairs = pairs_with("we see the loom", kTexts);
  const std::vector<TaskResult> found = score_pairs(task, pairs, {.settings = settings()});
  const std::vector<TaskResult> raw = score_pairs(task, pairs, {.settings = settings(), .raw_scores = true});
  const RerankOptions one_by_one{.settings = settings(), .run = {.batch = {.rows = 1}}};
  const std::vector<TaskResult> apart = score_pairs(task, pairs, one_by_one);
  ASSERT_EQ(found.size(), kTexts.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE(kTexts[i]);
    const double logit = logit_of(task, "we see the loom", kTexts[i]);
    EXPECT_NEAR(raw[i].result.get<double>(), logit, 1e-5);
    EXPECT_NEAR(found[i].result.get<double>(), sigmoid_of(logit), 1e-6);
    EXPECT_NEAR(apart[i].result.get<double>(), sigmoid_of(logit), 1e-6);
    EXPECT_EQ(found[i].metadata["activation"], "Sigmoid");
    EXPECT_EQ(raw[i].metadata["activation"], "none");
    EXPECT_EQ(found[i].metadata["windows"], 1);
  }
}

TEST_F(Rerank, RankingsAreSortedAndSayWhatTheTextsHad) {
  TaskModel task = open();
  std::vector<Document> texts;
  for (const std::string& text : kTexts) {
    texts.push_back({text});
  }
  const TaskResult found = rerank(task, "we see", texts, {.settings = settings(), .top_k = 3, .return_text = true});
  std::vector<double> scores;
  for (const std::string& text : kTexts) {
    scores.push_back(sigmoid_of(logit_of(task, "we see", text)));
  }
  ASSERT_EQ(found.result.size(), 3U);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const Json& entry = found.result[rank];
    const auto index = entry["index"].get<std::size_t>();
    EXPECT_NEAR(entry["score"].get<double>(), scores[index], 1e-6);
    EXPECT_EQ(entry["text"], kTexts[index]);
    EXPECT_EQ(std::ranges::count_if(scores, [&](double score) { return score > scores[index]; }),
              static_cast<std::ptrdiff_t>(rank));
  }
  EXPECT_EQ(found.metadata["tokens"], Json({9, 6, 5, 17}));
  EXPECT_EQ(found.metadata["truncated"], Json({0, 0, 0, 0}));
  expect_error(ErrorKind::kArgument, {"at least one text"}, [&] { rerank(task, "we", {}, {.settings = settings()}); });
}

TEST(Ranking, TiesKeepTheOrderOfTheTextsAndTextsWithoutAScoreAreNotListed) {
  const std::vector<TaskResult> scores = {
      {0.25, {{"tokens", 4}}}, {nullptr, nullptr}, {0.5, {{"tokens", 6}}}, {0.25, {{"tokens", 5}}}};
  const std::vector<Document> texts = {{"a"}, {"b"}, {"c"}, {"d"}};
  const TaskResult found = ranking(scores, texts, {});
  EXPECT_EQ(found.result,
            Json({{{"index", 2}, {"score", 0.5}}, {{"index", 0}, {"score", 0.25}}, {{"index", 3}, {"score", 0.25}}}));
  EXPECT_EQ(found.metadata["tokens"], Json({4, nullptr, 6, 5}));
  EXPECT_TRUE(ranking({}, {}, {}).result.empty());
  expect_error(ErrorKind::kArgument, {"4 for 1"}, [&] { ranking(scores, std::span(texts).first(1), {}); });
}

TEST_F(Rerank, LongTextsAreAnErrorOrCutOrReadInWindows) {
  TaskModel task = open(12);
  const std::string text = "the loom said hello the world well she said it and we see the thread";
  const std::vector<Document> pair = {{"we see", text, "line 7"}};
  EXPECT_THROW(score_pairs(task, pair, {.settings = settings()}), TextTooLong);
  expect_error(ErrorKind::kArgument, {"line 7", "20 tokens", "at most 12"},
               [&] { score_pairs(task, pair, {.settings = settings()}); });

  const TaskResult cut = score_pairs(task, pair, {.settings = settings(), .run = {.truncate = true}}).front();
  EXPECT_EQ(cut.metadata["truncated"], 8);
  EXPECT_NEAR(cut.result.get<double>(), sigmoid_of(logit_of(task, "we see", "the loom said hello the world well")),
              1e-6);

  const RerankOptions options{.settings = settings(), .windows = true, .run = {.stride = 2}};
  const TaskResult found = score_pairs(task, pair, options).front();
  // 7 tokens of text a window beside 2 of the query and 3 special ones; the next one begins 5 further on.
  const std::vector<std::string> windows = {"the loom said hello the world well", "world well she said it and we",
                                            "and we see the thread"};
  std::vector<double> scores;
  for (const std::string& window : windows) {
    scores.push_back(sigmoid_of(logit_of(task, "we see", window)));
  }
  const auto best = static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin());
  EXPECT_EQ(found.metadata["windows"], 3);
  EXPECT_EQ(found.metadata["truncated"], 0);
  EXPECT_NEAR(found.result.get<double>(), scores[best], 1e-6);
  const auto start = static_cast<std::int64_t>(text.find(windows[best]));
  EXPECT_EQ(found.metadata["best_window"]["start"], start);
  EXPECT_EQ(found.metadata["best_window"]["byte_end"], start + static_cast<std::int64_t>(windows[best].size()));
  expect_error(ErrorKind::kArgument, {"line 7"}, [&] {
    const std::vector<Document> long_query = {{text, "we see", "line 7"}};
    score_pairs(task, long_query, options);
  });
}

TEST_F(Rerank, TheDirectoryNamesTheActivation) {
  EXPECT_EQ(settings().activation, "torch.nn.modules.activation.Sigmoid");
  EXPECT_TRUE(settings().where.empty());
  configure({{"sbert_ce_default_activation_function", "torch.nn.modules.linear.Identity"}});
  EXPECT_EQ(settings().activation, "torch.nn.modules.linear.Identity");
  configure({{"sentence_transformers", {{"activation_fn", "torch.nn.modules.activation.Tanh"}, {"version", "5.0.0"}}}});
  EXPECT_EQ(settings().activation, "torch.nn.modules.activation.Tanh");
  TaskModel task = open();
  const std::vector<Document> pairs = pairs_with("we see", {"the loom"});
  const double logit = logit_of(task, "we see", "the loom");
  EXPECT_NEAR(score_pairs(task, pairs, {.settings = settings()}).front().result.get<double>(), std::tanh(logit), 1e-6);

  // The settings of the whole directory come first, where it is one of the library's cross-encoders.
  const Json library = {{"model_type", "CrossEncoder"},
                        {"activation_fn", "torch.nn.modules.linear.Identity"},
                        {"prompts", {{"query", "she said : "}, {"document", ""}}},
                        {"default_prompt_name", "query"}};
  test::set_members(path() / "config_sentence_transformers.json", library);
  EXPECT_EQ(settings().activation, "torch.nn.modules.activation.Tanh") << "without a modules.json";
  write_file_atomically(path() / "modules.json", kModules);
  EXPECT_EQ(settings().activation, "torch.nn.modules.linear.Identity");
  EXPECT_EQ(settings().prompt, "she said : ");
  EXPECT_NEAR(score_pairs(task, pairs, {.settings = settings()}).front().result.get<double>(),
              logit_of(task, "she said : we see", "the loom"), 1e-5);
  test::set_members(path() / "config_sentence_transformers.json", {{"default_prompt_name", "passage"}});
  expect_error(ErrorKind::kFormat, {"config_sentence_transformers.json", "default_prompt_name", "passage"},
               [&] { settings(); });
}

TEST_F(Rerank, AnActivationThatIsNoneIsAnErrorUnlessScoresAreRaw) {
  TaskModel task = open();
  const std::vector<Document> pairs = pairs_with("we see", {"the loom"});
  for (const char* path :
       {"torch.nn.modules.activation.Softmax", "my_code.Sigmoid", "torch.nn.modules.linear.Linear", ""}) {
    configure({{"sentence_transformers", {{"activation_fn", path}}}});
    expect_error(ErrorKind::kArgument, {"config.json: sentence_transformers: activation_fn", path},
                 [&] { score_pairs(task, pairs, {.settings = settings()}); });
    EXPECT_NO_THROW(score_pairs(task, pairs, {.settings = settings(), .raw_scores = true}));
  }
  configure({{"sentence_transformers", {{"activation_fn", 3}}}});
  expect_error(ErrorKind::kFormat, {"config.json: sentence_transformers: activation_fn"}, [&] { settings(); });
  configure({{"sentence_transformers", "Sigmoid"}});
  expect_error(ErrorKind::kFormat, {"sentence_transformers: expected an object"}, [&] { settings(); });
}

// Directories that CrossEncoder saved, with its scores: tests/fixtures/make/cross_encoders.py.
TEST(LibraryCrossEncoders, GiveTheScoresOfTheLibrary) {
  const std::filesystem::path folder = std::filesystem::path(WEFT_TEST_DATA_DIR) / "rerank";
  const Json cases = formats::read_json(folder / "scores.json");
  const auto query = cases["query"].get<std::string>();
  const auto texts = cases["texts"].get<std::vector<std::string>>();
  for (const char* name : {"saved", "older"}) {
    SCOPED_TRACE(name);
    const checkpoint::OpenedModel opened = checkpoint::open_model(folder / name);
    EXPECT_NO_THROW(require_cross_encoder(opened));
    TaskModel task = open_task_model(opened, {.head = Head::kSequenceClassification});
    const RerankOptions options{.settings = checkpoint::read_cross_encoder(opened), .run = {.truncate = true}};
    const std::vector<TaskResult> found = score_pairs(task, pairs_with(query, texts), options);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      EXPECT_NEAR(found[i].result.get<double>(), cases[name][i].get<double>(), 1e-5) << texts[i];
    }
  }
}

TEST(ScoreActivation, IsThatOfTorchAndNeverFalls) {
  const auto at = [](const std::string& name, double x) {
    return checkpoint::score_activation("torch.nn.modules.activation." + name, "here").of_score(x);
  };
  for (const double x : {-800.0, -3.0, -0.25, 0.0, 0.25, 3.0, 800.0}) {
    EXPECT_EQ(at("Identity", x), x);
    EXPECT_EQ(at("ReLU", x), x > 0 ? x : 0);
    EXPECT_EQ(at("LeakyReLU", x), x > 0 ? x : 0.01 * x);
    EXPECT_DOUBLE_EQ(at("Softsign", x), x / (1 + std::abs(x)));
    EXPECT_DOUBLE_EQ(at("Tanh", x), std::tanh(x));
    if (std::abs(x) < 700) {
      EXPECT_NEAR(at("Sigmoid", x), sigmoid_of(x), 1e-15);
      EXPECT_NEAR(at("LogSigmoid", x), std::log(sigmoid_of(x)), 1e-12);
      EXPECT_NEAR(at("Softplus", x), std::log(1 + std::exp(x)), 1e-12);
      EXPECT_NEAR(at("ELU", x), x > 0 ? x : std::exp(x) - 1, 1e-15);
    }
    for (const char* name : {"Sigmoid", "LogSigmoid", "Softplus", "ELU", "Softsign", "Tanh"}) {
      EXPECT_TRUE(std::isfinite(at(name, x))) << name;
      EXPECT_LE(at(name, x), at(name, x + 1)) << name;
    }
  }
}

TEST(RequireCrossEncoder, SaysWhatADirectoryIsAndWhatOpensIt) {
  const test::TemporaryDirectory folder;
  const auto refused = [&](Head head, std::size_t labels, std::initializer_list<std::string_view> words) {
    const std::filesystem::path path = folder / std::to_string(folder.entries());
    test::write_small_encoder(path, head, labels);
    EXPECT_FALSE(checkpoint::is_cross_encoder(checkpoint::open_model(path)));
    expect_error(ErrorKind::kArgument, words, [&] { require_cross_encoder(checkpoint::open_model(path)); });
    return path;
  };
  const std::filesystem::path plain = refused(Head::kNone, 1, {"cross-encoder", "no head"});
  refused(Head::kTokenClassification, 1, {"cross-encoder", "token-classification"});
  refused(Head::kMaskedLanguageModel, 1, {"cross-encoder", "masked-lm"});
  refused(Head::kSequenceClassification, 3, {"cross-encoder", "3 labels"});
  write_file_atomically(plain / "modules.json", kModules);
  expect_error(ErrorKind::kArgument, {"cross-encoder", "an embedder"},
               [&] { require_cross_encoder(checkpoint::open_model(plain)); });
  test::write_small_encoder(folder / "cross", Head::kSequenceClassification);
  EXPECT_TRUE(checkpoint::is_cross_encoder(checkpoint::open_model(folder / "cross")));
  EXPECT_NO_THROW(require_cross_encoder(checkpoint::open_model(folder / "cross")));
}

}  // namespace
}  // namespace weft::tasks
