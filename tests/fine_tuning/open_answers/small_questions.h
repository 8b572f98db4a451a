// SPDX-License-Identifier: Apache-2.0
// Tiny encoders of any family for questions over many documents, and files of such questions.
#pragma once

#include <string>
#include <vector>

#include "fine_tuning/small_task.h"
#include "support/expect_error.h"
#include "weft/fine_tuning/fine_tune.h"

namespace weft::test {

// Ids of the fixtures' BERT tokeniser.
inline constexpr std::int64_t kClassId = 2;
inline constexpr std::int64_t kSeparatorId = 3;
inline constexpr std::int64_t kMaskId = 4;

class SmallQuestions : public SmallTask {
 protected:
  /// A new encoder without a head and dropout, with the fixtures' BERT tokeniser.
  std::string encoder(const std::string& family, std::int64_t positions) const {
    const std::filesystem::path directory = folder_ / (family + std::to_string(positions));
    if (!std::filesystem::exists(directory)) {
      models::EncoderConfig config = small_shape(family);
      config.max_position_embeddings = positions;
      config.hidden_dropout_prob = 0.0;
      config.attention_probs_dropout_prob = 0.0;
      checkpoint::save_encoder(directory, models::make_encoder(config, models::Head::kNone, 3),
                               std::filesystem::path(WEFT_TEST_DATA_DIR) / "tokenizers/bert");
    }
    return directory.string();
  }

  /// Writes a file and gives its path.
  std::string file(const std::string& name, const std::string& content) const {
    write_text(folder_ / name, content);
    return (folder_ / name).string();
  }

  /// Settings of a run that learns what its only file says.
  formats::Json learning(const std::string& task, const std::string& model, const std::string& data,
                         std::int64_t steps) const {
    return {{"task", task},    {"model", model},          {"train_data", {data}},   {"eval_data", {data}},
            {"steps", steps},  {"learning_rate", 0.01},   {"schedule", "constant"}, {"warmup_ratio", 0.0},
            {"batch_size", 8}, {"checkpoint_minutes", 0}, {"dtype", "float32"},     {"threads", 1}};
  }

  /// The figures of the model of a run on `data`, with the predictions of its questions.
  fine_tuning::Measured measured(const std::string& task, const std::string& directory, const std::string& data,
                                 std::vector<formats::Json>& lines) const {
    fine_tuning::Measurement measurement;
    measurement.task = task;
    measurement.directory = directory;
    measurement.data = {data};
    measurement.dtype = "float32";
    return fine_tuning::measure(measurement, [&](const formats::Json& line) { lines.push_back(line); });
  }
};

}  // namespace weft::test
