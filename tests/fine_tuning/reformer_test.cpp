// SPDX-License-Identifier: Apache-2.0
// A Reformer for masked tokens learns classes and answers, and its run opens as an encoder with that head.
#include <gtest/gtest.h>

#include <vector>

#include "fine_tuning/small_task.h"
#include "weft/tasks/task_model.h"

namespace weft::fine_tuning {
namespace {

class ReformerTaskRun : public test::SmallTask {
 protected:
  /// Settings for the Reformer of tests/fixtures/reformer/masked with the fixtures' tokeniser.
  formats::Json settings(const char* task, const char* model_name, const char* data) const {
    const std::filesystem::path reformer = std::filesystem::path(WEFT_TEST_DATA_DIR) / "reformer/masked";
    const std::filesystem::path directory = folder_ / "reformer";
    formats::Json given = fields(task, model_name, data);
    std::filesystem::copy(given["model"].get<std::string>(), directory);
    for (const char* file : {"config.json", "model.safetensors"}) {
      std::filesystem::copy_file(reformer / file, directory / file, std::filesystem::copy_options::overwrite_existing);
    }
    given["model"] = directory.string();
    given["max_length"] = 32;
    return given;
  }

  void expect_learned(const formats::Json& given, models::Head head) const {
    train(given);
    const std::vector<double> losses = test::logged_losses(folder_ / "run");
    ASSERT_EQ(losses.size(), 10U);
    EXPECT_LT(losses.back(), losses.front());
    tasks::TaskModelOptions options;
    options.head = head;
    EXPECT_EQ(tasks::open_task_model(folder_ / "run", options).model->config().model_type, "reformer");
  }
};

TEST_F(ReformerTaskRun, Classes) {
  expect_learned(settings("classify", "classify", "pairs.csv"), models::Head::kSequenceClassification);
}

TEST_F(ReformerTaskRun, Answers) {
  expect_learned(settings("answer", "answer", "answers.json"), models::Head::kQuestionAnswering);
}

}  // namespace
}  // namespace weft::fine_tuning
