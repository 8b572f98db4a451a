// SPDX-License-Identifier: Apache-2.0
// Whole runs over pairs: resumed to the bit, held to their settings, with the loss that the equations give.
#include "weft/fine_tuning/pairs/pair_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <c10/core/GradMode.h>

#include "data/text_files.h"
#include "fine_tuning/pair_files.h"
#include "support/expect_error.h"
#include "training/fake_task.h"
#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/checkpoint/open_model.h"
#include "weft/core/files.h"
#include "weft/fine_tuning/pairs/alignment_loss.h"
#include "weft/fine_tuning/pairs/pair_measurement.h"
#include "weft/fine_tuning/pairs/pair_scoring.h"
#include "weft/fine_tuning/pairs/pair_texts.h"
#include "weft/fine_tuning/pairs/pair_writing.h"
#include "weft/layers/attention/cross_attention.h"
#include "weft/metrics/translation/alignment_error.h"
#include "weft/tasks/sequences/sequence_model.h"
#include "weft/training/update.h"

namespace weft::fine_tuning {
namespace {

namespace fs = std::filesystem;
using formats::Json;

class PairRun : public test::PairFiles {};

TEST_F(PairRun, AResumedRunEqualsOneNeverStopped) {
  Json given = fields();
  given["bpe_dropout"] = 0.3;
  given["alignments"] = alignments();
  given["gradient_accumulation"] = 2;
  const training::TrainResult whole = train(given, "whole");
  train(given);
  leave_at_checkpoint("run", 4);
  const training::TrainResult resumed = resume_pairs(folder_ / "run", prepare_pairs_resumption(folder_ / "run", {}));
  EXPECT_EQ(test::logged_losses(folder_ / "run"), test::logged_losses(folder_ / "whole"));
  EXPECT_EQ(read_file(folder_ / "run/model.safetensors"), read_file(folder_ / "whole/model.safetensors"));
  EXPECT_EQ(resumed.evaluation, whole.evaluation);
  EXPECT_EQ(resumed.tokens, whole.tokens);
}

// The targets are the same texts from their last token to the first, and what is written is turned round again.
TEST_F(PairRun, WritesFromRightToLeft) {
  Json given = fields();
  const PreparedPairs forwards = prepare_pairs(given, {}, {}, "test");
  given["right_to_left"] = true;
  const PreparedPairs backwards = prepare_pairs(given, {}, {}, "test");
  for (std::int64_t pair = 0; pair < 40; ++pair) {
    PairRow row = forwards.task->data().training.row(pair);
    const PairRow turned = backwards.task->data().training.row(pair);
    EXPECT_EQ(row.source, turned.source);
    std::reverse(row.target.begin(), row.target.end() - 1);  // but for the end
    EXPECT_EQ(row.target, turned.target);
  }
  train(given);
  const checkpoint::OpenedModel opened = checkpoint::open_model(folder_ / "run");
  EXPECT_TRUE(checkpoint::load_encoder_decoder_config(opened).right_to_left);
  tasks::SequenceModelOptions options;
  options.generation.decoder_start_token_id = 0;
  const tasks::SequenceModel texts = tasks::open_sequence_model(opened, options);
  const std::vector<std::int64_t> ids = forwards.task->data().training.row(0).target;
  EXPECT_EQ(tasks::written_text(texts, {ids.rbegin() + 1, ids.rend()}),
            texts.tokenizer->decode({ids.begin(), ids.end() - 1}));
  options.generation.stop_strings = {"tree"};
  test::expect_error(ErrorKind::kArgument, {"right to left", "stop_strings"},
                     [&] { tasks::open_sequence_model(opened, options); });
  given["bpe_dropout"] = 0.1;
  test::expect_error(ErrorKind::kArgument, {"bpe_dropout", "right to left"},
                     [&] { prepare_pairs(given, {}, {}, "test"); });
  given.erase("bpe_dropout");
  given["alignments"] = alignments();
  test::expect_error(ErrorKind::kArgument, {"right to left", "alignments"},
                     [&] { prepare_pairs(given, {}, {}, "test"); });
}

TEST_F(PairRun, AResumedRunIsHeldToItsSettings) {
  train(fields());
  const auto refuse = [&](const Json& given, std::initializer_list<std::string_view> words) {
    test::expect_error(ErrorKind::kArgument, words, [&] { prepare_pairs_resumption(folder_ / "run", given); });
  };
  refuse({{"learning_rate", 1.0}}, {"training.json", "learning_rate"});
  refuse({{"hidden_size", 32}}, {"config.json", "d_model", "16"});
  refuse({{"batch_tokens", 65}}, {"training.json", "batch_tokens"});
  refuse({{"masking", "words"}}, {"masking"});
  prepare_pairs_resumption(folder_ / "run", {{"hidden_size", 16}, {"log_every", 2}});
  test::write_text(folder_ / "target.txt", read_file(folder_ / "source.txt"));
  const PreparedPairs other = prepare_pairs_resumption(folder_ / "run", {});
  test::expect_error(ErrorKind::kArgument, {"train_data", "tokens"}, [&] { resume_pairs(folder_ / "run", other); });
}

TEST_F(PairRun, LearnsAndIsMeasured) {
  Json given = fields();
  given["steps"] = 150;
  given["checkpoint_every"] = 150;
  given["eval_every"] = 150;
  given["dropout"] = 0.0;
  given["label_smoothing"] = 0.0;
  const PreparedPairs prepared = prepare_pairs(given, {}, {}, "test");
  EXPECT_EQ(prepared.settings.pairs.preset, "transformer-small");
  EXPECT_EQ(prepared.training.examples, 40);
  const training::TrainResult result = train_pairs(folder_ / "run", prepared);
  EXPECT_LT(result.evaluation.at("loss").get<double>(), 0.7 * test::logged_losses(folder_ / "run").front());
  // The held-out loss again, pair by pair and with LibTorch's own operator.
  models::EncoderDecoder model = checkpoint::load_encoder_decoder(folder_ / "run");
  const at::NoGradGuard no_grad;
  double nats = 0.0;
  std::int64_t labels = 0;
  const PairRows& rows = prepared.task->data().held_out;
  for (std::int64_t pair = 0; pair < rows.size(); ++pair) {
    const PairRow row = rows.row(pair);
    const PairBatch batch = pair_batch(std::vector<PairRow>{row}, model->config());
    nats += at::cross_entropy_loss(model->logits(batch.pair)[0], batch.labels[0]).item<double>() *
            static_cast<double>(row.target.size());
    labels += static_cast<std::int64_t>(row.target.size());
  }
  double forced = 0.0;
  for (const double one : target_log_probabilities(model, rows, rows.size(), {.batch_tokens = 64})) {
    EXPECT_LT(one, 0.0);
    forced += one;
  }
  EXPECT_NEAR(forced, -nats, 1e-3);
  // Sums of float32 in another order, and batches with padding.
  EXPECT_NEAR(result.evaluation.at("loss").get<double>(), nats / static_cast<double>(labels), 1e-5);
}

// How far head 1 of layer 0 is from the links, in nats over all pairs.
double alignment_nats(const fs::path& run, const PairRows& rows) {
  models::EncoderDecoder model = checkpoint::load_encoder_decoder(run);
  const at::NoGradGuard no_grad;
  double nats = 0;
  for (std::int64_t pair = 0; pair < rows.size(); ++pair) {
    const std::vector<PairRow> row = {rows.row(pair)};
    PairBatch batch = pair_batch(row, model->config());
    batch.pair.weights = std::make_shared<layers::CrossWeights>();
    model->hidden_states(batch.pair);
    nats += alignment_loss(batch.pair.weights->weights, 1, row, 1).item<double>();
  }
  return nats;
}

TEST_F(PairRun, AlignmentsTeachSomething) {
  Json given = fields();
  given["alignment_head"] = 1;
  const auto prepare = [&] { prepare_pairs(given, {}, {}, "test"); };
  test::write_text(folder_ / "none.txt", std::string(40, '\n'));
  given["alignments"] = {(folder_ / "none.txt").string()};
  test::expect_error(ErrorKind::kFormat, {"no token learns"}, prepare);
}

TEST_F(PairRun, AHeadLearnsTheAlignments) {
  Json given = fields();
  given["steps"] = 200;
  given["checkpoint_every"] = 200;
  given["eval_every"] = 0;
  given["dropout"] = 0.0;
  given["decoder_layers"] = 2;
  given["generated_examples"] = 0;
  train(given, "plain");
  given["alignments"] = alignments();
  given["alignment_head"] = 1;
  given["alignment_weight"] = 3.0;
  const PreparedPairs prepared = prepare_pairs(given, {}, {}, "test");
  train_pairs(folder_ / "taught", prepared);
  const models::EncoderDecoderConfig config = checkpoint::load_encoder_decoder(folder_ / "taught")->config();
  EXPECT_EQ(config.alignment_layer, 0);
  EXPECT_EQ(config.alignment_head, 1);
  EXPECT_EQ(checkpoint::load_encoder_decoder(folder_ / "plain")->config().alignment_layer, -1);
  const PairRows& rows = prepared.task->data().training;
  EXPECT_LT(alignment_nats(folder_ / "taught", rows), alignment_nats(folder_ / "plain", rows));
  std::string others;
  for (int line = 0; line < 40; ++line) {
    others += "0-0\n";
  }
  test::write_text(folder_ / "links.txt", others);
  const PreparedPairs other = prepare_pairs_resumption(folder_ / "taught", {});
  test::expect_error(ErrorKind::kArgument, {"train_data"}, [&] { resume_pairs(folder_ / "taught", other); });
}

TEST(AlignmentLossTest, IsTheCrossEntropyOfTheLinkedWeights) {
  // Row 0: target token 0 comes from tokens 0 and 2, token 1 from 1, token 2 from none. Row 1: token 1 comes from 0.
  const std::vector<PairRow> rows = {{{5, 6, 7}, {8, 9, 2}, {{0, 0}, {0, 2}, {1, 1}}}, {{5}, {8, 2}, {{1, 0}}}};
  at::Tensor scores = at::arange(2 * 2 * 3 * 3, at::kDouble).view({2, 2, 3, 3}).sin().requires_grad_();
  const at::Tensor weights = scores.softmax(-1);
  const at::Tensor loss = alignment_loss(weights, 1, rows, 5);
  const auto nats = [&](std::int64_t row, std::int64_t target, std::int64_t source) {
    return -std::log(weights[row][1][target][source].item<double>());
  };
  EXPECT_NEAR(loss.item<double>(), ((nats(0, 0, 0) + nats(0, 0, 2)) / 2 + nats(0, 1, 1) + nats(1, 1, 0)) / 5, 1e-12);
  loss.backward();
  // Of a softmax's cross-entropy: what is there less what should be, for rows with links.
  EXPECT_NEAR(scores.grad()[0][1][0][1].item<double>(), weights[0][1][0][1].item<double>() / 5, 1e-12);
  EXPECT_NEAR(scores.grad()[0][1][0][2].item<double>(), (weights[0][1][0][2].item<double>() - 0.5) / 5, 1e-12);
  EXPECT_EQ(scores.grad()[0][1][2].abs().max().item<double>(), 0.0);
  EXPECT_EQ(scores.grad().select(1, 0).abs().max().item<double>(), 0.0);
  test::expect_error(ErrorKind::kArgument, {"from 3 to 0"},
                     [&] { alignment_loss(weights, 0, std::vector<PairRow>{{{5}, {8}, {{0, 3}}}}, 1); });
  const at::Tensor nothing = alignment_loss(weights.detach(), 0, std::vector<PairRow>{{{5}, {8}}}, 1);
  EXPECT_EQ(nothing.item<double>(), 0.0);
}

TEST(AlignmentLossTest, LinksFollowTheirTokens) {
  text::WordIds source;
  source.word = {-1, 0, 0, 1, -1};
  text::WordIds target;
  target.word = {0, 1, 1, -1};
  const std::vector<TokenLink> links = token_links({{0, 1}, {1, 0}}, source, target, 10, 10);
  EXPECT_EQ(links, (std::vector<TokenLink>{{0, 3}, {1, 1}, {1, 2}, {2, 1}, {2, 2}}));
  EXPECT_EQ(token_links({{0, 1}, {1, 0}}, source, target, 3, 2), (std::vector<TokenLink>{{1, 1}, {1, 2}}));
  // Target token 0 becomes two, and tokens 1 and 2 become one.
  const text::DrawnTokens drawn{{7, 8, 9, 2}, {0, 2, 2, 3}, {1, 2, 2, 3}};
  EXPECT_EQ(drawn_links(links, nullptr, &drawn), (std::vector<TokenLink>{{0, 3}, {1, 3}, {2, 1}, {2, 2}}));
  EXPECT_EQ(drawn_links(links, nullptr, nullptr), links);
}

TEST_F(PairRun, WhatTheModelWritesIsMeasured) {
  Json given = fields();
  given["steps"] = 1;
  given["eval_every"] = 0;
  given["generated_examples"] = 7;
  const training::TrainResult greedy = train(given, "greedy");
  const double bleu = greedy.evaluation.at("bleu").get<double>();
  // Measured again, in the run's own type, with what was written.
  PairMeasurement measurement;
  measurement.pairs = prepare_pairs_resumption(folder_ / "greedy", {}).settings.pairs;
  std::vector<Json> lines;
  measurement.prediction = [&](const Json& line) { lines.push_back(line); };
  const MeasuredPairs measured = measure_pairs(checkpoint::open_model(folder_ / "greedy"), measurement);
  EXPECT_EQ(measured.dtype, greedy.dtype);
  EXPECT_EQ(measured.figures.at("bleu"), greedy.evaluation.at("bleu"));
  // Batches of other pairs, and sums of float32 in another order.
  EXPECT_NEAR(measured.figures.at("loss").get<double>(), greedy.evaluation.at("loss").get<double>(), 1e-6);
  EXPECT_EQ(measured.written, 7);
  ASSERT_EQ(lines.size(), 7U);
  EXPECT_NE(lines[6]["where"].get<std::string>().find("line 7"), std::string::npos) << lines[6];
  for (const char* name : {"source", "text", "truth"}) {
    EXPECT_TRUE(lines[6][name].is_string()) << name;
  }
  const std::vector<std::string> same = {"a tree", "a tree"};
  const std::vector<std::string> empty = {"", ""};
  const std::vector<std::string> truth = {"a tree", "the birds"};
  EXPECT_NE(doubt_of_texts(same, truth).find("the same text, 'a tree', for each of the 2"), std::string::npos);
  EXPECT_NE(doubt_of_texts(empty, truth).find("writes nothing for each of the 2"), std::string::npos);
  EXPECT_EQ(doubt_of_texts(truth, truth), "");
  EXPECT_EQ(doubt_of_texts(same, same), "");
  EXPECT_GE(bleu, 0.0);
  EXPECT_LE(bleu, 100.0);
  given["task"] = "summarize";
  given["eval_beams"] = 3;
  given["max_target_positions"] = 24;
  given["best_metric"] = "rougeL";
  EXPECT_EQ(train(given, "beams").best.at("metric"), "rougeL");
  given["generated_examples"] = 0;
  given["best_metric"] = "loss";
  EXPECT_FALSE(train(given, "none").evaluation.contains("rougeL"));
  // The references themselves have the best figures.
  const std::vector<std::string> texts = {"a small tree stands there", "the birds are here today"};
  EXPECT_NEAR(writing_figures("translate", texts, texts).at("bleu").get<double>(), 100.0, 1e-9);
  EXPECT_NEAR(writing_figures("summarize", texts, texts).at("rouge2").get<double>(), 1.0, 1e-12);
}

TEST_F(PairRun, EpochsBecomeSteps) {
  Json given = fields();
  given.erase("steps");
  given["epochs"] = 3;
  const PreparedPairs prepared = prepare_pairs(given, {}, {}, "test");
  EXPECT_GE(prepared.settings.trainer.steps, 2 * prepared.epoch_steps);
  std::int64_t tokens = 0;
  for (std::int64_t step = 0; step < prepared.epoch_steps; ++step) {
    tokens += prepared.task->tokens(step, 0);
  }
  EXPECT_EQ(tokens, prepared.task->data().training.tokens());
}

TEST_F(PairRun, WhatCannotBeLearnedIsRefused) {
  const auto refuse = [&](const char* field, const Json& value, std::initializer_list<std::string_view> words) {
    Json given = fields();
    given[field] = value;
    test::expect_error(ErrorKind::kArgument, words, [&] { prepare_pairs(given, {}, {}, "test"); });
  };
  refuse("train_target", Json::array(), {"train_source", "train_target"});
  refuse("train_data", {"x.tsv"}, {"train_data", "not both"});
  refuse("minutes", 1.0, {"one of epochs, steps and minutes"});
  refuse("max_source_length", 4, {"source.txt", "longer than 4"});
  refuse("batch_tokens", 4, {"source.txt", "does not fit in a batch of 4 tokens"});
  refuse("preset", "bert-glue", {"bert-glue", "classify"});
  refuse("num_attention_heads", 3, {"d_model 16", "3"});
}

TEST_F(PairRun, LongTextsAreCutAndCounted) {
  Json given = fields();
  given["max_source_length"] = 4;
  given["truncate"] = true;
  const PreparedPairs prepared = prepare_pairs(given, {}, {}, "test");
  EXPECT_GT(prepared.training.cut, 0);
  const PairRows& rows = prepared.task->data().training;
  for (std::int64_t pair = 0; pair < rows.size(); ++pair) {
    EXPECT_LE(rows.source_length(pair), 4);
    EXPECT_EQ(rows.row(pair).source.back(), prepared.task->model()->config().eos_token_id);
  }
}

// A batch of several parts: the loss is the mean over all target tokens, however they are shared out.
TEST_F(PairRun, PartsWeighAsManyTargetsAsTheyHave) {
  Json given = fields();
  given["dropout"] = 0.0;
  given["gradient_accumulation"] = 3;
  for (const double bpe_dropout : {0.0, 0.4}) {
    given["bpe_dropout"] = bpe_dropout;
    const PreparedPairs prepared = prepare_pairs(given, {}, {}, "test");
    PairTask& task = *prepared.task;
    double sum = 0.0;
    double targets = 0.0;
    for (std::int64_t part = 0; part < 3; ++part) {
      targets += task.weight(0, part);
      sum += task.weight(0, part) * task.loss(0, part).item<double>();
    }
    EXPECT_NE(task.weight(0, 0), task.weight(0, 1));
    training::Update update(task, prepared.settings.trainer);
    EXPECT_NEAR(update.run(0, [] { return 0.0; })->loss, sum / targets, 1e-6);
  }
}

TEST_F(PairRun, WhatCanBeRefusedAtOnceIsRefusedFirst) {
  const auto refuse = [&](const Json& changes, std::initializer_list<std::string_view> words) {
    Json given = fields();
    given["train_source"] = {(folder_ / "endless.txt").string()};  // nobody reads it
    given.update(changes);
    try {
      prepare_pairs(given, {}, {}, "test");
      ADD_FAILURE() << changes;
    } catch (const Error& error) {
      for (const std::string_view word : words) {
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
      }
    }
  };
  test::write_text(folder_ / "endless.txt", "\xff\n");
  test::write_text(folder_ / "short.txt", "one\n");
  refuse({{"eval_target", {(folder_ / "missing.txt").string()}}}, {"missing.txt"});
  refuse({{"eval_target", {(folder_ / "short.txt").string()}}}, {"short.txt", "ends before line 2"});
  refuse({{"unigram_alpha", 0.2}}, {"unigram_alpha", "bpe"});
  refuse({{"warmup_steps", 13}}, {"warmup_steps"});
  refuse({{"num_attention_heads", 3}}, {"d_model 16", "3"});
}

TEST_F(PairRun, TextIsText) {
  test::write_text(folder_ / "source.txt", "a </s> tree\n<s>\nhouse <pad>\n");
  test::write_text(folder_ / "target.txt", "<mask> tree\nx</s></s>\n<unk>\n");
  const PreparedPairs prepared = prepare_pairs(fields(), {}, {}, "test");
  const PairRows& rows = prepared.task->data().training;
  ASSERT_EQ(rows.size(), 3);
  for (std::int64_t pair = 0; pair < rows.size(); ++pair) {
    for (std::vector<std::int64_t> ids : {rows.row(pair).source, rows.row(pair).target}) {
      EXPECT_EQ(ids.back(), 2);
      ids.pop_back();
      EXPECT_GT(ids.size(), 1U);
      EXPECT_GT(*std::min_element(ids.begin(), ids.end()), 4) << "pair " << pair;
    }
  }
}

TEST_F(PairRun, DrawnTextsKeepTheirLimit) {
  Json given = fields();
  given["bpe_dropout"] = 0.9;
  given["vocabulary_size"] = 300;
  given["max_target_length"] = 20;
  given["truncate"] = true;
  const PreparedPairs prepared = prepare_pairs(given, {}, {}, "test");
  for (std::int64_t step = 0; step < 12; ++step) {
    for (const PairRow& row : prepared.task->shown(step, 0)) {
      EXPECT_LE(row.target.size(), 20U);
    }
  }
}

TEST_F(PairRun, FilesAreReadOnceOrAsOftenAsMemoryAsks) {
  PairConfig config;
  config.train_source = {(folder_ / "source.txt").string()};
  config.train_target = {(folder_ / "target.txt").string()};
  config.alignments = {alignments().front().get<std::string>()};
  std::vector<std::string> found;
  for (const std::size_t most : {std::size_t{1} << 20, std::size_t{200}}) {
    PairTexts texts(config, false);
    EXPECT_EQ(texts.read_ahead(most), 40);
    for (int walk = 0; walk < 2; ++walk) {
      std::string all;
      for (TextPair pair; texts.next(pair);) {
        all += concat(pair.where, pair.source, pair.target, metrics::pharaoh_text(pair.links.value()), "\n");
      }
      found.push_back(all);
    }
    EXPECT_EQ(texts.report().records, 40);
  }
  for (const std::string& walk : found) {
    EXPECT_EQ(walk, found.front());
  }
  EXPECT_FALSE(PairTexts(config, true).given());
}

TEST(PairBatchTest, ShiftsTargetsAndMasksPadding) {
  models::EncoderDecoderConfig config;
  config.pad_token_id = 1;
  config.decoder_start_token_id = 0;
  const std::vector<PairRow> rows = {{{5, 6, 2}, {7, 2}}, {{8, 2}, {9, 10, 2}}};
  const PairBatch batch = pair_batch(rows, config);
  const auto values = [](const at::Tensor& tensor) {
    const at::Tensor flat = tensor.contiguous();
    return std::vector<std::int64_t>(flat.data_ptr<std::int64_t>(), flat.data_ptr<std::int64_t>() + flat.numel());
  };
  EXPECT_EQ(values(batch.pair.input_ids), (std::vector<std::int64_t>{5, 6, 2, 8, 2, 1}));
  EXPECT_EQ(values(batch.pair.attention_mask), (std::vector<std::int64_t>{1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(values(batch.pair.decoder_input_ids), (std::vector<std::int64_t>{0, 7, 1, 0, 9, 10}));
  EXPECT_EQ(values(batch.labels), (std::vector<std::int64_t>{7, 2, -100, 9, 10, 2}));
  EXPECT_FALSE(pair_batch(std::vector<PairRow>{rows[0]}, config).pair.attention_mask.defined());
}

}  // namespace
}  // namespace weft::fine_tuning
