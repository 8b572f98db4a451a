// SPDX-License-Identifier: Apache-2.0
// Heads over two texts, in families that treat the texts differently: the place of each is known, however many
// separators stand between them or in them.
#include <gtest/gtest.h>

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include "fine_tuning/small_task.h"
#include "support/expect_error.h"
#include "weft/tasks/answer.h"
#include "weft/tasks/choose.h"
#include "weft/tasks/embedding/embedder.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;
using models::Head;

// The fixtures' tokeniser is BERT's: [CLS] a [SEP] b [SEP], where Longformer's of transformers has three separators.
class TwoTexts : public test::SmallTask {
 protected:
  std::string encoder(const std::string& family, Head head) const {
    models::EncoderConfig config = small_shape(family);
    config.max_position_embeddings = 64;
    config.sep_token_id = 3;
    const std::string name = family + "_" + std::string(models::to_string(head));
    checkpoint::save_encoder(folder_ / name, models::make_encoder(config, head, 7), model("classify"));
    return (folder_ / name).string();
  }
};

TEST_F(TwoTexts, AreLearnedAndEvaluated) {
  for (const char* family : {"longformer", "big_bird"}) {
    SCOPED_TRACE(family);
    Json given = fields("answer", "answer", "answers.json");
    given["model"] = encoder(family, Head::kNone);
    given["steps"] = 2;
    EXPECT_TRUE(train(given, std::string("answers_") + family).evaluation["f1"].is_number());
    given = fields("choose", "choose", "choices.jsonl");
    given["model"] = encoder(family, Head::kNone);
    given["steps"] = 2;
    EXPECT_TRUE(train(given, std::string("choices_") + family).evaluation["accuracy"].is_number());
  }
}

TEST_F(TwoTexts, MayHoldSeparators) {
  for (const char* family : {"longformer", "big_bird"}) {
    SCOPED_TRACE(family);
    tasks::TaskModel reader = tasks::open_task_model(encoder(family, Head::kQuestionAnswering), {});
    const std::vector<tasks::Document> questions{{"who [SEP] ran", "the man [SEP] ran [SEP]", "one"},
                                                 {"[SEP]", "the man ran", "two"}};
    const auto answers = tasks::answer(reader, questions, {});
    EXPECT_EQ(answers.size(), 2U);
    tasks::TaskModel chooser = tasks::open_task_model(encoder(family, Head::kMultipleChoice), {});
    EXPECT_EQ(tasks::choose(chooser, {"who [SEP] ran", {"the [SEP] man", ""}, "three"}, {}).result.size(), 2U);
  }
}

TEST_F(TwoTexts, OneTextNeedsNoSecondForItsVector) {
  const std::vector<tasks::Document> texts{{"the man [SEP] ran", std::nullopt, "one"}, {"the", std::nullopt, "two"}};
  for (const char* family : {"longformer", "big_bird", "bert"}) {
    for (const Head head : {Head::kQuestionAnswering, Head::kMultipleChoice}) {
      SCOPED_TRACE(std::string(family) + ' ' + std::string(models::to_string(head)));
      const std::string directory = encoder(family, head);
      tasks::Embedder headed = tasks::open_embedder(directory, {});
      checkpoint::EncoderLoadOptions bare;
      bare.head = Head::kNone;
      tasks::Embedder without = tasks::open_embedder(directory, {});
      without.model.model = checkpoint::load_encoder(directory, bare);
      const auto found = tasks::embed(headed, texts, {});
      const auto expected = tasks::embed(without, texts, {});
      ASSERT_EQ(found.size(), 2U);
      EXPECT_EQ(found[0].result, expected[0].result);
      EXPECT_EQ(found[1].result, expected[1].result);
    }
  }
}

TEST_F(TwoTexts, OfOrdinaryInputStandWhereTransformersFindsThem) {
  const at::Tensor ids = at::tensor({0, 10, 11, 3, 3, 12, 13, 14, 3, 0, 20, 3, 3, 21, 3, 1, 1, 1}, at::kLong);
  for (const Head head : {Head::kQuestionAnswering, Head::kMultipleChoice}) {
    const bool choices = head == Head::kMultipleChoice;
    models::EncoderConfig config = small_shape("longformer");
    config.sep_token_id = 3;
    config.initializer_range = 0.3;
    config.hidden_dropout_prob = 0;
    models::EncoderModel model = models::make_encoder(config, head, 7);
    models::EncoderInput input;
    input.input_ids = choices ? ids.view({1, 2, 9}) : ids.view({2, 9});
    input.attention_mask = input.input_ids.ne(1).to(at::kLong);
    const auto by_separators = model->forward(input).named();
    const at::Tensor places = at::tensor({3, 5, 2, 4}, at::kLong);
    input.pair_places = choices ? places.view({1, 2, 2}) : places.view({2, 2});
    const auto by_places = model->forward(input).named();
    for (std::size_t i = 0; i < by_places.size(); ++i) {
      EXPECT_TRUE(by_places[i].second.equal(by_separators[i].second)) << by_places[i].first;
    }
    input.pair_places = at::full_like(input.pair_places, -1);
    EXPECT_FALSE(model->forward(input).named().front().second.equal(by_places.front().second));
    input.pair_places = at::zeros({2}, at::kLong);
    test::expect_error(ErrorKind::kArgument, {"pair_places"}, [&] { model->forward(input); });
    input.pair_places = at::Tensor();
    input.input_ids = input.input_ids.where(input.input_ids.ne(3), 4);
    test::expect_error(ErrorKind::kArgument, {"three separators", "global_attention_mask"},
                       [&] { model->forward(input); });
  }
}

}  // namespace
}  // namespace weft::fine_tuning
