// SPDX-License-Identifier: Apache-2.0
// Each figure of a language model has its own words.
#include "weft/cli/training/results.h"

#include "weft/cli/front/output.h"
#include "weft/core/error.h"
#include "weft/core/progress.h"

namespace weft::cli {

std::string result_text(const std::string& out, const training::TrainResult& result, bool fine_tuned) {
  Rows rows = {{"run", out},
               {"trained", concat(digits(result.steps), " steps, ", digits(result.tokens), " tokens in ",
                                  duration_text(result.seconds))},
               {"speed", concat(digits(static_cast<std::int64_t>(result.tokens_per_second)), " tokens a second")},
               {"loss", concat(fixed(result.loss, 4), fine_tuned ? "" : " nats a token", " in the last step")}};
  for (const auto& [name, value] : result.evaluation.items()) {
    if (fine_tuned) {
      rows.emplace_back(name, value.is_null() ? "undefined" : fixed(value.get<double>(), 4));
    } else if (name == "bits_per_byte") {
      rows.emplace_back("held-out",
                        concat(fixed(value.get<double>(), 4), " bits per byte over ",
                               digits(result.evaluation.value("bytes", std::int64_t{0})), " bytes, context ",
                               digits(result.evaluation.value("context", std::int64_t{0}))));
    } else if (name == "loss") {
      rows.emplace_back("held-out", concat(fixed(value.get<double>(), 4), " nats a masked token"));
    } else if (name == "masked_accuracy") {
      rows.emplace_back("accuracy",
                        concat(fixed(value.get<double>(), 4), " of ",
                               digits(result.evaluation.value("masked_tokens", std::int64_t{0})), " masked tokens"));
    }
  }
  if (!result.best.empty()) {
    rows.emplace_back("best", concat(fixed(result.best.at("value").get<double>(), 4), " ",
                                     result.best.at("metric").get<std::string>(), " after step ",
                                     digits(result.best.at("step").get<std::int64_t>()), ", kept in best/"));
  }
  return name_table(rows);
}

}  // namespace weft::cli
