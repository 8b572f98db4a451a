// SPDX-License-Identifier: Apache-2.0
// JSON lines are the record, written at once; events are buffered and reach the disk with each checkpoint and
// evaluation.
#include "weft/training/run/metrics_log.h"

#include <chrono>
#include <string>
#include <vector>

namespace weft::training {
namespace {

using formats::Json;

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::filesystem::path metrics_path(const std::filesystem::path& run) { return run / "metrics.jsonl"; }

}  // namespace

bool is_evaluation(const Json& line) {
  return line.contains("eval") && line["eval"].is_object() && line.contains("step") && line["step"].is_number_integer();
}

MetricsLog::MetricsLog(const std::filesystem::path& run, std::int64_t step)
    : path_(metrics_path(run)), lines_(path_), events_(run, step + 1) {
  // Lines behind the checkpoint tell of steps that will be trained again; TensorBoard learns it from events_' first
  // step.
  lines_.truncate_after_step(step, formats::BrokenLines::kSkip);
}

void MetricsLog::append(Json entry, const char* tag_prefix) {
  const double now = unix_seconds();
  entry["time"] = now;
  lines_.append(entry);
  // Every figure that is a number becomes a scalar of its name.
  const Json& figures = entry.contains("eval") ? entry["eval"] : entry;
  const auto step = entry.at("step").get<std::int64_t>();
  for (const auto& [name, value] : figures.items()) {
    if (value.is_number() && name != "step" && name != "time") {
      events_.scalar(tag_prefix + name, value.get<double>(), step, now);
    }
  }
}

void MetricsLog::length(std::int64_t step, const Json& change) {
  lines_.append({{"step", step}, {"length", change}, {"time", unix_seconds()}});
}

void MetricsLog::evaluation(std::int64_t step, const Json& figures) {
  append({{"step", step}, {"eval", figures}}, "eval/");
  events_.flush();
}

std::vector<std::pair<std::int64_t, Json>> MetricsLog::evaluations() const {
  std::vector<std::pair<std::int64_t, Json>> result;
  for (const Json& line : formats::read_json_lines(named_by_user(path_), formats::BrokenLines::kSkip)) {
    if (is_evaluation(line)) {
      result.emplace_back(line.at("step").get<std::int64_t>(), line.at("eval"));
    }
  }
  return result;
}

void MetricsLog::sync() {
  lines_.sync();
  events_.flush();
}

}  // namespace weft::training
