// SPDX-License-Identifier: Apache-2.0
// Subword regularisation of examples: targets go where their tokens went, and no text is lost.
#include "weft/fine_tuning/training_batch.h"

#include "fine_tuning/small_task.h"
#include "support/expect_error.h"

namespace weft::fine_tuning {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<std::int64_t>;

// Every token below 10 becomes two of its number.
class Doubling final : public text::SubwordSampler {
 public:
  text::DrawnTokens draw(std::span<const std::int64_t> ids, std::uint64_t /*seed*/) const override {
    text::DrawnTokens drawn;
    for (const std::int64_t id : ids) {
      if (id >= 10) {
        drawn.append(id);
      } else {
        text::append_word(drawn, Ids{2}, std::vector<text::SizedToken>{{id, 1}, {id, 1}});
      }
    }
    return drawn;
  }
};

TEST(TrainingBatch, WithoutDrawsTokensAreWhereTheyWere) {
  const TrainingBatch batch;
  EXPECT_EQ(batch.first(0, 7), 7);
  EXPECT_EQ(batch.last(3, 7), 7);
}

TEST(TrainingBatch, TokensAndTypesMoveTogether) {
  std::vector<TokenRow> rows = {{{10, 1, 11, 2, 10}, {0, 0, 0, 1, 1}, {2, 3}, {0, 1}},
                                {{10, 3, 3, 3, 10}, {0, 0, 0, 0, 0}}};
  TrainingBatch batch;
  batch.drawn = draw_anew(rows, Doubling(), {}, 7);
  EXPECT_EQ(rows[0].ids, (Ids{10, 1, 1, 11, 2, 2, 10}));
  EXPECT_EQ(rows[0].types, (Ids{0, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(rows[0].places, (text::PairPlaces{3, 4}));
  EXPECT_EQ(rows[0].globals, (Ids{0, 1, 2}));
  EXPECT_EQ(rows[1].places, text::PairPlaces{});
  EXPECT_EQ(batch.first(0, 3), 4);
  EXPECT_EQ(batch.last(0, 3), 5);
  // Eight tokens are too many: the row stays whole, and its tokens where they were.
  EXPECT_EQ(rows[1].ids, (Ids{10, 3, 3, 3, 10}));
  EXPECT_EQ(batch.first(1, 4), 4);
}

class SubwordTasks : public test::SmallTask {
 protected:
  // A run's first step over the fixtures' examples with a BPE tokeniser.
  Prepared prepared(const std::string& task, const std::string& data, double dropout) const {
    const fs::path directory = folder_ / "roberta";
    if (!fs::exists(directory)) {
      models::EncoderConfig config = models::base_config("roberta");
      config.vocab_size = 320;
      config.hidden_size = 16;
      config.num_hidden_layers = 1;
      config.num_attention_heads = 2;
      config.intermediate_size = 24;
      config.max_position_embeddings = 64;
      config.hidden_dropout_prob = 0.0;
      config.attention_probs_dropout_prob = 0.0;
      checkpoint::save_encoder(directory, models::make_encoder(config, models::Head::kNone, 3),
                               fs::path(WEFT_TEST_DATA_DIR) / "tokenizers/roberta");
    }
    formats::Json given = fields(task, "classify", data);
    given["model"] = directory.string();
    given["bpe_dropout"] = dropout;
    given["eval_data"] = formats::Json::array();
    return prepare(make_settings(given, "test"));
  }
};

TEST_F(SubwordTasks, EveryTaskShowsOtherTokensInEveryStep) {
  const std::vector<std::pair<std::string, std::string>> tasks = {{"classify", "numbers.csv"},
                                                                  {"multilabel", "several.jsonl"},
                                                                  {"tag", "words.conll"},
                                                                  {"answer", "answers.json"},
                                                                  {"choose", "choices.jsonl"}};
  for (const auto& [task, data] : tasks) {
    const Prepared plain = prepared(task, data, 0.0);
    const Prepared rare = prepared(task, data, 1e-12);  // so rare that no merge is left out
    const Prepared often = prepared(task, data, 0.5);
    // Every step shows all examples, in an order of its own.
    EXPECT_EQ(rare.task->loss(0, 0).item<double>(), plain.task->loss(0, 0).item<double>()) << task;
    const double shown = often.task->loss(0, 0).item<double>();
    EXPECT_NE(shown, plain.task->loss(0, 0).item<double>()) << task;
    EXPECT_EQ(prepared(task, data, 0.5).task->loss(0, 0).item<double>(), shown) << task;
  }
}

TEST_F(SubwordTasks, ATokeniserOfAnotherKindIsRefused) {
  formats::Json given = fields("classify", "classify", "pairs.csv");
  given["bpe_dropout"] = 0.1;
  test::expect_error(ErrorKind::kUnsupported, {"bpe_dropout", "BPE", "WordPiece"},
                     [&] { prepare(make_settings(given, "test")); });
}

}  // namespace
}  // namespace weft::fine_tuning
