// SPDX-License-Identifier: Apache-2.0
// Held-out examples through a model: the same numbers whatever the batches are.
#include "weft/fine_tuning/scoring.h"

#include "fine_tuning/small_task.h"
#include "weft/fine_tuning/label_logits.h"
#include "weft/fine_tuning/objectives/classify.h"

namespace weft::fine_tuning {
namespace {

class Scoring : public test::SmallTask {
 protected:
  Scoring() {
    fine_tuning::Setup setup;
    setup.model = tasks::describe_task_model(model("classify"), {});
    setup.config = checkpoint::load_encoder_config(folder_ / "classify");
    setup.data.pair_field = "other";
    objective_ = make_objective(std::move(setup));
    objective_->choose_head();
    objective_->read(Split::kHeldOut, {(test::kFineTuning / "pairs.csv").string()});
    model_ = checkpoint::load_encoder(folder_ / "classify");
  }

  std::unique_ptr<Objective> objective_;
  models::EncoderModel model_{nullptr};
};

TEST_F(Scoring, BatchesChangeNothingButTheLastBits) {
  ScoringOptions options;
  const std::vector<double> together = score_examples(*objective_, model_, options);
  ASSERT_EQ(together.size(), 12U * 3U);
  options.examples = 1;
  const std::vector<double> alone = score_examples(*objective_, model_, options);
  options.examples = 5;
  options.tokens = 40;
  const std::vector<double> mixed = score_examples(*objective_, model_, options);
  for (std::size_t i = 0; i < together.size(); ++i) {
    // float32 sums over other shapes: padding itself is never attended to.
    EXPECT_NEAR(alone[i], together[i], 1e-5);
    EXPECT_NEAR(mixed[i], together[i], 1e-5);
  }
}

TEST_F(Scoring, TellsHowFarItIsAndMayBeStopped) {
  ScoringOptions options;
  options.examples = 4;
  std::vector<std::int64_t> done;
  options.progress = [&](std::int64_t part, std::int64_t whole) {
    done.push_back(part);
    EXPECT_EQ(whole, 3);
  };
  score_examples(*objective_, model_, options);
  EXPECT_EQ(done, (std::vector<std::int64_t>{1, 2, 3}));
  options.progress = [](std::int64_t, std::int64_t) { throw Error(ErrorKind::kInterrupted, "enough"); };
  EXPECT_THROW(score_examples(*objective_, model_, options), Error);
}

TEST_F(Scoring, NarrowProductsGiveAlmostTheSame) {
  ScoringOptions options;
  const std::vector<double> exact = score_examples(*objective_, model_, options);
  options.dtype = "bfloat16";
  const std::vector<double> narrow = score_examples(*objective_, model_, options);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_NEAR(narrow[i], exact[i], 0.1);  // eight bits of a number of about one, through two layers
  }
}

TEST(CrossEntropy, IsTheNegativeLogarithmOfTheSoftmax) {
  const std::vector<double> logits = {1.0, 2.0, 3.0};
  EXPECT_NEAR(cross_entropy_of(logits, 2), 0.40760596444438, 1e-13);
  EXPECT_NEAR(cross_entropy_of(logits, 0), 2.40760596444438, 1e-13);
  const std::vector<double> large = {1000.0, 0.0};
  EXPECT_EQ(cross_entropy_of(large, 0), 0.0);
  EXPECT_EQ(cross_entropy_of(large, 1), 1000.0);
}

}  // namespace
}  // namespace weft::fine_tuning
